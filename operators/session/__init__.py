"""Sessions: windows of rows of one key that follow one another within a gap.

Idea. Open sessions of each key are intervals that grow and merge as rows arrive in any order. A session is complete
when a promise says that no row can reach it any more.

Way in. Read `session.py`, the spec (its fields are in `fields.py`), then `operator.py`. `table.py` has the open
sessions, `filed.py` and `starts.py` find which are due and where the earliest begins, `parts.py` saves them,
`emitted_ends.py` knows the closed sessions that late rows must not touch. `targets.py` lends the table to a program.

Decisions:

- A row is in a session if and only if `t <= end` and `start <= t + gap`, with `end = last + gap` as the type rounds it.
  So the value shown as `window_end` is the one that decides.
- The open sessions of a key form a chain, the newest first (kernel `extend_sessions`). A row that bridges two sessions
  lets the newer one absorb the older, and their accumulators merge. Every aggregate of a session must therefore be able
  to merge (`can_merge`).
- A promise finds the sessions that it closes in one pass over all of them, which costs a few nanoseconds for each, as
  long as enough rows came since the last promise to pay for it. If promises are frequent, or sessions are saved in
  parts, sessions are filed by slices of their ends instead (`filed.py`). Saved parts follow these slices.
- `starts.py` files sessions by start too, so that a frequent promise does not scan all open sessions. Promises by group
  need one scan for a whole train of them.
- When the chains of keys become long, batches are sorted by key and time first, and a program is given no more rows.
- What leaves is taken out of the chains and of the arrays of the aggregates in one pass over each (`take_out`), which
  leaves them as a new session must find them.
- What a program bridges keeps its aggregates until the train has ended, when they are merged all at once.
- The crossing says how far a promise may go at most (`Spec.held_back` names the attributes that lag), and plans are
  checked by that. What has really been promised is the frontier of the output, which shards, Spark's stages and the
  laws use. The laws compute from `open_results` what must have been promised. With promises by group more may have been
  promised, because a promise about a group is never taken back.
- Where late rows are admitted (`Spec.with_late`), the ends of sessions that went out are kept for as long as a late row
  could still touch them (`emitted_ends.py`).
- A late row is not used either, and is counted in `late_unused`, if its session would begin before the promise about
  `window_start`. Later rows that are on time would join that session and be marked late with it, and a window behind it
  would drop them. So open sessions keep every promise, with late rows or without, and no session leaves marked late.
  How far the promise reached depends on the other sessions in the same shard, so which late rows are used may differ
  with `threads=`.
- There are no partial aggregates of sessions on Spark (`Spec.partials`): the rows themselves are shuffled.
"""
