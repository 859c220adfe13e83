"""A plan as DataFrames of Spark.

Every producer gives a DataFrame of cells, and a stage takes the union of the DataFrames that have cells for it. A
DataFrame may carry cells for several stages: it goes to the first of these, and cells for later stages pass through it.
So nothing is read or computed twice, however streams are shared.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.blocks import Files
from oop.engines.spark.cells import (
    BYTES,
    CELLS,
    DDL,
    FRONTIER,
    HELD,
    LATE,
    METRIC,
    ROWS,
    WITHOUT_TIME,
    Cell,
    batches,
    decode,
)
from oop.engines.spark.channels import InputRunner
from oop.engines.spark.identity import check_checkpoint, identity_of
from oop.engines.spark.runner import StageRunner
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.spool import Spool
from oop.engines.spark.stages import Stages, without_data
from oop.engines.spark.types import as_spark, can_finish, spark_schema
from oop.errors import OopError
from oop.io.formats import format_of
from oop.plan.graph import Node, walk
from oop.plan.graph import sources as sources_of


class Built:
    """A plan as DataFrames. ``frame`` is the result, and `close` stops the threads that feed it. ``metrics`` is the
    name under which a query's progress has the counts of oop."""

    def __init__(self, engine: Any, session: Any, root: Node, shards: int, batch: bool, metrics: str) -> None:
        check_clocks(root)
        self.engine, self.session, self.batch = engine, session, batch
        self.rows, self.schema = root.schema, spark_schema(root.schema)  # the schema of the stream, and that for Spark
        plain = Stages(without_data(root), shards)
        originals = sources_of(root)
        # a plan without its data has its sources in the same order
        self.data = {number: node.data for number, node in zip(plain.sources, originals, strict=True)}
        foreign = frozenset(i for i, data in self.data.items() if data is not None and data.frame is not None)
        self.stages = Stages(plain.root, shards, foreign)
        self.identity = identity_of(self.stages)
        if engine.checkpoint is not None:
            check_checkpoint(engine.checkpoint, self.identity)  # before anything is written there
        self.metrics = metrics
        self.spools: list[Spool] = []
        self.temporary: list[str] = []
        self.folder = self._folder()
        # workers on one machine hand shards over to each other through a folder
        self.copies = self.temporary_folder() if session.sparkContext.master.startswith("local") else None
        self.bounded = all(d is not None and d.kind != "live" for d in self.data.values())
        try:
            self.frame = self._result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Call this when the query has ended: it stops the threads that feed it, and removes its temporary folders."""
        for spool in self.spools:
            spool.close()
        for folder in self.temporary:
            shutil.rmtree(folder, ignore_errors=True)

    def _folder(self) -> Path:
        """Where elements are spooled: inside the checkpoint, if that is a local folder, because a restart reads them
        again."""
        if self.engine.checkpoint is not None and self.engine.checkpoint.startswith("/"):
            return Path(self.engine.checkpoint).absolute() / "oop-spool"
        return Path(self.temporary_folder())

    def temporary_folder(self) -> str:
        """A folder that stays until `close`, or until the process ends, because a DataFrame may be run at any time."""
        folder = tempfile.mkdtemp(prefix="oop-")
        self.temporary.append(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _result(self) -> Any:
        """Chain the stages. Each takes the frames whose first stage it is."""
        result = self.stages.result
        frames: list[tuple[set[int], Any]] = []
        for number in range(result):
            targets = self.stages.targets(number) | {result}
            if number in self.stages.foreign:
                frames.append(({number, result}, self._foreign(number)))
            elif number in self.data:
                frames.append((targets, self._own(number)))
                continue
            here = [(wanted, frame) for wanted, frame in frames if min(wanted) == number]
            frames = [pair for pair in frames if min(pair[0]) != number]
            after = set().union(*(wanted for wanted, _ in here)) - {number} | targets
            if number == result - 1 and not frames and not self.batch and can_finish(self.schema):
                return self._finished(self._stage(number, _union(frame for _, frame in here), self.schema))
            frames.append((after, self._stage(number, _union(frame for _, frame in here))))
        return self._decoded(self._observed(_union(frame for _, frame in frames)))

    def _own(self, number: int) -> Any:
        from oop.engines.spark.datasource import make_source
        from oop.engines.spark.reading import SourceReading

        engine = self.engine
        reading = SourceReading(
            self.stages,
            number,
            self._files(number),
            self.identity,
            engine.rows,
            self.session.sparkContext.defaultParallelism,
            engine.clock,
            engine.late_to,
        )
        self.session.dataSource.register(make_source(reading))
        reader = self.session.read if self.batch else self.session.readStream
        return reader.format("oop").load()

    def _files(self, number: int) -> Any:
        data = self.data[number]
        assert data is not None
        paths = data.paths
        if paths and all(map(_has_pieces, paths)):
            return Files(paths)
        spool = Spool(data, self.folder / str(number))
        self.spools.append(spool)
        return spool.spooled

    def _foreign(self, number: int) -> Any:
        from oop.engines.spark.foreign import foreign_cells

        data = self.data[number]
        assert data is not None
        engine = self.engine
        return foreign_cells(
            self.session,
            self.stages,
            number,
            data,
            batch=self.batch,
            clock=engine.clock,
            whole=engine.late_to is not None,
        )

    def _stage(self, number: int, frame: Any, result: pa.Schema | None = None) -> Any:
        """A stage over the cells of a frame. It gives cells again, or rows of the result if ``result`` is its
        schema."""
        keys = shard_keys(self.stages.shards)
        start: Callable[[int], Any]
        if number in self.stages.foreign:
            data = self.data[number]
            assert data is not None
            start = partial(_input_runner, self.stages, number, data.channels, self.engine.late_to)
        else:
            start = partial(StageRunner, self.stages, number, late_to=self.engine.late_to)
        if self.batch:
            return frame.groupBy("key").applyInArrow(_whole(start, keys, number), DDL)
        from pyspark.sql.pandas.types import from_arrow_schema

        from oop.engines.spark.finishing import finished
        from oop.engines.spark.processor import StageProcessor

        processor = StageProcessor(start, keys, number, self.identity, self.copies, result)
        columns = DDL if result is None else from_arrow_schema(finished(result))
        return frame.groupBy("key").transformWithStateInPandas(
            processor, outputStructType=columns, outputMode="Append", timeMode="None"
        )

    def _observed(self, cells: Any) -> Any:
        """The cells, with late rows, frontiers and state observed for the query's progress."""
        from pyspark.sql import functions as f

        named = []
        for number in range(self.stages.result):
            source, where = number in self.data, self.stages.name(number)
            aside = source or self.stages.producers[number].spec.sets_aside
            for what, name, gather in (
                (LATE, "late", f.sum),
                (WITHOUT_TIME, "without_time", f.sum),
                (FRONTIER, "frontier", f.min),
                (HELD, "held", f.sum),
                (BYTES, "bytes", f.sum),
            ):
                if (source and what in (HELD, BYTES)) or (not aside and what in (LATE, WITHOUT_TIME)):
                    continue
                mine = (f.col("kind") == METRIC) & (f.col("sender") == number) & (f.col("number") == what)
                value = gather(f.when(mine, f.col("value")))
                if what in (LATE, WITHOUT_TIME):
                    value = f.coalesce(value, f.lit(0))
                named.append(value.alias(f"{name} {where}"))
        return cells if self.batch else cells.observe(self.metrics, *named)

    def _decoded(self, cells: Any) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        rows = cells.where(f"kind = {ROWS}").select("body")
        return rows.mapInArrow(partial(_decode, self.schema), from_arrow_schema(self.schema))

    def _finished(self, rows: Any) -> Any:
        from pyspark.sql import functions as f

        columns = [f.col(f"c{i}").alias(name) for i, name in enumerate(self.schema.names)]
        return self._observed(rows).where(f"kind = {ROWS}").select(*columns)


def _union(frames: Any) -> Any:
    return reduce(lambda a, b: a.union(b), frames)


def _decode(schema: pa.Schema, found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for cells in found:
        for body in cells.column(0):
            yield as_spark(decode(body.as_buffer()), schema)


def check_clocks(root: Node) -> None:
    """Refuse operators that look at the clock: they must be called when it moves, and Spark calls them only for
    rows."""
    for node in walk(root):
        if node.spec.clocked:
            raise OopError(
                f"{node.call} looks at the clock, and on Spark operators are given none",
                at=node.site,
                hint="leave the timeout out, or run it embedded",
            )
        if node.is_source and any(policy.stamps for _, policy in node.source.policies):
            raise OopError(
                f"{node.call} stamps rows as they come in; on Spark a task that is tried again would stamp them anew",
                at=node.site,
                hint="let Spark stamp them (current_timestamp(), before its rows are stored), or run it embedded",
            )
        if node.is_source and node.source.polled:
            raise OopError(
                f"{node.call} is asked for its progress, and on Spark nobody waits for a source that could be asked",
                at=node.site,
                hint="let the data carry what it would say (punctuate=oop.punctuated()), or run it embedded",
            )


def _input_runner(stages: Stages, number: int, channels: Any, late_to: str | None, shard: int) -> InputRunner:
    return InputRunner(stages, number, channels, late_to)


def _whole(start: Callable[[int], Any], keys: tuple[int, ...], number: int) -> Callable[..., Any]:
    """A stage of a batch. It gets all cells at once and keeps no state."""
    shards = {key: shard for shard, key in enumerate(keys)}

    def run(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        found = [Cell._make(row.values()) for row in table.select(CELLS.names).to_pylist()]
        mine = [cell for cell in found if cell.stage == number]
        out = [cell for cell in found if cell.stage != number]
        if mine:
            out += start(shards[key[0].as_py()]).run(mine)
        return pa.Table.from_batches(batches(out), schema=CELLS)

    return run


def _has_pieces(path: str) -> bool:
    """Can workers read it in place?"""
    found = format_of(Path(path))
    return found is not None and found.has_pieces(Path(path))
