"""The laws of merging, for any aggregate function: each is a commutative monoid. Merge is associative and commutative,
with a zero, and an update is a merge of single rows. What panes, slices, threads, saved state and shipped partials do
to it changes nothing.

`hold` tries one law on one function, over every type of `TYPES` that the function takes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oop.errors import OopError, SchemaMismatch
from oop.kernels import dispatch
from oop.operators.functions import accumulators
from oop.operators.functions.accumulators import Accumulator
from oop.operators.functions.function import Function
from tests.operators.fuzz import CASES

NAN = float("nan")
MOMENT = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int64": (pa.int64(), [-3, 0, 5, 7, 2**40, -(2**40)]),
    "far int64": (pa.int64(), [10**18, 10**18 + 1, 10**18 + 5, -(2**63), 2**63 - 1]),
    "far float64": (pa.float64(), [2.0**1022, -(2.0**1022), 2.0**1021, 1.5]),
    "int8": (pa.int8(), [-128, 127, 0, 3]),
    "uint64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "float64": (pa.float64(), [1.5, -2.0, NAN, 0.0, -0.0, float("inf")]),
    "float32": (pa.float32(), [1.5, -2.0, NAN, 0.25]),
    "bool": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["a", "b", "", "ä"]),
    "large text": (pa.large_string(), ["a", "b", "", "ä"]),
    "text view": (pa.string_view(), ["a", "b", "longer than twelve bytes"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", ""]),
    "bytes": (pa.binary(), [b"a", b"\xff", b""]),
    "fixed bytes": (pa.binary(2), [b"ab", b"\xff\x00"]),
    "decimal": (pa.decimal128(7, 2), [Decimal("1.10"), Decimal("-3.25"), Decimal("0.00")]),
    "small decimal": (pa.decimal32(5, 2), [Decimal("1.10"), Decimal("-3.25")]),
    "date": (pa.date32(), [date(1969, 1, 1), date(2024, 2, 29)]),
    "zoned": (pa.timestamp("us", tz="Europe/Berlin"), [MOMENT, datetime(2024, 3, 31, 1, tzinfo=UTC)]),
    "duration": (pa.duration("ms"), [timedelta(milliseconds=-5), timedelta(days=1)]),
    "null": (pa.null(), [None]),
}
GROUPS = 5
SEEDS = range(max(1, CASES // 500))  # for each of the types


def schema_of(type_: pa.DataType) -> pa.Schema:
    return pa.schema([("x", type_), ("t", pa.int64()), ("f", pa.float64()), ("s", pa.string())])


def takes(function: Function, type_: pa.DataType) -> bool:
    try:
        function.start(schema_of(type_))
    except SchemaMismatch:
        return False
    return True


class Rows:
    """Random rows and the groups they belong to; group 4 gets none, and group 3 only nulls."""

    def __init__(self, rng: random.Random, type_: pa.DataType, values: list[Any], most: int = 24) -> None:
        self.rng, self.schema = rng, schema_of(type_)
        n = rng.randint(0, most)
        self.ids = np.array([rng.randrange(GROUPS - 1) for _ in range(n)], np.int64)
        plain = type_.value_type if pa.types.is_dictionary(type_) else type_
        xs = [None if g == 3 or rng.random() < 0.2 else rng.choice(values) for g in self.ids]
        x = pa.array(xs, plain)
        columns = [
            x.dictionary_encode().cast(type_) if plain != type_ else x,
            pa.array([rng.choice([None, -5, 0, 1, 2]) for _ in range(n)], pa.int64()),
            pa.array([rng.choice([None, NAN, -0.0, 0.0, 1.5]) for _ in range(n)], pa.float64()),
            pa.array([rng.choice([None, "", "a", "b"]) for _ in range(n)], pa.string()),
        ]
        self.batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def __len__(self) -> int:
        return len(self.ids)

    def parts(self, count: int) -> list[np.ndarray]:
        """The numbers of the rows in parts of any size."""
        places = [self.rng.randrange(count) for _ in range(len(self))]
        return [np.flatnonzero(np.array(places, np.int64) == i) for i in range(count)]


def made(
    function: Function,
    rows: Rows,
    chosen: np.ndarray | None = None,
    ids: np.ndarray | None = None,
    kernels: dispatch.Kernels | None = None,
) -> Any:
    """An accumulator of some rows, in groups of their own or others."""
    out = function.start(rows.schema)
    out.kernels = kernels or out.kernels
    out.grow(GROUPS)
    put(out, function, rows, chosen, ids)
    return out


def put(
    out: Accumulator, function: Function, rows: Rows, chosen: np.ndarray | None = None, ids: np.ndarray | None = None
) -> None:
    values = out.prepare(function.evaluate(rows.batch))  # type: ignore[arg-type]
    ids = rows.ids if ids is None else ids
    if chosen is not None:
        ids, values = ids[chosen], accumulators.take(out.kernels, values, chosen)
    out.update(ids, values)


def merged(*parts: Accumulator) -> Accumulator:
    out = parts[0].empty()
    out.grow(GROUPS)
    for part in parts:
        out.merge(np.arange(part.size), part)
    return out


def given(accumulator: Accumulator) -> Any:
    """Its result, or that it does not fit."""
    try:
        found = accumulator.result()
    except OopError as error:
        return str(error).partition(":")[0]
    assert found.type == accumulator.type
    assert len(found) == accumulator.size
    return [_plain(v) for v in found.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if value != value else pytest.approx(value, rel=1e-9, abs=1e-9)
    return [_plain(v) for v in value] if isinstance(value, list) else value


def same(found: Accumulator, wanted: Accumulator) -> None:
    assert given(found) == given(wanted)


def merge_is_associative_and_commutative_with_a_zero(function: Function, rows: Rows, rng: random.Random) -> None:
    whole = made(function, rows)
    a, b, c = (made(function, rows, part) for part in rows.parts(3))
    zero = made(function, rows, np.zeros(0, np.int64))
    same(merged(merged(a, b), c), whole)
    same(merged(a, merged(b, c)), whole)
    same(merged(c, a, b), whole)
    same(merged(b, c, zero, a, zero), whole)
    same(merged(zero), zero)
    same(merged(zero, whole), whole)


def an_update_is_a_merge_of_rows(function: Function, rows: Rows, rng: random.Random) -> None:
    order = np.array(rng.sample(range(len(rows)), len(rows)), np.int64)
    one_by_one = [made(function, rows, order[i : i + 1]) for i in range(len(rows))]
    same(merged(*one_by_one) if one_by_one else made(function, rows), made(function, rows))
    several = made(function, rows, np.zeros(0, np.int64))
    for part in rows.parts(4):
        put(several, function, rows, part)
    same(several, made(function, rows))
    # ids may repeat: all groups into two
    fewer = np.array([rng.randrange(2) for _ in range(GROUPS)], np.int64)
    out = made(function, rows, np.zeros(0, np.int64))
    out.merge(fewer, made(function, rows))
    same(out, made(function, rows, ids=fewer[rows.ids]))


def groups_can_be_taken_and_put_together(function: Function, rows: Rows, rng: random.Random) -> None:
    whole = made(function, rows)
    indices = np.array([rng.randrange(GROUPS) for _ in range(rng.randint(0, 7))], np.int64)
    taken = whole.take(indices)
    if isinstance(given(whole), list):
        assert given(taken) == [given(whole)[i] for i in indices]
        a, b = (made(function, rows, part) for part in rows.parts(2))
        assert given(type(a).concat([a, b, a])) == given(a) + given(b) + given(a)
    # what was taken, copied or put together goes on like any other
    back = made(function, rows, np.zeros(0, np.int64))
    permuted = np.array(rng.sample(range(GROUPS), GROUPS), np.int64)
    back.merge(permuted, whole.take(permuted))
    same(back, whole)
    twice = merged(whole, whole)
    both = type(whole).concat([whole, whole])
    out = made(function, rows, np.zeros(0, np.int64))
    out.merge(np.tile(np.arange(GROUPS), 2), both)
    same(out, twice)
    for other in (whole.take(np.arange(GROUPS)), whole.copy(), type(whole).concat([whole])):
        put(other, function, rows)
        same(other, twice)


def copies_do_not_change_with_the_original(function: Function, rows: Rows, rng: random.Random) -> None:
    first, second = rows.parts(2)
    for kept in (lambda a: a.copy(), lambda a: a.take(np.arange(GROUPS)), lambda a: type(a).concat([a])):
        original = made(function, rows, first)
        copy, wanted = kept(original), made(function, rows, first)
        put(original, function, rows, second)
        same(copy, wanted)
        same(original, made(function, rows))
        original, copy = made(function, rows, first), None
        copy = kept(original)
        copy.merge(np.arange(GROUPS), made(function, rows, second))
        same(original, wanted)
        same(copy, made(function, rows))


def what_is_saved_can_be_loaded(function: Function, rows: Rows, rng: random.Random) -> None:
    first, second = rows.parts(2)
    original = made(function, rows, first)
    saved = original.to_arrow()
    assert len(saved) == original.saved_columns
    assert all(len(column) == GROUPS for column in saved)
    before = [column.to_pylist() for column in saved]
    put(original, function, rows, second)
    assert str([column.to_pylist() for column in saved]) == str(before)  # a NaN is not equal to itself
    loaded = original.empty()
    loaded.load_arrow(saved)
    same(loaded, made(function, rows, first))
    put(loaded, function, rows, second)
    same(loaded, original)
    shipped = original.empty()  # as partials are: through IPC, and some of the rows only
    batch = pa.record_batch(saved, names=[str(i) for i in range(len(saved))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch.slice(1))
    shipped.load_arrow(pa.ipc.open_stream(sink.getvalue()).read_next_batch().columns)
    same(shipped, made(function, rows, first).take(np.arange(1, GROUPS)))


def functions_that_share_read_the_same(function: Function, rows: Rows, rng: random.Random) -> None:
    kept = made(function, rows)
    same(function.start(rows.schema).over(kept), kept)
    assert kept.nbytes > 0 or kept.varies
    if kept.varies:
        nothing = made(function, rows, np.zeros(0, np.int64))
        assert nothing.nbytes <= kept.nbytes
        assert nothing.nbytes < kept.nbytes or given(kept) == given(nothing)


def groups_that_are_cleared_begin_anew(function: Function, rows: Rows, rng: random.Random) -> None:
    """As the slots of sessions do, which are used again."""
    gone = np.array(sorted(rng.sample(range(GROUPS), rng.randint(0, GROUPS))), np.int64)
    first, second = rows.parts(2)
    found = made(function, rows, first)
    found.clear(gone)
    same(found, made(function, rows, first[~np.isin(rows.ids[first], gone)]))
    put(found, function, rows, second)
    stays = np.concatenate([first[~np.isin(rows.ids[first], gone)], second])
    same(found, made(function, rows, stays))


LAWS: tuple[Callable[[Function, Rows, random.Random], None], ...] = (
    merge_is_associative_and_commutative_with_a_zero,
    an_update_is_a_merge_of_rows,
    groups_can_be_taken_and_put_together,
    copies_do_not_change_with_the_original,
    what_is_saved_can_be_loaded,
    functions_that_share_read_the_same,
    groups_that_are_cleared_begin_anew,
)


def hold(law: Callable[[Function, Rows, random.Random], None], function: Function) -> None:
    """The law holds for the function over every type that it takes."""
    taken = [name for name, (type_, _) in TYPES.items() if takes(function, type_)]
    assert taken, f"{function} takes no type at all"
    for name in taken:
        for seed in SEEDS:
            rng = random.Random(f"{function} of {name} {seed}")
            try:
                law(function, Rows(rng, *TYPES[name]), rng)
            except Exception as error:
                error.add_note(f"{function} of {name}, seed {seed}")
                raise
