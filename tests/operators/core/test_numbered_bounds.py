"""Bounds of groups in arrays say what the same bounds in dictionaries say, wherever promises take them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np
import pytest

from oop.operators.core.numbered_bounds import KnownByNumber, NumberedBounds, NumberedGroups, numbered_bounds
from oop.operators.windows.bucket import Grid
from oop.punctuation import Frontier, Gate, GroupPromises, Interest, Punctuation
from oop.punctuation.many_bounds import images_of
from oop.punctuation.patterns import Bound, Value

GROUPS = [f"link {i}" for i in range(40)]


def drawn(rng: random.Random, groups: NumberedGroups, floats: bool) -> NumberedBounds:
    numbers = np.array(sorted(rng.sample(range(len(groups)), rng.randint(1, len(groups)))))
    bounds = np.array([rng.randint(-50, 200) for _ in numbers])
    return NumberedBounds(groups, numbers, bounds / 4 if floats else bounds)


def plain(promises: GroupPromises) -> GroupPromises:
    return GroupPromises(promises.columns, promises.attribute, dict(promises.bounds))


def said(promises: GroupPromises | None) -> Mapping[Value, Bound] | None:
    return None if promises is None else dict(promises.bounds)


def step(rng: random.Random, groups: NumberedGroups, floats: bool, columns: tuple[str, ...]) -> GroupPromises | None:
    """Promises about many groups; None stands for other promises."""
    while len(groups) < len(GROUPS) and rng.random() < 0.5:
        name = GROUPS[len(groups)]
        groups.values.append(name if len(columns) == 1 else (name, len(groups)))
    if rng.random() < 0.3:
        return None
    return GroupPromises(columns, "ts", drawn(rng, groups, floats))


@pytest.mark.parametrize("columns", [("link",), ("link", "port")])
def test_frontiers(columns: tuple[str, ...]) -> None:
    assert sum(compare_frontiers(random.Random(seed), columns) for seed in range(100)) > 300


def compare_frontiers(rng: random.Random, columns: tuple[str, ...]) -> int:
    """How many promises were kept as arrays."""
    floats = rng.random() < 0.3
    groups = NumberedGroups([])
    groups.values.append(GROUPS[0] if len(columns) == 1 else (GROUPS[0], 0))
    fast, slow = Frontier(), Frontier()
    kept = 0
    for _ in range(30):
        many = step(rng, groups, floats, columns)
        if many is not None:
            assert said(fast.advance_groups(many)) == said(slow.advance_groups(plain(many)))
            kept += isinstance(fast.bounds_by(columns, "ts"), KnownByNumber)
        elif rng.random() < 0.5:  # about one group, perhaps one without a number or a bound of another type
            name = rng.choice([*GROUPS, "another link"])
            where = {"link": name} if len(columns) == 1 else {"link": name, "port": GROUPS.index(GROUPS[0])}
            bound = rng.choice([rng.randint(0, 200), rng.randint(0, 200), 60.5, math.inf])
            one = Punctuation({"ts": bound}, where)
            assert fast.advance(one) == slow.advance(one)
        else:
            least = Punctuation({"ts": rng.choice([rng.randint(-50, 150), 2.5, -(10**30)])})
            assert fast.advance(least) == slow.advance(least)
        assert fast == slow
        assert sorted(map(str, fast.promises())) == sorted(map(str, slow.promises()))
        if rng.random() < 0.2:
            fast, slow = fast.copy(), slow.copy()
    return kept


@pytest.mark.parametrize("seed", range(30))
def test_gates(seed: int) -> None:
    """What helps consumers leaves, and nothing else; ids of windows help less often than times."""
    rng = random.Random(seed)
    groups = NumberedGroups(list(GROUPS))
    interests = [Interest("ts", Grid(10, 10).wid_bound), *([Interest("ts")] if seed % 2 else [])]
    fast, slow = Gate(interests), Gate(interests)
    for _ in range(20):
        many = GroupPromises(("link",), "ts", drawn(rng, groups, False))
        passed = [list(map(said, g.through([p]))) for g, p in ((fast, many), (slow, plain(many)))]
        assert passed[0] == passed[1]
    assert fast.passed == slow.passed


@pytest.mark.parametrize(
    "function",
    [
        lambda bound: bound // 7,
        lambda bound: bound,
        lambda bound: bound * 10**30,
        lambda bound: None if bound < 40 else bound // 50,
        lambda bound: None,
        lambda bound: bound / 3,
        lambda bound: math.inf if bound > 100 else 1,
        lambda bound: -math.inf if bound < 100 else 1.5,
    ],
)
@pytest.mark.parametrize("seed", range(8))
def test_images(function, seed: int) -> None:
    rng = random.Random(seed)
    many = GroupPromises(("link",), "ts", drawn(rng, NumberedGroups(list(GROUPS)), seed % 2 == 1))
    wanted = {g: image for g, bound in many.bounds.items() if (image := function(bound)) is not None}
    for promises in (many, plain(many)):
        moved = promises.moved("wid", function)
        assert dict(moved.bounds) == wanted
        assert [type(b) for b in dict(moved.bounds).values()] == [type(b) for b in wanted.values()]
        twice = moved.moved("wid", lambda bound: bound)
        assert dict(twice.bounds) == wanted


def test_many_bounds_with_few_images_cost_few_calls() -> None:
    calls = []

    def per_minute(bound: Bound) -> Bound:
        calls.append(bound)
        return bound // 6_000

    found = images_of(range(0, 60_000), per_minute)
    assert found == [(start, start // 6_000) for start in range(0, 60_000, 6_000)]
    assert len(calls) < 300


def test_the_least_number_stands_for_no_bound() -> None:
    groups = NumberedGroups(["A", "B"])
    least = np.array([-(2**63), 5])
    assert numbered_bounds(groups, np.arange(2), least) == {"A": -(2**63), "B": 5}
    assert isinstance(numbered_bounds(groups, np.arange(2), least + 1), NumberedBounds)
    assert numbered_bounds(groups, np.arange(2), np.array([-math.inf, 5.0])) == {"A": -math.inf, "B": 5.0}
