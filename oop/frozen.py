"""``@frozen`` is ``@dataclass(frozen=True)`` in less time. That writes and compiles six methods for each class, which
was much of the time of ``import oop``. Three of them can be the same for all classes, and stand here.

This module is in the bottom layer: any module may import it, and it imports nothing of oop.

>>> @frozen()
... class Point:
...     x: int
...     y: int = 0
>>> Point(3), Point(3) == Point(3, 0), len({Point(3), Point(3, 0)})
(Point(x=3, y=0), True, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

ClassT = TypeVar("ClassT", bound=type[Any])


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, repr: bool = True) -> Callable[[ClassT], ClassT]:
    """Make a class as ``@dataclass(frozen=True, eq=eq, repr=repr)`` does. A method that the class has itself stays."""

    def make(cls: ClassT) -> ClassT:
        own = dict(vars(cls))
        made: Any = dataclass(frozen=True, eq=False, repr=False)(cls)
        made._compared = attrgetter("__class__", *(each.name for each in fields(made) if each.compare))
        if repr and "__repr__" not in own:
            made.__repr__ = _shown
        if eq and "__eq__" not in own:
            made.__eq__ = _equal
        if eq and own.get("__hash__") is None:
            made.__hash__ = _hashed
        return made  # type: ignore[no-any-return]

    return make


def _shown(self: Any) -> str:
    inside = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({inside})"


def _equal(self: Any, other: Any) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return bool(self._compared(self) == self._compared(other))


def _hashed(self: Any) -> int:
    return hash(self._compared(self))
