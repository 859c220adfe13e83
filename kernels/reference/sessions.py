"""Open sessions by key, in plain Python over NumPy records."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Ints, Real
from oop.kernels.signatures.sessions import ABSORBED, CHANGED, OPEN, Extended, Slots


def extend_sessions(keys: Ints, times: Array, gap: Real, heads: Slots, sessions: Array, free: Slots) -> Extended:
    slots: list[int] = []
    made: list[int] = []
    lowered: list[int] = []
    absorbed: list[int] = []
    steps = 0
    for key, t in zip(keys.tolist(), times.tolist(), strict=True):
        end, newer, at = t + gap, 0, int(heads[key])
        while at and sessions[at]["start"] > end:
            newer, at = at, int(sessions[at]["older"])
            steps += 1
        if not at or sessions[at]["end"] < t:  # the row opens a session, between newer and at
            slot = int(free[-1 - len(made)])
            made.append(slot)
            sessions[slot] = (t, end, at, newer, key, 0)
            if at:
                sessions[at]["newer"] = slot
            _link_older(heads, sessions, newer, key, slot)
            at = slot
        elif t < sessions[at]["start"]:
            sessions[at]["start"] = t
            lowered.append(at)
            before = int(sessions[at]["older"])
            if before and sessions[before]["end"] >= t:  # the row bridges both: the older is absorbed
                sessions[at]["start"] = sessions[before]["start"]
                _unlink(heads, sessions, before)
                sessions[before]["older"], sessions[before]["state"] = at, ABSORBED
                absorbed.append(before)
        sessions[at]["end"] = max(end, sessions[at]["end"])
        sessions[at]["state"] = OPEN | CHANGED
        slots.append(at)
    survivors = [_find_survivor(sessions, slot) for slot in absorbed]
    rows = [_find_survivor(sessions, slot) for slot in slots]
    slots_, made_, lowered_, absorbed_, survivors_ = (
        np.array(found, np.int64) for found in (rows, made, lowered, absorbed, survivors)
    )
    return Extended(slots_, made_, lowered_, absorbed_, survivors_, steps)


def drop_sessions(slots: Ints, heads: Slots, sessions: Array) -> tuple[Ints, Array, Array] | None:
    for slot in slots.tolist():
        if not sessions[slot]["state"] & OPEN:
            return None
        _unlink(heads, sessions, slot)
        sessions[slot]["state"] = 0
    return sessions["key"][slots].astype(np.int64), sessions["start"][slots], sessions["end"][slots]


def sessions_until(sessions: Array, last: Real) -> tuple[Ints, Real | None]:
    open_ = sessions["state"] & OPEN > 0
    due = open_ & (sessions["end"] <= last)
    starts = sessions["start"][open_ & ~due]
    return np.flatnonzero(due), starts.min().item() if len(starts) else None


def _unlink(heads: Slots, sessions: Array, slot: int) -> None:
    older, newer = int(sessions[slot]["older"]), int(sessions[slot]["newer"])
    _link_older(heads, sessions, newer, int(sessions[slot]["key"]), older)
    if older:
        sessions[older]["newer"] = newer


def _link_older(heads: Slots, sessions: Array, newer: int, key: int, slot: int) -> None:
    if newer:
        sessions[newer]["older"] = slot
    else:
        heads[key] = slot


def _find_survivor(sessions: Array, slot: int) -> int:
    while sessions[slot]["state"] & ABSORBED:
        slot = int(sessions[slot]["older"])
    return slot
