"""A seeded stream of packets, the windows over it by their definition, and short ways to write and run a pipeline."""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop

INT_TIME = pa.schema({"ts": pa.int64()})
SMALL = pa.table({"ts": [1, 2], "v": [1, 2], "k": ["a", "b"]})
Row = dict[str, Any]


def source(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    policy = oop.ordered() if policy is None else policy
    return oop.source(data, **{"time": "ts", "punctuate": policy, **options})


def tumbled(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    return source(data, policy, **options).window(oop.tumbling(10)).agg(n=oop.count())


def packets(rows: int = 2_000, seed: int = 1, disorder: int = 40, span: int = 3_000) -> pa.Table:
    """Rows in the order of arrival, each up to ``disorder`` behind, some from before 0."""
    rng = random.Random(seed)
    times = sorted((rng.randrange(-span // 3, span) for _ in range(rows)), key=lambda t: t + rng.randrange(disorder))
    return pa.table(
        {
            "ts": times,
            "src": [rng.choice(["a", "b", "c", None]) for _ in times],
            "port": [rng.randrange(3) for _ in times],
            "len": [rng.choice([None, rng.randrange(40, 1500)]) for _ in times],
        }
    )


PACKETS = packets()


def lit_windows(
    rows: Sequence[Row],
    range_: float,
    slide: float,
    keys: Sequence[str] = (),
    column: str | None = None,
    offset: float = 0,
) -> list[Row]:
    """Count, sum, min and max of each window and group: the definition in plain Python."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        wid = math.floor((row["ts"] - offset) / slide)
        while offset + wid * slide + range_ > row["ts"]:
            if offset + wid * slide <= row["ts"]:
                groups.setdefault((offset + wid * slide, *(row[k] for k in keys)), []).append(row)
            wid -= 1
    out = []
    for (start, *key), members in groups.items():
        values = [m[column] for m in members if m[column] is not None] if column else []
        out.append(
            {
                "window_start": start,
                "window_end": start + range_,
                **dict(zip(keys, key, strict=True)),
                "n": len(members),
                **({"total": sum(values) if values else None} if column else {}),
                **({"least": min(values, default=None), "most": max(values, default=None)} if column else {}),
            }
        )
    return out


def bag(rows: Sequence[Row]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


def bag_of_text(rows: Sequence[Row]) -> Counter[str]:
    """A CSV file need not tell a null from an empty string."""
    return bag([{**row, "src": row["src"] or None} for row in rows])


def per_pair(stream: oop.Stream) -> oop.Stream:
    return stream.window(oop.sliding(100, every=30)).group_by("src", "port").agg(**stats("len"))


def stats(column: str) -> dict[str, Any]:
    return {"n": oop.count(), "total": oop.sum(column), "least": oop.min(column), "most": oop.max(column)}


def rows_of(stream: oop.Stream, **engine: Any) -> list[Row]:
    return stream.run(engine=oop.Embedded(check=True, **engine)).to_table().to_pylist()


def elements_of(stream: oop.Stream) -> list[Any]:
    return [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in stream.run().elements()]


EXPECTED = bag(lit_windows(PACKETS.to_pylist(), 100, 30, ["src", "port"], "len"))


def assert_line(error: pytest.ExceptionInfo[BaseException]) -> None:
    """The error names a line of the file that calls this."""
    file = Path(sys._getframe(1).f_code.co_filename).name
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert re.search(rf"{re.escape(file)}:\d+", text), text
