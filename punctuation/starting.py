"""A policy becomes a running one. It is a module of its own, loaded together with its users: an import in the middle of
a run is held by one thread, and a child process that is forked then would wait for it for ever."""

from __future__ import annotations

from oop.punctuation.clocked_groups import ClockedGroups
from oop.punctuation.policies import Arrival, AtEnd, Policy, Punctuated, Timer
from oop.punctuation.progress import Arrived, Clocked, Linear, Progress
from oop.punctuation.progress_groups import Grouped


def start(policy: Policy, attribute: str) -> Progress:
    """The running instance of a policy whose durations are numbers.

    >>> start(Arrival(), "at").ticks
    True
    """
    if isinstance(policy, Arrival):
        return Arrived(policy, attribute)
    if isinstance(policy, AtEnd | Punctuated):
        return Progress(policy, attribute)
    if isinstance(policy, Timer):
        return Clocked(policy, attribute) if policy.by is None else ClockedGroups(policy, attribute)
    return Linear(policy, attribute) if policy.by is None else Grouped(policy, attribute)
