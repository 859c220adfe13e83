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

Idea. An object with parameters is applied to streams and gives a plan of specs. Except for BSort and WSort, which are
sorts, none of the operators sorts. Those that are sensitive to order take rows as they arrive, set aside what is out of
the assumed order, and promise what that allows (`Assume`). The operators that oop has anyway do the rest.

Way in. Read `assuming.py`, then `aggregate.py`, which has Slide and XSection too. `agnostic.py` is Filter, Map and
Union. What runs is in `operators/assume` and `operators/aurora`. Several names are those of specs too (`Aggregate`,
`Join`): the class here is the operator of the paper, with its parameters, and what it puts into a plan are specs, one
or several.

Decisions:

- Aggregate is Assume, Bucket, Aggregate, and a projection to the paper's columns. Join is two Assumes and the band
  join. So nothing is sorted (Aurora paper, footnote 7), and the two identities with BSort are tests.
- Windows on `Tup#` are those of a grid, of which only the full ones pass a filter. `Tup#` counts rows where Assume
  stands; `oop.rows` counts them at the source.
- Slide is Aggregate with `advance <= size`.
- XSection has an order for each group, and windows over all groups. It closes windows by the promise about all rows,
  which needs `groups=` or `idle=` (rows are then judged by the policy that a source would have,
  `operators/assume/by_policy.py`), or the end. Its groups are not in the result.
- Join by groups (`join_groups.py`). Where P lists the values of an order's group columns, rows of other groups are
  filtered out before the order is assumed, and a column with one value leaves the order. Such rows are therefore not in
  `Run.late` either. With several values the groups are known, as by `groups=`. A mixture, with some group columns equal
  to keys and others with several values, is refused, because the groups of a key are not known.
- Combination functions (Aurora* and Medusa paper, section 5.1) are `combine(column)` of an aggregate function; of a
  user's function its merge, if the state is the result. `Tumble.merge` sorts by promise where the paper has WSort;
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
