"""Sources: the first operator of every plan guards a stream and makes its promises (OOP paper, sections 3.2, 5.1, 5.4).

**The idea.** A row is late iff it is below the bound that the rows before it imply, by the policy that its source
declares (`oop.punctuation.policies`). So lateness depends on the order of rows alone: not on how they are cut into
batches, nor on when a promise was sent, nor on whether it helped a consumer. Rows are judged only here, and every
operator behind may trust every promise. A late row is never dropped silently: it is kept in a ledger, with the promise
that it broke.

**The way in.** `input.Input` is what a plan holds: the time, the policies by attribute, what becomes of late rows.
`operator.InputOperator` runs it, and is given batches, promises that the data carries, and ticks of the clock:

- `looks.py`: one quick check of a batch. Nearly all batches have no late row, and are passed on unchanged.
- `failures.py`: rows without a time, which no policy can judge, and late rows if they are errors.
- `guard.py`: which rows are late, what they broke, and where in a batch a promise comes due; by the `judges` of the
  policies, and by what the data has promised.
- `ledger.py`, `entries.py`: the rows that were set aside, how late they were (`lateness.py`, `slack_needed.py`), and
  how many of them are kept (`room.py`, `coupled_entries.py`).
- `numbers.py`: numbers of rows, if an operator counts them. `stamping.py`: rows that get their time here.
- `carried.py`: promises as users write them. The gate (`oop.punctuation.interest`) holds back promises that help no
  consumer.

**How to add a source policy**: the docstring of `oop.punctuation.policies` has the list. Here nothing is to be done,
unless the policy has a kernel of its own (`judges`).

**Decisions.**

- ``late=`` is "drop", "raise" or "admit" (marked, behind the others of its batch). With "raise", the rows before the
  first late row of a batch, and the promises that they imply, leave before the error. For rows without a time
  ``nulls=`` is "raise" or "aside", into the same ledger.
- A batch is cut where a step of ``every=`` is reached, for one attribute without groups; otherwise the promise
  follows at the end of the batch.
- Null and NaN break no promise. On further attributes infinity is not judged, and does not make a promise that covers
  everything.
- A row that breaks several promises is kept once and booked on each attribute, with the strongest promise on it. One
  that breaks a joint promise is of unknown lateness on all of them.
- A row is on time iff it trails the maximum seen by at most the slack. A late row trails it by the slack plus its
  lateness, so the slack that would have kept it is known. Rows on time are not measured; where they decide, the present
  slack is an upper bound of the slack that is needed. For slack by rows, the slack that would have kept a late row is
  the number of greater rows before it. They all came after the stream passed the row's time, so the last few thousand
  arrivals give the number, or a bound on it.
- Elements that are at hand are processed in trains: rows of several batches together, with promises at their places.
  Which rows are late does not change, because rows may overtake promises but not each other. Only promises that help a
  consumer cut a train; bounds never retreat, so bisection finds them. Policies by group and by the clock,
  ``late="raise"`` with promises in the data, and promises that are not linear are processed one element after the
  other.
"""
