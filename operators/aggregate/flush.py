"""How the low-level half of two-level aggregation lets its aggregates go (OOP paper, section 6)."""

from __future__ import annotations

from oop.errors import WrongArgument
from oop.frozen import frozen
from oop.site import user_line

MOST_SLOTS = 2**28
_FIGURE_9 = 160, 2
"""i and m of the paper's experiment G1."""


@frozen()
class Flush:
    """A discipline: ``slots`` of the table (None: sized by what is seen), one old aggregate every ``i`` rows (0: none),
    results at most ``m`` windows late. Made by `lazy_flush` and `slow_flush`.

    >>> Flush(slots=8, m=1) == lazy_flush(slots=8, m=1)
    True
    """

    slots: int | None = None
    i: int = 0
    m: int = 0
    next_slot: bool = False

    def __str__(self) -> str:
        size = "sized as it runs" if self.slots is None else f"{self.slots:,} slots"
        late = "no window late" if not self.m else f"at most {self.m} window{'s' * (self.m > 1)} late"
        every = "every row" if self.i == 1 else f"every {self.i} rows"
        return f"{f'slow-flush {every}' if self.i else 'lazy-flush'}, {size}, {late}"


def lazy_flush(*, m: int = _FIGURE_9[1], slots: int | None = None, next_slot: bool = False) -> Flush:
    """Old aggregates leave when others need their slots, without work of its own, and at most ``m`` windows late.

    ``slots`` is the size of the table; None: it is sized by what it sees. With ``next_slot`` an aggregate may also be
    in the slot behind its own (the paper's footnote 1).

    >>> print(lazy_flush(slots=1024))
    lazy-flush, 1,024 slots, at most 2 windows late
    """
    return Flush(_slots(slots), 0, _number("m", m, 0), bool(next_slot))


def slow_flush(
    *, i: int = _FIGURE_9[0], m: int = _FIGURE_9[1], slots: int | None = None, next_slot: bool = False
) -> Flush:
    """The oldest aggregate leaves every ``i`` rows, each at most ``m`` windows late: the burst at the end of a window
    is spread over the next ones, and one window after the other is complete.

    In order (``run(order="iop")``) it is the slow-flush of figure 7, which visits a slot with each row, whatever ``i``
    and ``m`` are. The other parameters are those of `lazy_flush`.

    >>> print(slow_flush(slots=1024, i=10, m=1))
    slow-flush every 10 rows, 1,024 slots, at most 1 window late
    """
    return Flush(_slots(slots), _number("i", i, 1), _number("m", m, 0), bool(next_slot))


def check_flush(flush: Flush) -> None:
    """Refuse numbers that `lazy_flush` and `slow_flush` would not have taken: it may have been made without them."""
    _slots(flush.slots)
    _number("i", flush.i, 0)
    _number("m", flush.m, 0)


def _slots(slots: int | None) -> int | None:
    return None if slots is None else _number("slots", slots, 1, MOST_SLOTS)


def _number(name: str, value: int, least: int, most: int = 2**31 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise WrongArgument(
            f"{name} is a whole number from {least} to {most:,}, not {value!r}",
            at=user_line(),
            hint="oop.lazy_flush(m=2, slots=65_536)",
        )
    return value
