"""Builds the C kernels as `oop.kernels._native`: cffi in API mode, on Python's stable ABI.

setup.py takes `ffi` from here and runs in the root of the repository. `python csrc/build.py` puts the
compiled module into the checkout, `python csrc/build.py DIRECTORY FLAG…` into that directory, with further flags
for the compiler and the linker.
Every pair `csrc/stem.h`, `csrc/stem.c` is a stem, and its header is the cdef. Headers without a source are inlined by
sources, and of no interest to Python unless the header of a stem includes them.
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
STEMS = tuple(sorted(path.stem for path in CSRC.glob("*.c")))
# No contraction: a fused multiply-add rounds a window's start otherwise than the other kernels do. No -march, because
# the module must run on other machines. No -Werror: a newer compiler's warning is for the tests to find, and must not
# stop an installation.
FLAGS = ("-O3", "-Wall", "-Wextra", "-ffp-contract=off", "-pthread")


def read_cdefs() -> list[str]:
    """The declarations of all stems, each behind those that its header includes: headers without preprocessor lines."""
    found: dict[str, str] = {}

    def read(stem: str) -> None:
        if stem in found:
            return
        text = (CSRC / f"{stem}.h").read_text()
        for included in re.findall(r'^#include "(\w+)\.h"$', text, flags=re.MULTILINE):
            read(included)
        found[stem] = re.sub(r"^[ \t]*#.*$", "", text, flags=re.MULTILINE)

    for stem in STEMS:
        read(stem)
    return list(found.values())


def make_ffi(folder: Path, optional: bool, flags: Sequence[str] = ()) -> FFI:
    """The build of the module from the sources in `folder`; if optional, a failure is only a warning."""
    ffi = FFI()
    for declarations in read_cdefs():
        ffi.cdef(declarations)
    ffi.set_source(
        "oop.kernels._native",
        "\n".join(f'#include "{stem}.h"' for stem in STEMS),
        sources=[str(folder / f"{stem}.c") for stem in STEMS],
        include_dirs=[str(folder)],
        depends=[str(folder / path.name) for path in sorted(CSRC.glob("*.h"))],
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
        # under another name first, so that a process that has loaded the old module keeps it
        beside = shutil.copy(built, target / f"{built.name}.new")
        return Path(beside).replace(target / built.name)


# setuptools wants paths relative to the root. Without a compiler the install goes on with Numba's kernels.
ffi = make_ffi(Path("csrc"), optional=True)

if __name__ == "__main__":
    print(compile_into(Path(sys.argv[1]) if len(sys.argv) > 1 else CSRC.parent / "kernels", sys.argv[2:]))
