"""Sessions: rows that follow one another within a gap."""

from __future__ import annotations

import pyarrow as pa

from oop.errors import OopError
from oop.frozen import frozen
from oop.operators.core.times import duration_in
from oop.operators.groups.store_operator import NamedAggregates
from oop.operators.session.session import Session
from oop.operators.source.input import Input
from oop.plan.flow import Flow
from oop.plan.graph import sources
from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound
from oop.site import user_line
from oop.windows.window import Window, duration, edge_type


@frozen()
class SessionWindow(Window):
    """Rows of a group whose times differ by at most the gap."""

    gap: Duration

    def units(self, time: pa.DataType) -> Bound:
        """The gap in the units of a time column of this type; ValueError if it is not positive there."""
        gap = duration_in(self.gap, time)
        if gap <= 0:
            raise ValueError(f"the gap of a session must be greater than 0, not {gap}")
        return gap

    def check(self, time: pa.DataType) -> None:
        self.units(time)

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        for name, function in functions:
            if not function.can_merge:
                raise OopError(
                    f"{name}={function} has no merge, and a session needs it: a row may bridge two sessions into one",
                    at=user_line(),
                    hint="give the aggregate a merge, or use windows whose edges are known, such as oop.tumbling(…)",
                )
        time = flow.schema.field(on).type
        admits = any(isinstance(n.spec, Input) and n.spec.late == "admit" for n in sources(flow.node))
        spec = Session(keys, functions, self.units(time), on, edge_type(time), show(self.gap), admits)
        return flow.then(spec, call, time="window_start")

    def __str__(self) -> str:
        return f"session {show(self.gap)}"


def session(gap: Duration) -> SessionWindow:
    """Sessions of each group: rows that follow one another within the gap, also at a distance equal to it.

    ``window_start`` is the first row's time, ``window_end`` the last row's time plus the gap.

    >>> import oop
    >>> visits = pa.table({"ts": [1, 4, 20, 7], "user": ["ann"] * 4})
    >>> s = oop.source(visits, time="ts", punctuate=oop.slack(13))
    >>> s.window(oop.session(3)).group_by("user").agg(n=oop.count()).run().to_table().to_pylist()[0]
    {'window_start': 1, 'window_end': 10, 'user': 'ann', 'n': 3}
    """
    return SessionWindow(duration("the gap of a session", gap))
