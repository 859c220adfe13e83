"""Users' aggregates compiled by Numba: loops around the user's functions, which become part of them.

The loops are generated as text for the number of values and of components that there are: components may differ in
type, so each has a name of its own. The functions are compiled first, one by one: this gives their types, and an error
can name the function that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.checks import Array, Bools, Ints, KernelError
from oop.kernels.jit.compiler import (
    NO_ROWS,
    CannotCompile,
    as_input,
    as_mask,
    compile_for_c,
    compile_function,
    compile_text,
)
from oop.kernels.once import once
from oop.kernels.results import Result, part_names
from oop.kernels.user.checked import UserLoops
from oop.kernels.user.folds import KINDS, Fold, Functions, check_parts, failed, say_state

_ADD = """
def loop(ids, valid, counts, {parts}, {values}):
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        group = ids[i]
        made = incr({state}, {given})
        {store}
        counts[group] += 1
"""
_ADD_IN_C = """
def loop(ids_, valid_, valid_count, n, size, arrays, a, b, row):
    ids, valid = carray(ids_, n, int64), carray(valid_, valid_count, bool_)
    counts, failed = carray(arrays[0], size, int64), carray(row, 1, int64)
    {columns}
    try:
        for i in range(n):
            if valid_count and not valid[i]:
                continue
            failed[0] = i
            group = ids[i]
            made = incr({state}, {given})
            {store}
            counts[group] += 1
    except Exception:
        return 1
    return 0
"""
_MERGE = """
def loop(ids, counts_in, {parts_in}, counts, {parts}):
    for i in range(len(ids)):
        if counts_in[i]:
            group = ids[i]
            if counts[group]:
                made = merge({state}, {state_in})
                {store}
            else:
                {take}
            counts[group] += counts_in[i]
"""
_FINISH = """
def loop(counts, {parts}, starts, ends, {outs}):
    for group in range(len(counts)):
        if counts[group]:
            made = final({state}, {edges})
            {store}
"""
_ADVICE = "use numbers, tuples, math and NumPy as Numba has them; what a name from outside stands for is fixed"
_NUMPY = {"int": "int64", "float": "float64", "bool": "bool_"}
_VALUES_IN_C = ("a", "b")
_NO_COUNTS = np.zeros(0, np.int64)


class CompiledLoops(UserLoops):
    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        functions = fold.functions
        self._parts = _names("part", len(functions.states))
        self._outer = {"State": type(functions.init)}
        self._incr, made = _compiled(functions, "incr", functions.incr, (functions.init, *map(_example, fold.values)))
        check_parts("incr", functions, made)
        self._merge_loop = None if functions.merge is None else self._make_merge(functions.merge)
        kind = KINDS[fold.edges or "int"]
        self._no_edges = np.zeros(0, kind), np.zeros(0, kind)
        if functions.final is None:
            names = part_names(functions.init, len(functions.states)) if functions.is_tuple else None
            self.result = Result(functions.states, names)
        else:
            self._finish_loop = self._make_finish(functions.final)

    @once
    def _add_loop(self) -> Any:
        """The loop over rows. Programs have one of their own, so it is compiled when it is first needed."""
        values = _names("value", len(self.fold.values))
        text = _ADD.format(parts=", ".join(self._parts), values=", ".join(values), **self._filled(values, 8))
        inputs = _inputs(*(np.zeros(0, KINDS[kind]) for kind in self.fold.values))
        arrays = [NO_ROWS, as_mask(None), _NO_COUNTS, *self.functions.columns(0), *inputs]
        return compile_text(text, {"incr": self._incr, **self._outer}, arrays)

    @once
    def _add_in_c(self) -> Any:
        values = list(self.fold.values)
        if len(values) > len(_VALUES_IN_C):
            raise KernelError(f"a program gives a user's function at most {len(_VALUES_IN_C)} values")
        parts = [f"{p} = carray(arrays[{i}], size, {_NUMPY[kind]})" for i, (p, kind) in self._numbered_parts()]
        given = list(zip(_VALUES_IN_C, values, strict=False))
        rows = [f"{name}_values = carray({name}, n, {_NUMPY[kind]})" for name, kind in given]
        text = _ADD_IN_C.format(
            columns=_lines(4, [*parts, *rows]), **self._filled([f"{name}_values" for name, _ in given], 12)
        )
        return compile_for_c(text, {"incr": self._incr, **self._outer})

    def _numbered_parts(self) -> Iterable[tuple[int, tuple[str, str]]]:
        """The components with their kinds, by their place among the arrays of a target, where counts are the first."""
        return enumerate(zip(self._parts, self.functions.states, strict=True), 1)

    def _filled(self, values: Sequence[str], indent: int) -> dict[str, str]:
        """What a loop over rows does with one, whose values are in these columns."""
        return {
            "state": self._state(self._parts, "group"),
            "given": ", ".join(f"{value}[i]" for value in values),
            "store": _store(indent, self._parts, "made", self.functions.is_tuple),
        }

    @property
    def address(self) -> int:
        found: int = self._add_in_c.address
        return found

    def _make_merge(self, merge: Callable[..., Any]) -> Any:
        functions = self.functions
        compiled, made = _compiled(functions, "merge", merge, (functions.init, functions.init))
        check_parts("merge", functions, made)
        parts_in = _names("theirs", len(self._parts))
        text = _MERGE.format(
            parts_in=", ".join(parts_in),
            parts=", ".join(self._parts),
            state=self._state(self._parts, "group"),
            state_in=self._state(parts_in, "i"),
            store=_store(16, self._parts, "made", functions.is_tuple),
            take=_lines(
                16, (f"{ours}[group] = {theirs}[i]" for ours, theirs in zip(self._parts, parts_in, strict=True))
            ),
        )
        arrays = [NO_ROWS, *_inputs(_NO_COUNTS, *functions.columns(0)), _NO_COUNTS, *functions.columns(0)]
        return compile_text(text, {"merge": compiled, **self._outer}, arrays)

    def _make_finish(self, final: Callable[..., Any]) -> Any:
        functions = self.functions
        edges = [] if self.fold.edges is None else [_example(self.fold.edges)] * 2
        compiled, self.result = _compiled(functions, "final", final, (functions.init, *edges))
        outs = _names("out", len(self.result.kinds))
        text = _FINISH.format(
            parts=", ".join(self._parts),
            outs=", ".join(outs),
            state=self._state(self._parts, "group"),
            edges="starts[group], ends[group]" if edges else "",
            store=_store(12, outs, "made", self.result.names is not None),
        )
        arrays = [*_inputs(_NO_COUNTS, *functions.columns(0), *self._no_edges), *self._outs(0)]
        return compile_text(text, {"final": compiled, **self._outer}, arrays)

    def _state(self, columns: Sequence[str], row: str) -> str:
        """A group's state, as the user's functions take it."""
        parts = [f"{column}[{row}]" for column in columns]
        if not self.functions.is_tuple:
            return parts[0]
        return f"{'State' if hasattr(self.functions.init, '_fields') else ''}({', '.join(parts)},)"

    def _outs(self, length: int) -> list[Array]:
        return [np.zeros(length, KINDS[kind]) for kind in self.result.kinds]

    def _add(
        self, ids: Ints, values: Sequence[Array], valid: Bools | None, counts: Ints, state: Sequence[Array]
    ) -> None:
        _run("incr", self._add_loop, as_input(ids), as_mask(valid), counts, *state, *_inputs(*values))

    def _merge(
        self, ids: Ints, counts_in: Ints, state_in: Sequence[Array], counts: Ints, state: Sequence[Array]
    ) -> None:
        _run("merge", self._merge_loop, *_inputs(ids, counts_in, *state_in), counts, *state)

    def _finish(self, counts: Ints, state: Sequence[Array], edges: tuple[Array, Array] | None) -> list[Array]:
        outs = self._outs(len(counts))
        _run("final", self._finish_loop, *_inputs(counts, *state, *(edges or self._no_edges)), *outs)
        return outs


def _run(role: str, loop: Any, *arrays: Array) -> None:
    try:
        loop(*arrays)
    except Exception as error:
        raise failed(role, error) from error


def _compiled(
    functions: Functions, role: str, function: Callable[..., Any], examples: Sequence[Any]
) -> tuple[Any, Result]:
    try:
        return compile_function(function, examples)
    except CannotCompile as error:
        kinds = [say_state(functions) if e is functions.init else type(e).__name__ for e in examples]
        code = getattr(function, "__code__", None)
        where = "" if code is None else f" (line {code.co_firstlineno} of {code.co_filename})"
        what = f"Numba cannot compile {role}{where} for ({', '.join(kinds)}): {error}"
        raise OopError(what, hint=_ADVICE) from error


def _example(kind: str) -> Any:
    return KINDS[kind](0).item()


def _inputs(*arrays: Array) -> list[Array]:
    return [as_input(array) for array in arrays]


def _names(name: str, count: int) -> list[str]:
    return [f"{name}{i}" for i in range(count)]


def _store(indent: int, columns: Sequence[str], made: str, is_tuple: bool) -> str:
    """The lines that store what a function returned in the columns."""
    parts = [f"{made}[{i}]" for i in range(len(columns))] if is_tuple else [made]
    return _lines(indent, (f"{column}[group] = {part}" for column, part in zip(columns, parts, strict=True)))


def _lines(indent: int, lines: Iterable[str]) -> str:
    return f"\n{' ' * indent}".join(lines)
