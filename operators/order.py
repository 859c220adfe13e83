"""Order: what Aurora's order-sensitive operators assume of their input (papers/000, section 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TUP = "Tup#"
"""The virtual attribute that maps consecutive rows to consecutive integers, from 0 (footnote 4)."""


@dataclass(frozen=True, init=False)
class Order:
    """Rows are expected in ascending order of ``on``; one is *out of order by n* if more than n rows before it are
    greater. With ``group_by`` the rows of each group are looked at apart. What is out of order by more than ``slack``
    is set aside by whoever assumes this.

    ``on`` may be ``"Tup#"``, the order of arrival itself.

    >>> Order("Time", slack=1, group_by="Sid")
    Order(on='Time', slack=1, group_by=('Sid',))
    """

    on: str
    slack: int
    group_by: tuple[str, ...]

    def __init__(self, on: str, slack: int = 0, group_by: str | Iterable[str] = ()) -> None:
        if not isinstance(on, str):
            raise TypeError(f"an order is on a column, named by text, not on {on!r}")
        if not isinstance(slack, int) or isinstance(slack, bool):
            raise TypeError(f"slack is a whole number of rows, not {slack!r}")
        if slack < 0:
            raise ValueError(f"slack is 0 rows or more, not {slack}")
        groups = (group_by,) if isinstance(group_by, str) else tuple(group_by)
        if not all(isinstance(name, str) for name in groups):
            raise TypeError(f"group_by names columns, not {group_by!r}")
        if len(set(groups)) < len(groups):
            raise ValueError(f"group_by names a column twice: {', '.join(groups)}")
        if on in groups:
            raise ValueError(f"an order on {on!r} cannot be by {on!r} itself")
        if on == TUP and slack:
            raise ValueError(f"rows arrive in the order of {TUP}: it has no slack")
        for name, value in (("on", on), ("slack", slack), ("group_by", groups)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        slack = f", slack {self.slack}" if self.slack else ""
        groups = f", by {', '.join(self.group_by)}" if self.group_by else ""
        return f"order on {self.on}{slack}{groups}"
