"""The spool: elements of a source that cannot be read by position are written to files that can.

Iterables, callables, data in memory and text files live in the driver's process, or have no blocks. A thread of the
driver writes their elements to numbered Arrow IPC files. A file gets its name when it is complete, and only then may an
offset name it. Files that have been written stay, so that a restarted query reads the same again.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.blocks import Listing
from oop.errors import OopError, SourceError
from oop.frozen import frozen
from oop.io.fitting import fit, text_types
from oop.io.ipc import PROMISE_KEY, InputElement, ipc_rows
from oop.operators.core.batches import CROSSING_ROWS
from oop.plan.source_data import SourceData
from oop.punctuation import Punctuation
from oop.punctuation.encoding import dumps, loads

_FILE_ELEMENTS = 16_384
_PATIENCE = 0.05  # seconds that an element of a live input may wait for more
_ROOM = 64  # elements that may wait to be written
_CLOSED = "closed.json"
_LAST_WORDS = 16_384  # bytes reserved on the disk for the message about how the input ended
_AGAIN = 0.5  # seconds after which writing that message is tried again


@frozen()
class Spooled:
    """A folder of numbered files. ``closed.json`` says that no more will come, and why.

    If it is ``bounded`` its end will come, so `complete` can wait for that.
    """

    folder: str
    bounded: bool

    def listing(self) -> Listing:
        folder = Path(self.folder)
        said = _said(folder)  # before the files are listed, so that no file is missed
        paths = tuple(str(p) for p in sorted(folder.glob("*.arrow")))
        failure = said["failure"] if said is not None else ""
        return Listing(paths, said is not None and not failure, failure or None)

    def complete(self) -> Listing:
        """All files of a bounded input, for whose end this waits. Of an input without end, the files so far."""
        while self.bounded and not (Path(self.folder) / _CLOSED).exists():
            if not Path(self.folder).is_dir():
                raise SourceError(
                    f"{self.folder} is gone, in which the input was written",
                    hint="keep the process that made the DataFrame running, or give a checkpoint",
                )
            time.sleep(0.02)
        return self.listing()


class Spool:
    """Writes an input's elements to a folder, in threads of its own. `close` stops them.

    The files of a bounded input are cut by size alone, so that after an interruption writing goes on where it stopped.
    The elements of a live input are written soon after they have come, however few they are.
    """

    def __init__(self, data: SourceData, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as wrong:
            raise SourceError(
                f"{data.label} cannot be spooled to {folder}: {wrong}", hint="choose another checkpoint"
            ) from wrong
        if data.once and any(folder.glob("*.arrow")):
            raise SourceError(
                f"{data.label} gives its elements once, and the checkpoint has some of them already",
                hint="pass a callable that goes on behind them, or begin with another checkpoint",
            )
        self.data = data
        self.schema = text_types(data.schema)  # dictionaries may differ from batch to batch; a file allows no change
        self.folder = folder
        self.spooled = Spooled(str(folder), data.kind != "live")
        self.stopped = threading.Event()
        self.queue: queue.Queue[InputElement | BaseException | None] = queue.Queue(_ROOM)
        self.number = self.skipped = self.rows = 0
        if not self._is_done():
            self._reserve()
            for target in (self._read, self._write):
                threading.Thread(target=target, name="oop-spool", daemon=True).start()

    def _is_done(self) -> bool:
        """Has an earlier run written everything already? If not, find out where to go on."""
        for left in self.folder.glob("*.tmp"):
            left.unlink()
        written = sorted(self.folder.glob("*.arrow"))
        self.number = len(written)
        if not self.spooled.bounded:  # a live input gives only new elements; earlier ones have been spooled
            (self.folder / _CLOSED).unlink(missing_ok=True)
            return False
        said = _said(self.folder)
        if said is None:  # a bounded input is read again from its beginning, and spooled elements are skipped
            for path in written:
                counts = ipc_rows(path, self.schema.names[0])
                self.skipped += len(counts)
                self.rows += sum(counts)
            return False
        if said["failure"]:
            raise SourceError(
                f"{self.data.label} failed before: {said['failure']}", hint="begin with another checkpoint"
            )
        rows = self.data.count_rows()
        if rows is not None and rows != said["rows"]:
            raise SourceError(
                f"{self.data.label} had {said['rows']} rows when the checkpoint was written, and has {rows} now",
                hint="give the same data, or begin with another checkpoint",
            )
        return True

    def close(self) -> None:
        self.stopped.set()

    def _reserve(self) -> None:
        """Reserve the room on the disk that `_say_end` needs. If the disk were full by then, the query would wait
        without end."""
        try:
            _overwrite(self._last_words, b" " * _LAST_WORDS)
        except OSError as wrong:
            raise SourceError(
                f"{self.data.label} cannot be spooled to {self.folder}: {wrong}",
                hint="make room, or choose another place",
            ) from wrong

    @property
    def _last_words(self) -> Path:
        return (self.folder / _CLOSED).with_suffix(".tmp")

    def _read(self) -> None:
        try:
            for element in islice(self.data.elements(), self.skipped, None):
                if not self._put(element):
                    return
            self._put(None)
        except BaseException as error:  # also sys.exit(): the query must be told, or it would wait for ever
            self._put(error)

    def _put(self, item: InputElement | BaseException | None) -> bool:
        while not self.stopped.is_set():
            try:
                self.queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def _write(self) -> None:
        ended: list[BaseException | None] = []
        try:
            while not ended and not (self.stopped.is_set() and self.queue.empty()):
                elements, ended = self._gather()
                if elements:
                    self._file(elements)
        except BaseException as error:  # a query that waits for the end must not wait for ever
            ended = [error]
        while ended and not self._say_end(ended[0]) and not self.stopped.wait(_AGAIN):
            pass

    def _say_end(self, why: BaseException | None) -> bool:
        """Write that no more comes, and why. False if writing failed; a later attempt may succeed."""
        said = dumps({"rows": self.rows, "failure": "" if why is None else _what(why)[:1_000]}).encode()
        try:
            _overwrite(self._last_words, said.ljust(_LAST_WORDS))  # in place, so that the room stays reserved
            os.replace(self._last_words, self.folder / _CLOSED)
        except OSError:
            return False
        return True

    def _gather(self) -> tuple[list[InputElement], list[BaseException | None]]:
        """Elements for one file, and how the input ended if it did."""
        found: list[InputElement] = []
        rows = 0
        deadline = float("inf")
        while rows < CROSSING_ROWS and len(found) < _FILE_ELEMENTS:
            if time.monotonic() >= deadline or (self.stopped.is_set() and self.queue.empty()):
                break
            try:
                item = self.queue.get(timeout=_PATIENCE)
            except queue.Empty:
                continue
            if item is None or isinstance(item, BaseException):
                return found, [item]
            if not found and not self.spooled.bounded:
                deadline = time.monotonic() + _PATIENCE
            found.append(item)
            rows += 0 if isinstance(item, Punctuation) else item.num_rows
        return found, []

    def _file(self, elements: list[InputElement]) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, self.schema) as writer:
            for batch, promise in _pairs(elements, self.schema):
                writer.write_batch(batch, None if promise is None else {PROMISE_KEY: promise.to_json().encode()})
        _publish(self.folder / f"{self.number:012}.arrow", sink.getvalue())
        self.number += 1
        self.rows += sum(e.num_rows for e in elements if not isinstance(e, Punctuation))


def _what(why: BaseException) -> str:
    if isinstance(why, OopError):
        return why.what
    try:
        return f"{type(why).__name__}: {why}"
    except Exception:  # the error's own __str__ failed, so the name of its type must do
        return type(why).__name__


def _said(folder: Path) -> Any:
    """How the input ended, as `Spool` wrote it. None if it has not ended."""
    path = folder / _CLOSED
    if not path.exists():
        return None
    try:
        said = loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read: {error}", hint="begin with another checkpoint") from error
    if not isinstance(said, dict) or not said.keys() >= {"rows", "failure"}:
        raise SourceError(f"{path} does not say how the input ended", hint="begin with another checkpoint")
    return said


def _pairs(elements: list[InputElement], schema: pa.Schema) -> Iterator[tuple[pa.RecordBatch, Punctuation | None]]:
    """Batches to write, each with its promise or None. A promise is written with an empty batch."""
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    for element in elements:
        if isinstance(element, Punctuation):
            yield empty, element
        else:
            yield fit(element, schema, "a batch"), None


def _publish(path: Path, body: Any) -> None:
    """Write the file, make it durable, then give it its name, so that a file with this name is always whole."""
    temporary = path.with_suffix(".tmp")
    try:
        _overwrite(temporary, body)
    except OSError:
        temporary.unlink(missing_ok=True)  # half a file is useless, and takes room
        raise
    os.replace(temporary, path)


def _overwrite(path: Path, body: Any) -> None:
    """Overwrite a file in place, and make it durable. Its old content must not be longer."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
