"""Every error of oop says what is wrong, where in the user's code, and what to do.

This module is in the bottom layer: any module may import it, and it imports nothing of oop.

>>> raise OopError("no such thing", at="report.py:9", hint="write oop.col('len')")
Traceback (most recent call last):
    ...
oop.errors.OopError: no such thing (at report.py:9)
Hint: write oop.col('len')
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class OopError(Exception):
    """The base of all errors that oop raises on purpose.

    >>> wrong = OopError("no such thing", hint="write oop.col('len')")
    >>> wrong.what, wrong.at, wrong.hint
    ('no such thing', None, "write oop.col('len')")
    """

    def __init__(self, what: str, *, at: str | None = None, hint: str | None = None) -> None:
        self.what = what
        self.at = at
        self.hint = hint
        super().__init__(what, at, hint)

    def __str__(self) -> str:
        text = self.what
        if self.at and self.at not in text:
            text += f" (at {self.at})"
        if self.hint:
            text += f"\nHint: {self.hint}"
        return text

    def __reduce__(self) -> tuple[Callable[..., OopError], tuple[object, ...]]:
        return _rebuild, (type(self), self.what, self.at, self.hint)

    def located(self, at: str | None) -> OopError:
        """The same error with the user's line, if it does not know one yet."""
        if self.at is None:
            self.at = at
        return self


def _rebuild(kind: type[OopError], what: str, at: str | None, hint: str | None) -> OopError:
    """Make an error again in another process, with the same text."""
    return kind(what, at=at, hint=hint)


class NeverEmits(OopError):
    """A plan has an operator that no promise of its inputs could ever unblock.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=None, name="north")
    >>> s.window(oop.tumbling(5)).agg(n=oop.count()).run()
    Traceback (most recent call last):
        ...
    oop.errors.NeverEmits: .agg(n=count) at ... can never emit: input 'north' makes no promise about 'ts'...
    """


class LateRow(OopError):
    """A row breaks a promise that its source had made, and the source says ``late="raise"``.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [5, 1]}), time="ts", punctuate=oop.ordered(), name="north", late="raise")
    >>> s.run().to_table()
    Traceback (most recent call last):
        ...
    oop.errors.LateRow: source 'north': row 1 breaks the promise ts < 5: ts=1...
    """


class SchemaMismatch(OopError):
    """Columns are missing, or have types that do not fit together.

    >>> import oop, pyarrow as pa
    >>> oop.source(pa.table({"ts": ["now"]}), time="ts", punctuate=oop.ordered())
    Traceback (most recent call last):
        ...
    oop.errors.SchemaMismatch: the time column 'ts' is string; it must be an integer, float, date or timestamp...
    """


class PunctuationViolated(OopError):
    """An operator broke its own promise, which is always a bug in the operator.

    It is raised by ``oop.Embedded(check=True)``, which watches every operator.

    >>> issubclass(PunctuationViolated, OopError)
    True
    """


class SourceError(OopError):
    """A source could not be read to its end: cut short, unreadable, or already consumed.

    >>> import oop
    >>> oop.source("no.parquet", time="ts", punctuate=oop.ordered())
    Traceback (most recent call last):
        ...
    oop.errors.SourceError: ...
    """


class SinkError(OopError, OSError):
    """A sink could not be written: there is no such folder, no permission, or no room. Also an OSError.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    >>> s.run(to="/no/such/folder/out.csv")
    Traceback (most recent call last):
        ...
    oop.io.replacing.Missing: cannot write /no/such/folder/out.csv: there is no directory /no/such/folder...
    """


class RunInterrupted(OopError):
    """A run is read on after it was interrupted (Ctrl-C, ``sys.exit``) in the middle of its work. Rows that it had read
    and not yet put out are lost, so it has no right answer any more.

    >>> import oop, pyarrow as pa
    >>> def batches():
    ...     yield pa.record_batch({"ts": [1]})
    ...     raise KeyboardInterrupt
    >>> run = oop.source(batches, time="ts", punctuate=oop.ordered()).run()
    >>> try:
    ...     run.to_table()
    ... except KeyboardInterrupt:
    ...     run.to_table()
    Traceback (most recent call last):
        ...
    oop.errors.RunInterrupted: this run was interrupted by KeyboardInterrupt in the middle of its work...
    """


class TimeError(OopError):
    """A time value that cannot be placed: null, NaN, infinite, or too close to the type's limit.

    >>> import oop, pyarrow as pa
    >>> oop.source(pa.table({"ts": [1, None]}), time="ts", punctuate=oop.ordered(), name="north").run().to_table()
    Traceback (most recent call last):
        ...
    oop.errors.TimeError: source 'north': row 1 has no value in its time column 'ts'...
    """


class WrongArgument(OopError, TypeError, ValueError):
    """An argument that means nothing where it was given. Also a TypeError and a ValueError, for code that expects one.

    >>> str(WrongArgument("a share is a number, not 'most'", at="report.py:9", hint="write 0.99"))
    "a share is a number, not 'most' (at report.py:9)\\nHint: write 0.99"
    """


class UnknownSource(OopError, KeyError):
    """A name that none of a run's sources has. The hint names the nearest one. Also a KeyError.

    >>> str(UnknownSource.of("nort", ["north", "south"]))
    "there is no source 'nort'\\nHint: did you mean 'north'?"
    """

    @classmethod
    def of(cls, name: object, known: Iterable[str], at: str | None = None) -> UnknownSource:
        known = list(known)
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"name one that there is: {', '.join(map(repr, known))}"
        return cls(f"there is no source {name!r}", at=at, hint=hint)


class UnknownColumn(OopError):
    """A column that the stream does not have. The hint names the nearest one.

    >>> str(UnknownColumn.of("lenn", ["ts", "len"]))
    "no column 'lenn'; the stream has ts, len\\nHint: did you mean 'len'?"
    """

    @classmethod
    def of(cls, name: str, known: Iterable[str], at: str | None = None) -> UnknownColumn:
        known = list(known)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else None
        shown = ", ".join(known) or "no columns"
        return cls(f"no column {name!r}; the stream has {shown}", at=at, hint=hint)
