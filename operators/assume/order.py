"""Order: what Aurora's order-sensitive operators assume of their input (Aurora paper, section 5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any

from oop.errors import WrongArgument
from oop.kernels.signatures.buffers import MOST_SLACK
from oop.site import user_line

TUP = "Tup#"
"""The virtual attribute that maps consecutive rows to consecutive integers, from 0 (Aurora paper, footnote 4)."""


@dataclass(frozen=True, init=False)
class Order:
    """Rows are expected in ascending order of ``on``. A row is *out of order by n* if more than n rows before it are
    greater. With ``group_by`` each group is judged by itself. An operator that assumes this order sets aside the rows
    that are out of order by ``slack``.

    ``on`` may be ``"Tup#"``, the order of arrival itself.

    >>> Order("Time", slack=1, group_by="Sid")
    Order(on='Time', slack=1, group_by=('Sid',))
    """

    on: str
    slack: int
    group_by: tuple[str, ...]

    def __init__(self, on: str, slack: int = 0, group_by: str | Iterable[str] = ()) -> None:
        if not isinstance(on, str):
            raise _wrong(f"an order is on a column, named by text, not on {on!r}")
        rows, groups = _rows(slack), named_columns(group_by)
        if len(set(groups)) < len(groups):
            raise _wrong(f"group_by names a column twice: {', '.join(groups)}")
        if on in groups:
            raise _wrong(f"an order on {on!r} cannot be by {on!r} itself")
        if on == TUP and rows:
            raise _wrong(f"rows arrive in the order of {TUP}: it has no slack")
        for name, value in (("on", on), ("slack", rows), ("group_by", groups)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        slack = f", slack {self.slack}" if self.slack else ""
        groups = f", by {', '.join(self.group_by)}" if self.group_by else ""
        return f"order on {self.on}{slack}{groups}"


def _rows(slack: Any) -> int:
    """The slack as a checked whole number of rows. NumPy's integers are accepted, too."""
    try:
        rows = index(slack)
    except TypeError:
        rows = None
    if rows is None or isinstance(slack, bool):
        raise _wrong(f"slack is a whole number of rows, not {slack!r}")
    if rows < 0:
        raise _wrong(f"slack is 0 rows or more, not {rows}")
    if rows > MOST_SLACK:
        raise _wrong(f"slack is at most {MOST_SLACK} rows, not {rows}")
    return rows


def named_columns(group_by: Any) -> tuple[str, ...]:
    """The columns of a ``group_by``: one by its name, or several.

    >>> named_columns("Sid"), named_columns(["Sid", "Pos"])
    (('Sid',), ('Sid', 'Pos'))
    """
    names = (group_by,) if isinstance(group_by, str) or not isinstance(group_by, Iterable) else tuple(group_by)
    if not all(isinstance(name, str) for name in names):
        raise _wrong(f"group_by names columns, not {group_by!r}")
    return names


def _wrong(what: str) -> WrongArgument:
    return WrongArgument(what, at=user_line(), hint="write oop.Order('Time', slack=2, group_by='Sid')")
