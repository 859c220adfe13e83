"""What late rows tell about a source: how late they were, and how much later it should have promised.

With slack s a row is on time iff it trails the maximum seen before it by at most s. So the slack that keeps a share of
all rows, those on time included, is a quantile of the distances by which rows trail the maximum. A late row trails it
by the present slack plus its lateness; a row on time is only known to trail it by no more than the slack. With a slack
of n rows a row is on time iff at most n greater rows came before it, so the quantile is then one of numbers of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from oop.errors import WrongArgument
from oop.frozen import frozen
from oop.operators.core.times import is_whole, show_duration, unit_of
from oop.operators.source.entries import AT_LEAST, AT_MOST, TIME
from oop.operators.source.lateness import Buckets, count_buckets, edges, octaves
from oop.operators.source.ledger import Ledger
from oop.operators.source.operator import InputOperator
from oop.punctuation.patterns import Bound
from oop.punctuation.policy import Policy
from oop.site import user_line

SHARES = (0.99, 0.999, 1.0)
_WIDTH = 40


@frozen()
class Need:
    """To keep this share of the rows, every promise would have had to be made ``more`` later (0: it came late enough).

    ``slack`` is then the slack to declare, if the source has a slack by time, and ``rows`` if it has a slack by rows.
    The answer is ``exact``, the smallest there is, with these exceptions: the share was on time already (less may do),
    promises by group depend on each other, rows were drained or not kept, or more rows came before a late one than are
    remembered.

    >>> import oop
    >>> run = oop.source(pa.table({"ts": [9, 8, 2]}), time="ts", punctuate=oop.slack(rows=1)).run()
    >>> _ = run.to_table()
    >>> need = run.late.needed_slack().of(1.0)
    >>> need.rows, need.exact
    (2, True)
    """

    share: float
    more: Bound
    slack: Bound | None
    exact: bool
    rows: int | None = None


@frozen()
class NeededSlack:
    """What `Late.needed_slack` gives. Numbers are in the unit of the attribute, which has this ``type``.

    >>> import oop
    >>> run = oop.source(pa.table({"ts": [9, 2]}), time="ts", punctuate=oop.slack(1), name="north").run()
    >>> _ = run.to_table()
    >>> needed = run.late.needed_slack(shares=[1])
    >>> needed.source, needed.rows, needed.late, needed.needs[0].slack
    ('north', 2, 1, 7)
    """

    source: str
    attribute: str
    policy: str
    type: pa.DataType
    rows: int
    late: int
    needs: tuple[Need, ...]

    def of(self, share: float) -> Need:
        """The need for one of the shares that were asked for.

        >>> import oop
        >>> run = oop.source(pa.table({"ts": [9, 2]}), time="ts", punctuate=oop.slack(1)).run()
        >>> _ = run.to_table()
        >>> run.late.needed_slack().of(1.0)
        Need(share=1.0, more=6, slack=7, exact=True, rows=None)
        """
        for need in self.needs:
            if need.share == share:
                return need
        known = ", ".join(str(need.share) for need in self.needs)
        raise WrongArgument(
            f"the share {share!r} was not asked for; there are {known}",
            at=user_line(),
            hint=f"ask for it: run.late.needed_slack(shares=[{share!r}])",
        )

    def __str__(self) -> str:
        lines = [
            f"source {self.source!r} ({self.policy}): {self.late:,} of {self.rows:,} rows late on {self.attribute}"
        ]
        for need in self.needs:
            share = "all" if need.share == 1 else f"{float(Fraction(str(need.share)) * 100):g} %"
            lines.append(f"  to keep {share:<7} {self._say(need)}")
        return "\n".join(lines)

    def _say(self, need: Need) -> str:
        if math.isinf(need.more):
            return "no bound is known that would do"
        about = "" if need.exact else "at most "
        if need.rows is not None:
            return f"{about}slack {need.rows} rows"
        if need.slack is not None:
            return f"{about}slack {show_duration(need.slack, self.type)}"
        more = show_duration(need.more, self.type)
        return f"promise {about}{more} later" if need.more else "what is promised will do"


def needed_slack(name: str, source: InputOperator, attribute: str, shares: Sequence[float]) -> NeededSlack:
    ledger, policy = source.ledger, _policy(source, attribute)
    type_ = source.output.field(attribute).type
    _, most = _late(ledger, attribute, TIME, is_whole(type_))
    rows, late = source.rows_seen - ledger.without_time, len(most)
    by_rows = None
    present = None if policy is None else policy.row_slack
    if present is not None:
        by_rows = _late(ledger, attribute, AT_LEAST, True)[0], _late(ledger, attribute, AT_MOST, True)[1]
    alone = all(progress.is_independent for progress in source.progress)
    drained = (attribute, TIME) in ledger.drained
    needs = []
    for share in shares:
        wanted = math.ceil(Fraction(str(share)) * rows) - (rows - late)  # how many of the late rows must be kept
        more: Bound = most[wanted - 1].item() if wanted > 0 else 0
        if is_whole(type_) and not math.isinf(more):
            more = math.ceil(more)
        slack = None if policy is None else policy.slack_for(more)
        need = Need(share, more, slack, exact=alone and wanted > 0 and not drained)
        needs.append(need if by_rows is None or present is None else _in_rows(need, wanted, present, *by_rows))
    return NeededSlack(name, attribute, source.spec.text or str(policy), type_, rows, late, tuple(needs))


def _in_rows(need: Need, wanted: int, present: int, least: np.ndarray, most: np.ndarray) -> Need:
    """The need of a source with slack by rows. ``least`` and ``most`` are, sorted, the least and the greatest slack
    that each late row may need."""
    if wanted <= 0:
        return replace(need, rows=present)
    rows = most[wanted - 1]
    return replace(need, exact=bool(least[wanted - 1] == rows), rows=None if math.isinf(rows) else int(rows))


def _late(ledger: Ledger, attribute: str, unit: str, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """How late the late rows were, at least and at most, each sorted. For drained rows only the bucket is known."""
    values, unknown = ledger.late_by(attribute, unit)
    drained = ledger.drained.get((attribute, unit), Buckets())
    places = [(*edges(number), count) for number, count in drained.items()]
    beyond = np.full(unknown, math.inf)
    least = [np.full(count, math.ceil(start) if whole else start) for start, _, count in places]
    most = [np.full(count, math.ceil(end) - 1 if whole else end) for _, end, count in places]
    return np.sort(np.concatenate([values, *least, beyond])), np.sort(np.concatenate([values, *most, beyond]))


def _policy(source: InputOperator, attribute: str) -> Policy | None:
    """The policy that promises about an attribute, with its durations as numbers."""
    found = [p for a, p in source.spec.policies if attribute in (p.attributes or (a,))]
    return found[0] if found else None


@frozen()
class Histogram:
    """What `Late.histogram` gives: ``counts[i]`` rows were late by ``edges[i]`` or more, below ``edges[i + 1]``.

    ``unknown`` rows broke a promise that was not about one bound.

    >>> import oop
    >>> run = oop.source(pa.table({"ts": [9, 2, 7]}), time="ts", punctuate=oop.ordered()).run()
    >>> _ = run.to_table()
    >>> run.late.histogram().edges, run.late.histogram().counts
    ((2, 4, 8), (1, 1))
    """

    source: str
    attribute: str
    type: pa.DataType
    edges: tuple[Bound, ...]
    counts: tuple[int, ...]
    unknown: int

    def to_table(self) -> pa.Table:
        """Columns ``at_least``, ``below`` and ``rows``; for a column of times the first two are durations.

        >>> import oop
        >>> run = oop.source(pa.table({"ts": [9, 2]}), time="ts", punctuate=oop.slack(1)).run()
        >>> _ = run.to_table()
        >>> run.late.histogram().to_table().to_pylist()
        [{'at_least': 4, 'below': 8, 'rows': 1}]
        """
        at_least, below = (self._durations(e) for e in (self.edges[:-1], self.edges[1:]))
        return pa.table({"at_least": at_least, "below": below, "rows": pa.array(self.counts, pa.int64())})

    def _durations(self, values: Sequence[Bound]) -> pa.Array:
        unit = unit_of(self.type)
        if unit is None:
            return pa.array(values, pa.int64() if is_whole(self.type) else pa.float64())
        name = self.type.unit if pa.types.is_timestamp(self.type) else "ms"
        scale = unit // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[name]
        return pa.array([int(v * scale) for v in values], pa.int64()).cast(pa.duration(name))

    def __str__(self) -> str:
        lines = [f"source {self.source!r}: {sum(self.counts) + self.unknown:,} rows late on {self.attribute}"]
        most = max(self.counts, default=0)
        marks = [_rough(edge, self.type) for edge in self.edges]
        width, digits = max(map(len, marks), default=0), len(f"{most:,}")
        for i, count in enumerate(self.counts):
            bar = "█" * math.ceil(_WIDTH * count / most) if most else ""
            lines.append(f"  {marks[i]:>{width}} … {marks[i + 1]:>{width}}  {count:>{digits},}  {bar}".rstrip())
        if self.unknown:
            lines.append(f"  {self.unknown:,} broke a promise that was not about one bound")
        return "\n".join(lines)


def histogram(name: str, source: InputOperator, attribute: str, bins: Sequence[Bound] | None) -> Histogram:
    """The histogram of lateness. Without bins its edges are powers of two, which are exact for drained rows too. With
    other bins a drained row counts where its bucket begins."""
    type_ = source.output.field(attribute).type
    values, unknown = source.ledger.late_by(attribute)
    drained = source.ledger.drained.get((attribute, TIME), Buckets())
    if bins is not None:
        places = np.asarray(bins, np.float64)
        if len(places) < 2 or not (np.diff(places) > 0).all():
            raise ValueError(f"bins are at least two edges that grow, not {list(bins)!r}")
        old = np.repeat([edges(n)[0] for n in drained], list(drained.values())) if drained else np.zeros(0)
        counts = np.bincount(np.searchsorted(places, np.concatenate([values, old]), "right"), minlength=len(places) + 1)
        return Histogram(name, attribute, type_, tuple(bins), tuple(counts[1:-1].tolist()), unknown)
    found = dict(octaves(count_buckets(values) + drained))
    powers = range(min(found), max(found) + 2) if found else range(0)
    return Histogram(
        name,
        attribute,
        type_,
        tuple(2**p if p >= 0 and is_whole(type_) else 2.0**p for p in powers),
        tuple(found.get(p, 0) for p in powers[:-1]),
        unknown,
    )


def _rough(units: Bound, type_: pa.DataType) -> str:
    """A duration to three digits, in a unit that suits it."""
    unit = unit_of(type_)
    if unit is None:
        return f"{units:g}"
    seconds = units * unit / 1e9
    for name, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= length:
            return f"{seconds / length:.3g}{name}"
    return f"{seconds * 1e9:.3g}ns"
