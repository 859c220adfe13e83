"""Groups and their partial aggregates, held in slices of time so that a promise frees them in bulk.

Idea. A *slot* is where a group stands in time: a window, a pane, or a value of the progressing attribute. A table has
the groups of one slice of slots; the store is the slices by number. Purging and saving work on whole slices.

Way in. Read `store.py`, then `table.py` (the groups of one slice), `shape.py` (what all tables of an operator have in
common) and `store_operator.py`, the base of operators with groups. `targets.py` is a store as programs fill it.
`reach.py` keeps how far promises reach for each group, `slices.py` which slices hold a group, `table_pieces.py` gives
results of complete tables piece by piece, and `partial_table.py` is the table of fixed size behind two-level
aggregation.

Decisions:

- A slice holds one slot until one batch touches more than 64 slices, or until batches keep bringing only few rows to
  each further slice that they touch. Then slices become four times as wide. With one slot to a slice the slot need not
  be part of the key.
- Slices of panes become narrow again once they hold, for each pane between the first and the last, more groups than
  four times the rows that justify a table of its own.
- A group-by slices by its first promised key. Rows with a null in that key have a slice of their own above all others.
- Functions of one column share what they keep where they can (`Summary`), which pays for two functions that would keep
  arrays of their own.
- An aggregate has the bounds of its groups by dense id in an array (`reach.py`), so the groups of a window are compared
  in one pass. Promises of an order bring numbers of their groups (`operators/core/numbered_bounds.py`), which are
  looked up once. Where promises move few groups and many windows are open, only slices that hold one of these groups
  are examined (`slices.py`): slices are noted by whole tables, and sorted for a group when a promise moves it.
- A closed table gives its results without a copy of it (`table_pieces.py`). Groups that leave a table are copied, but
  get no table of keys: nobody looks them up any more.
"""
