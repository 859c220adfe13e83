"""Chooses among the implementations of the kernels: `OOP_KERNELS=reference|jit|native`.

Without a choice it is native, where the compiled module can be imported, else jit, with one warning. Kernels for
values that are Python objects (decimals, text) are the same for all. Only the chosen module is imported, so that numba
is loaded when, and only when, jit is used.

>>> kernels("reference").name
'reference'
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from oop.kernels import objects, reference
from oop.kernels.checks import Array, Bools, Ints, KernelError, Number
from oop.kernels.reference_sessions import Extended

NAMES = ("reference", "jit", "native")
INSTALL_HINT = "install a C compiler and run `pip install --force-reinstall --no-cache-dir oop`"

Update = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Kernels:
    """One function for each kernel, and the name of the implementation that was chosen.

    The functions are documented in `oop.kernels.reference` and `oop.kernels.objects`.
    """

    name: str
    wid_ranges: Callable[..., tuple[Ints, Ints]]
    select_below: Callable[..., Ints]
    select_not_below: Callable[..., Ints]
    order_slots: Callable[..., tuple[Ints, Ints | None, Ints]]
    scan_times: Callable[..., tuple[bool, Number | None]]
    prefix_bounds: Callable[..., tuple[Array, Number | None]]
    prefix_bounds_rows: Callable[..., tuple[Array, Array]]
    prefix_bounds_by: Callable[..., Array]
    mark_late: Callable[..., Bools]
    pack_words: Callable[..., Array]
    FlushTable: type[reference.FlushTable]
    GroupTable: type[reference.GroupTable]
    JoinTable: type[reference.JoinTable]
    SortBuffers: type[reference.SortBuffers]
    RowBounds: type[reference.RowBounds]
    merge_runs: Callable[..., Ints]
    select_new: Callable[..., Ints]
    begin_spans: Callable[..., Bools]
    extend_sessions: Callable[..., Extended]
    drop_sessions: Update
    sessions_until: Callable[..., tuple[Ints, Number | None]]
    hash_partition: Callable[..., NDArray[Any]]
    exchange_rows: Update
    take_fixed: Callable[..., Array]
    add_count: Update
    add_sum_int: Update
    add_sum_float: Update
    take_min: Update
    take_max: Update
    take_first: Update
    take_last: Update
    add_moments: Update
    add_summary: Update
    merge_count: Update
    merge_sum_int: Update
    merge_sum_float: Update
    merge_min: Update
    merge_max: Update
    merge_first: Update
    merge_last: Update
    merge_moments: Update
    merge_summary: Update
    sum_int_result: Callable[..., Array]
    add_sum_object: Update
    take_min_object: Update
    take_max_object: Update
    merge_sum_object: Update
    merge_min_object: Update
    merge_max_object: Update


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
        module = importlib.import_module(f"oop.kernels.{name}")
    except ImportError as error:
        hint = INSTALL_HINT if name == "native" else "pip install numba"
        raise KernelError(f"OOP_KERNELS={name}, but it cannot be imported: {error}", hint=hint) from error
    return _gather_kernels(name, module)


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


def _gather_kernels(name: str, module: ModuleType) -> Kernels:
    found: dict[str, Any] = {}
    for field in fields(Kernels):
        if field.name != "name":
            found[field.name] = getattr(objects if field.name.endswith("_object") else module, field.name)
    return Kernels(name, **found)
