"""Finds the keys of groups that are promised about: only by such a promise is a group complete before the end."""

from __future__ import annotations

from collections.abc import Sequence

from oop.errors import TimeError
from oop.plan.flow import Flow
from oop.plan.graph import PROBES, could_promise, frontiers
from oop.plan.numbering import resolved


def promised_keys(flow: Flow, keys: Sequence[str]) -> tuple[str, ...]:
    """The keys about which the flow's sources may come to promise."""
    attributes: set[str] = set()
    node = resolved(flow.node)
    for bound in PROBES:
        try:
            frontier = frontiers(node, could_promise(node, bound))[id(node)]
        except TimeError:  # a window cannot reach this bound, but perhaps the next one
            continue
        attributes |= {a for p in frontier.promises() for a in p.below}
    return tuple(k for k in keys if k in attributes)
