"""The embedded engine: the plan runs in this process, driven by whoever reads its result.

Idea. Each operator is a box, and queues between boxes are arcs, as in Aurora. Reading the result drives the engine in
rounds: sources are read, boxes that hold a promise have their turn, then the scheduler's boxes do. A queue that is full
pushes back on whoever feeds it, and at last on the source.

Way in. Read `engine.py` (`Embedded`, `Run`), then `boxes.py` and `arcs.py`. After that:

- `feeds.py`, `polling.py`: where an input box gets its elements.
- `schedulers.py`: which box runs next.
- `sharded.py`, `sharded_boxes.py`, `pool.py`: an operator with keys, spread over threads.
- `reading.py`, `bell.py`, `starting.py`: one reader at a time, and what survives interrupts.
- `tracing.py`, `stamps.py`: `Run.blame`. `health.py`, `pulses.py`: `Run.health`.

To watch something more of a run, add a field to `BoxHealth` in `health.py` and note it in `pulses.py`; a metric is a
field of `BoxMetrics` in `oop/engines/metrics.py`.

Decisions are in `DECISIONS.md` beside this file.
"""
