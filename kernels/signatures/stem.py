"""What the declarations of kernels have in common, and how their names are found.

>>> from oop.kernels.signatures.repeats import RepeatKernels
>>> [(kernel.stem, kernel.name) for kernel in declared_in(RepeatKernels)]
[('repeats', 'select_new'), ('repeats', 'begin_spans')]
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from oop.frozen import frozen
from oop.kernels.checks import INT64, Ints, check_array, check_ids

Method = TypeVar("Method", bound=Callable[..., Any])


class Stem:
    """The kernels of one idea. ``run`` has the bodies of one implementation, by the names of the kernels."""

    run: Any
    finds_outside: bool = False
    """Do bodies find ids and row numbers that are out of range by themselves, in their pass over the rows?"""

    def _check_ids(self, ids: Ints, size: int, length: int | None = None, name: str = "ids") -> None:
        """Check that ids are below ``size``, or leave that to bodies that find it out."""
        if self.finds_outside:
            if ids.__class__ is np.ndarray and ids.dtype == INT64 and ids.ndim == 1 and length in (None, len(ids)):
                return  # as nearly always; else `check_array` says what is wrong
            check_array(name, ids, INT64, length)
        else:
            check_ids(ids, size, length, name)


class KernelWithState(ABC):
    """The base of kernels that are classes: the declaration checks the constructor's arguments, and then calls the
    body's `run_init`."""

    finds_outside: bool = False
    """Does the body find ids and row numbers that are out of range by itself, as for a stem?"""

    @abstractmethod
    def run_init(self) -> None:
        """Begin empty."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes this holds."""


def shared(method: Method) -> Method:
    """Decorates a kernel that is the same for all implementations: its declaration is its body."""
    method.__dict__["shared"] = True
    return method


@frozen()
class Declared:
    """A kernel, the stem that declares it, whether it has state, and whether one body serves all implementations."""

    name: str
    stem: str
    is_class: bool = False
    shared: bool = False


def declared_in(kernels: type[Stem]) -> Iterator[Declared]:
    """The kernels of a class and of its bases: methods, and the classes that annotations name."""
    for base in kernels.__mro__:
        if base is Stem or not issubclass(base, Stem):
            continue
        stem = base.__module__.rpartition(".")[2]
        for name, value in vars(base).items():
            if isinstance(value, FunctionType) and not name.startswith("_"):
                yield Declared(name, stem, shared=hasattr(value, "shared"))
        for name in inspect.get_annotations(base):
            if name[:1].isupper():
                yield Declared(name, stem, is_class=True)
