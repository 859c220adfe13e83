"""Cases of tables of a fixed size, from which an aggregate that is in the way goes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.flush import Discipline
from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng


def run_flush_table(kernels: Kernels, kernel: str, made: tuple[Any, ...], steps: list[tuple[Any, ...]]) -> Any:
    """Run steps, each of which is a method and its arguments. "refused" is a step that must fail and leave the table as
    it was. "free" without places gives back all places that have left. "move" continues in another table."""
    table = kernels.FlushTable(*made)
    found: list[Any] = []
    gone: list[Any] = []
    for method, *args in steps:
        result: Any = None
        if method == "refused":
            result = _refuse(table, *args)
        elif method == "move":
            table, result = _move_flush_table(kernels, table, made)
        elif method == "free" and not args:
            table.free(np.concatenate([np.zeros(0, np.int64), *gone]))
            gone = []
        elif method == "state":
            table.state = args[0]
        else:
            result = getattr(table, method)(*args)
            if method in ("push", "flush"):
                gone.append(result[1] if method == "push" else result)
                found.append((table.words(gone[-1]), table.wids(gone[-1])))
        slots, places = table.held()
        found.append((result, len(table), table.state, table.collided, table.installed, slots, places))
    return found


def _refuse(table: Any, method: str, *args: Any) -> str:
    try:
        if method == "state":
            table.state = args[0]
        else:
            getattr(table, method)(*args)
    except OopError as error:
        return str(error)
    raise AssertionError(f"{method} was not refused")


def _move_flush_table(kernels: Kernels, table: Any, made: tuple[Any, ...]) -> Any:
    slots, places = table.held()
    other = kernels.FlushTable(*made)
    restored = other.restore(slots, table.words(places), table.wids(places))
    other.state = table.state
    return other, restored


DISCIPLINES = {
    "in_order": Discipline(in_order=True),
    "in_order-next": Discipline(in_order=True, next_slot=True),
    "in_order-every": Discipline(in_order=True, every=2),
    "lazy": Discipline(),
    "lazy-next": Discipline(next_slot=True),
    "every_1": Discipline(every=1),
    "every_1-next": Discipline(every=1, next_slot=True),
    "every_3": Discipline(every=3),
    "every_3-next": Discipline(every=3, next_slot=True),
}


def _flush_rows(n: int, size: int, width: int, keys: int, in_order: bool, windows: int = 9) -> tuple[Any, ...]:
    """Rows whose key determines their slot."""
    rng = new_rng()
    codes = rng.integers(0, keys, n)
    words = np.column_stack([(codes >> i) * 0x1E3779B97F4A7C15 for i in range(width)]).view(np.uint64)
    wids = np.sort(rng.integers(-2, windows, n)) if in_order else np.arange(n) * windows // n - rng.integers(0, 3, n)
    return (codes * 7 % size).astype(np.int32), words, wids


def _flush_steps(rows: tuple[Any, ...], lengths: list[int], in_order: bool) -> list[tuple[Any, ...]]:
    """Steps that push rows in pieces. In between places are given back, bounds come, old aggregates leave, the table
    moves."""
    steps: list[tuple[Any, ...]] = []
    ends = np.cumsum(lengths)
    for number, (end, length) in enumerate(zip(ends.tolist(), lengths, strict=True)):
        steps.append(("push", *(column[end - length : end] for column in rows)))
        last = int(rows[2][max(end - 1, 0)])
        if number % 2:
            steps.append(("free",))
        if number % 3 == 1:
            steps.append(("advance", last - 1))
        if number % 5 == 4:
            steps += [("flush", last - (not in_order), 0, 1), ("flush", last - (not in_order)), ("free",), ("move",)]
    return [*steps, ("free",), ("flush", None), ("free",), ("flush", None)]


def cases() -> Iterator[Case]:
    pieces = [1, 1, 3, 40, 0, 300, 7, 129, 5, 5, 400, 2, 107]
    for label, discipline in DISCIPLINES.items():
        ordered = discipline.in_order
        for size, width, keys in ((1, 1, 3), (2, 2, 5), (7, 1, 5), (7, 3, 40), (64, 1, 100), (300, 1, 90)):
            rows = _flush_rows(sum(pieces), size, width, keys, ordered)
            steps = _flush_steps(rows, pieces, ordered)
            yield _flush_case(f"{label}-{size}-{width}", steps, (size, width, 700, discipline))
        many = _flush_rows(12_000, 5000, 1, 4000, ordered)
        parts = [4000, 100, 3900, 4000]
        yield _flush_case(f"large-{label}", _flush_steps(many, parts, ordered), (5000, 1, 8000, discipline))
        sparse = _flush_rows(400, 5000, 1, 60, ordered, windows=40)
        yield _flush_case(f"sparse-{label}", _flush_steps(sparse, [20] * 20, ordered), (5000, 1, 100, discipline))
        most = _flush_rows(700, 7, 1, 9, ordered)
        for given in most:
            given.flags.writeable = False
        thirds = [given[::3] for given in most]
        limits = (np.zeros(4, np.int32), np.zeros((4, 1), np.uint64), np.array([LEAST, LEAST, MOST - 1, MOST]))
        steps = [("push", *thirds), ("free",), ("flush", None), ("free",), ("move",), ("advance", LEAST)]
        steps += [("advance", 5), ("advance", 4), ("move",), ("advance", MOST), ("flush", LEAST), ("flush", MOST)]
        yield _flush_case(f"strided-{label}", steps, (7, 1, 250, discipline))
        ends = [("push", *limits), ("free",), ("flush", MOST), ("free",), ("flush", None)]
        yield _flush_case(f"limits-{label}", ends, (3, 1, 4, discipline))
    # Keys of two words whose tags are the same: their words still tell them apart.
    firsts = np.arange(50, dtype=np.uint64)
    twins = np.column_stack((firsts, _mix(firsts)))
    alike = (np.zeros(50, np.int32), twins, np.zeros(50, np.int64))
    yield _flush_case("alike", [("push", *alike), ("push", *alike)], (1, 2, 100, Discipline()))
    yield from _wrong_flush_cases()


def _mix(words: Any) -> Any:
    """The finaliser of splitmix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return words ^ (words >> np.uint64(31))


def _flush_case(label: str, steps: list[tuple[Any, ...]], made: tuple[Any, ...]) -> Case:
    return Case("FlushTable", label, lambda: (made, steps))


def _wrong_flush_cases() -> Iterator[Case]:
    """Cases of steps that are refused. They leave the table as it was, and the rows after them are taken."""
    slots, words, wids = np.array([0, 1, 0], np.int32), np.array([[1], [2], [3]], np.uint64), np.array([4, 4, 5])
    push, two = ("push", slots, words, wids), np.array([0, 1], np.int32)
    wrong: dict[str, tuple[Any, ...]] = {
        "slot_outside": ("push", slots + np.int32(2), words, wids),
        "slot_negative": ("push", -slots, words, wids),
        "slots_int64": ("push", slots.astype(np.int64), words, wids),
        "slots_list": ("push", [0, 1, 0], words, wids),
        "slots_grid": ("push", slots.reshape(1, 3), words, wids),
        "words_int64": ("push", slots, words.astype(np.int64), wids),
        "words_flat": ("push", slots, words[:, 0], wids),
        "words_wide": ("push", slots, np.zeros((3, 2), np.uint64), wids),
        "words_short": ("push", slots, words[:2], wids),
        "words_list": ("push", slots, [[1], [2], [3]], wids),
        "wids_short": ("push", slots, words, wids[:2]),
        "wids_float": ("push", slots, words, wids * 1.0),
        "too_many": ("push", np.zeros(5, np.int32), np.zeros((5, 1), np.uint64), np.full(5, 9)),
        "restore_taken": ("restore", two[:1] + np.int32(1), words[:1], wids[:1]),
        "restore_nothing": ("restore", two[:0], words[:0], wids[:0]),
        "free_outside": ("free", np.array([6])),
        "free_negative": ("free", np.array([-1])),
        "free_int32": ("free", two),
        "free_too_many": ("free", np.array([0, 1, 2, 0])),
        "state_short": ("state", (0, 0, 0)),
        "state_hand": ("state", (0, 0, 2, 1, 0, 0)),
        "state_hand_negative": ("state", (0, 0, -1, 1, 0, 0)),
        "state_to_visit": ("state", (0, 0, 0, 3, 0, 0)),
        "state_to_visit_negative": ("state", (0, 0, 0, -1, 0, 0)),
        "state_beyond": ("state", (2**63, 0, 0, 0, 0, 0)),
        "state_since": ("state", (0, 0, 0, 0, -1, 0)),
        "advance_beyond": ("advance", 2**63),
        "flush_beyond": ("flush", LEAST - 1),
        "flush_no_slots": ("flush", None, 1, 0),
        "flush_other_slots": ("flush", None, 0, 10**6),
    }
    for label, step in wrong.items():
        steps = [push, ("refused", *step), ("free",), push, ("flush", None)]
        yield _flush_case(f"refused-{label}", steps, (2, 1, 4, Discipline()))
    ordered = Discipline(in_order=True)
    back = (("push", slots, words, wids[::-1]), ("push", slots, words, wids - 1))
    later, again = (("push", slots, words, wids + more) for more in (9, 10))
    full = ("refused", "push", *(np.concatenate((given, given[-1:])) for given in (slots, words, wids + 9)))
    for number, step in enumerate(back):
        yield _flush_case(f"refused-back_{number}", [push, ("refused", *step), ("free",), later], (2, 1, 4, ordered))
    # The hand goes up to the last slot once. An out-of-order table has no hand, so that part of its state is ignored.
    uneven = ("state", (0, 0, 1, 2, 0, 0))
    yield _flush_case("refused-uneven", [("refused", *uneven), push], (2, 1, 4, ordered))
    yield _flush_case("uneven", [push, uneven, ("free",), later], (2, 1, 4, Discipline(every=1)))
    for label in ("in_order", "lazy"):
        steps = [push, full, ("free",), later, full, ("flush", None), full, ("free",), again]
        yield _flush_case(f"refused-not_given_back-{label}", steps, (2, 1, 4, DISCIPLINES[label]))
    restores: dict[str, tuple[Any, ...]] = {
        "twice": (np.zeros(2, np.int32), words[:2], wids[:2]),
        "outside": (two + np.int32(1), words[:2], wids[:2]),
        "negative": (-two, words[:2], wids[:2]),
        "short": (two, words[:1], wids[:2]),
        "int64": (two.astype(np.int64), words[:2], wids[:2]),
        "list": ([0, 1], words[:2], wids[:2]),
    }
    for label, given in restores.items():
        yield _flush_case(f"refused-restore_{label}", [("refused", "restore", *given), push], (2, 1, 4, Discipline()))
    tables = {"no_slots": (0, 1, 4), "slots": (2**31, 1, 4), "room": (2, 1, 0), "places": (2**30, 1, 2**30)}
    tables |= {"no_words": (2, 0, 4), "words": (2, 66, 4)}
    for label, made in tables.items():
        yield _flush_case(f"wrong-{label}", [], made)
    yield _flush_case("wrong-every", [], (2, 1, 4, Discipline(every=-1)))


RUNNERS = {"FlushTable": run_flush_table}
