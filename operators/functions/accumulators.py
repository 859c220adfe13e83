"""An `Accumulator` is what a function keeps while it runs: plain arrays indexed by dense group ids, which kernels
update and merge.

Every accumulator starts from zeros, which are also its zero for `merge`. It takes rows (`prepare` once for a batch,
then `update`), it takes partial results (`merge`), and it gives the result. `grow` tells it how many groups there are;
its arrays double, so that adding groups costs little. Two functions that keep the same arrays, such as sum and
mean of one column, share one accumulator, and each reads it in its own way (`over`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.scratch import EXPECT_FROM, lasting_array
from oop.kernels.signatures.results import ResultKind
from oop.kernels.steps import Update, UpdateKind
from oop.kernels.views import Column
from oop.operators.core.keys import Coded
from oop.operators.core.writing import Filled, ProgramWriter, Unwritten

Ids = np.ndarray
Prepared: TypeAlias = "Column | Coded | np.ndarray | pa.Array | tuple[Prepared, ...] | None"
"""Values of a batch as kernels take them. These are numbers, Python objects, or for a count whether each value is valid
(None says that all are); coded text and Arrow arrays where values are held as they are; and several of these for a
function of several columns."""
_SMALLEST = 16
_FEW_BYTES = 4_096  # arrays of at most this size take their memory from NumPy


class Accumulator(ABC):
    """The partial results of all groups of a table.

    ``fields`` are the names and types of its arrays, where None stands for the type of the values. ``source`` is the
    type of the values that it takes, ``type`` that of its result, and ``size`` how many groups it has.
    """

    fields: ClassVar[tuple[tuple[str, Any], ...]] = ()
    varies: ClassVar[bool] = False
    """Does its size change while its groups stay the same?"""
    keeps_account: ClassVar[bool] = False
    """Is it also given rows that were late and dropped, to count them?"""

    @property
    def summary_words(self) -> Mapping[str, int] | None:
        """For each of its arrays the word of a `Summary` that holds the same; None if no summary does."""
        return None

    @property
    def result_words(self) -> tuple[ResultKind, tuple[str, ...]] | None:
        """How kernels read its result (`oop.kernels.signatures.results`), and from which arrays; None if only `result`
        can."""
        return None

    @property
    def answers(self) -> np.ndarray | None:
        """Which groups have a row in the results? None if it cannot tell."""
        return None

    @property
    def saved_columns(self) -> int:
        """How many columns `to_arrow` gives."""
        return len(self._arrays)

    def __init__(self, source: pa.DataType, result: pa.DataType) -> None:
        self.source = source
        self.type = result
        self.size = 0
        self.kernels = dispatch.kernels()
        self._arrays: dict[str, np.ndarray] = {n: np.zeros(0, self.dtype(d)) for n, d in self.fields}

    def dtype(self, declared: Any) -> Any:
        """The type of an array that ``fields`` declares like this."""
        if declared is not None:
            return declared
        return object if is_object(self.source) else views.DTYPES[views.kind_of(self.source)]

    def __getattr__(self, name: str) -> np.ndarray:
        """The beginning of an array, which groups have. It stays an attribute until the arrays change, because kernels
        are given it for every batch."""
        arrays = self.__dict__.get("_arrays", {})
        if name in arrays:
            part: np.ndarray = arrays[name][: self.size]
            self.__dict__[name] = part
            return part
        raise AttributeError(name)

    def _forget_parts(self) -> None:
        """Called when the size changes or other arrays are put in place: forget what `__getattr__` has kept."""
        for name in self._arrays:
            self.__dict__.pop(name, None)

    def grow(self, size: int, expected: int = 0) -> None:
        """It has ``size`` groups from now on. An array that is on its way to the expected number gets that room at
        once."""
        if size > self.size:
            self.size = size
            for name, array in self._arrays.items():
                if len(array) < size:
                    room = max(size, 2 * len(array), _SMALLEST, expected if EXPECT_FROM * size > expected else 0)
                    array = self._arrays[name] = _widen(array, room)
                self.__dict__[name] = array[:size]  # as `__getattr__` would

    def make_room(self, room: int) -> None:
        """Let its arrays have room for so many groups, of which it has fewer as yet."""
        for name, array in self._arrays.items():
            if len(array) < room:
                self._arrays[name] = _widen(array, room)
                self.__dict__[name] = self._arrays[name][: self.size]

    def whole_arrays(self) -> list[np.ndarray]:
        """Its arrays with all the room that they have."""
        return list(self._arrays.values())

    def prepare(self, values: pa.Array | None) -> Prepared:
        """What `update` takes of a batch, made of what the function's evaluator gives."""
        return views.column(values)

    @abstractmethod
    def update(self, ids: Ids, values: Any) -> None:
        """It takes rows in: row i goes into group ids[i]."""

    def write_checks(self, writer: ProgramWriter, values: Sequence[Filled]) -> None:  # noqa: B027 - most take any
        """Write what makes a chunk odd because of these values, which only `update` can take."""

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        """What a program does instead of `update`, with these values. Its arrays begin at ``array``."""
        raise Unwritten("it has no steps")

    @abstractmethod
    def merge(self, ids: Ids, other: Accumulator) -> None:
        """It takes partial results in: group i of the other goes into group ids[i] of this one, and ids may repeat."""

    @abstractmethod
    def result(self) -> pa.Array:
        """The aggregate of each group; it may share memory with the accumulator."""

    def result_in(self, start: np.ndarray, end: np.ndarray) -> pa.Array:
        """The result of groups in windows with these edges, one of each for a group. Functions that look at the window
        override it."""
        return self.result()

    @property
    def kept(self) -> tuple[object, ...]:
        """What decides which arrays it keeps, and how. Functions of one column for which it is equal share one
        accumulator."""
        return type(self).update, self.fields

    def over(self, other: Accumulator) -> Accumulator:
        """An accumulator for this function's result, which reads the arrays that another one keeps."""
        out = self.empty()
        out.size, out._arrays = other.size, other.read_as(self)
        return out

    def read_as(self, prototype: Accumulator) -> dict[str, np.ndarray]:
        """The arrays as another function of the same column knows them."""
        return self._arrays

    def empty(self) -> Accumulator:
        """A new accumulator like this one, without groups. It is quicker than finding out the arrays' types again."""
        out = object.__new__(type(self))
        out.source, out.type, out.size, out.kernels = self.source, self.type, 0, self.kernels
        # arrays without groups hold nothing, and can be shared
        out._arrays = {n: a[:0] for n, a in self._arrays.items()} if self.size else self._arrays.copy()
        return out

    def copy(self) -> Accumulator:
        """The same groups in arrays of their own, which later updates of this one do not change."""
        out = self.empty()
        out.size = self.size
        out._arrays = {n: a[: self.size].copy() for n, a in self._arrays.items()}
        return out

    def take(self, indices: np.ndarray) -> Accumulator:
        """An accumulator of some of the groups, in this order; a group may be taken several times."""
        out = self.empty()
        out.size = len(indices)
        out._arrays = {n: a[: self.size].take(indices, axis=0) for n, a in self._arrays.items()}
        return out

    def take_results(self, indices: np.ndarray) -> Accumulator:
        """Like `take`, but the copy only has to serve `result`. Its cost should follow what these groups have, not all
        that is held: sessions that go out are taken by it."""
        return self.take(indices)

    def take_out(self, indices: np.ndarray) -> Accumulator:
        """Like `take_results` followed by `clear`. No group may be named twice."""
        cls = type(self)
        if any(getattr(cls, name) is not getattr(Accumulator, name) for name in ("take", "take_results", "clear")):
            out = self.take_results(indices)
            self.clear(indices)
            return out
        out = self.empty()
        out.size = len(indices)
        out._arrays = {n: self._taken_out(a, indices) for n, a in self._arrays.items()}
        return out

    def _taken_out(self, array: np.ndarray, indices: np.ndarray) -> np.ndarray:
        if array.ndim == 1 and array.dtype != object:
            return self.kernels.take_out(array, indices)
        taken = array.take(indices, axis=0)
        array[indices] = 0
        return taken

    def piece(self, start: int, stop: int) -> Accumulator:
        """The groups from ``start`` up to ``stop``. The result only has to serve `result`, and shares memory with this
        accumulator."""
        out = self.empty()
        out.size = stop - start
        out._arrays = {n: a[start:stop] for n, a in self._arrays.items()}
        return out

    def reset(self) -> None:
        """Forget all groups, and keep the arrays' room. Only accumulators with `result_words` are asked to."""
        own = self.__dict__
        for name in self._arrays:
            getattr(self, name).fill(0)  # the groups' part
            del own[name]
        self.size = 0

    def clear(self, ids: Ids) -> None:
        """These groups begin anew, as if they had taken nothing. The cost should follow what they have, not what is
        held."""
        for array in self._arrays.values():
            array[ids] = 0

    @classmethod
    def concat(cls, pieces: Sequence[Accumulator]) -> Accumulator:
        """An accumulator of the groups of several, one after the other."""
        out = pieces[0].empty()
        out.size = sum(p.size for p in pieces)
        out._arrays = {n: np.concatenate([getattr(p, n) for p in pieces]) for n in out._arrays}
        return out

    @property
    def nbytes(self) -> int:
        found = 0
        for array in self._arrays.values():
            found += array.nbytes
        return found

    def to_arrow(self) -> list[pa.Array]:
        """The partial results as Arrow columns, for saving and for shipping."""
        return [self._to_arrow(name) for name in self._arrays]

    def _to_arrow(self, name: str) -> pa.Array:
        values = getattr(self, name)
        if values.dtype != object:
            return pa.array(values.copy())  # what is saved must not change when the run goes on
        # a group without a value holds a zero of no type
        return pa.array([v if n else None for v, n in zip(values, self.counts, strict=True)], self._object_type)

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        """It takes over what `to_arrow` gave, in place of what it had."""
        self._forget_parts()
        self.size = len(columns[0])
        for (name, array), column in zip(list(self._arrays.items()), columns, strict=True):
            is_object = array.dtype == object
            self._arrays[name] = objects(column) if is_object else views.column(column).data.astype(array.dtype)

    @property
    def _object_type(self) -> pa.DataType:
        return self.type


def _widen(array: np.ndarray, room: int) -> np.ndarray:
    shape = (room, *array.shape[1:])
    if array.dtype == object or math.prod(shape) * array.itemsize <= _FEW_BYTES:
        wider = np.zeros(shape, array.dtype)
    else:
        wider = lasting_array(math.prod(shape), array.dtype).reshape(shape)
        wider[len(array) :] = 0
    wider[: len(array)] = array
    return wider


def is_object(source: pa.DataType) -> bool:
    """Are these values that no array of numbers holds, decimals or bytes?"""
    return pa.types.is_decimal(source) or views.kind_of(source) == "bytes"


def write_by_kind(kinds: Mapping[str, UpdateKind], writer: ProgramWriter, value: Filled, array: int) -> Update:
    """An update by the kind of the values; truth values are taken as numbers."""
    value = writer.as_number(value)
    if value.kind not in kinds:
        raise Unwritten(f"it has no steps for {value.type}")
    return Update(kinds[value.kind], value.register, -1, array)


def take(kernels: dispatch.Kernels, values: Prepared, rows: np.ndarray) -> Prepared:
    """The prepared values of some of the rows."""
    if isinstance(values, tuple):
        return tuple(take(kernels, part, rows) for part in values)
    if isinstance(values, Coded):
        return Coded(kernels.take_fixed(values.codes, rows), values.values)
    if isinstance(values, pa.Array):
        return values.take(pa.array(rows))
    if isinstance(values, Column):
        if values.offsets is not None:
            return views.take_rows(values, rows)
        valid = None if values.valid is None else kernels.take_fixed(values.valid, rows)
        return Column(values.kind, kernels.take_fixed(values.data, rows), None, valid)
    return None if values is None else values[rows]


def objects(values: pa.Array | None) -> np.ndarray:
    """Values as Python objects."""
    assert values is not None
    out = np.empty(len(values), object)
    out[:] = values.to_pylist()
    return out


def floats(values: pa.Array | None) -> Column:
    """Numbers of any type as float64, rounded where they have more digits."""
    assert values is not None
    return views.column(values if pa.types.is_float64(values.type) else values.cast(pa.float64(), safe=False))


def nullable(values: np.ndarray, counts: np.ndarray) -> pa.Array:
    """The groups' values as a column, with a null where no value was counted."""
    return pa.array(values, mask=counts == 0)
