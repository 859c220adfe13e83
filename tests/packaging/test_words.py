"""One word, one meaning: a class or type alias has a name that nothing else has, private ones included, and so has a
function of a module that others may call."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("oop", "operators", "punctuation", "kernels")
BODIES = ("kernels/reference/", "kernels/jit/", "kernels/native/")

AURORA = "the class of oop.aurora is the paper's operator under the paper's name, and puts specs into a plan"
SHARED = {
    "Aggregate": AURORA,
    "Assume": AURORA,
    "BSort": AURORA,
    "Filter": AURORA,
    "Join": AURORA,
    "Resample": AURORA,
    "Tumble": AURORA,
    "Union": AURORA,
    "WSort": AURORA,
}
"""The names with two meanings, each with the reason; two at most, and one of them in oop.aurora."""
SHARED_FUNCTIONS = {
    "exact": "oop.testing.exact puts into a test the promises that the policy oop.exact makes at a source",
}
"""The functions of one name in two modules, each with the reason."""


def named_types(source: str) -> Iterator[str]:
    """The classes of a module, wherever they stand in it, and its type aliases and type variables."""
    tree = ast.parse(source)
    yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            targets, aliased = [node.target], "TypeAlias" in ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign):
            targets, aliased = node.targets, True
        else:
            continue
        for target in targets:
            if aliased and isinstance(target, ast.Name) and is_type_name(target.id):
                yield target.id


def is_type_name(name: str) -> bool:
    """CapWords, as types are written; constants are in capitals alone."""
    plain = name.lstrip("_")
    return plain[:1].isupper() and not plain.isupper()


def public_functions(source: str) -> Iterator[str]:
    """The functions of a module itself whose names have no leading underscore."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name


def defined(names: Callable[[str], Iterator[str]]) -> dict[str, set[str]]:
    """Names without leading underscores, each with the files that define it; the bodies of a kernel count as one."""
    found: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            file = path.relative_to(ROOT).as_posix()
            if file.startswith(tuple(f"oop/{link}/" for link in FOLDERS[1:])):
                continue  # the symlinks, where they are followed
            place = f"kernels/*/{path.name}" if file.startswith(BODIES) else file
            for name in names(path.read_text(encoding="utf-8")):
                found.setdefault(name.lstrip("_"), set()).add(place)
    return found


TYPES, FUNCTIONS = defined(named_types), defined(public_functions)


def defined_twice(names: dict[str, set[str]]) -> dict[str, list[str]]:
    return {name: sorted(files) for name, files in names.items() if len(files) > 1}


def test_no_class_or_alias_is_defined_in_two_modules():
    twice = {name: files for name, files in defined_twice(TYPES).items() if name not in SHARED}
    assert not twice, "name each after what it is"


def test_no_function_is_defined_in_two_modules():
    twice = {name: files for name, files in defined_twice(FUNCTIONS).items() if name not in SHARED_FUNCTIONS}
    assert not twice, "name each after what it does"


def test_the_functions_that_share_a_name_still_do():
    assert SHARED_FUNCTIONS.keys() <= defined_twice(FUNCTIONS).keys()


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_name_is_one_of_aurora_and_one_spec(name):
    files = sorted(TYPES[name])
    assert len(files) == 2
    assert files[0].startswith("oop/aurora/") and files[1].startswith("operators/")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class A:\n    class B: ...", ["A", "B"]),
        ("Piece = tuple[int, int]\n_Other = int", ["Piece", "_Other"]),
        ("Part: TypeAlias = tuple[str, int]\nLIMIT = 4\nsmall = int\nvalue: int = 3", ["Part"]),
        ('T = TypeVar("T")\nPieceT = TypeVar("PieceT")', ["PieceT"]),
    ],
)
def test_what_counts_as_a_named_type(source, names):
    assert list(named_types(source)) == names


def test_what_counts_as_a_public_function():
    source = "def a(): ...\ndef _b(): ...\nasync def c():\n    def d(): ...\nclass E:\n    def f(self): ..."
    assert list(public_functions(source)) == ["a", "c"]
