"""Experiment G1 (OOP paper, section 8.1, figure 9): the greatest rate of packets without a loss, for the low-level
half of a count by (src, dst) in order (figure 7) and out of order (slow-flush with i=160 and m=2, lazy-flush with m=2).

    python benchmarks/g1.py                 # 260 k groups, a table of twice as many slots; a minute
    python benchmarks/g1.py --full          # the grid of figure 9, and other rings; about an hour

A thread in C writes packets into a ring of a fixed size at a set rate. The engine drains the ring on one thread, which
runs both levels. A packet that finds the ring full is lost. The greatest rate without a loss is searched for until it
is known within a tenth. A rate is held if one of several tries lost nothing, because a shared machine stops for some ms
now and then. The first windows, in which tables grow, do not count. A pause is the reading thread's own processor time
between two drains, at a rate that every way holds; there are figures for the sixteenths before and behind a window's
end, and for all pauses. --rows is the length of a try, as the number of rows at a million a second. The case that has
targets is measured --repeat times, in turn, and the medians are compared.

The ring has 65,536 slots. The paper does not say how many slots its ring had, but figure 9 tells it roughly: at 260 k
groups and twice the slots the in-order system held 400 k packets a second where the processor could do 800 k. If the
flush of an aggregate takes as long as a packet (1.25 us), a burst of the 206 k aggregates in the table takes 0.26 s, in
which 103 k packets come, so the ring must have had about as many slots. The cases with other rings show what other
sizes would do.
"""

from __future__ import annotations

import gc
import statistics
from typing import Any

from _harness import Options, Target, at_least, options, report

import oop

RING = 65_536
RINGS = (16_384, 32_768, 65_536, 131_072, 262_144, 1_048_576)
GROUPS = (66_000, 130_000, 260_000, 520_000)
AIMED = (260_000, 2, RING)  # the case that has targets
SIZES = (0.5, 1, 2)
READ = 2_048  # rows read at once unless more wait, and of a queue; few, so that the ring decides
SLICE = 8_192  # rows of a batch, at most
WINDOWS, WARM = 12, 8  # windows in a try, and how many of them do not count
START, MOST = 2_000_000, 64_000_000
QUICK, FULL, CLOSE = {"tries": 2, "near": 1.25}, {"tries": 3, "near": 1.1}, {"tries": 3, "near": 1.05}
CALM = 2_000_000  # rows a second, for pauses
DISCIPLINES = {
    "in order, slow-flush": ("iop", lambda slots: oop.slow_flush(slots=slots)),
    "in order, slow-flush, next slot": ("iop", lambda slots: oop.slow_flush(slots=slots, next_slot=True)),
    "out of order, slow-flush": ("oop", lambda slots: oop.slow_flush(slots=slots, i=160, m=2)),
    "out of order, lazy-flush": ("oop", lambda slots: oop.lazy_flush(slots=slots, m=2)),
}
IOP, _, SLOW, LAZY = DISCIPLINES


def measure(how: str, groups: int, size: float, ring: int, seconds: float, tries: int, near: float) -> dict[str, Any]:
    """The greatest rate that loses nothing, the share of a processor that it takes, and the longest pauses at a calm
    rate."""
    slots = int(size * groups)

    def holds(rate: int) -> float | None:
        """The share of a processor that the rate takes, if one of the tries lost nothing."""
        for _ in range(tries):
            found = _try(how, groups, slots, ring, rate, seconds)
            if not found["dropped"]:
                return float(found["processor"])
        return None

    _try(how, groups, slots, ring, CALM, min(seconds, 0.2))  # loads and touches what a process loads and touches once
    rate, used = START, holds(START)
    held, lost = (START, 2 * START) if used is not None else (START // 2, START)
    while rate > 1000 and used is None:  # down, or up, in large steps
        rate, used = held, holds(held)
        held, lost = (held, lost) if used is not None else (held // 2, held)
    while rate == held and lost < MOST and (found := holds(lost)) is not None:
        rate = held = lost
        lost, used = 2 * lost, found
    while lost / held > near:
        middle = int((lost * held) ** 0.5)
        found = holds(middle)
        held, lost, used = (held, middle, used) if found is None else (middle, lost, found)
    calm = [_try(how, groups, slots, ring, CALM, seconds) for _ in range(tries)]
    pauses = {name: round(1e3 * statistics.median(found[name] for found in calm), 3) for name in ("end", "pause")}
    return {"rate": held, "processor": used, "end_pause_ms": pauses["end"], "pause_ms": pauses["pause"]}


def _try(how: str, groups: int, slots: int, ring_slots: int, rate: int, seconds: float) -> dict[str, Any]:
    calm = rate == CALM
    order, flush = DISCIPLINES[how]
    window = max(int(seconds * 1e6 / WINDOWS), 1)
    rows = window * WINDOWS * rate // 1_000_000
    ring = oop.Ring(rate=rate, rows=rows, groups=groups, slots=ring_slots, batch=SLICE, enough=READ, window=window)
    packets = oop.source(ring, time="ts", punctuate=oop.ordered())
    grouped = packets.window(oop.tumbling(f"{window}us")).group_by("src", "dst").preaggregate(flush(slots))
    gc.collect()
    gc.freeze()  # what exists now stays, so the collector need not visit it again
    engine = oop.Embedded(threads=1, batch_rows=SLICE, queue_rows=READ)
    run = grouped.agg(n=oop.count()).run(engine, order=order)
    counted, dropped, warm = 0, 0, False
    for batch in run:
        counted += oop.kernels.views.column(batch["n"]).data.sum()
        if warm and ring.counts.dropped > dropped and not calm:
            ring.stop()  # one loss decides the try
        if not warm and batch["window_start"][-1].value >= (WARM - 1) * window:
            warm, dropped = True, ring.counts.dropped
            ring.forget_pauses()
    counts = ring.counts
    if counted != counts.drained:
        raise SystemExit(f"{how}: {counted} of {counts.drained} rows were counted")
    measured = seconds * (WINDOWS - WARM) / WINDOWS
    return {
        "dropped": counts.dropped - dropped,
        "pause": counts.longest_pause,
        "end": max(counts.pauses_in_window[0], counts.pauses_in_window[-1]),
        "processor": round(counts.reader_seconds / measured, 3),
    }


def _name(groups: int, size: float, ring: int) -> str:
    return f"{groups:,} groups, {int(size * groups):,} slots, ring of {ring:,}"


def _compare(chosen: Options, groups: int, size: float, ring: int, hows: Any) -> list[dict[str, Any]]:
    is_aimed = (groups, size, ring) == AIMED
    pace = QUICK if chosen.repeat == 1 else CLOSE if is_aimed else FULL
    what = {"groups": groups, "size": size, "ring": ring, "seconds": chosen.rows / 1e6}
    found: dict[str, list[dict[str, Any]]] = {how: [] for how in hows}
    for _ in range(chosen.repeat if is_aimed else 1):
        for how in hows:
            found[how].append(chosen.call(measure, how=how, **what, **pace))
    case = {"case": _name(groups, size, ring), "groups": groups}
    return [{**case, "contender": how, **_median(of), "runs": len(of)} for how, of in found.items()]


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The median of each number by itself."""
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return {"rows_per_second": found.pop("rate"), **found}


def _ratios(runs: list[dict[str, Any]], target: Target | None, pause: Target | None) -> list[dict[str, Any]]:
    """Ratios of out of order to in order: of the rates, and by how much the longest pause is shorter."""
    by = {run["contender"]: run for run in runs}
    found = []
    for how in (SLOW, LAZY):
        for what, value, aim in (
            ("rate", by[how]["rows_per_second"] / by[IOP]["rows_per_second"], target),
            (
                "pause at a window's end, shorter by",
                by[IOP]["end_pause_ms"] / max(by[how]["end_pause_ms"], 1e-3),
                pause,
            ),
        ):
            judged = {"target": None, "met": None} if aim is None else aim.judge(value)
            found.append({"case": f"{runs[0]['case']}: {how}, {what}", "ratio": round(value, 3), **judged})
    return found


def main() -> None:
    chosen = options(__doc__ or "", rows=2_400_000, repeat=1, full=2_400_000)
    full = chosen.repeat > 1
    grid = [(groups, size, RING) for groups in GROUPS for size in SIZES] if full else [AIMED]
    grid += [(260_000, 2, ring) for ring in RINGS if ring != RING] if full else []
    runs: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for case in grid:
        if chosen.wants(_name(*case)):
            hows = DISCIPLINES if full and case == AIMED else (IOP, SLOW, LAZY)
            found = _compare(chosen, *case, hows)
            runs += found
            results += _ratios(found, *((at_least(2), at_least(10)) if case == AIMED else (None, None)))
    report("g1", chosen, results, runs=runs)


if __name__ == "__main__":
    main()
