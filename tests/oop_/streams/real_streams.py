"""Where real streams are (shared/data), how they are read, and what DuckDB says about the same rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import oop

duckdb = pytest.importorskip("duckdb")

SHARED = Path(os.environ.get("OOP_SHARED", Path(__file__).resolve().parents[4] / "shared"))
DATA = SHARED / "data"
DIGITS = 1e-9


def read(name: str) -> pa.Table:
    """A file as a user reads it: all its rows, in the order of the file."""
    path = DATA / name
    time = "timestamp" if "json" in name else None
    if time is None:
        with duckdb.connect() as con:
            time = next(c for c in con.read_csv(str(path)).columns if c in ("ts_us", "dep_min", "event_ms"))
    return oop.source(path, time=time, punctuate=oop.at_end()).run().to_table()


def aggregates(column: str) -> dict[str, Any]:
    return {
        "n": oop.count(),
        "total": oop.sum(column),
        "least": oop.min(column),
        "most": oop.max(column),
        "mean": oop.mean(column),
        "var": oop.var(column),
    }


def by_duckdb(
    rows: pa.Table, time: str, keys: Sequence[str], column: str, range_: int, slide: int, offset: int = 0
) -> pa.Table:
    """The definition, literally: windows that start at offset + k·slide, joined with the rows that they cover."""
    key_list = "".join(f', "{k}"' for k in keys)
    numbered = rows.append_column("_t", rows.column(time).cast(pa.int64()))
    with duckdb.connect() as con:
        con.register("given", numbered)
        ((low, high),) = con.sql("SELECT min(_t), max(_t) FROM given").fetchall()
        starts = [offset + k * slide for k in range((low - offset - range_) // slide, (high - offset) // slide + 1)]
        con.register("windows", pa.table({"s": starts}))
        return con.sql(
            f"""SELECT s AS window_start, s + {range_} AS window_end{key_list}, count(*) AS n,
                       sum("{column}")::BIGINT AS total, min("{column}") AS least, max("{column}") AS most,
                       avg("{column}") AS mean, var_samp("{column}") AS var
                FROM windows JOIN given ON _t >= s AND _t < s + {range_} GROUP BY ALL"""
        ).to_arrow_table()


def assert_same(found: pa.Table, expected: pa.Table, keys: Sequence[str]) -> None:
    by = [(k, "ascending") for k in ("window_start", *keys)]
    assert found.column_names == expected.column_names
    assert found.num_rows == expected.num_rows
    found, expected = found.sort_by(by), expected.sort_by(by)
    for name in found.column_names:
        ours, theirs = found.column(name), expected.column(name)
        if pa.types.is_timestamp(ours.type):
            ours = ours.cast(pa.int64())
        if pa.types.is_floating(ours.type):
            assert ours.is_null().equals(theirs.is_null())
            a, b = (c.fill_null(0.0).to_numpy() for c in (ours, theirs))
            np.testing.assert_allclose(a, b, rtol=DIGITS, atol=DIGITS, err_msg=name)
        else:
            assert ours.cast(theirs.type).equals(theirs), name


def run_windows(
    stream: oop.Stream, keys: Sequence[str], column: str, range_: int, slide: int, offset: int = 0
) -> tuple[pa.Table, oop.Run]:
    window = oop.tumbling(range_, offset) if slide == range_ else oop.sliding(range_, slide, offset)
    run = stream.window(window).group_by(*keys).agg(**aggregates(column)).run()
    return run.to_table(), run


def lateness(table: pa.Table, time: str, by: str | None = None) -> int:
    """How far a row comes behind the greatest time before it (in its group), at most."""
    with duckdb.connect() as con:
        con.register("given", table.append_column("_row", pa.array(np.arange(table.num_rows))))
        parts = f'PARTITION BY "{by}"' if by else ""
        before = f"max({time}) OVER ({parts} ORDER BY _row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        ((most,),) = con.sql(f"SELECT max(d) FROM (SELECT {before} - {time} AS d FROM given)").fetchall()
    return max(most, 0)


def parted(table: pa.Table, time: str, slack: int, by: str | None = None) -> tuple[pa.Table, pa.Table]:
    """The rows on time, and those below the greatest time before them (of their group) less the slack."""
    with duckdb.connect() as con:
        con.register("given", table)
        parts = f'PARTITION BY "{by}"' if by else ""
        before = f"max({time}) OVER ({parts} ORDER BY _row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        marked = con.sql(f"SELECT *, coalesce({time} < {before} - {slack}, false) AS _late FROM given ORDER BY _row")
        marked = marked.to_arrow_table()
    late = marked.column("_late")
    return marked.filter(pc.invert(late)).drop(["_late"]), marked.filter(late).drop(["_late"])


def check_parted(
    table: pa.Table, time: str, keys: Sequence[str], column: str, range_: int, slack: int, by: str | None = None
) -> oop.Run:
    """The answer is DuckDB's over the rows on time, and `Run.late` holds exactly the others."""
    table = table.append_column("_row", pa.array(np.arange(table.num_rows)))
    kept, late = parted(table, time, slack, by)
    source = oop.source(table, time=time, punctuate=oop.slack(slack, by=by))
    found, run = run_windows(source, keys, column, range_, range_)
    assert_same(found, by_duckdb(kept, time, keys, column, range_, range_), keys)
    aside = run.late.to_table().select(late.column_names)
    assert aside.sort_by("_row").cast(late.schema).equals(late)
    assert len(run.late) == late.num_rows == run.late.needed_slack().late
    return run
