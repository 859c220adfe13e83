"""The operator protocol: two generators and nothing else (OOP paper, A.2: processTuple and processPunctuation).

A *spec* is the frozen description that a plan holds and ships: the columns it makes, how promises cross it, `start()`.
An *operator* is the running instance with state. A stateful one also says what it holds (`buffered_rows`,
`state_bytes`) and is saved in parts that follow time, so that purging removes parts and a small change saves little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from oop.errors import OopError
from oop.punctuation import Frontier, GroupPromises, Interest, Punctuation
from oop.punctuation.encoding import dumps, loads
from oop.punctuation.group_promises import Promise, one_by_one

if TYPE_CHECKING:
    from oop.operators.groups.partial_table import Partials

Element: TypeAlias = pa.RecordBatch | Punctuation
"""What crosses arcs. Where both ends can (see `Couples`), promises about many groups cross as one `GroupPromises`."""
Part: TypeAlias = tuple[str, pa.RecordBatch | None]
"""A key, and the part's rows; None says that the part is gone."""
Columns: TypeAlias = frozenset[str] | None
"""Columns that are used; None: all of them."""
Translate: TypeAlias = Callable[[Sequence[Frontier]], Frontier]
BATCH_ROWS = 65_536
"""Rows of an output batch, at most, where nobody says otherwise (see `Slices`)."""


class Operator(Protocol):
    """What every running operator has."""

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]: ...

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]: ...


@runtime_checkable
class TakesTrains(Protocol):
    """An operator that can take promises which come in a row as one: a scan for all instead of one for each.

    It does what `process_punctuation` would do for one after the other, with the results of all before the promises.
    """

    def process_punctuations(self, train: Sequence[Punctuation], port: int = 0) -> Iterator[Element]: ...


@runtime_checkable
class Couples(Protocol):
    """An operator that also takes and makes promises about many groups as one value; it is told before its first
    element that it may. Such an operator takes trains, in which `GroupPromises` then stand."""

    def couple(self) -> bool:
        """From now on; False: it does not."""
        ...


@runtime_checkable
class Narrowing(Protocol):
    """An operator that can leave out columns which nobody uses; it is told before its first element."""

    def narrow(self, wanted: frozenset[str]) -> None: ...


@runtime_checkable
class Asks(Protocol):
    """An operator that makes promises of its own; it is told which of them help, before its first element."""

    def ask(self, interests: Iterable[Interest]) -> None: ...


@runtime_checkable
class Slices(Protocol):
    """An operator that may have much to put out at once: it does so in slices of at most ``batch_rows``, each made when
    it is asked for. Who runs it may do something else in between (OOP paper, section 6: a window that ends must not
    hold up the rows of the next). It is told how many before its first element."""

    batch_rows: int


class Around:
    """An operator around another, ``of``, in whose slices it puts out."""

    of: Any

    @property
    def batch_rows(self) -> int:
        found: int = getattr(self.of, "batch_rows", BATCH_ROWS)
        return found

    @batch_rows.setter
    def batch_rows(self, rows: int) -> None:
        self.of.batch_rows = rows


@runtime_checkable
class Stateful(Protocol):
    """What an operator with state adds."""

    @property
    def buffered_rows(self) -> int: ...

    @property
    def state_bytes(self) -> int: ...

    def save(self) -> Iterator[Part]: ...

    def load(self, parts: Iterable[Part]) -> None: ...


@dataclass(frozen=True)
class Held:
    """The oldest thing that an operator holds back, as text, and the least promise on a port that would release it."""

    what: str
    port: int
    release: Punctuation


@runtime_checkable
class Holds(Protocol):
    """An operator that can say what it holds back: where `Run.blame` begins."""

    def oldest(self) -> Held | None: ...


@runtime_checkable
class ShowsOpen(Protocol):
    """An operator that can give its results as they are now, of what is still open and has changed since it was last
    asked."""

    def open_results(self) -> Iterator[pa.RecordBatch]: ...


class Spec:
    """The base of all specs; each is a frozen dataclass. Defaults are those of an operator without state that passes
    promises as they are."""

    name = "operator"
    never = "can never emit"
    unblocked_by: str = (
        "put .window(…) before it, group by an attribute that is promised about, or punctuate=oop.at_end()"
    )
    """What is wrong where nothing is promised that would unblock it, and what to do about it (see `NeverEmits`)."""
    counts: tuple[str, ...] = ()
    """Attributes that it promises about by counting rows; `translate`, which knows none, says only that there will be
    bounds."""
    passes = False
    """Does each row leave at once or never, whatever came before it? Then rows need not meet anywhere: an engine may
    start the operator in several places, and let its promises be `translate` of what the inputs promise."""
    numbers_rows = False
    """Can it give rows their numbers itself, whatever it is given? As a source can."""

    sets_aside = False
    """Does its operator set rows aside (`operators/source/ledger.py: SetsAside`)?"""

    clocked = False
    """Does it look at the clock? Then it is given promises on the virtual attribute of `operators/core/arrival.py`."""

    sorts = False
    """Is it there because a plan runs in order, and puts rows in one?"""

    held_back: tuple[str, ...] = ()
    """Output attributes about which a promise goes no further than what is held: then `translate` says how far it may
    go at most, and the running operator how far it goes (what is held back lowers the bound)."""

    def with_late(self, mode: str) -> Spec:
        """The same where sources treat late rows this way."""
        return self

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        """The columns that it makes; raises SchemaMismatch or UnknownColumn."""
        return inputs[0]

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """What the output promises when the inputs promise this much (OOP paper, section 3.2)."""
        return frontiers[0].copy()

    def translate_promise(
        self, punct: Punctuation, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Punctuation] | None:
        """What one new promise adds to the output, where it can be said without looking at all others; else None.

        Then the whole is translated. With many groups this is the difference between a look-up and a scan.
        """
        return None

    def translate_groups(
        self, promises: GroupPromises, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Promise] | None:
        """The same for promises about many groups, where it can be said of all of them at once; else None."""
        return None

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        """For each port the columns whose values may decide which of several workers takes a row.

        None: one worker must take all rows. Promises go to every worker.
        """
        return None

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        """For each port: which promises help, when ``wanted`` are those that help the consumers."""
        return [list(wanted) for _ in inputs]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        """For each port the columns that it must be given, when of its own only ``wanted`` are used. None: all."""
        return [None for _ in inputs]

    def with_number(self) -> Spec | None:
        """This spec with each row's number beside its columns (see `operators/source/numbers.py`); None if it cannot.

        What passes rows hands on all columns that it is given, unless it says otherwise here.
        """
        return self if self.passes else None

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        """What the rows on their way to it can be reduced to, where that can be: it takes partials as well."""
        return None

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        """For results so far (see `ShowsOpen`): the attribute of its input that they progress on, if it has one, and
        the columns that tell its results apart."""
        raise TypeError(f"{type(self).__name__} has no results so far")

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        """None if these promises could unblock it, else the attribute that nothing is promised about."""
        return None

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        raise TypeError(f"{type(self).__name__} cannot be started")

    def describe(self) -> str:
        """One line for explain."""
        return self.name

    def promise_note(self) -> str:
        """How promises cross it, for explain."""
        return ""


class Ports:
    """The frontiers of an operator's inputs and of its output, and the promises that follow."""

    def __init__(self, spec: Spec, inputs: Sequence[pa.Schema], translate: Translate | None = None) -> None:
        self.spec = spec
        self.inputs = inputs
        self.translate = translate or (lambda frontiers: spec.translate(frontiers, inputs))
        self.frontiers = [Frontier() for _ in inputs]
        self.out = Frontier()
        self.coupled = False  # may promises about many groups leave as one?

    def advance(self, punct: Punctuation, port: int) -> bool:
        return self.frontiers[port].advance(punct)

    def advance_each(self, train: Iterable[Promise], port: int) -> list[Promise]:
        """Take promises in; those that are new. What ranges become with them is new as well: whoever looks only at
        what is new would otherwise keep rows that are promised away."""
        frontier = self.frontiers[port]
        found = [new for promise in train if (new := frontier.take(promise)) is not None]
        return [*found, *frontier.take_lifted()] if frontier.lifted else found

    def advance_all(self, train: Iterable[Promise], port: int) -> list[Punctuation]:
        """The same, one by one."""
        return list(one_by_one(self.advance_each(one_by_one(train), port)))

    def promises(self, punct: Punctuation, added: Iterable[Punctuation] | None = None) -> Iterator[Punctuation]:
        """What can be promised now that this promise has come, and was not before.

        ``added`` is what it alone adds, if the operator knows.
        """
        if added is None:
            added = self.spec.translate_promise(punct, self.frontiers, self.inputs)
        if added is not None:
            added = self._with_lifted(added)
        if added is None:
            yield from self.out.advance_to(self.translate(self.frontiers))
        else:
            yield from filter(self.out.advance, added)

    def _with_lifted(self, added: Iterable[Punctuation]) -> Iterable[Punctuation] | None:
        """And what ranges add that have grown together, or with a bound; None if only the whole says it."""
        for frontier in self.frontiers:
            for lifted in frontier.take_lifted() if frontier.lifted else ():
                more = self.spec.translate_promise(lifted, self.frontiers, self.inputs)
                if more is None:
                    return None
                added = [*added, *more]
        return added

    def pass_train(
        self, train: Sequence[Promise], port: int, one: Callable[[Punctuation, int], Iterator[Element]]
    ) -> Iterator[Element]:
        """Several promises: those about many groups as they are, ``one`` takes the others."""
        for promise in train:
            if isinstance(promise, Punctuation):
                yield from one(promise, port)
            else:
                for new in self.advance_each([promise], port):
                    yield from self.promises_of(new)

    def promises_of(self, new: Promise) -> Iterator[Element]:
        """The same, when what has come may be about many groups."""
        if isinstance(new, Punctuation):
            yield from self.promises(new)
            return
        added = self.spec.translate_groups(new, self.frontiers, self.inputs)
        if any(frontier.lifted for frontier in self.frontiers):
            added = None
        if added is not None:
            yield from self.leaving(added)
        elif self.spec.translate_promise(next(iter(new)), self.frontiers, self.inputs) is None:
            yield from self.out.advance_to(self.translate(self.frontiers))
        else:
            for punct in new:
                yield from self.promises(punct)

    def leaving(self, promises: Iterable[Promise]) -> Iterator[Element]:
        """Of these what has not been promised before, as it leaves the operator."""
        return self.as_they_leave(new for p in promises if (new := self.out.take(p)) is not None)

    def as_they_leave(self, promises: Iterable[Promise]) -> Iterator[Element]:
        """Promises as they leave the operator: one by one, unless it was told to couple them."""
        whole: Any = promises if self.coupled else one_by_one(promises)  # whoever couples an operator takes it
        yield from whole

    def save(self) -> Part:
        """Frontiers as one part; small, so it is always saved."""
        rows = [(i, p.to_json()) for i, f in enumerate([*self.frontiers, self.out]) for p in f.promises()]
        columns = [pa.array([i for i, _ in rows], pa.int32()), pa.array([t for _, t in rows], pa.string())]
        return FRONTIERS, pa.record_batch(columns, names=["port", "promise"])

    def load(self, part: pa.RecordBatch) -> None:
        self.frontiers = [Frontier() for _ in self.inputs]
        self.out = Frontier()
        every = [*self.frontiers, self.out]
        for row in part.to_pylist():
            every[row["port"]].advance(Punctuation.from_json(row["promise"]))


FRONTIERS = "frontiers"
SHARDS = "shards"
"""The part that says over how many workers an operator's groups were spread."""


def check_shards(parts: Mapping[str, pa.RecordBatch | None], shards: int) -> None:
    """Refuse state that was spread over another number of workers: each would find only some of its groups."""
    said = parts.get(SHARDS)
    count = 1 if said is None else read_text(said)
    if count != shards:
        raise OopError(
            f"the state was saved by {count} threads, and there are {shards} now", hint=f"load it with threads={count}"
        )


def text_part(key: str, value: object) -> Part:
    """A small piece of state as one JSON cell."""
    return key, pa.record_batch([pa.array([dumps(value)], pa.string())], names=["json"])


def read_text(part: pa.RecordBatch) -> object:
    return loads(part.column(0)[0].as_py())


LATE_UNUSED = "late_unused"
"""The part that says how many admitted late rows could not be used."""


def load_common(parts: Mapping[str, pa.RecordBatch | None], ports: Ports) -> int:
    """Restore what every operator with rows or groups saves: its frontiers, and (returned) `LATE_UNUSED`."""
    check_shards(parts, 1)
    frontiers, unused = parts.get(FRONTIERS), parts.get(LATE_UNUSED)
    if frontiers is not None:
        ports.load(frontiers)
    count = 0 if unused is None else read_text(unused)
    assert isinstance(count, int)
    return count


class Passing:
    """An operator whose only state is the promises it has seen: filter, map, split, union, bucket."""

    def __init__(self, spec: Spec, inputs: Sequence[pa.Schema], translate: Translate | None = None) -> None:
        self.ports = Ports(spec, inputs, translate)

    @property
    def buffered_rows(self) -> int:
        return 0

    @property
    def state_bytes(self) -> int:
        return 0

    def couple(self) -> bool:
        self.ports.coupled = True
        return True

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if self.ports.advance(punct, port):
            yield from self.ports.promises(punct)

    def process_punctuations(self, train: Sequence[Promise], port: int = 0) -> Iterator[Element]:
        yield from self.ports.pass_train(train, port, self.process_punctuation)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()

    def load(self, parts: Iterable[Part]) -> None:
        for key, part in parts:
            if key == FRONTIERS and part is not None:
                self.ports.load(part)
