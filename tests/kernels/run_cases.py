"""Runs the table of cases on one implementation, with the others blocked from import.

python run_cases.py NAME LIBRARY RESULTS: LIBRARY is the compiled module (or "-"), RESULTS a file to write.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys

MODULES = {
    "reference": [],
    "jit": ["numba", "oop.kernels.jit", "oop.kernels.jit.compiler"],
    "native": ["oop.kernels._native", "oop.kernels.native", "oop.kernels.native.library"],
}


def block_others(name: str) -> None:
    """Make every later import of another implementation fail."""
    for other, modules in MODULES.items():
        if other != name:
            for module in modules:
                sys.modules[module] = None  # type: ignore[assignment]


def load_library(path: str) -> None:
    """Make the compiled module at `path` the one that `oop.kernels.native.library` imports."""
    spec = importlib.util.spec_from_file_location("oop.kernels._native", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["oop.kernels._native"] = module


def main(name: str, library: str, results: str) -> None:
    block_others(name)
    if name == "native":
        load_library(library)
    from oop.kernels.dispatch import kernels
    from tests.kernels.cases import all_cases, run_case

    chosen = kernels(name)
    found = {case.id: run_case(chosen, case) for case in all_cases()}
    with open(results, "wb") as file:
        pickle.dump((chosen.name, found), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
