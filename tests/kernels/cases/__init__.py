"""One table of cases on which every implementation of every kernel must agree with `reference`.

A case names a kernel and makes its arguments afresh. The result is what the kernel returns, what it leaves in its
arguments, and what it raises. Each file has the cases of a stem, or of several stems that take the same rows: `cases()`
gives them, and `RUNNERS` has, by kernel, the function that runs its cases, where that is more than one call. `inputs`
has the inputs that several files share. `all_cases` finds the files by itself.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.dispatch import Kernels
from oop.kernels.views import Column
from tests.kernels.cases.inputs import LEAST, MOST, Case, key_columns, quick

__all__ = ["LEAST", "MOST", "Case", "all_cases", "assert_same", "key_columns", "quick", "run_case"]


@functools.cache
def _files() -> list[ModuleType]:
    found = (importlib.import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__))
    return [file for file in found if hasattr(file, "cases")]


@functools.cache
def _runners() -> dict[str, Callable[..., Any]]:
    return {kernel: run for file in _files() for kernel, run in getattr(file, "RUNNERS", {}).items()}


def all_cases() -> list[Case]:
    cases = [case for file in _files() for case in file.cases()]
    ids = [case.id for case in cases]
    assert len(set(ids)) == len(ids)
    return cases


def run_case(kernels: Kernels, case: Case) -> Any:
    """The result of a case. It has only arrays, tuples, lists and plain values, so that it can cross processes."""
    args = case.make()
    try:
        if case.kernel in _runners():
            return _runners()[case.kernel](kernels, case.kernel, *args)
        return getattr(kernels, case.kernel)(*args), args
    except OopError as error:
        return type(error).__name__, str(error)


def assert_same(found: Any, wanted: Any) -> None:
    """Assert that results are equal in type, shape and value. NaN equals NaN, and floats may differ in the last
    digits."""
    if isinstance(wanted, Column):
        found, wanted = ((c.kind, c.data, c.offsets, c.valid) if isinstance(c, Column) else c for c in (found, wanted))
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray)
        assert found.dtype == wanted.dtype
        if wanted.dtype == np.float64:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-300)
        else:
            np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert type(found) is type(wanted)
        assert found == wanted or (found != found and wanted != wanted)
