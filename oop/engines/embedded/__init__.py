"""The embedded engine: the plan runs in this process, driven by the reader of its result.

Idea. Each operator is a box, and queues between boxes are arcs, as in Aurora. Reading the result drives the engine in
rounds: sources are read, boxes that hold a promise have their turn, then the scheduler's boxes do. A queue that is full
pushes back on the boxes that feed it, and at last on the source.

Way in. Read `engine.py` (`Embedded`, the options), `run.py` (`Run`, what a user has in hand) and `rounds.py` (what
happens in a round), then `boxes.py` and `arcs.py`. After that:

- `network.py`: how boxes and arcs are built from a plan. `options.py`: the options. `measuring.py`: `Run.metrics`.
- `source.py`, `feeds.py`, `polling.py`: where an input box gets its elements.
- `schedulers.py`: which box runs next. `crank.py`: rounds that a test drives by hand.
- `superbox.py`: boxes from a source on whose work on rows a program does; `inner_superbox.py`: boxes that begin
  elsewhere. `lanes.py`: the programs of several shards; `thread_choice.py`: whether threads run them.
  `shard_program.py`: the program of one shard, where rows are parted in front of it. `passages.py`: what passes between
  the boxes. `express.py`: the way of promises through them. `row_order.py`: programs where the order of rows matters.
- `sharded.py`, `sharded_boxes.py`, `pool.py`: an operator with keys, spread over threads.
- `reading.py`, `bell.py`, `starting.py`: one reader at a time; waiting for and starting threads safely under
  interrupts.
- `tracing.py`, `stamps.py`: `Run.blame`. `health.py`, `pulses.py`: `Run.health`.

To watch something more in a run, add a field to `BoxHealth` in `health.py` and note its value in `pulses.py`. A metric
is a field of `BoxMetrics` in `oop/engines/metrics.py`.

Decisions are in `DECISIONS.md` beside this file.
"""
