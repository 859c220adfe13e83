"""The operator of a source: it guards a stream and makes its promises (OOP paper, sections 3.2, 5.1 and 5.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import OopError, SchemaMismatch
from oop.kernels import views
from oop.operators.core.context import Context
from oop.operators.core.marks import mark_dropped, mark_late
from oop.operators.core.operator import Element, Operator
from oop.operators.core.parts import FRONTIERS, Part, read_text, text_part
from oop.operators.core.train import JoinedTrain, join
from oop.operators.source.carried import normalise
from oop.operators.source.entries import Entry
from oop.operators.source.failures import is_everywhere, late_row, with_time
from oop.operators.source.fields import InputFields
from oop.operators.source.guard import Cut, Guard
from oop.operators.source.ledger import Ledger
from oop.operators.source.looks import Look, find_look, fits_int64
from oop.operators.source.numbers import SEQ, Numbers, append_numbers, promised, with_number_cuts
from oop.operators.source.stamping import Now, stamped, with_arrival
from oop.punctuation import Frontier, Gate, Punctuation
from oop.punctuation.group_promises import Advance, Promise, one_by_one
from oop.punctuation.patterns import Bound

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


class InputOperator(Operator):
    """``made``, which the engine sets, is called for each promise that is made, whether it helps a consumer or not,
    with the number of rows before it."""

    def __init__(self, spec: InputFields, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        self.made: Callable[[Promise, int], None] | None = None
        spec.schema(context.inputs)
        # The columns that are guarded, and kept of late rows; the number is not among them.
        self.output = with_arrival(context.inputs[0], spec.policies)
        self.progress = [policy.start(attribute) for attribute, policy in spec.policies]
        self.guard = Guard(self.progress, spec.time)
        self.punctuated = any(policy.carried for _, policy in spec.policies)
        self.clocked = [p for p in self.progress if p.ticks]
        self.arrivals = [p for p in self.progress if p.policy.stamps]
        self.now = context.now  # for rows that are stamped with the clock
        self.joins_batches = len(self.progress) <= 1 and all(p.joins_batches for p in self.progress)
        self.gate = Gate(context.interests)  # makes only the promises that help consumers (A.1.1)
        self.ledger = Ledger(self.output)
        self.rows_seen = 0
        self._look: Look | None = None
        self._knows_look = False  # is `_look` up to date? A promise of the data may change it
        self.givens = 0  # counts changes of what the data has promised

    @property
    def promised(self) -> Frontier:
        return self.gate.passed

    @property
    def state_bytes(self) -> int:
        return self.ledger.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        """Process a batch. Most batches have no late row, which one look tells; they leave unchanged, with the promise
        that they imply."""
        look = self._look if self._knows_look else self._find_look()
        if look is not None:
            times = views.fixed_values(batch.column(self.spec.time))
            if (
                times is not None
                and len(times)
                and (times.dtype == _INT64 or _are_finite(times))
                and look.passes(times)
            ):
                self.rows_seen += len(times)
                yield batch
                bound = look.rise()
                promise = None if bound is None else self._helpful(self.spec.time, bound)
                if promise is not None:
                    yield promise
                return
        yield from self._process(stamped(batch, self.arrivals, self.now), ())

    def _find_look(self) -> Look | None:
        """How a batch is judged at one look, which holds until the data promises something new; None if it cannot
        be."""
        self._knows_look = True
        self._look = None
        if not self.spec.numbers and not self.arrivals and len(self.progress) <= 1:
            self._look = find_look(self.guard, self.ports.frontiers[0])
        return self._look

    def forget_look(self) -> None:
        """What the data has promised has changed."""
        self._knows_look = False
        self.givens += 1

    def _helpful(self, attribute: str, bound: Bound) -> Punctuation | None:
        """The promise of a new bound that rows imply, if it helps a consumer."""
        promise = Punctuation._rise(attribute, bound)
        if self.made is not None:
            self.made(promise, 0)
        return promise if self.gate.rises(attribute, bound) else None

    def _process(self, batch: pa.RecordBatch, ends: Sequence[int]) -> Iterator[Element]:
        """Judge a batch in full. ``ends`` are the ends of the batches that were joined into this one."""
        first_row = self.rows_seen
        failure: OopError | None
        said = [progress.promised for progress in self.progress]
        self.rows_seen += batch.num_rows
        batch, numbers, failure = with_time(self.spec, batch, first_row, self.ledger)
        given = self.ports.frontiers[0]
        remembered = [p.remember() for p in self.progress] if self.spec.late == "raise" else []
        if len(numbers) < self.rows_seen - first_row:
            ends = ()  # rows were set aside, so the ends are not valid; the promise follows at the end of the rest
        late, entries, cuts = self.guard.judge(batch, given, self.gate.helps, ends)
        if late is not None and self.spec.late == "raise":
            # The rows before the late one, and the promises that they imply, are not lost: judge again up to there.
            failing, failure = late_row(self.spec.source, batch, late, entries, numbers)
            for progress, there in zip(self.progress, remembered, strict=True):
                progress.go_back(there)
            batch = batch.slice(0, failing)
            late, entries, cuts = self.guard.judge(batch, given, self.gate.helps, ends)
        for _, entry in entries:
            self.ledger.add(entry)
        yield from self._leaving(batch, late, numbers, self._cuts(cuts, ends, first_row, batch.num_rows))
        if failure is not None:  # no row behind the failing one has left
            self.rows_seen = int(numbers[batch.num_rows])
        yield from self.promises()
        for progress, was in zip(self.progress, said, strict=True):  # also promises that helped no consumer
            if progress.promised is not None and progress.promised != was:
                self._note(Punctuation({progress.attribute: progress.promised}))
        if failure is not None:
            raise failure

    def process_train(self, elements: Sequence[Element]) -> Iterator[Element]:
        """Process several elements at once, with their rows as one batch, because a batch costs more than a row.

        The same rows are late as one by one, and the same promises leave, some of them a little later.
        """
        if len(elements) == 1 and isinstance(elements[0], pa.RecordBatch):
            return self.process_batch(elements[0])
        return self._process_train(elements)

    def _process_train(self, elements: Sequence[Element]) -> Iterator[Element]:
        if self.arrivals:
            elements = [stamped(e, self.arrivals, self.now) if isinstance(e, pa.RecordBatch) else e for e in elements]
        train = join(elements, self.output) if len(elements) > 1 else None
        if train is None or not (self._is_plain(train) if train.promises else self.joins_batches):
            for element in elements:
                if isinstance(element, pa.RecordBatch):
                    yield from self._process(element, ())
                else:
                    yield from self.process_punctuation((element,))
        elif train.promises == 0:
            yield from self._process(train.rows, train.ends)
        else:
            yield from self._linear_train(train)

    def _is_plain(self, train: JoinedTrain) -> bool:
        """Are rows judged only by the train's own promises, which are about the time, and do all rows have a time?"""
        given = self.ports.frontiers[0]
        return (
            self.punctuated
            and train.attribute == self.spec.time
            and self.spec.late != "raise"
            and not self.guard.judges
            and given.is_linear
            and not given.ended
            and set(given.all.linear) <= {self.spec.time}
            and fits_int64(given.bound(self.spec.time))
            and is_everywhere(train.rows.column(self.spec.time))
        )

    def _linear_train(self, train: JoinedTrain) -> Iterator[Element]:
        batch, attribute, first_row = train.rows, self.spec.time, self.rows_seen
        self.rows_seen += batch.num_rows
        numbers = range(first_row, self.rows_seen)
        bounds = train.running_bounds(self.ports.frontiers[0].bound(attribute))
        times = views.times(batch.column(attribute))
        row_bounds = np.repeat(bounds, np.diff(train.places, prepend=0, append=batch.num_rows))
        late: np.ndarray | None = self.guard.kernels.find_late(times, row_bounds)
        assert late is not None
        if late.any():
            self.ledger.add(Entry(batch.filter(pa.array(late)), attribute, row_bounds[late]))
        else:
            late = None
        self.ports.advance((Punctuation({attribute: bounds[-1].item()}),), 0)
        self.forget_look()
        cuts = self._cuts(train.helping(self.gate.helps), train.ends, first_row, batch.num_rows)
        yield from self._leaving(batch, late, numbers, cuts)
        if bounds[-1] > bounds[0]:
            place = train.places[int(np.searchsorted(bounds, bounds[-1])) - 1]
            behind = batch.num_rows - place if late is None else int((~late[place:]).sum())
            self._note(Punctuation({attribute: bounds[-1].item()}), behind)
        yield from self.promises()

    def _cuts(self, cuts: Iterable[Cut], ends: Sequence[int], first_row: int, rows: int) -> Iterable[Cut]:
        return with_number_cuts(cuts, ends, first_row, rows, self.gate.helps) if self.spec.numbers else cuts

    def _leaving(
        self, batch: pa.RecordBatch, late: np.ndarray | None, numbers: Numbers, cuts: Iterable[Cut]
    ) -> Iterator[Element]:
        """The rows and the promises between them. Rows are cut only where a promise helps, for a batch costs more than
        a row."""
        start = 0
        for row, promise in cuts:
            yield from self._rows(batch, late, numbers, start, row)
            start = row
            if self.gate.passes(promise):  # only now: what has passed is what has been promised
                yield promise
        yield from self._rows(batch, late, numbers, start, batch.num_rows)

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
        """The promises that the rows so far imply, if they are new and help a consumer."""
        for progress in self.progress:
            if progress.rises:  # one bound, about all rows
                bound = progress.rise()
                promise = None if bound is None else self._helpful(progress.attribute, bound)
                if promise is not None:
                    yield promise
                continue
            yield from self.gate.through(self._noted(progress.together()))
        if self.spec.numbers and self.rows_seen and self.gate.rises(SEQ, self.rows_seen):
            yield promised(self.rows_seen)

    def _noted(self, promises: Iterable[Promise]) -> Iterator[Promise]:
        for promise in promises:
            self._note(promise)
            yield promise

    def _note(self, promise: Promise, behind: int = 0) -> None:
        if self.made is not None:
            self.made(promise, behind)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        """Take promises that the data carries, and the end."""
        for promise in one_by_one(advance):
            if not promise.is_end:
                if not self.punctuated:
                    raise SchemaMismatch(
                        f"source {self.spec.source!r} carries promises, but its policy is not punctuated()",
                        hint="pass punctuate=oop.punctuated()",
                    )
                promise = normalise(promise, self.output)
            yield from self.take_promise(promise)

    def answer(self, said: Any) -> Punctuation:
        """The answer of a source that was asked for a promise, which is a promise or a bound on the time, as a
        promise."""
        punct = said if isinstance(said, Punctuation) else Punctuation({self.spec.time: said})
        return punct if punct.is_end else normalise(punct, self.output)

    def take_promise(self, punct: Punctuation) -> Iterator[Element]:
        """Take a promise of the data, or of a source that was asked (OOP paper, section 3.2). A promise that goes back
        is ignored."""
        new = self.ports.advance((punct,), 0)
        if new:
            self.forget_look()
            self._note(punct)
            yield from self.gate.through(new)

    def tick(self, now: Now) -> Iterator[Element]:
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
        self.forget_look()
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


def _are_finite(times: np.ndarray) -> bool:
    """Are these floats of 64 bits, none of them NaN or infinite?"""
    return times.dtype == _FLOAT64 and bool(np.isfinite(times).all())
