"""Sequence numbers: the names of hidden columns that carry them."""

SEQ = "__seq"
"""The number of a row in its stream, from 0."""
