"""Operators whose rows wait for a promise, from what a user writes: `Stream.sort`, `Stream.dedup`, `Stream.number`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oop.errors import SchemaMismatch, UnknownColumn, WrongArgument
from oop.operators.core.times import check_time_type, duration_in, is_whole
from oop.operators.dedup.dedup import KEEP, Dedup
from oop.operators.rows.sort import Sort
from oop.punctuation.durations import Duration
from oop.streams.windowed import promised_keys

if TYPE_CHECKING:
    from oop.streams.stream import Stream


def make_sort(stream: Stream, ties: Sequence[str], on: str | None) -> Sort:
    time = time_of(stream, on, "say .sort(…, on=…)")
    check_columns(stream, ties)
    return Sort(time, tuple(ties))


def make_dedup(stream: Stream, keys: Sequence[str], keep: str, within: Duration | None) -> Dedup:
    if keep not in KEEP:
        raise ValueError(f"keep is one of {', '.join(KEEP)}, not {keep!r}")
    check_columns(stream, keys)
    if within is None:
        chosen = tuple(keys or stream.schema.names)
        on = promised_keys(stream, chosen)
        # by the time first, if it is promised about: slices are by the first
        return Dedup(chosen, keep, tuple(sorted(on, key=lambda k: k != stream.time)), stream.time)
    time = time_of(stream, None, "dedup within a span a stream whose time is known")
    span = duration_in(within, stream.schema.field(time).type)
    if not 0 <= span < math.inf:
        raise ValueError(f"within is a span of time, not {within!r}")
    if is_whole(stream.schema.field(time).type) and span >= 2**63:
        raise WrongArgument(f"within={within!r} does not fit 64-bit times", hint="give a smaller one")
    chosen = tuple(keys or (name for name in stream.schema.names if name != time))
    return Dedup(chosen, keep, (time,), time, span)


def time_of(stream: Stream, on: str | None, advice: str) -> str:
    """The attribute to go by: the stream's time, if no other is named."""
    time = stream.time if on is None else on
    if time is None:
        raise SchemaMismatch(
            "the stream has no one time to go by", hint=f"{advice}: one of {', '.join(stream.schema.names)}"
        )
    check_columns(stream, [time])
    check_time_type(time, stream.schema.field(time).type)
    return time


def check_columns(stream: Stream, names: Sequence[str]) -> None:
    """Are these different columns of the stream?"""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns are named, not {name!r}: make one with .with_columns(…) first")
        if name not in stream.schema.names:
            raise UnknownColumn.of(name, stream.schema.names)
    if len(set(names)) < len(names):
        raise SchemaMismatch(f"a column is named twice: {', '.join(names)}")
