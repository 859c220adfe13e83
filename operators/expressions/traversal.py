"""Ways through an expression that do not recurse: one may have thousands of terms, each in the next.

A part that stands in several places is visited once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from typing import Any, Protocol, TypeVar


class Tree(Protocol):
    """Whatever is made of parts of its own kind."""

    @property
    def args(self) -> tuple[Any, ...]: ...


Branch = TypeVar("Branch", bound=Tree)
Found = TypeVar("Found")
_NOWHERE: frozenset[int] = frozenset()


def inside_out(root: Branch, known: Container[int] = _NOWHERE) -> Iterator[Branch]:
    """Each part after the parts that it is made of, without ``known`` ids and parts that only these use.

    >>> from oop.operators.expressions.expr import col
    >>> list(inside_out((col("a") + 1) * 2))
    [a, 1, a + 1, 2, (a + 1) * 2]
    """
    seen: set[int] = set()
    waiting: list[Branch] = [root]
    while waiting:
        part = waiting[-1]
        if id(part) not in seen and id(part) not in known:
            left = [a for a in part.args if id(a) not in seen and id(a) not in known]
            if left:
                waiting += reversed(left)
                continue
            seen.add(id(part))
            yield part
        waiting.pop()


def fold(root: Branch, step: Callable[[Branch, list[Found]], Found]) -> Found:
    """What ``step`` makes of the whole, given each part and its results for that part's arguments. No result is kept
    longer than it is needed, since it may be a column of many rows.

    >>> from oop.operators.expressions.expr import col
    >>> fold(col("a") + 1, lambda part, found: 1 + sum(found))
    3
    """
    uses = Counter(id(a) for part in inside_out(root) for a in part.args)
    made: dict[int, Found] = {}
    for part in inside_out(root):
        result = step(part, [made[id(a)] for a in part.args])
        for a in part.args:
            uses[id(a)] -= 1
            if not uses[id(a)]:
                del made[id(a)]
        made[id(part)] = result
    return made[id(root)]
