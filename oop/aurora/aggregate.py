"""Aggregate (Aurora paper, section 5.2.2.2), and its variants Slide and XSection (Aurora* and Medusa paper, section
2.2).

"An algorithm for Aggregate that does not require sorting its input simply delays emitting result tuples according to
the slack specification" (footnote 7): rows out of order are set aside, and windows are closed by the promises that the
rows of their group allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from oop.aurora.arguments import named_functions, wrong
from oop.aurora.assuming import Assume
from oop.aurora.windows import ArrivalWindow, OpenedWindow
from oop.errors import NeverEmits, OopError
from oop.operators.assume.order import TUP, Order
from oop.operators.aurora.timed import EARLY
from oop.operators.core.arrival import timeout_in
from oop.operators.core.times import duration_in
from oop.operators.expressions.expr import Expr, col
from oop.operators.functions.counts import count
from oop.operators.functions.function import Function
from oop.plan.graph import could_promise, frontiers
from oop.punctuation.durations import Duration
from oop.site import user_line
from oop.streams.stream import Stream
from oop.windows import Window
from oop.windows.window import duration

_ROWS = "__rows"


class Aggregate:
    """``Aggregate(F, assuming=O, size=s, advance=i)(S)``: F over windows of each group. Rows have ``on``, the groups
    and F.

    ``F`` is ``{name: aggregate}``: oop's aggregates, or `oop.aggregate(init, incr, final=…)`, whose ``incr`` is given a
    window's rows in order of ``on``, and rows of one value as they arrive. So slack gives the same answer as a `BSort`
    before it, whatever F is. (A function with a ``merge`` must not depend on order: it takes rows as they come.)

    A window has the rows with ``on`` in ``[a, a + size)``, where ``a`` is ``offset`` plus a multiple of ``advance``, as
    everywhere in oop; the result has ``a`` in the column ``on``. The window comes out once rows of its group show that
    no more can come for it, or at the end. On ``"Tup#"`` windows have exactly ``size`` rows, the first begins with the
    first row, and each comes out with its last row; a window that is not full at the end is not put out.

    ``advance`` may be a predicate: then a window begins at each row for which it holds, and covers ``[a, a + size)`` of
    its group from that row's ``on``.

    This is the operator of the paper; `oop.operators.aggregate.aggregate.Aggregate` is the spec of oop's own operator,
    which knows neither orders nor slack. What this class puts into a plan is an `Assume`, a `Bucket`, that spec, and a
    projection to the paper's columns.

    ``timeout``: a window that has been open for longer, by the clock, comes out early, even if it is not full. Rows
    that would still have contributed are ignored; they are counted (``late_unused`` in `Run.metrics`) once the end of
    their window is promised.

    >>> import pyarrow as pa, oop
    >>> quotes = pa.table({"Time": [60, 75, 120, 105], "Price": [24, 20, 17, 13]})
    >>> quotes = oop.source(quotes, time="Time", punctuate=None)
    >>> for slack in (0, 1):
    ...     hourly = Aggregate({"Avg": oop.mean("Price")}, oop.Order("Time", slack), size=60, advance=60)
    ...     print(hourly(quotes).run().to_table().to_pylist()[0])
    {'Time': 60, 'Avg': 22.0}
    {'Time': 60, 'Avg': 19.0}
    >>> pairs = Aggregate({"Sum": oop.sum("Price")}, oop.Order("Tup#"), size=2, advance=1)
    >>> pairs(quotes).run().to_table().to_pylist()
    [{'Tup#': 0, 'Sum': 44}, {'Tup#': 1, 'Sum': 37}, {'Tup#': 2, 'Sum': 30}]
    """

    def __init__(
        self,
        F: Mapping[str, Function],
        assuming: Order,
        size: Duration,
        advance: Duration | Expr,
        timeout: Duration | None = None,
        *,
        offset: Duration = 0,
    ) -> None:
        self.functions = named_functions(F)
        self.assume = Assume(assuming)
        self.size, self.advance, self.offset = size, advance, duration("offset", offset)
        self.timeout = None if timeout is None else timeout_in(timeout)
        if isinstance(advance, Expr) and offset:
            raise wrong("windows that begin where a predicate holds have no offset", "leave out offset=")
        if assuming.on == TUP and offset:
            raise wrong(f"windows on {TUP} begin with the first row", "leave out offset=")

    @property
    def order(self) -> Order:
        return self.assume.order

    def __call__(self, stream: Stream) -> Stream:
        return self._aggregated(self.assume(stream), self.order.group_by)

    def _aggregated(self, assumed: Stream, keys: tuple[str, ...]) -> Stream:
        on = self.order.on
        self._check_spans(assumed.schema.field(on).type)
        functions, rows = dict(self.functions), _ROWS
        if on == TUP:
            while rows in functions or rows in keys:
                rows = f"_{rows}"
            functions[rows] = count()
        found = assumed.window(self._window(keys), on=on).group_by(*keys).agg(**functions)
        start = on if isinstance(self.advance, Expr) else "window_start"
        if on == TUP:
            full = col(rows) == int(duration_in(self.size, assumed.schema.field(TUP).type))
            # windows of the grid that begin before the first row are never full, and must not come out early
            early = (col(EARLY) & (col(start) >= 0)) if self.timeout is not None else None
            found = found.filter(full if early is None else full | early)
        names: list[tuple[str, Expr]] = [(on, col(start)), *((name, col(name)) for name in (*keys, *self.functions))]
        return Stream(found.flow.project(names, "Aggregate"))

    def _check_spans(self, type_: pa.DataType) -> None:
        """Check the arguments in Aurora's words, before they become those of a window."""
        spans = {"size": self.size} if isinstance(self.advance, Expr) else {"size": self.size, "advance": self.advance}
        for name, span in spans.items():
            try:
                is_span = duration_in(span, type_) > 0
            except OopError as error:
                raise error.located(user_line()) from None
            if not is_span:
                raise wrong(f"the {name} of a window is greater than 0, not {span!r}", "write 60, or '1h'")

    def _window(self, keys: tuple[str, ...]) -> Window:
        if isinstance(self.advance, Expr):
            return OpenedWindow(self.size, self.advance, self.timeout)
        kind = "tumbling" if self.size == self.advance else "sliding"
        # groups that are each in order are not in order together
        disorder = self.order.on != TUP and (self.order.slack > 0 or keys != self.order.group_by)
        return ArrivalWindow(self.size, self.advance, self.offset, kind, self.timeout, disorder)


class Slide(Aggregate):
    """``Slide(F, assuming=O, size=s, advance=i)(S)``: an `Aggregate` whose windows lie side by side or overlap.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"Time": [1, 2, 3]}), time="Time", punctuate=None)
    >>> Slide({"n": oop.count()}, oop.Order("Time"), size=2, advance=1)(s).run().to_table()["n"].to_pylist()
    [1, 2, 2, 1]
    """

    def __call__(self, stream: Stream) -> Stream:
        assumed = self.assume(stream)
        type_ = assumed.schema.field(self.order.on).type
        self._check_spans(type_)
        if not isinstance(self.advance, Expr) and duration_in(self.advance, type_) > duration_in(self.size, type_):
            raise wrong(
                f"Slide leaves no row out: advance={self.advance!r} is more than size={self.size!r}",
                "use Aggregate for that",
            )
        return self._aggregated(assumed, self.order.group_by)


class XSection(Aggregate):
    """``XSection(F, assuming=O, size=s, advance=i, groups=…)(S)``: F over windows across the groups of the order.

    "Works across streams in a composite stream" (Aurora paper, section 6): each group has an order of its own, and a
    window has the rows of all groups. It comes out when every group has passed it: the groups named by ``groups``, or
    with ``idle`` all but those that have been silent for that much of the attribute. With neither, windows come out at
    the end.

    >>> import pyarrow as pa, oop
    >>> rows = pa.table({"Sid": ["a", "a", "b", "b"], "Time": [1, 9, 2, 8], "Pos": [4, 5, 6, 7]})
    >>> s = oop.source(rows, time="Time", punctuate=None)
    >>> mean = XSection({"Mean": oop.mean("Pos")}, oop.Order("Time", group_by="Sid"), 5, 5, groups=["a", "b"])
    >>> mean(s).run().to_table().to_pylist()
    [{'Time': 0, 'Mean': 5.0}, {'Time': 5, 'Mean': 6.0}]
    """

    def __init__(
        self,
        F: Mapping[str, Function],
        assuming: Order,
        size: Duration,
        advance: Duration | Expr,
        timeout: Duration | None = None,
        *,
        offset: Duration = 0,
        groups: Iterable[Any] | None = None,
        idle: Duration | None = None,
    ) -> None:
        super().__init__(F, assuming, size, advance, timeout, offset=offset)
        if not assuming.group_by:
            raise wrong(
                "XSection works across the streams of a composite one, told apart by the order",
                "write oop.Order(…, group_by='Sid')",
            )
        if assuming.on == TUP:
            raise wrong(f"rows of different groups have no common {TUP}", "take an order on an attribute")
        self.assume = Assume(assuming, groups, idle)

    def __call__(self, stream: Stream) -> Stream:
        assumed = self.assume(stream)
        node = assumed.flow.node
        promised = frontiers(node, could_promise(node))[id(node)]
        if promised.bound(self.order.on) is None and self.timeout is None:
            raise NeverEmits(
                "XSection closes a window when every group has passed it, and it is not known which groups there are",
                at=user_line(),
                hint="name them with groups=[…], retire silent ones with idle=…, or punctuate=oop.at_end()",
            )
        return self._aggregated(assumed, ())
