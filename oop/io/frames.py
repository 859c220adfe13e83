"""Spark DataFrames that a source reads: their columns as Arrow types, without loading Spark.

Only the Spark engine can read a DataFrame. Everything that is asked before a plan runs needs just its schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from oop.errors import SchemaMismatch

_TYPES: dict[str, Callable[[], pa.DataType]] = {
    "boolean": pa.bool_,
    "byte": pa.int8,
    "short": pa.int16,
    "integer": pa.int32,
    "long": pa.int64,
    "float": pa.float32,
    "double": pa.float64,
    "string": pa.string,
    "binary": pa.binary,
    "date": pa.date32,
    "timestamp": lambda: pa.timestamp("us", "UTC"),
    "timestamp_ntz": lambda: pa.timestamp("us"),
    "interval day to second": lambda: pa.duration("us"),
    "void": pa.null,
}


def is_frame(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyspark" and hasattr(data, "mapInArrow")


def frame_schema(frame: Any) -> pa.Schema:
    """The columns of a Spark DataFrame as Arrow has them."""
    return pa.schema(
        [pa.field(f["name"], arrow_type(f["type"], f["name"])) for f in frame.schema.jsonValue()["fields"]]
    )


def arrow_type(said: Any, name: str = "") -> pa.DataType:
    """An Arrow type from the JSON form of Spark's.

    >>> arrow_type({"type": "array", "elementType": "decimal(10,2)", "containsNull": True})
    ListType(list<item: decimal128(10, 2)>)
    """
    if isinstance(said, str):
        if said in _TYPES:
            return _TYPES[said]()
        if said.startswith("decimal("):
            precision, scale = said.removeprefix("decimal(").rstrip(")").split(",")
            return pa.decimal128(int(precision), int(scale))
        if said.startswith(("varchar", "char")):
            return pa.string()
    elif isinstance(said, Mapping):
        if said["type"] == "array":
            return pa.list_(arrow_type(said["elementType"], name))
        if said["type"] == "map":
            return pa.map_(arrow_type(said["keyType"], name), arrow_type(said["valueType"], name))
        if said["type"] == "struct":
            return pa.struct([pa.field(f["name"], arrow_type(f["type"], name)) for f in said["fields"]])
    shown = said if isinstance(said, str) else said["type"]
    raise SchemaMismatch(
        f"column {name!r} has Spark's type {shown}, which has no Arrow type", hint="cast it in Spark first"
    )
