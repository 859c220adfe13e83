"""Micro-batches of a source that oop reads itself: how far the next one goes, how it is split, and what a task does.

`Planner` runs on the driver, `read_split` in a worker. An offset holds the position, the policies' state there, whether
the end has been promised, and which plan it belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain, takewhile
from typing import Any

import pyarrow as pa

from oop.clocks import Clock
from oop.engines.spark import programs
from oop.engines.spark.blocks import Block, Files, Listing, Position, following, read_block
from oop.engines.spark.cells import FRONTIER, LATE, WITHOUT_TIME, Cell
from oop.engines.spark.failures import located
from oop.engines.spark.identity import check_identity
from oop.engines.spark.late_files import write_late
from oop.engines.spark.passage import Passage
from oop.engines.spark.runner import main_bound
from oop.engines.spark.scout import Scout, load_state
from oop.engines.spark.spool import Spooled
from oop.engines.spark.stages import Stages
from oop.errors import SourceError
from oop.frozen import frozen
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.context import Context
from oop.operators.core.train import trains
from oop.operators.core.writing import Unwritten
from oop.operators.source.operator import InputOperator
from oop.plan.stage_programs import passage_code
from oop.punctuation import END, Punctuation


@frozen()
class SourceReading:
    """All that is needed to read one source of a plan, wherever that happens."""

    stages: Stages
    number: int
    files: Files | Spooled
    identity: Mapping[str, Any]
    rows: int  # about how many rows a micro-batch takes
    tasks: int  # how many tasks share a micro-batch
    clock: Clock
    late_to: str | None


@frozen()
class InputSplit:
    """What one task reads: blocks in a row, the policies' state before them, and the promises that follow all rows of
    the micro-batch, if this is its last split."""

    split: int
    state: str
    blocks: tuple[Block, ...]
    promises: tuple[str, ...]
    bound: int | None


class Planner:
    """Says where micro-batches end, and into which splits they are divided. It computes this from offsets alone, so it
    goes on after a restart."""

    def __init__(self, reading: SourceReading) -> None:
        self.reading = reading
        self.node = reading.stages.producers[reading.number]
        self.time = self.node.source.time
        self.most: Listing | None = None

    def initial(self) -> dict[str, Any]:
        scout = self._scout()
        return self._offset(Position(), scout.state(), False, Listing((), False))

    def freeze(self) -> None:
        """From now on ignore files that come later (Spark's trigger ``availableNow``)."""
        self.most = self.reading.files.complete() if isinstance(self.reading.files, Spooled) else None

    def latest(self, start: Mapping[str, Any], unlimited: bool = False) -> dict[str, Any]:
        """The end of the next micro-batch; the start itself if there is nothing new."""
        with located(self.node):
            check_identity(start["plan"], self.reading.identity)
            if unlimited and self.most is None:  # a batch, or a Spark that asks only once
                self.freeze()
            listing = self.most or self.reading.files.listing()
            if start["ended"]:
                if len(listing.paths) > start["files"]["read"]:
                    raise SourceError(
                        f"{listing.paths[-1]} came after the input had promised its end",
                        hint="begin with another checkpoint, or read files that go on coming with spark.readStream",
                    )
                return dict(start)
            at, rows = _position(start, listing), 0
            scout = self._scout(start["state"])
            for block, behind in following(listing, at, self.time):
                scout.pass_over(block)
                at, rows = behind, rows + block.rows
                if rows >= self.reading.rows and not unlimited:
                    break
            else:
                if listing.failure is not None and at == _position(start, listing):
                    raise SourceError(listing.failure)
                if listing.ended:
                    scout.see([END])
                    at = Position(len(listing.paths), 0, at.blocks)  # go past files without a block too
            if not scout.promised.ended and scout.operator.clocked:
                list(scout.operator.tick(self.reading.clock.now))
            new = self._offset(at, scout.state(), scout.promised.ended, listing)
            return dict(start) if _same(new, start) else new

    def splits(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputSplit]:
        """A micro-batch as splits for the tasks. The last split brings the promises."""
        with located(self.node):
            check_identity(start["plan"], self.reading.identity)
            listing = self.reading.files.listing()
            _position(end, listing)
            scout = self._scout(start["state"])
            stop = Position(**end["at"])
            pairs = following(listing, Position(**start["at"]), self.time)
            blocks = [block for block, _ in takewhile(lambda pair: pair[1].blocks <= stop.blocks, pairs)]
            first = start["at"]["blocks"]
            pieces = _even(blocks, self.reading.tasks)
            last = self._scout(end["state"]).promised
            promises = tuple(p.to_json() for p in scout.promised.copy().advance_to(last))
            found = []
            for piece in pieces:
                final = piece is pieces[-1]
                said = promises if final else ()
                bound = main_bound(last) if final else None
                found.append(InputSplit(first, scout.state(), tuple(piece), said, bound))
                first += len(piece)
                if not final:
                    for block in piece:
                        scout.pass_over(block)
            return found

    def _scout(self, state: str | None = None) -> Scout:
        scout = Scout(self.reading.stages, self.reading.number)
        if state is not None:
            scout.restore(state)
        return scout

    def _offset(self, at: Position, state: str, ended: bool, listing: Listing) -> dict[str, Any]:
        read = at.file + (1 if at.block else 0)
        return {
            "at": asdict(at),
            "files": {"read": read, "names": _digest(listing.paths[:read])},
            "state": state,
            "ended": ended,
            "plan": dict(self.reading.identity),
        }


def _position(start: Mapping[str, Any], listing: Listing) -> Position:
    """The position of an offset in the files as they are now. The files that were read must be the same as then."""
    read = start["files"]["read"]
    if len(listing.paths) < read or _digest(listing.paths[:read]) != start["files"]["names"]:
        raise SourceError(
            f"the {read} file(s) that were read so far are not the first in the list any more",
            hint="give the same files in the same order, new ones behind them, or begin with another checkpoint",
        )
    return Position(**start["at"])


def _digest(names: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]


def _same(new: Mapping[str, Any], start: Mapping[str, Any]) -> bool:
    """Would a micro-batch up to this offset change nothing?"""
    return new["at"] == start["at"] and new["state"] == start["state"] and new["ended"] == start["ended"]


def _even(blocks: list[Block], tasks: int) -> list[list[Block]]:
    """The blocks in pieces of blocks in a row, at most one for each task, with about as many rows each. There is at
    least one piece, even without blocks.

    >>> [len(piece) for piece in _even([Block("f", n, 2) for n in range(5)], 2)]
    [3, 2]
    >>> [len(piece) for piece in _even([Block("f", n, 0) for n in range(1_000)], 2)]  # promises alone need one task
    [1000]
    """
    total = sum(b.rows for b in blocks)
    pieces: list[list[Block]] = [[]]
    rows = 0
    for block in blocks:
        if rows and len(pieces) < tasks and rows >= total * len(pieces) / tasks:
            pieces.append([])
        pieces[-1].append(block)
        rows += block.rows
    return pieces


def read_split(reading: SourceReading, split: InputSplit) -> Iterator[Cell]:
    """What a task does, in the worker that reads: guard the rows, let them pass the operators behind the source, and
    reduce them by a partial aggregate.

    The guard begins with the policies' state before this split, which the scout has found on the driver.
    """
    stages, node = reading.stages, reading.stages.producers[reading.number]
    passage = Passage(stages, reading.number, split.split)
    with located(node):
        schema = stages.source_schema(reading.number, whole=reading.late_to is not None)
        operator = InputOperator(node.source, Context([schema], interests=[]))  # the planner makes the promises
        load_state(operator, split.state)
        program = _program(reading, split, operator, passage)
        blocks = (read_block(block, node.input_schemas()[0], schema.names) for block in split.blocks)
        for train in trains(chain.from_iterable(blocks), BATCH_ROWS):
            if program is not None:
                yield from program.take(train)
                continue
            for element in operator.process_train(train):
                if isinstance(element, pa.RecordBatch):
                    yield from passage.push(element)
        ledger = operator.ledger
        if reading.late_to is not None and ledger.entries:
            write_late(reading.late_to, stages.name(reading.number), f"{split.split:012}", ledger.table())
    yield from passage.flush()
    yield from passage.promise([Punctuation.from_json(p) for p in split.promises])
    if ledger.late:
        yield passage.metric(LATE, ledger.late)
    if ledger.without_time:
        yield passage.metric(WITHOUT_TIME, ledger.without_time)
    if split.bound is not None:
        yield passage.metric(FRONTIER, split.bound)


def _program(
    reading: SourceReading, split: InputSplit, operator: InputOperator, passage: Passage
) -> programs.SourceProgram | None:
    """The program for the rows of a task, if there is one, and enough rows to begin it."""
    if sum(block.rows for block in split.blocks) < programs.FEW:
        return None
    stages = reading.stages
    try:
        code = passage_code(stages.root, stages.producers[reading.number], operator.output)
    except Unwritten:
        return None
    return programs.SourceProgram(code, operator, passage)
