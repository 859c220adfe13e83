"""Resample: for each row of the left stream and each group of the right an aggregate of the right rows near it
(Aurora paper, section 5.2.2.4): ``(groups, A: t.A) ++ F({u in S2: |t.A - u.B| <= s})``.

"For every tuple in S1, an interpolated value is generated": without groups, a left row that no right row is near to has
a result too, F of no rows. With groups there is a result only for each group that has a row near the left row, because
the other groups are not known.

This file has the spec; `resample/operator.py` has the running operator. A result leaves when no further right row of
its group can be near ``t``, which is once ``t.A + s`` is below the group's bound. So a later result has a left row that
comes later, at ``L`` or above, or one that its group has not passed yet. Therefore ``A < min(L, R - s)`` is promised,
by group if the right input promises by group. Both inputs bring their own promises; an `Assume`
(`operators/assume/assume.py`) makes promises of an order.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.coverage import is_promised
from oop.operators.core.operator import Operator
from oop.operators.groups.store_operator import describe_groups
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.join.promises import CarriedAndMet, Moved
from oop.operators.resample.fields import ResampleFields
from oop.operators.resample.operator import ResampleOperator
from oop.punctuation import Frontier, Interest
from oop.punctuation.crossing import Carried, Crossing


class Resample(ResampleFields):
    """The spec of a Resample; `fields.py` says what it is given."""

    name = "Resample"
    needs_order = True

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """A bound on the left frees right rows, and one on the right completes results. Other promises are of interest
        only if they help the consumers."""
        left, right = self.times
        frees, concludes = Interest(left, by=()), Interest(right, by=self.keys)
        moved = {right: [(left, Moved(self.band, LEFT))]}
        return CarriedAndMet(
            [
                Carried({left: [(left, None)]}, {}, also=[frees]),
                Carried(moved, {k: [k] for k in self.keys}, also=[concludes]),
            ]
        )

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        """The right input must promise about its time, at least for groups."""
        on = self.times[RIGHT]
        return None if is_promised(frontiers[RIGHT], on, self.keys) else on

    def start(self, context: Context) -> Operator:
        return ResampleOperator(self, context)

    def describe(self) -> str:
        shown = describe_groups("Resample", self.aggregates, self.keys)
        return f"{shown}, {self.times[RIGHT]} within {self.text} of {self.left}"

    def promise_note(self) -> str:
        of = " of its group" if self.keys else ""
        note = f"emits a result when {self.times[RIGHT]} < t{of} is promised beyond it"
        return f"{note}; {self.stays}" if self.stays else note
