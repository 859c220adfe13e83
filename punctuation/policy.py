"""What every policy of a source declares about itself (OOP paper, sections 3.2, 5.1 and A.1.1).

`Policy` is the base of the policies in `policies.py`. Code that runs a source, checks a plan or explains it asks the
policy and never looks at its type, so a policy is added without a change there. The defaults here are those of a policy
that promises nothing by itself; the docstring of `policies.py` says what a new one overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

from oop.frozen import frozen
from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policy_fields import Judgement, PolicyFields
from oop.punctuation.progress import Linear, Progress
from oop.punctuation.progress_groups import GroupedProgress
from oop.punctuation.promise import Punctuation

InUnits = Callable[[Duration], Bound]


class Policy(PolicyFields):
    """What all policies have in common; the defaults are those of one that promises nothing by itself."""

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

    def start(self, attribute: str) -> Progress:
        """The running instance for one attribute; durations must be numbers by now."""
        return Progress(self, attribute)

    def _suffix(self) -> str:
        parts = [f" by {', '.join(self.columns)}"] if self.by else []
        if self.every is not None:
            parts.append(f" every {show(self.every)}")
        return "".join(parts)


@frozen()
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
