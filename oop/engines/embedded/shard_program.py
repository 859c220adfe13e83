"""The program of one shard, where rows are parted once, in front of it: it takes the batches that come to the shard.

What the shard's operator would do with a batch in a dozen calls is one call, chunk by chunk, without the interpreter.
Batches that are not for a program (marked ones, text that has become a dictionary, columns with nulls) go to the
operator, and so does an odd chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from oop.kernels import dispatch
from oop.kernels.signatures.programs import GuardState
from oop.operators.core.handed_out import HandedOut
from oop.operators.core.operator import Element, Operator
from oop.plan.superboxes import Superbox


class ShardProgram:
    """Takes rows into the state of ``operator``, as `shard_superbox` says."""

    def __init__(self, operator: Operator, superbox: Superbox) -> None:
        assert superbox.code is not None
        self.operator = operator
        self.targets = operator.targets()
        self.program = dispatch.kernels().TrainProgram(superbox.code)
        self._names, self._types = superbox.schema.names, superbox.schema.types
        self._handed_out = None if superbox.rows is None else HandedOut(superbox.rows)
        self._guard = GuardState()  # there is nothing to judge

    def fits(self, batch: pa.RecordBatch) -> bool:
        """Is the batch for the program?"""
        schema = batch.schema
        if schema.metadata is not None or schema.names != self._names or schema.types != self._types:
            return False
        return self.targets.fits and not any(column.null_count for column in batch.columns)

    def take(self, batch: pa.RecordBatch) -> Iterator[Element]:
        """Take a batch that fits; the result is what leaves at once."""
        program, out = self.program, list[Element]()
        self.targets.begin()
        program.start([batch], self._guard, self.targets)
        try:
            while (odd := program.go_on()) is not None:
                first, end = odd
                out += self.operator.process_batch(batch.slice(first, end - first), 0)
        finally:
            program.finish()
        yield from out
        if self._handed_out is not None:
            yield from self._handed_out.rows([batch], program).until(None)
