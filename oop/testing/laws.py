"""The laws that every operator must keep, as one check over a pipeline and its inputs."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from oop.operators.core.coverage import covered
from oop.operators.core.operator import Element
from oop.operators.source.carried import normalise
from oop.punctuation import END, Frontier, Policy, Punctuation
from oop.punctuation.group_promises import one_by_one
from oop.streams.stream import Stream
from oop.testing.disorder import disorder, resplit
from oop.testing.harness import Harness

Row = tuple[tuple[str, Any], ...]


def bag(rows: Iterable[Mapping[str, Any]]) -> Counter[Row]:
    """Rows as a bag. Floats count as equal if they agree to about nine digits, because sums depend on the order of
    rows.

    >>> bag([{"x": 0.1 + 0.2}]) == bag([{"x": 0.3}])
    True
    """
    return Counter(tuple(sorted((k, _plain(v)) for k, v in r.items())) for r in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return float(f"{value:.9g}") if abs(value) > 1e-9 else 0.0
    if isinstance(value, dict):  # a struct
        return tuple((k, _plain(v)) for k, v in value.items())
    if isinstance(value, list):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, Decimal) else value


def check_operator(
    pipeline: Callable[..., Stream],
    *inputs: Sequence[Element],
    seed: int = 0,
    time: str = "ts",
    punctuate: Policy | Mapping[str, Policy] | None = None,
    late: str = "drop",
    threads: int = 1,
    order: str = "oop",
    expected: Iterable[Mapping[str, Any]] | None = None,
) -> None:
    """Check every law for one random disorder of the inputs. The AssertionError names the law that failed.

    ``inputs`` are batches and promises for each of the pipeline's streams. Without a policy, or with `punctuated`, the
    promises in the inputs count, and rows are permuted within them. With another policy only the batches are cut anew.
    ``expected`` are the rows of the answer. The disordered runs are on this many ``threads``, the plain run on one.
    ``order`` is the argument of `Stream.run`.

    >>> import oop
    >>> from oop.testing import elements
    >>> table = elements('''
    ...     ts
    ...     1
    ...     2
    ...     -- ts < 2
    ...     3
    ... ''')
    >>> check_operator(lambda s: s.filter(oop.col("ts") > 1), table, expected=[{"ts": 2}, {"ts": 3}])
    """
    rng = random.Random(seed)
    schemas = [_schema_of(i) for i in inputs]

    first = Harness(pipeline, *schemas, time=time, punctuate=punctuate, late=late, order=order)

    def start() -> Harness:
        return first.again(threads)

    # rows are not permuted for policies by attribute: such plans count rows in the order in which they come
    shuffled = punctuate is None or (isinstance(punctuate, Policy) and punctuate.carried)
    plain = _Trial(lambda: first, [list(i) for i in inputs], random.Random(seed), shuffled)
    plain.play()
    if expected is not None:
        _same("the answer is right", plain.rows, bag(expected))
    mixed = [(disorder if shuffled else resplit)(i, rng.randrange(2**32)) for i in inputs]
    trial = _Trial(start, mixed, rng, shuffled)
    trial.play(saving=True)
    if late != "admit":  # which windows are still open for an admitted row depends on when it comes
        _same("any order and any batch split gives the same bag", trial.rows, plain.rows)
    _same("any order and any batch split gives the same rows late", trial.late, plain.late)
    if shuffled and late != "admit":
        unpurged = _Trial(start, [_on_time(i) for i in inputs], rng, shuffled)
        unpurged.play()
        _same("purging never changes an answer", unpurged.rows, plain.rows)


class _Trial:
    """One run of the pipeline over interleaved inputs, with the laws that are checked on the way."""

    def __init__(
        self, start: Callable[[], Harness], inputs: list[list[Element]], rng: random.Random, shuffled: bool
    ) -> None:
        self.start = start
        self.harness = start()
        self.rng = rng
        self.shuffled = shuffled
        self.queues = [[*(e for e in i if e != END), END] for i in inputs]
        self.rows: Counter[Row] = Counter()
        self.late: Counter[Row] = Counter()
        self.promised = Frontier()
        self.ends = 0
        self.given: list[tuple[pa.RecordBatch, Counter[Row]]] = []

    def play(self, saving: bool = False) -> None:
        left = [list(reversed(q)) for q in self.queues]
        snapshot = None
        while any(left):
            port = self.rng.choice([i for i, q in enumerate(left) if q])
            length = self.rng.choice([1, 1, 1, 2, 5])  # one element, or several as a train
            train = [left[port].pop() for _ in range(min(length, len(left[port])))]
            self.harness.feed(*train, port=port)
            self._watch(isinstance(train[-1], Punctuation))
            if saving and self.rng.random() < 0.15:
                snapshot = self.harness.save(snapshot)
                if self.rng.random() < 0.5:
                    self._continue_from(snapshot)
        self._note_late()
        for batch, rows in self.given:
            _same("what has been put out does not change", bag(batch.to_pylist()), rows)
        assert self.ends == 1, f"the end was said {self.ends} times"
        assert self.harness.buffered_rows == 0, f"state is not empty after the end: {self.harness.buffered_rows}"
        assert self.harness.state_bytes == 0, f"memory is not released at the end: {self.harness.state_bytes} bytes"

    def _watch(self, quiet: bool) -> None:
        for element in self.harness.out():
            if isinstance(element, pa.RecordBatch):
                rows = bag(element.to_pylist())
                self.given.append((element, rows))
                self.rows += rows
            else:
                assert isinstance(element, Punctuation)
                self.ends += element.is_end
                assert self.promised.advance(element), f"a bound retreated, or was said twice: {element}"
        self.harness.check_held_back()
        if quiet and _is_data_free(self.harness):
            self.harness.check_prompt()
            self.harness.check_steps()

    def _continue_from(self, snapshot: list[dict[str, pa.RecordBatch]]) -> None:
        given = self.harness.given
        self.harness = self.start()
        self.harness.load(snapshot, given)

    def _note_late(self) -> None:
        for operator, ledger in zip(self.harness.crank.inputs, self.harness.late.sources.values(), strict=True):
            table = ledger.table()
            # a row may break several promises in the data; under which of them it is booked depends on when it comes
            if self.shuffled or operator.punctuated:
                table = table.select(ledger.schema.names)
            self.late += bag(table.to_pylist())
        for shards in self.harness.late.operators.values():
            self.late += bag(shards.table().to_pylist())


def _is_data_free(harness: Harness) -> bool:
    """Do all promises come from the elements that were pushed? Then it is known what may be promised."""
    return all(not o.progress or o.punctuated for o in harness.crank.inputs)


def _on_time(elements: Sequence[Element]) -> list[Element]:
    """The rows that break no promise, without the promises, so that nothing is purged before the end."""
    given, schema = Frontier(), _schema_of(elements)
    kept: list[Element] = []
    for element in elements:
        if isinstance(element, pa.RecordBatch):
            kept.append(element.filter(pa.array(~covered(given, element))))
        else:
            for promise in one_by_one((element,)):
                given.advance(normalise(promise, schema))
    return kept


def _schema_of(elements: Sequence[Element]) -> pa.Schema:
    for element in elements:
        if isinstance(element, pa.RecordBatch):
            return element.schema
    raise ValueError("an input needs at least one batch, if an empty one, to know its columns")


def _same(law: str, found: Counter[Row], wanted: Counter[Row]) -> None:
    extra, missing = found - wanted, wanted - found
    assert not extra and not missing, f"law broken: {law}\n  too many: {_show(extra)}\n  missing:  {_show(missing)}"


def _show(rows: Counter[Row]) -> str:
    shown = [f"{dict(r)} ×{n}" for r, n in list(rows.items())[:5]]
    return ", ".join(shown) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "") or "none"
