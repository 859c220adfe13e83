"""The fields of `Dedup`, and what its running operators ask of them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.join.band import LEFT, Band
from oop.operators.join.promises import Moved
from oop.punctuation.crossing import Carried
from oop.punctuation.patterns import Bound


@frozen(eq=False)
class DedupFields(Spec):
    """``on`` are the keys that the input may promise about; the first decides the slices. ``time`` orders first and
    last (and must be there for a span, ``within``, in its units)."""

    keys: tuple[str, ...]
    keep: str
    on: tuple[str, ...]
    time: str | None
    within: Bound | None = None

    def covering(self, held: bool = False) -> Carried:
        """What promises say about rows that have not been decided; with ``held``, about spans that get no later row.

        A span that began at t is complete when ``bound - t > within``: its last row is at ``bound - within`` or later
        while it is not."""
        columns = {k: [k] for k in self.keys}
        if self.within is None:
            return Carried({k: [(k, None)] for k in self.keys}, columns, holds=True)
        assert self.time is not None
        moved = Moved(Band(0, self.within), LEFT) if held else None
        return Carried({self.time: [(self.time, moved)]}, columns, holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        if wanted is None or self.keep != "any":  # the other columns break ties
            return [None]
        return [wanted | {*self.keys} | ({str(self.time)} if self.within is not None else set())]

    def ties(self, schema: pa.Schema) -> list[str]:
        """The columns that decide which row is first or last: the time, then all other columns."""
        time = [] if self.time is None or self.time in self.keys else [self.time]
        return [*time, *(n for n in schema.names if n not in self.keys and n != self.time)]
