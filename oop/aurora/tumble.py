"""Tumble (Aurora* and Medusa paper, section 2.2), and its splitting over several machines (section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from oop.aurora.agnostic import Filter, Union
from oop.aurora.arguments import check_stream, named_functions, wrong
from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.operators.aggregate.emit import ON_CHANGE, ON_CLOSE
from oop.operators.assume.order import named_columns
from oop.operators.aurora import tumble
from oop.operators.core.arrival import timeout_in
from oop.operators.expressions.expr import Expr
from oop.operators.functions.function import Function
from oop.punctuation.durations import Duration
from oop.site import user_line
from oop.streams.stream import Stream

StreamSort = Callable[[Stream], Stream]


class Tumble:
    """``Tumble(F, group_by)(S)``: F over windows of rows that follow each other and have the same ``group_by`` values.

    Rows count in the order of their arrival, and a window comes out when the first row with other values arrives. The
    open window comes out at the end, or when it is promised that no further row has its values. ``timeout``: a window
    that has been open for longer, by the clock, comes out early, and rows that would still have belonged to it are
    ignored and counted (``late_unused`` in `Run.metrics`).

    ``emit`` says when results are put out; the default is whenever a window is complete. A number n shows the open
    window after every n of its rows, ``"on_change"`` after every batch that changed it. As with `Stream.emit`, a column
    ``emit`` then says "partial" or "final", and final rows are the same as without it.

    >>> import pyarrow as pa, oop
    >>> s = oop.source(pa.table({"A": [1, 1, 2, 1], "B": [2, 3, 2, 1]}), time="A", punctuate=None)
    >>> Tumble({"Result": oop.mean("B")}, "A")(s).run().to_table().to_pylist()
    [{'A': 1, 'Result': 2.5}, {'A': 2, 'Result': 2.0}, {'A': 1, 'Result': 1.0}]
    >>> shown = Tumble({"Result": oop.mean("B")}, "A", emit=1)(s).run().to_table().to_pylist()
    >>> [(row["A"], row["Result"], row["emit"]) for row in shown[:3]]
    [(1, 2.0, 'partial'), (1, 2.5, 'partial'), (1, 2.5, 'final')]
    """

    def __init__(
        self,
        F: Mapping[str, Function],
        group_by: str | Iterable[str] = (),
        timeout: Duration | None = None,
        emit: str | int | None = None,
    ) -> None:
        self.functions = named_functions(F)
        self.keys = named_columns(group_by)
        self.timeout = None if timeout is None else timeout_in(timeout)
        self._given = timeout
        self.emit = _emission(emit)

    def __call__(self, stream: Stream) -> Stream:
        check_stream(stream)
        for key in self.keys:
            if key not in stream.schema.names:
                raise UnknownColumn.of(key, stream.schema.names, at=user_line())
        try:
            functions = tuple((n, self._over(stream, f)) for n, f in self.functions.items())
        except OopError as error:
            raise error.located(user_line()) from None
        spec = tumble.Tumble(self.keys, functions, self.timeout)
        call = f"Tumble({', '.join(f'{n}={f.title}' for n, f in functions)})"
        found = Stream(stream.flow.then(spec, call, time=stream.time if stream.time in self.keys else None))
        if isinstance(self.emit, int):
            return found.emit(rows=self.emit)
        return found if self.emit is None else found.emit(self.emit)

    @staticmethod
    def _over(stream: Stream, function: Function) -> Function:
        if function.keeps_account:
            raise SchemaMismatch(f"{function} is known for windows of time and rows only")
        function = function.by_default(stream.time).in_window(None)
        function.type(stream.schema)
        return function

    @property
    def combined(self) -> Tumble:
        """The Tumble that combines the results of several such boxes, by the combination function of each aggregate.

        >>> import oop
        >>> Tumble({"cnt": oop.count(), "most": oop.max("B")}, "A").combined.functions
        {'cnt': Sum(of=cnt), 'most': Max(of=most)}
        """
        return Tumble({n: f.combine(n) for n, f in self.functions.items()}, self.keys, self._given, self.emit)

    def merge(self, *parts: Stream, sort: StreamSort | None = None) -> Stream:
        """The results of several such boxes, each for some of the rows, as if there had been one box (figure 6).

        The results are united, sorted by the group-by attributes, and combined. ``sort`` takes the stream and sorts it;
        the default sorts by promises about the first attribute. The answer is that of one box if rows of equal values
        follow each other in the stream; otherwise windows of equal values become one.
        """
        if not self.keys:
            raise wrong("there is nothing to bring into order: the Tumble has no group_by", "write Tumble(F, 'A')")
        _check_sort(sort)
        united = Union()(*parts)
        return self.combined((sort or (lambda s: s.sort(*self.keys[1:], on=self.keys[0])))(united))

    def split(self, predicate: Expr, sort: StreamSort | None = None) -> Callable[[Stream], Stream]:
        """This box split in two: rows for which the predicate holds go to one, all others to the other (figure 6).

        >>> import pyarrow as pa, oop
        >>> rows = pa.table({"A": [1, 1, 2, 2, 2, 4, 4], "B": [2, 3, 2, 1, 6, 5, 2]})
        >>> s = oop.source(rows, time="A", punctuate=oop.ordered())
        >>> box = Tumble({"result": oop.count()}, "A")
        >>> split = box.split(oop.col("B") < 3)
        >>> split(s).run().to_table().to_pylist() == box(s).run().to_table().to_pylist()
        True
        """
        self.combined  # noqa: B018  whether the aggregates can be combined does not depend on a stream
        _check_sort(sort)

        def applied(stream: Stream) -> Stream:
            check_stream(stream)
            # only the last box shows results before they are complete
            part = Tumble(self.functions, self.keys, self._given)
            return self.merge(*map(part, Filter(predicate)(stream)), sort=sort)

        return applied


def _emission(emit: object) -> str | int | None:
    if emit is None or (isinstance(emit, str) and emit in (ON_CLOSE, ON_CHANGE)):
        return emit
    if isinstance(emit, bool) or not isinstance(emit, int) or emit < 1:
        raise wrong(
            f"emit= says when results are put out, not {emit!r}",
            f"write emit=10 (after every ten rows of a window), emit={ON_CHANGE!r} or emit={ON_CLOSE!r}",
        )
    return emit


def _check_sort(sort: object) -> None:
    if sort is not None and not callable(sort):
        raise wrong(
            f"sort= makes a sorted stream of a stream, it is not {sort!r}",
            "write sort=oop.aurora.WSort('A', timeout='5s'), or leave it out",
        )
