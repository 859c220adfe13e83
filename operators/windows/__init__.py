"""Windows by number: where they begin and end, and what a bound on time says about their numbers.

Idea. `Bucket` tags each row with the first and the last window id (wid) that it belongs to, and turns the promise `ts <
v` into `wid < W`. The aggregate behind it then needs to know nothing about time (OOP paper, A.2.2).

Way in. Read `windows.py`, the questions that every kind of window answers, then `bucket.py`, which has the grid of
tumbling and sliding windows. `calendar.py` and `zones.py` are windows of days, months and the like.

Decisions:

- A row whose windowed time is null, as after an outer join, is in no window. So is a row in a gap between windows.
- Windows of float times. A window's edges are what the formulas give in floats, and a row is in a window if and only if
  `start <= t < end` holds literally. A tumbling window ends where the next one starts, at `offset + (w+1)·slide`, not
  at the rounded `start + range`; so no row falls between two windows or into both. The edges of windows on float16 and
  float32 times are float64, because a rounded edge could exclude a row of its own window.
- A float bound that is further away than any window stands for the furthest window (`wid_bound` in
  `punctuation/translate.py`). No row can be there, and a slack, a band or a shift may move a bound that far.
- Calendar windows. Local time is the greatest that the clock on the wall has shown so far (`zones.py`), so it never
  runs backwards. A window begins at the first instant at which it was reached. Windows therefore tile time: an hour
  that comes twice is one window, a day that was skipped is an empty one.
- Zones come from `zoneinfo`. They are sampled once a day and changes are found by bisection down to the second, year by
  year. Beyond the years of Python's datetime the rules repeat every 400 years, as the calendar does. Windows of several
  units are counted from the unit that contains the beginning of 1970. Where a batch has fewer windows than rows, rows
  are looked up among the starts of the windows.
- Windows that overlap and are no grid have no panes (`has_panes` in `operators/aggregate/panes.py`): each row goes into
  each of its windows, and nothing is preaggregated.
- What a window shows in `explain` must tell it apart from every other window: checkpoints on Spark are compared by it.
"""
