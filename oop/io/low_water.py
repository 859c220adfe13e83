"""The exact low-water mark of data at hand: before each batch, the least value still to come (OOP paper, Eq. 1).

No row is ever late, and no promise could be stronger. The data is read twice; the first pass finds the least value of
each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SourceError, WrongArgument
from oop.io.data import Data
from oop.io.ipc import InputElement
from oop.kernels import views
from oop.operators.core.group_values import of_column
from oop.punctuation import Policy, Punctuation
from oop.punctuation.group_promises import where
from oop.punctuation.patterns import NotIn, Value
from oop.punctuation.policies import Punctuated
from oop.punctuation.policy import by_attribute


def punctuate_exactly(
    read: Callable[[], Iterable[InputElement]], attributes: Sequence[str], by: tuple[str, ...] = ()
) -> Iterator[InputElement]:
    """The batches with the exact promises between them. Promises of the data are left out, since the exact ones are as
    strong.

    ``read`` gives the same elements at each call.

    >>> batches = [pa.record_batch({"ts": [5, 1]}), pa.record_batch({"ts": [3]}), pa.record_batch({"ts": [9]})]
    >>> [str(e) for e in punctuate_exactly(lambda: batches, ["ts"]) if isinstance(e, Punctuation)]
    ['ts < 1', 'ts < 3', 'ts < 9']
    """
    exact = [_ExactPromises(attribute, ()) for attribute in attributes]
    if by:
        exact += [_ExactPromises(attribute, by) for attribute in attributes]
    for batch in _batches(read()):
        for promises in exact:
            promises.add(batch)
    for number, batch in enumerate(_batches(read())):
        for promises in exact:
            yield from promises.before(number)
        yield batch
    for promises in exact:
        yield from promises.before(len(promises.least))


def _batches(elements: Iterable[InputElement]) -> Iterator[pa.RecordBatch]:
    return (element for element in elements if not isinstance(element, Punctuation))


class _ExactPromises:
    """The exact promises about one attribute: about all rows, or about each group."""

    def __init__(self, attribute: str, by: tuple[str, ...]) -> None:
        self.attribute = attribute
        self.by = by
        self.least: list[dict[Value, Any]] = []  # the least time of each batch, by group
        self.last: dict[Value, int] = {}  # the last batch of each group, even if its rows have no time
        self.promises: list[list[Punctuation]] = []  # before each batch, and after the last

    def add(self, batch: pa.RecordBatch) -> None:
        column = batch.column(self.attribute)
        if not self.by:
            self.least.append(_least(column))
        else:
            values = [of_column(batch.column(name)) for name in self.by]
            groups = values[0] if len(values) == 1 else list(zip(*values, strict=True))
            self.last |= dict.fromkeys(groups, len(self.least))
            self.least.append(_least_by_group(column, groups))

    def before(self, number: int) -> list[Punctuation]:
        """The promises before this batch, once all batches have been added. Before the first batch they are the bounds
        of all groups, later the bounds that the previous batch has raised. A group that is complete gives a promise
        that it has no more rows."""
        if not self.promises:
            self.promises = self._all()
        return self.promises[number]

    def _all(self) -> list[list[Punctuation]]:
        found: list[list[Punctuation]] = [[] for _ in range(len(self.least) + 1)]
        later: dict[Value, Any] = {}
        for i, least in reversed(list(enumerate(self.least))):
            for group, value in least.items():
                bound = later.get(group)
                if bound is None or value < bound:
                    if bound is not None:
                        found[i + 1].append(Punctuation({self.attribute: bound}, self._where(group)))
                    later[group] = value
        found[0] = [Punctuation({self.attribute: bound}, self._where(group)) for group, bound in later.items()]
        for group, i in self.last.items():
            found[i + 1].append(Punctuation({}, self._where(group)))
        if self.last and len(self.by) == 1:  # "no other group" of several columns is no pattern of single columns
            found[0].append(Punctuation({}, {self.by[0]: NotIn(self.last)}))
        return found

    def _where(self, group: Value) -> Mapping[str, Value]:
        return where(self.by, group) if self.by else {}


def _times(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The finite times, and the numbers of their rows."""
    rows, times = np.flatnonzero(views.booleans(column.is_valid())), views.times(column.drop_null())
    if pa.types.is_floating(column.type):
        finite = np.isfinite(times)
        rows, times = rows[finite], times[finite]
    return times, rows


def _least(column: pa.Array) -> dict[Value, Any]:
    times, _ = _times(column)
    return {None: times.min().item()} if len(times) else {}


def _least_by_group(column: pa.Array, groups: Sequence[Value]) -> dict[Value, Any]:
    times, rows = _times(column)
    found: dict[Value, Any] = {}
    for i in np.argsort(times, kind="stable").tolist():
        found.setdefault(groups[rows[i]], times[i].item())
    return found


def with_exact(
    read: Data, punctuate: Policy | Mapping[str, Policy] | None, time: str
) -> tuple[Data, Policy | Mapping[str, Policy] | None]:
    """The input with the promises of ``exact()`` between its batches, and policies that take them from there."""
    given = by_attribute(punctuate, time)
    exact = {attribute: policy for attribute, policy in given.items() if policy.reads_ahead}
    if not exact:
        return read, punctuate
    if read.kind == "live" or read.once or read.frame is not None:
        raise SourceError(
            f"exact() reads its data twice to know what is still to come, and this is a live input ({read.label})",
            hint="pass a list, a table or files, or choose slack(…), ordered() or punctuated()",
        )
    if any(policy.carried for policy in given.values()):
        raise WrongArgument("exact() makes all promises that the data could carry", hint="leave punctuated() out")
    groupings = {policy.columns for policy in exact.values()}
    if len(groupings) > 1:
        raise WrongArgument("exact() for several attributes has one by= for all", hint="give each the same by=")
    attributes, (by,) = tuple(exact), groupings
    source = replace(read, peeked=None)

    def start() -> Iterator[InputElement]:
        return punctuate_exactly(source.elements, attributes, by)

    others = {attribute: policy for attribute, policy in given.items() if attribute not in exact}
    carried = replace(read, start=start, rows=read.count_rows(), plain=None, peeked=None, paths=())
    return carried, {attributes[0]: Punctuated(by=exact[attributes[0]].by, on=attributes), **others}
