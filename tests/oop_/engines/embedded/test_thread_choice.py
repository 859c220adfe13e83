"""Which way trains are run, as they take longer in one way or in the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oop.engines.embedded.thread_choice import ThreadChoice


def choices(trains: int, seconds: Callable[[int, bool], float]) -> list[bool]:
    """Which trains are run by several threads, if they take so long."""
    choice, found = ThreadChoice(), []
    for train in range(trains):
        found.append(choice.next())
        choice.took(found[-1], 1_000, seconds(train, found[-1]))
    return found


@pytest.mark.parametrize("parallel", [0.5, 2.0])
def test_the_faster_way_is_taken(parallel: float) -> None:
    found = choices(400, lambda train, several: parallel if several else 1.0)
    assert found.count(parallel < 1) > 0.95 * 400


def test_what_the_first_trains_took_is_not_believed_for_long() -> None:
    """Here they pay for tables that grow, and so seem slower by several threads; all others are faster so."""
    found = choices(40, lambda train, several: (1.2 if train < 4 else 0.5) if several else 1.0)
    assert found[4:].count(True) > 25
    assert all(found[12:])


def test_another_load_of_the_machine_is_found_out() -> None:
    found = choices(1_000, lambda train, several: (0.5 if train < 300 else 3.0) if several else 1.0)
    assert found[:300].count(True) > 280
    assert found[600:].count(False) > 380
