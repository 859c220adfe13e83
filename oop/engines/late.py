"""`Run.late`: the rows that were set aside, by source, and by operator if it assumes an order of its input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import pyarrow as pa

from oop.engines.lateness import SHARES, Histogram, NeededSlack, histogram, needed_slack
from oop.errors import OopError, SchemaMismatch, UnknownColumn, UnknownSource, WrongArgument
from oop.operators.core.times import duration_in
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.punctuation.durations import Duration
from oop.site import user_line


class Shards:
    """The ledgers of an operator, one for each thread. ``hidden`` is the column that is not shown to users: the
    timestamp of each row, where latency is measured."""

    def __init__(self, ledgers: Sequence[Ledger], hidden: str | None = None) -> None:
        self.ledgers, self.hidden = ledgers, hidden

    @property
    def late(self) -> int:
        return sum(ledger.late for ledger in self.ledgers)

    @property
    def without_time(self) -> int:
        return sum(ledger.without_time for ledger in self.ledgers)

    @property
    def not_kept(self) -> int:
        return sum(ledger.not_kept for ledger in self.ledgers)

    def table(self) -> pa.Table:
        return self._shown([ledger.table() for ledger in self.ledgers])

    def drain(self) -> pa.Table:
        return self._shown([ledger.drain() for ledger in self.ledgers])

    def _shown(self, tables: Sequence[pa.Table]) -> pa.Table:
        table = pa.concat_tables(tables)
        return table.drop_columns([self.hidden]) if self.hidden in table.column_names else table


class Late:
    """Rows that broke a promise or had no time, by source, and by operator if it assumes an order of its input.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north")
    >>> run = s.run()
    >>> run.to_table().num_rows, len(run.late)
    (1, 1)
    >>> run.late.to_table().to_pylist()
    [{'ts': 1, 'broke': 'ts < 5', 'late_by': 4.0}]
    """

    def __init__(
        self,
        inputs: Mapping[str, InputOperator],
        operators: Mapping[str, Sequence[Ledger]] | None = None,
        hidden: str | None = None,
    ) -> None:
        self.inputs = inputs
        self.sources: dict[str, Ledger] = {name: operator.ledger for name, operator in inputs.items()}
        self.operators: dict[str, Shards] = {
            name: Shards(ledgers, hidden) for name, ledgers in (operators or {}).items()
        }

    @property
    def _all(self) -> dict[str, Ledger | Shards]:
        return {**self.sources, **self.operators}

    def __len__(self) -> int:
        """How many rows were set aside (with ``late="admit"``: found late)."""
        return sum(ledger.late + ledger.without_time for ledger in self._all.values())

    @property
    def not_kept(self) -> dict[str, int]:
        """How many rows were set aside but not kept, by source and operator, because ``Embedded(late_rows=)`` keeps
        no more. All other counts include them. `histogram` and `needed_slack` know their lateness to within a
        sixteenth, as they do for drained rows.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [9, 1, 2, 3]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> run = s.run(oop.Embedded(late_rows=2))
        >>> _ = run.to_table()
        >>> len(run.late), run.late["north"]["ts"].to_pylist(), run.late.not_kept
        (3, [1, 2], {'north': 1})
        """
        return {name: ledger.not_kept for name, ledger in self._all.items() if ledger.not_kept}

    def __contains__(self, source: object) -> bool:
        return source in self._all

    def __getitem__(self, source: str) -> pa.Table:
        """The rows of one source or operator, with two more columns: ``broke`` is the promise that a row broke, and
        ``late_by`` how late the row was, in the attribute's unit."""
        if source not in self._all:
            raise UnknownSource.of(source, self._all, at=user_line())
        return self._all[source].table()

    def to_table(self) -> pa.Table:
        """The rows of all sources, and of all operators that set some aside. All of them must have the same columns; if
        not, ask for each by name.

        >>> import oop
        >>> a, b = (oop.source(pa.table({"ts": t}), time="ts", punctuate=oop.ordered()) for t in ([5, 1], [9, 7]))
        >>> run = a.union(b).run()
        >>> _ = run.to_table()
        >>> run.late.to_table()["broke"].to_pylist()
        ['ts < 5', 'ts < 9']
        """
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
        """The rows by source and operator, which are then forgotten. Runs without an end need this.

        The counts stay. How late each row was is known to within a sixteenth from then on.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> run = s.run()
        >>> _ = run.to_table()
        >>> run.late.drain()["north"].num_rows, run.late.drain()["north"].num_rows, len(run.late)
        (1, 0, 1)
        """
        return {name: ledger.drain() for name, ledger in self._all.items()}

    def histogram(
        self, source: str | None = None, bins: Sequence[Duration] | None = None, *, on: str | None = None
    ) -> Histogram:
        """How late the late rows of a source were on its time, or on the attribute that ``on`` names.

        The edges of the bins are powers of two of the column's unit, or those given. Drained rows are counted as well.

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
        if bins is None:
            return histogram(name, operator, attribute, None)
        if isinstance(bins, str) or not isinstance(bins, Iterable):
            raise WrongArgument(
                f"bins are at least two edges that grow, not {bins!r}", at=user_line(), hint="write bins=[0, 10, 100]"
            )
        try:
            return histogram(name, operator, attribute, [duration_in(b, type_) for b in bins])
        except OopError as wrong:
            raise wrong.located(user_line()) from None

    def needed_slack(
        self, source: str | None = None, shares: Sequence[float] | float = SHARES, *, on: str | None = None
    ) -> NeededSlack:
        """The smallest slack that would have kept 99 %, 99.9 % and all rows of a source, those on time included.

        If a share of the rows was on time already, all that is known is that the present slack is enough for it. For a
        source with another policy the answer is how much later to promise.

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
        return needed_slack(name, operator, attribute, _shares(shares))

    def _one(self, source: str | None, on: str | None) -> tuple[str, InputOperator, str]:
        if source is None:
            if len(self.inputs) != 1:
                names = ", ".join(map(repr, self.inputs))
                raise OopError("there are several sources", at=user_line(), hint=f"name one: {names}")
            (source,) = self.inputs
        if source not in self.inputs:
            raise UnknownSource.of(source, self.inputs, at=user_line())
        operator = self.inputs[source]
        attribute = operator.spec.time if on is None else on
        if attribute not in operator.output.names:
            raise UnknownColumn.of(attribute, operator.output.names, at=user_line())
        return source, operator, attribute

    def __repr__(self) -> str:
        missing = self.not_kept
        shown = [
            f"{name}: {ledger.late + ledger.without_time}"
            + (f" ({missing[name]} of them not kept)" if name in missing else "")
            for name, ledger in self._all.items()
        ]
        return f"<Late {', '.join(shown)}>"


def _shares(shares: Any) -> list[float]:
    """The shares of rows that were asked for, checked. A single share may be given without a list."""
    asked = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, str) else [shares]
    for share in asked:
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) <= 1:
            raise WrongArgument(
                f"a share is a number above 0 and at most 1, not {share!r}",
                at=user_line(),
                hint="write shares=[0.99, 1] for 99 % and all rows",
            )
    return [float(share) for share in asked]
