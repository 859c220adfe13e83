"""Resample (Aurora paper, section 5.2.2.4): a stream as it was at the times of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oop.aurora.arguments import named_functions
from oop.aurora.assuming import Assume
from oop.operators.assume.order import Order
from oop.operators.functions.function import Function
from oop.punctuation.durations import Duration
from oop.streams.resampling import resampled
from oop.streams.stream import Stream


class Resample:
    """``Resample(F, size=s, left=O1, right=O2)(S1, S2)``: for each row t of S1 and each group of O2 the group, A of t,
    and F over the group's rows u of S2 with ``|t.A - u.B| <= s``. A group without such a row gives no result. If O2 has
    no groups, every t gives a result, over no rows if none is near.

    Rows out of order are set aside (`Run.late`). A result comes out when its computation concludes: with the first row
    of its group that shows that none with ``B <= t.A + s`` can come any more, given the slack. As long as a group that
    was never seen may come, rows of S1 stay. They can leave earlier if ``groups`` lists all groups that there are, or
    if ``idle`` says after how much of B a silent group no longer counts.

    >>> import pyarrow as pa, oop
    >>> h = oop.source(pa.table({"Time": [120]}), time="Time", punctuate=None)
    >>> x = pa.table({"Sid": [1, 2, 2, 1], "Time": [115, 118, 131, 140], "Pos": [10, 20, 30, 40]})
    >>> x = oop.source(x, time="Time", punctuate=None)
    >>> near = Resample({"Pos": oop.mean("Pos")}, 10, oop.Order("Time"), oop.Order("Time", group_by="Sid"))
    >>> near(h, x).run().to_table().to_pylist()
    [{'Sid': 1, 'Time': 120, 'Pos': 10.0}, {'Sid': 2, 'Time': 120, 'Pos': 20.0}]
    """

    def __init__(
        self,
        F: Mapping[str, Function],
        size: Duration,
        left: Order,
        right: Order,
        *,
        groups: Iterable[Any] | None = None,
        idle: Duration | None = None,
    ) -> None:
        self.functions, self.size = named_functions(F), size
        self.left, self.right = Assume(left), Assume(right, groups, idle)

    def __call__(self, left: Stream, right: Stream) -> Stream:
        first, second = self.left(left), self.right(right)
        times = self.left.order.on, self.right.order.on
        return Stream(resampled(first.flow, second.flow, self.size, self.right.order.group_by, times, self.functions))
