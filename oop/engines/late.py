"""`Run.late`: the rows that were set aside, by source, and by operator where one assumes an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from oop.engines.lateness import SHARES, Histogram, NeededSlack, histogram, needed_slack
from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.operators.input import InputOperator
from oop.operators.ledger import Ledger
from oop.operators.times import duration_in
from oop.punctuation.durations import Duration


class Shards:
    """The ledgers of an operator, of which each thread has one."""

    def __init__(self, ledgers: Sequence[Ledger]) -> None:
        self.ledgers = ledgers

    @property
    def late(self) -> int:
        return sum(ledger.late for ledger in self.ledgers)

    @property
    def aside(self) -> int:
        return sum(ledger.aside for ledger in self.ledgers)

    def table(self) -> pa.Table:
        return pa.concat_tables([ledger.table() for ledger in self.ledgers])

    def drain(self) -> pa.Table:
        return pa.concat_tables([ledger.drain() for ledger in self.ledgers])


class Late:
    """Rows that broke a promise, or had no time, by source; and by operator, where an order was assumed.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north")
    >>> run = s.run()
    >>> run.to_table().num_rows, len(run.late)
    (1, 1)
    >>> run.late.to_table().to_pylist()
    [{'ts': 1, 'broke': 'ts < 5', 'late_by': 4.0}]
    """

    def __init__(
        self, inputs: Mapping[str, InputOperator], operators: Mapping[str, Sequence[Ledger]] | None = None
    ) -> None:
        self.inputs = inputs
        self.sources: dict[str, Ledger] = {name: operator.ledger for name, operator in inputs.items()}
        self.operators: dict[str, Shards] = {name: Shards(ledgers) for name, ledgers in (operators or {}).items()}

    @property
    def _all(self) -> dict[str, Ledger | Shards]:
        return {**self.sources, **self.operators}

    def __len__(self) -> int:
        """How many rows were set aside (with ``late="admit"``: found late)."""
        return sum(ledger.late + ledger.aside for ledger in self._all.values())

    def __contains__(self, source: object) -> bool:
        return source in self._all

    def __getitem__(self, source: str) -> pa.Table:
        """The rows of one source or operator with ``broke``, the promise, and ``late_by``, in the attribute's unit."""
        return self._all[source].table()

    def to_table(self) -> pa.Table:
        """The rows of all sources, and of all operators that set some aside. They must have the same columns; else ask
        one by one."""
        tables = [ledger.table() for ledger in self.sources.values()]
        set_aside = [table for table in (ledger.table() for ledger in self.operators.values()) if table.num_rows]
        if set_aside:
            tables = [table for table in tables if table.num_rows] + set_aside
        if any(t.schema != tables[0].schema for t in tables):
            raise SchemaMismatch(
                "the sources have different columns", hint=f"ask for one: run.late[{next(iter(self._all))!r}]"
            )
        return pa.concat_tables(tables)

    def drain(self) -> dict[str, pa.Table]:
        """The rows by source, which are then forgotten; for runs without an end.

        The counts stay, and of how late each row was a sixteenth is lost.
        """
        return {name: ledger.drain() for name, ledger in self._all.items()}

    def histogram(
        self, source: str | None = None, bins: Sequence[Duration] | None = None, *, on: str | None = None
    ) -> Histogram:
        """How late the late rows of a source were (``on`` one of its attributes, if not its time).

        Bins are powers of two of the column's unit, or the edges given. Rows that were drained are counted as well.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [9, 8, 2, 3, 1]}), time="ts", punctuate=oop.slack(1), name="north")
        >>> run = s.run()
        >>> _ = run.to_table()
        >>> print(run.late.histogram())
        source 'north': 3 rows late on ts
          4 … 8  3  ████████████████████████████████████████
        >>> run.late.histogram(bins=[0, 6, 7, 8]).counts
        (1, 1, 1)
        """
        name, operator, attribute = self._one(source, on)
        type_ = operator.output.field(attribute).type
        return histogram(name, operator, attribute, None if bins is None else [duration_in(b, type_) for b in bins])

    def needed_slack(
        self, source: str | None = None, shares: Sequence[float] = SHARES, *, on: str | None = None
    ) -> NeededSlack:
        """The smallest slack that would have kept 99 %, 99.9 % and all rows of a source, those on time included.

        Where rows on time decide, all that is known is that the present slack is enough. A source with another policy
        is told how much later to promise.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [9, 8, 2, 3, 1]}), time="ts", punctuate=oop.slack(1), name="north")
        >>> run = s.run()
        >>> _ = run.to_table()
        >>> print(run.late.needed_slack(shares=(0.4, 0.6, 1)))
        source 'north' (slack 1): 3 of 5 rows late on ts
          to keep 40 %    at most slack 1
          to keep 60 %    slack 6
          to keep all     slack 8
        """
        name, operator, attribute = self._one(source, on)
        return needed_slack(name, operator, attribute, shares)

    def _one(self, source: str | None, on: str | None) -> tuple[str, InputOperator, str]:
        names = ", ".join(map(repr, self.inputs))
        if source is None:
            if len(self.inputs) != 1:
                raise OopError("there are several sources", hint=f"name one: {names}")
            (source,) = self.inputs
        if source not in self.inputs:
            raise OopError(f"there is no source {source!r}", hint=f"there are {names}")
        operator = self.inputs[source]
        attribute = operator.spec.time if on is None else on
        if attribute not in operator.output.names:
            raise UnknownColumn.of(attribute, operator.output.names)
        return source, operator, attribute

    def __repr__(self) -> str:
        return f"<Late {', '.join(f'{n}: {x.late + x.aside}' for n, x in self._all.items())}>"
