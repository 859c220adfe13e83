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
    """What runs a plan: `oop.Embedded`, `oop.Spark`. An engine needs `run` alone.

    It may also have ``plan(root)``, its own steps of `lower`; ``notes(root)``, what `explain` adds to the lines of
    nodes, by the id of the node; and ``runs_in_order = True``, if it takes the plans of ``order="iop"``.
    """

    def run(self, root: Node, *, to: Any = None) -> ResultT_co:
        """Run a plan that `lower` has made for it, or begin to; ``to`` names a sink."""
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


def _chosen(engine: Any) -> Any:
    """The engine that the user named, or the default one."""
    engine = _default[0]() if engine is None else engine
    if not hasattr(engine, "run"):
        raise TypeError(f"an engine is an object such as oop.Embedded(), not {engine!r}")
    return engine


def run(flow: Flow, engine: Any, order: str, to: Any) -> Any:
    engine = _chosen(engine)
    return engine.run(lower(flow, engine, order), to=to)


def to_spark(flow: Flow, session: Any, batch: bool | None, options: dict[str, Any]) -> Any:
    engine = _spark[0](session, **options)
    return engine.frame(lower(flow, engine), batch=batch)


def explained(flow: Flow, order: str, engine: Any) -> str:
    """The text of the plan that this engine would run, with the engine's notes if the user named it."""
    planned = lower(flow, _chosen(engine), order, check=False)
    notes = getattr(engine, "notes", None)
    return explain(planned, None if notes is None else notes(planned))
