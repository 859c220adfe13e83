"""What helps a consumer: a producer makes only the promises that change something for someone (paper 004, A.1.1).

A bound is never rounded; it is swallowed as long as no consumer's translation of it would change.

>>> from oop.punctuation import END
>>> gate = Gate([Interest("ts", lambda bound: bound // 60)])
>>> [gate.passes(Punctuation({"ts": t})) for t in (10, 50, 70, 80, 130)]
[True, False, True, False, True]
>>> gate.passes(Punctuation({"len": 3})), gate.passes(END)
(False, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from oop.punctuation.frontier import Frontier
from oop.punctuation.patterns import Bound, Equal
from oop.punctuation.promise import Punctuation


@dataclass(frozen=True)
class Interest:
    """A bound on ``attribute`` helps when ``step`` of it grows (None: whenever the bound grows)."""

    attribute: str
    step: Callable[[Bound], Bound] | None = None

    def grew(self, old: Bound | None, new: Bound) -> bool:
        if old is None or new <= old:
            return old is None
        if self.step is None or math.isinf(new) or math.isinf(old):  # a step need not take infinity
            return True
        return self.step(new) > self.step(old)


class Gate:
    """Decides which promises leave a producer. No interests given: everything that is new does."""

    def __init__(self, interests: Iterable[Interest] | None = None) -> None:
        self.interests: dict[str, list[Interest]] | None = None
        if interests is not None:
            self.interests = {}
            for interest in interests:
                self.interests.setdefault(interest.attribute, []).append(interest)
        self.passed = Frontier()

    def passes(self, promise: Punctuation) -> bool:
        """Let the promise through if it is new and helps."""
        return self.helps(promise) and self.passed.advance(promise)

    def helps(self, promise: Punctuation) -> bool:
        """Would it change something for someone? If a bound does, so does every greater one."""
        if self.interests is None or len(promise.below) != 1:
            # a joint promise helps whoever asked for all of its attributes
            return self.interests is None or all(a in self.interests for a in promise.below)
        ((attribute, bound),) = promise.below.items()
        cell = {c: p.value for c, p in promise.where.items() if isinstance(p, Equal)}
        old = self.passed.bound(attribute, cell)
        return any(i.grew(old, bound) for i in self.interests.get(attribute, ()))
