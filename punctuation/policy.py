"""What every policy of a source declares about itself (OOP paper, sections 3.2, 5.1 and A.1.1).

`Policy` is the base of the policies in `policies.py`. Code that runs a source, checks a plan or explains it asks the
policy and never looks at its type, so a policy is added without a change there. The defaults here are those of a policy
that promises nothing by itself; the docstring of `policies.py` says what a new one overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, ClassVar

from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.progress import Linear, Progress
from oop.punctuation.progress_groups import GroupedProgress
from oop.punctuation.promise import Punctuation
from oop.punctuation.trackers import Tracker

InUnits = Callable[[Duration], Bound]


class Judgement(Enum):
    """How rows are judged late by the rows before them. `oop.operators.source.judges` has a judge of whole batches for
    each value. A policy names only the value, because it knows neither Arrow nor kernels.
    """

    NOTHING = "no row is late by the rows before it"
    GREATEST = "the greatest value before it, less slack"
    RANK = "how many greater values came before it"
    EACH = "what the running policy says, a row at a time"


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

    @property
    def attributes(self) -> tuple[str, ...] | None:
        """The attributes that it promises about; None: the attribute that it is declared for."""
        return None

    @property
    def promises_rest(self) -> bool:
        """Is there ever a promise about all rows, not just about groups seen?"""
        return self.by is None or self.groups is not None or self.idle is not None

    @property
    def keeps_order(self) -> bool:
        """Are the rows that are not late in ascending order, infinite values aside, which are not looked at? Then a
        plan that runs in order need not sort them."""
        return False

    @property
    def row_slack(self) -> int | None:
        """How many greater values may come before a row, where the policy counts them: then a late row is also
        measured in rows."""
        return None

    def slack_for(self, more: Bound) -> Bound | None:
        """The slack to declare instead, where every promise would have had to be ``more`` later; None if this policy
        has no slack that could be declared."""
        return None

    def could_promise(
        self, attribute: str, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int
    ) -> Iterator[Punctuation]:
        """Promises that may come, for questions that a plan is asked before it runs; ``bound`` stands for any bound.

        ``groups`` are values that the plan's filters fix. The bounds of groups may be ``ahead`` of that of all rows.
        """
        for name in self.attributes or (attribute,):
            if self.columns:
                for values in product(*((None, *groups.get(column, ())) for column in self.columns)):
                    yield Punctuation({name: bound + ahead}, dict(zip(self.columns, values, strict=True)))
            if self.promises_rest:
                yield Punctuation({name: bound})

    def in_units(self, convert: InUnits) -> Policy:
        """This policy with durations as numbers in the time column's unit."""
        return replace(self, **self._durations(convert))

    def _durations(self, convert: InUnits) -> dict[str, Any]:
        """``every`` and ``idle`` as numbers, both above 0."""
        found = {n: None if d is None else convert(d) for n, d in (("every", self.every), ("idle", self.idle))}
        for name, value in found.items():
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be greater than 0, not {value}")
        return found

    def tracker(self) -> Tracker:
        """What is remembered of the rows, of one group or of all; durations must be numbers by now."""
        raise TypeError(f"under the policy {self} nothing follows from rows")

    def start(self, attribute: str) -> Progress:
        """The running instance for one attribute; durations must be numbers by now."""
        return Progress(self, attribute)

    def _suffix(self) -> str:
        parts = [f" by {', '.join(self.columns)}"] if self.by else []
        if self.every is not None:
            parts.append(f" every {show(self.every)}")
        return "".join(parts)


@dataclass(frozen=True)
class Tracking(Policy):
    """A policy by which bounds follow from the rows alone: a subclass says by `tracker` what is remembered of them.

    It is judged a row at a time unless the subclass names a judgement for which there is a kernel.
    """

    judgement: ClassVar[Judgement] = Judgement.EACH
    is_data_driven: ClassVar[bool] = True

    def start(self, attribute: str) -> Progress:
        return Linear(self, attribute) if self.by is None else GroupedProgress(self, attribute)


def checked(policy: object, word: str = "punctuate") -> Policy:
    """Check that a user gave a policy where one belongs; ``word`` is the argument's name."""
    if not isinstance(policy, Policy):
        raise TypeError(f"{word} takes a policy, such as oop.slack('5s'), not {policy!r}")
    return policy


def by_attribute(punctuate: Policy | Mapping[str, Policy] | None, time: str) -> dict[str, Policy]:
    """The policy of each attribute; a policy that is given alone is for the time.

    >>> from oop.punctuation import ordered, policy
    >>> {name: str(given) for name, given in policy.by_attribute(ordered(), "ts").items()}
    {'ts': 'ordered'}
    """
    given = {time: punctuate} if isinstance(punctuate, Policy) else dict(punctuate or {})
    return {attribute: checked(policy) for attribute, policy in given.items()}
