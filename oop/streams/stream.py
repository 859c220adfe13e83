"""`Stream`: what users compose. Immutable; every method gives a new stream, there is no global graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import pyarrow as pa

from oop.operators.expressions.expr import Expr
from oop.operators.functions.function import Function
from oop.plan.final import with_late
from oop.plan.flow import Flow
from oop.punctuation import Policy
from oop.punctuation.durations import Duration
from oop.streams.columns import filtered, selected, split, united, with_columns
from oop.streams.emitting import emitting
from oop.streams.joining import On, joined_with
from oop.streams.resampling import resampled
from oop.streams.running import Engine, ResultT_co, Running, explained, run, to_spark
from oop.streams.sorting import sorted_by_bubbles, sorted_within_timeout
from oop.streams.waiting import deduplicated, numbered_in_time, sorted_in_time
from oop.streams.windowed import Grouped, Windowed
from oop.windows import Window


class Stream:
    """A pipeline so far. ``time`` is the attribute that windows are on by default, ``flow`` the plan behind it.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
    >>> s, s.time
    (<Stream ts, len>, 'ts')
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.time = flow.time

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows.

        >>> import oop
        >>> oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).schema
        ts: int64
        """
        return self.flow.schema

    def filter(self, predicate: Expr) -> Stream:
        """The rows for which the predicate is true (not those for which it is null).

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
        >>> s.filter(oop.col("len") > 50).run().to_table().to_pylist()
        [{'ts': 2, 'len': 60}]
        """
        return Stream(filtered(self.flow, predicate))

    def select(self, /, *columns: str | Expr, **named: Expr | str) -> Stream:
        """Only these columns: names, or new ones by expression.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2], "len": [40, 60]}), time="ts", punctuate=oop.ordered())
        >>> s.select("ts", bits=oop.col("len") * 8).run().to_table().to_pylist()
        [{'ts': 1, 'bits': 320}, {'ts': 2, 'bits': 480}]
        """
        return Stream(selected(self.flow, columns, named))

    def with_columns(self, /, **named: Any) -> Stream:
        """All columns, and these beside or instead of them.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [61]}), time="ts", punctuate=oop.ordered())
        >>> s.with_columns(minute=oop.col("ts") // 60).run().to_table().to_pylist()
        [{'ts': 61, 'minute': 1}]
        """
        return Stream(with_columns(self.flow, named))

    def split(self, *predicates: Expr) -> tuple[Stream, ...]:
        """Aurora's Filter: one output for each predicate, and one for the rows that satisfy none.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 3]}), time="ts", punctuate=oop.ordered())
        >>> small, large = s.split(oop.col("ts") < 3)
        >>> large.run().to_table().to_pylist()
        [{'ts': 3}]
        """
        return tuple(map(Stream, split(self.flow, predicates)))

    def union(self, *others: Stream) -> Stream:
        """The rows of all streams, as they come; promises the least of what they promise.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.union(s).run().to_table().num_rows
        4
        """
        if not all(isinstance(other, Stream) for other in others):
            raise TypeError("a union is of streams")
        return Stream(united(self.flow, [other.flow for other in others]))

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

        ``on`` is a column, a list of columns, or ``{left: right}``; without it nearness in time is enough. Null keys
        match nothing. ``closed`` says which ends belong to the band: both (the default), left, right or neither.
        Instead of ``within``: ``window=oop.tumbling(…)`` for rows in the same window, ``ranges=(left, right)`` for a
        sliding-window join (OOP paper, Q2), or ``unbounded=True`` for no condition on time; its state grows. ``where``
        is a further condition on both rows. ``how``: inner, left, right, full, semi (left rows with a match), anti
        (without). Columns of the right that clash get the suffix ``_right``. ``times`` names each side's time, if not
        the stream's own. ``other`` may also be a table that does not change: a path, an Arrow table, a DuckDB result.

        >>> import oop
        >>> calls = oop.source(pa.table({"ts": [1, 5], "k": ["a", "b"]}), time="ts", punctuate=oop.ordered())
        >>> answers = oop.source(pa.table({"ts": [2, 9], "k": ["a", "b"]}), time="ts", punctuate=oop.ordered())
        >>> calls.join(answers, on="k", within=(0, 3)).run().to_table().to_pylist()
        [{'ts': 1, 'k': 'a', 'ts_right': 2, 'k_right': 'a'}]
        """
        near: dict[str, Any] = {"within": within, "closed": closed, "window": window, "ranges": ranges}
        asked: dict[str, Any] = {"on": on, "how": how, "where": where, "times": times, "unbounded": unbounded, **near}
        return Stream(joined_with(self.flow, other.flow if isinstance(other, Stream) else other, **asked))

    def resample(
        self,
        /,
        other: Stream,
        *,
        within: Duration,
        by: str | Sequence[str] | None = None,
        times: tuple[str, str] | None = None,
        **aggregates: Function,
    ) -> Stream:
        """For each row of this stream and each group ``by`` of the other: the aggregates of the group's rows at most
        ``within`` before or after it (Aurora's Resample).

        A result has the group, the time of this stream's row, and the aggregates, and comes out once the group has
        passed. A group without a near row gives none; without ``by`` each row gives one. Aggregates may use this
        stream's time, with ``_left`` behind its name if the other stream has that column (``docs/aurora_sorts.md``).

        >>> import oop
        >>> beats = oop.source(pa.table({"Time": [10, 20]}), time="Time", punctuate=oop.ordered())
        >>> reports = pa.table({"Sid": [1, 1, 2, 1], "Time": [8, 13, 19, 40], "Pos": [4, 6, 9, 7]})
        >>> reports = oop.source(reports, time="Time", punctuate=oop.ordered())
        >>> beats.resample(reports, within=5, by="Sid", Pos=oop.mean("Pos")).run().to_table().to_pylist()
        [{'Sid': 1, 'Time': 10, 'Pos': 5.0}, {'Sid': 2, 'Time': 20, 'Pos': 9.0}]
        """
        if not isinstance(other, Stream):
            raise TypeError(f"what is resampled is a stream, not {other!r}")
        return Stream(resampled(self.flow, other.flow, within, by, times, aggregates))

    def window(self, window: Window, on: str | None = None) -> Windowed[Stream]:
        """Windows on an attribute (default: the stream's time), to be aggregated.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2, 12]}), time="ts", punctuate=oop.ordered())
        >>> s.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table().to_pylist()[0]
        {'window_start': 0, 'window_end': 10, 'n': 2}
        """
        return Windowed(self.flow, window, on, Stream)

    def group_by(self, /, *keys: str, **named: Expr) -> Grouped[Stream]:
        """Groups without a window: a key must be an attribute that the stream promises about.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 1, 2]}), time="ts", punctuate=oop.ordered())
        >>> s.group_by("ts").agg(n=oop.count()).run().to_table().to_pylist()
        [{'ts': 1, 'n': 2}, {'ts': 2, 'n': 1}]
        """
        flow = with_columns(self.flow, named) if named else self.flow
        return Grouped(flow, None, (*keys, *named), Stream)

    def agg(self, /, **aggregates: Function) -> Stream:
        """One group of all rows; it ends with the stream, so the sources must be declared ``at_end()``.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.at_end())
        >>> s.agg(n=oop.count(), last=oop.max("ts")).run().to_table().to_pylist()
        [{'n': 3, 'last': 3}]
        """
        return Grouped(self.flow, None, (), Stream).agg(**aggregates)

    def emit(self, when: str | None = None, *, every: Duration | None = None, rows: int | None = None) -> Stream:
        """Results before they are complete: a column ``emit`` says "partial" or "final".

        ``"on_change"`` shows a result after each batch that changed it, ``every="10s"`` in steps of stream time, as far
        as rows have come, ``rows=100`` after every 100 rows, across batches (behind `oop.aurora.Tumble` each window
        counts its own), ``"on_close"`` shows nothing early. Only what has changed is shown again. Final rows are the
        same in all modes, each exactly once. Only filters and projections may follow partial results.

        >>> import oop
        >>> batches = [pa.record_batch({"ts": [1, 2]}), pa.record_batch({"ts": [3, 12]})]
        >>> s = oop.source(iter(batches), time="ts", punctuate=oop.ordered())
        >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count()).emit("on_change")
        >>> [(r["window_start"], r["n"], r["emit"]) for r in counts.run().to_table().to_pylist()]
        [(0, 2, 'partial'), (0, 3, 'partial'), (10, 1, 'partial'), (0, 3, 'final'), (10, 1, 'final')]
        """
        return Stream(emitting(self.flow, when, every, rows))

    def sort(self, *ties: str, on: str | None = None) -> Stream:
        """Rows in order of time, each once no earlier one can come; released batches never go back in time.

        Rows of one time are in the order of the columns ``ties``, else as they came. NaN comes after every number, null
        last. ``on`` names another attribute than the stream's time. A group that is ahead waits for the others.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.slack(2))
        >>> s.sort().run().to_table()["ts"].to_pylist()
        [1, 2, 3]
        """
        return Stream(sorted_in_time(self.flow, ties, on))

    def bsort(self, slack: int, by: str | Sequence[str] | None = None, on: str | None = None) -> Stream:
        """Rows as a buffer of ``slack`` rows can sort them: each row that meets a full buffer drives out the least one
        (Aurora's BSort, which equals ``slack`` passes of a bubble sort). No row is set aside.

        ``by`` gives each group its own buffer, ``on`` names another attribute than the stream's time. Promises release
        no rows; an end releases what is held, in order. ``docs/aurora_sorts.md`` tells more.

        >>> import oop
        >>> s = oop.source(pa.table({"A": [1, 3, 1, 2, 4, 4, 8, 3, 4, 4]}), time="A", punctuate=oop.at_end())
        >>> s.bsort(slack=2).run().to_table()["A"].to_pylist()
        [1, 1, 2, 3, 4, 3, 4, 4, 4, 8]
        """
        return Stream(sorted_by_bubbles(self.flow, slack, by, on))

    def wsort(self, *columns: str, timeout: Duration) -> Stream:
        """Rows in ascending order of columns (default: the stream's time), none of which waits long (Aurora's WSort).

        Once ``timeout`` has passed on the engine's clock since rows last left, or since the oldest came, all that have
        waited so long leave, with those that sort before them. A row that then comes behind a greater one is set aside
        in ``run.late["WSort"]``. Rows that are promised to be the least leave sooner.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.at_end())
        >>> s.wsort("ts", timeout="5s").run().to_table()["ts"].to_pylist()
        [1, 2, 3]
        """
        return Stream(sorted_within_timeout(self.flow, columns, timeout))

    def dedup(self, *keys: str, keep: str = "any", within: Duration | None = None) -> Stream:
        """One of the rows with equal keys; no keys: all columns (with ``within``: all but the time).

        ``keep="any"`` puts out the first row that comes, at once. ``"first"`` and ``"last"`` go by time, then by the
        values of all columns (null is the greatest), and come out when promised. A key is held until a promise covers
        it, so the time, or another attribute that is promised about, must be a key.
        ``within`` instead says how far apart rows of one key may be and still be the same event: the first row of a key
        begins a span ``[t0, t0 + within]``, and the next row behind it the next span. With "any" a row is a duplicate
        if one of its key at most ``within`` away, on either side, was put out. ``docs/dedup.md`` tells more.

        >>> import oop
        >>> rows = pa.table({"ts": [1, 1, 2, 9], "id": ["a", "a", "a", "a"]})
        >>> s = oop.source(rows, time="ts", punctuate=oop.ordered())
        >>> s.dedup().run().to_table()["ts"].to_pylist()
        [1, 2, 9]
        >>> s.dedup("id", within=3, keep="last").run().to_table()["ts"].to_pylist()
        [2, 9]
        """
        return Stream(deduplicated(self.flow, keys, keep, within))

    def number(self, name: str | None = None) -> Stream:
        """Numbers the rows 0, 1, 2, … in order of time: row windows count by them where sources' own numbers end.

        Rows of one time are ranked by source and the order in which it gave them; behind a join or an aggregate by the
        values of all columns. A rank is known once its time is promised for all rows. ``name`` also makes it a column.

        >>> import oop
        >>> a, b = (oop.source(pa.table({"ts": t}), time="ts", punctuate=oop.ordered()) for t in ([1, 4], [2]))
        >>> a.union(b).number("n").run().to_table().to_pylist()
        [{'ts': 1, 'n': 0}, {'ts': 2, 'n': 1}, {'ts': 4, 'n': 2}]
        >>> a.union(b).number().window(oop.rows(2)).agg(ts=oop.max("ts")).run().to_table()["ts"].to_pylist()
        [2, 4]
        """
        return Stream(numbered_in_time(self.flow, name))

    def assume(self, policy: Policy, on: str | None = None) -> Stream:
        """Promises by a policy at this place of a plan, for example behind a union, a join, or a new time column:
        ``oop.ordered()`` or ``oop.slack(…)`` by time or rows, also by group (OOP paper, section 2, option 2).

        Rows are judged as at a source with that policy, in the order in which they come here. Those that break it, or
        have no value there, are set aside in ``run.late["Assume"]``, even if the source says ``late="raise"``. Earlier
        promises still hold. ``on`` names another attribute, which becomes the stream's time.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 7, 3, 12, 4]}), time="ts", punctuate=None)
        >>> run = s.assume(oop.slack(5)).window(oop.tumbling(5)).agg(n=oop.count()).run()
        >>> run.to_table().to_pylist()[0]
        {'window_start': 0, 'window_end': 5, 'n': 2}
        >>> run.late["Assume"].to_pylist()
        [{'ts': 4, 'broke': 'ts < 7', 'late_by': 3.0}]
        """
        from oop.streams.assuming import assumed  # here, as few plans need it: `import oop` should be quick

        return Stream(assumed(self.flow, policy, on))

    def describe(self, *attributes: str, by: str | Sequence[str] = (), every: Duration | None = None) -> Stream:
        """Only promises about these attributes (default: the stream's time), alone or together; rows pass.

        Promises about groups are rolled up to the columns ``by``, or without any to all rows. ``every`` thins bounds
        out to one for each step of stream time. Plans describe by themselves; by hand it helps a consumer outside.

        >>> import oop
        >>> batch = pa.record_batch({"ts": [3, 12, 27], "link": ["A", "B", "A"]})
        >>> promises = [oop.Punctuation({"ts": 3}, {"link": link}) for link in ("A", oop.not_in("A"))]
        >>> more = [oop.Punctuation({"ts": t}) for t in (8, 14, 19, 25)]
        >>> s = oop.source([*promises, *more, batch], time="ts", punctuate=oop.punctuated())
        >>> [e for e in s.describe("ts", every=10).run().elements() if isinstance(e, oop.Punctuation)]
        [Punctuation(ts < 3), Punctuation(ts < 14), Punctuation(ts < 25), END]
        """
        from oop.streams.promising import described_by_hand  # here, as few plans need it

        return Stream(described_by_hand(self.flow, attributes, by, every))

    def each_window(self, on: str = "window_end") -> Stream:
        """A promise for each window that closes, between its rows and those of the next, for readers of `Run.elements`
        or a sink (OOP paper, section 5.2). Without it one promise may close several windows.
        Each window comes once it is promised complete; ``on`` is the column that tells windows apart.

        >>> import oop
        >>> data = [pa.record_batch({"ts": [1, 12, 3]}), oop.Punctuation({"ts": 20})]
        >>> s = oop.source(data, time="ts", punctuate=oop.punctuated())
        >>> counts = s.window(oop.tumbling(10)).agg(n=oop.count()).select("window_end", "n").each_window()
        >>> [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in counts.run().elements()][:3]
        [[{'window_end': 10, 'n': 2}], Punctuation(window_end < 20), [{'window_end': 20, 'n': 1}]]
        """
        from oop.streams.promising import window_by_window  # here, as few plans need it

        return Stream(window_by_window(self.flow, on))

    def late(self, mode: str) -> Stream:
        """The same pipeline with every source treating late rows this way: "drop", "raise" or "admit".

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered())
        >>> s.run().to_table().num_rows, s.late("admit").run().to_table().num_rows
        (1, 2)
        """
        return Stream(with_late(self.flow, mode))

    @overload
    def run(self, engine: Engine[ResultT_co], *, order: str = "oop", to: Any = None) -> ResultT_co: ...
    @overload
    def run(self, engine: None = None, *, order: str = "oop", to: Any = None) -> Running: ...
    def run(self, engine: Any = None, *, order: str = "oop", to: Any = None) -> Any:
        """Run the plan: iterate over the result for batches, or ``.to_table()``; ``to`` names a sink instead. On Spark
        (``engine=oop.Spark(…)``) it gives the running query.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
        >>> [batch.num_rows for batch in s.run()]
        [2]
        """
        return run(self.flow, engine, order, to)

    def to_spark(self, session: Any = None, *, batch: bool | None = None, **options: Any) -> Any:
        """The result as a DataFrame of Spark, for any sink: streaming, or a batch with ``batch=True`` and, by default,
        if the sources are batch DataFrames. ``options`` are those of `oop.Spark` without ``trigger``."""
        return to_spark(self.flow, session, batch, options)

    def explain(self, order: str = "oop", engine: Any = None) -> str:
        """The plan as a tree; ``order="iop"`` shows what in-order operators hold, ``engine`` where it preaggregates.

        >>> import oop
        >>> s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> print(s.filter(oop.col("ts") > 0).explain())
        Filter ts > 0                             promises pass
        └─ Source north   ordered   late: drop
        """
        return explained(self.flow, order, engine)

    def __repr__(self) -> str:
        return f"<Stream {', '.join(self.schema.names)}>"
