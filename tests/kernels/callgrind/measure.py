"""Instructions a row of each C kernel, counted by callgrind on fixed inputs. A busy machine does not change the counts.

`python -m tests.kernels.callgrind.measure` prints them beside the stored ones; with `--store` it stores them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from csrc.build import CSRC, FLAGS, STEMS
from tests.kernels.processes import find_compiler

HERE = Path(__file__).resolve().parent
CALLERS = sorted(HERE.glob("*.c"))
COUNTS = HERE / "counts.json"
STORE = "`make counts` stores new figures"
TOLERANCE = 0.05


def why_not() -> str | None:
    """The tool that is missing for a measurement; None if none is."""
    if find_compiler() is None:
        return "no C compiler"
    if shutil.which("valgrind") is None:
        return "no valgrind, whose callgrind counts instructions (Debian: apt-get install valgrind)"
    return None


def describe_maker() -> dict[str, str]:
    """The facts that decide how many instructions a source is compiled to."""
    compiler = str(find_compiler())
    name = "clang" if "clang" in _run([compiler, "--version"]) else "gcc"
    version = _run([compiler, "-dumpversion"]).strip().partition(".")[0]
    return {
        "compiler": f"{name} {version}",
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
    }


def measure() -> dict[str, float]:
    """Instructions a row of every call that the driver makes."""
    with tempfile.TemporaryDirectory() as scratch:
        driver, out = f"{scratch}/driver", f"{scratch}/out"
        sources = [*map(str, CALLERS), *(str(CSRC / f"{stem}.c") for stem in STEMS)]
        # Wide vectors are off, because valgrind offers different ones on different machines.
        _run([str(find_compiler()), *FLAGS, "-DOOP_NO_WIDE", f"-I{CSRC}", *sources, "-lm", "-o", driver])
        # Entering or leaving such a function toggles the counting. So of a program its own steps are counted, without
        # the kernels that it calls, which are counted by themselves; no other kernel may call another.
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=oop_*", "--dump-before=end_call*"]
        # Functions are bound at the start; otherwise the first call of a library function would count the search for
        # it.
        printed = _run([*command, f"--callgrind-out-file={out}", driver], LD_BIND_NOW="1")
        found = {}
        for number, line in enumerate(printed.splitlines(), start=1):
            rows, _, name = line.partition(" ")
            total = re.search(r"^totals: (\d+)$", Path(f"{out}.{number}").read_text(), re.MULTILINE)
            assert total is not None and int(total[1]) and name not in found, line
            found[name] = round(int(total[1]) / int(rows), 4)
        return found


def compare(found: dict[str, float], stored: dict[str, float]) -> list[str]:
    """Messages about the figures that differ from the stored ones. A figure that fell counts too, as it would hide a
    rise."""
    wrong = [f"{name}: no longer measured; {STORE}" for name in stored if name not in found]
    for name, count in found.items():
        if name not in stored:
            wrong.append(f"{name}: {count:g} instructions a row, and nothing stored; {STORE}")
            continue
        change = count / stored[name] - 1
        if abs(change) > TOLERANCE:
            hint = f"a regression? If it is meant: {STORE}" if change > 0 else f"better: {STORE}"
            wrong.append(f"{name}: {count:g} instructions a row, {stored[name]:g} stored ({change:+.1%}); {hint}")
    return wrong


def load_stored() -> dict[str, Any]:
    """The stored `made_with`, and `per_row`, the figure of each call."""
    stored: dict[str, Any] = json.loads(COUNTS.read_text())
    return stored


def _run(command: list[str], **env: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env})
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


def main(store: bool) -> None:
    if reason := why_not():
        raise SystemExit(reason)
    found = measure()
    before = load_stored()["per_row"] if COUNTS.exists() else {}
    for name, count in found.items():
        print(f"{name:28} {count:10.4f} {before.get(name, float('nan')):10.4f}")
    if store:
        COUNTS.write_text(json.dumps({"made_with": describe_maker(), "per_row": found}, indent=2) + "\n")


if __name__ == "__main__":
    main("--store" in sys.argv[1:])
