"""What the out-of-order join holds, and when results leave: the claims of the OOP paper's figures 5, 6 and 8.

What an in-order evaluation would hold is computed here from its definition, in plain Python. The paper's minutes have
twenty ticks; each stream has one row a tick.
"""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop.operators.join.join import JoinOperator
from oop.testing import Harness

MINUTE = 20
ROWS = {"ts": "int64"}
Pair = tuple[int, int]


def join_of(harness: Harness) -> JoinOperator:
    (found,) = (box.operator for box in harness.run._boxes if isinstance(box.operator, JoinOperator))
    return found


def pairs_out(harness: Harness) -> list[Pair]:
    return [(row["ts"], row["ts_right"]) for row in harness.rows()]


# --- figure 5: S0 has a few rows that are up to 5 minutes late, S1 is in order


BAND = 2 * MINUTE
SLACK = 5 * MINUTE
LENGTH = 25 * MINUTE


def figure_5(s0: oop.Stream, s1: oop.Stream) -> oop.Stream:
    """S0.ts - 2 < S1.ts < S0.ts + 2"""
    return s0.join(s1, within=(-BAND, BAND), closed="neither")


def arrivals(seed: int) -> list[list[int]]:
    """For each tick, the times of the rows of S0 that arrive in it: one row in twenty is late."""
    rng = random.Random(seed)
    found: list[list[int]] = [[] for _ in range(LENGTH + SLACK + 1)]
    for time in range(LENGTH):
        found[time + (rng.randint(1, SLACK) if rng.random() < 0.05 else 0)].append(time)
    return found[:LENGTH]


class InOrder:
    """Figure 5(a): a sort lets rows of S0 pass in order, those below its bound; the join, both of whose inputs are in
    order, then holds a row for as long as the last row of the other side may be near to it."""

    def __init__(self) -> None:
        self.sort: list[int] = []
        self.sides: tuple[list[int], list[int]] = ([], [])

    def step(self, now: int, s0: list[int]) -> list[Pair]:
        """The rows of S0 that arrive, and the row of S1, which is on time: what the join puts out."""
        left, right = self.sides
        right.append(now)
        self.sort += s0
        bound = now - SLACK
        passed = sorted(time for time in self.sort if time < bound)
        self.sort = [time for time in self.sort if time >= bound]
        left += passed  # and leave at once below: those of S1 that are near have all come
        found = [(a, b) for a in passed for b in right if -BAND < b - a < BAND]
        left[:] = [a for a in left if now - a < BAND]
        right[:] = [b for b in right if b - bound > -BAND]
        return found


@pytest.mark.parametrize("seed", range(3))
def test_figure_5_rows_held(seed: int) -> None:
    """The rule of operators/join/band.py: a left row is held while R - l.ts < hi, a right row while r.ts - L > lo.

    With R = now and L = now - 5 min that is 2 minutes of S0 and 5 + 2 = 7 minutes of S1. The paper's text says "5
    minutes of S1 tuples, similar to IOP", where its figure 5(a) has 7: by the rule it is 7 in both, the 5 minutes that
    S0 may be late and the 2 minutes of the band.
    """
    harness, in_order = Harness(figure_5, ROWS, ROWS), InOrder()
    join = join_of(harness)
    came: list[int] = []
    first: dict[Pair, int] = {}
    sorted_out: dict[Pair, int] = {}
    for now, s0 in enumerate(arrivals(seed)):
        came += s0
        harness.push({"ts": s0}, port=0)
        harness.push({"ts": [now]}, port=1)
        harness.promise(0, ts=now - SLACK)
        harness.promise(1, ts=now)
        first |= dict.fromkeys(pairs_out(harness), now)
        sorted_out |= dict.fromkeys(in_order.step(now, s0), now)

        held = [len(side) for side in join.sides]
        assert held[0] == sum(now - time < BAND for time in came)
        assert held[1] == min(now + 1, SLACK + BAND)
        assert harness.buffered_rows == sum(held)
        assert held[1] == len(in_order.sides[1])
        assert not in_order.sides[0]  # "does not need to maintain any state for S0": the sort has it
        if now > SLACK + BAND:
            assert 0.75 * BAND <= held[0] <= BAND  # a few are still to come
            assert 0.75 * SLACK <= len(in_order.sort) <= SLACK + 1
            fewer = len(in_order.sort) - held[0]  # "3 minutes fewer of S0 tuples"
            assert 0.75 * 3 * MINUTE <= fewer <= 3 * MINUTE + 1
    assert_earlier(first, sorted_out)


def assert_earlier(first: dict[Pair, int], sorted_out: dict[Pair, int]) -> None:
    """ "…and produces most join results earlier than the IOP evaluation" """
    assert sorted_out.keys() <= first.keys()
    gained = sorted(sorted_out[pair] - first[pair] for pair in sorted_out)
    assert gained[0] >= 0
    assert gained[len(gained) // 10] >= 3 * MINUTE  # 9 in 10: the pairs of rows that are on time
    assert gained[-1] == SLACK + 1


def test_figure_5_as_measured() -> None:
    """The same with the policies that make such promises, and what a run says of itself."""

    def s0() -> Iterator[pa.Table]:
        return (pa.table({"ts": pa.array(times, pa.int64())}) for times in arrivals(seed=7))

    def s1() -> Iterator[pa.Table]:
        return (pa.table({"ts": [now]}) for now in range(LENGTH))

    left = oop.source(s0, time="ts", punctuate=oop.slack(SLACK), name="S0")
    right = oop.source(s1, time="ts", punctuate=oop.ordered(), name="S1")
    run = figure_5(left, right).run()
    run.to_table()
    assert len(run.late) == 0
    rule = BAND + (SLACK + BAND)
    assert 0.95 * rule <= run.metrics.box("Join").peak_buffered_rows <= rule + 2  # a row is taken, then promised on
    assert run.metrics.box("Join").buffered_rows == 0


# --- figure 6: the results of an in-order join that puts out in the order of S0.ts are held back


LO, HI = -3 * MINUTE, 2 * MINUTE


def test_figure_6_no_result_is_held_back() -> None:
    """S0.ts - 3 < S1.ts < S0.ts + 2. Both streams in order, and at time 6."""
    harness = Harness(lambda a, b: a.join(b, within=(LO, HI), closed="neither"), ROWS, ROWS)
    came: tuple[list[int], list[int]] = ([], [])
    out: list[Pair] = []
    for now in range(6 * MINUTE):
        for port in (0, 1):
            harness.push({"ts": [now]}, port=port)
            new = [(now, b) for b in came[1]] if port == 0 else [(a, now) for a in came[0]]
            came[port].append(now)
            results = pairs_out(harness)
            assert sorted(results) == [(a, b) for a, b in sorted(new) if LO < b - a < HI]  # with its later row
            out += results
        for port in (0, 1):
            harness.promise(port, ts=now + 1)
            assert pairs_out(harness) == []  # so a promise lets nothing out
    assert harness.frontier.bound("ts") == 4 * MINUTE  # what later results are not below

    later = [
        (a, b) for a in range(9 * MINUTE) for b in range(9 * MINUTE) if max(a, b) >= 6 * MINUTE and LO < b - a < HI
    ]
    least = min(a for a, _ in later)  # an output in order of S0.ts has yet to put out this
    assert least == 4 * MINUTE + 1
    held_back = [pair for pair in out if pair[0] > least]
    assert {a for a, _ in held_back} == set(range(4 * MINUTE + 2, 6 * MINUTE))  # "between 4 and 6"
    assert len(held_back) > 0.3 * len(out)


def test_figure_6_what_is_held_back_grows_with_the_band() -> None:
    """ "In general, the required buffering for ordering join output increases with the band size": not out of order."""
    held_back = []
    for hi in (1, 2, 4):
        harness = Harness(lambda a, b, hi=hi: a.join(b, within=(LO, hi * MINUTE), closed="neither"), ROWS, ROWS)
        times = list(range(6 * MINUTE))
        for port in (0, 1):
            harness.push({"ts": times}, port=port)
            harness.promise(port, ts=6 * MINUTE)
        out = pairs_out(harness)
        assert len(out) == sum(LO < b - a < hi * MINUTE for a in times for b in times)
        bound = harness.frontier.bound("ts")
        assert bound == (6 - hi) * MINUTE
        held_back.append(sum(a > bound + 1 for a, _ in out))
    assert held_back == sorted(held_back)
    assert held_back[0] * 3 < held_back[2]


# --- figure 8: groups of (S0.ts, S1.ts) leave sooner with joint promises than with individual ones


BANDS = (1, 10, 60, 120)
Q3 = runpy.run_path(str(Path(__file__).resolve().parents[3] / "examples" / "q3_connections.py"))


class CountedPairs:
    """A join and three counts of its pairs: in one plan with it, and fed with all its promises or only individual ones.

    For each group it is known at which step it left: when both inputs had promised that step.
    """

    def __init__(self, join: Callable[[oop.Stream, oop.Stream], oop.Stream], *schemas: pa.Schema) -> None:
        def count(pairs: oop.Stream) -> oop.Stream:
            return pairs.group_by("ts", "ts_right").agg(n=oop.count())

        self.join = Harness(join, *schemas)
        self.whole = Harness(lambda a, b: count(join(a, b)), *schemas)
        both = oop.punctuated(on=["ts", "ts_right"])
        self.fed = {kind: Harness(count, self.join.stream.schema, punctuate=both) for kind in ("all", "individual")}
        self.left: dict[str, dict[Pair, int]] = {"whole": {}, "all": {}, "individual": {}}

    def step(self, now: int, *rows: pa.RecordBatch) -> None:
        for harness in (self.join, self.whole):
            for port, batch in enumerate(rows):
                harness.push(batch, port=port)
            for port in (0, 1):
                harness.promise(port, ts=now)
        for element in self.join.out():
            is_joint = isinstance(element, oop.Punctuation) and len(element.below) == 2
            for kind, harness in self.fed.items():
                if kind == "all" or not is_joint:
                    harness.feed(element)
        for kind, harness in (("whole", self.whole), *self.fed.items()):
            for row in harness.rows():
                self.left[kind][seconds(row["ts"]), seconds(row["ts_right"])] = now

    def sooner(self) -> dict[Pair, int]:
        """By how many seconds of stream each group leaves sooner."""
        joint, individual = self.left["whole"], self.left["individual"]
        assert joint == self.left["all"]
        assert joint.keys() == individual.keys()
        return {group: individual[group] - joint[group] for group in joint}


def seconds(time: int | datetime) -> int:
    return time if isinstance(time, int) else (time - datetime(1970, 1, 1)) // timedelta(seconds=1)


@pytest.mark.parametrize("band", BANDS)
def test_joint_promises_do_not_wait_for_the_band(band: int) -> None:
    """Both inputs at t promise jointly (t, t), and individually t - band: a group (a, b) waits for the greater of its
    times, or for the band after the smaller. Groups of one second leave sooner by the band."""
    schema = pa.schema({"ts": pa.int64()})
    counted = CountedPairs(lambda a, b: a.join(b, within=(-band, band)), schema, schema)
    length = band + 20
    for now in range(length + band + 2):
        times = [now - 1] if 0 < now <= length else []
        batch = pa.RecordBatch.from_pydict({"ts": times}, schema=schema)
        counted.step(now, batch, batch)
    sooner = counted.sooner()
    assert sooner == {(a, b): band - abs(a - b) for a in range(length) for b in range(length) if abs(a - b) <= band}
    assert max(sooner.values()) == band
    assert counted.left["whole"] == {(a, b): max(a, b) + 1 for a, b in sooner}  # whatever the band


@pytest.mark.parametrize("band", BANDS)
def test_connections_do_not_wait_for_the_band(band: int) -> None:
    """The same with Q3: the answer comes after the call, and within 1 s exclusive, in whole seconds, there is none."""
    calls = pa.schema({"ts": pa.timestamp("s"), "dst": pa.string(), "dport": pa.int64(), "flags": pa.int64()})
    answers = pa.schema({"ts": pa.timestamp("s"), "src": pa.string(), "sport": pa.int64(), "flags": pa.int64()})
    counted = CountedPairs(lambda a, b: Q3["pairs"](a, b, f"{band}s"), calls, answers)
    length = band + 20
    for now in range(length + band + 2):
        times = [now - 1] if 0 < now <= length else []
        batches = []
        for schema, flags in ((calls, Q3["SYN"]), (answers, Q3["SYN_ACK"])):
            columns = zip(schema.names, (times, ["server"], [80], [flags]), strict=True)
            batches.append(pa.RecordBatch.from_pydict({n: c[: len(times)] for n, c in columns}, schema=schema))
        counted.step(now, *batches)
    sooner = counted.sooner()
    assert sooner == {(a, b): band - (b - a) for a in range(length) for b in range(length) if 0 < b - a < band}
    assert counted.left["whole"] == {(a, b): b + 1 for a, b in sooner}
