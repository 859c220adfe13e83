"""Every Python block of the documents runs, and prints what the document says.

A block with ``>>>`` is a doctest. Any other block is run with the names of the blocks before it in the same document;
if a ``text`` block comes right after it, that is what it prints.
"""

import doctest
import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from oop.cli import demo
from oop.cli.command import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    line: int
    language: str
    text: str
    follows: bool  # nothing but blank lines since the block before


def blocks(text: str) -> list[Block]:
    found, end = [], 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(line, match[1], match[2], not text[end : match.start()].strip()))
        end = match.end()
    return found


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_python_blocks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = blocks((ROOT / name).read_text(encoding="utf-8"))
    if any("oop.Spark(" in block.text for block in found if block.language == "python"):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    for block, after in zip(found, [*found[1:], None], strict=False):
        if block.language != "python":
            continue
        if ">>>" in block.text:
            _doctest(block, name, namespace)
            continue
        printed = io.StringIO()
        # empty lines in front, so that errors name the line in the document
        code = compile("\n" * (block.line - 1) + block.text, f"{name}", "exec")
        with redirect_stdout(printed):
            exec(code, namespace)
        if after is not None and after.language == "text" and after.follows:
            assert _lines(printed.getvalue()) == _lines(after.text), f"{name}:{block.line}"


def _doctest(block: Block, name: str, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, name, name, block.line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said = io.StringIO()
    runner.run(test, out=said.write, clear_globs=False)
    namespace.update(test.globs)
    assert runner.failures == 0, said.getvalue()


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("name", sorted([*DOCUMENTS, "CONTRIBUTING.md", "benchmarks/README.md"]))
def test_links_lead_somewhere(name: str) -> None:
    path = ROOT / name
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{name} links to {target}"


def test_demo_output_in_readme(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers depend on the machine; the columns and the ways do not."""
    shown = next(b.text for b in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if "rows lost" in b.text)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo", "--rows", "2000", "--quiet", "--no-spark"]) == 0
    printed = capsys.readouterr().out
    assert _heading(shown) == _heading(printed) == " ".join(" ".join(demo.COLUMNS).split()).split()
    assert _ways(shown) == _ways(printed) == [way.name for way in demo.WAYS]
    assert shown.splitlines()[0].startswith("Q1: packets of Control, Main1, Main2 per window of 1s")


def _heading(output: str) -> list[str]:
    """The words of the table's heading, column by column."""
    lines = output.splitlines()
    rule = next(i for i, line in enumerate(lines) if line.strip().startswith("──"))
    above, below = (re.split(r"\s{2,}", lines[i].strip()) for i in (rule - 2, rule - 1))
    # the first and the last two columns have one line
    pairs = [below[0], *(f"{a} {b}" for a, b in zip(above, below[1:], strict=False)), *below[1 + len(above) :]]
    return " ".join(pairs).split()


def _ways(output: str) -> list[str]:
    lines = output.splitlines()
    rule = next(i for i, line in enumerate(lines) if line.strip().startswith("──"))
    rows = []
    for line in lines[rule + 1 :]:
        if not line.strip():
            break
        rows.append(re.split(r"\s{2,}", line.strip())[0])
    return rows


def test_the_readers_of_documents_work() -> None:
    found = blocks("a\n```python\nprint(1)\n```\n\n```text\n1\n```\nb\n```sh\nmake\n```\n")
    assert [(b.line, b.language, b.follows) for b in found] == [
        (3, "python", False),
        (7, "text", True),
        (11, "sh", False),
    ]
