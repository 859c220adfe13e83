"""exact() promises the low-water mark itself: no row is late, and no promise could be stronger (OOP paper, Eq. 1)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop.errors import OopError, SourceError
from oop.punctuation import Frontier, Punctuation
from oop.testing import exact


def batches(seed: int, type_: str = "int64", nulls: bool = False) -> list[pa.RecordBatch]:
    rng = random.Random(seed)
    at, found = 0, []
    for _ in range(rng.randint(1, 8)):
        rows = rng.randint(0, 6)
        at += rng.randint(0, 9)
        times = [None if nulls and rng.random() < 0.2 else at + rng.randint(0, 20) for _ in range(rows)]
        ends = [None if nulls and rng.random() < 0.2 else at + rng.randint(0, 90) for _ in range(rows)]
        column = pa.array(times, pa.int32() if type_ == "date32" else pa.int64()).cast(pa.type_for_alias(type_))
        keys = pa.array([rng.choice("abc") for _ in range(rows)], pa.string())
        found.append(pa.record_batch({"ts": column, "end": pa.array(ends, pa.int64()), "k": keys}))
    return found


def physical_rows(found: list[pa.RecordBatch]) -> list[list[dict[str, Any]]]:
    def numbers(column: pa.Array) -> pa.Array:
        return column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date(column.type) else column.cast(pa.int64())

    return [
        [
            {"ts": t, "end": e, "k": k}
            for t, e, k in zip(numbers(b["ts"]).to_pylist(), b["end"].to_pylist(), b["k"].to_pylist(), strict=True)
        ]
        for b in found
    ]


@pytest.mark.parametrize("type_", ["int64", "float64", "uint8", "date32", "timestamp[ns]"])
def test_after_each_batch_the_least_value_still_to_come_and_nothing_weaker(type_: str) -> None:
    for seed in range(25):
        given = batches(seed, type_, nulls=seed % 2 == 1)
        rows = physical_rows(given)
        frontier, at = Frontier(), 0
        grouped = exact(given, ["ts", "end"], by="k")
        for position, element in enumerate(grouped):
            if isinstance(element, Punctuation):
                frontier.advance(element)
                following = [row for batch in rows[at:] for row in batch]
                assert not any(element.matches(row) for row in following), (seed, element)
                if position + 1 < len(grouped) and isinstance(grouped[position + 1], Punctuation):
                    continue
                for attribute in ("ts", "end"):
                    left = [row[attribute] for row in following if row[attribute] is not None]
                    if left:
                        assert frontier.bound(attribute) == min(left), (seed, attribute)
            else:
                at += 1
        assert [e for e in grouped if not isinstance(e, Punctuation)] == given


def answer(data: Any, policy: Any) -> list[dict[str, Any]]:
    source = oop.source(
        data,
        time="ts",
        punctuate=policy,
        late="raise",
        schema=next(e.schema for e in data if isinstance(e, pa.RecordBatch)),
    )
    found = source.window(oop.tumbling(7)).group_by("k").agg(n=oop.count()).run().to_table().to_pylist()
    return sorted(found, key=repr)


@pytest.mark.parametrize("by", [None, "k"])
def test_no_row_is_late_and_the_answer_is_that_of_the_end(by: str | None) -> None:
    for seed in range(12):
        given = batches(seed)
        wanted = answer(given, oop.at_end())
        assert answer(given, oop.exact(by=by)) == wanted
        assert answer(given, {"end": oop.exact(by=by), "ts": oop.exact(by=by)}) == wanted
        assert answer(exact(given, by=by), oop.punctuated(by=by)) == wanted


def test_groups_of_several_columns_have_marks_of_their_own() -> None:
    given = [pa.record_batch({"ts": [t], "k": [k], "link": [a]}) for t, k, a in ((9, 1, "A"), (5, 2, "A"), (7, 1, "A"))]
    promises = [e for e in exact(given, by=["link", "k"]) if isinstance(e, Punctuation)]
    assert [str(p) for p in promises] == [
        "ts < 5",
        "ts < 7, k = 1, link = 'A'",
        "ts < 5, k = 2, link = 'A'",
        "ts < 7",
        "k = 2, link = 'A'",
        "k = 1, link = 'A'",
    ]
    for seed in range(12):
        given = [b.append_column("link", b["k"]) for b in batches(seed)]
        found = answer(given, oop.exact(by=["link", "k"]))
        assert (
            found
            == answer(exact(given, by=["k", "link"]), oop.punctuated(by=["k", "link"]))
            == answer(given, oop.at_end())
        )


def test_files_are_read_twice_at_each_run(tmp_path: Path) -> None:
    table = pa.table({"ts": [3, 1, 2, 14, 12, 33, 27]})
    for path in ("a.parquet", "a.csv", "a.arrow"):
        if path == "a.parquet":
            pq.write_table(table, tmp_path / path, row_group_size=2)
        else:
            oop.source(table, time="ts", punctuate=oop.at_end()).run(to=tmp_path / path)
        counts = oop.source(tmp_path / path, time="ts", punctuate=oop.exact(), late="raise").window(oop.tumbling(10))
        for _ in range(2):
            found = counts.agg(n=oop.count()).run().to_table()
            assert found["n"].to_pylist() == [3, 2, 1, 1]


def test_a_window_leaves_as_soon_as_its_last_row_has_come() -> None:
    given = [pa.record_batch({"ts": [t]}) for t in (30, 1, 12, 2, 25, 17)]
    source = oop.source(given, time="ts", punctuate=oop.exact())
    promises = [e for e in source.run().elements() if isinstance(e, Punctuation) and not e.is_end]
    assert [str(p) for p in promises] == ["ts < 1", "ts < 2", "ts < 17"]


def test_what_can_be_read_only_once_is_refused() -> None:
    table = pa.table({"ts": [1]})
    for data in (iter([table]), lambda: [table], table.to_reader()):
        with pytest.raises(SourceError, match=r"exact\(\) reads its data twice.*\nHint: pass a list, a table or files"):
            oop.source(data, time="ts", punctuate=oop.exact())


def test_what_does_not_go_together() -> None:
    table = pa.table({"ts": [1], "end": [2], "k": ["a"]})
    with pytest.raises(OopError, match="makes all promises"):
        oop.source(table, time="ts", punctuate={"ts": oop.exact(), "end": oop.punctuated()})
    with pytest.raises(OopError, match="has one by= for all"):
        oop.source(table, time="ts", punctuate={"ts": oop.exact(), "end": oop.exact(by="k")})
    with pytest.raises(OopError, match="no column 'nope'"):
        oop.source(table, time="ts", punctuate=oop.exact(by="nope"))
    with pytest.raises((ValueError, OopError), match="only a source can"):
        oop.exact().start("ts")


def test_the_end_is_said_although_every_group_has_ended():
    """Together the ends of all groups are the end, which is said once more, as itself."""
    rows = [pa.record_batch({"ts": [9, 1], "a": ["x", "y"]}), pa.record_batch({"ts": [11, 12], "a": ["y", "x"]})]
    ends = [oop.Punctuation({}, {"a": a}) for a in ("x", "y", oop.not_in("x", "y"))]
    for elements, policy in ((rows, oop.exact(by="a")), ([*rows, *ends], oop.punctuated(by="a"))):
        s = oop.source(elements, time="ts", punctuate=policy)
        for stream in (s, s.filter(oop.col("ts") > 0), s.sort(), s.window(oop.tumbling(10)).agg(n=oop.count())):
            for threads in (1, 2):
                said = [
                    e for e in stream.run(oop.Embedded(threads=threads)).elements() if isinstance(e, oop.Punctuation)
                ]
                assert said[-1] == oop.END and said.count(oop.END) == 1
