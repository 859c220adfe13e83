"""`Run.health`, and the report on an input or operator that has fallen silent (OOP paper, section 5.1).

An input is silent if it has promised nothing for the given time. An operator is silent if a promise came to it that
long ago and it has made none since. An operator whose inputs are silent is not reported, only its inputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oop.clocks import Clock
from oop.engines.embedded.boxes import Box
from oop.engines.embedded.pulses import Pulse
from oop.engines.embedded.tracing import find_blame
from oop.errors import WrongArgument
from oop.frozen import frozen
from oop.operators.core.arrival import CLOCK
from oop.operators.core.times import duration_in
from oop.operators.source.input import Input
from oop.operators.source.numbers import SEQ
from oop.punctuation import Punctuation
from oop.punctuation.durations import Duration
from oop.punctuation.patterns import Bound


@frozen()
class Pace:
    """How an operator answers promises: how often it answered promises that came to it with one of its own, and how
    long the first of them had waited by then, on average and at most, in the clock's unit (microseconds).

    >>> Pace(answers=2, mean=1.5, longest=2.0).longest
    2.0
    """

    answers: int
    mean: float
    longest: float


@frozen()
class BoxHealth:
    """The health of an input or operator. ``since`` is when it last promised by the run's clock (or when the run
    began), and ``silent`` how long ago that was, both in microseconds. ``rows`` and ``batches`` count what has left it
    since. ``waiting`` is how long a promise that came to it has waited for an answer, None if no promise waits.

    >>> promised, pace = Punctuation({"ts": 12}), Pace(0, 0.0, 0.0)
    >>> print(BoxHealth("source 'north'", "report.py:3", True, promised, 0, 7, 2, 1, None, pace, False, False))
    source 'north' (report.py:3): promised ts < 12, 7 us ago (2 rows since)
    """

    name: str
    site: str
    is_input: bool
    promised: Punctuation | None
    since: Bound
    silent: Bound
    rows: int
    batches: int
    waiting: Bound | None
    pace: Pace
    is_silent: bool
    ended: bool

    def __str__(self) -> str:
        said = "promised nothing" if self.promised is None else f"promised {self.promised}"
        text = f"{self.name} ({self.site}): {said}, {_shown(self.silent)} ago ({self.rows:,} rows since)"
        if self.ended:
            return f"{self.name} ({self.site}): has ended"
        if self.waiting is not None:
            text += f"; a promise has waited for {_shown(self.waiting)}"
        if self.pace.answers:
            text += f"; {self.pace.answers:,} answered in {_shown(self.pace.mean)}, at most {_shown(self.pace.longest)}"
        return text + ("; SILENT" if self.is_silent else "")


@frozen()
class Health:
    """The health of all inputs and operators of a run, inputs first.

    >>> import pyarrow as pa, oop
    >>> from oop.testing import ManualClock
    >>> s = oop.source(pa.table({"ts": [1, 12]}), time="ts", punctuate=oop.ordered(), name="north")
    >>> run = s.window(oop.tumbling(10)).agg(n=oop.count()).run(oop.Embedded(silent_for="10s", clock=ManualClock(0)))
    >>> _ = run.to_table()
    >>> north = run.health.box("north")
    >>> north.promised, north.rows, north.silent, north.ended
    (END, 0, 0, True)
    >>> run.health.box("Aggregate").pace
    Pace(answers=2, mean=0.0, longest=0.0)
    """

    boxes: tuple[BoxHealth, ...]

    def box(self, name: str) -> BoxHealth:
        """The first input or operator whose name begins with this.

        >>> Health(()).box("north")
        Traceback (most recent call last):
            ...
        KeyError: "no input or operator 'north'; there are none"
        """
        for box in self.boxes:
            if box.name.startswith((name, f"source {name!r}")):
                return box
        raise KeyError(f"no input or operator {name!r}; there are {', '.join(b.name for b in self.boxes) or 'none'}")

    @property
    def silent(self) -> tuple[BoxHealth, ...]:
        """The inputs and operators that are silent now.

        >>> Health(()).silent
        ()
        """
        return tuple(box for box in self.boxes if box.is_silent)

    def __str__(self) -> str:
        return "\n".join(map(str, self.boxes))


@frozen()
class Silence:
    """What ``on_silent`` is called with: once when an input or operator has fallen silent, and once when that is
    ``over``. ``promised`` is its last promise before the silence. ``since`` is when an input last promised, or when the
    promise came that an operator has not answered. ``lasted`` is how long the silence has lasted until now, or until
    it was over. ``holds_up`` is the oldest window (or group, or row) that waits for this input, as `Run.blame` finds
    it.

    >>> fallen = Silence("source 'north'", "report.py:3", True, Punctuation({"ts": 20}), 0, 12_000_000, None, False)
    >>> print(fallen)
    source 'north' (report.py:3) has been silent for 12.0 s, it had promised ts < 20
    """

    name: str
    site: str
    is_input: bool
    promised: Punctuation | None
    since: Bound
    lasted: Bound
    holds_up: str | None
    over: bool

    def __str__(self) -> str:
        if self.over:
            return f"{self.name} ({self.site}) speaks again, after {_shown(self.lasted)}"
        said = "nothing" if self.promised is None else str(self.promised)
        held = f"; it holds up {self.holds_up}" if self.holds_up else ""
        return f"{self.name} ({self.site}) has been silent for {_shown(self.lasted)}, it had promised {said}{held}"


OnSilent = Callable[[Silence], object]


class SilenceMonitor:
    """Looks at the clock once in each round of the engine, and reports silence."""

    def __init__(self, boxes: Sequence[Box], clock: Clock, silent_for: Bound, on_silent: OnSilent | None) -> None:
        self.boxes, self.clock, self.silent_for, self.on_silent = boxes, clock, silent_for, on_silent
        self.pulses: list[Pulse] = []
        for box in boxes:
            box.pulse = Pulse(box, self.now)
            self.pulses.append(box.pulse)
        self.reported: dict[int, Silence] = {}  # what is silent now, by its place in the plan

    def now(self) -> Bound:
        return self.clock.now(CLOCK)

    def look(self) -> None:
        """Report inputs and operators that have fallen silent, and those that speak again."""
        now = self.now()
        for number, pulse in enumerate(self.pulses):
            pulse.look(now)
            known = self.reported.get(number)
            is_silent = self._is_silent(pulse, now)
            if is_silent and known is None:
                self.reported[number] = said = self._silence(pulse, now)
                self._say(said)
            elif known is not None and not is_silent:
                del self.reported[number]
                ended = pulse.box.frontier.ended
                self._say(_over(known, now if ended or known.since == pulse.since else pulse.since))

    def _say(self, silence: Silence) -> None:
        if self.on_silent is None:
            return
        try:
            self.on_silent(silence)
        except Exception as error:
            error.add_note(f"in on_silent=, which was told: {silence}")
            raise

    def _is_silent(self, pulse: Pulse, now: Bound) -> bool:
        box = pulse.box
        if box.frontier.ended:
            return False
        if box.node.is_source:
            # an input that is not expected to promise before its end is never silent
            return now - pulse.since >= self.silent_for and _may_promise(box.node.source)
        return pulse.waiting is not None and now - pulse.waiting >= self.silent_for

    def _silence(self, pulse: Pulse, now: Bound) -> Silence:
        name, site, is_input = _named(pulse.box)
        since = pulse.since if is_input or pulse.waiting is None else pulse.waiting
        held = self._held_by(pulse.box) if self.on_silent is not None else None
        return Silence(name, site, is_input, pulse.promised, since, now - since, held, False)

    def _held_by(self, box: Box) -> str | None:
        """The oldest thing that waits for this input. None while an operator is in the middle of its output, because
        then it cannot be told what operators hold."""
        node = box.node
        if not node.is_source or any(b.pending is not None for b in self.boxes):
            return None
        blame = find_blame(self.boxes)
        if blame is None or all(s.source != node.source.source or s.site != node.site for s in blame.sources):
            return None
        return f"{blame.what} of {blame.operator}"

    def health(self) -> Health:
        """The health of all inputs and operators as it is now."""
        now = self.now()
        return Health(tuple(self._of(pulse, now) for pulse in self.pulses))

    def _of(self, pulse: Pulse, now: Bound) -> BoxHealth:
        pulse.look(now)
        box = pulse.box
        name, site, is_input = _named(box)
        pace = Pace(pulse.answers, pulse.total / pulse.answers if pulse.answers else 0.0, pulse.longest)
        return BoxHealth(
            name,
            site,
            is_input,
            pulse.promised,
            pulse.since,
            now - pulse.since,
            box.rows_out - pulse.rows,
            box.batches_out - pulse.batches,
            None if pulse.waiting is None else now - pulse.waiting,
            pace,
            self._is_silent(pulse, now),
            box.frontier.ended,
        )


def silent_span(silent_for: Duration) -> Bound:
    """``silent_for`` in the clock's unit."""
    span = duration_in(silent_for, CLOCK)
    if span <= 0:
        raise WrongArgument(f"silent_for= is a span of time, not {silent_for!r}", hint="write silent_for='10s'")
    return span


def _over(known: Silence, now: Bound) -> Silence:
    fields = (known.name, known.site, known.is_input, known.promised, known.since)
    return Silence(*fields, now - known.since, None, True)


def _may_promise(spec: Input) -> bool:
    """Is this input expected to promise before its end? Promises about row numbers alone do not count, because windows
    of rows wait for rows only."""
    return any(set(promise.below) - {SEQ} for promise in spec.could_promise({}, 0).promises())


def _named(box: Box) -> tuple[str, str, bool]:
    node = box.node
    name = f"source {node.source.source!r}" if node.is_source else node.spec.describe()
    return name, node.site, node.is_source


def _shown(span: Bound) -> str:
    """A span of the clock in a unit that is easy to read.

    >>> [_shown(span) for span in (7, 1_500, 12_300_000)]
    ['7 us', '1.5 ms', '12.3 s']
    """
    if span >= 1_000_000:
        return f"{span / 1_000_000:,.1f} s"
    return f"{span / 1_000:.1f} ms" if span >= 1_000 else f"{round(span)} us"
