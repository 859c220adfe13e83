"""Spark's side of a stage: the runner of a shard, with its parts in the state store.

A runner is kept in the worker for the next micro-batch. It is used only if the state store holds exactly what this
runner saved last: after a failed attempt, or a micro-batch that another worker did, it is loaded anew.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from oop.engines.spark.cells import CELLS, Cell, decode, encode
from oop.engines.spark.identity import check_identity
from oop.operators.base import Part, read_text, text_part

VERSION, IDENTITY = "version", "identity"
_PIECE = 16 << 20  # bytes in one value of the state store
_MOST_BYTES = 32 << 20  # in one frame that is handed to Spark
_MORE = "#"  # between the name of a part and the number of a further piece


@dataclass
class _Kept:
    """A runner, the version of the state that it stands for, and how many pieces each of its parts was cut into."""

    runner: Any
    version: str | None = None
    pieces: dict[str, int] = field(default_factory=dict)


_MOST_KEPT = 64  # runners in one worker, which may serve several queries, and outlive them
_kept: dict[tuple[str, int, int], _Kept] = {}


class StageProcessor(StatefulProcessor):
    """``start(shard)`` makes the runner of a shard, ``keys`` are those of the shards."""

    def __init__(
        self, start: Callable[[int], Any], keys: Sequence[int], number: int, identity: Mapping[str, Any]
    ) -> None:
        self.start = start
        self.shards = {key: shard for shard, key in enumerate(keys)}
        self.number = number
        self.identity = identity
        self.run = uuid.uuid4().hex  # of this start of the query: workers may outlive it

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.parts = handle.getMapState("parts", "part string", "body binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timer: Any = None) -> Iterator[pd.DataFrame]:
        mine: list[Cell] = []
        for frame in rows:
            found = list(map(Cell._make, frame[CELLS.names].itertuples(index=False, name=None)))
            mine += (cell for cell in found if cell.stage == self.number)
            yield from _frames(cell for cell in found if cell.stage != self.number)  # on their way to later stages
        if not mine:
            return
        shard = self.shards[int(key[0])]
        # taken out: what fails half-way must not be found by a later attempt
        kept = self._current(shard, _kept.pop((self.run, self.number, shard), None))
        yield from _frames(kept.runner.run(mine))
        self._save(kept)
        _kept[self.run, self.number, shard] = kept
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]  # the one that was used least recently

    def _current(self, shard: int, kept: _Kept | None) -> _Kept:
        """The runner with the state that the store holds: the one kept here if it is just that, else loaded."""
        said = self.parts.getValue((VERSION,))
        if said is None:
            return _Kept(self.start(shard))
        if kept is not None and kept.version == bytes(said[0]).decode():
            return kept
        found = {name: bytes(body) for (name,), (body,) in self.parts.iterator()}
        version = found.pop(VERSION).decode()
        pieces = Counter(name.partition(_MORE)[0] for name in found)
        parts = {name: decode(b"".join(found[_piece(name, i)] for i in range(n))) for name, n in pieces.items()}
        saved: Any = read_text(parts.pop(IDENTITY))
        check_identity(saved, self.identity)
        kept = _Kept(self.start(shard), version, dict(pieces))
        kept.runner.load(parts)
        return kept

    def _save(self, kept: _Kept) -> None:
        """Only the parts that changed are written."""
        for name, part in kept.runner.save():
            self._put(kept, name, b"" if part is None else encode(part))
        if kept.version is None:
            self._put(kept, *_encoded(text_part(IDENTITY, dict(self.identity))))
        kept.version = uuid.uuid4().hex
        self.parts.updateValue((VERSION,), (kept.version.encode(),))

    def _put(self, kept: _Kept, name: str, body: bytes) -> None:
        """A part in pieces that the state store takes well; what it had more of is removed, all of it if it is gone."""
        pieces = range(0, len(body), _PIECE)
        for i, at in enumerate(pieces):
            self.parts.updateValue((_piece(name, i),), (body[at : at + _PIECE],))
        for i in range(len(pieces), kept.pieces.pop(name, 0)):
            self.parts.removeKey((_piece(name, i),))
        if pieces:
            kept.pieces[name] = len(pieces)

    def close(self) -> None:
        """Nothing is held but what other micro-batches use."""


def _piece(name: str, number: int) -> str:
    return f"{name}{_MORE}{number}" if number else name


def _encoded(part: Part) -> tuple[str, bytes]:
    name, batch = part
    assert batch is not None
    return name, encode(batch)


def _frames(cells: Iterable[Cell]) -> Iterator[pd.DataFrame]:
    """Cells as frames of bounded size."""
    waiting: list[Cell] = []
    size = 0
    for cell in cells:
        waiting.append(cell)
        size += len(cell.body)
        if size >= _MOST_BYTES:
            yield pd.DataFrame(waiting, columns=CELLS.names)
            waiting, size = [], 0
    if waiting:
        yield pd.DataFrame(waiting, columns=CELLS.names)
