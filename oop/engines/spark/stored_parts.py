"""The parts of a shard in Spark's state store. Only parts that changed are written: small ones together in one value,
large ones in pieces.

Every write gets a version. If the driver and its workers share a machine, a copy is kept in a local folder. A worker
that takes over the shard then asks the slow store only for the version.

Operators load their parts without checking them, so every part is sealed with a checksum. Otherwise a single wrong bit
on a disk would give a wrong answer. A damaged copy is ignored; a damaged store is an error.
"""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.cells import decode, encode_batch
from oop.errors import OopError
from oop.operators.core.parts import Part
from oop.punctuation.encoding import dumps, loads

SMALL = "small"
"""The key of the value with the version and the small parts of the last write. To write them together takes one call
instead of one for each."""
_SMALL = 2 << 10  # the most bytes of a small part
_PIECE = 16 << 20  # the most bytes in one value
_MORE = "#"  # stands between the name of a part and the number of a piece


class StoredParts:
    """The parts of one shard. ``store``, in the methods, is a map in Spark's state store. ``folder`` is where copies
    are, if there are any. ``version`` is the version that was last written or read here, None if there is none yet.
    """

    def __init__(self, folder: str | None) -> None:
        self.folder = None if folder is None else Path(folder)
        self.version: str | None = None
        self.small: dict[str, bytes] = {}
        self.pieces: dict[str, int] = {}
        self.files: dict[str, str] = {}

    def is_current(self, store: Any) -> bool:
        """Does the store hold the version that was last written or read here?"""
        said = store.getValue((SMALL,))
        return said is None if self.version is None else said is not None and _version(said[0]) == self.version

    def write(self, store: Any, parts: Iterable[Part]) -> None:
        """Write the parts that changed. Small parts that change at every write stay together in one value. A small part
        that did not change this time gets a value of its own, or it would be written again each time."""
        before, small = self.small, {}
        large: dict[str, bytes] = {}
        for name, part in parts:
            body = b"" if part is None else seal(encode_batch(part))
            before.pop(name, None)
            if 0 < len(body) <= _SMALL:
                small[name], large[name] = body, b""  # removes its own value, which it may have had before
            else:
                large[name] = body
        large |= before
        for name, body in large.items():
            self._put(store, name, body)
        self.small = small
        older, self.version = self.version, uuid.uuid4().hex
        store.updateValue((SMALL,), (seal(encode_batch(_table(self.version, small))),))
        self._copy(older, large)

    def _put(self, store: Any, name: str, body: bytes) -> None:
        """Write a part in pieces of a size that suits the store, and remove surplus pieces of its last version."""
        pieces = range(0, len(body), _PIECE)
        for i, at in enumerate(pieces):
            store.updateValue((_piece(name, i),), (body[at : at + _PIECE],))
        for i in range(len(pieces), self.pieces.pop(name, 0)):
            store.removeKey((_piece(name, i),))
        if pieces:
            self.pieces[name] = len(pieces)

    def read(self, store: Any) -> dict[str, pa.RecordBatch] | None:
        """All parts as the store holds them; None if it holds nothing."""
        said = store.getValue((SMALL,))
        if said is None:
            return None
        self.version, self.small = _read_table(decode(unseal(bytes(said[0]))))
        large = self._read_copy()
        if large is None:
            large = self._read_store(store)
            self._copy(None, large)
        return {name: decode(unseal(body)) for name, body in {**large, **self.small}.items()}

    def _read_store(self, store: Any) -> dict[str, bytes]:
        found = {name: bytes(body) for (name,), (body,) in store.iterator() if name != SMALL}
        self.pieces, self.files = {}, {}
        for name in found:
            whole = name.rpartition(_MORE)[0]
            self.pieces[whole] = self.pieces.get(whole, 0) + 1
        return {name: b"".join(found[_piece(name, i)] for i in range(n)) for name, n in self.pieces.items()}

    # The copy consists of files that are never changed, and of a list for each version that names its files.

    def _copy(self, older: str | None, changed: Mapping[str, bytes]) -> None:
        # there is no folder if the query was stopped, or if this worker is on another machine
        if self.folder is None or not self.folder.parent.is_dir():
            return
        try:
            self._write_copy(self.folder, older, changed)
        except OSError:  # for example a full disk; nothing is lost, because the store has everything
            self.folder = None

    def _write_copy(self, folder: Path, older: str | None, changed: Mapping[str, bytes]) -> None:
        """Copy what changed. The version before stays as well, because the next attempt begins there if this one
        fails."""
        folder.mkdir(exist_ok=True)
        files = {name: file for name, file in self.files.items() if name not in changed}
        for number, (name, body) in enumerate(changed.items()):
            if body:
                files[name] = f"{self.version}.{number}"
                (folder / files[name]).write_bytes(body)
        kept = {*files.values(), *self.files.values(), f"{self.version}.json", f"{older}.json"}
        self.files = files
        temporary = folder / f".{self.version}"
        temporary.write_bytes(seal(dumps({"files": files, "pieces": self.pieces}).encode()))
        os.replace(temporary, folder / f"{self.version}.json")
        for path in folder.iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _read_copy(self) -> dict[str, bytes] | None:
        if self.folder is None or not (self.folder / f"{self.version}.json").exists():
            return None
        try:
            said: Any = loads(unseal((self.folder / f"{self.version}.json").read_bytes()))
            found = {name: (self.folder / file).read_bytes() for name, file in said["files"].items()}
            for body in found.values():
                unseal(body)
        except (OSError, Damaged):  # a later attempt has removed files, or a disk failed; the store has everything
            return None
        self.pieces, self.files = dict(said["pieces"]), dict(said["files"])
        return found


class Damaged(OopError):
    """The parts that are read are not those that were saved."""


def seal(body: bytes) -> bytes:
    """The body with its checksum.

    >>> unseal(seal(b"state"))
    b'state'
    >>> unseal(b"x" + seal(b"state"))
    Traceback (most recent call last):
        ...
    oop.engines.spark.stored_parts.Damaged: the checkpoint is damaged: a part of the saved state has a wrong checksum
    Hint: begin with another checkpoint, or with a copy of this one
    """
    return body + zlib.crc32(body).to_bytes(4, "little")


def unseal(body: bytes) -> bytes:
    """The body that was sealed. Raises `Damaged` if it has changed since."""
    if len(body) < 4 or zlib.crc32(memoryview(body)[:-4]) != int.from_bytes(body[-4:], "little"):
        raise Damaged(
            "the checkpoint is damaged: a part of the saved state has a wrong checksum",
            hint="begin with another checkpoint, or with a copy of this one",
        )
    return body[:-4]


def _piece(name: str, number: int) -> str:
    return f"{name}{_MORE}{number}"


def _table(version: str, small: Mapping[str, bytes]) -> pa.RecordBatch:
    names = pa.array([version, *small], pa.string())
    return pa.record_batch({"name": names, "body": pa.array([b"", *small.values()], pa.binary())})


def _read_table(batch: pa.RecordBatch) -> tuple[str, dict[str, bytes]]:
    (version, _), *small = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return version, dict(small)


def _version(body: Any) -> str:
    return str(decode(unseal(bytes(body))).column(0)[0].as_py())
