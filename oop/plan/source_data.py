"""What a plan knows of the data that its sources read. `oop.io.data.Data` has all of it; a plan neither opens nor reads
data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import pyarrow as pa

Kind = Literal["file", "memory", "live"]
"""Data that is there as a whole, in files or in memory, or data that comes while it is read."""


class SourceData(Protocol):
    """Data that a source can read; its schema is known before it runs."""

    schema: pa.Schema
    kind: Kind
    label: str
    batch_rows: int
    once: bool
    frame: Any
    channel: str | None
    channels: tuple[str, ...]
    paths: tuple[str, ...]
    ring: Any
    waiting: Callable[[], bool] | None
    progress: Callable[[], Any] | None
    lull: Any

    def count_rows(self) -> int | None:
        """The number of rows, if it can be known without reading."""
        ...

    def elements(self) -> Iterator[Any]:
        """The batches and promises, from the beginning."""
        ...

    def trains(self, rows: int) -> Iterator[list[Any]]:
        """The elements in lists of about this many rows."""
        ...
