"""Every aggregate function of the package holds the laws of merging, and some hold more."""

from __future__ import annotations

import decimal
import math
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.errors import OopError
from oop.kernels import dispatch
from oop.operators.functions.function import Function
from oop.operators.functions.quantiles import rank_error
from oop.operators.functions.registry import constructor, functions
from oop.operators.functions.summary import Summary
from tests.operators.functions.laws import GROUPS, LAWS, SEEDS, TYPES, Rows, hold, made, merged, put, same, takes
from tests.operators.fuzz import CASES

EXAMPLES = [example for function in functions().values() for example in function.examples()]
OF_NUMBERS = ("sum", "mean", "var", "quantile")


@pytest.mark.parametrize("function", EXAMPLES, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_law_of_merging(law: Callable[[Function, Rows, random.Random], None], function: Function) -> None:
    hold(law, function)


@pytest.mark.parametrize("name", functions())
def test_every_function_can_be_written_and_shows_itself(name: str) -> None:
    made = functions()[name]
    assert getattr(oop, name) is constructor(name)
    assert name in oop.__all__, "editors do not know it, and the test of docstrings does not look at it"
    assert made.examples() and all(type(example) is made for example in made.examples())
    assert all(str(example).startswith(f"{name}(") for example in made.examples())


def test_texts_tell_functions_apart() -> None:
    """A checkpoint knows its plan by these texts, so one that leaves out a parameter would let it go on as another."""
    texts = [str(example) for example in EXAMPLES]
    assert len(set(texts)) == len(set(EXAMPLES)) == len(EXAMPLES)
    assert str(oop.var("x")) != str(oop.var("x", ddof=0))


def test_functions_take_every_type_or_are_of_numbers() -> None:
    for function in EXAMPLES:
        refused = [name for name, (type_, _) in TYPES.items() if not takes(function, type_)]
        assert bool(refused) == (function.name in OF_NUMBERS), f"{function} refuses {refused}"


EXACT: dict[str, tuple[pa.DataType, list[Any]]] = {
    "near 10**18": (pa.int64(), [10**18 + n for n in (0, 1, 2, 7, 100)]),
    "all of int64": (pa.int64(), [-(2**63), 2**63 - 1, 0, -1, 5]),
    "near 2**64": (pa.uint64(), [2**64 - 1, 2**64 - 2, 2**64 - 9]),
    "small": (pa.int8(), [-128, 127, 3]),
    "large floats": (pa.float64(), [1e308, 1.5e308, -1.25e308, 1e300, 5e-324]),
    "floats": (pa.float64(), [1.5, -2.0, 0.125]),
    "decimals": (pa.decimal128(38, 2), [Decimal("1.10"), Decimal("12345678901234567890123456789012345.67")]),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("kernel", ["reference", "jit", "native"])
@pytest.mark.parametrize("function", ["mean", "var", "sum"])
def test_answers_are_those_of_fractions(function: str, kernel: str, name: str) -> None:
    """Of numbers that are large, or close to each other, or both; in any context for decimals."""
    type_, values = EXACT[name]
    aggregate = {"mean": oop.mean("x"), "var": oop.var("x", ddof=0), "sum": oop.sum("x")}[function]
    if function == "var" and name in ("large floats", "decimals"):
        values = [Decimal(n) for n in range(3)] if name == "decimals" else [1e150, 3e150]
    for seed in range(max(4, CASES // 25)):
        rng = random.Random(f"{name} {seed}")
        rows = Rows(rng, type_, values)
        with decimal.localcontext() as context:
            context.prec = 3
            parts = [made(aggregate, rows, part, kernels=dispatch.kernels(kernel)) for part in rows.parts(3)]
            try:
                found = merged(*parts).result().to_pylist()
            except OopError:
                assert function == "sum"
                continue
        for group, answer in enumerate(found):
            column = rows.batch.column("x").to_pylist()
            mine = [Fraction(v) for v, g in zip(column, rows.ids, strict=True) if g == group and v is not None]
            assert (answer is None) == (not mine)
            if mine:
                mean = sum(mine) / len(mine)
                wanted = {"mean": mean, "sum": sum(mine), "var": sum((v - mean) ** 2 for v in mine) / len(mine)}
                # relative to the greatest value: floats that cancel leave their rounding
                most = max(map(abs, mine)) * (10 if type_ == pa.float64() and function != "var" else 0)
                exact = wanted[function]
                if answer in (math.inf, -math.inf):
                    assert function == "sum" and abs(exact) > Fraction(sys.float_info.max) * (1 - Fraction(1, 10**12))
                else:
                    assert abs(Fraction(answer) - exact) <= max(abs(exact), most) / 10**12, (mine, answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_summary_is_what_its_functions_are(seed):
    rng = random.Random(seed)
    rows = Rows(rng, *TYPES["int64"])
    functions = [oop.sum("x"), oop.min("x"), oop.max("x"), oop.mean("x")]
    parts = []
    for part in rows.parts(3):
        summary = Summary()
        summary.grow(GROUPS)
        put(summary, functions[0], rows, part)
        parts.append(summary)
    for order in ([0, 1, 2], [2, 0, 1]):
        whole = merged(*(parts[i] for i in order))
        for function in functions:
            same(function.start(rows.schema).over(whole), made(function, rows))


def test_large_groups_have_quantiles_within_the_stated_error():
    """Merged in any way: by batches, by panes, from saved state. What is stated holds for 99 of 100; twice as much
    practically always."""
    rng = np.random.default_rng(7)
    values, ids = rng.normal(size=60_000), np.sort(rng.integers(0, 3, 60_000)) * 2
    asked = (0.0, 0.01, 0.5, 0.9, 1.0)
    aggregate = oop.quantile("x", asked)
    schema = pa.schema([("x", pa.float64())])

    def put_in(out: Any, chosen: np.ndarray) -> Any:
        out.update(ids[chosen], out.prepare(pa.array(values[chosen])))
        return out

    def check(found: Any) -> None:
        answers = found.result().to_pylist()
        assert answers[1] is None
        for group in (0, 2, 4):
            ranked = np.sort(values[ids == group])
            for q, answer in zip(asked, answers[group], strict=True):
                rank = np.searchsorted(ranked, answer, "right") / len(ranked)
                assert abs(rank - q) <= 2 * rank_error(200) + 1 / len(ranked), (group, q)

    def fresh() -> Any:
        out = aggregate.start(schema)
        out.grow(5)
        return out

    parts = np.array_split(rng.permutation(60_000), 20)
    by_batches = fresh()
    for part in parts:
        put_in(by_batches, part)
    check(by_batches)
    pieces = [put_in(fresh(), part) for part in parts]
    by_panes = fresh()
    by_panes.merge(np.tile(np.arange(5), 20), type(by_panes).concat(pieces))
    check(by_panes)
    few, many = put_in(fresh(), np.argsort(values[ids == 0])[:9]), put_in(fresh(), np.argsort(values[ids == 0])[9:])
    few.result()  # settled, before a sketch of the same group comes
    few.merge(np.arange(5), many)
    assert few.result()[0][0].as_py() == values[ids == 0].min()  # a sketch keeps the least and the greatest
    few.merge(np.arange(5), put_in(fresh(), np.flatnonzero(ids > 0)))
    check(few)
    loaded = fresh()
    loaded.load_arrow(few.to_arrow())
    check(loaded)
    copy = by_batches.copy()
    before = copy.result()
    put_in(by_batches, parts[0])
    assert copy.result().equals(before)
    by_batches.result()
    assert 3_000 < by_batches.nbytes < 40_000
