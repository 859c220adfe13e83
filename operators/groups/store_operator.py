"""What operators with groups have in common: a store of partial aggregates, its counts, and its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.core.context import Context
from oop.operators.core.keys import read_key
from oop.operators.core.marks import is_dropped
from oop.operators.core.operator import Operator
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec
from oop.operators.functions.function import Function
from oop.operators.groups.shape import Shape
from oop.operators.groups.store import Store
from oop.operators.groups.targets import StoreTargets

NamedAggregates = tuple[tuple[str, Function], ...]


class StoreOperator(Operator):
    """``late_unused`` counts admitted late rows whose group or windows had gone out."""

    def __init__(
        self, spec: Spec, context: Context, keys: tuple[str, ...], aggregates: NamedAggregates, thin: int | None = None
    ) -> None:
        super().__init__(spec, context)
        self.keys = keys
        self.output = spec.schema(context.inputs)
        self.store = Store(Shape(context.inputs[0], keys, aggregates), thin=thin)

    @property
    def buffered_rows(self) -> int:
        return self.store.held

    @property
    def state_bytes(self) -> int:
        return self.store.nbytes

    def targets(self) -> StoreTargets:
        return StoreTargets(self.store)

    def take_in(self, slots: np.ndarray, batch: pa.RecordBatch) -> list[int]:
        """Take rows into the groups of their slots; the result is the slices that they went to."""
        keys = list(map(read_key, map(batch.column, self.keys)))
        return self.store.update(slots, keys, self.store.shape.prepare(batch))

    def take_partials(self, batch: pa.RecordBatch) -> list[int]:
        """Take what a `Preaggregate` made of rows into the same groups; the result is the slices that it went to."""
        shape = self.store.shape
        return self.store.merge(*shape.read_groups(batch), shape.read_partials(batch))

    def keep_usable(self, batch: pa.RecordBatch, usable: np.ndarray) -> pa.RecordBatch:
        """The rows that can still be used; others are counted as `late_unused`, unless the batch is dropped."""
        if not is_dropped(batch):
            self.late_unused += int(batch.num_rows - usable.sum())
        return batch.filter(pa.array(usable))

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        yield from self.store.save()

    def load(self, parts: Iterable[Part]) -> None:
        self.store.load(self.load_common(parts).items())


def can_merge(aggregates: NamedAggregates) -> bool:
    """Do partial results of all of them merge?"""
    return all(function.can_merge for _, function in aggregates)


def unique_schema(fields: Sequence[pa.Field]) -> pa.Schema:
    names = [f.name for f in fields]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SchemaMismatch(f"two columns of the result would be called {twice[0]!r}", hint="rename one of them")
    return pa.schema(fields)


def describe_groups(name: str, aggregates: NamedAggregates, keys: Sequence[str]) -> str:
    shown = ", ".join(f"{n}={a}" for n, a in aggregates) or "no aggregate"
    return f"{name} {shown}" + (f" by {', '.join(keys)}" if keys else "")
