"""A batch makes no more Python calls than it did: a guard against regressions that needs no clock."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from oop.kernels import dispatch
from tests.calls.measure import STORED, made_with

STORE = "store them anew: python -m tests.calls.measure --store"


def test_counts_are_as_stored() -> None:
    """Counts in a process of its own, where nothing else is loaded. A lower count fails too, because it would hide a
    later rise."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    if dispatch.kernels().name != "native" or stored["made_with"] != made_with():
        pytest.skip(f"calls are known for the C kernels and {stored['made_with']}")
    command = [sys.executable, "-m", "tests.calls.measure"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    wrong = {name: (count, stored["calls"].get(name)) for name, count in found.items()}
    wrong = {name: pair for name, pair in wrong.items() if pair[1] is None or abs(pair[0] - pair[1]) > 0.05 * pair[1]}
    assert not wrong, f"now and as stored: {wrong}; {STORE}"
