"""BSort against n passes of a bubble sort (Aurora paper, section 5.2.2.1), and the laws in oop/testing/laws.py."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

import oop
from oop.testing import Harness, check_operator, resplit
from tests.operators import fuzz
from tests.operators.drawn import each, some_threads
from tests.operators.fuzz import TIMES

Row = dict[str, Any]


def bubbled(rows: list[Row], passes: int, key) -> list[Row]:
    """So many passes of a bubble sort: neighbours that are out of order change places."""
    rows = list(rows)
    for _ in range(passes):
        for i in range(len(rows) - 1):
            if key(rows[i + 1]) < key(rows[i]):
                rows[i], rows[i + 1] = rows[i + 1], rows[i]
    return rows


def greatest_last(value: Any) -> tuple[int, Any]:
    """NaN is greater than every number, null than every value."""
    if value is None:
        return 2, 0
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def rows_of(elements: list[Any]) -> list[Row]:
    return [r for e in elements if isinstance(e, pa.RecordBatch) for r in e.to_pylist()]


def by_group(rows: list[Row], keys: tuple[str, ...]) -> dict[tuple, list[Row]]:
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def some_rows(rng: random.Random, type_: pa.DataType) -> tuple[list[Row], pa.Schema]:
    schema = pa.schema([("ts", pa.int64()), ("a", type_), ("k", pa.string()), ("g", pa.int64())])
    odd = [None, math.nan] if pa.types.is_floating(type_) else [None]
    number = float if pa.types.is_floating(type_) else int
    rows = [
        {
            "ts": n,
            "a": rng.choice(odd) if rng.random() < 0.1 else number(rng.randint(0, 30)),
            "k": rng.choice(["x", "y", None]),
            "g": rng.choice([1, 2, None]),
        }
        for n in range(rng.randint(0, 60))
    ]
    return rows, schema


def test_so_many_passes_of_a_bubble_sort_in_any_batches_and_across_a_save(seeds):
    """The same rows in the same order, group by group, however batches are cut, and if it goes on from what was
    saved."""

    def case(rng, seed):
        rows, schema = some_rows(rng, rng.choice([pa.int64(), pa.int32(), pa.uint64(), pa.float64()]))
        slack, keys = rng.choice([0, 1, 2, 5, 40]), rng.choice([(), ("k",), ("g", "k")])

        def start():
            return Harness(lambda s: s.bsort(slack, by=keys, on="a"), schema, punctuate=oop.at_end())

        harness, snapshot, out = start(), None, []
        for batch in resplit([pa.RecordBatch.from_pylist(rows, schema=schema)], seed):
            harness.feed(batch)
            out += harness.rows()
            assert harness.buffered_rows == sum(
                min(slack, len(g)) for g in by_group(rows_upto(rows, out, harness), keys).values()
            )
            if rng.random() < 0.2:
                snapshot = harness.save(snapshot)
                given, harness = harness.given, start()
                harness.load(snapshot, given)
        harness.end()
        out += harness.rows()
        assert harness.buffered_rows == 0
        wanted = by_group(rows, keys)
        found = by_group(out, keys)
        assert found.keys() == wanted.keys()
        for group, members in wanted.items():
            expected = bubbled(members, slack, lambda r: greatest_last(r["a"]))
            assert [r["ts"] for r in found[group]] == [r["ts"] for r in expected]

    def rows_upto(rows, out, harness):
        return rows[: len(out) + harness.buffered_rows]

    each(seeds, case)


def test_a_buffer_that_has_not_ended_gives_the_first_rows_of_those_passes(seeds):
    """What leaves before the end is a prefix of it, less so many rows (figure 8)."""

    def case(rng, seed):
        rows, schema = some_rows(rng, pa.int64())
        slack = rng.choice([1, 2, 7])
        harness = Harness(lambda s: s.bsort(slack, on="a"), schema, punctuate=oop.at_end())
        harness.push(rows)
        expected = bubbled(rows, slack, lambda r: greatest_last(r["a"]))
        assert harness.rows() == expected[: max(0, len(rows) - slack)]

    each(seeds[: len(seeds) // 4], case)


def test_laws(seeds):
    """Any order gives the same rows; what is held breaks no promise, and promises go as far as it allows."""

    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        elements = fuzz.random_stream(rng, time)
        slack, keys = rng.choice([0, 1, 3, 8]), rng.choice([(), ("link",), ("link", "k")])
        rows = fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time))
        late = rng.choice(["drop", "drop", "admit"])
        check_operator(
            lambda s: s.bsort(slack, by=keys),
            elements,
            seed=seed,
            late=late,
            threads=some_threads(rng) if keys else 1,
            expected=rows if late == "drop" else None,
        )

    each(seeds, case)


def test_windows_behind_it(seeds):
    """Bounds that were held back arrive: windows close as they would without it."""

    def case(rng, seed):
        time = TIMES["int64"]
        elements = fuzz.random_stream(rng, time)
        slack, keys = rng.choice([1, 4]), rng.choice([(), ("link",)])
        wanted = fuzz.some_aggregates(rng)
        placed = fuzz.placed(fuzz.on_time(elements), 5, 5, 0)
        expected = fuzz.window_rows(placed, ["link"], 5, 5, 0, time, wanted)

        def pipeline(s):
            return s.bsort(slack, by=keys).window(oop.tumbling(5)).group_by("link").agg(**wanted)

        check_operator(pipeline, elements, seed=seed, expected=expected)

    each(seeds[: len(seeds) // 5], case)
