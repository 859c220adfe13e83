"""Checks what was read from a file before anything computes with it: a damaged file is an error, never a crash.

Arrow's readers check that a file is framed well, not that its offsets, indices and lengths stay inside its buffers.
Kernels, Arrow's and ours, rely on that. `Sound` checks it, in one pass over what was just read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

import pyarrow as pa

from oop.errors import SourceError

DAMAGED = "the file is damaged or cut short: write it again"


@contextmanager
def reading(where: str | PathLike[str], hint: str = DAMAGED) -> Iterator[None]:
    """Turn errors in the block into errors about this file, or about this place in it."""
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError(f"{where}: no such file", hint="it was there before: was it moved?") from error
    except PermissionError as error:
        raise SourceError(f"{where} may not be read by this user", hint="chmod +r, or run as its owner") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} cannot be read: a name in it is not UTF-8", hint=hint) from error
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        what = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise SourceError(f"{where} cannot be read: {what}", hint=hint) from error


def named(schema: pa.Schema) -> pa.Schema:
    """The schema, if all of its names can be read, at any depth; else a UnicodeDecodeError (see `reading`)."""
    waiting = list(schema)
    while waiting:
        field = waiting.pop()
        assert field.name is not None
        waiting += [field.type.field(i) for i in range(field.type.num_fields)]
    return schema


class Sound:
    """Checks batches of one file in the order in which they are read. It raises what Arrow raises (see `reading`).

    Batches of a file mostly share their dictionaries, which may be far larger than a batch: each is checked once.

    >>> sound = Sound()
    >>> sound(pa.record_batch({"ts": [1, 2]})).num_rows
    2
    >>> beyond = pa.DictionaryArray.from_arrays(pa.array([0, 7]), ["a"], safe=False)
    >>> sound(pa.record_batch({"k": beyond}))
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: column 'k': Dictionary indices invalid: Value at position 1 out of bounds: 7 ...
    """

    def __init__(self) -> None:
        self._dictionaries: dict[str, pa.Array] = {}

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        batch.validate()  # the lengths of the columns are those of the batch
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                self._check(name, column)
            except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
                said = str(error).removeprefix("Invalid: ").replace(": Invalid:", ":")
                raise pa.ArrowInvalid(f"column {name!r}: {said}") from error
        return batch

    def _check(self, name: str, column: pa.Array) -> None:
        if not pa.types.is_dictionary(column.type):
            column.validate(full=True)
            return
        dictionary, known = column.dictionary, self._dictionaries.get(name)
        if known is None or not _is_same(dictionary, known):
            column.validate(full=True)
            self._dictionaries[name] = dictionary
        else:
            column.indices.validate(full=True)
            pa.DictionaryArray.from_arrays(column.indices, dictionary, safe=True)  # looks at the indices alone


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Are both at the same address? Both are alive, so the address cannot have been reused in between."""
    return (one.type, len(one), one.offset) == (other.type, len(other), other.offset) and all(
        (a and a.address) == (b and b.address) for a, b in zip(one.buffers(), other.buffers(), strict=True)
    )
