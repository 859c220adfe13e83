"""Open sessions by key, in Numba."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Ints, Real
from oop.kernels.jit.compiler import as_input, compile_loop
from oop.kernels.signatures.sessions import ABSORBED, CHANGED, OPEN, Extended, Slots


def extend_sessions(keys: Ints, times: Array, gap: Real, heads: Slots, sessions: Array, free: Slots) -> Extended:
    slots, lowered, absorbed, survivors = (np.empty(len(times), np.int64) for _ in range(4))
    rows = as_input(keys), as_input(times), times.dtype.type(gap)
    outs = slots, lowered, absorbed, survivors
    count, lowers, merges, steps = place_rows(*rows, heads, sessions, as_input(free), *outs)
    made = free[len(free) - count :][::-1].astype(np.int64)
    return Extended(slots, made, lowered[:lowers], absorbed[:merges], survivors[:merges], int(steps))


def drop_sessions(slots: Ints, heads: Slots, sessions: Array) -> tuple[Ints, Array, Array] | None:
    if drop_slots(as_input(slots), heads, sessions) < len(slots):
        return None
    return sessions["key"][slots].astype(np.int64), sessions["start"][slots], sessions["end"][slots]


def sessions_until(sessions: Array, last: Real) -> tuple[Ints, Real | None]:
    slots, time = np.empty(len(sessions), np.int64), sessions["end"].dtype.type
    due, left, least = find_until(sessions, time(last), slots, time(0))
    return slots[:due], least if left else None


@compile_loop
def find_until(sessions: Array, last: Real, slots: Ints, least: Real) -> tuple[int, int, Real]:
    """How many are due, how many are left, and the least start of those."""
    due, left = 0, 0
    for i in range(1, len(sessions)):
        if sessions[i].state & OPEN:
            if sessions[i].end <= last:
                slots[due] = i
                due += 1
            else:
                if not left or sessions[i].start < least:
                    least = sessions[i].start
                left += 1
    return due, left, least


@compile_loop
def place_rows(
    keys: Ints,
    times: Array,
    gap: Real,
    heads: Slots,
    sessions: Array,
    free: Slots,
    slots: Ints,
    lowered: Ints,
    absorbed: Ints,
    survivors: Ints,
) -> tuple[int, int, int, int]:
    """Place the rows; return how many sessions are new, begin earlier, were absorbed, and were looked at in vain."""
    made, lowers, merges, steps, last = 0, 0, 0, 0, np.uint32(0)
    for i in range(len(keys)):
        key, t, end = keys[i], times[i], times[i] + gap
        at, newer = heads[key], np.uint32(0)
        if last and key == keys[i - 1] and t <= times[i - 1]:  # go on where the last row ended: no newer one fits
            at, newer = last, sessions[last].newer
        while at and sessions[at].start > end:
            newer, at = at, sessions[at].older
            steps += 1
        if not at or sessions[at].end < t:  # the row opens a session, between newer and at
            made += 1
            slot = free[len(free) - made]
            sessions[slot].start = t
            sessions[slot].end = end
            sessions[slot].older = at
            sessions[slot].newer = newer
            sessions[slot].key = key
            if at:
                sessions[at].newer = slot
            _link_older(heads, sessions, newer, key, slot)
            at = slot
        else:
            if end > sessions[at].end:
                sessions[at].end = end
            if t < sessions[at].start:
                sessions[at].start = t
                lowered[lowers] = at
                lowers += 1
                before = sessions[at].older
                if before and sessions[before].end >= t:  # the row bridges both: the older is absorbed
                    sessions[at].start = sessions[before].start
                    _unlink(heads, sessions, before)
                    sessions[before].older = at
                    sessions[before].state = ABSORBED
                    absorbed[merges] = before
                    merges += 1
        sessions[at].state = OPEN | CHANGED
        last = at
        slots[i] = at
    for k in range(merges):
        survivors[k] = _find_survivor(sessions, absorbed[k])
    if merges:
        for i in range(len(keys)):
            slots[i] = _find_survivor(sessions, slots[i])
    return made, lowers, merges, steps


@compile_loop
def drop_slots(slots: Ints, heads: Slots, sessions: Array) -> int:
    """Take sessions out of their chains, up to the first that is not open; return how many went."""
    for i in range(len(slots)):
        slot = slots[i]
        if not sessions[slot].state & OPEN:
            return i
        _unlink(heads, sessions, slot)
        sessions[slot].state = 0
    return len(slots)


@compile_loop
def _unlink(heads: Slots, sessions: Array, slot: int) -> None:
    older, newer = sessions[slot].older, sessions[slot].newer
    _link_older(heads, sessions, newer, sessions[slot].key, older)
    if older:
        sessions[older].newer = newer


@compile_loop
def _link_older(heads: Slots, sessions: Array, newer: int, key: int, slot: int) -> None:
    if newer:
        sessions[newer].older = slot
    else:
        heads[key] = slot


@compile_loop
def _find_survivor(sessions: Array, slot: int) -> int:
    while sessions[slot].state & ABSORBED:
        slot = int(sessions[slot].older)
    return slot
