"""Session: the aggregates of each group's sessions.

Rows of a group that follow one another within the gap are in one session. A row that comes out of order may bridge two
sessions. A session goes out when ``time < v`` is promised with ``last + gap < v``, because no later row reaches it. On
every advance the output promises ``window_end < v`` and ``window_start < min(v, least open start)``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from oop.kernels.checks import INT64_MAX, INT64_MIN
from oop.kernels.steps import Op, ProgramCode, Step
from oop.operators.aggregate.fields import WINDOW_END, WINDOW_START
from oop.operators.core.context import Context
from oop.operators.core.coverage import is_promised
from oop.operators.core.operator import Operator
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.core.writing import FLOAT, INT, PARTED_ONCE, ProgramWriter, Unwritten
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import describe_groups
from oop.operators.session.fields import SessionFields
from oop.operators.session.operator import SessionOperator
from oop.punctuation import Frontier, Interest
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.translate import Image


class PromisesAll(Carried):
    """A crossing that promises about ``window_start`` even if no consumer uses it, because that promise decides which
    late rows are taken."""

    def asked(self, interests: Iterable[Interest]) -> Crossing:
        return self


class Session(SessionFields):
    """The spec of a session window; `fields.py` says what it is given."""

    name = "Session"
    note = "emits a session when a time after its end is promised"
    held_back = (WINDOW_START,)

    def with_late(self, mode: str) -> Spec:
        return replace(self, admits=mode == "admit")

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        edges: list[Image] = [(WINDOW_START, None), (WINDOW_END, None)]
        kind = PromisesAll if self.admits else Carried
        return kind({self.on: edges}, {k: [k] for k in self.keys}, holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [frozenset({self.on, *self.keys}).union(*(a.columns() for _, a in self.aggregates))]

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        return self.on, (WINDOW_START, WINDOW_END, *self.keys)

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return None if is_promised(frontiers[0], self.on, self.keys) else self.on

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode:
        if type(self) is not Session:
            raise Unwritten(f"{self.name} is another operator")
        if writer.parts:
            raise Unwritten(PARTED_ONCE)
        if self.admits:
            raise Unwritten("late rows are admitted")
        if self.on not in writer.known:
            raise Unwritten(f"{self.on} may be null")
        times = writer.number(self.on)
        if times.kind == FLOAT:
            writer.add(Step(Op.LIMIT, 0, times.register, numbers=(sys.float_info.max - self.gap,)))
        elif times.kind == INT or times.type.bit_width < 64:
            latest = INT64_MAX - int(self.gap)
            times = times._replace(register=writer.step(Op.CHECK, times.register, numbers=(INT64_MIN, latest)))
        else:
            raise Unwritten(f"{self.on} is {times.type}")
        keys, updates = Shape(inputs[0], self.keys, self.aggregates).write(writer)
        return writer.sessions(times, self.gap, keys, updates)

    def start(self, context: Context) -> Operator:
        return SessionOperator(self, context)

    def describe(self) -> str:
        return describe_groups(f"Session {self.text} on {self.on}:", self.aggregates, self.keys)
