"""Late rows of a query on Spark are written to files: `oop.Spark(late_to=path)`.

A file is named after the piece of input that its rows come from. A retried attempt writes the same file again, so each
late row is there once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa


def write_late(folder: str, source: str, piece: str, rows: pa.Table) -> None:
    """Write the rows, with the promise that each broke, to ``folder/source/piece.parquet``."""
    import pyarrow.parquet as pq

    target = Path(folder) / re.sub(r"[^\w.-]+", "_", source)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{piece}.parquet"
    temporary = target / f".{piece}.{os.getpid()}.tmp"
    pq.write_table(rows, temporary)
    os.replace(temporary, path)
