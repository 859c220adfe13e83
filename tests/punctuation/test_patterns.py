"""Patterns and promises against sets of values and of rows."""

import copy
import itertools
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Below, Corners, Equal, In, NotIn, Punctuation, Range
from oop.punctuation.encoding import dumps, loads
from oop.punctuation.patterns import contains, intersect
from tests.punctuation import model

VALUES = model.TIMES
NAMED = model.NAMED["ts"]
PATTERNS = [
    *map(Below, model.BOUNDS),
    *map(Equal, NAMED),
    *(NotIn(s) for n in range(4) for s in itertools.combinations(NAMED, n)),
    *(In(s) for n in range(2, 6) for s in itertools.combinations(NAMED, n)),
    *model.RANGES,
]


def matched(pattern):
    """The positions of the values that match: a NaN is no good in a set."""
    return {i for i, v in enumerate(VALUES) if pattern.matches(v)}


def expected(pattern):
    if isinstance(pattern, Below):
        return {i for i, v in enumerate(VALUES) if model.below(v, pattern.bound)}
    if isinstance(pattern, Equal):
        return {i for i, v in enumerate(VALUES) if model.same(v, pattern.value)}
    if isinstance(pattern, Range):
        numbers = {i for i, v in enumerate(VALUES) if model.is_number(v)}
        high = numbers if pattern.high is None else expected(Below(pattern.high))
        return numbers & high - expected(Below(pattern.low))
    listed = {i for i, v in enumerate(VALUES) if any(model.same(v, w) for w in pattern.values)}
    return listed if isinstance(pattern, In) else set(range(len(VALUES))) - listed


def test_null_and_nan_are_below_nothing_and_equal_themselves():
    assert all(matched(p) == expected(p) for p in PATTERNS)
    assert Equal(float("nan")) == Equal(float("nan"))
    assert NotIn([float("nan"), None]) == NotIn([None, float("nan")])


def test_contains_is_the_subset_relation():
    for outer, inner in itertools.product(PATTERNS, PATTERNS):
        assert contains(outer, inner) == (expected(inner) <= expected(outer)), (outer, inner)


def test_intersect_is_the_intersection_or_none_where_no_pattern_says_it():
    sayable = {frozenset(expected(p)): p for p in PATTERNS}
    for a, b in itertools.product(PATTERNS, PATTERNS):
        both, found = expected(a) & expected(b), intersect(a, b)
        if found is None:
            assert not both or frozenset(both) not in sayable, (a, b)
        else:
            assert expected(found) == both, (a, b)


@pytest.mark.parametrize("bound", [None, float("nan"), True])
def test_a_bound_is_a_number(bound):
    with pytest.raises(ValueError, match="a bound is a number"):
        Punctuation({"ts": bound})


def test_an_attribute_has_one_pattern():
    with pytest.raises(ValueError, match="one pattern for each attribute"):
        Punctuation({"ts": 5}, {"ts": 3})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"where": {"k": []}}, "k: a list of groups has at least one"),
        ({"where": {"k": [[1]]}}, "k: a group is a single value"),
        ({"above": {"k": 5}, "below": {"k": 5}}, "k: no value is at least 5 and below 5"),
        ({"above": {"k": "a"}, "below": {"k": 5}}, "k: the bounds of a range are of one kind"),
        ({"above": {"k": None}}, "k: a bound is a number"),
        ({"above": {"k": float("nan")}}, "k: a bound is a number"),
        ({"above": {"k": 5}, "where": {"k": 7}}, "one pattern for each attribute"),
        ({"where": {c: list(range(1001)) for c in "ab"}}, "name more than 1,000,000 groups"),
    ],
)
def test_a_list_or_range_that_says_nothing_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        Punctuation(**arguments)


def test_a_list_of_one_group_is_that_group():
    assert Punctuation(where={"k": [1]}) == Punctuation(where={"k": 1})
    assert Punctuation(where={"k": {1, None}}) == Punctuation(where={"k": (None, 1, 1)})
    assert Punctuation(where={"k": [float("nan"), 1]}).matches({"k": float("nan")})


def test_ranges_and_bounds_tile():
    tiles = [Punctuation({"k": 10}), Punctuation(above={"k": 10}, below={"k": 20}), Punctuation(above={"k": 20})]
    for k in (-1, 9, 10, 15, 19.5, 20, math.inf):
        assert sum(tile.matches({"k": k}) for tile in tiles) == 1
    assert not any(tile.matches({"k": k}) for tile in tiles for k in (None, math.nan))


def test_a_promise_cannot_be_changed():
    with pytest.raises(AttributeError):
        END.below = {"ts": 5}


@settings(max_examples=300, deadline=None)
@given(model.promises(), model.promises())
def test_a_promise_covers_another_iff_it_matches_all_of_its_rows(p, q):
    assert p.covers(q) == (not model.rows_of(q) & ~model.rows_of(p))
    both = p.intersect(q)
    if both is not None:
        assert model.rows_of(both) == model.rows_of(p) & model.rows_of(q)


@settings(max_examples=200, deadline=None)
@given(model.promises())
def test_a_promise_survives_json_pickle_and_copy(promise):
    for again in (
        Punctuation.from_json(promise.to_json()),
        Punctuation.from_json(promise.to_json().encode()),
        pickle.loads(pickle.dumps(promise)),
        copy.deepcopy(promise),
    ):
        assert again == promise
        assert hash(again) == hash(promise)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "3",
        '{"end": false}',
        '{"below": {}}',
        '{"below": {"ts": "5"}}',
        '{"below": {"ts": true}}',
        '{"below": {"ts": null}}',
        '{"below": {"ts": NaN}}',
        '{"below": {"ts": {"$": "float", "v": "nan"}}}',
        '{"below": {"ts": {"$": "float", "v": null}}}',
        '{"below": {"ts": 5}, "above": {"ts": 5}}',
        '{"below": {"ts": 5}, "above": {"ts": "3"}}',
        '{"above": {"ts": null}}',
        '{"above": {"ts": 3}, "in": {"ts": [3, 4]}}',
        '{"above": [3]}',
        '{"above": {}}',
        '{"in": {"link": []}}',
        '{"in": {"link": "AB"}}',
        '{"in": {"link": ["A", ["B"]]}}',
        '{"in": {"link": ["A", "B"]}, "not_in": {"link": ["C"]}}',
        '{"below": [5]}',
        '{"where": {"link": ["A"]}}',
        '{"where": {"link": {"$": "decimal", "v": "A"}}}',
        '{"where": {"link": {"$": "set", "v": "A"}}}',
        '{"not_in": {"link": "AB"}}',
        '{"not_in": {"link": [["A"]]}}',
        '{"not_in": {"link": []}}',
        '{"where": {"link": "A"}, "not_in": {"link": ["B"]}}',
        '{"below": {"ts": 5}, "where": {"ts": 3}}',
    ],
)
def test_what_is_not_a_promise_is_a_value_error(text):
    with pytest.raises(ValueError):  # json's own errors are ValueErrors too
        Punctuation.from_json(text)


plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes(), st.times(),
    st.timedeltas(), st.binary(), st.decimals(allow_nan=False),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(plain))
def test_every_plain_value_survives_as_text(values):
    again = loads(dumps({"state": values}))["state"]
    assert [type(v) for v in again] == [type(v) for v in values]
    assert all(model.same(a, b) for a, b in zip(again, values, strict=True))


@settings(max_examples=300, deadline=None)
@given(st.lists(model.corners, max_size=6), st.lists(model.corners, max_size=6), model.corners)
def test_corners_add_cover_join_and_meet_like_sets_of_rows(a, b, corner):
    def rows(said):
        return model.late(Punctuation(c) for c in said)

    corners, others = Corners(), Corners()
    for said in a:
        before = rows(corners)
        assert corners.add(said) == (rows([said]) & ~before != 0)
        assert rows(corners) == before | rows([said])
    for said in b:
        others.add(said)
    assert corners.covers(corner) == (not rows([corner]) & ~rows(a))
    assert rows(corners.join(others)) == rows(a) | rows(b)
    assert rows(corners.meet(others)) == rows(a) & rows(b)
    assert (corners == others) == (rows(a) == rows(b))
    assert (rows(corners), rows(others)) == (rows(a), rows(b))


@settings(max_examples=200, deadline=None)
@given(st.lists(model.corners, max_size=6))
def test_corners_keep_the_strongest_alone(said):
    corners = Corners()
    for corner in said:
        corners.add(corner)
    kept = [model.rows_below(c) for c in corners]
    assert not any(a & ~b == 0 for a, b in itertools.permutations(kept, 2))
    assert bool(corners) == bool(said)
    assert corners.bound("ts") == (
        math.inf if {} in said else max((c["ts"] for c in said if c.keys() == {"ts"}), default=None)
    )


@pytest.mark.parametrize("bounds", [("m",), (b"m",), ("a", "m"), (1, "m")])
def test_a_range_is_of_numbers_or_times(bounds):
    with pytest.raises(ValueError, match=r"numbers or times|of one kind"):
        Range(*bounds)
    with pytest.raises(ValueError, match=r"^k: "):
        Punctuation(above={"k": bounds[0]}, below={"k": bounds[1]} if len(bounds) > 1 else {})


@pytest.mark.parametrize("value", [True, False, None, "1", b"1"])
def test_what_is_no_number_is_in_no_range(value):
    assert not Range(0, 2).matches(value) and not Range(0, 2).may_match(value)
    assert not Range(-1).matches(value) and not Range(-1).may_match(value)
