"""The engine is fed with a script event by event, and what comes out between two looks is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import oop
from tests.vectors.clocks import CaseClock, first_time, own_promises, policy_of
from tests.vectors.script import Row, Script


@dataclass
class Watched:
    """What came out of a run: between the expects, and in all."""

    run: oop.Run
    rows: list[list[Row]]  # one list for each expect of rows
    all_rows: list[Row]
    promises: dict[int, list[oop.Punctuation]]  # by the position of an event: all up to there
    seen: list[oop.Punctuation]


def watch(
    script: Script, build: Callable[[oop.Stream], oop.Stream], late: str, settle: int = 0, **engine: Any
) -> Watched:
    """Feed the events one by one; after each, everything that follows from it has come out before the next is read.

    Where a scheduler does not bring an element through the whole plan in one round, ``settle`` rounds follow each.
    """
    events = script.events
    at = pause = 0
    ended: set[str] = set()
    rows: list[Row] = []
    before_end: int | None = None
    expects: list[list[Row]] = []
    taken = 0
    promises: list[oop.Punctuation] = []
    marks: dict[int, list[oop.Punctuation]] = {}
    clock = CaseClock(first_time(script.case))

    def check() -> None:
        """Note what has come out by now at every expect that is due; when the clock moves, a round passes first."""
        nonlocal at, taken, pause
        while at < len(events) and events[at][0] is None:
            if "clock_advance" in events[at][1]:
                clock.advance(events[at][1]["clock_advance"])
                marks[at] = list(promises)
                at, pause = at + 1, settle + 1
                return
            if "expect" in events[at][1]:
                expects.append(rows[taken:])
                taken = len(rows)
            marks[at] = list(promises)
            at += 1

    def feed(stream: str) -> Iterator[Any]:
        nonlocal at, pause, before_end
        nothing = script.batch(stream, [])
        while True:
            if stream == next(s for s in script.schemas if s not in ended):
                pause -= 1  # the first source to be read begins a round: all results of the last one are out
                if pause < 0:
                    check()
            if pause >= 0:
                yield nothing
                continue
            if at == len(events):
                before_end = len(rows) if before_end is None else before_end
                return
            if events[at][0] != stream:
                yield nothing
                continue
            element = events[at][1]
            at += 1
            if element is oop.END:
                ended.add(stream)
            elif not isinstance(element, oop.Punctuation):
                clock.see(element)
            pause = settle
            yield element

    policy = policy_of(script.case) if own_promises(script.case) else oop.punctuated()
    sources = [
        oop.source(feed(s), time="ts", punctuate=policy, name=s, schema=schema, late=late)
        for s, schema in script.schemas.items()
    ]
    result = build(sources[0] if len(sources) == 1 else oop.union(*sources))
    run_ = result.run(engine=oop.Embedded(check=True, clock=clock, **engine))
    for element in run_.elements():
        if isinstance(element, oop.Punctuation):
            promises.append(element)
        else:
            rows += element.to_pylist()
    assert all(b.buffered_rows == 0 for b in run_.metrics.boxes), "state is empty after the end"
    check()
    assert at == len(events)
    # what the end of a stream brings that the case did not close is not part of the case
    return Watched(run_, expects, rows[:before_end], marks, promises)
