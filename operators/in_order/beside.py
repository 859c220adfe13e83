"""Promises that cross a buffer of an in-order plan about attributes other than the one that orders it.

A row that waits may be below a bound that its input has promised on another attribute. So a promise about that
attribute goes no further than the least value among the held rows, and grows when they leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from oop.operators.core.lowering import held_values
from oop.operators.core.ports import Ports
from oop.operators.rows.ordered_rows import without_place
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.crossing import Crossing
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import carry


class InBuffer(Crossing):
    """How promises cross a buffer of ``ports`` inputs whose rows leave in order of ``on``. What all ports promise about
    ``on`` and the attributes ``beside`` it crosses. Promises about groups do not, because the rows of a group that is
    ahead wait for the others."""

    def __init__(self, ports: int, on: str, beside: Sequence[str]) -> None:
        self.ports = ports
        self.on, self.beside = on, beside

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        return carry(Frontier.meet(frontiers), {name: [(name, None)] for name in (self.on, *self.beside)}, {})

    def interests(self, wanted: Sequence[Interest]) -> list[list[Interest]]:
        """The interests have no steps: how far a bound will be lowered is not known beforehand, so the steps of the
        consumers cannot be carried back."""
        found = [Interest(self.on, by=())]
        for interest in wanted:
            used = [name for name in (self.on, *self.beside) if name in interest.uses]
            if used and used != [self.on]:
                found.append(Interest(used, by=()))
        return [list(found) for _ in range(self.ports)]


class Beside:
    """The promises of such a buffer. ``lowered`` says whether one was lowered, so that rows which leave may raise
    it."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports
        self.lowered = True  # also after a load, when it is not known
        self._known: dict[tuple[int, str], tuple[pa.RecordBatch, Bound]] = {}

    def promises(self, held: Sequence[pa.RecordBatch]) -> Iterator[Punctuation]:
        """The new promises that can be made while these rows are held."""
        ports, known, self.lowered = self.ports, self._known, False
        self._known = {}
        for promise in ports.translated().promises():
            if ports.out.covers(promise) and not promise.is_end:
                continue
            least = {name: self._least(held, name, known) for name in promise.below}
            for image in _images(promise, least):
                self.lowered |= image is not promise
                if ports.out.advance(image):
                    yield image

    def _least(
        self, held: Iterable[pa.RecordBatch], name: str, known: dict[tuple[int, str], tuple[pa.RecordBatch, Bound]]
    ) -> Bound:
        """The least value that is held. It is cached by batch, because rows leave only from the first ones. A cached
        batch is kept alive, so that no other batch gets its id."""
        found: Bound = math.inf
        for rows in held:
            key = id(rows), name
            least = known.get(key) or self._known.get(key) or (rows, _least_of(rows.column(name)))
            self._known[key] = least
            found = min(found, least[1])
        return found


def _images(promise: Punctuation, least: dict[str, Bound]) -> list[Punctuation]:
    """The promise itself if no held row matches it; else one promise for each attribute that is lowered.

    >>> _images(Punctuation({"start": 5}), {"start": 3})
    [Punctuation(start < 3)]
    >>> _images(Punctuation({"start": 5, "end": 9}), {"start": 3, "end": 9})
    [Punctuation(start < 5, end < 9)]
    """
    short = {name: first for name, first in least.items() if first < promise.below[name]}
    if promise.is_end or len(short) < len(promise.below):
        return [promise]
    return [Punctuation({**promise.below, name: first}) for name, first in short.items() if first > -math.inf]


def _least_of(values: pa.Array) -> Bound:
    apart = without_place(values)  # null and NaN are below nothing
    if apart is not None:
        values = values.filter(pc.invert(apart))
    found: Bound = held_values(values).min().item() if len(values) else math.inf
    return found
