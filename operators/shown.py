"""What has been shown of results that may still change, so that only what differs is shown again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.compute import compute as pc
from oop.operators.coverage import covered
from oop.operators.keys import KeyTable, read_key
from oop.punctuation import Frontier

_SLACK = 1024  # rows that may be outdated before they are worth clearing away


class Shown:
    """The last version of each row that was shown; ``identity`` are the columns that tell rows apart.

    >>> shown = Shown(pa.schema({"k": pa.string(), "n": pa.int64()}), ["k"])
    >>> shown.news(pa.record_batch({"k": ["a", "b"], "n": [1, 1]})).to_pylist()
    [{'k': 'a', 'n': 1}, {'k': 'b', 'n': 1}]
    >>> shown.news(pa.record_batch({"k": ["a", "b"], "n": [2, 1]})).to_pylist()
    [{'k': 'a', 'n': 2}]
    """

    def __init__(self, schema: pa.Schema, identity: Sequence[str]) -> None:
        self.schema = schema
        self.identity = list(identity)
        self.values = [n for n in schema.names if n not in identity]
        self.changed = False
        self._clear()

    def _clear(self) -> None:
        self.keys = KeyTable([views.key_kind(self.schema.field(n).type) for n in self.identity])
        self.log = self.schema.empty_table()
        self.latest = np.zeros(0, np.int64)  # by id: the row of the log
        self.changed = True

    def __len__(self) -> int:
        return len(self.latest)

    @property
    def nbytes(self) -> int:
        return int(self.log.nbytes + self.keys.nbytes + self.latest.nbytes)

    def news(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that were not shown before as they are now; they count as shown then. No row comes twice in it."""
        ids = self._ids(batch)
        known = ids < len(self.latest)
        differs = ~known
        if known.any():
            rows = np.flatnonzero(known)
            before = self.log.take(pa.array(self.latest[ids[rows]]))
            differs[rows] = _differ(batch.take(pa.array(rows)), before, self.values)
        found = batch.filter(pa.array(differs))
        if found.num_rows:
            self._note(ids[differs], found)
        return found

    def _ids(self, batch: pa.RecordBatch) -> np.ndarray:
        return self.keys.map([read_key(batch.column(n)) for n in self.identity], batch.num_rows)

    def _note(self, ids: np.ndarray, batch: pa.RecordBatch) -> None:
        room = int(ids.max()) + 1
        if room > len(self.latest):
            self.latest = np.concatenate([self.latest, np.zeros(room - len(self.latest), np.int64)])
        self.latest[ids] = self.log.num_rows + np.arange(batch.num_rows)
        self.log = pa.concat_tables([self.log, pa.Table.from_batches([batch.replace_schema_metadata(None)])])
        self.changed = True
        if self.log.num_rows > 2 * len(self.latest) + _SLACK:
            self.log = self.log.take(pa.array(self.latest)).combine_chunks()
            self.latest = np.arange(len(self.latest))

    def forget(self, promised: Frontier) -> None:
        """Rows that match what is promised will not be shown again."""
        if not len(self):
            return
        rows = self.rows()
        gone = covered(promised, rows)
        if gone.any():
            self._clear()
            kept = rows.filter(pa.array(~gone))
            if kept.num_rows:
                self._note(self._ids(kept), kept)

    def rows(self) -> pa.RecordBatch:
        """The last version of each."""
        table = self.log.take(pa.array(self.latest)).combine_chunks()
        return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=self.schema)

    def load(self, rows: pa.RecordBatch) -> None:
        self._clear()
        if rows.num_rows:
            self._note(self._ids(rows), rows)
        self.changed = False


def _differ(now: pa.RecordBatch, before: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Which rows are not the same in all of these columns? Two nulls are, and two NaN."""
    differs = np.zeros(now.num_rows, bool)
    for name in names:
        new, old = now.column(name), before.column(name).combine_chunks()
        if pa.types.is_float64(new.type):  # as bits, so that NaN is NaN
            new, old = new.view(pa.int64()), old.view(pa.int64())
        if pa.types.is_nested(new.type):
            differs |= np.array([a != b for a, b in zip(new.to_pylist(), old.to_pylist(), strict=True)], bool)
            continue
        nulls = pc.not_equal(new.is_null(), old.is_null())
        differs |= views.booleans(pc.or_kleene(pc.fill_null(pc.not_equal(new, old), False), nulls))
    return differs
