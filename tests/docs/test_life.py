"""The page "the life of a batch" says which files a batch really passes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oop.kernels import dispatch
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
