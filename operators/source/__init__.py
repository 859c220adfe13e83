"""Sources: the first operator of every plan guards a stream and makes its promises (OOP paper, sections 3.2, 5.1, 5.4).

**The idea.** A row is late iff it is below the bound that the rows before it imply, by the policy that its source
declares (`oop.punctuation.policies`). So lateness depends on the order of rows alone: not on how they are cut into
batches, not on when a promise left, not on whether it helped somebody. Rows are judged here once; whoever comes behind
may trust every promise. A late row is never dropped in silence: it stands in a ledger, with the promise that it broke.

**The way in.** `input.Input` is what a plan holds: the time, the policies by attribute, what becomes of late rows.
`operator.InputOperator` runs it, and is given batches, promises that the data carries, and ticks of the clock:

- `looks.py`: one look at a batch that has no late row, as nearly all have none. It goes on as it came.
- `failures.py`: rows without a time, which no policy can judge, and late ones where that is an error.
- `guard.py`: which rows are late, what they broke, and where in a batch a promise comes due; by the `judges` of the
  policies, and by what the data has promised.
- `ledger.py`: the rows that were set aside, how late they were (`lateness.py`, `slack_needed.py`), and how many of them
  are kept (`room.py`, `coupled_entries.py`).
- `numbers.py`: numbers of rows, where someone counts them. `stamping.py`: rows that get their time here.
- `carried.py`: promises as users write them. The gate (`oop.punctuation.interest`) swallows what helps nobody.

**How to add a source policy**: the docstring of `oop.punctuation.policies` has the list. Here nothing is to be done,
unless the policy has a kernel of its own (`judges`).

**Decisions.**

- ``late=`` is "drop", "raise" or "admit" (marked, behind the others of its batch). Where late rows are errors, what
  came before the first of them in its batch, and what that implies, leaves before the error. Rows without a time:
  ``nulls=`` is "raise" or "aside", into the same ledger.
- A batch is cut where a step of ``every=`` is reached, for one attribute without groups; otherwise the promise
  follows at the end of the batch.
- Null and NaN break no promise. On further attributes infinity is not judged, and does not make a promise that covers
  everything.
- A row that breaks several promises is kept once and booked on each attribute, with the strongest promise on it. One
  that breaks a joint promise is of unknown lateness on all of them.
- A slack keeps a row iff it is no further behind the greatest before it. A late row is behind by the slack and by
  what it is late by; rows on time are not measured, so where they decide, the present slack is an upper bound of what
  is needed. For slack by rows it is how many greater rows came before: they came after the stream passed the row's
  time, so the last few thousand arrivals tell the number, or a bound on it.
- What a source has at hand comes in trains: rows of several batches together, with promises at their places. Which
  rows are late does not change, since rows may overtake promises but not each other. Only promises that help someone
  cut a train; bounds never retreat, so bisection finds them. Policies by group and by the clock, ``late="raise"``
  with promises in the data, and promises that are not linear go one element after the other.
"""
