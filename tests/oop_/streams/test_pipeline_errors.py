"""An error in a pipeline says what is wrong, in which line it was written, and what to do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import oop
from tests.oop_.streams.pipelines import SMALL, assert_line, rows_of, source


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda s: s.filter(oop.col("vv") > 1), oop.UnknownColumn, "did you mean 'v'"),
        (lambda s: s.select("tss"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.with_columns(w=oop.col("kk")), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.split(oop.col("kk") == "a"), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.window(oop.tumbling(5)).group_by("kk"), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.window(oop.tumbling(5), on="tss"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.window(oop.tumbling(5)).agg(x=oop.sum("vs")), oop.UnknownColumn, "did you mean 'v'"),
        (lambda s: s.group_by("tsx"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.window(oop.tumbling(5)).agg(x=oop.sum("k")), oop.SchemaMismatch, "sum(k)"),
        (lambda s: s.filter(oop.col("v")), oop.SchemaMismatch, "true or false"),
        (lambda s: s.window(oop.tumbling(5)).group_by("k").agg(k=oop.count()), oop.SchemaMismatch, "'k'"),
        (lambda s: s.window(oop.tumbling(5)).agg(window_end=oop.count()), oop.SchemaMismatch, "'window_end'"),
        (lambda s: s.window(oop.tumbling(5)).group_by("k", "k"), oop.SchemaMismatch, "twice"),
        (lambda s: s.select("v").window(oop.tumbling(5)), oop.SchemaMismatch, "on="),
        (lambda s: s.window(oop.tumbling(5), on="k"), oop.SchemaMismatch, "'k' is string"),
        (lambda s: s.window(oop.tumbling(5), on="v").agg(n=oop.count()).run(), oop.NeverEmits, "'v'"),
        (lambda s: s.group_by("k").agg(n=oop.count()).run(), oop.NeverEmits, "'k'"),
        (lambda s: s.agg(n=oop.count()).run(), oop.NeverEmits, "at_end()"),
        (lambda s: s.with_columns(ts=-oop.col("ts")).group_by("ts").agg(n=oop.count()).run(), oop.NeverEmits, "'ts'"),
        (lambda s: s.with_columns(w=oop.col("k").cast("int64")).run().to_table(), oop.OopError, "cast(k, int64)"),
        (lambda s: s.with_columns(w=oop.col("v") // 0).run().to_table(), oop.OopError, "v // 0"),
        (lambda s: s.with_columns(w=oop.col("v") * 2**62).run().to_table(), oop.OopError, "overflow"),
    ],
)
def test_errors_say_what_where_and_what_to_do(build: Callable[[oop.Stream], Any], error: type, says: str) -> None:
    stream = source(SMALL)
    with pytest.raises(error) as raised:
        build(stream)
    line = build.__code__.co_firstlineno
    assert f"{Path(__file__).name}:{line}" in str(raised.value)
    assert says in str(raised.value)
    assert "__wid" not in str(raised.value), "a name that the user never wrote"


def test_never_emits_as_in_the_style() -> None:
    north = source(SMALL, oop.slack(5), name="north")
    south = oop.source(SMALL, time="ts", punctuate=None, name="south")
    line = inspect.currentframe().f_lineno + 1
    counted = oop.union(north, south).window(oop.tumbling(60)).group_by("k").agg(cars=oop.count())
    with pytest.raises(oop.NeverEmits) as error:
        counted.run()
    first, hint = str(error.value).split("\n")
    assert first.endswith(f"{Path(__file__).name}:{line} can never emit: input 'south' makes no promise about 'ts'.")
    assert first.startswith(".agg(cars=count) at ")
    assert hint.startswith("Hint: ")
    assert "punctuate=" in hint


def test_never_emits_names_the_groups() -> None:
    stream = source(SMALL, oop.ordered(by="k")).window(oop.tumbling(60))
    with pytest.raises(oop.NeverEmits, match=r"groups of 'k'[\s\S]*groups=") as error:
        stream.agg(n=oop.count()).run()
    assert_line(error)
    assert rows_of(stream.group_by("k").agg(n=oop.count()))
    fixed = source(SMALL, oop.ordered(by="k")).filter(oop.col("k") == "a")
    assert rows_of(fixed.window(oop.tumbling(60)).agg(n=oop.count())) == [{"window_start": 0, "window_end": 60, "n": 1}]


def test_the_end_unblocks_only_what_waits_for_it() -> None:
    both = oop.union(source(SMALL), source(SMALL, oop.at_end()))
    assert rows_of(both.window(oop.tumbling(60)).agg(n=oop.count()))[0]["n"] == 4


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: oop.source(SMALL, time="t", punctuate=None), oop.UnknownColumn),
        (lambda: oop.source(SMALL, time="k", punctuate=None), oop.SchemaMismatch),
        (lambda: oop.source(SMALL, time="ts", punctuate={"vv": oop.ordered()}), oop.UnknownColumn),
        (lambda: oop.source(SMALL, time="ts", punctuate=oop.ordered(by="kk")), oop.UnknownColumn),
        (lambda: oop.source(5, time="ts", punctuate=None), oop.SourceError),
        (lambda: oop.source("nowhere.parquet", time="ts", punctuate=None), oop.SourceError),
    ],
)
def test_errors_of_sources_name_the_line(build: Callable[[], Any], error: type) -> None:
    with pytest.raises(error) as raised:
        build()
    assert f"{Path(__file__).name}:{build.__code__.co_firstlineno}" in str(raised.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: source(SMALL, oop.slack("5s")),
        lambda: source(SMALL, oop.timer(1, lull=5)),
        lambda: source(SMALL, late="sometimes"),
        lambda: source(SMALL).window(oop.tumbling("5s")),
        lambda: source(SMALL).window(oop.tumbling(2.5)),
        lambda: source(SMALL).window(oop.tumbling(0)),
        lambda: source(SMALL).window(oop.sliding(5, every=-1)),
        lambda: source(SMALL).run(order="sideways"),
    ],
)
def test_values_that_make_no_sense(build: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        build()
