"""Promises about many groups as one say what they say one by one, to whoever takes them."""

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Frontier, Gate, GroupPromises, Interest, Punctuation, not_in
from oop.punctuation.group_promises import one_by_one
from oop.punctuation.patterns import group_value
from oop.punctuation.translate import carry_groups, carry_promise
from tests.punctuation import model

MANY = settings(max_examples=500, deadline=None)


def many(columns, attributes=("ts", "ts_right")):
    """Bounds on one attribute for some groups of these columns."""
    groups = list(itertools.product(*(map(group_value, model.NAMED[c]) for c in columns)))
    groups = [g[0] for g in groups] if len(columns) == 1 else groups
    bounds = st.dictionaries(st.sampled_from(groups), st.sampled_from(model.BOUNDS), min_size=1, max_size=6)
    return st.builds(GroupPromises, st.just(columns), st.sampled_from(attributes), bounds)


anything = st.one_of(
    many(("link",)), many(("proto",)), many(("link", "proto")), many(("ts",), ("ts_right",)), model.promises()
)
said = st.lists(anything, max_size=6)


def texts(promises):
    return sorted(str(sorted(f"{a} {p}" for a, p in promise.patterns().items())) for promise in one_by_one(promises))


@MANY
@given(said)
@example([GroupPromises(("link", "proto"), "ts", {("A", "B"): 1}), Punctuation({"ts": 1}), END])
@example([GroupPromises(("link",), "ts", {"A": 1, "B": 2}), Punctuation({"ts": 2}, {"link": not_in("A")})])
@example([Punctuation({"ts": 2}), GroupPromises(("ts",), "ts_right", {0: 1, 2: 1})])
def test_a_frontier_takes_them_as_one_by_one(promises):
    whole, single = Frontier(), Frontier()
    for promise in promises:
        new = whole.take(promise)
        assert texts([new] if new is not None else []) == texts(p for p in one_by_one([promise]) if single.advance(p))
        assert whole == single
        assert model.late(whole.promises()) == model.late(single.promises())
        assert whole.is_linear == single.is_linear
        assert whole.group_columns() == single.group_columns()


@MANY
@given(said, st.sampled_from(model.GROUPS), st.sampled_from(model.GROUPS))
def test_a_frontier_of_them_says_the_same_of_a_group(promises, link, proto):
    whole, single = Frontier(), Frontier.of(*one_by_one(promises))
    for promise in promises:
        whole.take(promise)
    for where in ({}, {"link": link}, {"proto": proto}, {"link": link, "proto": proto}):
        assert whole.bound("ts", where) == single.bound("ts", where)
    other = whole.copy()
    other.take(GroupPromises(("link",), "ts", {"A": 9}))
    assert whole == single


@MANY
@given(st.one_of(many(("link",)), many(("link", "proto"))), st.booleans(), st.booleans())
def test_they_cross_a_map_as_one_by_one(promises, keeps, swaps):
    half = {0: 0, 1: 0, 2: 1}.get
    attributes = {"ts": [("t", None), ("half", half)], "ts_right": [("right", lambda bound: None)]}
    columns = {"link": ["z" if swaps else "link", "also"], "proto": ["proto"] if keeps else []}
    images = carry_groups(promises, attributes, columns)
    single = [carry_promise(p, attributes, columns) for p in promises]
    if images is None:
        assert None in single
    else:
        assert texts(images) == texts(itertools.chain(*single))
        assert all(list(i.columns) == sorted(i.columns) for i in images)


interests = st.lists(
    st.builds(
        lambda name, step, by: Interest(name, step, by),
        st.sampled_from(["ts", "ts_right"]),
        st.sampled_from([None, lambda bound: bound // 2]),
        st.sampled_from([None, (), ("link",), ("link", "proto")]),
    ),
    max_size=3,
)


@MANY
@given(st.none() | interests, said)
def test_a_gate_lets_the_same_through(wanted, promises):
    whole, single = Gate(wanted), Gate(wanted)
    for promise in promises:
        passed = list(whole.through([promise]))
        apart = list(single.through(one_by_one([promise])))
        assert texts(passed) == texts(apart)
        assert whole.passed == single.passed
        assert whole.held == single.held
