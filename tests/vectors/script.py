"""The steps of a case as what each stream gets, in order; and the name under which a case is skipped."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import oop

Case = dict[str, Any]
Row = dict[str, Any]


class Skip(Exception):
    """The case needs what is not there, or assumes what we do not share; its text is the name to count by."""


@dataclass
class Script:
    """A case's steps as what each stream gets, in order, with the checks in between.

    ``events`` are (stream, element) or (None, a step that expects something or moves the clock). An idle stream is one
    that the others need not wait for: with every promise of theirs it promises as much.
    """

    case: Case
    batched: bool = False
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    events: list[tuple[str | None, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        steps = self.case["steps"]
        rows: dict[str, list[Row]] = defaultdict(list)
        named = [s for step in steps for s in _stream_of(step)]
        for stream in dict.fromkeys([*self.case["params"].get("inputs", ()), *named]):
            rows[stream] = []
        for step in steps:
            if "in" in step:
                rows[step["in"]].append(row_of(step))
        time = self.time_type()
        self.schemas = {s: schema_of(given, time) for s, given in rows.items()}
        if len(self.schemas) > 1:  # a union wants the same columns on each side
            same = schema_of([r for given in rows.values() for r in given], time)
            self.schemas = dict.fromkeys(self.schemas, same)
        self._fill(steps)

    def time_type(self) -> pa.DataType:
        window = self.case["params"].get("window", self.case["params"])
        numbers = [step.get("ts", 0) for step in self.case["steps"]]
        numbers += [v for v in window.values() if isinstance(v, int | float)]
        return pa.float64() if any(isinstance(n, float) for n in numbers) else pa.int64()

    def _fill(self, steps: list[Row]) -> None:
        idle: set[str] = set()
        bounds: dict[str, float] = {}
        waiting: dict[str, list[Row]] = defaultdict(list)

        def flush() -> None:
            for stream, rows in waiting.items():
                if rows:
                    self.events.append((stream, self.batch(stream, rows)))
            waiting.clear()

        for step in steps:
            if "in" in step:
                idle.discard(step["in"])
                waiting[step["in"]].append(row_of(step))
                if not self.batched:
                    flush()
                continue
            flush()
            if "punct" in step and step["ts"] is not None:
                idle.discard(step["punct"])
                bounds[step["punct"]] = max(bounds.get(step["punct"], -math.inf), step["ts"])
                self.events.append((step["punct"], oop.Punctuation(below={"ts": step["ts"]})))
            elif "punct_group" in step:
                promise = oop.Punctuation(below={"ts": step["ts"]}, where=step["punct_group"])
                for stream in [step["in_stream"]] if "in_stream" in step else self.schemas:
                    self.events.append((stream, promise))
            elif "idle" in step:
                idle.add(step["idle"])
            elif "close" in step:
                self.events.append((step["close"], oop.END))
            elif "clock_advance" in step or any(k.startswith("expect") for k in step):
                self.events.append((None, step))
                continue
            active = [bounds.get(s) for s in self.schemas if s not in idle]
            if active and None not in active:
                for stream in sorted(idle):
                    self.events.append((stream, oop.Punctuation(below={"ts": min(active)})))
        flush()
        if self.case.get("close"):
            self.events += [(s, oop.END) for s in self.schemas]

    def batch(self, stream: str, rows: list[Row]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(rows, schema=self.schemas[stream])


def _stream_of(step: Row) -> list[str]:
    return [step[k] for k in ("in", "punct", "idle", "close") if isinstance(step.get(k), str)]


def row_of(step: Row) -> Row:
    return {"ts": step["ts"], **step["row"]}


def schema_of(rows: list[Row], time: pa.DataType) -> pa.Schema:
    names = list(dict.fromkeys(["ts", *(n for row in rows for n in row)]))
    values = {n: pa.array([row.get(n) for row in rows]) for n in names}
    return pa.schema([(n, time if n == "ts" else values[n].type) for n in names])
