"""Random streams and pipelines that may become programs."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

import oop

TIMES = {"int64": pa.int64(), "float64": pa.float64(), "timestamp": pa.timestamp("ms"), "date": pa.date32()}
col = oop.col


def drawn_batches(rng: random.Random, time: pa.DataType) -> list[Any]:
    """Batches around a time that moves on, with nulls, NaN and now and then a row without a time; some are slices."""
    made: list[Any] = []
    low = 0
    for _ in range(rng.randint(1, 8)):
        rows = rng.choice([0, 1, 2, 30, 300])
        times = [low + rng.randint(0, 20) - (rng.randint(1, 40) if rng.random() < 0.1 else 0) for _ in range(rows)]
        low += rng.choice([0, 5, 60])
        wild = rng.random() < 0.05
        values: dict[str, list[Any]] = {
            "ts": [float(t) if pa.types.is_floating(time) else t for t in times],
            "k": [rng.choice([1, 2, 3, None]) for _ in range(rows)],
            "v": [rng.choice([None, -3, 0, 5, 2**62 if wild else 7]) for _ in range(rows)],
            "x": [rng.choice([None, 1.5, -2.0, math.nan, 1e300 if wild else 0.5]) for _ in range(rows)],
            "b": [rng.choice([True, False, None]) for _ in range(rows)],
            "t": [rng.choice(["a", "b", "", "a longer text", None]) for _ in range(rows)],
        }
        if wild and rows and rng.random() < 0.3:
            values["ts"][rng.randrange(rows)] = None
        types = {"k": pa.int16(), "v": pa.int64(), "x": pa.float64(), "b": pa.bool_(), "t": pa.string()}
        columns = {n: pa.array(v, types[n]) for n, v in values.items() if n != "ts"}
        number = pa.int32() if time == pa.date32() else pa.float64() if time == pa.float64() else pa.int64()
        batch = pa.record_batch({"ts": pa.array(values["ts"], number).cast(time), **columns})
        made.append(batch.slice(1) if rng.random() < 0.2 else batch)
    return made


def drawn_filter(rng: random.Random) -> oop.Expr:
    return rng.choice(
        [
            col("v") > 0,
            (col("x") < 1.0) | col("b"),
            col("k").is_null() | (col("k") * 2 != 4),
            ~col("b") & (col("v").fill_null(1) >= -3),
            oop.least(col("v"), col("k")) < 3,
            (col("v") // 2 + col("k") % 2) > -9,
            oop.if_else(col("b"), col("v"), 4) > 3,
            col("x").is_nan() | (col("v").abs() <= 5),
            col("v") + 2**61 > 0,
            -col("v") / col("k") < 2,
            (col("t") == "a") | (col("b") & (col("t") != "b")),
            col("t").isin(["a", "", None]) & ~col("v").isin([5, 7]),
            (col("t") == "b") | col("t").is_null(),
        ]
    )


def drawn_pipeline(rng: random.Random, stream: oop.Stream) -> oop.Stream:
    if rng.random() < 0.7:
        stream = stream.filter(drawn_filter(rng))
    if rng.random() < 0.5:
        stream = stream.with_columns(w=col("v") + col("k"), y=col("x") * 2.0, c=col("v") > 3)
        stream = stream.filter(col("w") != 4) if rng.random() < 0.5 else stream
    else:
        stream = stream.with_columns(w=col("k").cast("int64"), y=col("x"), c=col("b"))
    keys = rng.sample(["k", "v", "w", "b", "c", "x", "t"], rng.randint(0, 3))
    functions = {
        "n": oop.count(),
        "nv": oop.count("v"),
        "nc": oop.count("c"),
        "nt": oop.count("t"),
        "sk": oop.sum("k"),
        "sx": oop.sum("y"),
        "sb": oop.sum("b"),
        "low": oop.min("v"),
        "high": oop.max("w"),
        "lowx": oop.min("x"),
        "highb": oop.max("c"),
        "mean": oop.mean("k"),
        "var": oop.var("v"),
        "varx": oop.var("x", ddof=0),
        "first": oop.first("k"),
        "last": oop.last("w"),
    }
    chosen = rng.sample(list(functions), rng.randint(1, 5))
    if rng.random() < 0.2:  # groups that end by promises about one of their keys
        return stream.group_by("ts", *keys).agg(**{name: functions[name] for name in chosen})
    window = drawn_window(rng, stream.schema.field("ts").type)
    return stream.window(window).group_by(*keys).agg(**{name: functions[name] for name in chosen})


def drawn_cut_pipeline(rng: random.Random, stream: oop.Stream) -> oop.Stream:
    """A pipeline of which only parts can be programs, before or behind something that has no steps, or all of it hands
    rows out."""
    time = stream.schema.field("ts").type
    if rng.random() < 0.8:
        stream = stream.filter(drawn_filter(rng))
    if rng.random() < 0.6:
        stream = stream.with_columns(
            w=col("v") + col("k"), h=col("k").cast("int32"), c=col("v") > 3, u=(col("k") % 5).cast("uint8")
        )
        stream = stream.filter(col("w") != 4) if rng.random() < 0.5 else stream
    cut = rng.choice(["text", "sort", "dedup", "join", "window", "nothing"])
    if cut == "text":
        stream = stream.with_columns(t=col("k").cast("string"))
    elif cut == "sort":
        return stream.sort()
    elif cut == "dedup":
        stream = stream.dedup("ts", "k")
    elif cut == "join":
        other = stream.filter(col("v") > 2).select("ts", "k", z=col("v"))
        stream = stream.join(other, on=["k"], within=(units(-1, time), units(3, time)))
    elif cut == "window":
        window = rng.choice([oop.sliding(units(20, time), units(10, time)), oop.session(units(6, time))])
        return stream.window(window).group_by("k").agg(n=oop.count(), s=oop.sum("v"))
    else:
        return stream if rng.random() < 0.5 else stream.select("ts", "t", later=col("v") + 1, b=~col("b"))
    if rng.random() < 0.7:
        stream = stream.filter(drawn_filter(rng)).with_columns(y=col("x") * 0.5)
    else:
        stream = stream.with_columns(y=col("x"))
    grouped = stream.window(oop.tumbling(units(10, time))).group_by(
        *rng.sample(["k", "v", "b", "t"], rng.randint(0, 2))
    )
    return grouped.agg(n=oop.count(), low=oop.min("y"), high=oop.max("k"))


def units(number: int, time: pa.DataType) -> Any:
    """A number of units of a time column, as users write it."""
    return {"timestamp[ms]": f"{number}ms", "date32[day]": f"{number}d"}.get(str(time), number)


def drawn_window(rng: random.Random, time: pa.DataType) -> Any:
    width, offset = rng.choice([10, 25]), rng.choice([0, 3])
    if rng.random() < 0.3:
        return oop.sliding(units(width, time), units(width + 7, time))
    return oop.tumbling(units(width, time), units(offset, time))


def drawn_stream(seed: int, live: bool = True) -> tuple[oop.Stream, random.Random]:
    """A stream, and the random numbers that come next. With ``live`` some inputs are iterators."""
    rng = random.Random(seed)
    time = rng.choice(list(TIMES.values()))
    batches = drawn_batches(rng, time)
    policy = rng.choice([oop.ordered(), oop.slack(units(5, time)), oop.slack(units(9, time), every=units(4, time))])
    if rng.random() < 0.3:
        elements: list[Any] = []
        for i, batch in enumerate(batches):
            elements += [batch, oop.Punctuation({"ts": 10.0 * i if time == pa.float64() else 10 * i})]
        batches, policy = elements, oop.punctuated()
    data: Any = batches if rng.random() < 0.6 or not live else lambda: iter(batches)
    schema = next(b for b in batches if isinstance(b, pa.RecordBatch)).schema
    nulls = rng.choice(["raise", "aside"])
    return oop.source(data, time="ts", punctuate=policy, schema=schema, nulls=nulls, name="drawn"), rng
