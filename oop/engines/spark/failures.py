"""Errors from Spark's workers come back as errors of oop: what went wrong, in which operator, at which line.

A worker raises an `OopError` whose text has the operator and the user's line. Spark wraps that text into pages of its
own, in which `ours` finds it again on the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from oop import errors
from oop.errors import OopError
from oop.plan.graph import Node

_OURS = re.compile(
    r"oop\.errors\.(?P<kind>\w+): (?P<what>[^\n]*?)(?: \(at (?P<at>[^\n]*?)\))?(?:\nHint: (?P<hint>[^\n]*))?(?:\n|$)"
)


@contextmanager
def located(node: Node) -> Iterator[None]:
    """Let an error that is raised inside name this operator and its line, unless it names an inner one already."""
    try:
        yield
    except OopError as wrong:
        if wrong.at is None:
            what = " ".join(f"{node.spec.name}: {wrong.what}".split())  # in one line, so that it can be found again
            named = type(wrong)(what, at=node.site, hint=wrong.hint)
            raise named from wrong.__cause__
        raise
    except Exception as wrong:
        what = " ".join(f"{type(wrong).__name__}: {wrong}".split())  # in one line, so that it can be found again
        raise OopError(f"{node.spec.name} failed with {what}", at=node.site) from wrong


def ours(failure: BaseException) -> OopError | None:
    """The error of oop that a worker raised, found in the text of Spark's error. None if there is none in it.

    >>> page = "Traceback ...\\noop.errors.LateRow: row 3 is late (at q.py:7)\\nHint: promise less\\n\\tat java.lang"
    >>> ours(RuntimeError(page))
    LateRow('row 3 is late', 'q.py:7', 'promise less')
    """
    found = list(_OURS.finditer(str(failure)))
    if not found:
        return None
    last = found[-1]
    kind = getattr(errors, last["kind"], OopError)
    return kind(last["what"], at=last["at"], hint=last["hint"])
