"""The answer of `Run.blame`: why is this window still open? `oop/engines/embedded/tracing.py` finds it."""

from __future__ import annotations

from dataclasses import field

from oop.frozen import frozen
from oop.punctuation import Punctuation


@frozen()
class Link:
    """An operator on the way to a source: the promise that is needed from it, and what it has ``promised`` of it so
    far (None: nothing)."""

    operator: str
    site: str
    needs: str
    promised: str | None

    def __str__(self) -> str:
        promised = f"promised {self.promised}" if self.promised else "promised nothing about it"
        return f"it needs {self.needs} from {self.operator} ({self.site}), which has {promised}"


@frozen()
class Holder:
    """A source that holds back a result.

    ``group`` names the groups that do so, if the source promises by group. ``ago`` and ``rows`` tell when the source
    made the promise that is shown: by the run's clock, and in rows on time since then. Without a promise they count
    from the beginning of the run. ``release`` is the least promise that would release the result.
    """

    source: str
    site: str
    group: str | None
    promised: str | None
    ago: str | None
    rows: int
    release: Punctuation
    needs: str  # ``release`` as text
    progress: float = field(repr=False)  # how far the source is, to compare sources

    def __str__(self) -> str:
        group = f", {self.group}" if self.group else ""
        since = f"{self.rows:,} rows" if self.ago is None else f"{self.ago} ago ({self.rows:,} rows ago)"
        if self.promised is None:
            return f"it is held back by source {self.source!r}{group}: it has promised nothing since {since}"
        return f"it is held back by source {self.source!r}{group}: promised {self.promised}, {since}"


@frozen()
class Blame:
    """Why an operator has not put out ``what`` it holds. ``sources`` are the sources that hold it back, the one with
    the least progress first, and ``links`` are the operators between that source and this operator. If there are no
    sources, the promise that releases it is on its way.

    >>> import oop
    >>> from oop.testing import Harness
    >>> h = Harness(lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()), {"ts": "int64"})
    >>> h.push({"ts": [12, 3]})
    >>> h.promise(ts=4)
    >>> h.run.blame().what, [(s.source, s.promised, s.release) for s in h.run.blame().sources]
    ('window [0, 10)', [('input 0', 'ts < 4', Punctuation(ts < 10))])
    >>> h.end()
    >>> h.run.blame() is None
    True
    """

    what: str
    operator: str
    site: str
    links: tuple[Link, ...]
    sources: tuple[Holder, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.what} of {self.operator} ({self.site}) is open",
            *map(str, self.links),
            *map(str, self.sources),
        ]
        if self.sources:
            lines.append(f"released when {' and '.join(f'{s.source!r} {s.needs}' for s in self.sources)}")
        else:
            lines.append("no source holds it back: what releases it is on its way")
        return "\n  ".join(lines)
