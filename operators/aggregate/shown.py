"""What has been shown of results that may still change, so that only what differs is shown again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.compute import compute as pc
from oop.operators.core.coverage import covered
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.passing.qos import ENTERED
from oop.punctuation import Frontier

_GONE = -1
_SLACK = 1024  # outdated rows that may stay in any case


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
        # the entry time of a result's oldest row is no part of the answer
        self.values = [n for n in schema.names if n not in identity and n != ENTERED]
        self.changed = False
        self._clear()

    def _clear(self) -> None:
        self.keys = KeyTable([views.key_kind(self.schema.field(n).type) for n in self.identity])
        self.log = self.schema.empty_table()
        self.latest = np.zeros(0, np.int64)  # by id: the row of the log; _GONE: it will not be shown again
        self.changed = True

    def __len__(self) -> int:
        return int((self.latest != _GONE).sum())

    @property
    def nbytes(self) -> int:
        return int(self.log.nbytes + self.keys.nbytes + self.latest.nbytes) if len(self.latest) else 0

    def news(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that were not shown before as they are now; from now on they count as shown. No row may come
        twice."""
        ids = self._ids(batch)
        known = self.latest[ids] != _GONE
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
        ids = self.keys.map([read_key(batch.column(n)) for n in self.identity], batch.num_rows)
        if len(self.keys) > len(self.latest):
            self.latest = np.concatenate([self.latest, np.full(len(self.keys) - len(self.latest), _GONE)])
        return ids

    def _note(self, ids: np.ndarray, batch: pa.RecordBatch) -> None:
        self.latest[ids] = self.log.num_rows + np.arange(batch.num_rows)
        self.log = pa.concat_tables([self.log, pa.Table.from_batches([batch.replace_schema_metadata(None)])])
        self.changed = True
        if self.log.num_rows > 2 * len(self.latest) + _SLACK:
            self._keep(self.rows())

    def close(self, batch: pa.RecordBatch) -> None:
        """These results are final, and will not be shown again."""
        if len(self.latest):
            ids = self._ids(batch)  # they may be new, and make the array longer
            self.latest[ids] = _GONE
            self.changed = True
            if len(self.latest) > 2 * len(self) + _SLACK:
                self._keep(self.rows())

    def forget(self, promised: Frontier) -> None:
        """Rows that match what is promised will not be shown again."""
        if not len(self):
            if len(self.latest):
                self._clear()
            return
        rows = self.rows()
        gone = covered(promised, rows)
        if gone.any():
            self._keep(rows.filter(pa.array(~gone)))

    def _keep(self, rows: pa.RecordBatch) -> None:
        self._clear()
        if rows.num_rows:
            self._note(self._ids(rows), rows)

    def rows(self) -> pa.RecordBatch:
        """The last version of each row that was shown."""
        table = self.log.take(pa.array(self.latest[self.latest != _GONE])).combine_chunks()
        return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema=self.schema)

    def load(self, rows: pa.RecordBatch) -> None:
        self._keep(rows)
        self.changed = False


def _differ(now: pa.RecordBatch, before: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Which rows differ in one of these columns? Two nulls are the same, and two NaN."""
    differs = np.zeros(now.num_rows, bool)
    for name in names:
        new, old = now.column(name), before.column(name).combine_chunks()
        if pa.types.is_nested(new.type):
            pairs = zip(new.to_pylist(), old.to_pylist(), strict=True)
            differs |= np.array([not _same(a, b) for a, b in pairs], bool)
            continue
        if pa.types.is_floating(new.type):  # as bits, so that NaN is NaN
            bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[new.type.bit_width]
            new, old = new.view(bits), old.view(bits)
        nulls = pc.not_equal(new.is_null(), old.is_null())
        differs |= views.booleans(pc.or_kleene(pc.fill_null(pc.not_equal(new, old), False), nulls))
    return differs


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return bool(a == b or (a != a and b != b))
