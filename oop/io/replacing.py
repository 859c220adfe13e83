"""Replaces a file as a whole: the new one is written under a temporary name beside it, and renamed when it is complete.

The path keeps its link, owner, group and mode. A process that is killed leaves its temporary file behind. A living
process holds a lock on its temporary file, so the next process that writes the same file can tell leftovers from files
that are being written.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oop.errors import OopError, SinkError

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.tmp")


class Missing(SinkError, FileNotFoundError):
    """There is no folder to write to."""


class Replacement:
    """New content for ``path``: write to `temporary`, then `finish`, or `discard`, which keeps the old content."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))  # the target of a link is replaced, not the link
        with writing(path):
            if not self.path.parent.is_dir():
                raise Missing(f"cannot write {path}: there is no directory {self.path.parent}", hint="make it first")
            self._old = _regular(self.path)
            sweep(self.path.parent, self.path.name)
            self.temporary, self._lock = _create(self.path, 0o666 if self._old is None else 0o600)

    def finish(self) -> None:
        """Rename the temporary file to the path. Until then the old file is there as a whole."""
        os.fsync(self._lock)  # otherwise a power cut could leave the new name on an empty file
        if self._old is not None:
            _take_over(self._lock, self._old)
        os.replace(self.temporary, self.path)
        self._unlock()

    def discard(self) -> None:
        self.temporary.unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        """Close the descriptor, once. After an interrupt both `finish` and `discard` may run, and the descriptor's
        number may by then be in use again."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into one about this file."""
    try:
        yield
    except OopError:
        raise
    except OSError as error:
        what = error.strerror or str(error).partition("\n")[0]
        hints = {
            errno.ENOSPC: "make room on the disk; what was there before is unchanged",
            errno.EDQUOT: "make room in your quota; what was there before is unchanged",
            errno.EFBIG: "raise the limit of file sizes (ulimit -f), or write to a folder: to='out/'",
            errno.EACCES: f"it takes the right to write in {path.parent}",
            errno.EPERM: f"it takes the right to write in {path.parent}",
            errno.EROFS: "choose a place that is not read-only",
        }
        hint = hints.get(error.errno or 0, "choose another place; what was there before is unchanged")
        raise SinkError(f"cannot write {path}: {what}", hint=hint) from error


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove the leftovers of killed processes: those of one file, or all in a folder that only one process writes."""
    for left in folder.iterdir():
        found = _TEMPORARY.fullmatch(left.name)
        if found is not None and name in (None, found["name"]):
            with suppress(OSError):  # another process was faster, or this user may not remove it
                lock = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
                    left.unlink()
                finally:
                    os.close(lock)


def _create(path: Path, mode: int) -> tuple[Path, int]:
    """A new temporary file, and a descriptor that holds a lock on it."""
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")
        lock = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # a file system without locks is accepted
                os.close(lock)
                temporary.unlink()
                raise
        if os.fstat(lock).st_nlink:
            return temporary, lock
        os.close(lock)  # another process took it for a leftover before it was locked


def _regular(path: Path) -> os.stat_result | None:
    """The status of the file at the path, None if there is none; an error if it is not a regular file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found.st_mode):
        return found
    what = "a loop of links" if stat.S_ISLNK(found.st_mode) else "not a regular file"
    raise SinkError(f"cannot write {path}: it is {what}", hint="remove it, or pass a callable that takes the batches")


def _take_over(file: int, old: os.stat_result) -> None:
    """Give the file the old one's owner, group and mode, as far as this user may. No group gets a right that it did not
    have."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    mine = os.fstat(file)
    if mine.st_gid != old.st_gid:
        try:
            os.fchown(file, -1, old.st_gid)
        except PermissionError:
            mode &= ~stat.S_IRWXG
    if mine.st_uid != old.st_uid:
        with suppress(PermissionError):
            os.fchown(file, old.st_uid, -1)
    os.fchmod(file, mode)
