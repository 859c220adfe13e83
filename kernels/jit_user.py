"""Users' aggregates compiled by Numba: loops around the user's functions, which become part of them.

The loops are written out as text for the number of values and of components that there are: to Numba the parts of a
tuple may differ in type, so each is named by itself. Functions are compiled first, and alone: that tells their
types, and an error can say which of them it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.checks import Array, Bools, Ints
from oop.kernels.jit_compiler import NO_ROWS, CannotCompile, as_input, as_mask, compile_function, compile_text
from oop.kernels.reference_user import failed
from oop.kernels.user import KINDS, Fold, Functions, Result, UserLoops, check_parts, part_names, say_state

_ADD = """
def loop(ids, valid, ints, floats, {values}):
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        group = ids[i]
        made = incr({state}, {row})
        {store}
        ints[group, 0] += 1
"""
_MERGE = """
def loop(ids, ints_in, floats_in, ints, floats):
    for i in range(len(ids)):
        if ints_in[i, 0]:
            group = ids[i]
            if ints[group, 0]:
                made = merge({state}, {state_in})
                {store}
            else:
                for word in range(1, ints.shape[1]):
                    ints[group, word] = ints_in[i, word]
            ints[group, 0] += ints_in[i, 0]
"""
_FINISH = """
def loop(ints, floats, starts, ends, {outs}):
    for group in range(len(ints)):
        if ints[group, 0]:
            made = final({state}, {edges})
            {store}
"""
_ADVICE = "use numbers, tuples, math and NumPy as Numba has them; what a name from outside stands for is fixed"


class CompiledLoops(UserLoops):
    def __init__(self, fold: Fold) -> None:
        super().__init__(fold)
        functions = fold.functions
        self.state = np.zeros((0, len(functions.zero)), np.int64)
        values = [np.zeros(0, KINDS[kind]) for kind in fold.values]
        self._add_loop = self._make_add(values)
        self._merge_loop = None if functions.merge is None else self._make_merge(functions.merge)
        kind = KINDS[fold.edges or "int"]
        self._no_edges = np.zeros(0, kind), np.zeros(0, kind)
        if functions.final is None:
            names = part_names(functions.init, len(functions.states)) if functions.is_tuple else None
            self.result = Result(functions.states, names)
        else:
            self._finish_loop = self._make_finish(functions.final)

    def _make_add(self, values: list[Array]) -> Any:
        incr, made = _compiled(
            self.functions, "incr", self.functions.incr, (self.functions.init, *map(_example, self.fold.values))
        )
        check_parts("incr", self.functions, made)
        names = [f"value{i}" for i in range(len(values))]
        text = _ADD.format(
            values=", ".join(names),
            state=self._read("ints", "floats", "group"),
            row=", ".join(f"{name}[i]" for name in names),
            store=self._store(8),
        )
        arrays = _inputs(NO_ROWS, as_mask(None)), self._words(self.state), _inputs(*values)
        return compile_text(
            text, {"incr": incr, "State": type(self.functions.init)}, [a for some in arrays for a in some]
        )

    def _make_merge(self, merge: Callable[..., Any]) -> Any:
        compiled, made = _compiled(self.functions, "merge", merge, (self.functions.init, self.functions.init))
        check_parts("merge", self.functions, made)
        text = _MERGE.format(
            state=self._read("ints", "floats", "group"),
            state_in=self._read("ints_in", "floats_in", "i"),
            store=self._store(16),
        )
        arrays = [NO_ROWS, *_inputs(*self._words(self.state)), *self._words(self.state)]
        return compile_text(text, {"merge": compiled, "State": type(self.functions.init)}, arrays)

    def _make_finish(self, final: Callable[..., Any]) -> Any:
        edges = [] if self.fold.edges is None else [_example(self.fold.edges)] * 2
        compiled, self.result = _compiled(self.functions, "final", final, (self.functions.init, *edges))
        outs = [f"out{i}" for i in range(len(self.result.kinds))]
        parts = ["made"] if self.result.names is None else [f"made[{i}]" for i in range(len(outs))]
        text = _FINISH.format(
            outs=", ".join(outs),
            state=self._read("ints", "floats", "group"),
            edges="starts[group], ends[group]" if edges else "",
            store=_lines(12, (f"{out}[group] = {part}" for out, part in zip(outs, parts, strict=True))),
        )
        arrays = [*self._words(self.state), *_inputs(*self._no_edges), *self._outs(0)]
        return compile_text(text, {"final": compiled, "State": type(self.functions.init)}, arrays)

    def _read(self, ints: str, floats: str, row: str) -> str:
        """The state in a row, as the user's functions take it."""
        words = {"int": f"{ints}[{row}, {{}}]", "bool": f"{ints}[{row}, {{}}] != 0", "float": f"{floats}[{row}, {{}}]"}
        parts = [words[kind].format(word) for word, kind in enumerate(self.functions.states, 1)]
        if not self.functions.is_tuple:
            return parts[0]
        return f"{'State' if hasattr(self.functions.init, '_fields') else ''}({', '.join(parts)},)"

    def _store(self, indent: int) -> str:
        arrays = ["floats" if kind == "float" else "ints" for kind in self.functions.states]
        parts = [f"made[{i}]" for i in range(len(arrays))] if self.functions.is_tuple else ["made"]
        pairs = enumerate(zip(arrays, parts, strict=True), 1)
        return _lines(indent, (f"{array}[group, {word}] = {part}" for word, (array, part) in pairs))

    def _words(self, state: Ints) -> tuple[Array, Array]:
        """One memory, read as whole numbers and as floats."""
        return state, state.view(np.float64)

    def _outs(self, length: int) -> list[Array]:
        return [np.zeros(length, KINDS[kind]) for kind in self.result.kinds]

    def _add(self, ids: Ints, values: Sequence[Array], valid: Bools | None, state: Ints) -> None:
        _run("incr", self._add_loop, as_input(ids), as_mask(valid), *self._words(state), *_inputs(*values))

    def _merge(self, ids: Ints, state_in: Ints, state: Ints) -> None:
        _run("merge", self._merge_loop, as_input(ids), *_inputs(*self._words(state_in)), *self._words(state))

    def _finish(self, state: Ints, edges: tuple[Array, Array] | None) -> list[Array]:
        outs = self._outs(len(state))
        _run("final", self._finish_loop, *self._words(state), *_inputs(*(edges or self._no_edges)), *outs)
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


def _lines(indent: int, lines: Iterable[str]) -> str:
    return f"\n{' ' * indent}".join(lines)
