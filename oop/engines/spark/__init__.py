"""The Spark engine: the same specs and operators as a streaming query, or as a batch.

Idea. The plan is cut into stages. *Producers* are sources and operators with state. Everything between two producers
passes rows (`Spec.passes`), so it runs in the worker of the producer. *Cells* travel between stages: few, large rows
with an Arrow batch or promises inside. A DataFrame of cells goes to the first stage that it has something for, and
cells for later stages pass through. So a stream that feeds several operators is computed once.

Way in. Read `engine.py`, which has what users call, then `stages.py`, then `dataframes.py`, which makes the DataFrames;
`starting.py` and `query.py` run them. The life of a row:

1. A source that oop reads itself is a Python data source (`datasource.py`). On the driver the planner in `reading.py`
   says where a micro-batch ends. The *scout* (`scout.py`) runs the policies ahead, so that the offset holds their
   state, and each task begins with the promises that follow from the rows before it. In a worker `read_split` guards,
   filters, maps, buckets and reduces. Parquet and Arrow files are read in place by blocks (`blocks.py`). All other data
   is first written to such files (`spool.py`), by a thread in the driver's process.
2. The rows of a DataFrame that Spark reads (`foreign.py`) are encoded by `mapInArrow`. Its input stage (`channels.py`)
   has a policy and a guard for each channel, all in one worker, because a new channel starts at what all channels have
   promised.
3. `passage.py` is the way from a producer to the next stage: rows pass the operators that pass rows, then the partial
   aggregates of the next stage (`Spec.partials`, `operators/aggregate/gathering.py`), are parted by key
   (`operators/core/exchange.py`) and encoded (`cells.py`). From a source to these partial aggregates one program takes
   many rows at a time (`programs.py`, `oop/plan/stage_programs.py`), if they can be written as steps.
4. A stage (`runner.py`) is an operator with state on one shard, which takes rows first, then promises. Where rows come
   unreduced into groups, a program takes them. The stage keeps what each producer has promised and translates that
   through the plan (`Stages.port_frontier`). Promises are never pushed through operators that pass rows. `processor.py`
   keeps the running operator in the worker, `stored_parts.py` keeps its parts in Spark's state store. The operator is
   used again only if the store holds the version that it saved. A shard that moves to another worker of the machine is
   loaded from a local copy of that version.
5. The last stage puts the result out as rows (`finishing.py`; `types.py` replaces types that Spark lacks). Where that
   is not possible, cells are decoded. Counts go into the query's progress.

An operator needs nothing more for Spark than for threads: `shard_columns`, `needs`, the two hooks, `save` and `load`.

Decisions that keep answers exact. Each has a test in `tests/oop_/engines/spark` that fails without it.

- The state of policies is in the offset, or in the state of the input stage, never in a worker. With very many groups
  an offset is large: it is JSON in Spark's log.
- The guard comes before any reduction. In a micro-batch promises follow all rows.
- Cells are processed in the order of port, sender, split and number, whatever order they arrive in, so a retried
  attempt gives the same output. The hash that decides the shard of a row is fixed.
- A clock's tick and the end are in the offset: a source without rows makes a micro-batch when it has something to
  promise. A foreign DataFrame with a timer gets a source of ticks beside it.
- An offset and every shard's state name the plan, the format and the number of shards; if these differ from the
  query's own, the checkpoint is refused (`identity.py`). The keys of shards are chosen so that each gets a partition of
  its own (`shards.py`).
- Files are read in the order of their list. Files may be added at its end, and those that were read must stay. Live
  iterables are spooled before an offset names them, and a restart reads on behind what was spooled.
- A foreign source's rows of one channel have the order of Spark's tasks and of the rows in each task. Spark's file
  source promises no order within a micro-batch.
- The channels of a source share one worker. Shuffles carry only the columns that are used (`needs`), unless late rows
  are kept whole.
- Late files are named after the piece of input (`late_files.py`), so that a retried attempt writes the same files. A
  callable sink may see a micro-batch twice after a restart.
- `run` restores the session's settings when the query has started. `to_spark` leaves its settings in the session,
  because the user starts the query later.
- A batch is one micro-batch: everything is held until the end.
- Saved parts are sealed with a checksum, because otherwise a single wrong bit on a disk would give a wrong answer.
- A program pays where it ends at groups. Rows that it hands out, or takes into sessions or a dedup, cost as much or
  more with it as without, because batches are large here and are made anew for the shuffle. So there is none for these.
- Operators that look at the clock, and `oop.arrival()`, are refused.
"""
