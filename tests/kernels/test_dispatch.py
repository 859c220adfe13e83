"""Which kernels are chosen, what is imported for them, and what is said when they are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from oop.errors import OopError
from oop.kernels import dispatch
from oop.kernels.signatures.stem import Declared

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str, **env: str) -> str:
    """What a fresh process prints, its warnings included."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", **env},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


BLOCK_NATIVE = "import sys; sys.modules['oop.kernels._native'] = None; "
BLOCK_NUMBA = "import sys; sys.modules['numba'] = None; "
CHOOSE = "from oop.kernels.dispatch import kernels; print('chosen', kernels().name, kernels().name); "


def test_numba_is_imported_only_for_jit() -> None:
    code = "import sys, oop.kernels, oop.kernels.reference, oop.kernels.views, oop.kernels.dispatch as d; "
    code += "d.kernels(); print('numba' in sys.modules)"
    assert run_python(code, OOP_KERNELS="reference") == "False\n"


@pytest.mark.parametrize("name", ["reference", "jit"])
def test_the_variable_chooses(name: str) -> None:
    assert run_python(BLOCK_NATIVE + CHOOSE, OOP_KERNELS=name) == f"chosen {name} {name}\n"


def test_native_is_the_default(native_library: Path) -> None:
    code = f"from tests.kernels.run_cases import load_library; load_library({str(native_library)!r}); " + CHOOSE
    code += "import sys; print('numba' in sys.modules)"
    assert run_python(code) == "chosen native native\nFalse\n"


def test_without_a_compiler_it_is_jit_with_one_warning() -> None:
    said = run_python(BLOCK_NATIVE + CHOOSE)
    assert "chosen jit jit" in said
    assert said.count("RuntimeWarning") == 1
    assert "install a C compiler" in said


def test_with_neither_it_is_reference_with_one_warning() -> None:
    said = run_python(BLOCK_NATIVE + BLOCK_NUMBA + CHOOSE)
    assert "chosen reference reference" in said
    assert said.count("RuntimeWarning") == 1


def test_a_choice_that_cannot_be_met_is_an_error() -> None:
    code = "from oop.kernels.dispatch import kernels\nfrom oop.errors import OopError\n"
    code += "try: kernels()\nexcept OopError as error: print(error)"
    said = run_python(BLOCK_NATIVE + "\n" + code, OOP_KERNELS="native")
    assert "OOP_KERNELS=native" in said and "compiler" in said
    said = run_python(BLOCK_NUMBA + "\n" + code, OOP_KERNELS="jit")
    assert "OOP_KERNELS=jit" in said and "pip install numba" in said


def test_an_unknown_choice_names_the_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OOP_KERNELS", "fortran")
    with pytest.raises(OopError, match="fortran") as raised:
        dispatch.kernels()
    assert isinstance(raised.value, ValueError)
    assert "reference, jit, native" in str(raised.value)


def test_bodies_are_those_of_the_choice() -> None:
    from oop.kernels.jit import groups, windows

    chosen = dispatch.kernels("jit")
    assert chosen.run.wid_ranges is windows.wid_ranges
    assert chosen.GroupTable is groups.GroupTable


def test_a_missing_body_is_an_error_that_names_its_file() -> None:
    with pytest.raises(OopError, match=r"add_cubes has no body in kernels/jit/aggregates\.py"):
        dispatch.find_body("jit", Declared("add_cubes", "aggregates"))
    with pytest.raises(OopError, match=r"add_cubes has no body in kernels/reference/cubes\.py"):
        dispatch.find_body("reference", Declared("add_cubes", "cubes"))
