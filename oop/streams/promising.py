"""Which promises pass a place of a plan: `Stream.describe`, `Stream.each_window`."""

from __future__ import annotations

from collections.abc import Sequence

from oop.errors import SchemaMismatch
from oop.operators.aggregate.each_window import each_window
from oop.operators.passing.describe import by_hand
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration
from oop.streams.locating import AtUsersLine


def described_by_hand(flow: Flow, attributes: tuple[str, ...], by: str | Sequence[str], every: Duration | None) -> Flow:
    with AtUsersLine():
        names = attributes or (() if flow.time is None else (flow.time,))
        if not names:
            raise SchemaMismatch("the stream has no one time to describe", hint='name attributes: .describe("ts")')
        spec = by_hand(names, (by,) if isinstance(by, str) else tuple(by), every, flow.schema)
    return flow.then(spec, f".describe({', '.join(names)})", time=flow.time)


def window_by_window(flow: Flow, on: str) -> Flow:
    with AtUsersLine():
        spec = each_window(on, flow.schema)
    return flow.then(spec, ".each_window()", time=flow.time)
