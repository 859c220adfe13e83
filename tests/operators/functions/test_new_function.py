"""A new aggregate function is one class: here `Mode`, which the package does not have. It goes through windows, merges,
is saved and loaded, although nothing outside of this file knows it."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.kernels import views
from oop.operators import functions as package
from oop.operators.core.words import ranks
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.functions.function import ColumnFunction, is_scalar
from oop.operators.functions.registry import functions
from oop.operators.functions.rows_by_group import HoldsRows, RowsByGroup, as_held, held_type
from oop.testing import check_operator
from oop.testing.forced import forced
from tests.operators import fuzz
from tests.operators.functions.laws import LAWS, hold
from tests.operators.test_laws import each, some_threads


class Modes(HoldsRows):
    """It holds every value that is not null."""

    def __init__(self, source: pa.DataType) -> None:
        super().__init__(source, held_type(source), [held_type(source)])

    def prepare(self, values: pa.Array | None) -> Prepared:
        assert values is not None
        return as_held(values)

    def update(self, ids: np.ndarray, values: Any) -> None:
        self.add(RowsByGroup(ids, (values,)).take(np.flatnonzero(views.booleans(values.is_valid()))))

    def settle(self, rows: RowsByGroup) -> RowsByGroup:
        return rows.by_group()

    def result(self) -> pa.Array:
        rows = self.rows()
        words, _ = ranks(rows.columns[0], zeros_equal=True)
        order = np.lexsort((words, rows.ids))
        ids, words = rows.ids[order], words[order]
        begins = np.ones(len(ids), np.bool_)
        begins[1:] = (np.diff(ids) != 0) | (np.diff(words) != 0)
        starts = np.flatnonzero(begins)
        times = np.diff(starts, append=len(ids))
        best = starts[np.lexsort((-times, ids[starts]))]  # of each group first what is there most often
        _, firsts = np.unique(ids[best], return_index=True)
        return rows.take(order[best[firsts]]).one_each(self.size)


@dataclass(frozen=True)
class Mode(ColumnFunction):
    """The value that is there most often; of several that are there equally often the least."""

    name = "mode"

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        return Modes(source) if is_scalar(source) else None

    @property
    def rows_held(self) -> float:
        return math.inf


def mode(of: str) -> Mode:
    return Mode(oop.col(of))


def by_definition(rows: list[dict[str, Any]], column: str) -> Any:
    times = Counter(row[column] for row in rows if row[column] is not None)
    return min((value for value, n in times.items() if n == max(times.values())), default=None)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_it_holds_the_laws_of_merging(law):
    for example in Mode.examples():
        hold(law, example)


def answers(placed, keys, grid, wanted):
    """What the model says of windows, with the modes put in: the model does not know them."""
    counted = fuzz.window_rows(placed, keys, *grid, fuzz.TIMES["int64"], {"n": oop.count()})
    members: dict[tuple, list[dict[str, Any]]] = {}
    for row, w in placed:
        members.setdefault((w, *(row[k] for k in keys)), []).append(row)
    for out, rows in zip(counted, members.values(), strict=True):
        out |= {name: by_definition(rows, column) for name, column in wanted.items()}
    return counted


@pytest.mark.parametrize(
    "flush", [None, oop.lazy_flush(slots=2), oop.slow_flush(slots=7)], ids=["rows", "lazy", "slow"]
)
@pytest.mark.parametrize("grid", [(5, 5, 0), (6, 2, 0), (7, 3, 2)], ids=str)
def test_it_goes_through_windows(grid, flush):
    """In any order and any batches, on several threads, as partials, and from saved state: `check_operator` does it."""
    range_, slide, offset = grid
    wanted = {"link_mode": "link", "v_mode": "v"}
    functions = {"n": oop.count(), **{name: mode(column) for name, column in wanted.items()}}

    def plan(s):
        grouped = s.window(oop.sliding(range_, slide, offset)).group_by("k")
        return (grouped if flush is None else grouped.preaggregate(flush)).agg(**functions)

    def case(rng, seed):
        elements = fuzz.random_stream(rng, fuzz.TIMES["int64"])
        rows = answers(fuzz.placed(fuzz.on_time(elements), *grid), ["k"], grid, wanted)
        check_operator(plan, elements, seed=seed, threads=some_threads(rng), expected=rows)

    each(range(max(3, fuzz.CASES // 20)), case)


ROWS = pa.table({"ts": [1, 2, 3, 4, 20, 21, 22], "v": ["b", "a", "b", None, "c", "d", "d"]})


@pytest.mark.parametrize("how", ["incremental", "buffered", "hybrid"])
def test_windows_that_overlap_have_the_same_answer_either_way(how):
    stream = oop.source(ROWS, time="ts", punctuate=oop.ordered()).window(oop.sliding(10, 5)).agg(m=mode("v"))
    found = forced(stream, how).run().to_table().to_pylist()
    assert [(row["window_start"], row["m"]) for row in found] == [(-5, "b"), (0, "b"), (15, "d"), (20, "d")]


def test_it_is_known_to_sessions_groups_and_plans():
    stream = oop.source(ROWS, time="ts", punctuate=oop.ordered())
    sessions = stream.window(oop.session(5)).agg(m=mode("v"))
    assert sessions.run().to_table()["m"].to_pylist() == ["b", "d"]
    whole = oop.source(ROWS, time="ts", punctuate=oop.at_end())
    assert whole.agg(m=mode("v")).run().to_table()["m"].to_pylist() == ["b"]
    assert "m=mode(v)" in sessions.explain()
    with pytest.raises(oop.SchemaMismatch, match=r"mode\(v\) has no meaning for a column of type list"):
        oop.source(pa.table({"ts": [1], "v": [[1]]}), time="ts", punctuate=oop.ordered()).agg(m=mode("v"))
    with pytest.raises(oop.OopError, match="has no combination function"):
        mode("v").combine("m")


def test_the_fuzzer_can_tell_its_answer():
    rows = [{"x": x} for x in (1.5, None, -2.0, 1.5, -2.0)]
    assert fuzz.at_once(mode("x"), rows) == by_definition(rows, "x") == -2.0
    assert fuzz.at_once(mode("x"), rows[1:2]) is None


@pytest.fixture
def one_file_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package with a file more, as if it had been put there."""
    (tmp_path / "greatest_of.py").write_text(
        "from oop.operators.functions.extremes import Max\n"
        "from oop.operators.functions.function import as_column\n"
        "class GreatestOf(Max):\n"
        "    name = 'greatest_of'\n"
        "def greatest_of(of):\n"
        "    return GreatestOf(as_column(of))\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    functions.cache_clear()
    yield
    sys.modules.pop(f"{package.__name__}.greatest_of", None)
    vars(package).pop("greatest_of", None)
    functions.cache_clear()


def test_a_file_in_the_package_is_all_that_a_function_needs(one_file_more):
    assert "greatest_of" in functions()
    stream = oop.source(ROWS, time="ts", punctuate=oop.at_end())
    assert stream.agg(m=oop.greatest_of("v")).run().to_table()["m"].to_pylist() == ["d"]


def test_without_the_file_there_is_no_such_function():
    assert "greatest_of" not in functions()
    with pytest.raises(AttributeError, match="greatest_of"):
        oop.greatest_of("v")
