"""Aurora's algebra, SQuAl, under its own names (Aurora paper, section 5): operators that are applied to streams.

>>> import pyarrow as pa, oop
>>> from oop import aurora
>>> quotes = pa.table({"Sid": ["IBM", "INT", "IBM"], "Time": [60, 60, 120], "Price": [24, 16, 17]})
>>> quotes = oop.source(quotes, time="Time", punctuate=None)
>>> hourly = aurora.Aggregate(
...     {"AvgPrice": oop.mean("Price")}, assuming=oop.Order("Time", group_by="Sid"), size=60, advance=60
... )
>>> hourly(quotes).run().to_table().to_pylist()[0]
{'Time': 60, 'Sid': 'IBM', 'AvgPrice': 24.0}

Idea. An object with parameters is applied to streams and gives a plan of specs. Only BSort and WSort sort. Operators
that are sensitive to order take rows as they arrive, set aside rows that are out of the assumed order, and make the
promises which that order allows (`Assume`). The operators of oop do the rest.

Way in. Read `assuming.py`, then `aggregate.py`, which has Slide and XSection too. `agnostic.py` is Filter, Map and
Union. What runs is in `operators/assume` and `operators/aurora`. Some classes have the same name as a spec
(`Aggregate`, `Join`): the class here is the operator of the paper, with its parameters; it puts one or several specs
into a plan.

Decisions:

- Aggregate is Assume, Bucket, Aggregate, and a projection to the paper's columns. Join is two Assumes and the band
  join. So nothing is sorted (Aurora paper, footnote 7). Tests compare both with a BSort before an order without slack.
- Windows on `Tup#` are those of a grid; a filter passes only the full ones. `Tup#` counts the rows that reach Assume,
  `oop.rows` those of the source.
- Slide is Aggregate with `advance <= size`.
- XSection has an order for each group, and windows over all groups. It closes windows by the promise about all rows,
  which needs `groups=`, `idle=`, or the end. With `groups=` or `idle=` rows are judged as by the policy of a source
  (`operators/assume/by_policy.py`). The groups are not in the result.
- Join by groups (`join_groups.py`). Where P lists the values of an order's group columns, rows of other groups are
  filtered out before the order is assumed, and a column with one value leaves the order. Such rows are therefore not in
  `Run.late` either. With several values the groups are known, as by `groups=`. A mixture, with some group columns equal
  to keys and others with several values, is refused, because the groups of a key are not known.
- Combination functions (Aurora* and Medusa paper, section 5.1) are `combine(column)` of an aggregate function. That of
  a user's function is its merge, if the state is the result. `Tumble.merge` sorts by promise where the paper has WSort;
  `sort=` takes another sort.
- To write an operator that assumes an order, put it behind `aurora.Assume(order)(stream)`, which gives it promises on
  `order.on`. It needs no order of its own then.
"""

from oop.aurora.aggregate import Aggregate, Slide, XSection
from oop.aurora.agnostic import Filter, Map, Union
from oop.aurora.assuming import Assume
from oop.aurora.bsort import BSort
from oop.aurora.join import Join
from oop.aurora.resample import Resample
from oop.aurora.tumble import Tumble
from oop.aurora.wsort import WSort
from oop.operators.assume.order import TUP, Order

__all__ = [
    "TUP",
    "Aggregate",
    "Assume",
    "BSort",
    "Filter",
    "Join",
    "Map",
    "Order",
    "Resample",
    "Slide",
    "Tumble",
    "Union",
    "WSort",
    "XSection",
]
