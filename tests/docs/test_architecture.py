"""ARCHITECTURE.md stays short, the papers are cited by name, and documents name only files that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 15_000
MOST_CHARACTERS = 120
SUFFIXES = (".py", ".md", ".c", ".h")
FOLDERS = ["benchmarks", "csrc", "docs", "examples", "kernels", "oop", "operators", "punctuation", "scripts", "tests"]
NAMED = re.compile(r"(?<!`)`([\w./*-]+(?:\.py|\.md|\.c|\.h|/))`(?!`)")
BY_NUMBER = re.compile(
    r"papers?[/ ]?00\d|\b00\d, (?:section|figure|footnote)|\b(?:DESIGN|RUNTIME|STYLE)\b(?:\.md| section)"
)


@cache
def files() -> list[Path]:
    """The documents and sources of the repository, without what symlinks show a second time."""
    found = [path for path in ROOT.iterdir() if path.suffix in SUFFIXES]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    return sorted(path.relative_to(ROOT) for path in found)


def documents() -> Iterator[tuple[str, str]]:
    """Path and text of what tells about the code: ARCHITECTURE.md, decisions, and the docstrings of packages."""
    for path in files():
        if path.name == "DECISIONS.md" or str(path) in ("ARCHITECTURE.md", "docs/crossings.md", "docs/references.md"):
            yield str(path), (ROOT / path).read_text(encoding="utf-8")
        elif path.name == "__init__.py" and path.parts[0] in ("kernels", "oop", "operators", "punctuation"):
            yield str(path), ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""


DOCUMENTS = dict(documents())


def exists(name: str, beside: Path) -> bool:
    """Is it a path from the root, or one beside the document? Of a bare name in ARCHITECTURE.md any file will do."""
    if (ROOT / name).exists() or (beside / name).exists():
        return True
    return beside == ROOT and "/" not in name and any(path.name == name for path in files())


def test_architecture_is_read_in_ten_minutes() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= MOST_BYTES


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_paths_that_are_named_exist(name: str) -> None:
    missing = [p for p in NAMED.findall(DOCUMENTS[name]) if not exists(p, (ROOT / name).parent)]
    assert not missing, f"{name} names {', '.join(missing)}"


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_lines_are_short(name: str) -> None:
    long = [line for line in DOCUMENTS[name].splitlines() if len(line) > MOST_CHARACTERS]
    assert not long, f"{name}: {long[0]}"


@pytest.mark.parametrize("name", sorted(n for n in DOCUMENTS if n.endswith("__init__.py")))
def test_every_package_tells_its_idea_and_the_way_in(name: str) -> None:
    """Of `oop` itself the docstring is an example, which users see; ARCHITECTURE.md is its way in."""
    said = DOCUMENTS[name]
    missing = [word for word in ("Idea. ", "Way in. ") if word not in said and name != "oop/__init__.py"]
    assert said and not missing, f"{name} does not say: {', '.join(missing)}"


def read_first() -> dict[str, str]:
    """The rooms in the table of ARCHITECTURE.md, each with the file to read first; a line may have several rooms."""
    found = {}
    for line in DOCUMENTS["ARCHITECTURE.md"].splitlines():
        if line.startswith("| `"):
            rooms, _, firsts = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("| ").split(" | "))
            if not rooms[0].startswith("csrc"):
                found |= dict(zip(rooms, firsts, strict=len(rooms) > 1))
    return found


@pytest.mark.parametrize(("room", "first"), read_first().items())
def test_the_way_in_is_the_same_in_the_room(room: str, first: str) -> None:
    way_in = DOCUMENTS[f"{room}__init__.py"].partition("Way in. ")[2]
    named = re.search(r"`([\w.]+)`", way_in)
    assert named and named[1].split(".")[0] == first.removesuffix(".py"), f"{room}: {named and named[1]}, not {first}"


@pytest.mark.parametrize("name", sorted(n for n in DOCUMENTS if n.endswith("DECISIONS.md")))
def test_decisions_are_named_by_the_package_and_told_once(name: str) -> None:
    said = DOCUMENTS[name.replace("DECISIONS.md", "__init__.py")]
    assert "`DECISIONS.md`" in said, f"the docstring beside {name} does not name it"
    assert not re.search(r"^\W*Decisions\b.*:\W*$", said, re.MULTILINE), f"decisions beside those of {name}"


def test_crossings_are_listed() -> None:
    """Each class of crossings is in the list of docs/crossings.md."""
    sources = [path for path in files() if path.parts[0] in ("operators", "punctuation") and path.suffix == ".py"]
    classes = [
        (node.name, {base.id for base in node.bases if isinstance(base, ast.Name)})
        for path in sources
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    found = {"Crossing"}
    while more := {name for name, bases in classes if bases & found} - found:
        found |= more
    assert len(found) > 10
    missing = sorted(name for name in found - {"Crossing"} if f"`{name}`" not in DOCUMENTS["docs/crossings.md"])
    assert not missing, f"docs/crossings.md does not list {', '.join(missing)}"


def test_papers_are_cited_by_name() -> None:
    """By the short names of docs/references.md: a number says nothing to who reads only this repository."""
    found = []
    for path in files():
        if path.suffix in SUFFIXES and path != Path("tests/docs/test_architecture.py"):
            text = (ROOT / path).read_text(encoding="utf-8")
            found += [f"{path}: {match[0]}" for match in BY_NUMBER.finditer(text)]
    assert not found, "; ".join(found)


def test_what_is_named_is_found() -> None:
    text = "`a/b.py` and `c.md`, `csrc/`, `Run.late`, `__seq < n`, `oop.slack`, such as ``d.py``"
    assert NAMED.findall(text) == ["a/b.py", "c.md", "csrc/"]
    assert BY_NUMBER.search("(pap" + "ers/004, section 3)") and not BY_NUMBER.search("(OOP paper, section 3)")
