"""Policies: how a source comes to promise (OOP paper, sections 3.2, 5.1 and A.1.1).

A policy is a value; `start` gives its running instance for one attribute. Each has a one-line trade-off:

- `ordered()`: the input is in order; the bound is the greatest value seen.
- `slack(bound)`: rows come at most ``bound`` behind the greatest seen; too small loses rows, too large waits.
- `slack(rows=n)`: Aurora's "out of order by n": at most n greater values come before a row.
- `punctuated()`: the data carries its promises; exact, nothing is guessed.
- `timer(every, lull)`: promises go by the wall clock; a silent input does not hold the others up.
- `at_end()`: nothing is promised until the input ends.
- `exact()`: the least value still to come, of data that can be read twice: for tests and experiments.
- `arrival()`: rows are stamped when they come in; none is late, but the answer depends on when they came.

>>> s = slack(5).start("ts")
>>> s.observe([7, 3, 1])       # the bound that the rows before each row imply
[None, 2, 2]
>>> list(s.promises())
[Punctuation(ts < 2)]

**The idea.** A policy decides two things: what is promised, and which rows are late. They are one thing: a row is late
iff it is below the bound that the rows before it imply, whether that bound was promised yet or not. So lateness does
not depend on how rows are cut into batches, nor on which promises helped somebody. The running policy
(`progress.py`, by group `progress_groups.py` and `clocked_groups.py`) is the executable specification of that, a row at
a time; `oop.operators.source.judges` computes the same of whole batches, with the same state.

**The way in.** `policy.py` and `policy_fields.py` are what a policy declares about itself, with defaults. A user's
policy is fitted to a column (`oop.io.policies.fitted`: durations in the column's unit, groups as the column holds them)
and stands in the spec of the source; its operator calls `start`, and asks the guard (`oop.operators.source.guard`)
about each batch. Nobody tests a policy's type.

**How to add a source policy.**

1. Write a frozen dataclass here, or in a module of its own. Where its bounds follow from rows alone it derives from
   `Tracking`, and `tracker()` gives what is remembered of the rows (`trackers.py`); the bound of a tracker never
   retreats. Otherwise it derives from `Policy`, and `start()` gives a running class of its own, a `Progress`.
2. Declare what differs from the defaults: `carried`, `clocked`, `stamps`, `reads_ahead`, `promises_before_end`,
   `is_data_driven`; `keeps_order`, `promises_rest`, `attributes`, `could_promise` (what a plan may hope for);
   `slack_for` and `row_slack` (what `Run.late.needed_slack` says); `in_units`, if it has durations; `__str__`, which
   `explain` shows.
3. `judgement` may stay `EACH`. If a kernel can do it, name that one; `GREATEST` and `RANK` are for the bounds of
   `Greatest` and `NthGreatest` as they are, since their kernels compute these themselves. A new kind of judgement is a
   value of `Judgement` and a judge in `oop/operators/source/judges`, listed in the table there.
4. A running class that keeps more state than its tracker saves it by `state` and `restore`, as values that JSON has.
5. Write its constructor below, beside `ordered`, and export it from `oop.punctuation` and `oop` if users are to
   write it.
6. Test it row by row (`tests/punctuation/test_policies.py`), in batches against rows one by one
   (`tests/operators/source`), and add it to the policies of the laws (`tests/operators/test_laws_policies.py`).
   `tests/operators/source/test_own_policy.py` is a policy that is added in one place.

Decisions are in `punctuation/DECISIONS.md`, those about `exact()` in `oop/io/DECISIONS.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from oop.frozen import frozen
from oop.punctuation.clocked_groups import ClockedGroups
from oop.punctuation.durations import Duration, show
from oop.punctuation.named_groups import By, named_by, named_groups
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policy import InUnits, Policy, Tracking
from oop.punctuation.policy_fields import Judgement
from oop.punctuation.progress import Arrived, Clocked, Progress
from oop.punctuation.promise import END, Punctuation
from oop.punctuation.trackers import Greatest, NthGreatest, Tracker, number


@frozen()
class Slack(Tracking):
    """Rows come at most ``bound`` behind the greatest before them; in order, if that is 0."""

    bound: Duration = 0
    judgement: ClassVar[Judgement] = Judgement.GREATEST

    @property
    def keeps_order(self) -> bool:
        return not self.bound and self.by is None  # a row behind the greatest is late

    def slack_for(self, more: Bound) -> Bound | None:
        bound = number(self.bound)
        return more if bound is None else more + bound

    def in_units(self, convert: InUnits) -> Policy:
        bound = convert(self.bound)
        if bound < 0:
            raise ValueError(f"slack must not be negative: {self.bound!r}")
        return replace(self, **self._durations(convert), bound=bound)

    def tracker(self) -> Tracker:
        return Greatest(number(self.bound) or 0)

    def __str__(self) -> str:
        return ("ordered" if self.bound == 0 else f"slack {show(self.bound)}") + self._suffix()


@frozen()
class SlackRows(Tracking):
    """At most ``rows`` greater values come before a row (Aurora's "out of order by n", Aurora paper, section 5.2.2)."""

    rows: int = 0
    judgement: ClassVar[Judgement] = Judgement.RANK

    @property
    def row_slack(self) -> int | None:
        return None if self.columns else self.rows  # how many rows came before one is not counted by group

    def tracker(self) -> Tracker:
        return NthGreatest(self.rows)

    def __str__(self) -> str:
        return f"slack {self.rows} rows{self._suffix()}"


class _Some:
    """Stands for some group whose value no filter knows."""


_SOME = _Some()


@frozen()
class Punctuated(Policy):
    """The data carries promises on the attributes ``on``; None: on the attribute that the policy is declared for."""

    on: tuple[str, ...] | None = None
    carried: ClassVar[bool] = True

    @property
    def attributes(self) -> tuple[str, ...] | None:
        return self.on

    @property
    def promises_rest(self) -> bool:
        return True

    def could_promise(
        self, attribute: str, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int
    ) -> Iterator[Punctuation]:
        yield from super().could_promise(attribute, groups, bound, ahead)
        if self.columns:
            yield Punctuation({}, dict.fromkeys(self.columns, _SOME))  # no row of a group comes, whatever its time
        if self.on and len(self.on) > 1:
            yield Punctuation(dict.fromkeys(self.on, bound + ahead))

    def __str__(self) -> str:
        return "punctuated" + (f" on {', '.join(self.on)}" if self.on else "") + self._suffix()


@frozen()
class Timer(Policy):
    """By the wall clock: the greatest value seen less ``slack`` at each tick, and in a lull now less ``lull``."""

    lull: Duration = 0
    slack: Duration = 0
    judgement: ClassVar[Judgement] = Judgement.EACH
    clocked: ClassVar[bool] = True

    def in_units(self, convert: InUnits) -> Policy:
        lull, slack_ = convert(self.lull), convert(self.slack)
        if lull < 0 or slack_ < 0:
            raise ValueError("lull and slack must not be negative")
        return replace(self, **self._durations(convert), lull=lull, slack=slack_)

    @property
    def promises_rest(self) -> bool:
        return True  # a lull is one of the whole source

    def tracker(self) -> Tracker:
        return Greatest(number(self.slack) or 0)

    def start(self, attribute: str) -> Progress:
        lull = number(self.lull) or 0
        return Clocked(self, attribute, lull) if self.by is None else ClockedGroups(self, attribute, lull)

    def __str__(self) -> str:
        return f"timer lull {show(self.lull)} slack {show(self.slack)}{self._suffix()}"


@frozen()
class AtEnd(Policy):
    """Nothing is promised but the end."""

    promises_before_end: ClassVar[bool] = False

    def could_promise(
        self, attribute: str, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int
    ) -> Iterator[Punctuation]:
        yield END

    def __str__(self) -> str:
        return "at end"


@frozen()
class Exact(Policy):
    """A source reads its data ahead and takes the promises from there, so there is nothing to observe."""

    reads_ahead: ClassVar[bool] = True

    @property
    def promises_rest(self) -> bool:
        return True

    def start(self, attribute: str) -> Progress:
        raise ValueError("exact() reads data ahead, which only a source can: use ordered() or slack(…) here")

    def __str__(self) -> str:
        return f"exact{self._suffix()}"


@frozen()
class Arrival(Policy):
    """The source makes the attribute: it is what the clock shows when a row comes in."""

    stamps: ClassVar[bool] = True

    @property
    def keeps_order(self) -> bool:
        return True  # stamps never decrease

    def start(self, attribute: str) -> Progress:
        return Arrived(self, attribute)

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
    """By the wall clock: every ``every`` the bound is the greatest seen − ``slack``; in a lull it is now − ``lull``.

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
