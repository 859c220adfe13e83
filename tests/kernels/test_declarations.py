"""Each kernel is declared once, and has bodies, C and cases under the name and the stem of its declaration."""

from __future__ import annotations

import ast
import pkgutil

import pytest

from csrc.build import CSRC, STEMS
from oop.kernels import jit, native, reference, signatures, steps
from oop.kernels.dispatch import NAMES, Kernels, find_body
from oop.kernels.signatures.stem import Declared, Stem, declared_in
from tests.kernels.cases import all_cases
from tests.kernels.processes import ROOT

DECLARED = {kernel.name: kernel for kernel in declared_in(Kernels)}
STEMS_OF_BODIES = {kernel.stem for kernel in DECLARED.values() if not kernel.shared}
# What implementations have beside bodies, and signatures beside declarations.
HELPERS = {
    "reference": set(),
    "jit": {"compiler", "tables"},
    "native": {
        "columns",
        "key_records",
        "library",
        "program_exchange",
        "program_guard",
        "program_sessions",
        "program_steps",
        "program_texts",
    },
    "signatures": {"stem", "objects"},
}
IN_C_ALONE = {"ring"}


def files(package: str) -> set[str]:
    found = {"reference": reference, "jit": jit, "native": native, "signatures": signatures}[package]
    return {file.name for file in pkgutil.iter_modules(found.__path__)}


def test_a_kernel_is_declared_once() -> None:
    names = [kernel.name for kernel in declared_in(Kernels)]
    assert sorted(names) == sorted(set(names))
    stems = [base.__module__.rpartition(".")[2] for base in Kernels.__bases__ if issubclass(base, Stem)]
    assert sorted(stems) == sorted(files("signatures") - {"stem"})


@pytest.mark.parametrize("kernel", DECLARED.values(), ids=DECLARED.keys())
def test_a_kernel_has_three_bodies(kernel: Declared) -> None:
    if kernel.shared:
        for name in NAMES:
            assert kernel.name not in public(name, kernel.stem)
        return
    for name in NAMES:
        if name == "native":
            pytest.importorskip("oop.kernels._native")
        assert callable(find_body(name, kernel))


@pytest.mark.parametrize("package", HELPERS)
def test_files_of_bodies_have_the_stems_of_declarations(package: str) -> None:
    assert files(package) == STEMS_OF_BODIES | HELPERS[package]


def test_sources_in_c_have_the_stems_of_declarations() -> None:
    assert set(STEMS) == STEMS_OF_BODIES | IN_C_ALONE
    for stem in STEMS:
        assert (CSRC / f"{stem}.h").exists()


def test_every_kernel_has_cases_and_every_case_a_kernel() -> None:
    assert {case.kernel for case in all_cases()} == set(DECLARED)


def test_bodies_of_one_implementation_are_those_of_another() -> None:
    """What only one of them has under a public name is a helper, which the others have no use for; but what two have
    is declared."""
    for stem in STEMS_OF_BODIES:
        found = [public(name, stem) for name in NAMES]
        assert {name for names in found for name in names if all(name in n for n in found)} <= set(DECLARED), stem


def public(name: str, stem: str) -> set[str]:
    """The public functions and classes that a file of bodies has, if there is one; nothing is imported."""
    path = ROOT / "kernels" / name / f"{stem}.py"
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    nodes = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return {node.name for node in nodes if not node.name.startswith("_")}


def test_every_kernel_says_what_it_does() -> None:
    for kernel in DECLARED.values():
        assert kernel.is_class or getattr(Kernels, kernel.name).__doc__, kernel.name


def test_steps_have_the_numbers_that_they_have_in_c() -> None:
    """What a program is made of is written down twice."""
    lib = pytest.importorskip("oop.kernels._native").lib
    for kind in (*steps.Op, *steps.ColumnForm, *steps.UpdateKind):
        assert getattr(lib, f"OOP_{kind.name}") == kind, kind
    assert len(steps.Op) == lib.OOP_OPS
    sizes = (steps.CHUNK_ROWS, steps.MOST_PARTS, steps.MOST_ARRAYS, steps.MOST_KEYS)
    assert sizes == (lib.OOP_ROWS, lib.OOP_TARGETS, lib.OOP_ARRAYS, lib.OOP_KEYS)
