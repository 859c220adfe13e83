"""`Stream`: what users compose. Immutable; every method gives a new stream, there is no global graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch
from oop.operators.core.base import Spec
from oop.operators.expressions.expr import Col, Expr, as_expr, col
from oop.operators.functions.aggregates import Aggregate as AggregateFunction
from oop.operators.groups.holding import unique_schema
from oop.operators.passing.describe import by_hand
from oop.operators.passing.filter import Filter
from oop.operators.passing.project import Project
from oop.operators.passing.split import Split
from oop.operators.passing.union import Union
from oop.operators.source.input import LATE_MODES
from oop.operators.source.numbers import SEQ
from oop.plan.accounting import accounted
from oop.plan.describing import described
from oop.plan.graph import Edge, Node, explain, make_node, rebuilt
from oop.plan.numbering import numbered, ranked, resolved
from oop.punctuation import Policy
from oop.punctuation.durations import Duration
from oop.site import user_line
from oop.streams.emitting import emitting, is_early
from oop.streams.joining import On, make_join, make_static_join, two
from oop.streams.resampling import make_resample
from oop.streams.sorting import make_bsort, make_wsort
from oop.streams.waiting import make_dedup, make_sort, time_of
from oop.streams.windowed import Grouped, Windowed
from oop.windows import Window

if TYPE_CHECKING:
    from oop.engines.embedded.engine import Embedded, Run
    from oop.engines.spark.engine import Spark
    from oop.engines.spark.query import Query

_engine: list[Callable[[], Any]] = []


def set_default_engine(make: Callable[[], Any]) -> None:
    """Engines come after streams in the order of imports, so the package tells streams which one to use."""
    _engine[:] = [make]


_spark: list[Callable[..., Any]] = []


def set_spark_engine(make: Callable[..., Any]) -> None:
    """Likewise for `Stream.to_spark`."""
    _spark[:] = [make]


class Stream:
    """A pipeline so far. ``time`` is the attribute that windows are on by default.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
    >>> s, s.time
    (<Stream ts, len>, 'ts')
    """

    def __init__(self, node: Node, *, time: str | None = None, route: int | None = None) -> None:
        self._node = node
        self._route = route
        self.time = time

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows.

        >>> import oop
        >>> oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).schema
        ts: int64
        """
        return self._node.schema

    def _edge(self) -> Edge:
        return Edge(self._node, self._route)

    def _then(self, spec: Spec, call: str, *, time: str | None = None, others: Sequence[Stream] = ()) -> Stream:
        if not spec.passes and any(is_early(s._node) for s in (self, *others)):
            raise SchemaMismatch(
                "results that may still change cannot be aggregated, joined or held: .emit(…) is terminal",
                at=user_line(),
                hint="put .emit(…) last; rows may still be filtered and projected",
            )
        edges = [self._edge(), *(o._edge() for o in others)]
        return Stream(make_node(spec, edges, user_line(), call), time=time)

    def filter(self, predicate: Expr) -> Stream:
        """The rows for which the predicate is true (not those for which it is null).

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
        >>> s.filter(oop.col("len") > 50).run().to_table().to_pylist()
        [{'ts': 2, 'len': 60}]
        """
        if not isinstance(predicate, Expr):
            raise TypeError(f"filter takes an expression such as oop.col('len') > 40, not {predicate!r}")
        return self._then(Filter(predicate), f".filter({predicate!r})", time=self.time)

    def select(self, /, *columns: str | Expr, **named: Expr | str) -> Stream:
        """Only these columns: names, or new ones by expression.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
        >>> s.select("ts", bits=oop.col("len") * 8).run().to_table().to_pylist()
        [{'ts': 1, 'bits': 320}, {'ts': 2, 'bits': 480}]
        """
        chosen: list[tuple[str, Expr]] = []
        for column in columns:
            expr = col(column) if isinstance(column, str) else column
            if not isinstance(expr, Col):
                raise TypeError(f"name the expression: .select(name={expr!r})")
            chosen.append((expr.name, expr))
        chosen += [(n, col(e) if isinstance(e, str) else as_expr(e)) for n, e in named.items()]
        if not chosen:
            raise ValueError("select takes at least one column")
        return self._project(chosen, ".select")

    def with_columns(self, /, **named: Any) -> Stream:
        """All columns, and these beside or instead of them.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [61]}), time="ts", punctuate=oop.ordered())
        >>> s.with_columns(minute=oop.col("ts") // 60).run().to_table().to_pylist()
        [{'ts': 61, 'minute': 1}]
        """
        given = {n: as_expr(e) for n, e in named.items()}
        chosen: list[tuple[str, Expr]] = [(n, given.pop(n, col(n))) for n in self.schema.names]
        return self._project(chosen + list(given.items()), ".with_columns")

    def _project(self, chosen: list[tuple[str, Expr]], call: str) -> Stream:
        site = user_line()
        try:
            unique_schema([pa.field(n, pa.null()) for n, _ in chosen])
        except OopError as wrong:
            raise wrong.located(site) from None
        time = self.time if any(n == self.time for n, _ in chosen) else None
        if time is None:  # the time under another name
            time = next((n for n, e in chosen if isinstance(e, Col) and e.name == self.time), None)
        shown = ", ".join(n for n, _ in chosen)
        return self._then(Project(tuple(chosen)), f"{call}({shown})", time=time)

    def split(self, *predicates: Expr) -> tuple[Stream, ...]:
        """Aurora's Filter: one output for each predicate, and one for the rows that satisfy none.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 3]}), time="ts", punctuate=oop.ordered())
        >>> small, large = s.split(oop.col("ts") < 3)
        >>> large.run().to_table().to_pylist()
        [{'ts': 3}]
        """
        if not predicates:
            raise ValueError("split takes at least one predicate")
        node = self._then(Split(predicates), f".split({', '.join(map(repr, predicates))})")._node
        return tuple(Stream(node, time=self.time, route=i) for i in range(len(predicates) + 1))

    def union(self, *others: Stream) -> Stream:
        """The rows of all, as they come; promises the least of what its inputs promise.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.union(s).run().to_table().num_rows
        4
        """
        streams = [self, *others]
        if not all(isinstance(s, Stream) for s in streams):
            raise TypeError("a union is of streams")
        times = {s.time for s in streams}
        time = self.time if len(times) == 1 else None
        return self._then(Union(len(streams)), f"union of {len(streams)}", time=time, others=others)

    def join(
        self,
        other: Any,
        on: On = None,
        *,
        within: tuple[Duration | None, Duration | None] | None = None,
        closed: str | None = None,
        window: Window | None = None,
        ranges: tuple[Duration, Duration] | None = None,
        how: str = "inner",
        where: Expr | None = None,
        times: tuple[str, str] | None = None,
        unbounded: bool = False,
    ) -> Stream:
        """Pairs of rows with equal keys that are near in time: ``lo <= right - left <= hi`` for ``within=(lo, hi)``.

        ``on`` is a column, a list of them, or ``{left: right}``; None: near in time is enough. Null keys meet nothing.
        ``closed`` says which ends of the band belong to it: both (if nothing is said), left, right or neither. Instead
        of ``within``: ``window=oop.tumbling(…)`` for rows in the same window, ``ranges=(left, right)`` for a
        sliding-window join (OOP paper, Q2), or ``unbounded=True`` for no condition on time, whose state grows.
        ``where`` is a further condition on both rows.
        ``how``: inner, left, right, full, semi (left rows that meet one), anti (left rows that meet none).
        Columns of the right that clash get the suffix ``_right``. ``times`` names the time of each side, if it is not
        the stream's own. ``other`` may also be a table that does not change: a path, an Arrow table, a DuckDB result.

        >>> import oop
        >>> calls = oop.source(pa.table({"ts": [1, 5], "k": ["a", "b"]}), time="ts", punctuate=oop.ordered())
        >>> answers = oop.source(pa.table({"ts": [2, 9], "k": ["a", "b"]}), time="ts", punctuate=oop.ordered())
        >>> calls.join(answers, on="k", within=(0, 3)).run().to_table().to_pylist()
        [{'ts': 1, 'k': 'a', 'ts_right': 2, 'k_right': 'a'}]
        """
        site = user_line()
        try:
            if not isinstance(other, Stream):
                bands: dict[str, Any] = {"within": within, "closed": closed, "window": window, "ranges": ranges}
                bands |= {"times": times, "unbounded": unbounded or None}
                static = make_static_join(self.schema, other, on=on, how=how, where=where, **bands)
                return self._then(static, ".join(…)", time=self.time)
            spec = make_join(
                self.schema,
                other.schema,
                on=on,
                times=(self.time, other.time) if times is None else two("times", times, "left, right"),
                within=within,
                closed=closed,
                window=window,
                ranges=ranges,
                how=how,
                where=where,
                unbounded=unbounded,
            )
        except OopError as wrong:
            raise wrong.located(site) from wrong.__cause__
        names = spec.names([self.schema, other.schema])
        time = {"right": names.outputs[1].get(spec.times[1]), "full": None}.get(how, spec.times[0])
        return self._then(spec, ".join(…)", time=time, others=[other])

    def resample(
        self,
        /,
        other: Stream,
        *,
        within: Duration,
        by: str | Sequence[str] | None = None,
        times: tuple[str, str] | None = None,
        **aggregates: AggregateFunction,
    ) -> Stream:
        """The other stream as it was at each row of this one: for every row and every group ``by`` of the other the
        aggregates of that group's rows at most ``within`` before or after it (Aurora's Resample).

        A result has the group, the time of this stream's row, and the aggregates; it comes out once the group is
        promised to have passed, so that groups come out as they conclude. A group without a row there gives none;
        without ``by`` every row of this stream gives one, of no rows if none is near.
        Aggregates may also look at this stream's time, under its name, with ``_left`` behind it if the other stream
        has a column of that name. Rows without a time, and admitted late ones, count for nothing.

        >>> import oop
        >>> beats = oop.source(pa.table({"Time": [10, 20]}), time="Time", punctuate=oop.ordered())
        >>> reports = pa.table({"Sid": [1, 1, 2, 1], "Time": [8, 13, 19, 40], "Pos": [4, 6, 9, 7]})
        >>> reports = oop.source(reports, time="Time", punctuate=oop.ordered())
        >>> beats.resample(reports, within=5, by="Sid", Pos=oop.mean("Pos")).run().to_table().to_pylist()
        [{'Sid': 1, 'Time': 10, 'Pos': 5.0}, {'Sid': 2, 'Time': 20, 'Pos': 9.0}]
        """
        return self._resampled(other, within, by, times, aggregates)

    def _resampled(
        self,
        other: Stream,
        within: Duration,
        by: str | Sequence[str] | None,
        times: tuple[str, str] | None,
        aggregates: Mapping[str, AggregateFunction],
    ) -> Stream:
        """Aggregates may have any name here, that of an argument, too."""
        if not isinstance(other, Stream):
            raise TypeError(f"what is resampled is a stream, not {other!r}")
        try:
            spec = make_resample(self, other, within, by, times, aggregates)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".resample({', '.join(aggregates)})", time=spec.left, others=[other])

    def window(self, window: Window, on: str | None = None) -> Windowed:
        """Windows on an attribute (default: the stream's time), to be aggregated.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> s.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table().to_pylist()[0]
        {'window_start': 0, 'window_end': 10, 'n': 2}
        """
        return Windowed(self, window, on)

    def group_by(self, /, *keys: str, **named: Expr) -> Grouped:
        """Groups without a window: a key must be an attribute that the stream promises about.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.group_by("ts").agg(n=oop.count()).run().to_table().to_pylist()
        [{'ts': 1, 'n': 2}, {'ts': 2, 'n': 1}]
        """
        stream = self.with_columns(**named) if named else self
        return Grouped(stream, None, (*keys, *named))

    def agg(self, /, **aggregates: AggregateFunction) -> Stream:
        """One group of all rows; it ends with the stream, so the sources must be declared ``at_end()``.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.at_end())
        >>> s.agg(n=oop.count(), last=oop.max("ts")).run().to_table().to_pylist()
        [{'n': 3, 'last': 3}]
        """
        return Grouped(self, None, ()).agg(**aggregates)

    def emit(self, when: str | None = None, *, every: Duration | None = None, rows: int | None = None) -> Stream:
        """Results before they are complete: a column ``emit`` says "partial" or "final".

        ``"on_change"`` shows a result after each batch of rows that changed it; ``every="10s"`` in steps of stream
        time, as far as rows have come; ``rows=100`` after every so many rows, however they come in batches (behind
        `oop.aurora.Tumble` those of each window are counted); ``"on_close"`` nothing early. What has not changed is not
        shown again. Final rows are the same in all of them, each exactly once. Only filters and projections may follow
        partial results.

        >>> import oop
        >>> batches = [pa.record_batch({"ts": [1, 2]}), pa.record_batch({"ts": [3, 12]})]
        >>> s = oop.source(iter(batches), time="ts", punctuate=oop.ordered())
        >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count()).emit("on_change")
        >>> [(r["window_start"], r["n"], r["emit"]) for r in counts.run().to_table().to_pylist()]
        [(0, 2, 'partial'), (0, 3, 'partial'), (10, 1, 'partial'), (0, 3, 'final'), (10, 1, 'final')]
        """
        return Stream(emitting(self._node, when, every, rows, user_line()), time=self.time)

    def sort(self, *ties: str, on: str | None = None) -> Stream:
        """Rows in order of time, each once no earlier one can come; released batches never go back in time.

        Rows of one time are in the order of the columns ``ties``, else as they came. NaN comes after every number and
        null last. ``on`` names another attribute than the stream's time. A group that is promised further than the
        others waits for them, since the order is one of all rows.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.slack(2))
        >>> s.sort().run().to_table()["ts"].to_pylist()
        [1, 2, 3]
        """
        try:
            spec = make_sort(self, ties, on)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".sort({', '.join(ties)})", time=self.time)

    def bsort(self, slack: int, by: str | Sequence[str] | None = None, on: str | None = None) -> Stream:
        """Rows sorted as well as a buffer of ``slack`` rows can: with each row that comes to a full buffer the least
        one leaves (Aurora's BSort: the same as so many passes of a bubble sort). No row is set aside.

        ``by`` gives each group a buffer of its own, ``on`` names another attribute than the stream's time. Of equal
        rows the first that came leaves first; NaN is greater than every number, and null than every value. Rows leave
        by their number alone, and the rest in order at the end; a promise goes no further than the least row that is
        held. Admitted late rows pass at once.

        >>> import oop
        >>> s = oop.source(pa.table({"A": [1, 3, 1, 2, 4, 4, 8, 3, 4, 4]}), time="A", punctuate=oop.at_end())
        >>> s.bsort(slack=2).run().to_table()["A"].to_pylist()
        [1, 1, 2, 3, 4, 3, 4, 4, 4, 8]
        """
        try:
            spec = make_bsort(self, slack, by, on)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".bsort(slack={slack})", time=self.time)

    def wsort(self, *columns: str, timeout: Duration) -> Stream:
        """Rows in ascending order of some columns (default: the stream's time), none of which waits long (Aurora's
        WSort).

        Once a timeout has passed since rows last left, or since the oldest came, all that have waited so long leave,
        with those that sort before them. A row that then comes behind one that follows it is set aside: it is in
        ``run.late["WSort"]``. Rows that are promised to be the least leave sooner. NaN comes after every number and
        null last; equal rows leave as they came. ``timeout`` goes by the clock of the engine.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.at_end())
        >>> s.wsort("ts", timeout="5s").run().to_table()["ts"].to_pylist()
        [1, 2, 3]
        """
        try:
            spec = make_wsort(self, columns, timeout)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".wsort({', '.join(columns)})", time=self.time)

    def dedup(self, *keys: str, keep: str = "any", within: Duration | None = None) -> Stream:
        """Of the rows with equal keys one; no keys: all columns (with ``within``: all but the time).

        ``keep="any"`` puts out the first row that comes, at once. ``"first"`` and ``"last"`` go by time, then by the
        values of all columns, and come out when promised; null is greater than every value. A key is held until a
        promise covers it, so the time, or another attribute that is promised about, must be a key.

        ``within`` instead says how far apart rows of one key may be and still be the same event. First and last are
        decided in order of time: the first row of a key begins a span ``[t0, t0 + within]``, rows in it are duplicates,
        and the next row behind it begins the next span. With "any" a row is a duplicate if one of its key at most
        ``within`` away, on either side, has been put out: one row for each event, whatever the order, as long as the
        rows of an event are at most ``within`` apart and events further. Rows without a time are duplicates of none.

        >>> import oop
        >>> rows = pa.table({"ts": [1, 1, 2, 9], "id": ["a", "a", "a", "a"]})
        >>> s = oop.source(rows, time="ts", punctuate=oop.ordered())
        >>> s.dedup().run().to_table()["ts"].to_pylist()
        [1, 2, 9]
        >>> s.dedup("id", within=3, keep="last").run().to_table()["ts"].to_pylist()
        [2, 9]
        """
        try:
            spec = make_dedup(self, keys, keep, within)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".dedup({', '.join(keys)})", time=self.time)

    def number(self, name: str | None = None) -> Stream:
        """Numbers the rows 0, 1, 2, … in order of time: what row windows count by, where sources' own numbers end.

        Rows of one time are ranked by source and the order in which it gave them; behind a join or an aggregate by the
        values of all columns. A rank is known when the time of its row is promised for all rows. ``name`` also puts it
        into a column.

        >>> import oop
        >>> a, b = (oop.source(pa.table({"ts": t}), time="ts", punctuate=oop.ordered()) for t in ([1, 4], [2]))
        >>> a.union(b).number("n").run().to_table().to_pylist()
        [{'ts': 1, 'n': 0}, {'ts': 2, 'n': 1}, {'ts': 4, 'n': 2}]
        >>> a.union(b).number().window(oop.rows(2)).agg(ts=oop.max("ts")).run().to_table()["ts"].to_pylist()
        [2, 4]
        """
        try:
            found = ranked(self, time_of(self, None, "number a stream whose time is known"))
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        if name is None:
            return found
        columns = [(n, col(n)) for n in self.schema.names]
        return numbered(found)._project([*columns, (name, col(SEQ))], ".number")

    def assume(self, policy: Policy, on: str | None = None) -> Stream:
        """Promises by a policy at this place of a plan, for example behind a union, a join, or a new time column:
        ``oop.ordered()`` or ``oop.slack(…)`` by time or rows, also by group (OOP paper, section 2, option 2).

        Rows are judged as a source with that policy would, in the order in which they come here. Those that break it,
        or have no value there, are set aside, also where the source says ``late="raise"``: they are in
        ``run.late["Assume"]``. What has been promised before holds of the others, so this only adds promises. ``on``
        names another attribute than the stream's time, and becomes its time.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 7, 3, 12, 4]}), time="ts", punctuate=None)
        >>> run = s.assume(oop.slack(5)).window(oop.tumbling(5)).agg(n=oop.count()).run()
        >>> run.to_table().to_pylist()[0]
        {'window_start': 0, 'window_end': 5, 'n': 2}
        >>> run.late["Assume"].to_pylist()
        [{'ts': 4, 'broke': 'ts < 7', 'late_by': 3.0}]
        """
        from oop.streams.assuming import make_assume  # here, as few plans need it: `import oop` should be quick

        try:
            spec = make_assume(self, policy, on)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, f".assume({policy})", time=spec.order.on)

    def describe(self, *attributes: str, by: str | Sequence[str] = (), every: Duration | None = None) -> Stream:
        """Only promises about these attributes (default: the stream's time), alone or together; rows pass.

        Promises about groups are rolled up to the columns ``by``: with none, to what holds for all rows. ``every``
        thins them out: a bound passes when it has reached a new step of stream time. Plans describe by themselves
        what their operators cannot use; by hand it makes sense in front of a consumer outside.

        >>> import oop
        >>> batch = pa.record_batch({"ts": [3, 12, 27], "link": ["A", "B", "A"]})
        >>> promises = [oop.Punctuation({"ts": 3}, {"link": link}) for link in ("A", oop.not_in("A"))]
        >>> more = [oop.Punctuation({"ts": t}) for t in (8, 14, 19, 25)]
        >>> s = oop.source([*promises, *more, batch], time="ts", punctuate=oop.punctuated())
        >>> [e for e in s.describe("ts", every=10).run().elements() if isinstance(e, oop.Punctuation)]
        [Punctuation(ts < 3), Punctuation(ts < 14), Punctuation(ts < 25), END]
        """
        site = user_line()
        names = attributes or (() if self.time is None else (self.time,))
        if not names:
            raise SchemaMismatch(
                "the stream has no one time to describe", at=site, hint='name attributes: .describe("ts")'
            )
        columns = (by,) if isinstance(by, str) else tuple(by)
        try:
            spec = by_hand(names, columns, every, self.schema)
        except OopError as wrong:
            raise wrong.located(site) from None
        return self._then(spec, f".describe({', '.join(names)})", time=self.time)

    def each_window(self, on: str = "window_end") -> Stream:
        """A promise for each window that closes, behind its rows and before those of the next, for who reads promises:
        `Run.elements`, or a sink (OOP paper, section 5.2). Else one may close several windows at once.

        Rows come window by window; ``on`` is the column that tells windows apart. A row that comes before its window is
        promised complete waits for that.

        >>> import oop
        >>> data = [pa.record_batch({"ts": [1, 12, 3]}), oop.Punctuation({"ts": 20})]
        >>> s = oop.source(data, time="ts", punctuate=oop.punctuated())
        >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count()).select("window_end", "n").each_window()
        >>> [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in counts.run().elements()][:3]
        [[{'window_end': 10, 'n': 2}], Punctuation(window_end < 20), [{'window_end': 20, 'n': 1}]]
        """
        from oop.operators.aggregate.each_window import each_window  # here, as few plans need it

        try:
            spec = each_window(on, self.schema)
        except OopError as wrong:
            raise wrong.located(user_line()) from None
        return self._then(spec, ".each_window()", time=self.time)

    def late(self, mode: str) -> Stream:
        """The same pipeline with every source treating late rows this way: "drop", "raise" or "admit".

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered())
        >>> s.run().to_table().num_rows, s.late("admit").run().to_table().num_rows
        (1, 2)
        """
        if mode not in LATE_MODES:
            raise ValueError(f"late is one of {', '.join(LATE_MODES)}, not {mode!r}")
        return Stream(_with_late(self._node, mode), time=self.time, route=self._route)

    @overload
    def run(self, engine: Spark, *, order: str = "oop", to: Any = None) -> Query: ...

    @overload
    def run(self, engine: Embedded | None = None, *, order: str = "oop", to: Any = None) -> Run: ...

    def run(self, engine: Any = None, *, order: str = "oop", to: Any = None) -> Any:
        """Run it: iterate over the result for batches, or ``.to_table()``; ``to`` names a sink instead.

        On Spark (``engine=oop.Spark(…)``) it gives the running query.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> [batch.num_rows for batch in s.run()]
        [2]
        """
        engine = _engine[0]() if engine is None else engine
        if not hasattr(engine, "run"):
            raise TypeError(f"an engine is an object such as oop.Embedded(), not {engine!r}")
        if order != "oop" and not getattr(engine, "runs_in_order", False):
            raise ValueError("in-order plans run embedded: engine=oop.Embedded(…)")
        return engine.run(self._final(order), to=to)

    def to_spark(self, session: Any = None, *, batch: bool | None = None, **options: Any) -> Any:
        """The result as a DataFrame of Spark, for any sink: a streaming one, or with ``batch=True`` one of all rows.

        It is a batch by itself if the sources are batch DataFrames. ``options`` are those of `oop.Spark`.
        """
        return _spark[0](session, **options).frame(self._final(), batch=batch)

    def _final(self, order: str = "oop") -> Node:
        """The plan as it runs. Its last node is this stream; one output of a split gets a node of its own."""
        node = self._node
        if self._route is not None:
            names = tuple((n, col(n)) for n in self.schema.names)
            node = make_node(Project(names), [self._edge()], node.site, node.call)
        if order not in ("oop", "iop"):
            raise ValueError(f"order is 'oop' (out of order) or 'iop' (in order), not {order!r}")
        plan = accounted(resolved(node))
        if order == "iop":
            from oop.plan.in_order import in_order  # here, as few plans need it: `import oop` should be quick

            plan = in_order(plan, self.time)
        return described(plan)

    def explain(self, order: str = "oop", engine: Any = None) -> str:
        """The plan as a tree; of ``order="iop"`` with what in-order operators hold. For an engine it also says where
        rows are preaggregated, and where not and why.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> print(s.filter(oop.col("ts") > 0).explain())
        Filter ts > 0                             promises pass
        └─ Source north   ordered   late: drop
        """
        root = self._final(order)
        if engine is None:
            return explain(_engine[0]().plan(root))
        planned = engine.plan(root)
        return explain(planned, engine.notes(planned))

    def __repr__(self) -> str:
        return f"<Stream {', '.join(self.schema.names)}>"


def _with_late(root: Node, mode: str) -> Node:
    """The same plan with other guards."""

    def make(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return replace(node, spec=node.spec.with_late(mode), inputs=inputs)

    return rebuilt(root, make)


def union(first: Stream, *others: Stream) -> Stream:
    """The rows of all streams, as they come.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    >>> oop.union(s, s, s).run().to_table().num_rows
    6
    """
    return first.union(*others)
