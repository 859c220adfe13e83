"""The options of a run in this process. `Embedded` takes them; a `Run` and what it is made of read them."""

from __future__ import annotations

from oop.clocks import Clock, WallClock
from oop.engines.embedded.health import OnSilent, silent_span
from oop.engines.embedded.schedulers import MinCost, Scheduler
from oop.operators.core.batches import BATCH_ROWS
from oop.punctuation.durations import Duration

_LATE_ROWS = 1_000_000  # late rows that are kept for each source and each operator that sets rows aside


class Options:
    """The options of `Embedded`. Its docstring says what each of them means."""

    def __init__(
        self,
        *,
        threads: int | None = None,
        scheduler: Scheduler | None = None,
        clock: Clock | None = None,
        readers: bool = False,
        check: bool = False,
        latency: bool = False,
        batch_rows: int = BATCH_ROWS,
        queue_rows: int | None = None,
        silent_for: Duration | None = None,
        on_silent: OnSilent | None = None,
        late_rows: int = _LATE_ROWS,
    ) -> None:
        if threads is not None:
            _check_count("threads", threads)
        _check_count("batch_rows", batch_rows)
        if queue_rows is not None:
            _check_count("queue_rows", queue_rows)
        _check_count("late_rows", late_rows, least=0)
        if scheduler is not None and not callable(getattr(scheduler, "turn", None)):
            raise ValueError(f"a scheduler has a method turn, as oop.RoundRobin() does; not {scheduler!r}")
        if on_silent is not None and (silent_for is None or not callable(on_silent)):
            raise ValueError(f"on_silent= is a callable, and goes with silent_for=; not {on_silent!r}")
        self.silent_for = None if silent_for is None else silent_span(silent_for)
        self.on_silent = on_silent
        self.threads = threads
        self.scheduler = scheduler or MinCost()
        self.clock = clock or WallClock()
        self.readers = readers
        self.check = check
        self.latency = latency
        self.batch_rows = batch_rows
        self.queue_rows = queue_rows
        self.late_rows = late_rows

    @property
    def joins_boxes(self) -> bool:
        """May boxes become one program (`oop.plan.superboxes`)? Not where each is watched, or has turns of its own."""
        return getattr(self.scheduler, "joins_boxes", False) and not self.check


def _check_count(name: str, given: object, least: int = 1) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise ValueError(f"{name} is a number of at least {least}, not {given!r}")
