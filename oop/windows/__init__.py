"""Windows as users write them: which rows are aggregated together.

The ways in: the functions `tumbling`, `sliding`, `session`, `calendar`, `landmark` and `rows`. Each kind of window
knows which operators make its aggregates (`Window.aggregated`); a new kind is a new subclass of `Window`.
"""

from oop.windows.calendar_windows import CalendarWindow, calendar
from oop.windows.landmark_windows import LandmarkWindow, landmark
from oop.windows.row_windows import PartitionedRowWindow, RowWindow, rows
from oop.windows.session_windows import SessionWindow, session
from oop.windows.time_windows import TimeWindow, sliding, tumbling
from oop.windows.window import Window

__all__ = [
    "CalendarWindow",
    "LandmarkWindow",
    "PartitionedRowWindow",
    "RowWindow",
    "SessionWindow",
    "TimeWindow",
    "Window",
    "calendar",
    "landmark",
    "rows",
    "session",
    "sliding",
    "tumbling",
]
