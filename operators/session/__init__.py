"""Sessions: windows of rows of one key that follow one another within a gap.

Idea. Open sessions of each key are intervals that grow and merge as rows arrive in any order. A session is complete
when a promise says that no row can reach it any more.

Way in. Read `session.py`, the spec, then `operator.py`. `table.py` has what is open, `filed.py` and `starts.py` find
what is due and where the earliest session begins, `parts.py` is what is saved, `emitted_ends.py` what late rows must
not touch.

Decisions:

- A row is in a session if and only if `t <= end` and `start <= t + gap`, with `end = last + gap` as the type rounds it.
  So what `window_end` says is what decides.
- The open sessions of a key form a chain, the newest first (kernel `extend_sessions`). A row that bridges two sessions
  lets the newer one absorb the older, and their accumulators merge. Every aggregate of a session must therefore be able
  to merge (`can_merge`).
- A promise finds what it closes in one pass over all sessions, a few nanoseconds each, as long as the rows since the
  last promise pay for it. Only where promises are frequent, or where sessions are saved in parts, are they filed by
  slices of their ends (`filed.py`). Saved parts follow these slices.
- `starts.py` files sessions by start too, so that a frequent promise costs no scan of what is open. With promises by
  group there is one scan for a whole train of them.
- Where chains become long, batches are sorted by key and time first.
- The crossing says how far a promise may go (`Spec.held_back` names the attributes), and plans are judged by that. What
  has been promised is the frontier of the output, and shards, Spark's stages and the laws use it. The laws compute from
  `open_results` what must have been promised. Behind promises by group more may have been promised, because what was
  once said of a group remains said.
- Where late rows are admitted (`Spec.with_late`), the ends of sessions that went out are kept for as long as a row that
  is still taken could touch them (`emitted_ends.py`).
- A late row is of no use, and is counted in `late_unused`, also if its session would begin before what has been
  promised about `window_start`. Rows on time would be in that session, marked late with it, and a window behind it
  would drop them. So what is open keeps every promise, with late rows or without, and nothing leaves marked. How far
  the promise reached depends on what else was open in the same shard, so which late rows are used may differ with
  `threads=`.
- There are no partial aggregates of sessions on Spark (`Spec.partials`): rows travel.
"""
