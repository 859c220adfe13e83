"""How rows of both sides of a join become rows of its output: the columns that are used, under the output's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.operators.core.spec import UsedColumns
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.fields import JoinFields
from oop.operators.join.side import Side
from oop.operators.rows.layout import take_column


class JoinOutput:
    """``inputs`` are the columns that must be taken of each side, ``schema`` those that go out, ``tested`` those that
    the further condition looks at."""

    def __init__(self, spec: JoinFields, given: Sequence[pa.Schema], wanted: UsedColumns) -> None:
        self.inputs = [
            pa.schema([f for f in schema if columns is None or f.name in columns])
            for schema, columns in zip(given, spec.needs(wanted, given), strict=True)
        ]
        left_time = spec.times[LEFT]
        self.names = spec.pair_names(given)
        whole = spec.schema(given)
        out = [f for f in whole if wanted is None or f.name in wanted]
        self.schema = pa.schema(out or [whole.field(left_time)])  # a batch without columns would have no rows
        called = None if spec.least_of is None else self.names[RIGHT][spec.least_of]
        self.least = called if called in self.schema.names else None
        tested = frozenset() if spec.where is None else spec.where.columns() or {left_time}
        self.tested = pa.schema([f for f in spec.pair_schema(given) if f.name in tested] if tested else [])

    def pairs(
        self,
        schema: pa.Schema,
        columns: Sequence[pa.Array],
        mine: np.ndarray,
        held: Side,
        theirs: np.ndarray,
        port: int,
    ) -> pa.RecordBatch:
        """Pairs of arrived rows (``columns`` at ``mine``) and rows that the other side holds, in the columns of
        ``schema``."""
        ours, others = self.names[port], self.names[1 - port]
        found = {
            ours[f.name]: take_column(column, mine, f.type)
            for column, f in zip(columns, self.inputs[port], strict=True)
            if ours[f.name] in schema.names
        }
        wanted = [n for n in self.inputs[1 - port].names if others[n] in schema.names]
        for name, column in zip(wanted, held.take(wanted, theirs), strict=True):
            found[others[name]] = column
        return pa.RecordBatch.from_arrays([found[n] for n in schema.names], schema=schema)

    def alone(self, columns: Sequence[pa.Array], rows: np.ndarray, port: int) -> pa.RecordBatch:
        """Some of the arrived rows, with nulls in the other side's columns."""
        names = self.names[port]
        found = {
            names[f.name]: take_column(column, rows, f.type)
            for column, f in zip(columns, self.inputs[port], strict=True)
            if names[f.name] in self.schema.names
        }
        return self._padded(found, len(rows))

    def held_alone(self, held: Side, places: np.ndarray, side: int) -> pa.RecordBatch:
        """Some of the rows that ``side`` holds, with nulls in the other side's columns."""
        names = self.names[side]
        wanted = [n for n in self.inputs[side].names if names[n] in self.schema.names]
        taken = held.take(wanted, places)
        return self._padded({names[n]: c for n, c in zip(wanted, taken, strict=True)}, len(places))

    def with_least(self, rows: pa.RecordBatch, least: np.ndarray | None) -> pa.RecordBatch:
        """Rows of a semi join with the least value of the right rows that they met, if that column goes out."""
        if least is None:
            return rows
        place = self.schema.get_field_index(self.least)
        return rows.set_column(place, self.schema.field(place), pa.array(least))

    def _padded(self, columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
