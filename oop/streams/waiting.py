"""Makes the specs of operators whose rows wait for a promise: `Stream.sort`, `Stream.dedup`, `Stream.number`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oop.errors import SchemaMismatch, UnknownColumn, WrongArgument
from oop.operators.core.times import check_time_type, duration_in, is_whole
from oop.operators.dedup.dedup import KEEP, Dedup
from oop.operators.expressions.expr import col
from oop.operators.rows.sort import Sort
from oop.operators.source.numbers import SEQ
from oop.plan.flow import Flow
from oop.plan.numbering import numbered, ranked
from oop.punctuation.durations import Duration
from oop.streams.keys import promised_keys
from oop.streams.locating import AtUsersLine


def sorted_in_time(flow: Flow, ties: tuple[str, ...], on: str | None) -> Flow:
    with AtUsersLine():
        spec = _make_sort(flow, ties, on)
    return flow.then(spec, f".sort({', '.join(ties)})", time=flow.time)


def deduplicated(flow: Flow, keys: tuple[str, ...], keep: str, within: Duration | None) -> Flow:
    with AtUsersLine():
        spec = _make_dedup(flow, keys, keep, within)
    return flow.then(spec, f".dedup({', '.join(keys)})", time=flow.time)


def numbered_in_time(flow: Flow, name: str | None) -> Flow:
    with AtUsersLine():
        found = ranked(flow, time_of(flow, None, "number a stream whose time is known"))
    if name is None:
        return found
    columns = [(n, col(n)) for n in flow.schema.names]
    return numbered(found).project([*columns, (name, col(SEQ))], ".number")


def _make_sort(flow: Flow, ties: Sequence[str], on: str | None) -> Sort:
    time = time_of(flow, on, "say .sort(…, on=…)")
    check_distinct(flow, ties)
    return Sort(time, tuple(ties))


def _make_dedup(flow: Flow, keys: Sequence[str], keep: str, within: Duration | None) -> Dedup:
    if keep not in KEEP:
        raise ValueError(f"keep is one of {', '.join(KEEP)}, not {keep!r}")
    check_distinct(flow, keys)
    if within is None:
        chosen = tuple(keys or flow.schema.names)
        on = promised_keys(flow, chosen)
        # the time first, if it is promised about, because slices go by the first
        return Dedup(chosen, keep, tuple(sorted(on, key=lambda k: k != flow.time)), flow.time)
    time = time_of(flow, None, "dedup within a span a stream whose time is known")
    span = duration_in(within, flow.schema.field(time).type)
    if not 0 <= span < math.inf:
        raise ValueError(f"within is a span of time, not {within!r}")
    if is_whole(flow.schema.field(time).type) and span >= 2**63:
        raise WrongArgument(f"within={within!r} does not fit 64-bit times", hint="give a smaller one")
    chosen = tuple(keys or (name for name in flow.schema.names if name != time))
    return Dedup(chosen, keep, (time,), time, span)


def time_of(flow: Flow, on: str | None, advice: str) -> str:
    """The attribute to go by: the stream's time, if no other is named."""
    time = flow.time if on is None else on
    if time is None:
        raise SchemaMismatch(
            "the stream has no one time to go by", hint=f"{advice}: one of {', '.join(flow.schema.names)}"
        )
    check_distinct(flow, [time])
    check_time_type(time, flow.schema.field(time).type)
    return time


def check_distinct(flow: Flow, names: Sequence[str]) -> None:
    """Are these different columns of the stream?"""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns are named, not {name!r}: make one with .with_columns(…) first")
        if name not in flow.schema.names:
            raise UnknownColumn.of(name, flow.schema.names)
    if len(set(names)) < len(names):
        raise SchemaMismatch(f"a column is named twice: {', '.join(names)}")
