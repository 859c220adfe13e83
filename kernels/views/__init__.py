"""Arrow columns as the plain arrays that kernels work on, and back.

Idea. To a kernel a column is a few NumPy arrays: its values, where each text begins, and which values there are.

Way in. `columns` has the arrays as kernels see them; `arrow` makes them of Arrow columns, and Arrow columns of them.
Callers use this package: `views.column(array)`.

>>> import pyarrow as pa
>>> view = column(pa.array(["a", None, "bc"]))
>>> view.kind, view.data.tobytes(), view.offsets.tolist(), view.valid.tolist()
('bytes', b'abc', [0, 1, 1, 3], [True, False, True])
>>> to_arrow(view, pa.string()).to_pylist()
['a', None, 'bc']
"""

from oop.kernels.views.arrow import (
    booleans,
    column,
    fixed_column,
    fixed_dtype,
    fixed_values,
    key_column,
    key_kind,
    kind_of,
    times,
    to_arrow,
    value_type,
)
from oop.kernels.views.columns import DTYPES, Column, change_width, concat_columns, slice_rows, take_rows, wide_kind

__all__ = [
    "DTYPES",
    "Column",
    "booleans",
    "change_width",
    "column",
    "concat_columns",
    "fixed_column",
    "fixed_dtype",
    "fixed_values",
    "key_column",
    "key_kind",
    "kind_of",
    "slice_rows",
    "take_rows",
    "times",
    "to_arrow",
    "value_type",
    "wide_kind",
]
