"""Programs in the workers of Spark (`oop/plan/stage_programs.py`): on the way of rows behind a producer, and into the
groups of a stage. Few rows take the way of the operators, because to begin a program costs more than they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from oop.engines.spark.cells import Cell
from oop.engines.spark.failures import located
from oop.engines.spark.passage import Passage
from oop.kernels import dispatch
from oop.kernels.signatures.programs import GuardState
from oop.kernels.steps import ProgramCode
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.operator import Element, Operator
from oop.operators.core.train import Train, begin_of
from oop.operators.source.in_program import GuardInProgram, rows_between
from oop.operators.source.operator import InputOperator
from oop.plan.stage_programs import PassageCode

FEW = 4_096
"""Fewer rows than these are left to the operators."""


class SourceProgram:
    """The way from a source into the partial aggregates of the next stage, for one task. Where these do not pay, and
    for what the program cannot judge, rows take the way of the operators."""

    def __init__(self, code: PassageCode, operator: InputOperator, passage: Passage) -> None:
        self.code, self.operator, self.passage = code, operator, passage
        self.guard = GuardInProgram(operator)
        gathering = passage.gathering(code.stage)
        assert gathering is not None
        self.gathering = gathering
        self.program = dispatch.kernels().TrainProgram(code.code)

    def take(self, train: Train) -> Iterator[Cell]:
        """Let a train of the source pass, and give the cells that leave."""
        while train and not self.gathering.rows_to_pass:  # whether that pays is judged now and then
            first, train = begin_of(train, BATCH_ROWS)
            batches = self.guard.begin(first)
            if batches is None:
                yield from self._push(self.operator.process_train(first))
                continue
            odd = self._run(batches)
            yield from self.passage.gathered(self.code.stage)
            yield from self._push(odd)
        if train:
            yield from self._push(self.operator.process_train(train))

    def _run(self, batches: Sequence[pa.RecordBatch]) -> list[Element]:
        """Run the program. The result is what the source's operator makes of odd chunks. That goes on only when the
        program has ended, because it changes what the program fills."""
        program, guard, targets = self.program, self.guard, self.gathering.targets
        odd: list[Element] = []
        targets.begin()
        with located(self.code.stage):
            program.start(batches, guard.guard, targets)
            try:
                while (rows := program.go_on()) is not None:
                    with located(self.code.nodes[0]):
                        odd += self.operator.process_train(guard.odd(*rows))
                    guard.resume()
            finally:
                program.finish()
                guard.take_late(program)
        guard.promises(program)  # the planner has made them, but what they follow from must be known
        return odd

    def _push(self, elements: Any) -> Iterator[Cell]:
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                yield from self.passage.push(element)


class StageProgram:
    """The program that takes rows into the groups of a stage's operator."""

    def __init__(self, code: ProgramCode, operator: Operator) -> None:
        self.operator = operator
        self.targets = operator.targets()
        self.program = dispatch.kernels().TrainProgram(code)
        self._guard = GuardState()  # there is nothing to judge

    def take(self, batches: Sequence[pa.RecordBatch]) -> Iterator[Element]:
        """Take rows in. The result is what leaves because of those that the program leaves to the operator."""
        program = self.program
        self.targets.begin()
        program.start(batches, self._guard, self.targets)
        try:
            while (odd := program.go_on()) is not None:
                for rows in rows_between(batches, *odd):
                    yield from self.operator.process_batch(rows)
        finally:
            program.finish()
