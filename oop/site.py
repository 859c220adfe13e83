"""The user's line: where a step of a pipeline was written, for errors and explain."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).parent
# the package's folder, and the folders that its symlinks point to: frames of code in them are of oop
_OURS = tuple(
    str(p) + os.sep for p in {_PACKAGE, *(d.resolve() for d in _PACKAGE.iterdir() if d.is_symlink() and d.is_dir())}
)


def user_line() -> str:
    """``file:line`` of the innermost frame that is not in oop.

    >>> user_line()
    '<doctest oop.site.user_line[0]>:1'
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"


def _short(path: str) -> str:
    """The path relative to the working directory, if it is inside of it."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if path.startswith("<") or relative.startswith("..") else relative
