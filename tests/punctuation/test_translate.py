"""How frontiers cross operators: nothing that may still come is promised away, and what can be kept is."""

import functools
import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Frontier, Punctuation, not_in
from oop.punctuation.translate import (
    carry,
    carry_least,
    carry_unchanged,
    restrict,
    roll_up,
    wid_bound,
    window_end,
    window_start,
)
from tests.punctuation import model

MANY = settings(max_examples=300, deadline=None)
fixings = st.fixed_dictionaries({}, optional={c: st.sampled_from(model.COLUMNS[c]) for c in ("link", "proto", "ts")})


def late(frontier):
    return model.late(frontier.promises())


@MANY
@given(model.lists(model.promises()), fixings)
@example([Punctuation({}, {"link": model.NAN})], {"link": float("nan")})
def test_restrict_keeps_the_same_rows_late_among_those_with_the_fixed_values(said, fixed):
    frontier = Frontier.of(*said)
    after = restrict(frontier, fixed)
    rows = model.rows_with({c: next(v for v in model.COLUMNS[c] if model.same(v, w)) for c, w in fixed.items()})
    assert late(after) & rows == model.late(said) & rows
    assert not {c for p in after.promises() for c in p.where} & fixed.keys()


def test_restrict_gives_a_frontier_of_its_own():
    frontier = Frontier.of(Punctuation({"ts": 5}))
    restrict(frontier, {"link": "A"}).advance(END)
    assert frontier.bound("ts") == 5


def test_restrict_to_an_ended_group_keeps_nothing_else():
    frontier = Frontier.of(
        Punctuation({}, {"link": "A"}), Punctuation({"ts": 5}, {"proto": "tcp"}), Punctuation({"ts": 3})
    )
    after = restrict(frontier, {"link": "A"})
    assert after.is_linear
    assert list(after.promises()) == [END]


def halved(value):
    return value if value is None or math.isinf(value) or model.is_nan(value) else value // 2


class Halved:
    """The same as ranges cross it: what is more than half of a value comes from what is more than the value."""

    def __call__(self, value):
        return halved(value)

    def low_end(self, low):
        return low // 2 + 1


mappings = st.fixed_dictionaries(
    {
        "ts": st.sampled_from([[], [("ts", None)], [("half", halved)], [("t", None), ("half", Halved())]]),
        "ts_right": st.sampled_from([[], [("ts_right", None)], [("ts_right", halved)], [("r", Halved())]]),
    }
)
namings = st.fixed_dictionaries(
    {
        "link": st.sampled_from([[], ["link"], ["link", "port"]]),
        "proto": st.sampled_from([[], ["proto"]]),
        "ts": st.sampled_from([[], ["ts_group"]]),
    }
)


def image(row, attributes, columns):
    """What a map with these images makes of a row."""
    out = {}
    for name, to in attributes.items():
        out |= {new: row[name] if function is None else function(row[name]) for new, function in to}
    for name, to in columns.items():
        out |= dict.fromkeys(to, row[name])
    return out


@settings(max_examples=200, deadline=None)
@given(model.lists(model.promises()), mappings, namings, st.lists(st.sampled_from(model.ROWS), max_size=60))
def test_carry_promises_nothing_about_the_image_of_a_row_that_may_come(said, attributes, columns, rows):
    out = carry(Frontier.of(*said), attributes, columns)
    for row in rows:
        if not any(p.matches(row) for p in said):
            assert not out.covers_row(image(row, attributes, columns))


@MANY
@given(model.lists(model.promises()))
def test_carry_across_the_identity_changes_nothing(said):
    frontier = Frontier.of(*said)
    assert carry(frontier, *carry_unchanged(list(model.COLUMNS))) == frontier


@MANY
@given(model.lists(model.promises()), st.lists(st.sampled_from(model.ROWS), max_size=60))
def test_carry_across_a_rename_loses_nothing(said, rows):
    attributes = {"ts": [("t", None)], "ts_right": [("r", None)]}
    columns = {"link": ["l"], "proto": ["p"], "ts": ["t"], "ts_right": ["r"]}
    out = carry(Frontier.of(*said), attributes, columns)
    for row in rows:
        assert out.covers_row(image(row, attributes, columns)) == any(p.matches(row) for p in said)


@MANY
@given(model.lists(model.promises(time=())), st.sampled_from(["link", "proto"]))
def test_carry_leaves_the_least_over_the_groups_of_a_column_that_goes(said, gone):
    """What ranges say together with all groups of a column is lost, and no more."""
    attributes, columns = carry_unchanged(["ts", "ts_right", "link", "proto"])
    del columns[gone]
    out = carry(Frontier.of(*said), attributes, columns)
    kept = model.EVERY_ROW
    for value in model.COLUMNS[gone]:
        here = [p for p in said if gone not in p.where or p.where[gone].matches(value)]
        kept &= model.late(Punctuation(p.below, {c: w for c, w in p.where.items() if c != gone}) for p in here)
    assert not late(out) & ~kept
    if not any(p.above for p in said):
        assert late(out) == kept


@MANY
@given(model.lists(model.promises()), st.sets(st.sampled_from(["link", "proto", "ts", "ts_right"])))
def test_roll_up_keeps_what_holds_whatever_the_group_of_a_column_that_goes(said, columns):
    frontier = Frontier.of(*said)
    out = roll_up(frontier, columns)
    assert {c for p in out.promises() for c in p.where} <= columns
    assert late(out) & ~late(frontier) == 0
    assert roll_up(out, columns) == out
    assert roll_up(frontier, {"link", "proto", "ts", "ts_right"}) == frontier


TWO = {"ts": [("later", None)], "ts_right": [("later", None)]}


@functools.cache
def groups_of(columns):
    """Each group of these columns, with the number and both times of every row of the universe that is in it."""
    found = []
    for where in itertools.product(*(model.GROUPS for _ in columns)):
        group = dict(zip(columns, where, strict=True))
        rows = ((i, r) for i, r in enumerate(model.ROWS) if all(model.same(r[c], v) for c, v in group.items()))
        found.append((group, [(i, (r["ts"], r["ts_right"])) for i, r in rows]))
    return found


@MANY
@given(model.lists(model.promises(time=(), ranges=False)), st.sampled_from([("link", "proto"), ("link",), ()]))
def test_greatest_and_least_are_promised_about_as_far_as_the_rows_that_may_come_allow(said, columns):
    """Sound and prompt: in each group, the bound is the least value of a row that may still come."""
    frontier = Frontier.of(*said)
    names = {c: [c] for c in columns}
    greatest = carry(frontier, TWO, names)
    least = carry_least(frontier, [{"ts": [("earlier", None)]}, {"ts_right": [("earlier", None)]}], names)
    gone = model.late(said)
    for group, members in groups_of(columns):
        pairs = [pair for i, pair in members if not gone >> i & 1]
        known = [p for p in pairs if not any(v is None or model.is_nan(v) for v in p)]
        for name, found, extreme in (("later", greatest, max), ("earlier", least, min)):
            bound = found.bound(name, group)
            coming = min(map(extreme, known), default=math.inf)
            if extreme is min:  # one of the two alone decides, and the other may be anything
                singles = [v for p in pairs for v in p if v is not None and not model.is_nan(v)]
                coming = min(singles, default=math.inf)
            assert (bound is None and coming == -1) or model_bound(bound) == model_bound(coming), (name, group)


def model_bound(value):
    """The universe tells values apart by the bounds between them."""
    return value if value is None else max((b for b in (-math.inf, *model.BOUNDS) if b <= value), default=None)


def test_a_corner_finite_in_a_dropped_attribute_is_lost():
    frontier = Frontier.of(Punctuation({"ts": 5, "ts_right": 3}), Punctuation({"ts": 2}))
    assert carry(frontier, {"ts": [("ts", None)]}, {}) == Frontier.of(Punctuation({"ts": 2}))


def test_the_end_crosses_every_map():
    assert carry(Frontier.of(END), {}, {}).ended
    ended = Frontier.of(Punctuation({}, {"link": "A"}), Punctuation({}, {"link": not_in("A")}))
    assert carry(ended, {}, {}).ended


whole = st.integers(-(10**20), 10**20)
lengths = st.integers(1, 10**12)


@MANY
@given(whole, lengths, lengths, whole)
@example(59, 60, 60, 0)
@example(-1, 10, 5, 0)
@example(0, 1, 7, 3)  # slide > range
def test_wid_bound_of_whole_numbers_is_the_floor(bound, range_, slide, offset):
    assert wid_bound(bound, range_, slide, offset) == math.floor(Fraction(bound - offset - range_, slide)) + 1


@MANY
@given(st.integers(-100, 100), st.integers(1, 20), st.integers(1, 20), st.integers(-30, 30))
def test_wid_bound_is_the_least_window_that_a_row_may_still_reach(bound, range_, slide, offset):
    first = wid_bound(bound, range_, slide, offset)
    reached = {
        w
        for t in range(bound, bound + 2 * (range_ + slide))
        for w in range((t - offset - range_) // slide, (t - offset) // slide + 2)
        if window_start(w, slide, offset) <= t < window_start(w, slide, offset) + range_
    }
    assert min(reached) >= first
    if slide <= range_:  # no gap: the window that ends just after the bound holds the bound itself
        assert min(reached) == first


numbers = st.one_of(st.floats(-1e6, 1e6), st.integers(-1000, 1000))
steps = st.one_of(st.floats(1e-3, 1e4), st.integers(1, 1000), st.sampled_from([0.1, 1e-9, 0.7, 1 / 3]))


@MANY
@given(numbers, steps, steps, numbers)
@example(0.3, 0.1, 0.1, 0.0)
@example(3, 0.1, 0.1, 0)  # an integer bound on a float time
@example(1e9, 1e-20, 1e-20, 1e9)  # windows so small that millions begin at one float
@example(-0.7, 0.1, 0.3, -2.5)
def test_wid_bound_of_floats_is_literal(bound, range_, slide, offset):
    wid = wid_bound(bound, range_, slide, offset)
    assume(abs(wid) < 2**52)
    assert window_end(wid, range_, slide, offset) > bound
    assert window_end(wid - 1, range_, slide, offset) <= bound


@pytest.mark.parametrize(
    ("bound", "slide"), [(1e300, 1.0), (1.0, 5e-324), (math.inf, 1.0), (-math.inf, 1.0), (1e18, 1e-3), (-1e17, 10.0)]
)
def test_a_float_bound_further_away_than_windows_stands_for_the_furthest(bound, slide):
    assert wid_bound(bound, slide, slide, 0.0) == math.copysign(2**52, bound)


@MANY
@given(st.floats(allow_nan=False), st.floats(allow_nan=False), steps, steps, numbers)
def test_wid_bound_of_floats_never_decreases(one, other, range_, slide, offset):
    """Also beyond what windows can be told apart: a promise that grows takes no window back."""
    low, high = sorted((one, other))
    assert wid_bound(low, range_, slide, offset) <= wid_bound(high, range_, slide, offset)
