"""Reports of positions, their order, and a source of given columns, for the tests of Aurora's boxes."""

from __future__ import annotations

import pyarrow as pa

import oop

REPORTS = {"Sid": "string", "Time": "int64", "Pos": "int64"}
ORDER = oop.Order("Time", group_by="Sid")


def source(**columns: list) -> oop.Stream:
    return oop.source(pa.table(columns), time=next(iter(columns)), punctuate=None)
