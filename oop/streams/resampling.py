"""Makes the spec of `Stream.resample` from a user's arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from oop.errors import SchemaMismatch, TimeError, WrongArgument
from oop.operators.core.times import duration_in, is_whole
from oop.operators.functions.function import Function
from oop.operators.resample.resample import Resample
from oop.plan.flow import Flow
from oop.plan.graph import PROBES, could_promise, frontiers
from oop.punctuation import Frontier
from oop.punctuation.durations import Duration, show
from oop.streams.joining import comparable, two
from oop.streams.locating import AtUsersLine
from oop.streams.waiting import check_distinct, time_of


def resampled(
    left: Flow,
    right: Flow,
    within: Duration,
    by: str | Iterable[str] | None,
    times: tuple[str, str] | None,
    aggregates: Mapping[str, Function],
) -> Flow:
    with AtUsersLine():
        spec = _make_resample(left, right, within, by, times, aggregates)
    return left.then(spec, f".resample({', '.join(aggregates)})", time=spec.left, others=[right])


def _make_resample(
    left: Flow,
    right: Flow,
    within: Duration,
    by: str | Iterable[str] | None,
    times: tuple[str, str] | None,
    aggregates: Mapping[str, Function],
) -> Resample:
    first, second = (None, None) if times is None else two("times", times, "left, right")
    advice = "say .resample(…, times=(left, right))"
    on = time_of(left, first, advice), time_of(right, second, advice)
    types = left.schema.field(on[0]).type, right.schema.field(on[1]).type
    if not comparable(*types):
        raise SchemaMismatch(
            f"the times {on[0]!r} of type {types[0]} and {on[1]!r} of type {types[1]} cannot be compared",
            hint="cast one of them with .with_columns(…) first",
        )
    size = duration_in(within, types[0])
    if not 0 <= size < math.inf:
        raise WrongArgument(f"within is a span of time, not {within!r}", hint="write 60, or '1h'")
    if is_whole(types[0]) and size >= 2**63:
        raise WrongArgument(f"within={within!r} does not fit 64-bit times", hint="give a smaller one")
    keys = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    check_distinct(right, keys)
    spec = Resample(keys, (), on, size, show(within), _what_stays(left, right, on))
    pairs = spec.pair_schema([left.schema, right.schema])
    functions = []
    for name, function in aggregates.items():
        if not isinstance(function, Function):
            raise WrongArgument(f"{name} is not an aggregate: {function!r}", hint="write oop.mean('Pos')")
        if function.keeps_account:
            raise SchemaMismatch(f"{name}={function} is known for windows of time and rows only")
        function = function.by_default(on[1]).in_window(None)
        function.type(pairs)  # checked here, before columns are added that are not the user's
        functions.append((name, function))
    return replace(spec, aggregates=tuple(functions))


def _what_stays(left: Flow, right: Flow, on: tuple[str, str]) -> str:
    """Text that names the rows that only the end would free: right rows if the left promises nothing about all rows,
    left rows if the right promises nothing."""
    found = []
    if not _is_promised(left, on[0]):
        found.append(f"right rows stay until the left ends: nothing is promised about {on[0]} of all its rows")
    if not _is_promised(right, on[1]):
        found.append(f"left rows stay until the right ends: nothing is promised about {on[1]} of all groups")
    return "; ".join(found)


def _is_promised(flow: Flow, attribute: str) -> bool:
    for bound in PROBES:
        try:
            promised: Frontier = frontiers(flow.node, could_promise(flow.node, bound))[id(flow.node)]
        except TimeError:  # no window can reach this trial bound
            return True
        if promised.bound(attribute) is not None:
            return True
    return False
