"""The page "the life of a batch" says which files a batch really passes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from oop.kernels import dispatch
from tests.docs import life
from tests.docs.life import PAGE, ROOT


def test_the_page_is_what_runs() -> None:
    """In a process of its own: what other tests have run is remembered, and then not passed again."""
    if dispatch.kernels().name != "native":
        pytest.skip("the page names the C kernels")
    made = subprocess.run(
        [sys.executable, "-m", "tests.docs.life"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert made.stdout.strip() == PAGE.read_text(encoding="utf-8").strip(), (
        "store it anew: python -m tests.docs.life --store"
    )


def passed(text: str) -> list[str]:
    """The functions that a part of the page names, in order, each with its class."""
    found, of = [], ""
    for name in re.findall(r"`([\w.]+)`", text):
        if name.startswith("."):
            found.append(of + name)
        else:
            found.append(name)
            of = name.rpartition(".")[0]
    return found


@pytest.mark.parametrize("engine", ["embedded", "Spark"])
def test_the_walks_tell_what_happens(engine: str) -> None:
    """Rows go from the feed through the hooks of all operators, and a promise closes the window and is passed on."""
    embedded, _, spark = PAGE.read_text(encoding="utf-8").partition("## A micro-batch on Spark")
    feed, text = ("DirectFeed.next", embedded) if engine == "embedded" else ("read_split", spark)
    names = passed(text)
    assert names.index(feed) < names.index("InputOperator.process_train")
    for operator in ("InputOperator", "FilterOperator", "BucketOperator", "AggregateOperator"):
        assert f"{operator}.process_batch" in names
    taken = "Store.take_whole" if engine == "embedded" else "Store.take_below"  # one window closes, or several do
    closing = ["AggregateOperator.process_punctuation", "Ports.promises", taken, "WindowResults.give"]
    assert set(closing) <= set(names)


def test_a_class_is_named_once_where_its_methods_follow_each_other() -> None:
    assert life._shown(["A.b", "A._c", "A.d", "e", "A.f"]) == "`A.b`, `.d`, `e`, `A.f`"
    assert life._shown(["_only", "A._private"]) == "`_only`, `A._private`"
