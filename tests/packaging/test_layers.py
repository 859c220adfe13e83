"""What import-linter cannot say: it knows no standard library and sees no compiled module."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def modules(*folders: str) -> dict[str, Path]:
    """Dotted name to file, for the package or for some folders of it; the symlinks are followed by name."""
    found = {}
    for folder in folders or ("oop", "oop/kernels", "oop/operators", "oop/punctuation"):
        for path in (ROOT / folder).rglob("*.py"):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """Dotted names of all that a file imports, anywhere in it; relative ones start with a dot."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def texts(path: Path) -> set[str]:
    """What it imports, and the texts in it that are whole expressions or arguments, but for docstrings."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)} | {
        *imports(path)
    }


PURE = {"oop.errors": ROOT / "oop" / "errors.py"} | modules("oop/punctuation")


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules_need_the_standard_library_alone(name):
    foreign = {
        used
        for used in imports(PURE[name])
        if used.partition(".")[0] not in sys.stdlib_module_names
        and not used.startswith(("oop.punctuation", "oop.errors"))
    }
    assert not foreign


def test_compiled_module_is_imported_in_one_file():
    """By its name as text: a checkout that was not built has no such module for linters to find."""
    users = {name for name, path in modules().items() if "oop.kernels._native" in texts(path)}
    assert users == {"oop.kernels.native.library"}


def test_numba_is_imported_in_one_file():
    users = {name for name, path in modules().items() if any(used.split(".")[0] == "numba" for used in imports(path))}
    assert users == {"oop.kernels.jit.compiler"}


def test_imports_are_absolute():
    for name, path in modules().items():
        assert not [used for used in imports(path) if used.startswith(".")], name
