"""User-defined aggregates as users meet them: types, nulls, errors, shipping."""

from __future__ import annotations

import datetime
import math
import operator
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from numba import njit

import oop
from oop.engines.spark.identity import check_identity, identity_of
from oop.engines.spark.stages import Stages, without_data
from oop.operators.groups import store as groups
from oop.plan.final import final_plan
from oop.testing import Harness, check_aggregate, forced
from tests.oop_.engines.spark.simulated import Simulated

total = oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b, name="total")
rows = oop.aggregate(0, lambda s: s + 1)


def source(**columns: Any) -> oop.Stream:
    table = pa.table({"ts": pa.array(range(len(next(iter(columns.values())))), pa.int64()), **columns})
    return oop.source(table, time="ts", punctuate=oop.ordered())


def one(stream: oop.Stream, aggregate: Any) -> Any:
    """The aggregate of all rows."""
    return stream.window(oop.tumbling(1000)).agg(out=aggregate).run().to_table()["out"].to_pylist()[0]


@pytest.mark.parametrize("kernels", ["reference", "jit", "native"])
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2, None], pa.int8()), 3),
        (pa.array([1, 2, None], pa.uint64()), 3),
        (pa.array([1, 2, 3], pa.uint16()), 6),
        (pa.array([True, None, True]), 2),
        (pa.array([5, 6, None], pa.date32()), 11),
        (pa.array([5, 6, None], pa.timestamp("us", "Europe/Berlin")), 11),
        (pa.array([5, -6, None], pa.duration("s")), -1),
        (pa.array([5, 6, None], pa.time32("s")), 11),
        (pa.array([1, 2, None]).dictionary_encode(), 3),
        (pa.nulls(3), None),
        (pa.array([None, None, None], pa.int64()), None),
    ],
    ids=lambda x: str(getattr(x, "type", x)),
)
def test_columns_of_many_types(
    column: pa.Array, expected: int | None, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OOP_KERNELS", kernels)
    assert one(source(v=column), total("v")) == expected


def test_the_result_has_the_type_that_final_gives() -> None:
    made = {
        "whole": (lambda s: s, pa.int64()),
        "half": (lambda s: s / 2, pa.float64()),
        "either": (lambda s: s / 2 if s > 3 else 0, pa.float64()),
        "is_even": (lambda s: s % 2 == 0, pa.bool_()),
        "both": (lambda s: (s, s / 2), pa.struct([("f0", pa.int64()), ("f1", pa.float64())])),
    }
    aggregates = {n: oop.aggregate(0, lambda s, v: s + v, final=final)("v") for n, (final, _) in made.items()}
    stream = source(v=[1, 2]).window(oop.tumbling(9)).agg(**aggregates)
    assert {n: stream.schema.field(n).type for n in made} == {n: t for n, (_, t) in made.items()}
    [row] = stream.run().to_table().drop_columns(["window_start", "window_end"]).to_pylist()
    assert row == {"whole": 3, "half": 1.5, "either": 0.0, "is_even": False, "both": {"f0": 3, "f1": 1.5}}


def test_functions_of_many_kinds() -> None:
    stream = source(v=[3, 1, 2], x=[0.5, math.nan, 2.0])
    assert one(stream, oop.aggregate(0, operator.add, operator.add)("v")) == 6
    assert one(stream, oop.aggregate(-(2**63), max, max)("v")) == 3
    assert one(stream, oop.aggregate(0, njit(lambda s, v: s + v))("v")) == 6
    assert one(stream, oop.aggregate(lambda: 0.0, lambda s, x: s if math.isnan(x) else s + x)("x")) == 2.5
    assert one(stream, total(oop.col("v") * 2)) == 12
    assert one(stream, rows()) == 3


def test_final_sees_the_window_in_the_unit_of_the_time_column() -> None:
    day = pa.array([0, 1, 7], pa.date32())
    table = pa.table({"ts": day, "v": [1, 2, 3]})
    stream = oop.source(table, time="ts", punctuate=oop.ordered())
    edges = oop.aggregate(0, lambda s, v: s + v, final=lambda s, start, end: (s, start, end))
    result = stream.window(oop.tumbling("7d")).agg(e=edges("v")).run().to_table()
    assert result.to_pylist() == [
        {
            "window_start": datetime.date(1970, 1, 1),
            "window_end": datetime.date(1970, 1, 8),
            "e": {"f0": 3, "f1": 0, "f2": 7},
        },
        {
            "window_start": datetime.date(1970, 1, 8),
            "window_end": datetime.date(1970, 1, 15),
            "e": {"f0": 3, "f1": 7, "f2": 14},
        },
    ]


def error(stream: oop.Stream, aggregate: Any) -> oop.OopError:
    with pytest.raises(oop.OopError) as raised:
        stream.window(oop.tumbling(5)).agg(out=aggregate)
    assert raised.value.at is not None and "test_user_aggregates.py" in raised.value.at
    return raised.value


def test_errors_name_the_function_the_types_and_the_line() -> None:
    stream = source(v=[1, 2], x=[0.5, 1.5], text=["a", "b"], money=pa.array([1, 2], pa.decimal128(9, 2)))
    assert str(error(stream, total("text")).what).endswith("and text is string")
    assert "money is decimal128(9, 2)" in str(error(stream, total("money")))
    assert "cast('float64')" in str(error(stream, total("money")))
    wrong = error(stream, total("x"))
    assert wrong.what == "incr gives float, and the state is int"
    assert wrong.hint is not None and "0.0" in wrong.hint
    wrong = error(stream, oop.aggregate((0, 0.0), lambda s, v: s[0] + v)("v"))
    assert wrong.what == "incr gives int, and the state is (int, float)"
    wrong = error(stream, oop.aggregate((0, 0.0), lambda s, v: s, lambda a, b: (a[0], a[1], b[0]))("v"))
    assert wrong.what == "merge gives (int, float, int), and the state is (int, float)"
    wrong = error(stream, oop.aggregate(0, lambda s, v: s + v, final=lambda s: input(s))("v"))
    assert wrong.what.startswith("Numba cannot compile final (line ")
    assert "for (int): Untyped global name 'input'" in wrong.what
    wrong = error(stream, oop.aggregate(0, lambda s, v: s + "a")("v"))
    assert "incr" in wrong.what and "(int, int)" in wrong.what and "add" in wrong.what
    wrong = error(stream, oop.aggregate(0, lambda s, v: s + v, final=lambda s: str(s))("v"))
    assert "final" in wrong.what and "not a number, a bool, or a tuple" in wrong.what
    assert isinstance(error(stream, total("w")), oop.UnknownColumn)


def test_misuse() -> None:
    with pytest.raises(TypeError, match="given the state and 2 values"):
        total("v", "w")
    with pytest.raises(TypeError, match="merge takes 2 arguments"):
        oop.aggregate(0, lambda s, v: s, lambda a: a)
    with pytest.raises(TypeError, match="final takes 1 or 3 arguments"):
        oop.aggregate(0, lambda s, v: s, final=lambda a, b: a)
    with pytest.raises(TypeError, match="incr is a function"):
        oop.aggregate(0, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not 'a'"):
        oop.aggregate(("a", 1), lambda s, v: s)
    with pytest.raises(TypeError, match="at least one"):
        oop.aggregate((), lambda s, v: s)
    with pytest.raises(ValueError, match="64 bits"):
        oop.aggregate(2**63, lambda s, v: s)


def test_a_final_of_windows_needs_one() -> None:
    rate = oop.aggregate(0, lambda s: s + 1, final=lambda s, start, end: s / (end - start))
    with pytest.raises(oop.SchemaMismatch, match=r"there is no window \(at .*test_user_aggregates.py") as raised:
        source(v=[1]).group_by("ts").agg(r=rate())
    assert ".window(…) first" in str(raised.value)


def test_a_value_that_does_not_fit_and_a_function_that_fails_end_the_run() -> None:
    huge = pa.array([1, 2**64 - 1], pa.uint64())
    with pytest.raises(oop.SchemaMismatch, match="18446744073709551615 does not fit the int64"):
        one(source(v=huge), total("v"))
    hidden = pa.Array.from_buffers(pa.uint64(), 2, [pa.py_buffer(b"\x01"), huge.buffers()[1]])  # under a null
    assert one(source(v=hidden), total("v")) == 1
    divided = oop.aggregate(0, lambda s, v: 10 // v)
    with pytest.raises(oop.OopError, match="incr of a user-defined aggregate failed: ZeroDivisionError"):
        one(source(v=[1, 0]), divided("v"))


@pytest.mark.parametrize(
    ("how", "held", "later"),
    [("incremental", 10, 6), ("buffered", 3, 3), ("hybrid", 3, 3)],  # five windows, two groups; or the rows
)
def test_what_is_held_without_merge_is_a_row_for_each_window_or_the_rows(how: str, held: int, later: int) -> None:
    h = Harness(
        lambda s: forced(s.window(oop.sliding(10, every=2)).group_by("k").agg(n=rows()), how),
        {"ts": "int64", "k": "int64"},
    )
    h.push({"ts": [20, 21, 20], "k": [1, 1, 2]})
    assert h.buffered_rows == held
    h.promise(ts=24)
    assert [r["window_end"] for r in h.rows()] == [22, 22, 24, 24]
    assert h.buffered_rows == later
    h.end()
    assert sorted((r["window_end"], r["k"], r["n"]) for r in h.rows()) == [
        (e, k, n) for e in (26, 28, 30) for k, n in ((1, 2), (2, 1))
    ]
    assert h.buffered_rows == 0


def test_slices_that_get_wider_need_no_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are moved into the wider slices, they never meet there."""
    monkeypatch.setattr(groups, "SPREAD", 4)
    h = Harness(lambda s: s.window(oop.tumbling(1)).agg(n=rows(), t=total("v")), {"ts": "int64", "v": "int64"})
    for _ in range(3):
        h.push({"ts": list(range(40)), "v": list(range(40))})
    h.end()
    assert sorted((r["window_start"], r["n"], r["t"]) for r in h.rows()) == [(t, 3, 3 * t) for t in range(40)]


def plan(step: int, name: str | None = None) -> oop.Stream:
    mine = oop.aggregate(0, lambda s, v: s + v * step, lambda a, b: a + b, name=name)
    return source(v=[1, 2]).window(oop.tumbling(5)).agg(out=mine("v"))


def test_a_checkpoint_of_another_function_is_refused(tmp_path: Path) -> None:
    def identity_of_plan(stream: oop.Stream) -> dict[str, Any]:
        return identity_of(Stages(without_data(final_plan(stream.flow)), 2))

    shipped = Simulated(plan(2), tmp_path, random.Random(0), rows=9).stages  # by value, as Spark does
    check_identity(identity_of(shipped), identity_of_plan(plan(2)))
    with pytest.raises(oop.OopError, match="written by another plan"):
        check_identity(identity_of_plan(plan(2)), identity_of_plan(plan(3)))
    assert "out=aggregate#" in plan(2).explain() and "out=twice#" in plan(2, "twice").explain()


def test_merge_laws() -> None:
    mean = oop.aggregate(
        (0, 0.0), lambda s, x: (s[0] + 1, s[1] + x), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[1] / s[0]
    )
    check_aggregate(mean)
    check_aggregate(mean, [0.1, 2.5, 1e9])
    check_aggregate(oop.aggregate(0, lambda s, v: s + v, final=lambda s, a, b: s / (b - a)))
    check_aggregate(rows)
    check_aggregate(oop.aggregate(0, lambda s, v, w: s + v * w, operator.add), [1, 2], [3, 4])
    for broken, law in [
        (oop.aggregate(0, lambda s, v: 2 * s + v), "any order"),
        (oop.aggregate(0, lambda s, v: s + v, lambda a, b: 2 * (a + b)), "associative"),
        (oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b + 1), "zero"),
        (oop.aggregate(0, lambda s, v: s + v, max), "zero|merged"),
    ]:
        with pytest.raises(AssertionError, match=law):
            check_aggregate(broken)
    with pytest.raises(ValueError, match="no values"):
        check_aggregate(total, [])
