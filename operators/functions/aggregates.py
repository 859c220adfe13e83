"""Aggregate functions as users write them: ``oop.count()``, ``oop.sum("len")``; frozen, and knowing their types.

Nulls are left out, as in SQL; a group of nulls alone has no sum, mean, min, max or var (null). NaN is greater than
every number, as in most SQL engines. An integer sum never wraps: it is exact while it runs and raises if its result
does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch
from oop.kernels import views
from oop.operators.core.words import has_words
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions import accumulators as acc
from oop.operators.functions.accounts import Accounts, AsideAccounts, LateAccounts, account_of
from oop.operators.functions.by_time import First, Last
from oop.operators.functions.distinct import CountDistinct
from oop.operators.functions.float_sums import MeanFloat, SumFloat
from oop.operators.functions.moments import Moments, PopulationMoments, WholeMoments, WholePopulationMoments
from oop.operators.functions.quantiles import Quantile
from oop.operators.functions.ranked import first_of, list_of


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over an expression (None: over rows), for some in the order of another (``by``)."""

    function: str
    of: Expr | None = None
    ddof: int = 1
    by: Expr | None = None
    k: int = 0
    q: float | tuple[float, ...] = 0.5

    @property
    def can_merge(self) -> bool:
        """Can two partial results become one? Panes, sessions and partial aggregates need it."""
        return True

    def in_window(self, time: pa.DataType | None) -> Aggregate:
        """The same as it is over windows on a time of this type; None: over groups without a window."""
        return self

    @property
    def sees_window(self) -> bool:
        """Does its result depend on where the window begins and ends?"""
        return False

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(e.columns() for e in (self.of, self.by) if e is not None))

    def combine(self, column: str) -> Aggregate:
        """The combination function (Aurora* and Medusa paper, section 5.1): what makes, of the results of some rows and
        of others, that of all of them; over the column in which the results are.

        A mean has none, since two means do not tell of how many rows they are: take its sum and its count. OopError for
        it, and for others that need more than their results.

        >>> str(count("len").combine("n")), str(max("len").combine("most"))
        ('sum(n)', 'max(most)')
        """
        if self.function not in _COMBINE:
            raise OopError(
                f"{self} has no combination function: its results for some rows and for others do not tell that of all",
                hint="take aggregates that have one and compute it from them: a mean is a sum and a count"
                if self.function == "mean"
                else "count, sum, min and max have one, and oop.aggregate(…) with merge and without final",
            )
        return Aggregate(_COMBINE[self.function], col(column))

    def by_default(self, time: str | None) -> Aggregate:
        """The same, ordered by the time where it needs an order and was given none."""
        if time is None or self.by is not None or self.function not in _BY_TIME:
            return self
        return replace(self, by=col(time))

    def type(self, schema: pa.Schema) -> pa.DataType:
        return self.start(schema).type

    def start(self, schema: pa.Schema) -> acc.Accumulator:
        """The running accumulator for rows of this schema; SchemaMismatch where the function has no meaning."""
        source = pa.int64() if self.of is None else self.of.type(schema)
        if pa.types.is_dictionary(source):
            source = source.value_type
        if self.by is not None:
            return self._start_by(source, views.value_type(self.by.type(schema)))
        made = _START[self.function](source, self)
        if made is None:
            raise SchemaMismatch(f"{self} has no meaning for a column of type {source}")
        return made

    def _start_by(self, source: pa.DataType, by: pa.DataType) -> acc.Accumulator:
        for type_ in (source, by):
            if not _is_scalar(type_):
                raise SchemaMismatch(f"{self} has no meaning for a column of type {type_}")
        return _START_BY[self.function](source, by, self)

    def values_name(self, schema: pa.Schema) -> str:
        """What it is of, as a name: functions with the same are given the same values."""
        if self.function in ACCOUNTS:
            return "the row's account"
        as_number = self.of is not None and self.function in _NUMERIC and pa.types.is_boolean(self.of.type(schema))
        by = "" if self.by is None else f" by {self.by!r}"
        return f"{self.of!r}{' as a number' if as_number else ''}{by}"

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """The values of a batch as its accumulator's `prepare` takes them; with ``by`` what they are ordered by beside
        them."""
        if self.function in ACCOUNTS:
            return account_of(batch)
        if self.of is None:
            return None
        values = _decoded(self.of.evaluate(batch))
        if self.by is not None:
            return values, _decoded(self.by.evaluate(batch))
        return values.cast(pa.int64()) if pa.types.is_boolean(values.type) and self.function in _NUMERIC else values

    def __str__(self) -> str:
        of = "" if self.of is None else repr(self.of)
        by = "" if self.by is None else f" by {self.by!r}"
        if self.function == "quantile":
            return f"quantile({of}, {self.q}, k={self.k})"
        return f"{self.function}({of}{f', {self.k}' if self.k else ''}{by})"


def _decoded(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


ACCOUNTS = {"seen": Accounts, "late": LateAccounts, "aside": AsideAccounts}
"""Functions that say what became of a window's rows."""
_COMBINE = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
_NUMERIC = ("sum", "mean", "var")
_SCALAR = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_temporal,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_null,
)


def _start_count(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    return acc.Count(source, pa.int64())


def _start_sum(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    t = pa.types
    if t.is_boolean(source) or t.is_signed_integer(source) or t.is_null(source):
        return acc.SumInt(pa.int64(), pa.int64())
    if t.is_unsigned_integer(source):
        return acc.SumInt(source, pa.uint64())
    if t.is_duration(source):
        return acc.SumInt(source, source)
    if t.is_floating(source):
        return SumFloat(source, pa.float64())
    if t.is_decimal(source):
        wide = pa.decimal256(76, source.scale) if t.is_decimal256(source) else pa.decimal128(38, source.scale)
        return acc.SumObject(source, wide)
    return None


def _start_mean(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    t = pa.types
    if t.is_boolean(source) or t.is_integer(source) or t.is_null(source):
        return acc.MeanInt(source, pa.float64())
    if t.is_floating(source):
        return MeanFloat(source, pa.float64())
    if t.is_decimal(source):
        return acc.MeanObject(source, pa.float64())
    return None


def _start_var(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    t = pa.types
    if t.is_integer(source):
        return (WholeMoments if spec.ddof else WholePopulationMoments)(source, pa.float64())
    if t.is_boolean(source) or t.is_floating(source) or t.is_decimal(source) or t.is_null(source):
        return (Moments if spec.ddof else PopulationMoments)(source, pa.float64())
    return None


def _is_scalar(source: pa.DataType) -> bool:
    return any(is_(source) for is_ in _SCALAR)


def _extreme(made: type[acc.Accumulator]) -> Callable[[pa.DataType, Aggregate], acc.Accumulator | None]:
    def start(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
        return made(source, source) if _is_scalar(source) else None

    return start


def _start_distinct(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    return CountDistinct(source, pa.int64()) if _is_scalar(source) else None


def _start_quantile(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    t = pa.types
    if t.is_integer(source) or t.is_floating(source) or t.is_decimal(source) or t.is_null(source):
        return Quantile(source, spec.k, spec.q)
    return None


def _start_top(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    return list_of(source, None, most=True, limit=spec.k) if _is_scalar(source) else None


def _without_time(source: pa.DataType, spec: Aggregate) -> acc.Accumulator | None:
    raise SchemaMismatch(
        f"{spec} goes by time, and the stream has no one time", hint=f"say by what: oop.{spec.function}(…, by=…)"
    )


def _first(made: type[acc.Accumulator], most: bool) -> Callable[[pa.DataType, pa.DataType, Aggregate], acc.Accumulator]:
    def start(source: pa.DataType, by: pa.DataType, spec: Aggregate) -> acc.Accumulator:
        return made(source, source) if has_words(source) and has_words(by) else first_of(source, by, most=most)

    return start


def _listed(most: bool) -> Callable[[pa.DataType, pa.DataType, Aggregate], acc.Accumulator]:
    def start(source: pa.DataType, by: pa.DataType, spec: Aggregate) -> acc.Accumulator:
        return list_of(source, by, most=most, limit=spec.k)

    return start


def _accounts(made: type[Accounts]) -> Callable[[pa.DataType, Aggregate], acc.Accumulator | None]:
    return lambda source, spec: made(source, pa.int64())


_START: dict[str, Callable[[pa.DataType, Aggregate], acc.Accumulator | None]] = {
    "count": _start_count,
    "sum": _start_sum,
    "mean": _start_mean,
    "var": _start_var,
    "min": _extreme(acc.Min),
    "max": _extreme(acc.Max),
    "first": _without_time,
    "last": _without_time,
    "count_distinct": _start_distinct,
    "quantile": _start_quantile,
    "top": _start_top,
    "collect": _without_time,
    **{name: _accounts(made) for name, made in ACCOUNTS.items()},
}
FUNCTIONS = frozenset(_START)
"""The names of the functions that there are."""
_START_BY: dict[str, Callable[[pa.DataType, pa.DataType, Aggregate], acc.Accumulator]] = {
    "first": _first(First, most=False),
    "last": _first(Last, most=True),
    "top": _listed(most=True),
    "collect": _listed(most=False),
}
_BY_TIME = ("first", "last", "collect")


def as_column(of: str | Expr) -> Expr:
    if not isinstance(of, str | Expr):
        raise TypeError(f"an aggregate is of a column or an expression such as oop.col('len') * 8, not of {of!r}")
    return col(of) if isinstance(of, str) else of


def count(of: str | Expr | None = None) -> Aggregate:
    """How many rows; with a column, in how many it is not null.

    >>> str(count()), str(count("len"))
    ('count()', 'count(len)')
    """
    return Aggregate("count", None if of is None else as_column(of))


def sum(of: str | Expr) -> Aggregate:
    """The sum. Integers give int64 (unsigned: uint64), exact or an error; decimals keep their scale.

    >>> str(sum(col("len") * 8))
    'sum(len * 8)'
    """
    return Aggregate("sum", as_column(of))


def min(of: str | Expr) -> Aggregate:
    """The least value, of any type that has an order.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, 90, 60]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(least=oop.min("len")).run().to_table()["least"].to_pylist()
    [40]
    """
    return Aggregate("min", as_column(of))


def max(of: str | Expr) -> Aggregate:
    """The greatest value, of any type that has an order.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "link": ["b", "c", "a"]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(most=oop.max("link")).run().to_table()["most"].to_pylist()
    ['c']
    """
    return Aggregate("max", as_column(of))


def mean(of: str | Expr) -> Aggregate:
    """The arithmetic mean, as float64.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, None, 90]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(mean=oop.mean("len")).run().to_table()["mean"].to_pylist()
    [65.0]
    """
    return Aggregate("mean", as_column(of))


def var(of: str | Expr, *, ddof: int = 1) -> Aggregate:
    """The variance, as float64: of a sample (``ddof=1``, null for one row) or of the population (``ddof=0``).

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
    >>> both = s.window(oop.tumbling(10)).agg(sample=oop.var("len"), all=oop.var("len", ddof=0))
    >>> both.run().to_table().select(["sample", "all"]).to_pylist()
    [{'sample': 200.0, 'all': 100.0}]
    """
    if ddof not in (0, 1):
        raise ValueError(f"ddof is 0 or 1, not {ddof!r}")
    return Aggregate("var", as_column(of), ddof)


def seen() -> Aggregate:
    """How many rows came for the window before it went out, whatever became of them.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(n=oop.count(), seen=oop.seen()).run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 2, 'seen': 3}
    """
    return Aggregate("seen")


def late() -> Aggregate:
    """How many of the rows that came for the window were late.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered(), late="admit")
    >>> s.window(oop.tumbling(10)).agg(n=oop.count(), late=oop.late()).run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 3, 'late': 1}
    """
    return Aggregate("late")


def aside() -> Aggregate:
    """How many late rows came for the window and are not in its other aggregates (``late="drop"``).

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 6, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count(), seen=oop.seen(), late=oop.late(), aside=oop.aside())
    >>> counts.run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'n': 2, 'seen': 3, 'late': 1, 'aside': 1}
    """
    return Aggregate("aside")
