"""Chooses among the implementations of the kernels: `OOP_KERNELS=reference|jit|native`.

By default native is used if the compiled module can be imported. Otherwise jit is used, or reference where numba is
missing, with one warning. Only the chosen package is imported, so the other kernels do not load numba.

>>> kernels("reference").name
'reference'
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from types import SimpleNamespace
from typing import Any

from oop.kernels.checks import KernelError
from oop.kernels.signatures.aggregates import AggregateKernels
from oop.kernels.signatures.buffers import BufferKernels
from oop.kernels.signatures.first import FirstKernels
from oop.kernels.signatures.flush import FlushKernels
from oop.kernels.signatures.groups import GroupKernels
from oop.kernels.signatures.joins import JoinKernels
from oop.kernels.signatures.late import LateKernels
from oop.kernels.signatures.moments import MomentKernels
from oop.kernels.signatures.objects import ObjectKernels
from oop.kernels.signatures.partition import PartitionKernels
from oop.kernels.signatures.programs import ProgramKernels
from oop.kernels.signatures.repeats import RepeatKernels
from oop.kernels.signatures.results import ResultKernels
from oop.kernels.signatures.runs import RunKernels
from oop.kernels.signatures.sessions import SessionKernels
from oop.kernels.signatures.stem import Declared, declared_in
from oop.kernels.signatures.summary import SummaryKernels
from oop.kernels.signatures.sums import SumKernels
from oop.kernels.signatures.windows import WindowKernels
from oop.kernels.signatures.words import KeyWordKernels

NAMES = ("reference", "jit", "native")
INSTALL_HINT = "install a C compiler and run `pip install --force-reinstall --no-cache-dir oop`"


class Kernels(
    AggregateKernels,
    BufferKernels,
    FirstKernels,
    FlushKernels,
    GroupKernels,
    JoinKernels,
    KeyWordKernels,
    LateKernels,
    MomentKernels,
    ObjectKernels,
    PartitionKernels,
    ProgramKernels,
    RepeatKernels,
    ResultKernels,
    RunKernels,
    SessionKernels,
    SummaryKernels,
    SumKernels,
    WindowKernels,
):
    """All kernels, with the bodies of the implementation called `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.run = SimpleNamespace()
        self.finds_outside = getattr(importlib.import_module(f"oop.kernels.{name}"), "FINDS_OUTSIDE", False)
        for kernel in declared_in(Kernels):
            if not kernel.shared:
                setattr(self if kernel.is_class else self.run, kernel.name, find_body(name, kernel))


def find_body(name: str, kernel: Declared) -> Any:
    """The body of a kernel in one implementation: it has the same name, in the file of the same stem."""
    try:
        return getattr(importlib.import_module(f"oop.kernels.{name}.{kernel.stem}"), kernel.name)
    except (AttributeError, ModuleNotFoundError) as error:
        file = f"kernels/{name}/{kernel.stem}.py"
        if isinstance(error, ModuleNotFoundError) and error.name != f"oop.kernels.{name}.{kernel.stem}":
            raise
        raise KernelError(f"the kernel {kernel.name} has no body in {file}", hint=f"write it in {file}") from error


def kernels(name: str | None = None) -> Kernels:
    """The kernels of one implementation; by default the one that `OOP_KERNELS` names, else the fastest.

    >>> import numpy as np
    >>> kernels("reference").select_below(np.array([5, 1, 3]), 4).tolist()
    [1, 2]
    """
    name = name or os.environ.get("OOP_KERNELS") or None
    if name is not None and name not in NAMES:
        raise KernelError(f"OOP_KERNELS={name!r} names no kernels", hint=f"use one of {', '.join(NAMES)}")
    return _load_default() if name is None else _load_kernels(name)


@functools.cache
def _load_kernels(name: str) -> Kernels:
    try:
        return Kernels(name)
    except ImportError as error:
        hint = INSTALL_HINT if name == "native" else "pip install numba"
        raise KernelError(f"OOP_KERNELS={name}, but it cannot be imported: {error}", hint=hint) from error


@functools.cache
def _load_default() -> Kernels:
    try:
        return _load_kernels("native")
    except KernelError as error:
        missing = error.__cause__
    try:
        chosen = _load_kernels("jit")
    except KernelError:
        chosen = _load_kernels("reference")
    slower = "Numba" if chosen.name == "jit" else "NumPy"
    warnings.warn(
        f"oop runs on its {slower} kernels, since its compiled ones cannot be imported ({missing}); "
        f"{INSTALL_HINT}, or set OOP_KERNELS={chosen.name} to say that this is meant",
        RuntimeWarning,
        stacklevel=3,
    )
    return chosen
