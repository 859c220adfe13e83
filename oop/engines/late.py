"""`Run.late`: the rows that were set aside, by source."""

from __future__ import annotations

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.ledger import Ledger


class Late:
    """Rows that broke a promise, or had no time, by source.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north")
    >>> run = s.run()
    >>> run.to_table().num_rows, len(run.late)
    (1, 1)
    >>> run.late.to_table().to_pylist()
    [{'ts': 1, 'broke': 'ts < 5', 'late_by': 4.0}]
    """

    def __init__(self, ledgers: dict[str, Ledger]) -> None:
        self.sources = ledgers

    def __len__(self) -> int:
        """How many rows were set aside (with ``late="admit"``: found late)."""
        return sum(ledger.late + ledger.aside for ledger in self.sources.values())

    def __contains__(self, source: object) -> bool:
        return source in self.sources

    def __getitem__(self, source: str) -> pa.Table:
        """The rows of one source with ``broke``, the promise, and ``late_by``, in the attribute's unit."""
        return self.sources[source].table()

    def to_table(self) -> pa.Table:
        """The rows of all sources, which must have the same columns; else ask source by source."""
        tables = [ledger.table() for ledger in self.sources.values()]
        if any(t.schema != tables[0].schema for t in tables):
            raise SchemaMismatch(
                "the sources have different columns", hint=f"ask for one: run.late[{next(iter(self.sources))!r}]"
            )
        return pa.concat_tables(tables)

    def drain(self) -> dict[str, pa.Table]:
        """The rows by source, which are then forgotten; for runs without an end. The counts stay."""
        return {name: ledger.drain() for name, ledger in self.sources.items()}

    def __repr__(self) -> str:
        return f"<Late {', '.join(f'{n}: {x.late + x.aside}' for n, x in self.sources.items())}>"
