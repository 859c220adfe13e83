"""A value that is computed when it is first asked for, without a lock.

`functools.cached_property` of Python 3.11 has one lock for all instances of a class: threads that close windows would
wait for each other, and a child process that is forked while one of them computes would wait for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """A property that is computed once and kept. Two threads that ask at the same time may both compute it, but both
    get the same value.

    >>> class Circle:
    ...     @once
    ...     def area(self):
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.14, 3.14)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._compute(instance))
