"""The Spark side of a stage: the runner of a shard, with its parts in the state store.

A runner is kept in the worker for the next micro-batch. It is used again only if the state store holds exactly what
this runner saved last. After a failed attempt, or a micro-batch in another worker, a new runner is loaded.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from oop.engines.spark.cells import CELLS, Cell, chunks
from oop.engines.spark.finishing import result_frames
from oop.engines.spark.identity import check_identity
from oop.engines.spark.stored_parts import StoredParts
from oop.operators.core.parts import Part, read_text, text_part

IDENTITY = "identity"


@dataclass
class _KeptRunner:
    """A runner, and its parts as they were last written."""

    runner: Any
    parts: StoredParts


_MOST_KEPT = 64  # runners that one worker keeps; it may serve several queries, and live longer than they do
_kept: dict[tuple[str, int, int], _KeptRunner] = {}


class StageProcessor(StatefulProcessor):
    """``start(shard)`` makes the runner of a shard, and ``keys`` are the keys of the shards. ``copies`` is a folder
    that all workers share, if there is one. ``result`` is the schema of the result, if this is the last stage, which
    puts out rows in place of cells."""

    def __init__(
        self,
        start: Callable[[int], Any],
        keys: Sequence[int],
        number: int,
        identity: Mapping[str, Any],
        copies: str | None = None,
        result: pa.Schema | None = None,
    ) -> None:
        self.start = start
        self.shards = {key: shard for shard, key in enumerate(keys)}
        self.number = number
        self.identity = identity
        self.copies = copies
        self.result = result
        self.run = uuid.uuid4().hex  # identifies this start of the query, because workers may outlive it

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.store = handle.getMapState("parts", "part string", "body binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timer: Any = None) -> Iterator[pd.DataFrame]:
        mine: list[Cell] = []
        for frame in rows:
            found = list(map(Cell._make, frame[CELLS.names].itertuples(index=False, name=None)))
            mine += (cell for cell in found if cell.stage == self.number)
            yield from self._frames(cell for cell in found if cell.stage != self.number)  # cells for later stages
        if not mine:
            return
        shard = self.shards[int(key[0])]
        # the runner is taken out, so that a later attempt does not find one that failed half-way
        kept = self._current(shard, _kept.pop((self.run, self.number, shard), None))
        kept.runner.finishes = self.result is not None
        yield from self._frames(kept.runner.run(mine))
        kept.parts.write(self.store, self._changed(kept))
        _kept[self.run, self.number, shard] = kept
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]  # the one that was used least recently

    def _current(self, shard: int, kept: _KeptRunner | None) -> _KeptRunner:
        """The runner with the state that the store holds: the kept one if it has exactly that state, else a loaded
        one."""
        if kept is not None and kept.parts.is_current(self.store):
            return kept
        copies = None if self.copies is None else f"{self.copies}/{self.run}.{self.number}.{shard}"
        kept = _KeptRunner(self.start(shard), StoredParts(copies))
        found = kept.parts.read(self.store)
        if found is not None:
            saved: Any = read_text(found.pop(IDENTITY))
            check_identity(saved, self.identity)
            kept.runner.load(found)
        return kept

    def _changed(self, kept: _KeptRunner) -> Iterator[Part]:
        if kept.parts.version is None:
            yield text_part(IDENTITY, dict(self.identity))
        yield from kept.runner.save()

    def _frames(self, cells: Iterable[Cell]) -> Iterator[pd.DataFrame]:
        if self.result is not None:
            return result_frames(cells, self.result)
        return (pd.DataFrame(chunk, columns=CELLS.names) for chunk in chunks(cells))

    def close(self) -> None:
        """Do nothing: runners are kept for the next micro-batch."""
