"""A gate swallows promises, and its consumers cannot tell."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Equal, Frontier, Gate, Interest, Punctuation, not_in
from oop.punctuation.interest import asked_of
from oop.punctuation.translate import wid_bound
from tests.punctuation import model


def half(bound):
    return math.floor(bound) // 2  # as wid_bound does, it refuses infinity


def step_of(bound):
    return bound if bound is None or math.isinf(bound) else half(bound)


groups = st.sampled_from([{}, {"link": "A"}, {"link": "B"}, {"link": not_in("A")}, {"link": not_in("A", "B")}])
two = st.sampled_from([{"link": "A", "proto": "A"}, {"link": "A", "proto": not_in("A")}, {"proto": "A"}])
bounds = st.one_of(st.integers(0, 12), st.just(math.inf))
said = st.lists(
    st.one_of(
        st.builds(lambda b, w: Punctuation({"ts": b}, w), bounds, st.one_of(groups, two)),
        st.builds(lambda a, b, w: Punctuation({"ts": a, "ts_right": b}, w), bounds, bounds, groups),
        st.builds(lambda w: Punctuation({}, w), groups),
    ),
    max_size=12,
)
by = st.sampled_from([(), ("link",), ("proto",), ("link", "proto"), None])
uses = st.sampled_from(
    [
        {"ts": [("ts", half)]},
        {"ts": [("ts", None)]},
        {"ts_right": [("ts_right", None)]},
        {"ts": [("ts", half)], "ts_right": [("ts_right", None)]},
        {"ts": [("later", half)], "ts_right": [("later", half)]},
        {},
    ]
)
wanted = st.lists(st.builds(lambda u, b: Interest(u, by=b), uses, by), max_size=3)


@settings(max_examples=500, deadline=None)
@given(wanted, said, st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_consumer_makes_the_same_of_what_passes_as_of_everything(interests, promises, pauses):
    """Whatever comes in one go, whatever kinds, steps and groups the consumers use, and after a restart, too."""
    gate, whole, train = Gate(interests), Frontier(), []
    for promise, pause in zip(promises, pauses, strict=False):
        whole.advance(promise)
        train.append(promise)
        if pause:
            continue
        before = gate.passed.copy()
        for passed in gate.through(train):
            assert before.advance(passed), "said twice"
            assert whole.covers(passed), "promised more than was"
        assert before == gate.passed
        for interest in interests:
            assert interest.image(gate.passed) == interest.image(whole)
        assert gate.passed.ended == asked_of(whole, []).ended
        train = []
        other = Gate(interests)
        other.restore(Frontier.of(*gate.passed.promises()), Frontier.of(*gate.held.promises()))
        gate = other


@settings(max_examples=300, deadline=None)
@given(wanted, said)
def test_what_passes_was_asked_for(interests, promises):
    gate = Gate(interests)
    for passed in gate.through(promises):
        assert passed.is_end or any(i.images(passed) for i in interests)
        assert asked_of(Frontier.of(*promises), interests).covers(passed)


@settings(max_examples=300, deadline=None)
@given(said)
@example([Punctuation({}, {"link": "A"}), Punctuation({"ts": 5}, {"link": "A"}), END, Punctuation({"ts": 5})])
def test_a_gate_never_changes_a_step_of_the_consumers_bound(promises):
    gate, gated, whole = Gate([Interest("ts", half), Interest("ts_right")]), Frontier(), Frontier()
    for promise in promises:
        whole.advance(promise)
        for passed in gate.through([promise]):
            gated.advance(passed)
        for where in [{}, *({"link": g, "proto": p} for g in ("A", "B", "Z") for p in ("A", "Z"))]:
            assert step_of(gated.bound("ts", where)) == step_of(whole.bound("ts", where))
            assert gated.bound("ts_right", where) == whole.bound("ts_right", where)
    assert gated == gate.passed


@settings(max_examples=300, deadline=None)
@given(said)
def test_a_gate_swallows_what_takes_no_step(promises):
    """Of the bounds of one group, or of all rows, each that passes takes the step further."""
    gate = Gate([Interest("ts", half)])
    for promise in promises:
        named = all(isinstance(p, Equal) for p in promise.where.values())
        single = named and promise.below.keys() == {"ts"}
        where = {c: p.value for c, p in promise.where.items()} if single else {}
        before = step_of(gate.passed.bound("ts", where))
        if promise in list(gate.through([promise])) and single:
            assert before is None or step_of(gate.passed.bound("ts", where)) > before


@settings(max_examples=200, deadline=None)
@given(model.lists(model.promises()))
def test_a_gate_without_interests_passes_what_is_new(promises):
    gate, frontier = Gate(), Frontier()
    assert [gate.passes(p) for p in promises] == [frontier.advance(p) for p in promises]


def test_a_gate_with_no_interest_at_all_passes_the_end_alone():
    gate = Gate([])
    assert not gate.passes(Punctuation({"ts": 5}))
    assert list(gate.through([Punctuation({}, {"link": "A"})])) == []
    assert list(gate.through([Punctuation({}, {"link": not_in("A")})])) == [END]
    assert not gate.passes(END)


def test_a_joint_promise_helps_whoever_asked_for_all_of_its_times_together():
    promise = Punctuation({"ts": 5, "ts_right": 3})
    assert not Gate([Interest("ts")]).passes(promise)
    assert not Gate([Interest("ts"), Interest("ts_right")]).passes(promise)
    assert Gate([Interest(["ts", "ts_right"])]).passes(promise)


def test_the_least_demanding_of_two_consumers_decides():
    gate = Gate([Interest("ts", lambda b: b // 60), Interest("ts", lambda b: b // 10)])
    assert [b for b in range(0, 130, 5) if gate.passes(Punctuation({"ts": b}))] == list(range(0, 130, 10))


def test_in_front_of_a_map_the_steps_are_those_behind_it():
    interest = Interest("minute", lambda m: m // 10, by=["port"])
    before = interest.before({"ts": [("minute", lambda t: t // 60), ("ts", None)]}, {"link": ["port", "wire"]})
    assert list(before.uses) == ["ts"]
    assert before.by == {"link"}
    gate = Gate([before])
    assert [t for t in range(0, 2000, 50) if gate.passes(Punctuation({"ts": t}))] == [0, 600, 1200, 1800]


@pytest.mark.parametrize("ended", [END, Punctuation({}, {"link": "A"}), Punctuation({"ts": math.inf})], ids=str)
def test_a_gate_asks_no_step_of_infinity(ended):
    gate = Gate([Interest("ts", lambda bound: wid_bound(bound, 60, 60, 0))])
    assert gate.passes(Punctuation({"ts": 5}))
    assert gate.passes(ended)
    assert not gate.passes(Punctuation({"ts": 500}, {"link": "A"}))


class _Carrying:
    def __call__(self, bound):
        return bound

    def low_end(self, low):
        return low


def test_ranges_are_asked_for_only_where_every_step_lets_them_pass():
    carrying, bounds_only = _Carrying(), lambda bound: bound
    for first, second, asked in (
        (carrying, carrying, True),
        (carrying, bounds_only, False),
        (bounds_only, carrying, False),
    ):
        ((_, both),) = Interest({"b": [("c", second)]}, by=()).before({"a": [("b", first)]}, {}).uses["a"]
        wanted = Interest("c", by=["c"]).before({"a": [("c", both)]}, {})
        assert (wanted.ranges == {"a"}) is asked


@settings(max_examples=300, deadline=None)
@given(wanted, said)
def test_the_linear_case_of_a_gate_is_as_the_general_one(interests, promises):
    asked, plain = Gate(interests), Gate(interests)
    for promise in promises:
        expected = list(plain.through([promise]))
        if promise.linear is not None:
            found = [promise] if asked.passes(promise) else []
        else:
            found = list(asked.through([promise]))
        assert found == expected
        assert (asked.offered, asked.passed, asked.held) == (plain.offered, plain.passed, plain.held)
