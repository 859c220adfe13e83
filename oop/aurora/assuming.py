"""``Assuming O``, the clause that all operators sensitive to order share (Aurora paper, section 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oop.aurora.arguments import check_stream, no_order, wrong
from oop.errors import OopError, UnknownColumn
from oop.operators.assume import assume
from oop.operators.assume.order import TUP, Order
from oop.operators.core.group_values import of_group
from oop.operators.core.times import duration_in
from oop.punctuation.durations import Duration
from oop.punctuation.named_groups import named_groups
from oop.site import user_line
from oop.streams.stream import Stream


class Assume:
    """``Assume(O)(S)``: the rows of S that are in order, with the promises that this allows; others are in `Run.late`.

    A row is out of order if more than ``slack`` rows of its group that came before it are greater. Each group has its
    own order. ``groups`` lists all groups that there are; ``idle`` says after how much of the attribute a silent group
    no longer counts. With either of them there are promises about all groups together too, as far as the slowest has
    come. Rows of a group that is not listed are late below these promises. A group of several columns is a tuple, in
    the order of ``group_by``, or a dictionary.

    An order on ``"Tup#"`` adds that column: the number of the row in its group, in the order of arrival.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"Time": [1, 4, 2, 5, 3]}), time="Time", punctuate=None)
    >>> run = Assume(oop.Order("Time", slack=1))(s).run()
    >>> [e if isinstance(e, oop.Punctuation) else e.to_pydict() for e in run.elements()]
    [{'Time': [1, 4, 2, 5]}, Punctuation(Time < 4), END]
    >>> run.late["Assume"].to_pylist()
    [{'Time': 3, 'broke': 'Time < 4', 'late_by': 1.0}]
    """

    def __init__(self, order: Order, groups: Iterable[Any] | None = None, idle: Duration | None = None) -> None:
        if not isinstance(order, Order):
            raise no_order(order)
        if groups is not None and idle is not None:
            raise wrong(
                "groups= and idle= exclude each other",
                "give groups= (all that there are), or idle= (when one no longer counts)",
            )
        if isinstance(groups, str) or not (groups is None or isinstance(groups, Iterable)):
            raise wrong(f"groups= is a list of groups, not {groups!r}", f"write groups=[{groups!r}]")
        if (groups is not None or idle is not None) and not order.group_by:
            raise wrong(
                f"groups= and idle= go with an order by group, not with an {order}",
                "write oop.Order(…, group_by='Sid')",
            )
        listed = None if groups is None else tuple(groups)
        if listed == ():
            raise wrong("groups= is a list of at least one group", "name all that there are: groups=[…]")
        self.order, self.idle = order, idle
        try:
            self.groups = None if listed is None else named_groups(listed, order.group_by)
        except OopError as error:
            raise error.located(user_line()) from None

    @property
    def tells_rest(self) -> bool:
        """Are there promises about the rows of all groups together?"""
        return not self.order.group_by or self.groups is not None or self.idle is not None

    def __call__(self, stream: Stream) -> Stream:
        check_stream(stream)
        time = stream.time if self.order.on == TUP else self.order.on
        return Stream(stream.flow.then(self._spec(stream), f"Assume({self.order})", time=time))

    def _spec(self, stream: Stream) -> assume.Assume:
        schema, order = stream.schema, self.order
        if (self.groups is None and self.idle is None) or order.on == TUP:
            # the spec's schema refuses groups= or idle= that do not fit the order; any value of idle will do for that
            return assume.Assume(order, self.groups, 0 if self.idle is not None else None)
        for name in (order.on, *order.group_by):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names, at=user_line())
        try:
            types = [schema.field(name).type for name in sorted(order.group_by)]  # in the order of a policy's columns
            groups = None if self.groups is None else tuple(of_group(group, types) for group in self.groups)
            idle = None if self.idle is None else duration_in(self.idle, schema.field(order.on).type)
        except OopError as error:
            raise error.located(user_line()) from None
        if idle is not None and idle <= 0:
            raise wrong(f"idle is greater than 0, not {self.idle!r}", "write 60, or '1h'")
        return assume.Assume(order, groups, idle)
