"""Sources: the first operator of every plan guards a stream and makes its promises (OOP paper, sections 3.2, 5.1, 5.4).

Idea. A row is late iff it is below the bound that the rows before it imply, by the policy that its source declares
(`oop.punctuation.policies`). So lateness depends on the order of rows alone: not on how they are cut into batches, nor
on when a promise was sent, nor on whether it helped a consumer. Rows are judged only here, and every operator behind
may trust every promise. A late row is never dropped silently: it is kept in a ledger, with the promise that it broke.

Way in. `input.Input` is what a plan holds: the time, the policies by attribute, what becomes of late rows.
`operator.InputOperator` runs it. It is given batches and promises that the data carries, several at once
(`process_train`), ticks of the clock (`tick`), and the answers of a source that is asked how far it is (`answer`, then
`take_promise`). It calls `made`, which an engine may set, for each promise that it makes. What it uses:

- `looks.py`: one quick check of a batch. Nearly all batches have no late row, and are passed on unchanged.
- `failures.py`: rows without a time, which no policy can judge, and late rows if they are errors.
- `guard.py`: which rows are late, what they broke, and where in a batch a promise comes due; by the `judges` of the
  policies, and by what the data has promised.
- `in_program.py`: the guard where a program does its work.
- `ledger.py`, `entries.py`: the rows that were set aside, how late they were (`lateness.py`, `slack_needed.py`), and
  how many of them are kept (`room.py`, `coupled_entries.py`).
- `numbers.py`: numbers of rows, if an operator counts them. `stamping.py`: rows that get their time here.
- `carried.py`: promises as users write them. The gate (`oop.punctuation.interest`) holds back promises that help no
  consumer.

How to add a source policy: the docstring of `oop.punctuation.policies` has the list. Here nothing is to be done,
unless the policy has a kernel of its own (`judges`).

Decisions are in `DECISIONS.md` beside this file.
"""
