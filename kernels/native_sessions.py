"""Open sessions by key, in C."""

from __future__ import annotations

import math

import numpy as np

from oop.kernels.checks import INT64_MAX, Array, Ints, Number
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point
from oop.kernels.reference_sessions import Extended, Slots, check_drop, check_extend, check_until, not_open
from oop.kernels.scratch import new_array


def extend_sessions(keys: Ints, times: Array, gap: Number, heads: Slots, sessions: Array, free: Slots) -> Extended:
    """Each row into its session; see `oop.kernels.reference_sessions.extend_sessions`."""
    times = check_extend(keys, times, gap, heads, sessions, free)
    keys, free, n = contiguous(keys), contiguous(free), len(times)
    slots, lowered, absorbed, survivors = (new_array(n, np.int64) for _ in range(4))
    out = ffi.new("oop_extended *", [point(slots), point(lowered), point(absorbed), point(survivors)])
    run = lib.oop_extend_sessions_float if times.dtype == np.float64 else lib.oop_extend_sessions
    state = *_point(heads, sessions), ffi.from_buffer("uint32_t[]", free), len(free)
    check_code(run(point(keys), point(times), n, gap, *state, out))
    made = free[len(free) - out.made :][::-1].astype(np.int64)
    merges = int(out.merges)
    return Extended(slots, made, lowered[: out.lowers], absorbed[:merges], survivors[:merges], int(out.steps))


def drop_sessions(slots: Ints, heads: Slots, sessions: Array) -> None:
    """Open sessions out of their chains; see `oop.kernels.reference_sessions.drop_sessions`."""
    check_drop(slots, heads, sessions)
    slots, done = contiguous(slots), ffi.new("int64_t *")
    pointer, _, records, room = _point(heads, sessions)
    code = lib.oop_drop_sessions(point(slots), len(slots), pointer, records, room, done)
    if code == lib.OOP_ROW_OUTSIDE:
        raise not_open()
    check_code(code)


def sessions_until(sessions: Array, last: Number) -> tuple[Ints, Number | None]:
    """The open sessions that end by then; see `oop.kernels.reference_sessions.sessions_until`."""
    check_until(sessions, last)
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
