"""Programs as data: what passes rows, up to and including what an aggregate does with a row. A program that ends before
any state hands its rows out, and so does one that ends at a dedup, whose keys stay behind.

A `ProgramCode` is a list of steps over registers. A register is a column of the rows that are left at that point: whole
numbers (also times) and floats have 64 bits, truth values a byte, and keys have their own width. Operators write codes
with `oop.operators.core.writing`; `oop.kernels.signatures.programs` says how they are run.

>>> Step(Op.ADD, out=2, a=0, b=1, numbers=(-(2**63), 2**63 - 1)).op.name
'ADD'
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, auto
from typing import Any, NamedTuple, Protocol

from oop.frozen import frozen
from oop.kernels.checks import Array, Bools, Ints

CHUNK_ROWS = 2_048
"""Rows of a chunk, at most."""
MOST_PARTS = 64
"""Slices that the rows of a chunk go to, at most; if there are more, slices must become wider."""
MOST_ARRAYS = 24
"""Arrays of aggregates that one program fills, at most."""
MOST_KEYS = 16
"""Key columns, at most, with the slot."""

MOST_RANK = 4_096
"""Slack by rows, at most: the greatest times are copied for each chunk."""


UNSIGNED, SIGNED, REAL, STRING, BYTES = range(5)
"""What a key of a `SHARD` is."""
HASHES = 2**31 - 1
"""A string is first hashed to one of so many values, once for each distinct text, and rows are sharded by that value.
Bytes are hashed as they are, row by row."""


class _FromZero(IntEnum):
    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count


class Op(_FromZero):
    """What a step does: `out` is computed of `a`, `b` and `c`. The numbers are those of `csrc/programs.h`."""

    LOAD = auto()
    """Column ``a`` of the batch, read in this `ColumnForm`."""
    GUARD = auto()
    """Of the times ``a``, rows that are late are set aside."""
    FILTER = auto()
    """Only rows for which ``a`` is true go on. Registers that were filled before have other rows from here on; `LOAD`
    and `COMPACT` give those that are left."""
    COMPACT = auto()
    """The rows of ``a``, which was filled before the last filter, that it let pass."""
    MARK = auto()
    """Counts the rows that came here, under the number ``out``."""
    WINDOW = auto()
    """``out`` and ``b`` become the last and the first window of the times ``a``. ``numbers`` are range, slide and
    offset. For tumbling windows the two are one register."""
    LIMIT = auto()
    """The chunk is odd if the magnitude of a float of ``a`` is greater than the one of ``numbers``."""
    ASCEND = auto()
    """The chunk is odd unless ``a`` ascends and none is below what was reached before (`GuardState`). Null and NaN are
    odd too. ``form`` is 1 if ``a`` are floats."""
    SHARD = auto()
    """The shard of each row, by its keys: ``c`` registers from ``a`` on. ``numbers`` say what each is: `UNSIGNED`,
    `SIGNED`, `REAL`, `STRING` or `BYTES`."""
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    FLOOR_DIVIDE = auto()
    MOD = auto()
    NEGATE = auto()
    ABS = auto()
    CHECK = auto()
    """Of whole numbers, from `ADD` on: the result must be within ``numbers``, the range of its type. `CHECK` is a cast
    to fewer bits."""
    ADD_FLOAT = auto()
    SUBTRACT_FLOAT = auto()
    MULTIPLY_FLOAT = auto()
    DIVIDE_FLOAT = auto()
    NEGATE_FLOAT = auto()
    ABS_FLOAT = auto()
    DIVIDE = auto()
    """Whole numbers, given as floats: a division by zero is an error."""
    TO_FLOAT = auto()
    TO_FLOAT32 = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    EQUAL = auto()
    NOT_EQUAL = auto()
    LESS_FLOAT = auto()
    LESS_EQUAL_FLOAT = auto()
    EQUAL_FLOAT = auto()
    NOT_EQUAL_FLOAT = auto()
    AND = auto()
    OR = auto()
    NOT = auto()
    IS_NULL = auto()
    IS_VALID = auto()
    IS_NAN = auto()
    LEAST = auto()
    GREATEST = auto()
    LEAST_FLOAT = auto()
    GREATEST_FLOAT = auto()
    IF_ELSE = auto()
    """``b`` where ``a`` is true, else ``c``; null where ``a`` is."""
    FILL_NULL = auto()
    TEXT_EQUAL = auto()
    """Is the text ``a`` the one of the step?"""
    TEXT_THERE = auto()
    """True, and null where the text ``a`` is."""


class ColumnForm(_FromZero):
    """How a column lies in memory, and how a register has it: as it is (`RAW…`, for keys, by width, and what has 64
    bits anyway), or in 64 bits; truth values as bytes; text, which is a key only."""

    RAW1 = auto()
    RAW2 = auto()
    RAW4 = auto()
    RAW8 = auto()
    INT8 = auto()
    INT16 = auto()
    INT32 = auto()
    UINT8 = auto()
    UINT16 = auto()
    UINT32 = auto()
    FLOAT32 = auto()
    BITS = auto()
    TEXT = auto()
    LARGE_TEXT = auto()


class UpdateKind(_FromZero):
    """How rows change the aggregates of their group: by the kernels with these names."""

    COUNT = auto()
    SUM_INT = auto()
    SUM_UINT = auto()
    SUM_FLOAT = auto()
    MIN_INT = auto()
    MAX_INT = auto()
    MIN_UINT = auto()
    MAX_UINT = auto()
    MIN_FLOAT = auto()
    MAX_FLOAT = auto()
    SUMMARY = auto()
    FIRST = auto()
    LAST = auto()
    MOMENTS = auto()
    WHOLE_MOMENTS = auto()
    USER = auto()
    """By a user's function: by the loops of the update."""


class Step(NamedTuple):
    op: Op
    out: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    form: ColumnForm = ColumnForm.RAW1
    numbers: tuple[int | float, ...] = ()
    text: bytes = b""


class Constant(NamedTuple):
    """A register that has one value in every row: an int, a float, a truth value or None, of the kind ``int``,
    ``float`` or ``bool``."""

    register: int
    value: Any
    kind: str


class OwnUpdate(Protocol):
    """How rows change an aggregate that no kernel knows: a user's function (`oop.kernels.user`)."""

    @property
    def address(self) -> int:
        """Where it is as a function of C: an `oop_user_loop` of `csrc/programs.h`."""
        ...

    def take(self, ids: Ints, values: Sequence[Array], valid: Bools | None, arrays: Sequence[Array]) -> None:
        """Take rows into the groups with these ids. Its arrays are the first of ``arrays``."""
        ...

    def fail_again(self, bits: Ints, arrays: Sequence[Array], group: int) -> None:
        """Raise the error of a row of a group that the function at `address` refused; ``bits`` are those of its
        values."""
        ...


class Update(NamedTuple):
    """``value`` and ``by`` are registers, or -1; ``array`` is the first of its arrays among those of a target. Of a
    user's function ``loops`` do it, which are given these values."""

    kind: UpdateKind
    value: int
    by: int
    array: int
    loops: OwnUpdate | None = None


class Output(NamedTuple):
    """A computed column of rows that are handed out: its register, of the kind ``int``, ``float`` or ``bool``."""

    register: int
    kind: str


class Sessions(NamedTuple):
    """The register of the times, which are no later than the end of all times minus the ``gap``, and whether they are
    floats."""

    times: int
    gap: int | float
    floats: bool = False


@frozen(eq=False)
class ProgramCode:
    """``keys`` are the registers of the key columns, of these ``kinds``, and ``slot`` is the register that says where
    in time a row's group stands. ``floats`` says of the guard whether times are floats. With ``outputs`` rows are
    handed out, with these columns, and go into no groups; if the code is ``distinct``, their keys do, and of each key
    that is new in its slice only the first row is handed out. With ``sessions`` a row changes the aggregates of the
    open session of its key; all rows then are of slice 0. ``shard`` is the register that says which shard's a row is,
    if there are several; rows that are sent to shards go into groups."""

    steps: tuple[Step, ...]
    registers: int
    constants: tuple[Constant, ...]
    keys: tuple[int, ...]
    kinds: tuple[str, ...]
    slot: int
    updates: tuple[Update, ...]
    marks: int
    floats: bool = False
    outputs: tuple[Output, ...] | None = None
    distinct: bool = False
    sessions: Sessions | None = None
    shard: int | None = None

    def carried(self) -> list[int]:
        """The registers that its end reads of a row, which go along with a row that is sent to a shard."""
        values = (register for update in self.updates for register in (update.value, update.by) if register >= 0)
        constants = {constant.register for constant in self.constants}
        return [register for register in dict.fromkeys((*self.keys, self.slot, *values)) if register not in constants]
