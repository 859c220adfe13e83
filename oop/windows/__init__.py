"""Windows as users write them. Each kind knows which operators make its aggregates (`Window.aggregated`)."""

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
