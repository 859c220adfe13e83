"""Aurora's algebra, SQuAl, under its own names (Aurora paper, section 5): an operator with its parameters is applied to
streams.

>>> import pyarrow as pa, oop
>>> from oop import aurora
>>> quotes = pa.table({"Sid": ["IBM", "INT", "IBM"], "Time": [60, 60, 120], "Price": [24, 16, 17]})
>>> quotes = oop.source(quotes, time="Time", punctuate=None)
>>> hourly = aurora.Aggregate(
...     {"AvgPrice": oop.mean("Price")}, assuming=oop.Order("Time", group_by="Sid"), size=60, advance=60
... )
>>> hourly(quotes).run().to_table().to_pylist()[0]
{'Time': 60, 'Sid': 'IBM', 'AvgPrice': 24.0}

But for BSort and WSort, which are sorts, none of them sorts. Those that are sensitive to order take rows as they
arrive, set aside what is out of the order that is assumed, and promise what that allows (`Assume`); the rest is done by
the operators that oop has anyway.
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
