"""The scout runs a source's policies on the driver, ahead of the tasks, to know what has been promised at a position.

A task must know which promises follow from the rows before its own, or lateness would depend on how a micro-batch was
cut. So the policies' state at a position is part of the offset, and travels to the tasks. If a Parquet file tells the
greatest time of a row group, and the policy needs no more, the scout does not read its rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oop.engines.spark.blocks import Block, read_block
from oop.engines.spark.stages import Stages, policy_columns
from oop.operators.core.context import Context
from oop.operators.core.operator import Element
from oop.operators.core.parts import FRONTIERS
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.punctuation import Frontier
from oop.punctuation.encoding import dumps, loads
from oop.punctuation.patterns import Bound


class Scout:
    """The policies of one source at one position. It judges no rows; it only advances the policies."""

    def __init__(self, stages: Stages, number: int) -> None:
        node = stages.producers[number]
        spec = replace(node.source, late="drop", nulls="aside")
        (self.schema,) = node.input_schemas()
        self.columns = policy_columns(spec, self.schema)
        narrow = pa.schema([self.schema.field(c) for c in self.columns])
        self.operator = InputOperator(spec, Context([narrow], interests=stages.interests(number)))

    def see(self, elements: Iterable[Element]) -> None:
        for _ in self.operator.process_train(list(elements)):
            pass  # tasks process the rows, and the gate keeps the promises
        self.operator.ledger = Ledger(self.operator.output)

    def pass_over(self, block: Block) -> None:
        """Advance the policies past a block."""
        if block.greatest is None or not self._pass_over(block.greatest):
            self.see(read_block(block, self.schema, self.columns))
            return
        self.operator.rows_seen += block.rows
        for _ in self.operator.promises():
            pass

    def _pass_over(self, greatest: Bound) -> bool:
        """Advance the policy by the greatest time of a block's rows. False if the policy has to see each of them."""
        progress = self.operator.progress
        if len(progress) != 1 or progress[0].attribute != self.operator.spec.time:
            return False
        return progress[0].pass_over(greatest)

    @property
    def promised(self) -> Frontier:
        return self.operator.gate.passed

    def state(self) -> str:
        return dump(self.operator)

    def restore(self, state: str) -> None:
        load_state(self.operator, state)


def dump(operator: InputOperator) -> str:
    """The state of an input's policies as text, without the rows that it has set aside."""
    parts: dict[str, Any] = dict(operator.save())
    given = [row["promise"] for row in parts[FRONTIERS].to_pylist() if row["port"] == 0]
    return dumps({"given": given, "input": parts["input"].column(0)[0].as_py()})


def load_state(operator: InputOperator, state: str) -> None:
    said: Any = loads(state)
    operator.ports.frontiers[0] = Frontier.from_json(said["given"])
    operator.load([("input", pa.record_batch({"json": pa.array([said["input"]], pa.string())}))])
