"""The identities that the paper states between operators with slack, and without it behind a sort (papers/000, 5.2.2.2
and 5.2.2.3); and that results do not depend on how groups interleave."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import bag
from tests.oop_.aurora import model
from tests.operators import fuzz

SCHEMA = pa.schema({"Sid": pa.string(), "Time": pa.int64(), "Pos": pa.int64()})
CASES = max(20, fuzz.CASES // 5)


def reports(rng: random.Random) -> list[dict[str, Any]]:
    now, rows = 0, []
    for _ in range(rng.randint(0, 40)):
        now += rng.choice([0, 1, 1, 3])
        time = now - rng.choice([0, 0, 0, 1, 2, 5, 9])
        rows.append({"Sid": rng.choice(["a", "b", None]), "Time": time, "Pos": rng.randint(0, 3)})
    return rows


def source(rng: random.Random, rows: list[dict[str, Any]]) -> oop.Stream:
    sizes = [rng.randint(1, 7) for _ in range(rng.randint(0, 9))]
    return oop.source(model.batches(rows, SCHEMA, sizes), time="Time", punctuate=None, schema=SCHEMA)


def answer(stream: oop.Stream, threads: int) -> Any:
    run = stream.run(engine=oop.Embedded(threads=threads, check=True))
    return bag(run.to_table().to_pylist())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("group_by", [(), ("Sid",)])
def test_aggregate_with_slack_is_one_without_behind_a_sort(group_by: tuple[str, ...], threads: int) -> None:
    """Aggregate(F, Assuming Order(On A, Slack n, GroupBy B), …)(S) = Aggregate(F, Assuming Order(On A, Slack 0, GroupBy
    B), …)(BSort(Assuming Order(On A, Slack n, GroupBy B))(S)); BSort being n passes of a bubble sort."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows, slack = reports(rng), rng.randint(0, 4)
        size, advance = rng.choice([(5, 5), (6, 2), (3, 7), (4, oop.col("Pos") == 1)])

        def box(n: int, size: Any = size, advance: Any = advance) -> aurora.Aggregate:
            functions = {"n": oop.count(), "sum": oop.sum("Pos")}
            return aurora.Aggregate(functions, oop.Order("Time", n, group_by), size, advance)

        in_order = model.bubble_sorted(rows, "Time", slack, group_by)
        found = answer(box(slack)(source(rng, rows)), threads)
        assert found == answer(box(0)(source(rng, in_order)), threads), f"seed {seed}"


@pytest.mark.parametrize("size, advance", [(1, 1), (2, 3), (4, 2), (4, oop.col("Pos") == 1)])
@pytest.mark.parametrize("mergeable", [True, False])
def test_windows_leave_in_their_order(size: int, advance: Any, mergeable: bool) -> None:
    """The same as sequences: behind a sort a window that begins earlier leaves earlier, so it does where rows are not
    sorted, with many windows in a batch or few. A box behind it may go by arrival, as those of figure 16 do."""
    function = oop.sum("Pos") if mergeable else oop.aggregate(0, lambda s, v: s + v)("Pos")
    for seed in range(CASES // 5):
        rng = random.Random(seed)
        rows = [row for part in range(20) for row in shifted(reports(rng), 60 * part)]
        slack, cut = rng.randint(1, 4), rng.choice([1, 70, len(rows)])

        def box(n: int) -> aurora.Aggregate:
            return aurora.Aggregate({"sum": function}, oop.Order("Time", n), size, advance)

        def windows(n: int, rows: list[dict[str, Any]], cut: int) -> list[dict[str, Any]]:
            batches = model.batches(rows, SCHEMA, [cut] * (len(rows) // cut))
            stream = oop.source(batches, time="Time", punctuate=None, schema=SCHEMA)
            return box(n)(stream).run(engine=oop.Embedded(threads=1)).to_table().to_pylist()

        found = windows(slack, rows, cut)
        assert found == sorted(found, key=lambda row: row["Time"]), f"seed {seed}"
        assert found == windows(0, model.bubble_sorted(rows, "Time", slack), 1), f"seed {seed}"


def shifted(rows: list[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    return [{**row, "Time": row["Time"] + by} for row in rows]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("group_by", [(), ("Sid",)])
def test_join_with_slack_is_one_without_behind_sorts(group_by: tuple[str, ...], threads: int) -> None:
    for seed in range(CASES):
        rng = random.Random(seed)
        sides = reports(rng), reports(rng)
        slacks = rng.randint(0, 3), rng.randint(0, 3)
        predicate = (oop.col("Sid") == oop.col("Sid_right")) & (oop.col("Pos") <= oop.col("Pos_right"))

        def box(a: int, b: int, predicate: Any = predicate, size: int = rng.choice([0, 2, 5])) -> Callable[..., Any]:
            return aurora.Join(predicate, size, oop.Order("Time", a, group_by), oop.Order("Time", b, group_by))

        in_order = [model.bubble_sorted(s, "Time", n, group_by) for s, n in zip(sides, slacks, strict=True)]
        found = answer(box(*slacks)(*(source(rng, s) for s in sides)), threads)
        assert found == answer(box(0, 0)(*(source(rng, s) for s in in_order)), threads), f"seed {seed}"


@pytest.mark.parametrize("threads", [1, 2])
def test_groups_may_interleave_as_they_like(threads: int) -> None:
    """The order is that of each group, so only what comes before what within a group counts."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows = reports(rng)
        others = model.bubble_sorted(rows, "Time", 0, ["Sid"])
        order = oop.Order("Time", 1, "Sid")
        box = aurora.Slide({"n": oop.count()}, order, size=6, advance=2)
        across = aurora.XSection({"n": oop.count()}, order, 6, 2, groups=["a", "b", None])
        first, second = source(rng, rows), source(rng, others)
        assert answer(box(first), threads) == answer(box(second), threads), f"seed {seed}"
        assert answer(across(first), threads) == answer(across(second), threads), f"seed {seed}"


def test_a_split_box_gives_the_same() -> None:
    """papers/002, section 5.1, for streams in which equal values come together and each greater than those before."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows = [{**row, "Sid": "a", "Time": i // 4} for i, row in enumerate(reports(rng))]
        stream = aurora.Assume(oop.Order("Time"))(source(rng, rows))
        total = oop.aggregate(0, lambda s, v: s + v * v, lambda a, b: a + b)
        functions = {"n": oop.count(), "s": oop.sum("Pos"), "m": oop.max("Pos"), "q": total("Pos")}
        box = aurora.Tumble(functions, ["Time", "Sid"])
        assert answer(box.split(oop.col("Pos") < 2)(stream), 1) == answer(box(stream), 1), f"seed {seed}"
