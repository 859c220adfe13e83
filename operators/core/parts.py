"""Saved state: an operator is saved in *parts* that follow time, so that purging removes parts and a small change saves
little. A part is a key and an Arrow batch; both engines use nothing else for checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

from oop.errors import OopError
from oop.punctuation.encoding import dumps, loads

Part: TypeAlias = tuple[str, pa.RecordBatch | None]
"""A key, and the part's rows; None says that the part is gone."""

FRONTIERS = "frontiers"
"""The part with what the ports of an operator and its output have promised."""
SHARDS = "shards"
"""The part that says over how many workers an operator's groups were spread."""
LATE_UNUSED = "late_unused"
"""The part that says how many admitted late rows could not be used."""


def check_shards(parts: Mapping[str, pa.RecordBatch | None], shards: int) -> None:
    """Refuse state that was spread over another number of workers: each would find only some of its groups."""
    said = parts.get(SHARDS)
    count = 1 if said is None else read_text(said)
    if count != shards:
        raise OopError(
            f"the state was saved by {count} threads, and there are {shards} now", hint=f"load it with threads={count}"
        )


def text_part(key: str, value: object) -> Part:
    """A small part of the state, as JSON."""
    return key, pa.record_batch([pa.array([dumps(value)], pa.string())], names=["json"])


def read_text(part: pa.RecordBatch) -> object:
    return loads(part.column(0)[0].as_py())
