"""The stream with the strongest promises that its rows allow, as data that any engine can read. Tests compare policies
with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oop.io.low_water import punctuate_exactly
from oop.operators.core.operator import Element
from oop.punctuation import policies
from oop.punctuation.named_groups import By


def exact(elements: Iterable[Element], time: str | Sequence[str] = "ts", *, by: By | None = None) -> list[Element]:
    """The batches, and before each the exact low-water mark of ``time`` (OOP paper, Eq. 1), with ``by`` also that of
    each group. Read it with ``oop.punctuated()``. At a source the policy `oop.exact` makes the same promises.

    >>> import pyarrow as pa
    >>> batches = [pa.record_batch({"ts": [5, 1]}), pa.record_batch({"ts": [3]}), pa.record_batch({"ts": [9]})]
    >>> [str(e) if not isinstance(e, pa.RecordBatch) else e["ts"].to_pylist() for e in exact(batches)]
    ['ts < 1', [5, 1], 'ts < 3', [3], 'ts < 9', [9]]
    """
    listed = list(elements)
    attributes = [time] if isinstance(time, str) else list(time)
    return list(punctuate_exactly(lambda: listed, attributes, policies.exact(by=by).columns))
