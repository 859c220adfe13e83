"""Windows of few groups leave as copies, in one call of the kernels, and their tables serve the windows after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate.window_results import WindowResults
from oop.operators.groups.table import Table
from oop.testing import Harness

WINDOW = 100


@pytest.fixture(params=["native", "jit", "reference"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return str(request.param)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each window that was asked for: did it leave as a copy?"""
    found: list[bool] = []
    give = WindowResults.give

    def watching(results: WindowResults, table: Table) -> pa.RecordBatch | None:
        batch = give(results, table)
        found.append(batch is not None)
        return batch

    monkeypatch.setattr(WindowResults, "give", watching)
    return found


def rows(window: int, seed: int) -> pa.RecordBatch:
    """The rows of a window: in each second one a key is null, and each window has other keys than the one before."""
    rng = np.random.default_rng(seed)
    k = rng.integers(window, window + 5, WINDOW)
    null = (rng.random(WINDOW) < 0.2) if window % 2 else np.zeros(WINDOW, np.bool_)
    return pa.record_batch({
        "ts": pa.array(np.arange(WINDOW) + window * WINDOW).view(pa.timestamp("us")),
        "k": pa.array(k, mask=null),
        "day": pa.array((k % 2).astype(np.int32)).view(pa.date32()),
        "v": pa.array(rng.integers(-5, 5, WINDOW).astype(np.int16), mask=rng.random(WINDOW) < 0.5),
        "f": pa.array(rng.random(WINDOW), mask=k % 5 == 3),
        "at": pa.array(rng.integers(0, 99, WINDOW)).view(pa.timestamp("s")),
    })  # fmt: skip


def counts(batches: list[pa.RecordBatch], keys: tuple[str, ...] = ("k", "day")) -> oop.Stream:
    source = oop.source(lambda: iter(batches), schema=batches[0].schema, time="ts", punctuate=oop.ordered())
    return source.window(oop.tumbling(f"{WINDOW}us")).group_by(*keys).agg(
        n=oop.count(), some=oop.count("v"), s=oop.sum("v"), m=oop.mean("v"), low=oop.min("v"), high=oop.max("v"),
        least=oop.min("f"), last=oop.max("at"),
    )  # fmt: skip


def by_window(batches: list[pa.RecordBatch]) -> list[Any]:
    found = [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["window_start"], repr(row)))


@pytest.mark.parametrize("options", [{}, {"scheduler": oop.RoundRobin()}], ids=["program", "boxes"])
@pytest.mark.parametrize("keys", [(), ("k",), ("k", "day")], ids=str)
def test_copies_are_what_tables_give(
    kernels: str, given: list[bool], keys: tuple[str, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [rows(window, window) for window in range(12)]
    stream = counts(batches, keys)
    found = list(stream.run(oop.Embedded(threads=1, **options)))
    assert given == [True] * 12
    read = by_window(found)
    monkeypatch.setattr(WindowResults, "of", staticmethod(lambda *_: None))
    tables = list(stream.run(oop.Embedded(threads=1, **options)))
    assert len(given) == 12
    assert read == by_window(tables)
    assert found[0].schema == tables[0].schema
    for batch in found:
        batch.validate(full=True)


@pytest.mark.parametrize("batch_rows", [1_000, 65_536])
def test_large_windows_leave_in_slices(
    kernels: str, given: list[bool], batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many groups, in memory that is used again; some are null, and some counted nothing."""
    monkeypatch.setattr("oop.kernels.native.results._FEW", 700)
    rng = np.random.default_rng(0)
    keys = np.concatenate([rng.permutation(3_000), rng.permutation(3_000)])
    batch = pa.record_batch({
        "ts": np.repeat([5, 15], 3_000),
        "k": pa.array(keys, mask=keys == 7),
        "v": pa.array(rng.integers(-(2**40), 2**40, 6_000), mask=keys % 5 == 0),
    })  # fmt: skip
    windows = oop.source([batch], time="ts", punctuate=oop.at_end()).window(oop.tumbling(10)).group_by("k")
    stream = windows.agg(n=oop.count(), s=oop.sum("v"), m=oop.mean("v"), low=oop.min("v"), high=oop.max("v"))
    found = list(stream.run(oop.Embedded(threads=1, batch_rows=batch_rows)))
    assert all(given) and len(given) == (6 if batch_rows == 1_000 else 2)
    monkeypatch.setattr(WindowResults, "of", staticmethod(lambda *_: None))
    tables = list(stream.run(oop.Embedded(threads=1, batch_rows=batch_rows)))
    assert [len(batch) for batch in found] == [len(batch) for batch in tables]
    assert by_window(found) == by_window(tables)
    for batch in found:
        batch.validate(full=True)


def test_what_was_read_does_not_change() -> None:
    stream = counts([rows(window, window) for window in range(12)])
    run = iter(stream.run(oop.Embedded(threads=1)))
    first = next(run)
    seen = first.to_pylist()
    assert len(list(run)) == 11
    assert first.to_pylist() == seen


def test_tables_serve_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    init = Table.__init__

    def counting(table: Table, *args: Any) -> None:
        made.append(table)
        init(table, *args)

    monkeypatch.setattr(Table, "__init__", counting)
    assert counts([rows(window, window) for window in range(12)]).run(oop.Embedded(threads=1)).to_table().num_rows > 50
    assert len(made) == 2  # a window begins before the one before it closes


def test_a_table_that_waits_for_the_next_window_is_accounted_for() -> None:
    h = Harness(lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), {"ts": "int64", "k": "int64"})
    for window, groups in enumerate([3, 3, 2_000, 2_000, 2_000]):
        h.push({"ts": [10 * window] * groups, "k": range(groups)})
        h.promise(ts=10 * (window + 1))
        assert h.buffered_rows == 0
        if groups > 3:
            assert 2_000 * 16 < h.state_bytes < 2_000 * (128 + 16)
    h.push({"ts": [60], "k": [1]})
    large = h.state_bytes  # it serves a window of one group, and does not stay behind it
    h.promise(ts=80)
    assert h.state_bytes < large / 10
    h.end()
    assert h.state_bytes == 0


def test_a_sum_that_does_not_fit_is_an_error(kernels: str) -> None:
    batch = pa.record_batch({"ts": [1, 2, 3, 20], "v": [2**62] * 3 + [1]})
    stream = oop.source([batch], time="ts", punctuate=oop.ordered()).window(oop.tumbling(10)).agg(s=oop.sum("v"))
    with pytest.raises(oop.OopError, match=f"does not fit int64: {3 * 2**62}"):
        stream.run(oop.Embedded(threads=1)).to_table()


@pytest.mark.parametrize(
    "aggregate", [oop.sum("u"), oop.min("name"), oop.min("small"), oop.var("v"), oop.mean("f")], ids=str
)
def test_other_aggregates_leave_as_before(given: list[bool], aggregate: Any) -> None:
    columns = {"u": pa.array([1, 2], pa.uint64()), "small": pa.array([1.5, 2.5], pa.float32()), "name": ["b", "a"]}
    batch = pa.record_batch({"ts": [1, 2], "v": [1, 2], "f": [1.0, 2.0], **columns})
    stream = oop.source([batch], time="ts", punctuate=oop.ordered()).window(oop.tumbling(10)).agg(x=aggregate)
    assert stream.run(oop.Embedded(threads=1)).to_table().num_rows == 1
    assert given == []


@pytest.mark.parametrize("type_", [pa.date32(), pa.int32(), pa.uint64()], ids=str)
def test_times_of_other_widths_leave_as_before(given: list[bool], type_: pa.DataType) -> None:
    batch = pa.record_batch({"ts": pa.array([1, 2, 30], pa.int32()).cast(type_)})
    window = oop.tumbling("10d" if type_ == pa.date32() else 10)
    stream = oop.source([batch], time="ts", punctuate=oop.ordered()).window(window).agg(n=oop.count())
    assert stream.run(oop.Embedded(threads=1)).to_table()["n"].to_pylist() == [2, 1]
    assert given == []


def test_float_times(given: list[bool]) -> None:
    batch = pa.record_batch({"ts": [0.05, 0.31, 0.95]})
    stream = oop.source([batch], time="ts", punctuate=oop.ordered()).window(oop.tumbling(0.1)).agg(n=oop.count())
    found = stream.run(oop.Embedded(threads=1)).to_table()
    assert any(given)
    assert found.schema.field("window_end").type == pa.float64()
    assert sorted(found["window_end"].to_pylist()) == [0.1, 4 * 0.1, 10 * 0.1]
