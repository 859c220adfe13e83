"""Open sessions by key, in C."""

from __future__ import annotations

import math

import numpy as np

from oop.kernels.checks import FLOAT64, INT64_MAX, Array, Ints, Real
from oop.kernels.native.library import check_code, contiguous, ffi, lib, point
from oop.kernels.scratch import new_array
from oop.kernels.signatures.sessions import Extended, Slots


def extend_sessions(keys: Ints, times: Array, gap: Real, heads: Slots, sessions: Array, free: Slots) -> Extended:
    keys, free, n = contiguous(keys), contiguous(free), len(times)
    slots, lowered, absorbed, survivors = (new_array(n, np.int64) for _ in range(4))
    out = ffi.new("oop_extended *", [point(slots), point(lowered), point(absorbed), point(survivors)])
    run = lib.oop_extend_sessions_float if times.dtype == FLOAT64 else lib.oop_extend_sessions
    state = *_point(heads, sessions), ffi.from_buffer("uint32_t[]", free), len(free)
    check_code(run(point(keys), point(times), n, gap, *state, out))
    made = free[len(free) - out.made :][::-1].astype(np.int64)
    merges = int(out.merges)
    return Extended(slots, made, lowered[: out.lowers], absorbed[:merges], survivors[:merges], int(out.steps))


def drop_sessions(slots: Ints, heads: Slots, sessions: Array) -> tuple[Ints, Array, Array] | None:
    slots, done = contiguous(slots), ffi.new("int64_t *")
    pointer, _, records, room = _point(heads, sessions)
    keys, time = np.empty(len(slots), np.int64), sessions["end"].dtype
    starts, ends = np.empty(len(slots), time), np.empty(len(slots), time)  # they live on in what is put out
    times = (ffi.from_buffer("oop_time[]", edges) for edges in (starts, ends))
    code = lib.oop_drop_sessions(point(slots), len(slots), pointer, records, room, point(keys), *times, done)
    if code == lib.OOP_ROW_OUTSIDE:
        return None
    check_code(code)
    return keys, starts, ends


def sessions_until(sessions: Array, last: Real) -> tuple[Ints, Real | None]:
    slots = new_array(len(sessions), np.int64)
    due, left = ffi.new("int64_t *"), ffi.new("int64_t *")
    if sessions["end"].dtype == np.float64:
        run, least = lib.oop_sessions_until_float, ffi.new("double *", math.inf)
    else:
        run, least = lib.oop_sessions_until, ffi.new("int64_t *", INT64_MAX)
    check_code(run(_records(sessions), len(sessions), last, point(slots), due, left, least))
    return slots[: due[0]], least[0] if left[0] else None


def _records(sessions: Array) -> object:
    return ffi.from_buffer("oop_session[]", sessions.view(np.uint8))


def _point(heads: Slots, sessions: Array) -> tuple[object, int, object, int]:
    return ffi.from_buffer("uint32_t[]", heads), len(heads), _records(sessions), len(sessions)
