"""No C kernel executes more instructions than it did: a guard against regressions that needs no clock."""

from __future__ import annotations

import re

import pytest

from csrc.build import CSRC, STEMS
from tests.kernels.callgrind.measure import CALLERS, STORE, compare, describe_maker, load_stored, measure, why_not

NOT_MEASURED = {"oop_start_ring", "oop_stop_ring"}
"""How often a thread looks at the clock is for the clock to say."""


def test_counts_are_as_stored() -> None:
    if reason := why_not():
        pytest.skip(reason)
    stored, here = load_stored(), describe_maker()
    if here != stored["made_with"]:
        pytest.skip(f"counts are known for {stored['made_with']}, not for {here}; {STORE}")
    wrong = compare(measure(), stored["per_row"])
    assert not wrong, "\n".join(wrong)


def test_every_kernel_is_measured() -> None:
    """In one of its types at least: the others come from the same macro, or the same lines."""

    def kernels(text: str) -> set[str]:
        return {re.sub(r"_(int|uint|float)$", "", name) for name in re.findall(r"\boop_\w+(?=\()", text)}

    declared = set().union(*(kernels((CSRC / f"{stem}.h").read_text()) for stem in STEMS))
    assert set().union(*(kernels(path.read_text()) for path in CALLERS)) == declared - NOT_MEASURED


def test_a_change_of_six_percent_fails() -> None:
    stored = {"one": 12.5, "two": 0.75}
    for change, said in ((1.06, "regression"), (0.94, "better")):
        [wrong] = compare({"one": 12.5, "two": 0.75 * change}, stored)
        assert wrong.startswith("two: ") and said in wrong and STORE in wrong
    for change in (1.04, 1.0, 0.96):
        assert not compare({"one": 12.5 * change, "two": 0.75 * change}, stored)


def test_a_figure_without_its_pair_fails() -> None:
    assert compare({"one": 1.0, "two": 2.0}, {"one": 1.0}) == [
        f"two: 2 instructions a row, and nothing stored; {STORE}"
    ]
    assert compare({"one": 1.0}, {"one": 1.0, "two": 2.0}) == [f"two: no longer measured; {STORE}"]
