"""The laws of `Frontier`, against lists of promises."""

import copy
import itertools
import math
import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Frontier, Punctuation, not_in
from tests.punctuation import model

MANY = settings(max_examples=500, deadline=None)
SOME = settings(max_examples=100, deadline=None)

anything = model.promises()
by_groups = model.promises(time=(), ranges=False)  # no ``=``, no ``not in`` and no range on a time attribute
comparable = model.promises(time=("=",))  # no ``not in`` on one: no one pattern says where it meets ``<``
wheres = st.fixed_dictionaries({}, optional={c: st.sampled_from(model.GROUPS) for c in ("link", "proto")})


def late(frontier):
    return model.late(frontier.promises())


@MANY
@given(model.lists(anything))
@example([Punctuation({}, {"ts": not_in(2)}), Punctuation({"ts": 1})])
@example([Punctuation({}, {"ts": not_in(1)}), Punctuation({"ts": 1}, {"link": "A"})])
@example([Punctuation({"ts": 1}), Punctuation({}, {"ts": 0}), Punctuation({"ts": 2}, {"link": "A"})])
@example([Punctuation({"ts": 1}), Punctuation({}, {"ts": not_in(0)}), END, END])
def test_advance_is_true_exactly_when_a_row_is_newly_covered_or_the_end_is_said_first(said):
    frontier, covered = Frontier(), 0
    for promise in said:
        rows = model.rows_of(promise)
        assert frontier.covers(promise) == (not rows & ~covered)
        # the end says more than that no row is left: operators close by it, so the first is news in any case
        ends = promise.is_end and not frontier.ended
        assert frontier.advance(promise) == (bool(rows & ~covered) or ends)
        covered |= rows
        assert late(frontier) == covered


@MANY
@given(model.lists(anything), st.lists(st.sampled_from(model.ROWS), max_size=20))
def test_a_row_is_late_iff_any_promise_matches_it(said, rows):
    frontier = Frontier.of(*said)
    for row in rows:
        assert frontier.covers_row(row) == any(p.matches(row) for p in said)


@MANY
@given(model.lists(anything), anything)
def test_advance_is_idempotent_and_monotone(said, promise):
    frontier = Frontier.of(*said)
    before = late(frontier)
    frontier.advance(promise)
    after, text = late(frontier), repr(frontier)
    assert not before & ~after
    assert not frontier.advance(promise)
    assert (late(frontier), repr(frontier)) == (after, text)


@MANY
@given(model.lists(anything), st.randoms(use_true_random=False))
def test_the_order_of_advances_does_not_matter(said, random):
    shuffled = list(said)
    random.shuffle(shuffled)
    assert Frontier.of(*shuffled) == Frontier.of(*said)


@MANY
@given(model.lists(anything), model.lists(anything))
def test_frontiers_are_equal_iff_they_cover_the_same_rows(a, b):
    assert (Frontier.of(*a) == Frontier.of(*b)) == (model.late(a) == model.late(b))


@MANY
@given(model.lists(anything))
def test_promises_rebuild_the_frontier(said):
    frontier = Frontier.of(*said)
    again = Frontier.of(*frontier.promises())
    assert again == frontier
    assert late(again) == model.late(said)


@SOME
@given(model.lists(anything), model.lists(anything))
def test_advance_to_yields_just_what_is_new(a, b):
    frontier, other = Frontier.of(*a), Frontier.of(*b)
    told = Frontier.of(*a)
    for promise in frontier.advance_to(other):
        assert told.advance(promise)
    assert told == frontier == Frontier.of(*a, *b)


@SOME
@given(model.lists(anything), anything)
def test_a_copy_or_a_pickle_is_equal_and_apart(said, promise):
    frontier = Frontier.of(*said)
    copies = [frontier.copy(), pickle.loads(pickle.dumps(frontier)), copy.deepcopy(frontier)]
    assert all(c == frontier for c in copies)
    frontier.advance(promise)
    assert all(late(c) == model.late(said) for c in copies)


@MANY
@given(model.lists(anything), model.lists(anything))
@example([Punctuation({"ts": 1})], [Punctuation({}, {"ts": 0})])
@example([Punctuation({"ts": 1})], [Punctuation({}, {"ts": not_in(2)})])
def test_meet_covers_only_what_both_cover(a, b):
    meet = Frontier.meet([Frontier.of(*a), Frontier.of(*b)])
    assert not late(meet) & ~(model.late(a) & model.late(b))


@MANY
@given(model.lists(comparable), model.lists(comparable))
def test_meet_covers_all_that_both_cover(a, b):
    meet = Frontier.meet([Frontier.of(*a), Frontier.of(*b)])
    assert late(meet) == model.late(a) & model.late(b)


def test_meet_loses_only_a_bound_with_a_hole():
    hole = Frontier.of(Punctuation(where={"ts": not_in(3)}))
    assert list(Frontier.meet([Frontier.of(Punctuation({"ts": 5})), hole]).promises()) == []
    assert Frontier.meet([Frontier.of(Punctuation({"ts": 3})), hole]) == Frontier.of(Punctuation({"ts": 3}))


@MANY
@given(*[model.lists(comparable, 4)] * 3)
def test_meet_is_commutative_associative_and_idempotent(a, b, c):
    f, g, h = (Frontier.of(*said) for said in (a, b, c))
    meet = Frontier.meet
    assert meet([f, g]) == meet([g, f])
    assert meet([meet([f, g]), h]) == meet([f, meet([g, h])]) == meet([f, g, h])
    assert meet([f, f]) == f == meet([f, Frontier.of(END)])
    assert (late(f), late(g), late(h)) == (model.late(a), model.late(b), model.late(c))


@MANY
@given(model.lists(by_groups), wheres)
@example(
    [
        Punctuation({"ts": 1}, {"link": "A", "proto": "A"}),
        Punctuation({"ts": 2}, {"link": "A", "proto": not_in("A")}),
    ],
    {"link": "A"},
)
@example([Punctuation({"ts": 1}, {"link": model.NAN})], {"link": float("nan")})
def test_at_holds_what_is_covered_for_these_groups(said, where):
    """Asked corner by corner, so that `at` is the strongest that holds."""
    covered = model.late(said)
    rows = model.rows_with(where)
    corners = Frontier.of(*said).at(where)
    for size in range(3):
        for names in itertools.combinations(("ts", "ts_right"), size):
            for bounds in itertools.product(model.BOUNDS, repeat=size):
                corner = dict(zip(names, bounds, strict=True))
                assert corners.covers(corner) == (not rows & model.rows_below(corner) & ~covered)


times = st.fixed_dictionaries({}, optional={c: st.sampled_from(model.TIMES) for c in ("ts", "ts_right")})


@MANY
@given(model.lists(anything), wheres, times)
@example([Punctuation({"ts": 1, "ts_right": 2}), Punctuation(above={"ts": 1})], {}, {"ts": 0})
def test_at_is_sound_where_times_are_named(said, groups, times):
    covered, where = model.late(said), {**groups, **times}
    for corner in Frontier.of(*said).at(where):
        assert not model.rows_with(where) & model.rows_below(corner) & ~covered


@MANY
@given(model.lists(model.promises(time=())), wheres, st.sampled_from(model.TIMES))
def test_bound_is_the_greatest_that_holds_in_a_range(said, groups, value):
    """Of rows with a known value of an attribute, that is in some ranges and below some bounds."""
    said = [p for p in said if "ts_right" not in p.where]  # no ranges of the attribute that is asked about
    covered, where = model.late(said), {**groups, "ts": value}
    holds = [b for b in model.BOUNDS if not model.rows_with(where) & model.rows_below({"ts_right": b}) & ~covered]
    assert Frontier.of(*said).bound("ts_right", where) == max(holds, default=None)


@SOME
@given(model.lists(anything))
def test_what_ranges_become_is_implied(said):
    frontier, covered = Frontier(), 0
    for promise in said:
        frontier.advance(promise)
        covered |= model.rows_of(promise)
        assert not model.late(frontier.take_lifted()) & ~covered


def test_ranges_grow_together_and_become_bounds():
    def tile(low, **more):
        return Punctuation({"k": low + 10, **more}, above={"k": low})

    frontier = Frontier()
    for low in (10, 30, 20, 50):
        assert frontier.advance(tile(low))
    assert list(frontier.promises()) == [Punctuation({"k": 40}, above={"k": 10}), tile(50)]
    assert frontier.covers(Punctuation({"k": 35}, above={"k": 15}))
    assert not frontier.covers(Punctuation({"k": 45}, above={"k": 15}))
    assert frontier.bound("k") is None
    assert frontier.advance(Punctuation({"k": 10}))
    assert frontier.bound("k") == 40
    assert frontier.advance(tile(40))
    assert frontier.bound("k") == 60
    assert not frontier.advance(tile(40, ts=7))
    assert len(list(frontier.promises())) == 2


def test_many_tiles_are_few_promises():
    frontier = Frontier()
    for low in range(0, 2000, 10):
        assert frontier.advance(Punctuation({"k": low + 10, "ts": 5}, above={"k": low}))
    assert len(list(frontier.promises())) == 1
    assert len(frontier.lifted) == 1
    for low in range(0, 2000, 10):
        assert frontier.advance(Punctuation({"k": low + 10, "ts": 5 + low}, above={"k": low})) == (low > 0)
    assert frontier.advance(Punctuation({"ts": 5000}))
    assert frontier.is_linear


def test_a_list_is_as_many_groups():
    frontier = Frontier()
    assert frontier.advance(Punctuation({"ts": 5}, {"k": [1, 2], "link": ["A", "B"]}))
    assert len(list(frontier.promises())) == 4
    assert not frontier.advance(Punctuation({"ts": 4}, {"k": 2, "link": "A"}))
    assert frontier.covers(Punctuation({"ts": 5}, {"k": [1, 2], "link": "A"}))
    assert not frontier.covers(Punctuation({"ts": 5}, {"k": [1, 3], "link": "A"}))


@MANY
@given(model.lists(by_groups), wheres)
def test_bound_is_the_greatest_that_holds(said, where):
    covered = model.late(said)
    frontier = Frontier.of(*said)
    for attribute in ("ts", "ts_right"):
        holds = [b for b in model.BOUNDS if not model.rows_with(where) & model.rows_below({attribute: b}) & ~covered]
        assert frontier.bound(attribute, where) == max(holds, default=None)


@SOME
@given(model.lists(by_groups))
def test_bounds_are_the_bound_of_each_group(said):
    frontier = Frontier.of(*said)
    found = frontier.bounds("ts", "link", model.GROUPS)
    assert found == [frontier.bound("ts", {"link": g}) for g in model.GROUPS]


def test_an_infinite_bound_is_not_the_end():
    frontier = Frontier.of(Punctuation({"ts": math.inf}))
    assert frontier.bound("ts") == math.inf
    assert not frontier.ended
    assert not frontier.covers_row({"ts": None})
    assert frontier.advance(END)
    assert frontier.covers_row({"ts": None})


def test_the_rest_of_no_group_is_everyone():
    assert Punctuation({"ts": 5}, {"link": not_in()}) == Punctuation({"ts": 5})
    assert Punctuation({}, {"link": not_in()}).is_end
    assert Frontier.of(Punctuation({"ts": 5}, {"link": not_in()})).is_linear


def test_an_entry_equal_to_the_rest_is_dropped():
    frontier = Frontier.of(
        Punctuation({"ts": 9}, {"link": "A"}),
        Punctuation({"ts": 5}, {"link": not_in("A")}),
        Punctuation({"ts": 7}, {"link": "B"}),
    )
    assert set(frontier.by["link"].groups) == {"A", "B"}
    frontier.advance(Punctuation({"ts": 7}, {"link": not_in("A")}))
    assert set(frontier.by["link"].groups) == {"A"}
    frontier.advance(Punctuation({"ts": 9}, {"link": not_in("A")}))
    assert frontier.is_linear
    assert frontier.bound("ts") == 9


@pytest.mark.parametrize(
    "last", [Punctuation({"ts": 2000}), Punctuation({"ts": math.inf, "ts_right": math.inf}), END], ids=str
)
@pytest.mark.parametrize("columns", [("link",), ("link", "proto")], ids=" ".join)
def test_a_promise_over_all_groups_leaves_no_entries(columns, last):
    frontier = Frontier()
    for n in range(300):
        bounds = {"ts": 1000 + n} if len(last.below) < 2 else {"ts": 1000 + n, "ts_right": n}
        assert frontier.advance(Punctuation(bounds, dict.fromkeys(columns, n)))
    assert frontier.advance(last)
    assert not frontier.by
    assert not frontier.several
    assert list(frontier.promises()) == [last]


def test_a_column_whose_groups_all_agree_clears_the_others():
    frontier = Frontier.of(
        Punctuation({"ts": 3}, {"proto": "tcp"}),
        Punctuation({"ts": 3}, {"proto": "tcp", "link": "B"}),
        Punctuation({"ts": 5}, {"link": "A"}),
        Punctuation({"ts": 5}, {"link": not_in("A")}),
    )
    assert frontier.is_linear
    assert repr(frontier) == "Frontier(ts < 5)"


@SOME
@given(model.lists(anything))
@example([Punctuation({"ts": 1}), Punctuation({}, {"ts": not_in(0)})])  # which together leave no row
def test_after_the_end_nothing_else_is_kept(said):
    frontier = Frontier.of(*said, END)
    assert frontier.ended
    assert frontier.is_linear
    assert list(frontier.promises()) == [END]
    assert frontier.bound("ts") == math.inf


def test_the_first_end_is_new_although_groups_have_ended_before():
    frontier = Frontier.of(Punctuation({}, {"link": "A"}))
    assert frontier.advance(Punctuation({}, {"link": not_in("A")})) and frontier.ended
    other = frontier.copy()
    assert not frontier.advance(Punctuation({"ts": 5}))
    assert [frontier.advance(END), frontier.advance(END), other.advance(END)] == [True, False, True]
