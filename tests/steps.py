"""Counts the steps that Python takes in the project's own files, which measures the cost of work without a clock.

A step is an executed line, where each pass of a loop or a comprehension counts, or an item that a method of a container
or an array handles in C (`dict.copy`, `ndarray.tolist`). Both counts are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_HERE = str(Path(__file__).resolve().parent.parent)
_NOT_OURS = tuple(f"{_HERE}/{name}" for name in ("tests", ".venv"))
_WHOLE = frozenset(("copy", "sort", "tolist", "remove", "index", "insert"))


class Steps:
    """Counts steps from `start` to `stop`, in the thread that starts it."""

    def __init__(self) -> None:
        self.taken = 0
        self.by_line: dict[tuple[str, int], int] = {}
        self._ours: dict[CodeType, bool] = {}
        self._before: tuple[Any, Any] = sys.gettrace(), sys.getprofile()

    def start(self) -> None:
        self._before = sys.gettrace(), sys.getprofile()
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:  # functions that are already running
            if self._is_ours(frame.f_code):
                frame.f_trace = self._line
            frame = frame.f_back

    def stop(self) -> None:
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def __enter__(self) -> Steps:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _is_ours(self, code: CodeType) -> bool:
        ours = self._ours.get(code)
        if ours is None:
            path = str(Path(code.co_filename).resolve())
            ours = self._ours[code] = (
                code.co_filename[0] != "<" and path.startswith(_HERE) and not path.startswith(_NOT_OURS)
            )
        return ours

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        return self._line if self._is_ours(frame.f_code) else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        if event == "line":
            self.taken += 1
            place = frame.f_code.co_filename, frame.f_lineno
            self.by_line[place] = self.by_line.get(place, 0) + 1
        return self._line

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call" and arg.__name__ in _WHOLE and self._is_ours(frame.f_code):
            size = getattr(arg.__self__, "__len__", None)
            if size is not None and not isinstance(arg.__self__, type):
                self.taken += size()
                place = frame.f_code.co_filename, frame.f_lineno
                self.by_line[place] = self.by_line.get(place, 0) + size()
