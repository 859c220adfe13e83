"""`BestRows`: distinct keys in slices, as `SeenKeys` has them, with the best row of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.operators.core.keys import KeyTable
from oop.operators.core.ordering import order_rows
from oop.operators.dedup.seen_keys import KeySlice, SeenKeys
from oop.operators.rows.layout import as_type, plain_type
from oop.operators.rows.places import PlacedRows


class BestRows(SeenKeys):
    """Keeps one row of each key: the least (or, with ``last``, the greatest) by the columns ``by``, in this order."""

    def __init__(self, schema: pa.Schema, keys: Sequence[str], on: str | None, by: Sequence[str], last: bool) -> None:
        self.by, self.last = list(by), last
        super().__init__(schema, keys, on)

    def _new(self) -> KeySlice:
        return KeySlice(KeyTable(self._kinds, by_rows=True), PlacedRows(self.schema))

    def _take(
        self, into: KeySlice, batch: pa.RecordBatch, rows: np.ndarray | None, ids: np.ndarray, before: int
    ) -> bool:
        assert into.rows is not None
        rows = np.arange(batch.num_rows) if rows is None else rows
        # A new key that comes only once needs no comparison.
        alone = (np.bincount(ids, minlength=len(into)) == 1)[ids] & (ids >= before)
        into.rows.put(ids[alone], batch.columns, rows[alone])
        rows, ids = rows[~alone], ids[~alone]
        if len(rows):
            self._compare(into.rows, batch.take(pa.array(rows)), ids, before)
            if into.rows.is_mostly_gone(len(into)):
                into.rows.rewrite(np.arange(len(into)))
        return True

    def _compare(self, rows: PlacedRows, new: pa.RecordBatch, ids: np.ndarray, before: int) -> None:
        """Compare rows with each other, and with the held rows of their keys; keep the best."""
        known = np.unique(ids[ids < before])
        held = rows.take(self.by, known)
        columns = [_joined(held[name], new.column(name)) for name in self.by]
        every = np.append(known, ids)
        order = order_rows([pa.array(every), *columns])
        ordered = every[order]
        differs = ordered[1:] != ordered[:-1]
        best = order[np.append(differs, True) if self.last else np.append(True, differs)]
        best = best[best >= len(known)]  # held rows that stay the best are in their places already
        rows.put(every[best], new.columns, best - len(known))


def _joined(held: pa.Array, new: pa.Array) -> pa.Array:
    """Two pieces of a column as one, in a plain type, because different dictionaries cannot be concatenated."""
    plain = plain_type(held.type)
    return pa.concat_arrays([as_type(held, plain), as_type(new, plain)])
