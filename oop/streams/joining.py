"""Makes the spec of a join (keys, band, kind) from a user's arguments, and refuses wrong combinations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from oop.errors import NeverEmits, SchemaMismatch, UnknownColumn
from oop.io.opening import open_data
from oop.kernels.dictionaries import concat_arrays
from oop.operators.core.compute import compute as pc
from oop.operators.core.times import check_time_type, duration_in, is_whole
from oop.operators.expressions.expr import Expr
from oop.operators.join.band import Band, SameWindow
from oop.operators.join.join import KINDS, Join
from oop.operators.join.static import KINDS as STATIC_KINDS
from oop.operators.join.static import StaticJoin
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration, show
from oop.streams.locating import AtUsersLine
from oop.windows import PlacedWindow, Window

On = str | Sequence[str] | Mapping[str, str] | None
CLOSED = ("both", "left", "right", "neither")


def joined_with(left: Flow, other: Any, **asked: Any) -> Flow:
    """The join of a flow with another flow, or with a table that does not change."""
    return join_flows(left, other, **asked) if isinstance(other, Flow) else joined_with_table(left, other, **asked)


def join_flows(left: Flow, right: Flow, *, on: On, times: tuple[str, str] | None, how: str, **asked: Any) -> Flow:
    """The join of two flows; ``asked`` are the other arguments of `make_join`."""
    with AtUsersLine():
        named = (left.time, right.time) if times is None else two("times", times, "left, right")
        spec = make_join(left.schema, right.schema, on=on, times=named, how=how, **asked)
    names = spec.names([left.schema, right.schema])
    time = {"right": names.outputs[1].get(spec.times[1]), "full": None}.get(how, spec.times[0])
    return left.then(spec, ".join(…)", time=time, others=[right])


def joined_with_table(left: Flow, data: Any, *, unbounded: bool, **asked: Any) -> Flow:
    """The join of a flow with a table that does not change."""
    with AtUsersLine():
        spec = make_static_join(left.schema, data, unbounded=unbounded or None, **asked)
    return left.then(spec, ".join(…)", time=left.time)


def make_join(
    left: pa.Schema,
    right: pa.Schema,
    *,
    on: On,
    times: tuple[str | None, str | None],
    within: tuple[Duration | None, Duration | None] | None,
    closed: str | None,
    window: Window | None,
    ranges: tuple[Duration, Duration] | None,
    how: str,
    where: Expr | None,
    unbounded: bool,
) -> Join:
    """The spec of a join of two streams; raises an error about arguments that make none."""
    check_kind(how, KINDS)
    check_where(where)
    pairs = read_keys(on, left, right)
    types = _time_types(times, left, right)
    band, shown = _read_band(within, closed, window, ranges, unbounded, types)
    keys = ", ".join(a if a == b else f"{a} = {b}" for a, b in pairs)
    text = " ".join(part for part in (f"on {keys}" if keys else "", shown) if part)
    named = (str(times[0]), str(times[1]))
    endless = math.isinf(band.span)
    return Join(pairs, named, band, how, where, endless, text)


def make_static_join(left: pa.Schema, data: Any, *, on: On, how: str, where: Expr | None, **others: Any) -> StaticJoin:
    """The spec of a join with a table that does not change."""
    for name, value in others.items():
        if value is not None and (name, value) != ("closed", "both"):
            raise ValueError(f"a static table has no time that rows could be near to: leave out {name}=")
    if how in ("right", "full"):
        raise ValueError(f"how={how!r}: a stream never ends for sure, so no row of a static table is ever unmatched")
    check_kind(how, STATIC_KINDS)
    check_where(where)
    table = read_table(data)
    pairs = read_keys(on, left, table.schema)
    keys = ", ".join(a if a == b else f"{a} = {b}" for a, b in pairs)
    return StaticJoin(table, pairs, how, where, f"on {keys}" if keys else "")


def read_table(data: Any) -> pa.Table:
    """All rows of a path, an Arrow table, or anything that gives one (a DuckDB result, Polars, pandas)."""
    if not isinstance(data, pa.Table):
        read = open_data(data)
        batches = [e for train in read.trains(65_536) for e in train if isinstance(e, pa.RecordBatch)]
        data = pa.Table.from_batches(batches, read.schema)
    # Arrow cannot take rows of run-end-encoded columns or of views
    runs = [i for i, field in enumerate(data.schema) if pa.types.is_run_end_encoded(field.type)]
    for i in runs:
        data = data.set_column(i, data.schema.names[i], pc.run_end_decode(data.column(i)))
    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    data = data.cast(pa.schema([f.with_type(plain.get(f.type, f.type)) for f in data.schema]))
    for i, column in enumerate(data.columns):
        if pa.types.is_dictionary(column.type) and column.num_chunks > 1:
            data = data.set_column(i, data.schema.field(i), concat_arrays(column.chunks))
    return data.combine_chunks()  # in one piece, because operators share it


def read_keys(on: On, left: pa.Schema, right: pa.Schema) -> tuple[tuple[str, str], ...]:
    """Pairs of columns that must be equal."""
    if on is None:
        return ()
    if isinstance(on, str):
        on = [on]
    if not isinstance(on, Mapping | Sequence) or not all(isinstance(name, str) for name in on):
        raise TypeError(f"on= takes column names, a list of them, or {{left: right}}, not {on!r}")
    pairs = tuple(on.items()) if isinstance(on, Mapping) else tuple((name, name) for name in on)
    if not all(isinstance(b, str) for _, b in pairs):
        raise TypeError(f"on= takes column names, a list of them, or {{left: right}}, not {on!r}")
    for a, b in pairs:
        for name, schema in ((a, left), (b, right)):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names)
    if len(set(pairs)) < len(pairs):
        raise SchemaMismatch(f"a key is named twice: {', '.join(a for a, _ in pairs)}")
    return pairs


def check_kind(how: str, kinds: Sequence[str]) -> None:
    if how not in kinds:
        raise ValueError(f"how is one of {', '.join(kinds)}, not {how!r}")


def check_where(where: Any) -> None:
    if where is not None and not isinstance(where, Expr):
        raise TypeError(f"where= takes an expression such as oop.col('len') > oop.col('len_right'), not {where!r}")


def _time_types(
    times: tuple[str | None, str | None], left: pa.Schema, right: pa.Schema
) -> tuple[pa.DataType, pa.DataType]:
    found = []
    for time, schema, which in zip(times, (left, right), ("left", "right"), strict=True):
        if time is None:
            raise SchemaMismatch(
                f"the {which} stream has no one time to join on",
                hint=f"say .join(…, times=(left, right)): {which} has {', '.join(schema.names)}",
            )
        if time not in schema.names:
            raise UnknownColumn.of(time, schema.names)
        type_ = schema.field(time).type
        check_time_type(time, type_)
        found.append(type_)
    a, b = found
    if not comparable(a, b):
        raise SchemaMismatch(
            f"the times {times[0]!r} ({a}) and {times[1]!r} ({b}) are not of one kind",
            hint=f"cast one of them: .with_columns({times[1]}=oop.col({times[1]!r}).cast('{a}'))",
        )
    return a, b


def comparable(a: pa.DataType, b: pa.DataType) -> bool:
    """Are two times of one kind?"""
    if pt.is_timestamp(a) and pt.is_timestamp(b):
        return a.unit == b.unit and (a.tz is None) == (b.tz is None)
    return a == b or (pt.is_integer(a) and pt.is_integer(b)) or (pt.is_floating(a) and pt.is_floating(b))


def _read_band(
    within: tuple[Duration | None, Duration | None] | None,
    closed: str | None,
    window: Window | None,
    ranges: tuple[Duration, Duration] | None,
    unbounded: bool,
    types: tuple[pa.DataType, pa.DataType],
) -> tuple[Band | SameWindow, str]:
    """How near in time two rows must be, and the text that shows it."""
    given = [n for n, v in (("within", within), ("window", window), ("ranges", ranges)) if v is not None]
    if len(given) > 1:
        raise ValueError(f"a join has one of within=, window= and ranges=, not {' and '.join(given)}")
    if closed not in (None, *CLOSED):
        raise ValueError(f"closed is one of {', '.join(CLOSED)}, not {closed!r}")
    if closed not in (None, "both") and within is None:
        raise ValueError("closed= says which ends of within=(lo, hi) belong to it: leave it out")
    lo, hi = (None, None) if within is None else two("within", within, "lo, hi")
    if unbounded and given and (within is None or None not in (lo, hi)):
        raise ValueError(f"{given[0]}= says how near rows must be: leave out unbounded=")
    if window is not None:
        return _same_window(window, types[0])
    if ranges is not None:
        return _read_ranges(ranges, types[0])
    if None in (lo, hi) and not unbounded:
        raise NeverEmits(
            "a join without a band can never free a row, and its state would grow with the streams",
            hint='say how far apart the times of two rows may be: within=("-30s", "2min"), or unbounded=True if the '
            "streams are known to be short",
        )
    low = -math.inf if lo is None else duration_in(lo, types[0])
    high = math.inf if hi is None else duration_in(hi, types[0])
    if low > high:
        raise ValueError(f"within=({lo!r}, {hi!r}): lo <= right - left <= hi has no solution, lo is greater than hi")
    shown = f"within {'-∞' if lo is None else show(lo)} … {'∞' if hi is None else show(hi)}" if given else "unbounded"
    if closed not in (None, "both"):
        shown += f" closed {closed}"
    return _band(low, high, closed or "both", types[0]), shown


def _read_ranges(ranges: Any, type_: pa.DataType) -> tuple[Band, str]:
    """Q2: each side's RANGE says how much older its rows may be than the other's; both ends are open."""
    pair = two("ranges", ranges, "left, right")
    if None in pair:
        raise ValueError(f"a range is a duration: {ranges!r}")
    left, right = (duration_in(r, type_) for r in pair)
    if min(left, right) < 0:
        raise ValueError(f"a range is not negative: {ranges!r}")
    return _band(-right, left, "neither", type_), f"ranges {show(pair[0])}, {show(pair[1])}"


def two(name: str, value: Any, what: str) -> tuple[Any, Any]:
    """Check that an argument is a pair."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"{name}=({what}), not {value!r}")
    return value[0], value[1]


def _band(low: int | float, high: int | float, closed: str, type_: pa.DataType) -> Band:
    if is_whole(type_) and any(math.isfinite(end) and not -(2**63) < end < 2**63 - 1 for end in (low, high)):
        raise ValueError(f"within=({low}, {high}): the ends of a band fit 64 bits")
    band = Band(low, high, closed in ("right", "neither"), closed in ("left", "neither"))
    if not is_whole(type_):
        band = Band(float(low), float(high), band.lo_open, band.hi_open)
    gap = band.lo_open + band.hi_open - 1 if is_whole(type_) else 0  # a span that open ends leave empty
    if (band.lo_open or band.hi_open) and band.span <= max(gap, 0):
        raise ValueError(f"closed={closed!r}: no difference lies between {low} and {high}")
    return band


def _same_window(window: Any, type_: pa.DataType) -> tuple[SameWindow, str]:
    if not isinstance(window, PlacedWindow):
        raise TypeError(f"window= takes oop.tumbling(…) or oop.calendar(…), not {window!r}")
    windows = window.windows(type_)
    if not windows.tumbles:
        raise ValueError("rows are joined in tumbling windows; for sliding ones say ranges=(left, right)")
    return SameWindow(windows), f"in {window}"
