"""Running policies: the bound that the rows seen so far imply, for one attribute.

This is the executable specification, a row at a time. The input operator takes whole batches through a kernel where
one computes the same (slack by time without groups); `greatest` is the state that both share.

Lateness does not depend on batches: `observe` gives, for each row, the bound implied by the rows *before* it.
Late rows, and rows without a time (null, NaN), change nothing.

This module has the running policies for the stream as a whole; `progress_groups` and `clocked_groups` have those by
group. `Policy.start` makes the one that a policy runs as. Each class declares what its callers have to know, so nobody
tests its type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar

from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policy_fields import PolicyFields
from oop.punctuation.promise import Punctuation
from oop.punctuation.trackers import Tracker, no_time, number


class Progress:
    """The base of running policies, and the running form of those whose promises do not follow from rows (at_end,
    punctuated)."""

    ticks: ClassVar[bool] = False
    """Does it go by the wall clock?"""
    rises: ClassVar[bool] = False
    """Do rows raise its bound, one after the other? Then a promise may come due in the middle of a batch."""
    joins_batches: ClassVar[bool] = True
    """May batches be judged as one, with promises at the places where they ended?"""
    columns: tuple[str, ...] = ()
    """The columns whose groups have bounds of their own."""
    is_independent: bool = True
    """Are promises about each group, or the stream as a whole, independent of the other groups?"""

    def __init__(self, policy: PolicyFields, attribute: str) -> None:
        self.policy = policy
        self.attribute = attribute
        self.every = number(policy.every)
        self.promised: Bound | None = None

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        return [None for _ in values]

    def promises(self) -> Iterator[Punctuation]:
        """What can be promised now and is worth it: the bound has reached the next multiple of ``every``."""
        return iter(())

    def together(self) -> Iterator[Promise]:
        """What `promises` gives, with promises about many groups as one."""
        return self.promises()

    def so_far(self) -> Iterator[Punctuation]:
        """What it has promised, whether it helped anyone or not."""
        if self.promised is not None:
            yield Punctuation({self.attribute: self.promised})

    def tick(self, now: Bound) -> None:
        """The wall clock moved."""

    def rise(self) -> Bound | None:
        """If rows raise its bound (`rises`): the bound, if it is to be promised now. It then counts as promised."""
        return None

    def stamp(self, now: Bound) -> Bound:
        """The stamp of a row that comes in now, if the policy stamps rows."""
        return now

    def pass_over(self, greatest: Bound) -> bool:
        """Count rows as seen of which only the greatest value is known; False if each of them must be seen."""
        return False

    def trackers_now(self) -> Collection[Tracker]:
        """What is remembered of rows: of the stream as a whole, or of each group."""
        return ()

    def slowest(self) -> list[Value]:
        """The groups that hold back what is promised about all rows."""
        return []

    def told_groups(self) -> Iterable[Value]:
        """The groups about which it has promised more than about all rows."""
        return ()

    def remember(self) -> Any:
        """Where it stands, for `go_back`, which can go back there until promises are asked for."""
        return self.state()

    def go_back(self, there: Any) -> None:
        """Go back to what `remember` gave last."""
        self.restore(there)

    def due(self, bound: Bound | None, promised: Bound | None) -> bool:
        """Has the bound reached a new step of ``every``, counted on a fixed grid so that batches do not matter?"""
        if bound is None or (promised is not None and bound <= promised):
            return False
        return self.every is None or promised is None or bound // self.every > promised // self.every

    def state(self) -> Any:
        return self.promised

    def restore(self, state: Any) -> None:
        self.promised = state


class Linear(Progress):
    """One tracker for the stream as a whole: ordered and slack."""

    rises: ClassVar[bool] = True

    def __init__(self, policy: PolicyFields, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.tracker = policy.tracker()

    @property
    def bound(self) -> Bound | None:
        return self.tracker.bound

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        before = []
        for value in values:
            before.append(self.tracker.bound)
            if not no_time(value):
                self.tracker.see(value)
        return before

    def rise(self) -> Bound | None:
        bound = self.bound
        if bound is None or not self.due(bound, self.promised):
            return None
        self.promised = bound
        return bound

    def promises(self) -> Iterator[Punctuation]:
        bound = self.rise()
        if bound is not None:
            yield Punctuation({self.attribute: bound})

    def pass_over(self, greatest: Bound) -> bool:
        if self.tracker.needs_greatest_alone:
            self.tracker.see(greatest)
        return self.tracker.needs_greatest_alone

    def trackers_now(self) -> Collection[Tracker]:
        return (self.tracker,)

    def state(self) -> Any:
        return {"promised": self.promised, "tracker": self.tracker.state()}

    def restore(self, state: Any) -> None:
        self.promised = state["promised"]
        self.tracker.restore(state["tracker"])


class Clocked(Linear):
    """The running policy `timer`: the guard and the promises know what the last tick saw (OOP paper, A.1.1)."""

    ticks: ClassVar[bool] = True
    rises: ClassVar[bool] = False
    joins_batches: ClassVar[bool] = False

    def __init__(self, policy: PolicyFields, attribute: str, lull: Bound) -> None:
        super().__init__(policy, attribute)
        self.lull = lull
        self.ticked: Bound | None = None
        self.last: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        return self.ticked

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        before = []
        for value in values:
            before.append(self.ticked)
            if not no_time(value) and (self.ticked is None or value >= self.ticked):
                self.tracker.see(value)
        return before

    def tick(self, now: Bound) -> None:
        if self.every is not None and self.last is not None and now - self.last < self.every:
            return
        self.last = now
        candidates = [b for b in (self.ticked, self.tracker.bound, now - self.lull) if b is not None]
        self.ticked = max(candidates)

    def pass_over(self, greatest: Bound) -> bool:
        return False  # rows below what the clock promised do not count

    def due(self, bound: Bound | None, promised: Bound | None) -> bool:
        return bound is not None and (promised is None or bound > promised)  # `tick` looks at ``every``

    def state(self) -> Any:
        return {**super().state(), "ticked": self.ticked, "last": self.last}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.ticked, self.last = state["ticked"], state["last"]


class Arrived(Progress):
    """The running policy `arrival`: rows are stamped by the clock as they come in, and what it shows is promised.
    Stamps never go back, even if the clock does.

    >>> from oop.punctuation import arrival
    >>> arrived = Arrived(arrival(), "at")
    >>> arrived.stamp(7), arrived.stamp(5), list(arrived.promises())
    (7, 7, [Punctuation(at < 7)])
    """

    ticks: ClassVar[bool] = True

    def __init__(self, policy: PolicyFields, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.seen: Bound | None = None

    def stamp(self, now: Bound) -> Bound:
        """The stamp of a row that comes in now."""
        self.seen = now if self.seen is None else max(self.seen, now)
        return self.seen

    def tick(self, now: Bound) -> None:
        self.stamp(now)

    def promises(self) -> Iterator[Punctuation]:
        if self.due(self.seen, self.promised):
            assert self.seen is not None
            self.promised = self.seen
            yield Punctuation({self.attribute: self.seen})

    def state(self) -> Any:
        return [self.promised, self.seen]

    def restore(self, state: Any) -> None:
        self.promised, self.seen = state
