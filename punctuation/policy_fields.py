"""The fields of policies, and what a running policy asks of them (OOP paper, sections 3.2, 5.1 and A.1.1).

The running policies (`progress.py`) know only this much; `Policy` (`policy.py`) adds how they are started, and what a
plan asks before it runs.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from oop.frozen import frozen
from oop.punctuation.durations import Duration
from oop.punctuation.patterns import Value
from oop.punctuation.trackers import Tracker


class Judgement(Enum):
    """How rows are judged late by the rows before them. `oop.operators.source.judges` has a judge of whole batches for
    each value. A policy names only the value, because it knows neither Arrow nor kernels.
    """

    NOTHING = "no row is late by the rows before it"
    GREATEST = "the greatest value before it, less slack"
    RANK = "how many greater values came before it"
    EACH = "what the running policy says, a row at a time"


@frozen()
class PolicyFields:
    """The fields that all policies have. ``by`` makes promises group-wise: one bound for each value of that column, or
    for each combination of values of several. Several columns stand in alphabetical order, whatever order they were
    given in, and a group of them is the tuple of its values in that order, as `GroupPromises` has it.

    ``groups`` are all the groups there are, or ``idle`` retires a group after that much stream time without a row;
    with neither, the rest (groups not seen) is never promised about.
    """

    every: Duration | None = None
    by: str | tuple[str, ...] | None = None
    groups: tuple[Value, ...] | None = None
    idle: Duration | None = None

    judgement: ClassVar[Judgement] = Judgement.NOTHING
    """How its rows are judged late."""
    is_data_driven: ClassVar[bool] = False
    """Does each row's lateness follow from the rows before it alone? Then a plan can assume it of any stream."""
    carried: ClassVar[bool] = False
    """Does the data carry the promises, and may they name any of its columns?"""
    clocked: ClassVar[bool] = False
    """Does the wall clock make rows late? Then all rows of data from the past would be."""
    stamps: ClassVar[bool] = False
    """Does the source make the column that it is declared for, from its clock, as rows come in?"""
    reads_ahead: ClassVar[bool] = False
    """Is the data read twice, to know what is still to come?"""
    promises_before_end: ClassVar[bool] = True
    """Is anything promised before the input ends?"""

    def __post_init__(self) -> None:
        if self.by is None and (self.groups is not None or self.idle is not None):
            raise ValueError("groups= and idle= go with by=")
        if self.groups is not None and self.idle is not None:
            raise ValueError("give groups= (all that there are) or idle= (when a group retires), not both")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose groups have promises of their own.

        >>> from oop.punctuation import ordered
        >>> ordered(by=["proto", "link"]).columns, ordered(by="link").columns, ordered().columns
        (('link', 'proto'), ('link',), ())
        """
        return () if self.by is None else (self.by,) if isinstance(self.by, str) else self.by

    def tracker(self) -> Tracker:
        """What is remembered of the rows, of one group or of all; durations must be numbers by now."""
        raise TypeError(f"under the policy {self} nothing follows from rows")
