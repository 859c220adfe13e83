"""Bounds of many groups in a form of its producer's own, such as arrays, which a frontier takes in without a look at
each group.

A dictionary of bounds costs a look-up for each group wherever it is compared, moved or kept. `ManyBounds` is what comes
with a promise, `KnownBounds` what a frontier keeps of it. Both are mappings too, so that whoever does not know the form
asks for the groups one by one. Where a form cannot do what is asked, it gives None, and the frontier goes on with a
dictionary. `oop.operators.core.numbered_bounds` has the form by arrays.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence

from oop.punctuation.patterns import Bound, Value

_FEW = 16  # with fewer bounds each is moved by itself


class ManyBounds(Mapping[Value, Bound]):
    """The bounds of a promise about many groups. They do not change."""

    @abstractmethod
    def above(self, least: Bound | None) -> ManyBounds | None:
        """Those that are above a bound; all of them if it is None."""

    @abstractmethod
    def moved(self, function: Callable[[Bound], Bound | None]) -> Mapping[Value, Bound]:
        """Their images under an increasing function, without groups whose bounds have none."""

    @abstractmethod
    def within(self, groups: Collection[Value]) -> Mapping[Value, Bound]:
        """Those of some groups."""

    @abstractmethod
    def greatest(self) -> Bound: ...

    @abstractmethod
    def known(self, others: Mapping[Value, Bound]) -> KnownBounds | None:
        """Bounds to be kept in this form, for a frontier that knows these ``others``."""


class KnownBounds(MutableMapping[Value, Bound]):
    """The bounds of groups that a frontier keeps."""

    @abstractmethod
    def rise(self, bounds: ManyBounds, least: Bound | None) -> ManyBounds | None:
        """Take bounds in; return those that are new. All groups have at least the bound ``least``."""

    @abstractmethod
    def can_keep(self, bounds: Mapping[Value, Bound]) -> bool:
        """Do these bounds fit this form?"""

    @abstractmethod
    def drop_up_to(self, least: Bound) -> bool:
        """Forget bounds that are not above ``least``; False if that cannot be told."""

    @abstractmethod
    def copy(self) -> KnownBounds: ...


def most_of(bounds: Mapping[Value, Bound]) -> Bound:
    """The greatest of the bounds.

    >>> most_of({"A": 5, "B": 7})
    7
    """
    return bounds.greatest() if isinstance(bounds, ManyBounds) else max(bounds.values())


def images_of(bounds: Sequence[Bound], function: Callable[[Bound], Bound | None]) -> list[tuple[int, Bound | None]]:
    """The images of bounds under an increasing function. The bounds rise, and the result has the place from which on
    each image holds.

    Many bounds have few images where they become windows. If two bounds have the same image, so has every bound between
    them, because the function increases. So ends of stretches are compared, and what is between them is halved.

    >>> images_of(range(100), lambda bound: bound // 40)
    [(0, 0), (40, 1), (80, 2)]
    """

    def image(bound: Bound) -> Bound | None:
        return bound if math.isinf(bound) else function(bound)

    middle = len(bounds) // 2
    if len(bounds) < _FEW or len({image(bound) for bound in bounds[middle - 1 : middle + 2]}) == 3:
        return list(enumerate(map(image, bounds)))
    found = [(0, image(bounds[0]))]
    open_ = [(0, len(bounds) - 1, found[0][1], image(bounds[-1]))]  # stretches, with the images of their ends
    while open_:
        first, last, low, high = open_.pop()
        if low == high and low is not None:
            continue
        if last - first == 1:
            found.append((last, high))
            continue
        middle = (first + last) // 2
        at = image(bounds[middle])
        open_ += [(middle, last, at, high), (first, middle, low, at)]
    return found
