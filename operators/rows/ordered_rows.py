"""Rows that arrive in order of an attribute and wait in that order: the buffer of in-order operators.

They are held as record batches, first in, first out, without search or slices. Rows whose value is null or NaN are not
held, because they have no place in an order (`without_place`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.errors import PunctuationViolated
from oop.kernels import views
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.rows.layout import held_as, laid_out, plain_schema
from oop.punctuation.patterns import Bound

_REACHED = "reached"


class OrderedRows:
    """Rows in ascending order of ``on``."""

    def __init__(self, schema: pa.Schema, on: str) -> None:
        self.schema, self.on = schema, on
        self._plain = plain_schema(schema)
        self._batches: deque[tuple[pa.RecordBatch, np.ndarray]] = deque()
        self._rows = 0
        self._saved = False
        self.nbytes = 0
        self.last: Bound = -math.inf
        """The greatest value that has come. Rows come in order, so no lower one follows."""

    def __len__(self) -> int:
        return self._rows

    def add(self, batch: pa.RecordBatch) -> None:
        """Hold rows. Each has a value, and none is below `last`."""
        if not batch.num_rows:
            return
        held = held_as(batch, self._plain)
        values = views.times(held.column(self.on))
        self.last = check_ascending(values, self.last, self.on)
        self._batches.append((held, values))
        self._rows += held.num_rows
        self.nbytes += held.nbytes

    def clear(self) -> None:
        """Forget all rows, and `last`."""
        self._batches.clear()
        self._rows, self.nbytes, self.last = 0, 0, -math.inf

    def held(self) -> pa.RecordBatch | None:
        """All rows as one batch; None if there are none."""
        if len(self._batches) > 1:
            whole = pa.concat_batches([batch for batch, _ in self._batches])
            self._batches = deque([(whole, views.times(whole.column(self.on)))])
            self.nbytes = whole.nbytes
        return self._batches[0][0] if self._batches else None

    def batches(self) -> list[pa.RecordBatch]:
        """All rows, in the batches in which they are held."""
        return [batch for batch, _ in self._batches]

    def first(self) -> Bound | None:
        """The least value that is held."""
        if not self._batches:
            return None
        value: Bound = self._batches[0][1][0].item()
        return value

    def take_until(self, limit: Bound, closed: bool = True) -> pa.RecordBatch | None:
        """Remove and give the rows up to a value (not closed: below it), in order; None if there are none."""
        found: list[pa.RecordBatch] = []
        while self._batches:
            batch, values = self._batches[0]
            count = len(values)
            if limit < math.inf:
                count = int(np.searchsorted(values, limit, "right" if closed else "left"))
            if not count:
                break
            self._batches.popleft()
            self.nbytes -= batch.nbytes
            found.append(batch.slice(0, count))
            if count < batch.num_rows:
                left = batch.slice(count)
                self._batches.appendleft((left, values[count:]))
                self.nbytes += left.nbytes
                break
        if not found:
            return None
        rows = found[0] if len(found) == 1 else pa.concat_batches(found)
        self._rows -= rows.num_rows
        return rows

    def released(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that were taken, in their own types."""
        return laid_out(rows, self.schema)

    def save(self, key: str) -> Iterator[Part]:
        """All rows as one part: an in-order operator holds few rows, or all of them change between two saves."""
        rows = self.held()
        if rows is not None or self._saved:
            yield key, rows
        self._saved = rows is not None

    def load(self, parts: Mapping[str, pa.RecordBatch | None], key: str) -> None:
        self.clear()
        part = parts.get(key)
        self._saved = part is not None
        if part is not None:
            self.add(part)


def save_reached(bounds: Iterable[Bound]) -> Part:
    """The greatest value that each input has reached. Rows that have left count too, so it cannot be computed from the
    rows that are held."""
    return text_part(_REACHED, list(bounds))


def load_reached(parts: Mapping[str, pa.RecordBatch | None], ports: int) -> list[Bound]:
    """What `save_reached` has saved, or -inf for each input if nothing was saved."""
    said = parts.get(_REACHED)
    reached = [-math.inf] * ports if said is None else read_text(said)
    assert isinstance(reached, list)
    return reached


def without_place(values: pa.Array) -> pa.BooleanArray | None:
    """Which values have no place in an order, null and NaN; None if all have.

    >>> without_place(pa.array([1.0, float("nan"), None])).to_pylist(), without_place(pa.array([1, 2]))
    ([False, True, True], None)
    """
    if not values.null_count and not pa.types.is_floating(views.value_type(values.type)):
        return None
    found = pc.is_null(values, nan_is_null=True)
    return found if found.true_count else None


def check_ascending(values: np.ndarray, last: Bound, on: str) -> Bound:
    """The last of these values, after a check that they ascend and that none is below ``last``."""
    if values[0] < last or (values[1:] < values[:-1]).any():
        raise PunctuationViolated(
            f"rows came out of order of {on!r} to an in-order operator",
            hint="this is a bug in the in-order plan: please report it with the plan and the input",
        )
    found: Bound = values[-1].item()
    return found
