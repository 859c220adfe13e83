"""What import-linter cannot say: it knows no standard library, sees no compiled module, and takes a package and the
modules in it for one where it looks for cycles."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
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


PURE = {f"oop.{name}": ROOT / "oop" / f"{name}.py" for name in ("errors", "frozen")} | modules("oop/punctuation")


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules_need_the_standard_library_alone(name):
    foreign = {
        used
        for used in imports(PURE[name])
        if used.partition(".")[0] not in sys.stdlib_module_names
        and not used.startswith(("oop.punctuation", "oop.errors", "oop.frozen"))
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


def needed(found: dict[str, Path]) -> dict[str, set[str]]:
    """For each module the modules of ours that it imports, in functions and for type checking too. An import of a
    module also runs the packages that it is in, but for those that the importing module is in itself."""
    names = {name.removesuffix(".__init__"): path for name, path in found.items()}
    edges: defaultdict[str, set[str]] = defaultdict(set)
    for name, path in names.items():
        for used in imports(path):
            module = used if used in names else used.rpartition(".")[0]
            packages = [p for p in accumulate(module.split("."), "{}.{}".format) if not f"{name}.".startswith(f"{p}.")]
            edges[name] |= names.keys() & {module, *packages}
    return edges


def test_no_module_imports_one_that_imports_it():
    """Not one cycle, within packages or between them: where two modules need each other, what both need is moved to a
    module below them, or is handed over as a value."""
    try:
        TopologicalSorter(needed(modules())).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_imports_in_functions_and_for_type_checking_make_cycles(tmp_path):
    (tmp_path / "a.py").write_text("def late():\n    from b import thing\n")
    (tmp_path / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n")
    assert needed({name: tmp_path / f"{name}.py" for name in "ab"}) == {"a": {"b"}, "b": {"a"}}
