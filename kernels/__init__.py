"""Hot loops: arrays in, arrays out. They know arrays and dense ids, never streams or plans.

Idea. Each kernel is declared once, in `oop.kernels.signatures`, and has three bodies: in `oop.kernels.reference`
(NumPy, the executable specification), `oop.kernels.jit` (Numba) and `oop.kernels.native` (C, whose sources are in
`csrc/`). Files of one idea have the same stem in all of these.

Way in. Read `dispatch.py`: `oop.kernels.dispatch.kernels()` gives the kernels. Then read a stem in all its places, such
as `kernels/signatures/late.py`. `oop.kernels.views` turns Arrow columns into arrays and back. Aggregates that users
wrote are in `oop.kernels.user`. Programs, which bring whole trains of batches into groups, are described in `steps.py`
and `signatures/programs.py`; `interpreted.py` and `expressions.py` say what their steps mean. The other files are what
these share: `checks` of arguments, `keys` and `words` for columns that are keys, `dictionaries`, memory that is used
again (`scratch`, `pages`), a value that is computed `once`, the type of the `results` of users' functions, and the
`ring`, a source for measurements.

To add a kernel:

1. Declare it in the file of its stem in `kernels/signatures/`: a method with its docstring, an example and its checks,
   that ends in a call of `self.run.its_name`. A kernel with state is a base class there, named by an annotation. Names
   are `verb_object`. A new stem is a new file with one class, which is a base of `Kernels` in `kernels/dispatch.py`.
2. Write its three bodies under the same name, in the files of the same stem in `kernels/reference/`, `kernels/jit/` and
   `kernels/native/`. They check nothing: what the declaration passes on has been checked.
3. Write its loops in C, in the pair of the same stem in `csrc/`, and call each from
   a file of `tests/kernels/callgrind/`; `make counts` stores its instructions.
4. Write its cases in `tests/kernels/cases/`: every type, shape and wrong argument that it can meet. All implementations
   must agree on them.

Nothing else lists kernels; `tests/kernels/test_declarations.py` says what is missing.

Decisions are in `DECISIONS.md` beside this file.
"""
