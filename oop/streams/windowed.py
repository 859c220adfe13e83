"""A stream on its way to being aggregated: with windows, with groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch, UnknownColumn, WrongArgument
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.flush import Flush, check_flush
from oop.operators.aggregate.group_by import GroupBy
from oop.operators.core.times import check_time_type
from oop.operators.expressions.expr import Expr
from oop.operators.functions.function import Function
from oop.operators.source.numbers import SEQ
from oop.plan.accounting import check_accounts
from oop.plan.flow import Flow
from oop.plan.numbering import check_numbers
from oop.plan.preaggregating import check_mergeable
from oop.site import user_line
from oop.streams.columns import with_columns
from oop.streams.keys import promised_keys
from oop.windows import Window

StreamT = TypeVar("StreamT")
"""The class of stream that comes out: `oop.Stream`, which is built on this module."""


class Windowed(Generic[StreamT]):
    """A stream with windows, waiting for its groups and aggregates.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table()["n"].to_pylist()
    [2, 1]
    """

    def __init__(self, flow: Flow, window: Window, on: str | None, make: Callable[[Flow], StreamT]) -> None:
        self.flow, self.window, self.make = flow, window, make
        site = user_line()
        if not isinstance(window, Window):
            raise TypeError(
                f"a window is oop.tumbling(…), sliding, session, calendar, landmark or rows, not {window!r}"
            )
        if window.counts_rows:
            if on not in (None, SEQ):
                raise SchemaMismatch(
                    f"{window} counts rows, it is not on {on!r}",
                    at=site,
                    hint="leave on= out, or take a window of time: oop.tumbling(…), oop.sliding(…)",
                )
            try:
                check_numbers(flow.node)
            except OopError as wrong:
                raise wrong.located(site) from None
            self.on, self.type = SEQ, pa.int64()
            return
        on = on or flow.time
        names = flow.schema.names
        if on is None:
            raise SchemaMismatch(
                "the stream has no one time to window on",
                at=site,
                hint=f"say .window(…, on=…): one of {', '.join(names)}",
            )
        if on not in names:
            raise UnknownColumn.of(on, names, at=site)
        type_ = flow.schema.field(on).type
        try:
            check_time_type(on, type_)
            window.check(type_)
        except OopError as wrong:
            raise wrong.located(site) from None
        self.on, self.type = on, type_

    def group_by(self, /, *keys: str, **named: Expr) -> Grouped[StreamT]:
        """One result for each window and group; no key: one group.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 3], "len": [40, 90, 60]}), time="ts", punctuate=oop.ordered())
        >>> sizes = s.window(oop.tumbling(10)).group_by(large=oop.col("len") > 50).agg(n=oop.count())
        >>> sorted((row["large"], row["n"]) for row in sizes.run().to_table().to_pylist())
        [(False, 1), (True, 2)]
        """
        windowed = Windowed(with_columns(self.flow, named), self.window, self.on, self.make) if named else self
        return Grouped(windowed.flow, windowed, (*keys, *named), self.make)

    def preaggregate(self, flush: Flush | bool = True) -> Grouped[StreamT]:
        """The same as ``.group_by().preaggregate(…)``.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> s.window(oop.tumbling(10)).preaggregate().agg(n=oop.count()).run().to_table()["n"].to_pylist()
        [2, 1]
        """
        return Grouped(self.flow, self, (), self.make).preaggregate(flush)

    def agg(self, /, **aggregates: Function) -> StreamT:
        """One result for each window.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> s.window(oop.tumbling(10)).agg(n=oop.count(), last=oop.max("ts")).run().to_table().to_pylist()[0]
        {'window_start': 0, 'window_end': 10, 'n': 2, 'last': 2}
        """
        return Grouped(self.flow, self, (), self.make).agg(**aggregates)


class Grouped(Generic[StreamT]):
    """A stream with groups, waiting for its aggregates.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 1, 2]}), time="ts", punctuate=oop.ordered())
    >>> s.group_by("ts").agg(n=oop.count()).run().to_table()["n"].to_pylist()
    [2, 1]
    """

    def __init__(
        self,
        flow: Flow,
        windowed: Windowed[StreamT] | None,
        keys: Sequence[str],
        make: Callable[[Flow], StreamT],
        flush: Flush | bool | None = None,
    ) -> None:
        site = user_line()
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(f"keys are column names; name an expression: .group_by(name={key!r})")
            if key not in flow.schema.names:
                raise UnknownColumn.of(key, flow.schema.names, at=site)
        if len(set(keys)) < len(keys):
            raise SchemaMismatch(f"a key is named twice: {', '.join(keys)}", at=site)
        self.flow, self.windowed, self.keys, self.make, self.flush = flow, windowed, tuple(keys), make, flush

    def window(self, window: Window, on: str | None = None) -> Grouped[StreamT]:
        """The same as ``.window(…).group_by(…)``.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "k": ["a", "a"]}), time="ts", punctuate=oop.ordered())
        >>> s.group_by("k").window(oop.tumbling(10)).agg(n=oop.count()).run().to_table().to_pylist()
        [{'window_start': 0, 'window_end': 10, 'k': 'a', 'n': 2}]
        """
        windowed = Windowed(self.flow, window, on, self.make)
        return Grouped(self.flow, windowed, self.keys, self.make, self.flush)

    def preaggregate(self, flush: Flush | bool = True) -> Grouped[StreamT]:
        """Whether, and how, rows are reduced to partial aggregates on their way, in a table of a fixed size (OOP paper,
        section 6): ``oop.slow_flush(…)`` or ``oop.lazy_flush(…)``, True for a table that chooses its size and delays
        nothing, or False for none. The answer is the same. By default it is done only where rows would otherwise cross
        to other workers of Spark one by one.

        >>> import oop
        >>> rows = pa.table({"ts": [1, 2, 3, 14, 25], "k": ["a", "b", "a", "a", "a"]})
        >>> s = oop.source(rows, time="ts", punctuate=oop.ordered())
        >>> reduced = s.window(oop.tumbling(10)).group_by("k").preaggregate(oop.lazy_flush(slots=2, m=1))
        >>> counts = reduced.agg(n=oop.count())
        >>> [(row["window_start"], row["k"], row["n"]) for row in counts.run().to_table().sort_by("k").to_pylist()]
        [(0, 'a', 2), (10, 'a', 1), (20, 'a', 1), (0, 'b', 1)]
        """
        if not isinstance(flush, Flush | bool):
            raise WrongArgument(
                f"preaggregate takes oop.lazy_flush(…), oop.slow_flush(…), True or False, not {flush!r}",
                at=user_line(),
                hint=".preaggregate(oop.lazy_flush(slots=65_536))",
            )
        if isinstance(flush, Flush):
            check_flush(flush)
        return Grouped(self.flow, self.windowed, self.keys, self.make, flush)

    def agg(self, /, **aggregates: Function) -> StreamT:
        """The aggregates of each group, by the names that their columns get.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
        >>> sums = s.window(oop.tumbling(10)).group_by().agg(packets=oop.count(), bytes=oop.sum("len"))
        >>> sums.schema.names
        ['window_start', 'window_end', 'packets', 'bytes']
        """
        site, windowed = user_line(), self.windowed
        if not aggregates:
            raise WrongArgument(".agg() was given no aggregate", at=site, hint="name at least one: .agg(n=oop.count())")
        for name, function in aggregates.items():
            if not isinstance(function, Function):
                raise WrongArgument(
                    f"{name} is not an aggregate such as oop.count(): {function!r}",
                    at=site,
                    hint=f"call it: .agg({name}=…(…))" if callable(function) else "write .agg(n=oop.count())",
                )
        time = self.flow.time if windowed is None or windowed.window.counts_rows else windowed.on
        edges = None if windowed is None or windowed.window.endless else windowed.type
        try:
            functions = tuple((n, f.by_default(time).in_window(edges)) for n, f in aggregates.items())
            for _, function in functions:
                function.type(self.flow.schema)  # checked here, before columns are added that are not the user's
        except OopError as wrong:
            raise wrong.located(site) from None
        counted = [name for name, function in functions if function.keeps_account]
        if counted:
            if self.windowed is None or not self.windowed.window.accounts:
                raise SchemaMismatch(
                    f"{counted[0]}={aggregates[counted[0]]} is known for windows of time and rows only",
                    at=site,
                    hint="not for sessions, landmarks and partitions: take oop.tumbling(…) or oop.sliding(…)",
                )
            check_accounts(self.flow.node, site)
        call = f".agg({', '.join(f'{n}={a.title}' for n, a in functions)})"
        if self.windowed is None:
            on = promised_keys(self.flow, self.keys)
            found = self.flow.then(GroupBy(self.keys, functions, on), call, time=on[0] if on else None)
        else:
            found = self.windowed.window.aggregated(self.flow, self.windowed.on, self.keys, functions, call)
        return self.make(found if self.flush is None else _preaggregated(found, self.flush, call, site))


def _preaggregated(flow: Flow, flush: Flush | bool, call: str, site: str) -> Flow:
    """The flow with its last operator, an aggregate, told how its rows are preaggregated."""
    node = flow.node
    spec: Any = node.spec
    if flush:
        check_mergeable(spec, node.input_schemas(), call, site)
    elif not isinstance(spec, Aggregate | GroupBy):
        return flow
    return replace(flow, node=replace(node, spec=replace(spec, flush=flush)))
