"""oop: out-of-order, punctuation-driven dataflow. Sources promise what will no longer come; nothing needs sorting.

>>> import pyarrow as pa, oop
>>> packets = pa.table({"ts": [3, 1, 2, 14, 11], "len": [40, 60, 50, 70, 80]})
>>> stream = oop.source(packets, time="ts", punctuate=oop.slack(5))
>>> counts = stream.window(oop.tumbling(10)).agg(n=oop.count(), bytes=oop.sum("len"))
>>> for row in counts.run().to_table().to_pylist():
...     print(row)
{'window_start': 0, 'window_end': 10, 'n': 3, 'bytes': 150}
{'window_start': 10, 'window_end': 20, 'n': 2, 'bytes': 150}
"""

from typing import TYPE_CHECKING, Any

# Imported here, not first by a module of ours. CPython's stack grows by chunks, and where the frames of NumPy's import
# came to lie at the edge of one, 1,700 calls each asked the system for a chunk and gave it back: a sixth of the time.
import numpy as _numpy  # noqa: F401

from oop.engines.blame import Blame
from oop.engines.embedded.engine import Embedded, Run
from oop.engines.embedded.health import BoxHealth, Health, Pace, Silence
from oop.engines.embedded.schedulers import MinCost, RoundRobin
from oop.engines.late import Late
from oop.errors import (
    LateRow,
    NeverEmits,
    OopError,
    PunctuationViolated,
    RunInterrupted,
    SchemaMismatch,
    SinkError,
    SourceError,
    TimeError,
    UnknownColumn,
    UnknownSource,
    WrongArgument,
)
from oop.io.ring import Ring, RingCounts
from oop.operators.aggregate.flush import Flush, lazy_flush, slow_flush
from oop.operators.assume.order import Order
from oop.operators.expressions.expr import Expr, col, greatest, if_else, least, lit
from oop.operators.functions.accounts import aside, late, seen
from oop.operators.functions.by_time import first, last
from oop.operators.functions.counts import count
from oop.operators.functions.distinct import count_distinct
from oop.operators.functions.extremes import max, min
from oop.operators.functions.moments import var
from oop.operators.functions.quantiles import median, quantile
from oop.operators.functions.ranked import collect, top
from oop.operators.functions.sums import mean, sum
from oop.operators.functions.user_defined import aggregate
from oop.punctuation import (
    END,
    Frontier,
    Punctuation,
    arrival,
    at_end,
    exact,
    not_in,
    ordered,
    punctuated,
    slack,
    timer,
)
from oop.streams.running import set_engines
from oop.streams.sources import source, union
from oop.streams.stream import Stream
from oop.windows import calendar, landmark, rows, session, sliding, tumbling

if TYPE_CHECKING:
    from oop import aurora
    from oop.engines.spark.engine import Spark

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Loads Aurora's algebra and the engine for Spark when they are first used, and finds every aggregate function in
    the registry. The imports of functions above are for editors and type checkers, which do not look into the
    registry."""
    if name == "aurora":
        from importlib import import_module

        return import_module("oop.aurora")
    if name == "Spark":
        from oop.engines.spark.engine import Spark

        return Spark
    from oop.operators.functions.registry import constructor

    found = constructor(name)
    if found is not None:
        return found
    raise AttributeError(f"module 'oop' has no attribute {name!r}")


set_engines(Embedded, lambda session, **options: __getattr__("Spark")(session, **options))


__all__ = [
    "END",
    "Blame",
    "BoxHealth",
    "Embedded",
    "Expr",
    "Flush",
    "Frontier",
    "Health",
    "Late",
    "LateRow",
    "MinCost",
    "NeverEmits",
    "OopError",
    "Order",
    "Pace",
    "Punctuation",
    "PunctuationViolated",
    "Ring",
    "RingCounts",
    "RoundRobin",
    "Run",
    "RunInterrupted",
    "SchemaMismatch",
    "Silence",
    "SinkError",
    "SourceError",
    "Spark",
    "Stream",
    "TimeError",
    "UnknownColumn",
    "UnknownSource",
    "WrongArgument",
    "aggregate",
    "arrival",
    "aside",
    "at_end",
    "aurora",
    "calendar",
    "col",
    "collect",
    "count",
    "count_distinct",
    "exact",
    "first",
    "greatest",
    "if_else",
    "landmark",
    "last",
    "late",
    "lazy_flush",
    "least",
    "lit",
    "max",
    "mean",
    "median",
    "min",
    "not_in",
    "ordered",
    "punctuated",
    "quantile",
    "rows",
    "seen",
    "session",
    "slack",
    "sliding",
    "slow_flush",
    "source",
    "sum",
    "timer",
    "top",
    "tumbling",
    "union",
    "var",
]
