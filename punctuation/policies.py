"""Policies: how a source comes to promise (OOP paper, sections 3.2, 5.1 and A.1.1).

A policy is a value; `start` gives its running instance for one attribute. Each has a one-line trade-off:

- `ordered()`: the input is in order; the bound is the greatest value seen.
- `slack(bound)`: rows come at most ``bound`` behind the greatest seen; too small loses rows, too large waits.
- `slack(rows=n)`: Aurora's "out of order by n": at most n greater values come before a row.
- `punctuated()`: the data carries its promises; exact, nothing is guessed.
- `timer(every, lull)`: by the wall clock; a silent input does not hold the others up.
- `at_end()`: nothing is promised until the input ends.
- `exact()`: the least value still to come, of data that can be read twice: for tests and experiments.
- `arrival()`: rows are stamped when they come in; none is late, but the answer depends on when they came.

>>> s = slack(5).start("ts")
>>> s.observe([7, 3, 1])       # the bound that the rows before each row imply
[None, 2, 2]
>>> list(s.promises())
[Punctuation(ts < 2)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oop.punctuation.durations import Duration, show
from oop.punctuation.named_groups import By, named_by, named_groups
from oop.punctuation.patterns import Bound, Value

if TYPE_CHECKING:
    from oop.punctuation.progress import Progress

InUnits = Callable[[Duration], Bound]


@dataclass(frozen=True)
class Policy:
    """What all policies have in common. ``by`` makes promises group-wise: one bound for each value of that column, or
    for each combination of values of several. Several columns stand in alphabetical order, whatever order they were
    given in, and a group of them is the tuple of its values in that order, as `GroupPromises` has it.

    ``groups`` are all the groups there are, or ``idle`` retires a group after that much stream time without a row;
    with neither, the rest (groups not seen) is never promised about.
    """

    every: Duration | None = None
    by: str | tuple[str, ...] | None = None
    groups: tuple[Value, ...] | None = None
    idle: Duration | None = None

    def __post_init__(self) -> None:
        if self.by is None and (self.groups is not None or self.idle is not None):
            raise ValueError("groups= and idle= go with by=")
        if self.groups is not None and self.idle is not None:
            raise ValueError("give groups= (all that there are) or idle= (when a group retires), not both")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose groups have promises of their own.

        >>> ordered(by=["proto", "link"]).columns, ordered(by="link").columns, ordered().columns
        (('link', 'proto'), ('link',), ())
        """
        return () if self.by is None else (self.by,) if isinstance(self.by, str) else self.by

    @property
    def attributes(self) -> tuple[str, ...] | None:
        """The attributes that it promises about; None: the one it is declared for."""
        return None

    @property
    def is_data_driven(self) -> bool:
        """Does each row's lateness follow from the rows before it alone?"""
        return False

    @property
    def promises_rest(self) -> bool:
        """Is there ever a promise about all rows, not just about groups seen?"""
        return self.by is None or self.groups is not None or self.idle is not None

    def in_units(self, convert: InUnits) -> Policy:
        """The same policy with durations as numbers of the time column's unit."""
        return replace(self, **_durations(self, convert))

    def start(self, attribute: str) -> Progress:
        """The running instance; durations must be numbers by now."""
        from oop.punctuation.starting import start  # which is made of the policies; `operators.input` has loaded it

        return start(self, attribute)

    def _suffix(self) -> str:
        parts = [f" by {', '.join(self.columns)}"] if self.by else []
        if self.every is not None:
            parts.append(f" every {show(self.every)}")
        return "".join(parts)


def _durations(policy: Policy, convert: InUnits) -> dict[str, Any]:
    """``every`` and ``idle`` as numbers, both above 0."""
    found = {n: None if d is None else convert(d) for n, d in (("every", policy.every), ("idle", policy.idle))}
    for name, value in found.items():
        if value is not None and value <= 0:
            raise ValueError(f"{name} must be greater than 0, not {value}")
    return found


@dataclass(frozen=True)
class Slack(Policy):
    bound: Duration = 0

    @property
    def is_data_driven(self) -> bool:
        return True

    def in_units(self, convert: InUnits) -> Policy:
        bound = convert(self.bound)
        if bound < 0:
            raise ValueError(f"slack must not be negative: {self.bound!r}")
        return replace(self, **_durations(self, convert), bound=bound)

    def __str__(self) -> str:
        return ("ordered" if self.bound == 0 else f"slack {show(self.bound)}") + self._suffix()


@dataclass(frozen=True)
class SlackRows(Policy):
    rows: int = 0

    @property
    def is_data_driven(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"slack {self.rows} rows{self._suffix()}"


@dataclass(frozen=True)
class Punctuated(Policy):
    on: tuple[str, ...] | None = None

    @property
    def attributes(self) -> tuple[str, ...] | None:
        return self.on

    @property
    def promises_rest(self) -> bool:
        return True

    def __str__(self) -> str:
        return "punctuated" + (f" on {', '.join(self.on)}" if self.on else "") + self._suffix()


@dataclass(frozen=True)
class Timer(Policy):
    lull: Duration = 0
    slack: Duration = 0

    def in_units(self, convert: InUnits) -> Policy:
        lull, slack_ = convert(self.lull), convert(self.slack)
        if lull < 0 or slack_ < 0:
            raise ValueError("lull and slack must not be negative")
        return replace(self, **_durations(self, convert), lull=lull, slack=slack_)

    @property
    def promises_rest(self) -> bool:
        return True  # a lull is one of the whole source

    def __str__(self) -> str:
        return f"timer lull {show(self.lull)} slack {show(self.slack)}{self._suffix()}"


@dataclass(frozen=True)
class AtEnd(Policy):
    def __str__(self) -> str:
        return "at end"


@dataclass(frozen=True)
class Exact(Policy):
    """A source reads its data ahead, and takes the promises from there: there is nothing to observe."""

    @property
    def promises_rest(self) -> bool:
        return True

    def start(self, attribute: str) -> Progress:
        raise ValueError("exact() reads data ahead, which only a source can: use ordered() or slack(…) here")

    def __str__(self) -> str:
        return f"exact{self._suffix()}"


@dataclass(frozen=True)
class Arrival(Policy):
    """The attribute is made by the source: what the clock shows when a row comes in."""

    def __str__(self) -> str:
        return "arrival"


def ordered(
    every: Duration | None = None,
    *,
    by: By | None = None,
    groups: Sequence[Value] | None = None,
    idle: Duration | None = None,
) -> Policy:
    """The input is in order (with ``by``: each group is).

    >>> str(ordered(by="link", groups=["A", "B"]))
    'ordered by link'
    >>> str(ordered(by=["link", "proto"], groups=[("A", 6), {"link": "B", "proto": 17}]))
    'ordered by link, proto'
    """
    return Slack(every, named_by(by), named_groups(groups, by), idle, bound=0)


def slack(
    bound: Duration | None = None,
    every: Duration | None = None,
    *,
    rows: int | None = None,
    by: By | None = None,
    groups: Sequence[Value] | None = None,
    idle: Duration | None = None,
) -> Policy:
    """Rows come at most ``bound`` of time, or ``rows`` rows, behind.

    >>> str(slack("5s")), str(slack(rows=3)), str(slack("5s", by=["link", "proto"]))
    ('slack 5s', 'slack 3 rows', 'slack 5s by link, proto')
    """
    if (bound is None) == (rows is None):
        raise ValueError("slack takes a bound of time or rows=n, one of the two")
    if rows is not None:
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise ValueError(f"rows is a whole number, 0 or more, not {rows!r}")
        return SlackRows(every, named_by(by), named_groups(groups, by), idle, rows=rows)
    assert bound is not None
    return Slack(every, named_by(by), named_groups(groups, by), idle, bound=bound)


def punctuated(on: str | Sequence[str] | None = None, *, by: By | None = None) -> Policy:
    """The data carries its promises: on these attributes (default: the time), group-wise if ``by`` says so.

    >>> str(punctuated(on=["start", "end"]))
    'punctuated on start, end'
    """
    names = (on,) if isinstance(on, str) else None if on is None else tuple(on)
    if names is not None and not names:
        raise ValueError("on= names at least one attribute")
    return Punctuated(by=named_by(by), on=names)


def timer(
    every: Duration,
    lull: Duration,
    slack: Duration = 0,
    *,
    by: By | None = None,
    groups: Sequence[Value] | None = None,
    idle: Duration | None = None,
) -> Policy:
    """By the wall clock: each ``every`` the bound is the greatest seen − ``slack``; in a lull it is now − ``lull``.

    >>> str(timer("1s", lull="10s"))
    'timer lull 10s slack 0 every 1s'
    """
    return Timer(every, named_by(by), named_groups(groups, by), idle, lull=lull, slack=slack)


def at_end() -> Policy:
    """Nothing is promised until the input ends: right for a bounded input that no window needs to leave early.

    >>> str(at_end())
    'at end'
    """
    return AtEnd()


def exact(*, by: By | None = None) -> Policy:
    """The low-water mark itself (OOP paper, Eq. 1): before each batch, the least value still to come. The data is read
    twice, so it must be files, tables or lists.

    >>> str(exact(by="link"))
    'exact by link'
    """
    return Exact(by=named_by(by))


def arrival() -> Policy:
    """Rows are stamped with the engine's clock as they come in (OOP paper, section 4.2: windows on arrival time).

    It is declared for a column that the data does not have: that is where the stamp goes. Stamps never decrease, so
    what the clock shows is promised about them, in a lull as well; no row is late.

    >>> import pyarrow as pa, oop
    >>> from oop.testing import ManualClock
    >>> s = oop.source(pa.table({"v": [7, 8]}), time="at", punctuate=oop.arrival())
    >>> counts = s.window(oop.tumbling("1s")).agg(n=oop.count())
    >>> counts.run(oop.Embedded(clock=ManualClock(1_500_000))).to_table().to_pydict()
    {'window_start': [datetime.datetime(1970, 1, 1, 0, 0, 1)], 'window_end': [...], 'n': [2]}
    """
    return Arrival()
