"""`oop.source`: a stream from data and a policy that says how it comes to promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch, SourceError, UnknownColumn
from oop.io.data import Data
from oop.io.low_water import with_exact
from oop.io.lulls import Lull
from oop.io.opening import open_data
from oop.io.policies import fitted
from oop.operators.core.group_values import check_type, of_value
from oop.operators.source.input import LATE_MODES, NULL_MODES, Input
from oop.operators.source.stamping import with_arrival
from oop.plan.flow import Flow
from oop.plan.graph import make_node
from oop.punctuation import Policy
from oop.punctuation.encoding import dumps
from oop.punctuation.policy import by_attribute
from oop.site import user_line
from oop.streams.stream import Stream


def source(
    data: Any,
    *,
    time: str,
    punctuate: Policy | Mapping[str, Policy] | None,
    name: str | None = None,
    late: str = "drop",
    nulls: str = "raise",
    schema: pa.Schema | None = None,
    channel: str | None = None,
    channels: Sequence[Any] | None = None,
    progress: Callable[[], Any] | None = None,
) -> Stream:
    """A stream from files, Arrow data, or an iterable of batches and promises.

    ``punctuate`` says how the stream comes to promise about its ``time``; a mapping says it of several attributes.
    ``late`` is what happens to a row that breaks a promise: ``"drop"`` (out of the results, kept in ``Run.late``),
    ``"raise"`` or ``"admit"``. ``nulls`` is what happens to a row without a time: ``"raise"`` or ``"aside"``. A column
    with the policy `oop.arrival` is not in the data: rows are stamped with the clock.

    A Spark DataFrame may come through several channels: ``channel`` is the column that tells them apart (the partition
    of a Kafka topic), each of which makes its own promises; the stream promises what all of them do. ``channels`` are
    those that are known to exist: until each has spoken, nothing is promised.

    ``progress`` is called while a live input has nothing to read, to ask how far it is: it returns a bound on the time
    (a number in the column's unit, or a datetime), a promise, or None. The answer holds of all rows that the input
    gives from then on; a row that breaks it is late. A separate thread reads the input.

    >>> import oop
    >>> table = pa.table({"ts": [1, 2, 12], "len": [40, 60, 50]})
    >>> packets = oop.source(table, time="ts", punctuate=oop.ordered())
    >>> packets.schema.names
    ['ts', 'len']
    """
    site = user_line()
    if late not in LATE_MODES:
        raise ValueError(f"late is one of {', '.join(LATE_MODES)}, not {late!r}")
    if nulls not in NULL_MODES:
        raise ValueError(f"nulls is one of {', '.join(NULL_MODES)}, not {nulls!r}")
    try:
        _check_progress(progress)
        lull = None if progress is None else Lull()
        read = open_data(data, schema=schema, lull=lull)
        if progress is not None:
            read = _with_progress(read, progress, lull)
        if channel is not None or channels is not None:
            read = _with_channels(read, channel, channels)
        given = by_attribute(punctuate, time)
        rows = with_arrival(read.schema, given.items())
        if time not in rows.names:
            raise UnknownColumn.of(time, rows.names)
        read, punctuate = with_exact(read, punctuate, time)
        policies = _policies(punctuate, time, rows, read.kind)
    except OopError as wrong:
        raise wrong.located(site) from wrong.__cause__
    text = ", ".join(str(p) if a == time else f"{a}: {p}" for a, p in given.items())
    spec = Input(name or read.label, time, policies, late, nulls, text, polled=progress is not None)
    return Stream(Flow(make_node(spec, (), site, f"oop.source({read.label!r})", read), time))


def _check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise TypeError(f"progress= is called to ask how far the source is: it is not {progress!r}")


def _with_progress(read: Data, progress: Callable[[], Any], lull: Lull | None) -> Data:
    """The input with ``progress``. A thread reads it and notes its lulls, unless the engine reads it itself (a
    ring)."""
    if read.kind != "live" or read.frame is not None:
        raise SourceError(
            f"progress= asks an input that may have nothing to read, and the {read.label} lies there whole",
            hint="leave it out: oop.ordered(), oop.slack(…) and oop.punctuated() go by the data",
        )
    read.progress = progress
    read.lull = None if read.ring is not None else lull
    return read


def _with_channels(read: Data, channel: str | None, channels: Sequence[Any] | None) -> Data:
    if read.frame is None:
        raise SourceError(
            "channel= is for Spark DataFrames", hint="give each channel as a source of its own, and oop.union them"
        )
    if channel is None:
        raise ValueError("channels= goes with channel=")
    if channel not in read.schema.names:
        raise UnknownColumn.of(channel, read.schema.names)
    type_ = read.schema.field(channel).type
    check_type(type_)
    if pa.types.is_floating(type_):
        raise SchemaMismatch(f"the channel column {channel!r} is {type_}", hint="use a column of whole numbers or text")
    return replace(read, channel=channel, channels=tuple(dumps(of_value(c, type_)) for c in channels or ()))


def _policies(
    punctuate: Policy | Mapping[str, Policy] | None, time: str, schema: pa.Schema, kind: str
) -> tuple[tuple[str, Policy], ...]:
    """Each attribute with its policy, whose durations are in that attribute's unit."""
    found: list[tuple[str, Policy]] = []
    for attribute, policy in by_attribute(punctuate, time).items():
        fit = fitted(policy, attribute, schema)
        if policy.clocked and kind != "live":
            raise ValueError(
                "timer() goes by the wall clock, but this input is data of the past: every row would be late; "
                "use ordered(), slack(…) or at_end()"
            )
        found.append((attribute, fit))
    if sum(p.carried for _, p in found) > 1:
        raise ValueError("one punctuated(on=[…]) names all attributes that the data promises about")
    return tuple(found)


def union(first: Stream, *others: Stream) -> Stream:
    """The rows of all streams, as they come.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    >>> oop.union(s, s, s).run().to_table().num_rows
    6
    """
    return first.union(*others)
