"""The protocol of all operators, and what most of them use: keys, times, batches, marks, slices of time.

Idea. A spec is a frozen description. It says which columns an operator reads and makes, how promises cross it (one
value, its crossing), whether rows pass it at once, and whether it could ever emit. A plan holds specs alone, so
everything that can be known before a run is asked of them. A running operator has two hooks, the paper's processTuple
and processPunctuation: `process_batch(batch, port)` takes rows, and `process_punctuation(advance, port)` takes an
advance, a sequence of promises. The end of a stream is a promise too. A third hook, `filled`, gives what is due after a
program has put rows into an operator past `process_batch`. Only the operator of a source is driven in other ways too
(`operators/source/operator.py`).

Way in. Read `spec.py`, then `Operator`, then `Ports`, which keeps the frontiers of an operator's inputs and of its
output and says what may be promised now. An engine starts an operator with a `Context`: the columns of its inputs, how
many rows a batch may have, the columns and promises that its consumers use, and a clock. After that read what the
operator at hand needs:

- `keys.py`, `words.py`, `row_groups.py`, `group_values.py`, `exchange.py`: keys as dense ids and words, groups as
  promises name them, rows parted by key.
- `times.py`, `time_slices.py`, `slice_parts.py`, `growing.py`, `stretches.py`, `ordering.py`: time columns, and state
  in slices of time that is freed and saved slice by slice.
- `coverage.py`, `breaches.py`, `least_held.py`, `lowering.py`, `oldest.py`: whole batches against a frontier, and what
  is held back.
- `writing.py`: what an operator does with a row, as steps of a program.
- `batches.py`, `marks.py`, `train.py`, `arrival.py`, `compute.py`: batches of a good size, marks on them, trains of a
  source, the clock as a promise.

Decisions:

- An operator translates the whole frontier of its inputs, because only the whole says what holds when a group column is
  dropped or two inputs meet. Where the consequence of one new promise can be told by itself, only that is computed:
  with many groups this is a look-up instead of a scan. The laws in `oop/testing/laws.py` hold both to the same answer,
  and `tests/oop_/engines/embedded/test_what_changes.py` counts the steps for n and for 4 n groups.
- Where an operator holds rows that lower a bound, its crossing says how far a promise may go at most (`Spec.held_back`
  names the attributes), and the running operator says how far it goes.
- Where an operator promises by counting rows (`Spec.counts`), its crossing says only that there will be bounds.
- Rows may overtake promises. Promises never overtake rows.
- Promises about groups that arrive in a row are handed to an operator together, so that one scan serves them all. A
  promise about all rows comes alone. What a session says of single groups may depend on which promises came together.
  Promises are therefore coupled where they are handed over, and never by shards, whose timing is not fixed.
- Marks are in the metadata of a batch's schema (`marks.py`): that its rows are late, that they are partial aggregates,
  or which output of a split they go to. An unmarked row costs nothing. A batch is late as a whole or not at all. Only
  batches with the same marks are joined into one.
- State is saved in parts that follow time, so that purging removes parts and a small change saves little.
- Integers keep their width as keys, so that two int32 are one word and are stored in the hash table itself. Other keys
  are found by a hash of 64 bits and compared where they are kept. Text is coded first, by a dictionary for each column
  and table, and a batch is examined by its distinct values. The kept keys and counts are the columns of the result, so
  nothing is copied.
- A row's shard is a fixed hash of its key; text goes by the hash of its value. Saved state is therefore found again by
  the same number of workers, and state of another number is refused.
- Python's dictionaries hold only the groups that promises and policies name. A whole number of 64 bits shares its hash
  with at most eight others, a float with some thirty, and the hash of text is seeded. Decimals are the exception:
  chosen values can collide, and slow down a policy `by=` such a column.
- Operators that look at the clock (`Spec.clocked`) get promises on a virtual attribute, `arrival < now`. The engine
  makes them only while no row waits in front of the operator, and they cross no arc (`arrival.py`).
"""
