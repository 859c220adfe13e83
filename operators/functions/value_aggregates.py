"""Aggregates that give values of the rows, as users write them: first and last, distinct ones, quantiles, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real

from oop.errors import WrongArgument
from oop.operators.expressions.expr import Expr
from oop.operators.functions.aggregates import Aggregate, as_column
from oop.site import user_line


def _by(by: str | Expr | None) -> Expr | None:
    return None if by is None else as_column(by)


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a whole number from 1 on, not {value!r}")
    return value


def first(of: str | Expr, by: str | Expr | None = None) -> Aggregate:
    """The value at the least ``by``: by default the attribute of the window, else the stream's time.

    A null is a value here, as for SQL's FIRST: if it came first, that is the answer. Of several values with the same
    ``by`` it is the least, and null only if there is no other. Rows whose ``by`` is null are left out.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [3, 1, 2], "v": [7, 9, 8]}), time="ts", punctuate=oop.slack(5))
    >>> s.window(oop.tumbling(10)).agg(first=oop.first("v"), last=oop.last("v")).run().to_table().to_pylist()
    [{'window_start': 0, 'window_end': 10, 'first': 9, 'last': 7}]
    """
    return Aggregate("first", as_column(of), by=_by(by))


def last(of: str | Expr, by: str | Expr | None = None) -> Aggregate:
    """The value at the greatest ``by``; of several with the same the greatest, and null only if there is no other.

    >>> str(last("price", by="quoted_at"))
    'last(price by quoted_at)'
    """
    return Aggregate("last", as_column(of), by=_by(by))


def count_distinct(of: str | Expr) -> Aggregate:
    """How many different values, exactly. Nulls are left out; NaN equals NaN, and −0.0 equals 0.0.

    Each group holds its values: state grows with their number.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "src": ["a", "b", "a"]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(sources=oop.count_distinct("src")).run().to_table()["sources"].to_pylist()
    [2]
    """
    return Aggregate("count_distinct", as_column(of))


def quantile(of: str | Expr, q: float | Sequence[float], *, k: int = 200) -> Aggregate:
    """The least value that at least a part ``q`` of the values does not exceed, as float64; for several ``q`` a list.

    Exact for groups of at most ``k`` values; for larger ones a KLL sketch of about 3·k values, whose answer has a rank
    within 1.33 % of ``q`` for k = 200 (0.68 % for 400, 0.35 % for 800), at 99 % confidence. The sketch throws coins:
    two runs over a large group may differ, within that error. Nulls and NaN are left out.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [3, 1, 2], "ms": [7, 9, 8]}), time="ts", punctuate=oop.slack(5))
    >>> s.window(oop.tumbling(10)).agg(ms=oop.quantile("ms", [0.5, 0.99])).run().to_table()["ms"].to_pylist()
    [[8.0, 9.0]]
    """
    several = isinstance(q, Iterable) and not isinstance(q, str)
    asked = tuple(q) if isinstance(q, Iterable) and not isinstance(q, str) else (q,)
    if not asked or not all(isinstance(part, Real) and not isinstance(part, bool) and 0 <= part <= 1 for part in asked):
        raise WrongArgument(
            f"q is a number from 0 to 1, or several, not {q!r}",
            at=user_line(),
            hint="write q=0.5 for the median, q=[0.5, 0.99] for a list of both",
        )
    if not 8 <= _whole("k", k) <= 65_535:
        raise ValueError(f"k is from 8 to 65535, not {k!r}")
    return Aggregate("quantile", as_column(of), k=k, q=tuple(map(float, asked)) if several else float(asked[0]))


def median(of: str | Expr, *, k: int = 200) -> Aggregate:
    """``quantile(of, 0.5)``: of an even number of values the lower one of the two in the middle.

    >>> median("ms").q
    0.5
    """
    return quantile(of, 0.5, k=k)


def top(of: str | Expr, k: int, by: str | Expr | None = None) -> Aggregate:
    """The ``k`` greatest values as a list, greatest first; with ``by`` the values with the ``k`` greatest ``by``.

    Ties of ``by`` go by value. Nulls are left out, in either; a group of nulls alone gives null.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, 90, 60]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(most=oop.top("len", 2)).run().to_table()["most"].to_pylist()
    [[90, 60]]
    """
    return Aggregate("top", as_column(of), by=_by(by), k=_whole("k", k))


def collect(of: str | Expr, limit: int = 1000, by: str | Expr | None = None) -> Aggregate:
    """The values as a list, in order of time (or of ``by``), ties by value.

    It keeps the first ``limit`` values, and what is beyond is left out: `count` of the same column, beside it, says how
    many there were. Nulls are left out; a group of nulls alone gives null.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [3, 1, 2], "v": [7, 9, 8]}), time="ts", punctuate=oop.slack(5))
    >>> s.window(oop.tumbling(10)).agg(v=oop.collect("v", 2), n=oop.count("v")).run().to_table().to_pylist()
    [{'window_start': 0, 'window_end': 10, 'v': [9, 8], 'n': 3}]
    """
    return Aggregate("collect", as_column(of), by=_by(by), k=_whole("limit", limit))
