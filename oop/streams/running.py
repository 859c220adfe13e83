"""Hands a stream's plan to an engine. Streams cannot import engines, which come after them in the order of imports, so
`oop/__init__.py` sets the default engine and the one that makes DataFrames of Spark (`set_engines`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from oop.plan.final import lower
from oop.plan.flow import Flow
from oop.plan.graph import Node, explain
from oop.punctuation import Punctuation

ResultT_co = TypeVar("ResultT_co", covariant=True)


class Engine(Protocol[ResultT_co]):
    """What runs a plan: `oop.Embedded`, `oop.Spark`. An engine that also runs in-order plans sets ``runs_in_order``."""

    def run(self, root: Node, *, to: Any = None) -> ResultT_co:
        """Run a plan that `lower` has made for it, or begin to; ``to`` names a sink."""
        ...

    def plan(self, root: Node) -> Node:
        """The engine's own steps of `lower`: the plan as it runs there."""
        ...

    def notes(self, root: Node) -> dict[int, str]:
        """What `explain` adds to the lines of nodes, by the id of the node."""
        ...


class Running(Protocol):
    """What the default engine gives back: `oop.Run`."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def elements(self) -> Iterator[pa.RecordBatch | Punctuation]: ...

    def to_table(self) -> pa.Table: ...

    def stop(self) -> None: ...

    def blame(self) -> Any: ...

    @property
    def late(self) -> Any: ...

    @property
    def health(self) -> Any: ...

    @property
    def metrics(self) -> Any: ...


_default: list[Callable[[], Engine[Running]]] = []
_spark: list[Callable[..., Any]] = []


def set_engines(default: Callable[[], Engine[Running]], spark: Callable[..., Any]) -> None:
    """Set the engine that runs where none is named, and the one that makes DataFrames."""
    _default[:], _spark[:] = [default], [spark]


def run(flow: Flow, engine: Any, order: str, to: Any) -> Any:
    engine = _default[0]() if engine is None else engine
    if not hasattr(engine, "run"):
        raise TypeError(f"an engine is an object such as oop.Embedded(), not {engine!r}")
    if order != "oop" and not getattr(engine, "runs_in_order", False):
        raise ValueError("in-order plans run embedded: engine=oop.Embedded(…)")
    return engine.run(lower(flow, engine, order), to=to)


def to_spark(flow: Flow, session: Any, batch: bool | None, options: dict[str, Any]) -> Any:
    engine = _spark[0](session, **options)
    return engine.frame(lower(flow, engine), batch=batch)


def explained(flow: Flow, order: str, engine: Engine[Any] | None) -> str:
    if engine is None:
        return explain(lower(flow, _default[0](), order, check=False))
    planned = lower(flow, engine, order, check=False)
    return explain(planned, engine.notes(planned))
