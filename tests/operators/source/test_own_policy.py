"""A policy that is written here, and nowhere else: what a source does with it follows from what it declares."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.source.judges import judge_of
from oop.punctuation.policy import Policy, Tracking
from oop.punctuation.trackers import Greatest
from oop.testing import check_operator


class OnMultiples(Greatest):
    """The greatest value so far, rounded down to a multiple of ``n``."""

    __slots__ = ("n",)

    def __init__(self, n):
        super().__init__()
        self.n = n

    @property
    def bound(self):
        return None if self.greatest is None else self.greatest // self.n * self.n


@dataclass(frozen=True)
class Multiples(Tracking):
    """Rows come in any order within ``n``, and the stream is promised to have passed each multiple of it."""

    n: int = 1

    def tracker(self):
        return OnMultiples(self.n)

    def slack_for(self, more):
        return more + self.n

    def __str__(self):
        return f"multiples of {self.n}{self._suffix()}"


@dataclass(frozen=True)
class FromTheStart(Policy):
    """No row is below ``least``: known before any comes, so that nothing follows from rows."""

    least: int = 0
    promises_before_end = False


TIMES = [3, 7, 12, 5, 19, 14, 21, 9, 30]
LATE = [5, 9]


def table(times):
    return pa.table({"ts": pa.array(times, pa.int64()), "k": ["A", "B", "C"] * (len(times) // 3)})


def source(times=TIMES, rows=None, **options):
    data = table(times)
    data = data if rows is None else data.to_batches(rows)
    policy = options.pop("policy", Multiples(n=10))
    return oop.source(data, time="ts", punctuate=policy, schema=table(times).schema, name="in", **options)


@pytest.mark.parametrize("rows", [None, 1, 2, 4])
def test_rows_below_the_last_multiple_are_late_whatever_the_batches(rows):
    run = source(rows=rows).run()
    assert run.to_table()["ts"].to_pylist() == [t for t in TIMES if t not in LATE]
    late = run.late["in"]
    assert late["ts"].to_pylist() == LATE
    assert late["broke"].to_pylist() == ["ts < 10", "ts < 20"]
    assert late["late_by"].to_pylist() == [5.0, 11.0]


def test_windows_close_as_the_multiples_are_passed():
    windows = source(rows=1).window(oop.tumbling(5)).agg(n=oop.count())
    assert windows.run().to_table().to_pydict() == {
        "window_start": [0, 5, 10, 15, 20, 30],
        "window_end": [5, 10, 15, 20, 25, 35],
        "n": [1, 1, 2, 1, 1, 1],
    }


def test_what_would_have_been_enough_is_what_the_policy_says():
    run = source().run()
    run.to_table()
    needed = run.late.needed_slack(shares=[1])
    assert (needed.policy, needed.rows, needed.late) == ("multiples of 10", 9, 2)
    assert (needed.needs[0].more, needed.needs[0].slack) == (11, 21)


def test_late_rows_can_be_errors():
    with pytest.raises(oop.LateRow, match="row 3 breaks the promise ts < 10"):
        source(late="raise").run().to_table()


def test_it_is_explained_in_its_own_words():
    assert "multiples of 10" in source().explain()


@pytest.mark.parametrize("policy", [Multiples(n=10), Multiples(by="k", n=10), Multiples(by="k", groups=("A",), n=4)])
def test_batches_are_judged_as_their_rows_one_by_one(policy):
    batches = table(TIMES).to_batches(4)
    together, one_by_one = policy.start("ts"), policy.start("ts")
    judge = judge_of(together)
    for batch in batches:
        times = batch.column("ts").to_numpy()
        expected = one_by_one.observe(times.tolist(), batch.column("k").to_pylist() if policy.by else None)
        least = np.iinfo(np.int64).min
        assert judge.bounds(times, batch).tolist() == [least if b is None else b for b in expected]
        assert list(together.promises()) == list(one_by_one.promises())


def test_it_may_stand_in_the_middle_of_a_plan():
    stream = source(policy=oop.at_end()).assume(Multiples(n=10))
    run = stream.run()
    assert run.to_table()["ts"].to_pylist() == [t for t in TIMES if t not in LATE]


@pytest.mark.parametrize("seed", range(5))
def test_the_laws_hold(seed):
    check_operator(
        lambda s: s.window(oop.tumbling(5)).group_by("k").agg(n=oop.count()),
        table(TIMES).to_batches(3),
        seed=seed,
        punctuate=Multiples(n=10),
    )


def test_a_policy_of_which_nothing_follows_from_rows():
    run = source(policy=FromTheStart(least=3)).run()
    assert run.to_table()["ts"].to_pylist() == TIMES
    with pytest.raises(oop.SchemaMismatch, match="cannot assume"):
        source().assume(FromTheStart(least=3))
