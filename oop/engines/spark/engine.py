"""`oop.Spark`: a plan as a streaming query of Spark, or as a batch. The docstring of the package tells how."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oop.clocks import Clock, WallClock
from oop.engines.spark.session import absolute, check_classic, check_installed, local_session, restore_settings, set_up
from oop.errors import OopError, WrongArgument
from oop.plan.graph import Node
from oop.plan.graph import sources as sources_of
from oop.plan.preaggregating import notes
from oop.plan.stage_programs import stage_program_notes
from oop.site import user_line

_BUILDING = threading.RLock()  # one plan at a time, because settings and the data source's name belong to the session
_TRIGGERS = ("availableNow", "once", "processingTime")


class Spark:
    """Run on Spark. Without a ``session`` the active session is taken, or a local one made.

    ``checkpoint`` is a folder that makes a query durable: when it is started again with the same folder, it goes on
    where it stopped. ``shards`` is the number of workers over which the groups of each stage are spread (default: the
    session's cores). ``rows`` is about how many rows a micro-batch takes from each source. ``trigger`` is Spark's own
    (``{"availableNow": True}`` is the default where all inputs end). ``late_to`` is a folder for late rows.

    >>> import oop
    >>> oop.Spark(shards=2, rows=100_000)
    Spark(shards=2, rows=100000)
    """

    def __init__(
        self,
        session: Any = None,
        *,
        checkpoint: str | Path | None = None,
        shards: int | None = None,
        trigger: Mapping[str, Any] | None = None,
        rows: int = 1_000_000,
        late_to: str | Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        for name, value in (("shards", shards), ("rows", rows)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"{name} is a number of at least 1, not {value!r}")
        for name, path in (("checkpoint", checkpoint), ("late_to", late_to)):
            if path is not None and not isinstance(path, str | os.PathLike):
                raise TypeError(f"{name} is a folder, not {path!r}")
        if session is not None and not hasattr(session, "sparkContext"):
            raise TypeError(f"session is a SparkSession, not {session!r}")
        if trigger is not None and (not isinstance(trigger, Mapping) or [*trigger] not in [[t] for t in _TRIGGERS]):
            raise ValueError(f"trigger is {{name: value}} with one of {', '.join(_TRIGGERS)}, not {trigger!r}")
        self.session = session
        self.checkpoint = None if checkpoint is None else absolute(checkpoint)
        self.shards = shards
        self.trigger = None if trigger is None else dict(trigger)
        self.rows = rows
        self.late_to = None if late_to is None else absolute(late_to)
        if self.late_to is not None and not self.late_to.startswith("/"):
            raise ValueError(f"late_to is a folder that workers can write to, not {late_to!r}")
        self.clock = clock or WallClock()

    def __repr__(self) -> str:
        said = {"checkpoint": self.checkpoint, "shards": self.shards, "rows": self.rows, "late_to": self.late_to}
        return f"Spark({', '.join(f'{k}={v!r}' for k, v in said.items() if v is not None)})"

    def plan(self, root: Node) -> Node:
        """The plan that is cut into stages. It gets no Preaggregate, because workers reduce rows by themselves.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").preaggregate().agg(n=oop.count())
        >>> "Preaggregate" in counts.explain(), "Preaggregate" in counts.explain(engine=oop.Spark())
        (True, False)
        """
        return root

    def notes(self, root: Node) -> dict[int, str]:
        """Notes on nodes of a plan, by id, which `Stream.explain` adds to their lines.

        >>> import oop, pyarrow as pa
        >>> s = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered(), name="north")
        >>> counts = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
        >>> print(*counts.explain(engine=oop.Spark()).splitlines()[0].split("; ")[1:], sep=", ")
        preaggregated by the workers that have the rows, one program with Source, Bucket
        """
        found = notes(root, shuffles=True)
        for node, note in stage_program_notes(root).items():
            found[node] = f"{found[node]}; {note}" if node in found else note
        return found

    def run(self, root: Node, *, to: Any = None) -> Any:
        """Start a query that writes to the sink ``to``, or (None) to a table in memory. The query that is returned is
        running. If the sink is one file, or an object with ``write``, the query has ended."""
        check_installed()
        from oop.engines.spark.dataframes import Built
        from oop.engines.spark.starting import spark_target, start

        target = spark_target(to, self.checkpoint)
        session, shards = self._session(root)
        with _BUILDING:
            before = set_up(session, shards)
            try:
                return start(self, Built(self, session, root, shards, self._is_batch(root, False), "oop"), target)
            finally:
                restore_settings(session, before)

    def frame(self, root: Node, *, batch: bool | None = None) -> Any:
        """The DataFrame of a plan's result, for any sink. The settings that it needs stay in the session, because a
        query takes the settings that the session has when the query is started."""
        from oop.engines.spark.dataframes import Built

        if self.trigger is not None:
            raise WrongArgument(
                "trigger= is for queries that oop starts, and to_spark gives a DataFrame, whose query is yours",
                at=user_line(),
                hint="frame.writeStream.trigger(…)",
            )
        session, shards = self._session(root)
        metrics = f"oop {uuid.uuid4().hex[:8]}"  # a unique name, because one query may use several such results
        with _BUILDING:
            set_up(session, shards)
            return Built(self, session, root, shards, self._is_batch(root, batch), metrics).frame

    def _session(self, root: Node) -> tuple[Any, int]:
        """The session that was given, else that of a DataFrame among the sources, else the active or a new local
        one."""
        check_installed()
        frames = (n.data.frame for n in sources_of(root) if n.data is not None and n.data.frame is not None)
        session = self.session or next((frame.sparkSession for frame in frames), None) or local_session()
        check_classic(session)
        return session, self.shards or session.sparkContext.defaultParallelism

    def _is_batch(self, root: Node, batch: bool | None) -> bool:
        """Is this a batch? If the caller did not say (None), it is one if the DataFrames among the sources are."""
        frames = [n.data.frame for n in sources_of(root) if n.data is not None and n.data.frame is not None]
        if batch is None:
            batch = bool(frames) and not any(f.isStreaming for f in frames)
        live = [n for n in sources_of(root) if n.data is not None and n.data.frame is None and n.data.kind == "live"]
        if batch and live:
            raise OopError(
                f"{live[0].call} may have no end, so it cannot be read as a batch",
                at=live[0].site,
                hint="give the data as a table, a list or files",
            )
        if batch and any(f.isStreaming for f in frames):
            raise OopError("a streaming DataFrame cannot be read as a batch", hint="leave batch=True out")
        if not batch and not all(f.isStreaming for f in frames):
            raise OopError(
                "a batch DataFrame cannot be part of a streaming query",
                hint="use stream.to_spark(session, batch=True), or read it as a stream: spark.readStream",
            )
        return batch
