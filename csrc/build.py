"""Builds the C kernels as `oop.kernels._native`: cffi in API mode, on Python's stable ABI.

setup.py takes `ffi` from here and runs in the root of the repository. `python csrc/build.py` puts the
compiled module into the checkout, `python csrc/build.py DIRECTORY FLAG…` into that directory, with further flags
for the compiler and the linker.
A new kernel is a pair `csrc/name.h`, `csrc/name.c`, and its stem in STEMS: the header is the cdef.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parent
HEADERS_ONLY = ("status",)
STEMS = ("window", "late", "groups", "aggregates", "partition", "joins", "repeats", "sessions")
STEMS += ("buffers", "sorting", "runs", "flush", "ring")
# included by sources, of no interest to Python
INLINE = ("hash", "column", "fetch", "heap", "keys", "lines", "oldest", "radix", "wide")
# No contraction: a fused multiply-add rounds a window's start otherwise than the other kernels do. Nothing for one
# machine alone (-march), and no -Werror: a newer compiler's warning is for the tests to find, not for who installs.
FLAGS = ("-O3", "-Wall", "-Wextra", "-ffp-contract=off", "-pthread")


def read_cdef(stem: str) -> str:
    """The declarations of a header: what is left of it without preprocessor lines."""
    text = (CSRC / f"{stem}.h").read_text()
    return re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)


def make_ffi(folder: Path, optional: bool, flags: Sequence[str] = ()) -> FFI:
    """The build of the module from the sources in `folder`; if optional, a failure is only a warning."""
    ffi = FFI()
    for stem in (*HEADERS_ONLY, *STEMS):
        ffi.cdef(read_cdef(stem))
    ffi.set_source(
        "oop.kernels._native",
        "\n".join(f'#include "{stem}.h"' for stem in STEMS),
        sources=[str(folder / f"{stem}.c") for stem in STEMS],
        include_dirs=[str(folder)],
        depends=[str(folder / f"{stem}.h") for stem in (*HEADERS_ONLY, *INLINE, *STEMS)],
        extra_compile_args=[*FLAGS, *flags],
        extra_link_args=["-pthread", *flags],
        optional=optional,
        py_limited_api=True,
    )
    return ffi


def compile_into(target: Path, flags: Sequence[str] = ()) -> Path:
    """Compile away from the checkout, so that only the finished module arrives in `target`."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(make_ffi(CSRC, optional=False, flags=flags).compile(tmpdir=scratch))
        # under another name first: a process that has the old one loaded keeps it
        beside = shutil.copy(built, target / f"{built.name}.new")
        return Path(beside).replace(target / built.name)


# setuptools wants paths relative to the root. Without a compiler the install goes on with Numba's kernels.
ffi = make_ffi(Path("csrc"), optional=True)

if __name__ == "__main__":
    print(compile_into(Path(sys.argv[1]) if len(sys.argv) > 1 else CSRC.parent / "kernels", sys.argv[2:]))
