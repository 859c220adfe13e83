"""reference = jit = native, each in a process of its own where the others cannot be imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oop.kernels.dispatch import kernels
from tests.kernels.cases import all_cases, assert_same, run_case
from tests.kernels.processes import assert_cases_same, build_native, run_cases


def test_reference_beside_the_others_is_that_alone(wanted: dict[str, Any]) -> None:
    """That the reference needs nothing of the others is shown by `wanted`, which ran where they cannot be imported."""
    reference = kernels("reference")
    for case in all_cases():
        assert_same(run_case(reference, case), wanted[case.id])


@pytest.mark.parametrize("name", ["jit", "native"])
def test_alone_equals_reference(name: str, wanted: dict[str, Any], request: Any, tmp_path: Path) -> None:
    library = str(request.getfixturevalue("native_library")) if name == "native" else "-"
    found = run_cases(name, library, tmp_path / "results")
    assert_cases_same(found, wanted)


def test_native_without_wide_vectors_equals_reference(wanted: dict[str, Any], tmp_path: Path) -> None:
    """A machine that lacks them runs code that the wide one leaves out."""
    library, _ = build_native(tmp_path, "-DOOP_NO_WIDE")
    assert_cases_same(run_cases("native", str(library), tmp_path / "results"), wanted)


def test_cases_raise_where_they_should(wanted: dict[str, Any]) -> None:
    """The table's wrong calls end in the errors that say so."""
    assert wanted["wid_ranges-too_low"][0] == "TimeError"
    assert wanted["wid_ranges-too_high"][0] == "TimeError"
    assert wanted["wid_ranges-nan"][0] == wanted["wid_ranges-infinite"][0] == "TimeError"
    assert wanted["wid_ranges-just_inside"][0] != "TimeError"
    assert wanted["add_count-id_negative"][0] == wanted["take_min-id_too_large"][0] == "KernelError"
    assert "decimal128" in wanted["sum_int_result-overflow"][1]
    joins = {id: result[0] for id, result in wanted.items() if id.startswith("JoinTable-")}
    assert all((result == "KernelError") == id.startswith("JoinTable-wrong-") for id, result in joins.items())
    for kernel in ("SortBuffers", "RowBounds", "merge_runs", "FlushTable", "pack_words"):
        raised = {id for id, result in wanted.items() if isinstance(result[0], str) and id.startswith(f"{kernel}-")}
        assert raised == {id for id in wanted if id.startswith(f"{kernel}-wrong-")}
    failed = [id for id, result in wanted.items() if isinstance(result[0], str)]
    assert len(failed) < len(wanted) / 4
