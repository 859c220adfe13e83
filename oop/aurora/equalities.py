"""Finds the columns that a Join asks to be equal, which are the keys of its hash join (Aurora paper, section
5.2.2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

import pyarrow as pa

from oop.errors import OopError
from oop.operators.expressions.expr import Call, Col, Expr
from oop.operators.join.fields import called_right
from oop.operators.join.keys import common_type

Pairs = list[tuple[str, str]]
"""Columns of the left and of the right that must be equal."""


def equalities(predicate: Expr | None, left: pa.Schema, right: pa.Schema) -> tuple[Pairs, Expr | None]:
    """The pairs of columns, left and right, that the predicate asks to be equal, and the rest of the predicate.

    >>> from oop.operators.expressions.expr import col
    >>> both = pa.schema({"k": pa.int64(), "x": pa.int64()})
    >>> equalities((col("k_right") == col("k")) & (col("x") > col("x_right")), both, both)
    ([('k', 'k')], x > x_right)
    """
    called = {shown: name for name, shown in called_right(left.names, right.names).items()}
    pairs: Pairs = []
    rest: list[Expr] = []
    for term in terms(predicate):
        pair = _pair(term, left.names, called)
        if pair is None or not _are_keys(pair, pairs, left, right):
            rest.append(term)
            continue
        pairs.append(pair)
        if pa.types.is_floating(left.field(pair[0]).type):
            rest.append(term)  # as a key NaN matches NaN, but in P it equals nothing
    return pairs, reduce(and_, rest) if rest else None


def terms(predicate: Expr | None) -> Iterator[Expr]:
    """The terms of the predicate, which is true iff all of them are."""
    waiting = [] if predicate is None else [predicate]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Call) and term.function == "and":
            waiting += reversed(term.args)
        else:
            yield term


def _pair(term: Expr, left: Sequence[str], called: dict[str, str]) -> tuple[str, str] | None:
    if not isinstance(term, Call) or term.function != "equal":
        return None
    for a, b in (term.args, term.args[::-1]):
        if isinstance(a, Col) and isinstance(b, Col) and a.name in left and b.name in called:
            return a.name, called[b.name]
    return None


def _are_keys(pair: tuple[str, str], known: Pairs, left: pa.Schema, right: pa.Schema) -> bool:
    """Can the columns be a key: is neither used in another pair, and do their types go together?"""
    a, b = pair
    if any(a == c or b == d for c, d in known):
        return False
    try:
        common_type((a, left.field(a).type), (b, right.field(b).type))
    except OopError:
        return False
    return True
