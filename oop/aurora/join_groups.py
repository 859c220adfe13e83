"""Orders by group in a Join: finds the groups that the predicate leaves, so that rows of the other side can be freed.

A promise about one group frees rows of the other side only if these rows join with no other group. The predicate P
ensures that if it requires the group's columns to equal keys of the other side, or if it lists their values, as ``Sid
== 'a'`` or ``Sid.isin([...])`` do. In the second case rows of other groups join with nothing, and are filtered out
before the order is assumed. That changes nothing for the groups that stay, because each has an order of its own (Aurora
paper, section 5.2.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import reduce
from itertools import product
from operator import and_

import pyarrow as pa

from oop.aurora.assuming import Assume
from oop.aurora.equalities import Pairs, terms
from oop.errors import SchemaMismatch
from oop.operators.assume.order import TUP, Order
from oop.operators.core.group_values import of_value
from oop.operators.expressions.expr import Call, Expr
from oop.plan.graph import could_promise, frontiers
from oop.punctuation.patterns import Value
from oop.streams.stream import Stream


def narrowed(
    stream: Stream, assume: Assume, predicate: Expr | None, called: dict[str, str], linked: Iterable[str]
) -> tuple[Stream, Assume]:
    """The rows of a side whose groups P lists, and the order of these rows.

    ``called`` has the names of the side's columns in P; P asks ``linked`` columns to equal keys of the other side.
    """
    order, linked = assume.order, set(linked)
    loose = [name for name in order.group_by if name not in linked]
    if assume.tells_rest or not loose:
        return stream, assume
    own = {shown: name for name, shown in called.items() if name in loose}
    values: dict[str, tuple[Value, ...]] = {}
    filters = []
    for term in terms(predicate):
        name = own.get(_column(term), "")
        found = _held(values_listed(term), stream.schema.field(name).type) if name else None
        if found:  # if terms have no value in common, any one of them will do, because no row passes the filter
            values[name] = tuple(value for value in values.get(name, found) if value in found) or found
            filters.append(term.rename(own))
    stay = tuple(name for name in order.group_by if len(values.get(name, ())) != 1)
    known = [name for name in stay if name in values]  # group columns with several values
    if len(values) < len(loose) or (known and (order.on == TUP or len(known) < len(stay))):
        return stream, assume  # if only some of the columns are listed, not all groups are known
    groups = (
        [dict(zip(stay, group, strict=True)) for group in product(*map(values.__getitem__, stay))] if known else None
    )
    return stream.filter(reduce(and_, filters)), Assume(Order(order.on, order.slack, stay), groups)


def of_one_type(pair: tuple[str, str], left: pa.Schema, right: pa.Schema) -> bool:
    """Are the columns of one type, so that a group of the one is a group of the other?"""
    return bool(left.field(pair[0]).type == right.field(pair[1]).type)


def check_freed(side: int, stream: Stream, assume: Assume, linked: Pairs, called: dict[str, str]) -> None:
    """Refuse an order that would never free a row of the other side; ``stream`` is assumed to be in that order."""
    loose = [name for name in assume.order.group_by if not any(pair[side] == name for pair in linked)]
    if assume.tells_rest or not loose or _is_promised(stream, assume.order.on):
        return
    which, name, mine = ("left", "right")[side], loose[0], called[loose[0]]
    raise SchemaMismatch(
        f"the {which} order is by {name!r}, and P does not ask that {mine!r} equals a column of the same type on the "
        "other side: what is known of a group would free no row there",
        hint=f"add an equality with oop.col({mine!r}) to P, or list its values there, leave out group_by, promise "
        f"about {assume.order.on!r} at the source, or say which groups there are, or when one retires: "
        f"{which}=aurora.Assume(order, groups=[…]), or idle=…",
    )


def _is_promised(stream: Stream, on: str) -> bool:
    """May something be promised about all rows before the end, for example by the sources?"""
    node = stream.flow.node
    bound = frontiers(node, could_promise(node))[id(node)].bound(on)
    return bound is not None and bound != math.inf


def values_listed(term: Expr) -> tuple[Value, ...] | None:
    """The values that the one column of a term may have; None if it does not list them.

    >>> from oop.operators.expressions.expr import col
    >>> values_listed(col("Sid").isin(["a", "b"])), values_listed((col("Sid") == "a") | (col("Sid") == "c"))
    (('a', 'b'), ('a', 'c'))
    >>> values_listed(col("Sid") > "a")
    """
    values: list[Value] = []
    waiting = [term]  # a stack instead of recursion, because thousands of terms are nested thousands deep
    while waiting:
        term = waiting.pop()
        if isinstance(term, Call) and term.function == "or":
            waiting += reversed(term.args)
        elif isinstance(term, Call) and term.function == "isin" and isinstance(term.options[0], tuple):
            named = [term.args[0] == value for value in term.options[0] if value is not None]  # None equals nothing
            waiting += reversed(named)
        else:
            fixed = term.fixed()
            if len(fixed) != 1:
                return None
            values += fixed.values()
    return tuple(values)


def _column(term: Expr) -> str:
    """The name of the only column of a term; empty, which no column is called, if there are several."""
    names = term.columns()
    return next(iter(names)) if len(names) == 1 else ""


def _held(values: Iterable[Value] | None, type_: pa.DataType) -> tuple[Value, ...]:
    """The values as a column of that type holds them, each once; empty if it cannot hold one of them."""
    try:
        return tuple(dict.fromkeys(of_value(value, type_) for value in values or ()))
    except SchemaMismatch:
        return ()
