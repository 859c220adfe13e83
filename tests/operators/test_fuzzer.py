"""A test of the fuzzer: faults planted in the operators, each of which `check_operator` must catch."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import oop
from oop.errors import PunctuationViolated
from oop.operators.aggregate import group_by, operator, panes
from oop.operators.groups import store as groups
from oop.operators.passing import filter, union
from oop.operators.source import guard
from oop.operators.windows import bucket
from oop.punctuation import Frontier
from oop.punctuation.crossing import Crossing
from oop.testing import check_operator
from tests.operators import fuzz

TUMBLING = oop.tumbling(5)
SLIDING = oop.sliding(9, every=4)


def caught(pipeline, streams=1, expected=None, cases=60):
    """Does one of some seeds fail? Plain random streams of int64 times, as in the laws."""
    for seed in range(cases):
        rng = random.Random(seed)
        inputs = [fuzz.random_stream(rng, pa.int64()) for _ in range(streams)]
        try:
            check_operator(pipeline, *inputs, seed=seed, expected=expected and expected(inputs[0]))
        except (AssertionError, PunctuationViolated):
            return True
    return False


def counted(window):
    return lambda s: s.window(window).group_by("link").agg(n=oop.count())


def union_that_promises_the_most(monkeypatch):
    class Most(Crossing):
        def translate(self, frontiers):
            return Frontier.of(*(p for f in frontiers for p in f.promises()))

        def interests(self, wanted):
            return [list(wanted), list(wanted)]

    monkeypatch.setattr(union.Union, "crossing", lambda self, inputs: Most())
    return oop.union, 2


def filter_that_keeps_promises_to_itself(monkeypatch):
    monkeypatch.setattr(filter.FilterOperator, "process_punctuation", lambda self, punct, port=0: iter(()))
    return lambda s: s.filter(oop.col("v") > 0), 1


def bucket_that_promises_one_window_too_many(monkeypatch):
    right = bucket.Grid.wid_bound
    monkeypatch.setattr(bucket.Grid, "wid_bound", lambda self, bound: right(self, bound) + 1)
    return counted(TUMBLING), 1


def windows_that_close_one_too_early(monkeypatch):
    right = groups.Store.take_below
    monkeypatch.setattr(groups.Store, "take_below", lambda self, bound: right(self, min(bound + 1, 2**62)))
    return lambda s: s.window(TUMBLING).agg(n=oop.count()), 1


def panes_that_are_purged_too_early(monkeypatch):
    right = operator.AggregateOperator._purge_panes
    monkeypatch.setattr(
        operator.AggregateOperator, "_purge_panes", lambda self, bound: right(self, min(bound + 2, 2**62))
    )
    return lambda s: s.window(SLIDING).agg(n=oop.count()), 1


def panes_that_are_never_purged(monkeypatch):
    monkeypatch.setattr(operator.AggregateOperator, "_purge_panes", lambda self, bound: None)
    return lambda s: s.window(SLIDING).agg(n=oop.count()), 1


def a_pane_counted_twice(monkeypatch):
    right = panes.PaneTree._cover
    monkeypatch.setattr(panes.PaneTree, "_cover", lambda self, low, high: (found := right(self, low, high)) + found[:1])

    def answer(elements):  # wrong in the same way in every order: only the model can tell
        placed = fuzz.placed(fuzz.on_time(elements), 9, 4, 0)
        return fuzz.window_rows(placed, [], 9, 4, 0, pa.int64(), {"n": None})

    return lambda s: s.window(SLIDING).agg(n=oop.count()), 1, answer


def a_save_that_forgets_what_changed(monkeypatch):
    right = groups.Store._table

    def unnoticed(self, number):
        known = number in self.tables
        table = right(self, number)
        if known:
            self._changed.discard(number)
        return table

    monkeypatch.setattr(groups.Store, "_table", unnoticed)
    return lambda s: s.window(oop.tumbling(50)).agg(n=oop.count()), 1


def groups_that_stay_after_the_end(monkeypatch):
    right = group_by.GroupByOperator._candidates
    monkeypatch.setattr(group_by.GroupByOperator, "_candidates", lambda self, own: right(self, own)[1:])
    return lambda s: s.group_by("ts").agg(n=oop.count()), 1


FAULTS = [
    union_that_promises_the_most,
    filter_that_keeps_promises_to_itself,
    bucket_that_promises_one_window_too_many,
    windows_that_close_one_too_early,
    panes_that_are_purged_too_early,
    panes_that_are_never_purged,
    a_pane_counted_twice,
    a_save_that_forgets_what_changed,
    groups_that_stay_after_the_end,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_the_fuzzer_catches(fault, monkeypatch):
    assert caught(*fault(monkeypatch))


def test_the_fuzzer_catches_a_guard_that_lets_late_rows_in(monkeypatch):
    monkeypatch.setattr(guard, "broken_promises", lambda frontier, batch: iter(()))
    assert caught(lambda s: s, expected=fuzz.on_time)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_the_fuzzer_is_content_without_the_fault(fault):
    with pytest.MonkeyPatch.context() as patch:
        case = fault(patch)
    assert not caught(*case, cases=10)
