"""`Spec`: the frozen description of an operator that a plan holds and ships.

A spec says which columns it reads and makes, how promises cross it (`crossing`), whether rows pass it at once
(`passes`), whether it could ever emit (`blocking`), and `start` gives the running operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from oop.kernels.steps import ProgramCode
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.writing import ProgramWriter, RowsCode, Unwritten
from oop.punctuation import Frontier
from oop.punctuation.crossing import Crossing, Same

UsedColumns: TypeAlias = frozenset[str] | None
"""Columns that are used; None: all of them."""


class Spec:
    """The base of all specs; each is a frozen dataclass. Defaults are those of an operator without state that passes
    promises as they are."""

    name = "operator"
    line: str = "{self.name}"
    """What it does, for explain; ``{self.on}`` in it stands for that field of the spec (see `describe`)."""
    note: str = ""
    """How promises cross it, for explain, written in the same way (see `promise_note`)."""
    never = "can never emit"
    unblocked_by: str = (
        "put .window(…) before it, group by an attribute that is promised about, or punctuate=oop.at_end()"
    )
    """``never`` says what is wrong where no promise would unblock it, ``unblocked_by`` what to do (`NeverEmits`)."""
    counts: tuple[str, ...] = ()
    """Attributes that it promises about by counting rows; its crossing, which knows no rows, says only that there will
    be bounds."""
    passes = False
    """Does each row leave at once or never, whatever came before it? Then rows need not meet anywhere: an engine may
    start the operator in several places, and let its promises be what the inputs' promises become by its crossing."""
    numbers_rows = False
    """Can it number its rows itself, whatever its input, as a source can?"""

    sets_aside = False
    """Does its operator set rows aside, into a ledger (`operators/source/ledger.py`)?"""

    clocked = False
    """Does it look at the clock? Then it is given promises on the virtual attribute of `operators/core/arrival.py`."""

    sorts = False
    """Does it put rows in order, in a plan that runs in order?"""

    reads: UsedColumns = None
    """The columns that it looks at itself, if it hands on whatever else its consumers want (see `needs`). None: all."""

    held_back: tuple[str, ...] = ()
    """Output attributes about which a promise goes no further than what is held: then its crossing says how far it may
    go at most, and the running operator how far it goes (what is held back lowers the bound)."""

    def with_late(self, mode: str) -> Spec:
        """This spec in a plan whose sources treat late rows in this way."""
        return self

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        """The columns that it makes; raises SchemaMismatch or UnknownColumn."""
        return inputs[0]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """How promises cross it, for inputs with these columns."""
        return Same(len(inputs))

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        """For each port the columns whose values may decide which of several workers takes a row.

        None: one worker must take all rows. Promises go to every worker.
        """
        return None

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        """For each port the columns that it must be given if only ``wanted`` of its output columns are used. None: all.

        A spec that makes new columns says here of which; for one that hands columns on, `reads` says enough.
        """
        if wanted is None or self.reads is None:
            return [None for _ in inputs]
        return [wanted & frozenset(schema.names) | self.reads for schema in inputs]

    def with_number(self) -> Spec | None:
        """This spec with each row's number beside its columns (see `operators/source/numbers.py`); None if it cannot.

        A spec that passes rows hands on all columns that it is given, unless it says otherwise here.
        """
        return self if self.passes else None

    def partials(self, inputs: Sequence[pa.Schema]) -> Any:
        """What rows on their way to it can be reduced to, or None. If they can be, its operator takes partials too."""
        return None

    @property
    def needs_order(self) -> bool:
        """Does the result depend on the order in which rows arrive?"""
        return False

    @property
    def forbids_partials(self) -> bool:
        """Did the user say that rows are not to be reduced to `partials` on their way to it?"""
        return False

    def with_aggregates(self, more: Sequence[tuple[str, Any]]) -> Spec | None:
        """This spec with further aggregates of the same rows, by name; None if it computes no aggregates."""
        return None

    def with_inner(self, change: Callable[[Any], Any]) -> Spec | None:
        """This spec with that change made to the spec that it runs inside; None if it runs none."""
        return None

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        """What `Operator.open_results` needs: the attribute of the input that results progress on, if there is one, and
        the columns that tell results apart."""
        raise TypeError(f"{type(self).__name__} has no open results")

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        """None if these promises could unblock it, else the attribute that nothing is promised about."""
        return None

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode | RowsCode | None:
        """Write as steps what the operator does with a row; `Unwritten` where steps cannot say it.

        One that passes rows gives None, and the columns of ``writer`` are its output then. One whose state takes rows
        in gives the whole program, and its operator the ``targets`` that the program fills. The program may also hand
        rows out.
        """
        raise Unwritten(f"{self.name} has no steps")

    def start(self, context: Context) -> Operator:
        """The running operator."""
        raise TypeError(f"{type(self).__name__} cannot be started")

    def describe(self) -> str:
        """One line for explain: the `line`, unless there is more to say than its fields."""
        return self.line.format(self=self)

    def promise_note(self) -> str:
        """How promises cross it, for explain: the `note`, unless a class has more than one way to put it."""
        return self.note.format(self=self)


class PassingSpec(Spec):
    """The base of specs by which each row leaves at once or never, and promises pass unchanged."""

    note = "promises pass"
    passes = True
    reads = frozenset()
