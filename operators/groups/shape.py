"""`Shape`: what all tables of an operator have in common, its keys and its aggregates over rows of one schema.

It decides once, for all tables, which accumulators are kept: functions of one column share what they can. It prepares
the values of a batch for these accumulators, and it reads the results out of them. It also says how groups become a
batch, and come back from one, when they are saved or sent on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import dispatch, views
from oop.kernels.once import once
from oop.kernels.signatures.results import GroupWords, ResultColumn, ResultKind
from oop.kernels.steps import MOST_ARRAYS, MOST_KEYS, Update
from oop.operators.core.keys import Key, read_key
from oop.operators.core.marks import is_dropped
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.operators.expressions.written import write
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.functions.function import Evaluate, Function
from oop.operators.functions.summary import Summary, can_share

NOTHING = np.zeros(0, bool)  # in place of prepared values: the aggregate does not take these rows
Edges = tuple[np.ndarray, np.ndarray]
"""The start and the end of each group's window."""


@frozen()
class Shape:
    """What all tables of an operator have in common: keys and aggregates over rows of one schema."""

    schema: pa.Schema
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]

    @once
    def key_types(self) -> list[pa.DataType]:
        return [self.schema.field(k).type for k in self.keys]

    @once
    def kernels(self) -> dispatch.Kernels:
        return dispatch.kernels()

    @once
    def kinds(self) -> list[str]:
        return [views.key_kind(t) for t in self.key_types]

    @once
    def _prototypes(self) -> list[Accumulator]:
        return [f.start(self.schema) for _, f in self.aggregates]

    @once
    def _shared(self) -> tuple[list[tuple[str, Function, Accumulator]], list[int]]:
        """What is kept, and where each aggregate finds what it reads: functions of one column share what they can."""
        named = [
            (f.values_name(self.schema), f, p) for (_, f), p in zip(self.aggregates, self._prototypes, strict=True)
        ]
        # a summary pays for two that would keep different arrays, not for sum and mean, which keep the same
        together = Counter(name for name, _ in {(n, p.kept) for n, _, p in named if can_share(p)})
        kept: list[tuple[str, Function, Accumulator]] = []
        found: dict[tuple[object, ...], int] = {}
        places = []
        for name, function, prototype in named:
            summed = can_share(prototype) and together[name] > 1
            key = (name, Summary) if summed else (name, *prototype.kept)
            if key not in found:
                found[key] = len(kept)
                kept.append((name, function, Summary() if summed else prototype))
            places.append(found[key])
        return kept, places

    @once
    def _kept(self) -> list[Accumulator]:
        return [accumulator for _, _, accumulator in self._shared[0]]

    @once
    def varies(self) -> bool:
        """Does the size of a table change while its groups stay the same?"""
        return any(accumulator.varies for accumulator in self._kept)

    def accumulators(self) -> list[Accumulator]:
        """New, empty accumulators, copied from others: finding out their types for each table would cost more."""
        return [accumulator.empty() for accumulator in self._kept]

    @once
    def _evaluated(self) -> list[tuple[str, Evaluate | None, Accumulator]]:
        """Each kept accumulator, behind a name for the values that it is given and what evaluates them."""
        return [(name, function.evaluator(), accumulator) for name, function, accumulator in self._shared[0]]

    def prepare(self, batch: pa.RecordBatch) -> list[Prepared]:
        """For each accumulator the values of a batch, each expression evaluated once."""
        values: dict[str, Any] = {}
        prepared: list[Prepared] = []
        dropped = batch.schema.metadata is not None and is_dropped(batch)
        for name, evaluate, accumulator in self._evaluated:
            if dropped and not accumulator.keeps_account:
                prepared.append(NOTHING)
                continue
            if name not in values:
                values[name] = None if evaluate is None else evaluate(batch)
            prepared.append(accumulator.prepare(values[name]))
        return prepared

    def write(self, writer: ProgramWriter) -> tuple[list[tuple[int, str]], list[Update]]:
        """What a program does with a row: the keys of its group, and how the accumulators take it, whose arrays stand
        one behind the other (`Table.arrays`)."""
        given = []
        for _, function, accumulator in self._shared[0]:
            if accumulator.keeps_account:
                raise Unwritten(f"{function} counts late rows")
            given.append([write(writer, expr) for expr in function.exprs])
            accumulator.write_checks(writer, given[-1])
        writer.part(self.keys)
        updates: list[Update] = []
        arrays = 0
        for (_, function, accumulator), values in zip(self._shared[0], given, strict=True):
            try:
                updates.append(accumulator.write(writer, values, arrays))
            except Unwritten as why:
                raise Unwritten(f"{function}: {why}") from why
            arrays += len(accumulator.whole_arrays())
        if arrays > MOST_ARRAYS:
            raise Unwritten(f"more than {MOST_ARRAYS} arrays of aggregates")
        if len(self.keys) >= MOST_KEYS:  # the slot may be one more
            raise Unwritten(f"{len(self.keys)} keys")
        return [writer.key(name) for name in self.keys], updates

    def results(self, accumulators: Sequence[Accumulator], edges: Edges | None = None) -> list[pa.Array]:
        """The aggregates' columns; ``edges`` are the start and end of each group's window."""
        found = []
        for prototype, place, in_window in self._readers:
            reader = accumulators[place] if prototype is None else prototype.over(accumulators[place])
            found.append(reader.result_in(*edges) if in_window and edges is not None else reader.result())
        return found

    @once
    def _readers(self) -> list[tuple[Accumulator | None, int, bool]]:
        """For each aggregate the accumulator that reads its result (None: the kept one does), the place of the kept
        one, and whether it looks at the window."""
        kept, places = self._kept, self._shared[1]
        return [
            (None if kept[place] is reader else reader, place, type(reader).result_in is not Accumulator.result_in)
            for reader, place in zip(self._prototypes, places, strict=True)
        ]

    @once
    def result_columns(self) -> list[ResultColumn] | None:
        """How kernels read keys and aggregates of a table (`Table.arrays`); None if they cannot."""
        if self._answering or self.varies or any(in_window for *_, in_window in self._readers):
            return None
        columns = []
        for number, type_ in enumerate(self.key_types):
            dtype = views.fixed_dtype(type_)
            if dtype is None or dtype.itemsize != np.dtype(views.DTYPES[self.kinds[number]]).itemsize:
                return None
            columns.append(ResultColumn(ResultKind.KEY, number))
        first = [0, *accumulate(len(kept.whole_arrays()) for kept in self._kept)]
        for prototype, place in zip(self._prototypes, self._shared[1], strict=True):
            kept, found = self._kept[place], prototype.result_words
            if found is None:
                return None
            if isinstance(kept, Summary):
                held = prototype.summary_words
                assert held is not None
                words = [GroupWords(first[place], held[name], kept.words) for name in found[1]]
            else:
                names = [name for name, _ in kept.fields]
                words = [GroupWords(first[place] + names.index(name)) for name in found[1]]
            columns.append(ResultColumn(found[0], words=tuple(words)))
        return columns

    @once
    def _answering(self) -> list[int]:
        """The places of the accumulators that can tell which groups have rows in the results."""
        return [i for i, kept in enumerate(self._kept) if type(kept).answers is not Accumulator.answers]

    def answers(self, accumulators: Sequence[Accumulator]) -> np.ndarray | None:
        """Which groups have rows in the results, and not only rows that were set aside? None: all of them."""
        for place in self._answering:
            found = accumulators[place].answers
            if found is not None:
                return None if found.all() else found
        return None

    def to_batch(
        self,
        slots: np.ndarray,
        keys: Sequence[pa.Array],
        accumulators: Sequence[Accumulator],
        slot_name: str | None = None,
    ) -> pa.RecordBatch:
        """Partial aggregates of groups as a batch: their slots, keys, and what each accumulator holds."""
        columns = [pa.array(slots), *keys]
        for accumulator in accumulators:
            columns += accumulator.to_arrow()
        # keys under their names, so that a batch can be parted by them
        names = [f"{'_' * (1 + max(map(len, self.keys), default=0))}{i}" for i in range(len(columns))]  # no key so long
        names[1 : 1 + len(keys)] = self.keys
        names[0] = slot_name or names[0]
        return pa.record_batch(columns, names=names)

    def read_groups(self, batch: pa.RecordBatch) -> tuple[np.ndarray, list[Key]]:
        """The slots and keys of a batch that `to_batch` made."""
        keys = batch.columns[1 : 1 + len(self.keys)]
        return views.column(batch.column(0)).data, [read_key(key) for key in keys]

    def read_partials(self, batch: pa.RecordBatch) -> list[Accumulator]:
        """The partial aggregates of the groups of such a batch, in its order."""
        at = 1 + len(self.keys)
        found = self.accumulators()
        for accumulator in found:
            width = accumulator.saved_columns
            accumulator.load_arrow(batch.columns[at : at + width])
            at += width
        return found

    def fields(self) -> list[pa.Field]:
        """The columns of the results: keys as they are, then the aggregates."""
        keys = [self.schema.field(k).remove_metadata() for k in self.keys]
        return keys + [pa.field(n, p.type) for (n, _), p in zip(self.aggregates, self._prototypes, strict=True)]
