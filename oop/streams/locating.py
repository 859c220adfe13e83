"""Errors in what a user wrote get the user's line."""

from __future__ import annotations

from types import TracebackType

from oop.errors import OopError
from oop.site import user_line


class AtUsersLine:
    """``with AtUsersLine():`` around what looks at the arguments of a call. It is a class, and not a generator, since
    the line is that of the innermost frame that is not ours: a generator's is called by Python's library."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(wrong, OopError):
            raise wrong.located(user_line()) from wrong.__cause__
