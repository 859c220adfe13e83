"""Windows as users write them. Each kind knows which operators make its aggregates (`Window.aggregated`).

Idea. A window is a value such as `oop.tumbling("1min")`. When its column is known, it is turned into numbers in that
column's unit, and then into operators: `Bucket` and `Aggregate` for most kinds.

Way in. Read `window.py`, then `time_windows.py`. A kind whose windows are known by its column's type is a
`PlacedWindow`, which only says where they are. The other kinds are `calendar_windows.py`, `landmark_windows.py`,
`row_windows.py` and `session_windows.py`.

Decisions about where windows begin and end are told in `operators/windows/__init__.py`, those about sessions in
`operators/session/__init__.py`.
"""

from oop.windows.calendar_windows import CalendarWindow, calendar
from oop.windows.landmark_windows import LandmarkWindow, landmark
from oop.windows.row_windows import PartitionedRowWindow, RowWindow, rows
from oop.windows.session_windows import SessionWindow, session
from oop.windows.time_windows import TimeWindow, sliding, tumbling
from oop.windows.window import PlacedWindow, Window

__all__ = [
    "CalendarWindow",
    "LandmarkWindow",
    "PartitionedRowWindow",
    "PlacedWindow",
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
