"""Input: the description of a source as a plan holds it; `operator.py` runs it (OOP paper, sections 3.2, 5.1 and 5.4).

A row is late iff it is below the bound implied by the rows before it, so lateness does not depend on batches; the
promise itself may follow later. A promise ends the batch in progress (A.1.1). A promise that helps no consumer is held
back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from oop.kernels.checks import INT64_MAX
from oop.kernels.steps import MOST_RANK
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.spec import Spec
from oop.operators.core.writing import UINT, ProgramWriter, Unwritten
from oop.operators.source.fields import InputFields
from oop.operators.source.numbers import promised
from oop.operators.source.operator import InputOperator
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.patterns import Value
from oop.punctuation.policy_fields import Judgement
from oop.punctuation.trackers import Greatest, NthGreatest

LATE_MODES = ("drop", "raise", "admit")
NULL_MODES = ("raise", "aside")


class Input(InputFields):
    """The spec of a source; `fields.py` says what it is given."""

    name = "Source"
    numbers_rows = True

    def with_late(self, mode: str) -> Spec:
        return replace(self, late=mode)

    def with_number(self) -> Spec | None:
        return replace(self, numbers=True)

    def could_promise(self, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int = 1) -> Frontier:
        """What the source may come to promise, for the checks of a plan before it runs. ``bound`` stands for any bound.

        ``groups`` are values that the plan's filters fix. Any group may come, but the checks ask only about these.
        Bounds of groups, and of several attributes together, may be ``ahead`` of the bound of all rows.
        """
        frontier = Frontier.of(promised(bound)) if self.numbers else Frontier()  # whatever the policies
        if self.polled:
            frontier.advance(Punctuation({self.time: bound}))
        for attribute, policy in self.policies:
            for promise in policy.could_promise(attribute, groups, bound, ahead):
                frontier.advance(promise)
        return frontier

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        if self.numbers or self.account:
            raise Unwritten("rows are numbered" if self.numbers else "late rows travel on")
        if self.late != "drop":
            raise Unwritten(f"late={self.late!r}")
        for attribute, policy in self.policies:
            if policy.judgement is Judgement.NOTHING and not policy.stamps and not policy.clocked:
                continue
            written = policy.judgement in (Judgement.GREATEST, Judgement.RANK)
            if not written or policy.columns or len(self.policies) > 1:
                raise Unwritten(f"the policy {policy}")
            if attribute != self.time:
                raise Unwritten(f"promises about {attribute}")
            tracker = policy.tracker()
            far = isinstance(tracker, Greatest) and tracker.slack > INT64_MAX
            if far or (isinstance(tracker, NthGreatest) and tracker.n > MOST_RANK):
                raise Unwritten(f"the policy {policy}")
        times = writer.number(self.time)
        if times.kind == UINT and times.type.bit_width == 64:
            raise Unwritten("a time that is uint64")
        writer.known = frozenset({self.time})
        writer.guard(times)

    def start(self, context: Context) -> Operator:
        return InputOperator(self, context)

    def describe(self) -> str:
        numbers = "   rows numbered" if self.numbers else ""
        said = ", ".join(filter(None, (self.text, "polled" if self.polled else ""))) or "no promises"
        return f"Source {self.source}   {said}   late: {self.late}{numbers}"
