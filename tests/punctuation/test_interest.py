"""A gate swallows promises, and its consumer cannot tell."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.punctuation import END, Equal, Frontier, Gate, Interest, Punctuation, not_in
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


@settings(max_examples=500, deadline=None)
@given(said)
@example([Punctuation({}, {"link": "A"}), Punctuation({"ts": 5}, {"link": "A"}), END, Punctuation({"ts": 5})])
def test_a_gate_never_changes_a_step_of_the_consumers_bound(promises):
    gate, gated, whole = Gate([Interest("ts", half), Interest("ts_right")]), Frontier(), Frontier()
    for promise in promises:
        whole.advance(promise)
        if gate.passes(promise):
            gated.advance(promise)
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
        if gate.passes(promise) and single:
            assert before is None or step_of(gate.passed.bound("ts", where)) > before


@settings(max_examples=200, deadline=None)
@given(model.lists(model.promises()))
def test_a_gate_without_interests_passes_what_is_new(promises):
    gate, frontier = Gate(), Frontier()
    assert [gate.passes(p) for p in promises] == [frontier.advance(p) for p in promises]


def test_a_gate_with_no_interest_at_all_passes_ends_alone():
    gate = Gate([])
    assert not gate.passes(Punctuation({"ts": 5}))
    assert gate.passes(Punctuation({}, {"link": "A"}))
    assert gate.passes(END)


def test_a_joint_promise_helps_whoever_asked_for_all_of_its_times():
    promise = Punctuation({"ts": 5, "ts_right": 3})
    assert not Gate([Interest("ts")]).passes(promise)
    assert Gate([Interest("ts"), Interest("ts_right")]).passes(promise)


def test_the_least_demanding_of_two_consumers_decides():
    gate = Gate([Interest("ts", lambda b: b // 60), Interest("ts", lambda b: b // 10)])
    assert [b for b in range(0, 130, 5) if gate.passes(Punctuation({"ts": b}))] == list(range(0, 130, 10))


@pytest.mark.parametrize("ended", [END, Punctuation({}, {"link": "A"}), Punctuation({"ts": math.inf})], ids=str)
def test_a_gate_asks_no_step_of_infinity(ended):
    gate = Gate([Interest("ts", lambda bound: wid_bound(bound, 60, 60, 0))])
    assert gate.passes(Punctuation({"ts": 5}))
    assert gate.passes(ended)
    assert not gate.passes(Punctuation({"ts": 500}, {"link": "A"}))
