"""`Operator`: the running instance of a spec, with two hooks (OOP paper, A.2: processTuple and processPunctuation).

`process_batch` takes rows, `process_punctuation` takes an *advance*: the promises by which a port's frontier moves on.
The end of a stream is a promise, and the clock comes in as promises. A third hook, `filled`, gives what is due
after a program has put rows into an operator past `process_batch` (``leaves_when_filled``). Only the operator of a
source is driven in other ways too (`InputOperator` in `operators/source/operator.py`).

An operator overrides `released` if promises only let rows go. It overrides `process_punctuation` instead if it must see
the frontier before it moves, take promises one by one (`Ports.advance_singly`) or without ticks of the clock
(`without_ticks`), or goes around another operator. What else an operator can do has a default here that says "nothing":
rows held, bytes of state, parts to save, rows set aside, open results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.context import Context
from oop.operators.core.parts import FRONTIERS, LATE_UNUSED, Part, check_shards, read_text, text_part
from oop.operators.core.ports import Ports
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance, Promise

Element: TypeAlias = pa.RecordBatch | Punctuation | GroupPromises
"""What crosses arcs: rows, or a promise. Promises about many groups that come together cross as one value."""


@frozen()
class Held:
    """The oldest thing that an operator holds back, as text, and the least promise on a port that would release it."""

    what: str
    port: int
    release: Punctuation


class Crosses(Protocol):
    """What `Operator` uses of its spec."""

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing: ...


class Operator:
    """The base of all operators; the defaults are those of one whose only state is the promises it has seen."""

    ports: Ports
    batch_rows = BATCH_ROWS
    late_unused = 0
    """How many admitted late rows could not be used."""
    note = ""
    """What the operator has decided while it ran, for `Run.metrics`."""
    ledger: Any = None
    """Where it keeps the rows that it sets aside (`operators/source/ledger.py`), if it sets any aside."""
    shows_open = False
    """Can it give its open results (`open_results`)?"""
    leaves_when_filled = False
    """Must `filled` be called after a program has filled it, because output may be due without a promise?"""
    holds_state = True
    """Does it hold rows or memory that is to be accounted for?"""

    def __init__(self, spec: Crosses, context: Context) -> None:
        self.ports = Ports(spec.crossing(context.inputs), context)
        self.batch_rows = context.batch_rows

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        """Take rows; the result is what leaves because of them."""
        raise NotImplementedError

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterable[Element]:
        """Take consecutive promises: let go what they complete, then promise what follows from them."""
        new = self.ports.advance(advance, port)
        return self.released(new, port) if new else ()

    def released(self, new: Advance, port: int) -> Iterable[Element]:
        """What leaves because of these new promises: rows first, then promises."""
        return self.ports.promises(new, port)

    @property
    def ledgers(self) -> Sequence[Any]:
        """Its ledger, if it has one; an operator on several threads has one for each shard."""
        return () if self.ledger is None else (self.ledger,)

    @property
    def promised(self) -> Frontier:
        """All that it has promised to its consumers."""
        return self.ports.out

    def targets(self) -> Any:
        """Where a program puts rows, if its spec writes one (`Spec.write`)."""
        raise TypeError(f"{type(self).__name__} takes no rows from a program")

    def filled(self) -> Iterable[Element]:
        """What leaves because a program has put rows there. Called after each train if it ``leaves_when_filled``."""
        return ()

    @property
    def buffered_rows(self) -> int:
        """Rows or groups that it holds."""
        return 0

    @property
    def state_bytes(self) -> int:
        """Memory of what it holds."""
        return 0

    def oldest(self) -> Held | None:
        """The oldest thing that it holds back: where `Run.blame` begins."""
        return None

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The open results: what is still open and has changed since this was last asked, as it is now."""
        raise TypeError(f"{type(self).__name__} has no open results")

    def save(self) -> Iterator[Part]:
        """The parts that changed since the last save."""
        yield self.ports.save()

    def load(self, parts: Iterable[Part]) -> None:
        """Go on where the operator that saved these parts stood."""
        for key, part in parts:
            if key == FRONTIERS and part is not None:
                self.ports.load(part)

    def save_common(self) -> Iterator[Part]:
        """What every operator with rows or groups saves: its frontiers, and how many late rows it could not use."""
        yield self.ports.save()
        yield text_part(LATE_UNUSED, self.late_unused)

    def load_common(self, parts: Iterable[Part]) -> dict[str, pa.RecordBatch | None]:
        """Restore what `save_common` gave; the result is all parts by their keys."""
        found = dict(parts)
        check_shards(found, 1)
        frontiers, unused = found.get(FRONTIERS), found.get(LATE_UNUSED)
        if frontiers is not None:
            self.ports.load(frontiers)
        count = 0 if unused is None else read_text(unused)
        assert isinstance(count, int)
        self.late_unused = count
        return found


class Kept(Protocol):
    """Anything that holds rows and knows their memory."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


class Keeping(Operator):
    """An operator that holds all its rows in what `kept` names: these are counted, and their memory is its state."""

    def kept(self) -> Iterable[Kept]:
        raise NotImplementedError

    @property
    def buffered_rows(self) -> int:
        return sum(map(len, self.kept()))

    @property
    def state_bytes(self) -> int:
        return sum(kept.nbytes for kept in self.kept())


class Passing(Operator):
    """An operator whose only state is the promises it has seen: filter, map, split, union, bucket."""

    holds_state = False

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterable[Element]:
        new = self.ports.advance(advance, port)
        return self.ports.promises(new, port) if new else ()  # there are no rows to let go


class Around(Operator):
    """An operator around another, ``of``, whose promises and state are its own."""

    def __init__(self, of: Operator) -> None:
        self.of = of
        self.batch_rows = of.batch_rows
        self.shows_open = of.shows_open

    @property
    def ports(self) -> Ports:  # type: ignore[override]
        return self.of.ports

    @property
    def late_unused(self) -> int:  # type: ignore[override]
        return self.of.late_unused

    @property
    def buffered_rows(self) -> int:
        return self.of.buffered_rows

    @property
    def state_bytes(self) -> int:
        return self.of.state_bytes

    def oldest(self) -> Held | None:
        return self.of.oldest()

    def open_results(self) -> Iterator[pa.RecordBatch]:
        return self.of.open_results()


__all__ = ["Advance", "Around", "Element", "Held", "Keeping", "Kept", "Operator", "Passing", "Promise"]
