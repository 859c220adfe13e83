"""What is noted for the next save does not grow where nobody saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.slice_parts import SliceParts
from oop.operators.core.time_slices import TimeSlices

PLANS: dict[str, Callable[[oop.Stream], oop.Stream]] = {
    "tumbling": lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()),
    "sliding": lambda s: s.window(oop.sliding(20, every=10)).group_by("k").agg(n=oop.count()),
    "session": lambda s: s.window(oop.session(3)).group_by("k").agg(n=oop.count()),
    "sort": lambda s: s.sort(),
    "dedup": lambda s: s.dedup("ts", "k"),
    "first": lambda s: s.dedup("ts", "k", keep="first"),
    "any within": lambda s: s.dedup("k", within=4),
    "last within": lambda s: s.dedup("k", within=4, keep="last"),
    "join": lambda s: s.join(s, on="k", within=(-2, 2)),
    "group by": lambda s: s.group_by("ts").agg(n=oop.count()),
}


def parts_of(found: Any, seen: set[int]) -> Iterator[Any]:
    """Everything of ours that an operator refers to."""
    if id(found) in seen or isinstance(found, pa.Table | pa.RecordBatch | str | bytes):
        return
    seen.add(id(found))
    yield found
    inside: Any = ()
    if isinstance(found, dict):
        inside = found.values()
    elif isinstance(found, list | tuple):
        inside = found
    elif type(found).__module__.startswith("oop."):
        inside = [*getattr(found, "__dict__", {}).values(), *(getattr(found, n, None) for n in _slots(type(found)))]
    for part in inside:
        yield from parts_of(part, seen)


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def noted(plan: Callable[[oop.Stream], oop.Stream], steps: int) -> int:
    """Slices that are noted as changed after so many steps of time have come and gone."""
    batches = (pa.record_batch({"ts": [10 * i, 10 * i + 5], "k": [i % 3, i % 3]}) for i in range(steps))
    source = oop.source(batches, time="ts", punctuate=oop.ordered(), name="s")
    run = plan(source).run(oop.Embedded(threads=1))
    for _ in run:
        pass
    found = 0
    owners = 0
    for box in run._boxes:
        for part in parts_of(box.operator, set()):
            if isinstance(part, TimeSlices):
                found += len(part._changed) + len(part._narrow) + len(part._known)
            elif isinstance(getattr(part, "_parts", None), SliceParts) and hasattr(part, "_changed"):
                found += len(part._changed)
            owners += isinstance(part, TimeSlices | SliceParts)
    assert owners, "this plan has slices"
    return found


@pytest.mark.parametrize("name", PLANS)
def test_slices_that_come_and_go_leave_nothing_to_save(name: str) -> None:
    assert noted(PLANS[name], 30) == noted(PLANS[name], 120)
