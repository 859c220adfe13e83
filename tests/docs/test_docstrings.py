"""Every public thing has an example in its docstring; the doctests run them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import oop
from oop import testing
from oop.engines.lateness import Histogram, Need, NeededSlack
from oop.engines.metrics import Metrics
from oop.operators.expressions.fluent import Fluent
from oop.streams.windowed import Grouped, Windowed

RETURNED = [Windowed, Grouped, NeededSlack, Need, Histogram, Metrics, Fluent]
"""Classes that users do not name, but are given."""
ON_SPARK = {"Spark.run", "Spark.frame", "Stream.to_spark"}
"""A session takes seconds: what runs on Spark is shown, and run, in docs/spark.md."""


def public() -> Iterator[tuple[str, Any]]:
    named = {f"{module.__name__}.{n}": getattr(module, n) for module in (oop, testing) for n in module.__all__}
    for name, thing in [*named.items(), *((c.__name__, c) for c in RETURNED)]:
        if not callable(thing):
            continue  # END is a promise, and its class has the example
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            yield from methods(thing)


def methods(of: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(of).items():
        found = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        # what is made by a function, such as Fluent.lower, is shown by the example of its class
        if not name.startswith("_") and inspect.isfunction(found) and "<lambda>" not in found.__qualname__:
            yield f"{of.__name__}.{name}", found


@pytest.mark.parametrize(("name", "thing"), [pytest.param(n, t, id=n) for n, t in public() if n not in ON_SPARK])
def test_has_an_example(name: str, thing: Any) -> None:
    assert ">>> " in (inspect.getdoc(thing) or ""), f"{name} has no example"


def test_the_list_is_not_empty() -> None:
    found = {name for name, _ in public()}
    assert {"oop.min", "oop.Late", "Late.drain", "Grouped.agg", "Run.metrics", "Frontier.meet", *ON_SPARK} <= found
