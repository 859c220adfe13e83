"""quantile and median: exact while a group has few values, then a KLL sketch of them.

Karnin, Lang, Liberty, "Optimal Quantile Approximation in Streams" (FOCS 2016), as Apache DataSketches has it: sketches
merge, and the error of the rank does not grow with the number of values, nor by merging.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import WrongArgument
from oop.frozen import frozen
from oop.kernels import views
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.accumulators import Accumulator, Prepared, floats
from oop.operators.functions.function import ColumnFunction, Function, as_column, at_least_one
from oop.operators.functions.rows_by_group import HoldsRows, RowsByGroup, find_groups, order_groups
from oop.site import user_line

_SKETCH_BYTES = 256  # the bytes of a sketch beside its values


@functools.cache
def _sketches() -> Any:
    """The library, loaded when the first sketch is made, so that `import oop` does not pay for it."""
    import datasketches

    return datasketches.kll_doubles_sketch


def rank_error(k: int) -> float:
    """How far the rank of a result may be from the one asked for, at 99 % confidence.

    >>> round(rank_error(200), 4), round(rank_error(800), 4)
    (0.0133, 0.0035)
    """
    return float(_sketches().get_normalized_rank_error(k, False))


class Quantiles(HoldsRows):
    """Groups of at most ``k`` values hold them; a group that has had more holds a sketch.

    A sketch may be shared with copies of the accumulator: only those in ``_own`` are changed in place.
    """

    k: int
    q: float | tuple[float, ...]

    def __init__(self, source: pa.DataType, k: int, q: float | tuple[float, ...]) -> None:
        super().__init__(source, pa.list_(pa.float64()) if isinstance(q, tuple) else pa.float64(), [pa.float64()])
        self.k, self.q = k, q
        self._sketches: dict[int, Any] = {}
        self._own: set[int] = set()

    def empty(self) -> Quantiles:
        out = super().empty()
        assert isinstance(out, Quantiles)
        out.k, out.q, out._sketches, out._own = self.k, self.q, {}, set()
        return out

    @property
    def saved_columns(self) -> int:
        return 2

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.k  # not q: several quantiles of a column are read from one sketch

    def prepare(self, values: pa.Array | None) -> Prepared:
        return floats(values)

    def update(self, ids: np.ndarray, values: Any) -> None:
        there = ~np.isnan(values.data)
        if values.valid is not None:
            there &= values.valid
        self.add(RowsByGroup(ids[there], (pa.array(values.data[there]),)))

    def settle(self, rows: RowsByGroup) -> RowsByGroup:
        """Put values of groups that have too many, or a sketch already, into their sketch."""
        rows = rows.by_group()
        starts = np.flatnonzero(np.diff(rows.ids, prepend=-1))
        ends = np.append(starts[1:], len(rows))
        groups = rows.ids[starts]
        many = ends - starts > self.k
        if self._sketches:
            many |= np.isin(groups, np.fromiter(self._sketches, np.int64, len(self._sketches)))
        if not many.any():
            return rows
        values = views.column(rows.columns[0]).data
        chosen = zip(groups[many].tolist(), starts[many].tolist(), ends[many].tolist(), strict=True)
        for group, start, end in chosen:
            self._sketch(group).update(values[start:end])
        return rows.take(np.flatnonzero(~np.repeat(many, ends - starts)))

    def _sketch(self, group: int) -> Any:
        """The group's sketch, to be changed."""
        if group not in self._own:
            made = _sketches()(self.k)
            if group in self._sketches:
                made.merge(self._sketches[group])
            self._sketches[group] = made
            self._own.add(group)
        return self._sketches[group]

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        assert isinstance(other, Quantiles)
        rows = other.rows()
        for group, sketch in other._sketches.items():
            self._sketch(int(ids[group])).merge(sketch)
        if other._sketches:
            self.unsettle()  # values of a group that has a sketch now belong in it
        self.add(rows.to(ids))

    def result(self) -> pa.Array:
        rows = self.rows()
        values = views.column(rows.columns[0]).data
        order = np.argsort(values)
        grouped = order_groups(rows.ids[order])
        values = values[order if grouped is None else order[grouped]]
        starts = np.searchsorted(rows.ids, np.arange(self.size + 1))
        counts = np.diff(starts)
        asked = self.q if isinstance(self.q, tuple) else (self.q,)
        found = np.zeros((self.size, len(asked)))
        there = counts > 0
        for i, q in enumerate(asked):
            # the least value that at least this part of the values does not exceed
            places = np.clip(np.ceil(np.round(q * counts, 9)).astype(np.int64), 1, None) - 1
            found[there, i] = values[(starts[:-1] + places)[there]]
        for group, sketch in self._sketches.items():
            found[group] = sketch.get_quantiles(asked, True)
            there[group] = True
        if not isinstance(self.q, tuple):
            return pa.array(found[:, 0], mask=~there)
        offsets = pa.array(np.arange(self.size + 1, dtype=np.int32) * len(asked))
        return pa.ListArray.from_arrays(offsets, pa.array(found.reshape(-1)), mask=pa.array(~there))

    def _with(self, rows: RowsByGroup, size: int, sketches: Iterable[tuple[int, Any]] | None = None) -> HoldsRows:
        """Both accumulators share the sketches then, so neither may change them in place."""
        out = super()._with(rows, size)
        assert isinstance(out, Quantiles)
        out._sketches = dict(self._sketches if sketches is None else sketches)
        self._own.clear()
        return out

    def over(self, other: Accumulator) -> Accumulator:
        assert isinstance(other, Quantiles)
        rows = other.rows()
        other._own.clear()
        return self._with(rows, other.size, other._sketches.items())

    def take(self, indices: np.ndarray) -> Accumulator:
        rows = self.rows().of_groups(indices).by_group()
        groups = np.fromiter(self._sketches, np.int64, len(self._sketches))
        asked, places = find_groups(groups, indices)
        chosen = [(place, self._sketches[int(groups[i])]) for i, place in zip(asked, places.tolist(), strict=True)]
        return self._with(rows, len(indices), chosen)

    def take_results(self, indices: np.ndarray) -> Accumulator:
        if not self._sketches:
            rows = self.gather(indices).by_group()
            if np.bincount(rows.ids).max(initial=0) <= self.k:
                return self._with(rows, len(indices))
        return self.take(indices)  # values that wait belong in a sketch

    def piece(self, start: int, stop: int) -> Accumulator:
        out = super().piece(start, stop)
        assert isinstance(out, Quantiles)
        groups = range(start, stop) if self._sketches else ()
        out._sketches = {g - start: self._sketches[g] for g in groups if g in self._sketches}
        return out

    def clear(self, ids: np.ndarray) -> None:
        super().clear(ids)
        for group in ids.tolist() if self._sketches else ():
            self._sketches.pop(group, None)
            self._own.discard(group)

    @classmethod
    def concat(cls, pieces: Sequence[Accumulator]) -> Accumulator:
        out, start = super().concat(pieces), 0
        assert isinstance(out, Quantiles)
        out._sketches = {}
        for piece in pieces:
            assert isinstance(piece, Quantiles)
            out._sketches.update((group + start, sketch) for group, sketch in piece._sketches.items())
            piece._own.clear()
            start += piece.size
        return out

    @property
    def nbytes(self) -> int:
        return super().nbytes + len(self._sketches) * (_SKETCH_BYTES + 8 * _retained(self.k))

    def to_arrow(self) -> list[pa.Array]:
        values = super().to_arrow()
        sketches: list[bytes | None] = [None] * self.size
        for group, sketch in self._sketches.items():
            sketches[group] = sketch.serialize()
        return [*values, pa.array(sketches, pa.binary())]

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        values, sketches = columns
        super().load_arrow([values])
        held = np.flatnonzero(views.booleans(sketches.is_valid())).tolist()
        self._sketches = {group: _sketches().deserialize(sketches[group].as_py()) for group in held}
        self._own = set(held)


def _retained(k: int) -> int:
    """About how many values a sketch has room for: each level has two thirds of the room of the one above."""
    return math.ceil(3 * k)


@frozen()
class Quantile(ColumnFunction):
    """``k`` is how many values a group holds before it has a sketch, and also sets how exact the sketch is."""

    q: float | tuple[float, ...] = 0.5
    k: int = 200

    name = "quantile"

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        t = pa.types
        if t.is_integer(source) or t.is_floating(source) or t.is_decimal(source) or t.is_null(source):
            return Quantiles(source, self.k, self.q)
        return None

    @property
    def rows_held(self) -> float:
        return self.k

    def arguments(self) -> str:
        return f"{super().arguments()}, {self.q}, k={self.k}"

    @classmethod
    def examples(cls) -> tuple[Function, ...]:
        return cls(col("x")), cls(col("x"), (0.0, 0.3, 1.0))


def quantile(of: str | Expr, q: float | Sequence[float], *, k: int = 200) -> Quantile:
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
    if not 8 <= at_least_one("k", k) <= 65_535:
        raise ValueError(f"k is from 8 to 65535, not {k!r}")
    return Quantile(as_column(of), k=k, q=tuple(map(float, asked)) if several else float(asked[0]))


def median(of: str | Expr, *, k: int = 200) -> Quantile:
    """``quantile(of, 0.5)``: of an even number of values the lower one of the two in the middle.

    >>> median("ms").q
    0.5
    """
    return quantile(of, 0.5, k=k)
