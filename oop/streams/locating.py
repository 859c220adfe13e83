"""Puts the user's line into errors about a user's arguments."""

from __future__ import annotations

from types import TracebackType

from oop.errors import OopError
from oop.site import user_line


class AtUsersLine:
    """``with AtUsersLine():`` goes around code that checks the arguments of a call. The line is that of the innermost
    frame outside this package. That is why this is a class: a generator would be resumed by a frame of Python's
    library."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(wrong, OopError):
            raise wrong.located(user_line()) from wrong.__cause__
