"""top and collect, and first and last of values that are no numbers: groups hold their first rows in an order.

Rows are ordered by something (the time, or the values themselves), then by value. A batch is cut down to the rows that
may count before it is held, so that a group never holds much more than its limit.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.operators.core.words import has_words, ranks
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.functions.function import Function, Ordered, as_column, as_order, at_least_one, is_scalar
from oop.operators.functions.rows_by_group import HoldsRows, RowsByGroup, as_held, held_type, order_groups


@frozen()
class Ranking:
    """Which rows of a group come first: the least, or with ``most`` the greatest, and at most ``limit`` of them. A
    value that is null loses every tie; with ``nulls=False`` it is left out."""

    most: bool
    limit: int
    nulls: bool = False


class Ranked(HoldsRows):
    """Holds values and what they are ordered by, or values alone, ordered by themselves. A group's result is a list."""

    order: Ranking

    def __init__(self, source: pa.DataType, by: pa.DataType | None, order: Ranking, result: pa.DataType) -> None:
        super().__init__(source, result, [held_type(source), *([] if by is None else [held_type(by)])])
        self.order = order

    def _clear(self) -> None:
        super()._clear()
        self._last: np.ndarray | None = None

    def empty(self) -> Ranked:
        out = super().empty()
        assert isinstance(out, Ranked)
        out.order = self.order
        return out

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.order

    def prepare(self, values: Any) -> Prepared:
        arrays = values if isinstance(values, tuple) else (values,)
        return tuple(map(as_held, arrays))

    def update(self, ids: np.ndarray, values: Any) -> None:
        self.add(self.settle(self._not_beyond(RowsByGroup(ids, values))))

    def _not_beyond(self, rows: RowsByGroup) -> RowsByGroup:
        """The rows without those behind the last row of a full group; of most batches that leaves little."""
        by = rows.columns[-1]
        if self._settled is None or not has_words(by.type):
            return rows
        if self._last is None:
            self._sweep()
            self._last = self._last_words(self._settled)
        words = self._words(by)[0]
        near = rows.ids >= len(self._last)  # groups that have come since then
        near[~near] = words[~near] <= self._last[rows.ids[~near]]
        return rows if near.all() else rows.take(np.flatnonzero(near))

    def clear(self, ids: np.ndarray) -> None:
        super().clear(ids)
        if self._last is not None:  # there is room for more in them
            self._last[ids[ids < len(self._last)]] = np.iinfo(np.int64).max

    def _last_words(self, rows: RowsByGroup) -> np.ndarray:
        """For each group the order of its last row; for a group that has room for more, an order behind all rows."""
        last = np.full(self.size, np.iinfo(np.int64).max)
        ends = np.flatnonzero(np.diff(rows.ids, append=-1))
        full = ends[np.diff(ends, prepend=-1) >= self.order.limit]
        last[rows.ids[full]] = self._words(rows.columns[-1])[0][full]
        return last

    def _words(self, array: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers that are least for the rows that come first, and which values are valid."""
        words, valid = ranks(array, zeros_equal=len(self.types) > 1)
        return (~words if self.order.most else words), valid

    def settle(self, rows: RowsByGroup) -> RowsByGroup:
        words, wanted = self._words(rows.columns[-1])
        if len(self.types) > 1 and not self.order.nulls and rows.columns[0].null_count:
            there = views.booleans(rows.columns[0].is_valid())
            wanted = there if wanted is None else wanted & there
        chosen = np.arange(len(rows)) if wanted is None else np.flatnonzero(wanted)
        order = chosen[np.argsort(words[chosen])]
        grouped = order_groups(rows.ids[order])
        order = order if grouped is None else order[grouped]
        if len(self.types) > 1:
            self._break_ties(rows, words, order)
        ids = rows.ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        places = np.arange(len(ids)) - np.repeat(starts, np.diff(starts, append=len(ids)))
        return rows.take(order[places < self.order.limit])

    def _break_ties(self, rows: RowsByGroup, words: np.ndarray, order: np.ndarray) -> None:
        """Put rows of one group that are equal in order by their values. Only those values are compared: most often
        there are few, and text is slow to order."""
        ids, by = rows.ids[order], words[order]
        equal = (ids[1:] == ids[:-1]) & (by[1:] == by[:-1])
        if not equal.any():
            return
        tied = np.zeros(len(order), np.bool_)
        tied[1:] = equal
        tied[:-1] |= equal
        at = np.flatnonzero(tied)
        runs = np.cumsum(np.append(True, ~equal))[at]
        values, valid = ranks(rows.columns[0].take(pa.array(order[at])))
        values = ~values if self.order.most else values
        if valid is not None:  # a null loses, and the number under it means nothing
            values = np.where(valid, values, 0)
        order[at] = order[at][np.lexsort((values, runs) if valid is None else (values, ~valid, runs))]

    def result(self) -> pa.Array:
        lists = self.rows().lists(self.size, null=True)[0]
        return lists if lists.type == self.type else lists.cast(self.type)


class RankedOne(Ranked):
    """Holds one row for each group, and gives its value, or null."""

    def result(self) -> pa.Array:
        values = self.rows().one_each(self.size)
        if values.type == self.type:
            return values
        try:
            return values.cast(self.type)
        except pa.ArrowNotImplementedError:
            return pa.array(values.to_pylist(), self.type)


def first_of(source: pa.DataType, by: pa.DataType, *, most: bool) -> Accumulator:
    """The accumulator of first, or of last, for values of any type by values that have an order."""
    return RankedOne(source, by, Ranking(most, 1, nulls=True), source)


def list_of(source: pa.DataType, by: pa.DataType | None, *, most: bool, limit: int) -> Accumulator:
    """The accumulator of the values of the least, or greatest, rows as a list."""
    return Ranked(source, by, Ranking(most, limit), pa.list_(held_type(source)))


@frozen()
class Listed(Ordered):
    """A list of at most ``k`` values for each group: what `Top` and `Collect` have in common."""

    k: int = 0

    most: ClassVar[bool]
    """Do the greatest come first, and not the least?"""

    def accumulator_by(self, source: pa.DataType, by: pa.DataType) -> Accumulator:
        return list_of(source, by, most=self.most, limit=self.k)

    @property
    def rows_held(self) -> float:
        return self.k

    def arguments(self) -> str:
        return f"{self.of!r}, {self.k}{self._by()}"


class Top(Listed):
    name = "top"
    most = True

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        return list_of(source, None, most=True, limit=self.k) if is_scalar(source) else None

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return cls(col("x"), k=2), cls(col("x"), by=col("f"), k=3)


class Collect(Listed):
    name = "collect"
    by_time = True
    most = False

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return cls(col("x"), by=col("t"), k=3), cls(col("x"), by=col("s"), k=1000)


def top(of: str | Expr, k: int, by: str | Expr | None = None) -> Function:
    """The ``k`` greatest values as a list, greatest first; with ``by`` the values with the ``k`` greatest ``by``.

    Ties of ``by`` go by value. Nulls are left out, in either; a group of nulls alone gives null.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, 90, 60]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(most=oop.top("len", 2)).run().to_table()["most"].to_pylist()
    [[90, 60]]
    """
    return Top(as_column(of), by=as_order(by), k=at_least_one("k", k))


def collect(of: str | Expr, limit: int = 1000, by: str | Expr | None = None) -> Function:
    """The values as a list, in order of time (or of ``by``), ties by value.

    It keeps the first ``limit`` values, and what is beyond is left out: `count` of the same column, beside it, says how
    many there were. Nulls are left out; a group of nulls alone gives null.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [3, 1, 2], "v": [7, 9, 8]}), time="ts", punctuate=oop.slack(5))
    >>> s.window(oop.tumbling(10)).agg(v=oop.collect("v", 2), n=oop.count("v")).run().to_table().to_pylist()
    [{'window_start': 0, 'window_end': 10, 'v': [9, 8], 'n': 3}]
    """
    return Collect(as_column(of), by=as_order(by), k=at_least_one("limit", limit))
