"""Times some kernels: each implementation runs a case with many rows, from the table that also proves them equal."""

from __future__ import annotations

from typing import Any

import pytest

from oop.kernels.checks import KernelError
from oop.kernels.dispatch import NAMES, kernels
from tests.kernels.cases import Case, all_cases

TIMED = ("wid_ranges", "prefix_bounds", "find_late", "add_sum_int")


def _case(kernel: str) -> Case:
    return next(c for c in all_cases() if c.kernel == kernel and c.label.startswith("large"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", [_case(k) for k in TIMED], ids=lambda case: case.kernel)
def test_kernel(benchmark: Any, case: Case, name: str) -> None:
    try:
        function = getattr(kernels(name), case.kernel)
    except KernelError as missing:
        pytest.skip(str(missing))
    benchmark.group = case.kernel
    # the arguments are made afresh, outside of the time; the first rounds compile
    benchmark.pedantic(function, setup=lambda: (case.make(), {}), rounds=50, warmup_rounds=3)
