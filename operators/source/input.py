"""Input: guards a stream and makes its promises (OOP paper, sections 3.2, 5.1 and 5.4).

A row is late iff it is under the bound implied by the rows before it, so lateness does not depend on batches; the
promise itself may follow later. A promise ends the batch in progress (A.1.1); one that helps no consumer is swallowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import LateRow, OopError, SchemaMismatch, TimeError, UnknownColumn
from oop.kernels import views
from oop.operators.core.arrival import CLOCK
from oop.operators.core.base import FRONTIERS, Element, Operator, Part, Ports, Spec, read_text, text_part
from oop.operators.core.group_values import check_type, of_value
from oop.operators.core.marks import mark_dropped, mark_late
from oop.operators.core.times import check_time_type, is_time_type, physical
from oop.operators.core.train import Train, couple
from oop.operators.source.guard import Broken, Cut, Guard
from oop.operators.source.ledger import WITHOUT_TIME, Entry, Ledger
from oop.operators.source.numbers import Numbers, append_numbers, promised, with_number, with_number_cuts
from oop.punctuation import END, Frontier, Gate, Interest, Policy, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound, Equal, GroupPattern, Range, Value
from oop.punctuation.policies import Arrival, AtEnd, Punctuated
from oop.punctuation.progress import Arrived, Linear, Progress
from oop.punctuation.starting import start

LATE_MODES = ("drop", "raise", "admit")
NULL_MODES = ("raise", "aside")


@dataclass(frozen=True)
class Input(Spec):
    """``policies`` have their durations in the attributes' units; ``text`` is what the user wrote.

    ``numbers``: each row's number goes with it, and is promised about.
    """

    source: str
    time: str
    policies: tuple[tuple[str, Policy], ...]
    late: str = "drop"
    nulls: str = "raise"
    text: str = ""
    account: bool = False
    """Do late rows travel on to be counted where their windows are?"""
    numbers: bool = False
    polled: bool = False
    """Is it asked how far it is, while it has nothing to read?"""
    name = "Source"
    numbers_rows = True

    def with_late(self, mode: str) -> Spec:
        return replace(self, late=mode)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        schema = with_arrival(inputs[0], self.policies)
        for name in (self.time, *(a for a, _ in self.policies)):
            if name not in schema.names:
                raise UnknownColumn.of(name, schema.names)
            check_time_type(name, schema.field(name).type)
        for attribute, policy in self.policies:
            for name in (*(policy.attributes or ()), *policy.columns):
                if name not in schema.names:
                    raise UnknownColumn.of(name, schema.names)
            for name in policy.columns:
                check_type(schema.field(name).type)
                if name in (policy.attributes or (attribute,)):
                    raise SchemaMismatch(f"promises about {name!r} cannot be by {name!r} itself")
        return with_number(schema) if self.numbers else schema

    def with_number(self) -> Spec | None:
        return replace(self, numbers=True)

    def could_promise(self, groups: Mapping[str, Iterable[Value]], bound: int, ahead: int = 1) -> Frontier:
        """What it may come to promise, for what is asked of a plan before it runs; ``bound`` stands for any.

        ``groups`` are values that the plan's filters fix; any group may come, these are the ones it would ask about.
        Groups, and several attributes together, may be ``ahead`` of all rows.
        """
        frontier = Frontier.of(promised(bound)) if self.numbers else Frontier()  # whatever the policies
        if self.polled:
            frontier.advance(Punctuation({self.time: bound}))
        for attribute, policy in self.policies:
            if isinstance(policy, AtEnd):
                frontier.advance(END)
            for name in policy.attributes or (attribute,):
                if policy.columns:
                    for values in product(*((None, *groups.get(column, ())) for column in policy.columns)):
                        where = dict(zip(policy.columns, values, strict=True))
                        frontier.advance(Punctuation({name: bound + ahead}, where))
                if policy.promises_rest and not isinstance(policy, AtEnd):
                    frontier.advance(Punctuation({name: bound}))
            if isinstance(policy, Punctuated) and policy.columns:
                # that no row of a group comes, whatever its time
                frontier.advance(Punctuation({}, dict.fromkeys(policy.columns, _SOME)))
            if isinstance(policy, Punctuated) and policy.on and len(policy.on) > 1:
                frontier.advance(Punctuation(dict.fromkeys(policy.on, bound + ahead)))
        return frontier

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return InputOperator(self, inputs)

    def describe(self) -> str:
        numbers = "   rows numbered" if self.numbers else ""
        said = ", ".join(filter(None, (self.text, "polled" if self.polled else ""))) or "no promises"
        return f"Source {self.source}   {said}   late: {self.late}{numbers}"


_SOME = object()  # stands for some group, of which no filter knows the value


class InputOperator:
    """``made`` is told of each promise when it is made, whether it helps somebody or not, and how many rows before;
    the engine puts it there."""

    def __init__(self, spec: Input, inputs: Sequence[pa.Schema], interests: Iterable[Interest] | None = None) -> None:
        self.spec = spec
        self.made: Callable[[Promise, int], None] | None = None
        spec.schema(inputs)
        # without the number: what is guarded, and kept of late rows
        self.output = with_arrival(inputs[0], spec.policies)
        self.progress = [start(policy, attribute) for attribute, policy in spec.policies]
        self.guard = Guard(self.progress, spec.time)
        self.punctuated = any(isinstance(p, Punctuated) for _, p in spec.policies)
        self.clocked = [p for p in self.progress if p.ticks]
        self.arrivals = [p for p in self.progress if isinstance(p, Arrived)]
        self.now: Callable[[pa.DataType], Bound] | None = None
        """Reads the run's clock; the engine puts it there, for rows that are stamped."""
        self.ports = Ports(spec, inputs)
        self.gate = Gate(interests)
        self.ledger = Ledger(self.output)
        self.rows_seen = 0

    def couple(self) -> bool:
        self.ports.coupled = True
        return True

    def ask(self, interests: Iterable[Interest]) -> None:
        """Make only the promises that help these consumers (A.1.1)."""
        self.gate = Gate(interests)

    @property
    def buffered_rows(self) -> int:
        return 0

    @property
    def state_bytes(self) -> int:
        return self.ledger.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        return self._process(self._stamped(batch), ())

    def _stamped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With when it came in, in every column that is for that."""
        for progress in self.arrivals:
            assert self.now is not None, "rows are stamped by the clock of an engine"
            at = pa.scalar(progress.stamp(self.now(CLOCK)), CLOCK)
            batch = batch.append_column(pa.field(progress.attribute, CLOCK), pa.repeat(at, batch.num_rows))
        return batch

    def _process(self, batch: pa.RecordBatch, ends: Sequence[int]) -> Iterator[Element]:
        """``ends`` are those of the batches that were coupled into this one."""
        first_row = self.rows_seen
        failure: OopError | None
        said = [progress.promised for progress in self.progress]
        self.rows_seen += batch.num_rows
        batch, numbers, failure = self._with_time(batch, first_row)
        given = self.ports.frontiers[0]
        marks = [p.mark() for p in self.progress] if self.spec.late == "raise" else []
        if len(numbers) < self.rows_seen - first_row:
            ends = ()  # rows are gone: the promise follows at the end of what is left
        late, entries, cuts = self.guard.judge(batch, given, self.gate.helps, ends)
        if late is not None and self.spec.late == "raise":
            # what came before the late row is not lost, nor what it promises: judge again up to there
            failing, failure = self._late_row(batch, late, entries, numbers)
            for progress, mark in zip(self.progress, marks, strict=True):
                progress.rewind(mark)
            batch = batch.slice(0, failing)
            late, entries, cuts = self.guard.judge(batch, given, self.gate.helps, ends)
        for _, entry in entries:
            self.ledger.add(entry)
        start = 0
        for row, promise in self._cuts(cuts, ends, first_row, batch.num_rows):
            if self.gate.passes(promise):
                yield from self._rows(batch, late, numbers, start, row)
                start = row
                yield promise
        yield from self._rows(batch, late, numbers, start, batch.num_rows)
        if failure is not None:  # of the rows behind the one that fails nothing has left
            self.rows_seen = int(numbers[batch.num_rows])
        yield from self.promises()
        for progress, was in zip(self.progress, said, strict=True):  # also of what the guard found to help nobody
            if progress.promised is not None and progress.promised != was:
                self._note(Punctuation({progress.attribute: progress.promised}))
        if failure is not None:
            raise failure

    def process_train(self, elements: Sequence[Element]) -> Iterator[Element]:
        """Elements that stand in a row, with their rows taken together: a batch costs more than a row.

        The same rows are late as one by one, and the same promises leave, if some a little later.
        """
        if self.arrivals:
            elements = [e if isinstance(e, Punctuation) else self._stamped(e) for e in elements]
        train = couple(elements, self.output) if len(elements) > 1 else None
        alone = all(type(p) in (Progress, Linear, Arrived) for p in self.progress) and len(self.progress) <= 1
        if train is None or not (self._is_plain(train) if train.promises else alone):
            for element in elements:
                if isinstance(element, Punctuation):
                    yield from self.process_punctuation(element)
                else:
                    yield from self._process(element, ())
        elif train.promises == 0:
            yield from self._process(train.rows, train.ends)
        else:
            yield from self._linear_train(train)

    def _is_plain(self, train: Train) -> bool:
        """Are its promises all that there is to judge by: about the time, and rows that all have one?"""
        given = self.ports.frontiers[0]
        return (
            self.punctuated
            and train.attribute == self.spec.time
            and self.spec.late != "raise"
            and not self.guard.progress
            and given.is_linear
            and not given.ended
            and set(given.all.linear) <= {self.spec.time}
            and _fits_int64(given.bound(self.spec.time))
            and _is_everywhere(train.rows.column(self.spec.time))
        )

    def _linear_train(self, train: Train) -> Iterator[Element]:
        batch, attribute, first_row = train.rows, self.spec.time, self.rows_seen
        self.rows_seen += batch.num_rows
        numbers = range(first_row, self.rows_seen)
        bounds = train.running_bounds(self.ports.frontiers[0].bound(attribute))
        times = views.times(batch.column(attribute))
        row_bounds = np.repeat(bounds, np.diff(train.places, prepend=0, append=batch.num_rows))
        late: np.ndarray | None = self.guard.kernels.mark_late(times, row_bounds)
        assert late is not None
        if late.any():
            self.ledger.add(Entry(batch.filter(pa.array(late)), attribute, row_bounds[late]))
        else:
            late = None
        self.ports.advance(Punctuation({attribute: bounds[-1].item()}), 0)
        start = 0
        for place, promise in self._cuts(train.helping(self.gate.helps), train.ends, first_row, batch.num_rows):
            if self.gate.passes(promise):
                yield from self._rows(batch, late, numbers, start, place)
                start = place
                yield promise
        yield from self._rows(batch, late, numbers, start, batch.num_rows)
        if bounds[-1] > bounds[0]:
            place = train.places[int(np.searchsorted(bounds, bounds[-1])) - 1]
            behind = batch.num_rows - place if late is None else int((~late[place:]).sum())
            self._note(Punctuation({attribute: bounds[-1].item()}), behind)
        yield from self.promises()

    def _cuts(self, cuts: Iterable[Cut], ends: Sequence[int], first_row: int, rows: int) -> Iterable[Cut]:
        return with_number_cuts(cuts, ends, first_row, rows, self.gate.helps) if self.spec.numbers else cuts

    def _with_time(self, batch: pa.RecordBatch, first_row: int) -> tuple[pa.RecordBatch, Numbers, TimeError | None]:
        """Rows without a time belong to no window: an error that names the row, or set aside by choice.

        Also gives the numbers of the rows that are left, counted from the stream's first.
        """
        numbers = range(first_row, first_row + batch.num_rows)
        column = batch.column(self.spec.time)
        if not column.null_count and not pa.types.is_floating(column.type):
            return batch, numbers, None
        missing = views.booleans(column.is_null())
        if pa.types.is_floating(column.type):
            missing |= ~np.isfinite(views.times(column.fill_null(0.0)))
        if not missing.any():
            return batch, numbers, None
        if self.spec.nulls == "aside":
            self.ledger.add(Entry(batch.filter(pa.array(missing)), None, None, WITHOUT_TIME))
            return batch.filter(pa.array(~missing)), first_row + np.flatnonzero(~missing), None
        row = int(np.flatnonzero(missing)[0])
        value = column[row].as_py()
        return (
            batch.slice(0, row),
            numbers,
            TimeError(
                f"source {self.spec.source!r}: row {first_row + row} has {'no value' if value is None else value} "
                f"in its time column {self.spec.time!r}",
                hint='filter such rows out, or pass nulls="aside" to set them aside like late rows',
            ),
        )

    def _late_row(
        self, batch: pa.RecordBatch, late: np.ndarray, entries: Sequence[Broken], numbers: Numbers
    ) -> tuple[int, LateRow]:
        row = int(np.flatnonzero(late)[0])
        rows, entry = next((rows, entry) for rows, entry in entries if rows[row])
        broke = entry.table().columns[-2][int(rows[:row].sum())].as_py()
        values = show_row(batch, row)
        return row, LateRow(
            f"source {self.spec.source!r}: row {numbers[row]} breaks the promise {broke}: {values}",
            hint='promise less (a greater slack), or pass late="drop" or late="admit"',
        )

    def _rows(
        self, batch: pa.RecordBatch, late: np.ndarray | None, numbers: Numbers, start: int, end: int
    ) -> Iterator[Element]:
        if start == end:
            return
        piece = batch.slice(start, end - start)
        if self.spec.numbers:
            piece = append_numbers(piece, numbers[start:end])
        if late is None or not late[start:end].any():
            yield piece
            return
        mask = pa.array(late[start:end])
        kept = piece.filter(pa.array(~late[start:end]))
        if kept.num_rows:
            yield kept
        if self.spec.late == "admit":
            yield mark_late(piece.filter(mask))
        elif self.spec.account:
            yield mark_dropped(piece.filter(mask))

    def promises(self) -> Iterator[Element]:
        """What the rows so far imply, as far as it is new and helps."""
        for progress in self.progress:
            yield from self.ports.as_they_leave(self.gate.through(self._noted(progress.together())))
        if self.spec.numbers and self.rows_seen:
            yield from self.ports.as_they_leave(self.gate.through([promised(self.rows_seen)]))

    def _noted(self, promises: Iterable[Promise]) -> Iterator[Promise]:
        for promise in promises:
            self._note(promise)
            yield promise

    def _note(self, promise: Promise, behind: int = 0) -> None:
        if self.made is not None:
            self.made(promise, behind)

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        """Promises that the data carries, and the end."""
        if not punct.is_end:
            if not self.punctuated:
                raise SchemaMismatch(
                    f"source {self.spec.source!r} carries promises, but its policy is not punctuated()",
                    hint="pass punctuate=oop.punctuated()",
                )
            punct = normalise(punct, self.output)
        yield from self.take_promise(punct)

    def answer(self, said: Any) -> Punctuation:
        """What a source said of itself when it was asked, as a promise: a bound on the time, or a promise."""
        punct = said if isinstance(said, Punctuation) else Punctuation({self.spec.time: said})
        return punct if punct.is_end else normalise(punct, self.output)

    def take_promise(self, punct: Punctuation) -> Iterator[Element]:
        """A promise of the data, or of a source that was asked (OOP paper, section 3.2); one that goes back says
        nothing."""
        if self.ports.advance(punct, 0):
            self._note(punct)
            lifted = self.ports.frontiers[0].take_lifted()
            yield from self.ports.as_they_leave(self.gate.through([punct, *lifted]))

    def tick(self, now: Callable[[pa.DataType], Bound]) -> Iterator[Element]:
        """The wall clock moved: timers make their promises. ``now`` gives the time in a column's own unit."""
        for progress in self.clocked:
            progress.tick(now(self.output.field(progress.attribute).type))
        if self.clocked:
            yield from self.promises()

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        state = {
            "progress": [p.state() for p in self.progress],
            "passed": self.gate.passed.to_json(),
            "held": self.gate.held.to_json(),
            "rows": self.rows_seen,
        }
        yield text_part("input", state)
        yield from self.ledger.save()

    def load(self, parts: Iterable[Part]) -> None:
        parts = list(parts)
        self.ledger.load(parts)
        for key, part in parts:
            if part is None:
                continue
            if key == FRONTIERS:
                self.ports.load(part)
            elif key == "input":
                said = read_text(part)
                assert isinstance(said, Mapping)
                for progress, state in zip(self.progress, said["progress"], strict=True):
                    progress.restore(state)
                self.gate.restore(Frontier.from_json(said["passed"]), Frontier.from_json(said["held"]))
                self.rows_seen = said["rows"]
                self.guard.resume(self.rows_seen)


def with_arrival(schema: pa.Schema, policies: Iterable[tuple[str, object]]) -> pa.Schema:
    """The columns of rows that have been stamped: those of the data, and one for each policy `arrival`.

    >>> import oop
    >>> with_arrival(pa.schema({"v": pa.int64()}), [("at", oop.arrival())]).names
    ['v', 'at']
    """
    for name, policy in policies:
        if isinstance(policy, Arrival):
            if name in schema.names:
                raise SchemaMismatch(
                    f"the data has a column {name!r} of its own, and arrival() makes one",
                    hint="name a column that the data does not have",
                )
            schema = schema.append(pa.field(name, CLOCK))
    return schema


def _fits_int64(bound: Bound | None) -> bool:
    return bound is None or -(2**63) <= bound < 2**63


def _is_everywhere(times: pa.Array) -> bool:
    """Has every row a time?"""
    if times.null_count:
        return False
    return not pa.types.is_floating(times.type) or bool(np.isfinite(views.times(times)).all())


def normalise(punct: Punctuation, schema: pa.Schema) -> Punctuation:
    """A promise as a user wrote it, with physical bounds and group values as the column holds them."""
    for name in (*punct.below, *punct.where):
        if name not in schema.names:
            raise UnknownColumn.of(name, schema.names)
    below = {name: _bound(name, bound, schema) for name, bound in punct.below.items()}
    where: dict[str, GroupPattern] = {}
    for name, pattern in punct.where.items():
        type_ = schema.field(name).type
        if isinstance(pattern, Equal):
            where[name] = Equal(of_value(pattern.value, type_))
        elif isinstance(pattern, Range):
            high = None if pattern.high is None else _bound(name, pattern.high, schema)
            where[name] = Range(_bound(name, pattern.low, schema), high)
        else:
            where[name] = type(pattern)(of_value(v, type_) for v in pattern.values)
    return Punctuation(below, where)


def _bound(name: str, bound: Bound, schema: pa.Schema) -> Bound:
    type_ = schema.field(name).type
    if not is_time_type(type_):
        raise SchemaMismatch(
            f"a bound or range needs an integer, float, date or timestamp, and {name!r} is {type_}",
            hint=f"name single values, as in where={{{name!r}: …}}, or promise about another column",
        )
    return physical(bound, type_)


def show_row(batch: pa.RecordBatch, row: int) -> str:
    """A row as text, whatever its types: Python has no values for nanoseconds."""
    shown = []
    for name, column in zip(batch.schema.names, batch.slice(row, 1).columns, strict=True):
        if pa.types.is_duration(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
            column = column.cast(pa.string())
        shown.append(f"{name}={column.to_pylist()[0]!r}")
    return ", ".join(shown)
