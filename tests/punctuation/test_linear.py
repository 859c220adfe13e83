"""The linear case, one bound about all rows where nothing else is promised: cheap, and equal to the general one."""

import math

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oop.operators.core.context import Context
from oop.operators.core.ports import Ports
from oop.punctuation import END, Frontier, Gate, GroupPromises, Interest, Punctuation, not_in
from oop.punctuation.crossing import Carried, Met, Restricted, Same
from oop.punctuation.translate import restrict, roll_up
from tests.punctuation import model
from tests.punctuation.counting import calls
from tests.punctuation.general import GeneralFrontier, GeneralGate, GeneralPorts

MANY = settings(max_examples=300, deadline=None)
SCHEMA = pa.schema({"ts": pa.int64(), "ts_right": pa.int64(), "link": pa.string(), "proto": pa.string()})


def half(bound):
    return math.floor(bound) // 2  # it refuses infinity


def above_one(bound):
    return bound if bound > 1 else None


linear = st.builds(lambda a, b: Punctuation({a: b}), st.sampled_from(["ts", "ts_right", "other"]), model.bounds)
many = st.builds(
    lambda b: GroupPromises(("link",), "ts", b), st.dictionaries(st.sampled_from("AB"), model.bounds, min_size=1)
)
# most often linear ones, so that they come before, between and behind all others
said = st.one_of(
    st.lists(linear, max_size=8), st.lists(st.one_of(linear, linear, linear, model.promises(), many), max_size=8)
)


def same(found, expected):
    """Promises in the same order; the many of one value in any."""
    shown = [[p if isinstance(p, Punctuation) else sorted(map(str, p)) for p in each] for each in (found, expected)]
    return shown[0] == shown[1]


def alike(frontier, general):
    assert general.rising is None
    assert list(frontier.promises()) == list(general.promises())
    assert frontier == general
    assert (frontier.ended, frontier.is_linear, frontier.is_empty) == (
        general.ended,
        general.is_linear,
        general.is_empty,
    )
    assert frontier.group_columns() == general.group_columns()
    for attribute in ("ts", "ts_right", "other"):
        for where in (None, {"link": "A"}, {"link": "Z", "proto": "A"}, {"ts": 1}):
            assert frontier.bound(attribute, where) == general.bound(attribute, where)


@MANY
@given(said)
@example([Punctuation({"ts": 1}), Punctuation({}, {"link": "A"}), Punctuation({}, {"link": not_in("A")}), END])
@example([Punctuation(above={"ts": 1}, below={"ts": 2}), Punctuation({"ts": 1}), Punctuation({"ts": 2})])
@example([Punctuation({"ts": 1, "ts_right": 1}), Punctuation({"ts": 2}), Punctuation({"ts": 2}), END])
def test_a_frontier_answers_as_without_its_linear_case(promises):
    frontier, general = Frontier(), GeneralFrontier()
    for promise in promises:
        new, expected = frontier.take(promise), general.take(promise)
        assert same([] if new is None else [new], [] if expected is None else [expected])
        alike(frontier, general)
        assert frontier.take_lifted() == general.take_lifted()
        assert frontier.copy().rise("ts", 1) == (not general.covers(Punctuation({"ts": 1})))
        assert frontier.covers(Punctuation({"ts": 1})) == general.covers(Punctuation({"ts": 1})), "a copy is by itself"


@MANY
@given(said)
def test_bounds_rise_as_long_as_nothing_else_is_promised(promises):
    frontier = Frontier()
    for promise in promises:
        before = frontier.copy()
        frontier.take(promise)
        frontier.take_lifted()
        met = Frontier.meet([frontier, before])
        carried = restrict(frontier, {"link": "A"}), roll_up(frontier, ("proto",))
        for each in (frontier, frontier.copy(), frontier.rolled_up(), frontier.without_ranges(), met, *carried):
            assert (each.rising is not None) == all(p.linear is not None for p in each.promises())
            assert each.rising is None or each.rising is each.all.linear


def test_what_ranges_have_become_is_not_lost_where_bounds_rise_again():
    ports = Ports(Same(), Context([SCHEMA]))
    frontier = ports.frontiers[0]
    frontier.advance(Punctuation({"ts": 10}))
    frontier.advance(Punctuation({"ts": 20, "ts_right": 5}, above={"ts": 10}))
    frontier.advance(Punctuation({"ts_right": 5}))  # implies the range, and what it has become
    assert frontier.is_linear
    new = ports.advance((Punctuation({"ts": 40}),), 0)
    assert list(new) == [Punctuation({"ts": 40}), Punctuation({"ts": 20, "ts_right": 5})]
    assert frontier.rising == {"ts": 40, "ts_right": 5}


CROSSINGS = {
    "same": (lambda: Same(), 1),
    "restricted": (lambda: Restricted({"link": "A"}), 1),
    "carried": (
        lambda: Carried(
            {"ts": [("ts", None), ("minute", half)], "ts_right": [("ts", half), ("end", above_one)]},
            {"link": ["port"]},
        ),
        1,
    ),
    "least": (
        lambda: Carried(
            {"ts": [("ts", None)]}, {}, least={"first": [{"ts": [("first", None)]}, {"ts_right": [("first", half)]}]}
        ),
        1,
    ),
    "met": (lambda: Met(2), 2),
    "met of three": (lambda: Met(3), 3),
}
asked = st.sampled_from([None, [Interest("ts")], [Interest(["ts", "port"], by=["link"]), Interest("end")]])


@pytest.mark.parametrize("crossing", CROSSINGS)
@settings(max_examples=150, deadline=None)
@given(said, st.lists(st.integers(0, 2), min_size=8, max_size=8), asked, st.sampled_from([1, 1, 2]))
def test_promises_cross_ports_as_without_the_linear_case(crossing, promises, places, interests, together):
    make, count = CROSSINGS[crossing]
    context = Context([SCHEMA] * count, interests=interests)
    ports, general = Ports(make(), context), GeneralPorts(make(), context)
    for at in range(0, len(promises), together):
        advance, port = tuple(promises[at : at + together]), places[at] % count
        new, expected = ports.advance(advance, port), general.advance(advance, port)
        assert same(new, expected)
        if new:
            assert same(ports.promises(new), general.promises(expected))
        for frontier, other in zip([*ports.frontiers, ports.out], [*general.frontiers, general.out], strict=True):
            alike(frontier, other)


uses = st.sampled_from(
    [
        {"ts": [("ts", half)]},
        {"ts": [("ts", None), ("minute", half)]},
        {"ts": [("ts", above_one)], "ts_right": [("ts_right", None)]},
        {"ts": [("later", half)], "ts_right": [("later", half)]},
        {},
    ]
)
by = st.sampled_from([(), ("link",), ("link", "proto"), None])
wanted = st.lists(st.builds(lambda u, b: Interest(u, by=b), uses, by), max_size=3)


@MANY
@given(wanted, said)
def test_a_gate_answers_as_without_its_linear_case(interests, promises):
    gate, general = Gate(interests), GeneralGate(interests)
    for promise in promises:
        if isinstance(promise, Punctuation):
            assert gate.helps(promise) == general.helps(promise)
        if promise.linear is not None:
            assert gate.passes(promise) == general.passes(promise)
        else:
            assert same(list(gate.through([promise])), list(general.through([promise])))
        assert gate.offered == general.offered
        assert list(gate.passed.promises()) == list(general.passed.promises())
        assert list(gate.held.promises()) == list(general.held.promises())


def test_a_linear_promise_costs_a_frontier_two_calls():
    frontier, promises = Frontier.of(Punctuation({"ts": 1})), [Punctuation({"ts": bound}) for bound in (2, 2, 3)]
    assert [calls(lambda p=p: frontier.take(p)) for p in promises] == [2, 2, 2]
    assert calls(lambda: frontier.rise("ts", 4)) == 1
    assert calls(lambda: frontier.bound("ts")) == 1


@pytest.mark.parametrize(("crossing", "most"), [("same", 1), ("restricted", 1), ("carried", 3)])
def test_a_linear_promise_crosses_an_operator_by_few_calls(crossing, most):
    ports = Ports(CROSSINGS[crossing][0](), Context([SCHEMA]))
    ports.promises(ports.advance((Punctuation({"ts": 1}),), 0))
    promise = (Punctuation({"ts": 8}),)
    assert calls(lambda: ports.advance(promise, 0)) == 1
    assert calls(lambda: ports.advance(promise, 0)) == 1, "nor more where it says nothing new"
    # of what is carried: two images, one of them by a function, and a promise that is made of it
    assert calls(lambda: ports.promises(promise)) == most
    assert ports.out.bound("ts") == 8


def test_a_bound_that_helps_nobody_costs_a_gate_few_calls():
    gate = Gate([Interest("ts", half, by=())])
    assert gate.rises("ts", 10)
    assert calls(lambda: gate.rises("ts", 11)) == 4
    assert calls(lambda: gate.rises("ts", 12)) == 5
    assert gate.passed.bound("ts") == 12
