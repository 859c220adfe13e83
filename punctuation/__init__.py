"""Promises: pure values, standard library only.

Patterns make a `Punctuation`, a `Frontier` keeps a stream's strongest ones, `translate` takes frontiers across
operators, policies make promises at a source, an `Interest` says which of them help a consumer.
"""

from oop.punctuation.corners import Corners
from oop.punctuation.frontier import Frontier
from oop.punctuation.group_promises import GroupPromises
from oop.punctuation.interest import Gate, Interest
from oop.punctuation.patterns import Below, Equal, In, NotIn, Range, not_in
from oop.punctuation.policies import arrival, at_end, exact, ordered, punctuated, slack, timer
from oop.punctuation.policy import Policy
from oop.punctuation.promise import END, Punctuation

__all__ = [
    "END",
    "Below",
    "Corners",
    "Equal",
    "Frontier",
    "Gate",
    "GroupPromises",
    "In",
    "Interest",
    "NotIn",
    "Policy",
    "Punctuation",
    "Range",
    "arrival",
    "at_end",
    "exact",
    "not_in",
    "ordered",
    "punctuated",
    "slack",
    "timer",
]
