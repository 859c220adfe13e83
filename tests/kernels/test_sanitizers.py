"""The C is clean: no warnings, nothing for one machine alone, and no case that a sanitizer objects to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from csrc.build import FLAGS
from tests.kernels.processes import CSRC, assert_cases_same, build_native, find_compiler, run_cases, run_python

# Python's own flags have -fwrapv in them, under which no overflow is ever reported.
SANITIZE = (
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-wrapv",
    "-fno-omit-frame-pointer",
    "-O1",
    "-g",
)

# Appended to a kernel's source: each does wrong to an array of four ones, but for the first.
BROKEN = """
int oop_broken_not(const int64_t *values, int64_t n) { return (int)values[n - 1]; }
int oop_broken_read(const int64_t *values, int64_t n) { return (int)values[n]; }
int oop_broken_write(const int64_t *values, int64_t n) { return (int)(((int64_t *)values)[n] = 1); }
int oop_broken_sum(const int64_t *values, int64_t n) { return (int)(INT64_MAX - n + 4 + values[0]); }
int oop_broken_shift(const int64_t *values, int64_t n) { return (int)(values[0] << (n + 60)); }
int oop_broken_cast(const int64_t *values, int64_t n) { return (int64_t)(1e300 * (double)values[n - 1]) > 0; }
int oop_broken_align(const int64_t *values, int64_t n) { return (int)*(const int64_t *)((const char *)values + n); }
"""
REPORTS = {
    "read": "heap-buffer-overflow",
    "write": "heap-buffer-overflow",
    "sum": "signed integer overflow",
    "shift": "shift exponent 64 is too large",
    "cast": "is outside the range of representable values",
    "align": "misaligned address",
}
CALL_BROKEN = """
import sys
import numpy as np
from tests.kernels.run_cases import load_library
load_library(sys.argv[1])
from oop.kernels.native.library import lib, point
print("returned", getattr(lib, "oop_broken_" + sys.argv[2])(point(np.ones(4, np.int64)), 4))
"""


@pytest.fixture
def sanitized(tmp_path: Path) -> dict[str, str]:
    """The environment in which a process can load a library built with SANITIZE."""
    compiler, ldd = find_compiler(), shutil.which("ldd")
    if compiler is None or ldd is None:
        pytest.skip("no C compiler" if compiler is None else "no ldd, which names the sanitizers' libraries")
    source, probe = tmp_path / "probe.c", tmp_path / "probe.so"
    source.write_text("int oop_probe(int *p) { return p[0] + p[1]; }\n")
    command = [compiler, "-shared", "-fPIC", *SANITIZE, str(source), "-o", str(probe)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} has no sanitizers: {done.stderr}")
    said = subprocess.run([ldd, str(probe)], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"=> (/\S*/lib(?:a|ub)san\S*)", said)
    if not any("libasan" in library for library in libraries):
        pytest.skip(f"{compiler} has no shared libasan, which the interpreter must load first")
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter leaks; the kernels allocate nothing
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        # Every array in a block of its own, with something around it that nobody may touch.
        "PYTHONMALLOC": "malloc",
        "OOP_SCRATCH": "0",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }


def test_cases_pass_the_sanitizers(wanted: dict[str, Any], sanitized: dict[str, str], tmp_path: Path) -> None:
    library, _ = build_native(tmp_path, *SANITIZE)
    assert_cases_same(run_cases("native", str(library), tmp_path / "results", sanitized), wanted)


@pytest.mark.slow
def test_sanitizers_report_what_is_broken(sanitized: dict[str, str], tmp_path: Path) -> None:
    """The same build and the same call of a module that has faults."""
    csrc = tmp_path / "csrc"
    shutil.copytree(CSRC, csrc)
    with open(csrc / "late.c", "a") as file:
        file.write(BROKEN)
    with open(csrc / "late.h", "a") as file:
        file.write(re.sub(r"\) \{.*", ");", BROKEN))
    library, _ = build_native(tmp_path, *SANITIZE, csrc=csrc)
    done = run_python("-c", CALL_BROKEN, str(library), "not", env=sanitized)
    assert (done.returncode, done.stdout) == (0, "returned 1\n"), done.stderr
    for fault, report in REPORTS.items():
        done = run_python("-c", CALL_BROKEN, str(library), fault, env=sanitized)
        assert done.returncode != 0 and not done.stdout, fault
        assert report in done.stderr and f"oop_broken_{fault}" in done.stderr and "late.c" in done.stderr


def test_no_warnings(tmp_path: Path) -> None:
    found = [find_compiler(), shutil.which("gcc"), shutil.which("clang")]
    compilers = {os.path.realpath(path): path for path in found if path is not None}
    if not compilers:
        pytest.skip("no C compiler")
    for compiler in compilers.values():
        for source in sorted(CSRC.glob("*.c")):
            command = [compiler, *FLAGS, "-Werror", "-fPIC", "-c", str(source), "-o", str(tmp_path / "object")]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


def test_flags_suit_every_machine() -> None:
    assert "-O3" in FLAGS
    assert not [flag for flag in FLAGS if flag.startswith("-m") or flag in ("-ffast-math", "-Ofast", "-Werror")]
