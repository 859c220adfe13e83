"""`Stream.emit`: an aggregate in a plan that also shows what it has so far."""

from __future__ import annotations

from oop.errors import OopError, SchemaMismatch
from oop.operators.aggregate.emit import ON_CHANGE, ON_CLOSE, Emit
from oop.operators.core.times import duration_in
from oop.plan.flow import Flow
from oop.plan.graph import make_node
from oop.punctuation.durations import Duration, show
from oop.site import user_line


def emitting(flow: Flow, when: str | None, every: Duration | None, rows: int | None) -> Flow:
    """The flow with its last operator showing early results, at the times that the arguments name."""
    node, site = flow.node, user_line()
    if [when, every, rows].count(None) != 2:
        raise ValueError('emit takes "on_close", "on_change", every=… or rows=…, one of them')
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
        raise ValueError(f"rows= is a number of at least 1, not {rows!r}")
    if when not in (None, ON_CLOSE, ON_CHANGE):
        raise ValueError(f"emit takes {ON_CLOSE!r} or {ON_CHANGE!r}, not {when!r}")
    try:
        on, _ = node.spec.early()
    except TypeError:
        raise SchemaMismatch(
            f"{node.call} has no results so far that could be shown", at=site, hint="put .emit(…) right behind .agg(…)"
        ) from None
    step, text = None, when or f"after {rows} rows"
    if every is not None:
        if on is None:
            raise SchemaMismatch("there is no time that every= could count on", at=site, hint='say .emit("on_change")')
        step = duration_in(every, node.input_schemas()[0].field(on).type)
        text = f"every {show(every)}"
        if step <= 0:
            raise ValueError(f"every= must be greater than 0, not {show(every)}")
    try:
        spec = Emit(node.spec, when or "", step, text, rows)
        shown = make_node(spec, node.inputs, node.site, f"{node.call}.emit(…)")
    except OopError as wrong:
        raise wrong.located(site) from None
    return Flow(shown, flow.time)
