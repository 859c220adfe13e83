"""What a stage does in a micro-batch, on one shard: it processes rows, then promises, and ships the output.

All rows are processed before any promise, whatever order cells arrive in. That only delays promises, which is sound.
This module knows nothing of Spark; `processor.py` keeps the parts in Spark's state store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from oop.engines.spark import programs
from oop.engines.spark.cells import (
    BYTES,
    FRONTIER,
    HELD,
    LATE,
    PROMISES,
    ROWS,
    WITHOUT_TIME,
    Cell,
    decode,
    decode_promises,
)
from oop.engines.spark.failures import located
from oop.engines.spark.late_files import write_late
from oop.engines.spark.passage import Passage
from oop.engines.spark.programs import StageProgram
from oop.engines.spark.stages import Stages
from oop.operators.core.batches import BATCH_ROWS, as_one, in_runs
from oop.operators.core.operator import Element
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.writing import Unwritten
from oop.operators.source.ledger import Ledger
from oop.operators.source.numbers import SEQ
from oop.plan.stage_programs import stage_code
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.group_promises import one_by_one

GIVEN = "given"
_TAKEN = 1 << 20  # about so many rows are taken together, because that many are in memory


class StageRunner:
    """An operator with state, what its producers have promised, and the way on to the next stages."""

    finishes = False
    """Is this the last stage, which puts out rows? Then batches of the result are not encoded."""

    def __init__(self, stages: Stages, number: int, shard: int, late_to: str | None = None) -> None:
        self.stages = stages
        self.number = number
        self.shard = shard
        self.late_to = late_to
        self.batches = 0
        self.node = stages.producers[number]
        self.operator = stages.start(self.node)
        self._programs: dict[pa.Schema, StageProgram | None] = {}
        self.given = {i: [Frontier() for _ in range(stages.workers(i))] for i in stages.senders(number)}
        self.heard = [Frontier() for _ in self.node.inputs]
        self.out = Frontier()

    def run(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Process the cells of a micro-batch, and give its output, promises last."""
        passage = Passage(self.stages, self.number, self.shard, self.finishes)
        promised: list[Punctuation] = []
        for element in self._elements(list(cells)):
            if isinstance(element, pa.RecordBatch):
                yield from passage.push(element)
            else:
                promised.extend(filter(self.out.advance, one_by_one((element,))))
        yield from passage.flush()
        yield from passage.promise(promised)
        bound = main_bound(self.out)
        if bound is not None:
            yield passage.metric(FRONTIER, bound)
        self.batches += 1
        if self.operator.ledger is not None:
            yield from self._set_aside(passage, self.operator.ledger)
        yield passage.metric(HELD, self.operator.buffered_rows)
        yield passage.metric(BYTES, self.operator.state_bytes)

    def _set_aside(self, passage: Passage, ledger: Ledger) -> Iterator[Cell]:
        """Move the rows that the operator has set aside from its state into a file, as late rows of sources are."""
        if ledger.entries and self.late_to is not None:
            write_late(self.late_to, self.stages.name(self.number), f"{self.batches:012}-{self.shard}", ledger.table())
        for what, count in ((LATE, ledger.late), (WITHOUT_TIME, ledger.without_time)):
            if count:
                yield passage.metric(what, count)
        self.operator.ledger = Ledger(ledger.schema)

    def _elements(self, cells: list[Cell]) -> Iterator[Element]:
        with located(self.node):
            rows = sorted((c for c in cells if c.kind == ROWS), key=lambda c: c.order)
            for port, group in groupby(rows, key=lambda c: c.port):
                yield from self._take(port, map(decode, (c.body for c in group)))
            for cell in sorted((c for c in cells if c.kind == PROMISES), key=lambda c: c.order):
                workers = self.given[cell.sender]
                frontier = workers[0 if len(workers) == 1 else cell.split]  # a source's splits share one frontier
                for promise in decode_promises(cell.body):
                    frontier.advance(promise)
            known = {i: self.stages.promised(i, frontiers) for i, frontiers in self.given.items()}
            for port, heard in enumerate(self.heard):
                new = list(heard.advance_to(self.stages.port_frontier(self.number, port, known)))
                if new:
                    yield from self.operator.process_punctuation(new, port)

    def _take(self, port: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Element]:
        """Take the rows of a port in: all of them in one call, where a program can."""
        for run in in_runs(batches, _TAKEN):
            program = self._program_for(run)
            if program is not None:
                yield from program.take(run)
                continue
            for batch in joined(run):
                yield from self.operator.process_batch(batch, port)

    def _program_for(self, run: Sequence[pa.RecordBatch]) -> StageProgram | None:
        """The program that takes batches like these. It is written when there are many rows for the first time."""
        schema = run[0].schema
        if schema.metadata is not None:
            return None
        if schema not in self._programs and sum(map(len, run)) >= programs.FEW:
            try:
                self._programs[schema] = StageProgram(stage_code(self.stages.root, self.node, schema), self.operator)
            except Unwritten:
                self._programs[schema] = None
        return self._programs.get(schema)

    def save(self) -> Iterator[Part]:
        """The operator's parts that changed since the last save, and what has been promised."""
        yield from ((f"operator/{key}", part) for key, part in self.operator.save())
        yield text_part(GIVEN, [[str(i), [f.to_json() for f in frontiers]] for i, frontiers in self.given.items()])
        yield text_part("heard", [f.to_json() for f in self.heard])
        yield text_part("out", self.out.to_json())
        if self.operator.ledger is not None:
            yield text_part("batches", self.batches)

    def load(self, parts: dict[str, pa.RecordBatch]) -> None:
        prefix = "operator/"
        self.operator.load([(k.removeprefix(prefix), p) for k, p in parts.items() if k.startswith(prefix)])
        given: Any = read_text(parts[GIVEN])
        self.given = {int(i): [Frontier.from_json(f) for f in frontiers] for i, frontiers in given}
        heard: Any = read_text(parts["heard"])
        self.heard = [Frontier.from_json(f) for f in heard]
        out: Any = read_text(parts["out"])
        self.out = Frontier.from_json(out)
        batches: Any = read_text(parts["batches"]) if "batches" in parts else 0
        self.batches = batches


def batches_of(cells: Iterable[Cell]) -> Iterator[pa.RecordBatch]:
    """The batches of cells. Small batches in a row with the same schema and marks are joined."""
    return joined(decode(cell.body) for cell in cells)


def joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches in a row with the same schema and marks as one."""
    for run in in_runs(batches, BATCH_ROWS):
        yield from as_one(run)


def main_bound(frontier: Frontier) -> int | None:
    """How far a stream has come, as one number for the query's progress: its least linear bound. A bound on row numbers
    counts only if it is the only bound."""
    bounds = {a: b for a, b in frontier.all.linear.items() if abs(b) < 2**63}
    if len(bounds) > 1:
        bounds.pop(SEQ, None)
    return int(min(bounds.values())) if bounds else None
