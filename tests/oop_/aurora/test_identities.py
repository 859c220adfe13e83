"""The identities that the paper states between operators with slack, and without it behind a sort (Aurora paper,
section 5.2.2.2 and 5.2.2.3); and that results do not depend on how groups interleave."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import Harness, ManualClock, bag
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


FIRST = oop.aggregate((0, 0), lambda s, v: (s[0] if s[1] else v, 1), final=lambda s: s[0], name="first to arrive")
LAST = oop.aggregate(0, lambda s, v: v, name="last to arrive")
ALL = oop.aggregate(0, lambda s, v: (s * 31 + v + 1) % 1_000_000_007, name="all, as they arrive")
SENSITIVE = {"first": FIRST("Pos"), "last": LAST("Pos"), "all": ALL("Pos"), "n": oop.count()}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("group_by", [(), ("Sid",)])
def test_aggregate_with_slack_is_one_without_behind_a_sort(group_by: tuple[str, ...], threads: int) -> None:
    """Aggregate(F, Assuming Order(On A, Slack n, GroupBy B), …)(S) = Aggregate(F, Assuming Order(On A, Slack 0, GroupBy
    B), …)(BSort(Assuming Order(On A, Slack n, GroupBy B))(S)); BSort being n passes of a bubble sort."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows, slack = reports(rng), rng.randint(0, 4)
        size, advance = rng.choice([(5, 5), (6, 2), (3, 7), (4, oop.col("Pos") == 1)])

        functions = SENSITIVE if seed % 2 else {"n": oop.count(), "sum": oop.sum("Pos")}

        def box(n: int, size: Any = size, advance: Any = advance, functions: Any = functions) -> aurora.Aggregate:
            return aurora.Aggregate(functions, oop.Order("Time", n, group_by), size, advance)

        in_order = model.bubble_sorted(rows, "Time", slack, group_by)
        found = answer(box(slack)(source(rng, rows)), threads)
        assert found == answer(box(0)(source(rng, in_order)), threads), f"seed {seed}"
        sorted_ = aurora.BSort(oop.Order("Time", slack, group_by))(source(rng, rows))
        assert found == answer(box(0)(sorted_), threads), f"seed {seed}"


def test_windows_of_rows_behind_a_sort() -> None:
    """An order on Tup# is that of arrival, which for a box behind a sort is the sort's."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows, by, slack = reports(rng), rng.choice([(), ("Sid",)]), rng.randint(0, 4)
        size, advance = rng.choice([(1, 1), (3, 1), (2, 5), (4, 3)])
        box = aurora.Aggregate(SENSITIVE, oop.Order("Tup#", group_by=by), size, advance)
        in_order = source(rng, model.bubble_sorted(rows, "Time", slack, by))
        sorted_ = aurora.BSort(oop.Order("Time", slack, by))(source(rng, rows))
        assert answer(box(sorted_), 1) == answer(box(in_order), 1), f"seed {seed}"


def test_across_groups_rows_come_in_order() -> None:
    """Each group is in order by itself; a window of all of them is given its rows in order of the attribute."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows, slack = reports(rng), rng.randint(0, 3)
        size, advance = rng.choice([(5, 5), (6, 2), (4, oop.col("Pos") == 1)])
        kept, _ = model.in_order(rows, "Time", slack, ["Sid"])
        box = aurora.XSection(SENSITIVE, oop.Order("Time", slack, "Sid"), size, advance, groups=["a", "b", None])
        plain = aurora.Aggregate(SENSITIVE, oop.Order("Time"), size, advance)
        in_order = sorted(kept, key=lambda row: row["Time"])
        # which rows a group is late by is judged by the slowest, too: a policy of a source has the last word
        assert answer(box(source(rng, kept)), 1) == answer(plain(source(rng, in_order)), 1), f"seed {seed}"


Event = tuple[str, Any]


def events(rng: random.Random) -> list[Event]:
    """Batches of rows, and moments at which the clock is looked at."""
    left, found = reports(rng), []
    while left:
        size = rng.randint(1, 4)
        found += [("rows", left[:size])] + [("tick", rng.randint(1, 4)) for _ in range(rng.randint(0, 2))]
        left = left[size:]
    return [*found, ("tick", 1), ("rows", []), ("tick", rng.choice([1, 20]))]


def timed(
    happens: list[Event], size: int, advance: int, order: oop.Order, timeout: int
) -> tuple[list[tuple[Any, ...]], int]:
    """The Aurora paper's Aggregate with a timeout, as plainly as it is printed. A window has the rows that arrived
    before it went out, in order; which went out early is told by the clock alone. And how many rows came too late for
    one."""
    kept, _ = model.in_order(
        [r for kind, rows in happens if kind == "rows" for r in rows], "Time", order.slack, order.group_by
    )
    chosen = {id(row) for row in kept}
    now, ignored, began, open_, out = 0, 0, {}, {}, []
    seen: dict[Any, list[int]] = {}

    def close(key: Any) -> None:
        rows = sorted(open_.pop(key), key=lambda row: row["Time"])
        out.append((*key, tuple(row["Pos"] for row in rows)))

    gone: set[Any] = set()
    for kind, what in happens:
        if kind == "tick":
            now += what
            for key in [k for k in open_ if began[k] + timeout < now]:
                gone.add(key)
                close(key)
            continue
        for row in what:
            group = tuple(row[name] for name in order.group_by)
            seen.setdefault(group, []).append(row["Time"])
            if id(row) not in chosen:
                continue
            for key in model.windows([row], "Time", size, advance, order.group_by):
                if key in gone:
                    ignored += 1
                else:
                    began.setdefault(key, now)
                    open_.setdefault(key, []).append(row)
        for group, values in seen.items():
            if len(values) > order.slack:
                bound = sorted(values)[-1 - order.slack]
                for key in [k for k in open_ if k[1:] == group and k[0] + size <= bound]:
                    close(key)
    for key in list(open_):
        close(key)
    return out, ignored


def folded(values: tuple[int, ...]) -> int:
    state = 0
    for value in values:
        state = (state * 31 + value + 1) % 1_000_000_007
    return state


@pytest.mark.parametrize("group_by", [(), ("Sid",)])
def test_windows_that_time_out_have_their_rows_in_order(group_by: tuple[str, ...]) -> None:
    """Rows that have arrived count, wherever a sort would have them: a window may consist of nothing else."""
    for seed in range(CASES):
        rng = random.Random(seed)
        order, timeout = oop.Order("Time", rng.randint(0, 4), group_by), rng.choice([2, 5, 9])
        size, advance = rng.choice([(5, 5), (6, 2), (3, 7)])
        happens = events(rng)
        clock, saved = ManualClock(0), None
        box = aurora.Aggregate(SENSITIVE, order, size, advance, timeout=timeout)
        harness = Harness(box, SCHEMA, time="Time", punctuate=oop.at_end(), clock=clock)
        harness.tick()
        for kind, what in happens:
            if kind == "tick":
                clock.advance(what)
                harness.tick()
            elif what:
                harness.push(what)
                if rng.random() < 0.2:
                    saved, given, out = harness.save(saved), harness.given, harness.out()
                    harness = harness.again()
                    harness.load(saved, given)
                    harness._out = out
                    harness.tick()
        harness.end()
        windows, ignored = timed(happens, size, advance, order, timeout)
        wanted = [
            {
                "Time": start,
                **dict(zip(group_by, group, strict=True)),
                "first": v[0],
                "last": v[-1],
                "all": folded(v),
                "n": len(v),
            }
            for start, *group, v in windows
        ]
        assert bag(harness.rows()) == bag(wanted), f"seed {seed}"
        assert sum(b.late_unused for b in harness.run.metrics.boxes) == ignored, f"seed {seed}"
        assert not harness.buffered_rows and not harness.state_bytes


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
    """Aurora* and Medusa paper, section 5.1, for streams in which equal values come together and each greater than
    those before."""
    for seed in range(CASES):
        rng = random.Random(seed)
        rows = [{**row, "Sid": "a", "Time": i // 4} for i, row in enumerate(reports(rng))]
        stream = aurora.Assume(oop.Order("Time"))(source(rng, rows))
        total = oop.aggregate(0, lambda s, v: s + v * v, lambda a, b: a + b)
        functions = {"n": oop.count(), "s": oop.sum("Pos"), "m": oop.max("Pos"), "q": total("Pos")}
        box = aurora.Tumble(functions, ["Time", "Sid"])
        assert answer(box.split(oop.col("Pos") < 2)(stream), 1) == answer(box(stream), 1), f"seed {seed}"
