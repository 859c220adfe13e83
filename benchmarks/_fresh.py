"""Call a function in a fresh process, so that nothing loaded, warmed up or left behind by another run matters.

The process is this file. It takes arguments as JSON, and prints what the function returns as JSON:

    python benchmarks/_fresh.py MODULE FUNCTION ARGUMENTS
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def call(function: Callable[..., dict[str, Any]], *, folder: Path | None = None, **arguments: Any) -> dict[str, Any]:
    """What the function of a file in this folder returns for these arguments, with the package of that checkout."""
    module = Path(inspect.getfile(function)).stem  # its __module__ is __main__ where a script calls its own function
    command = [sys.executable, __file__, module, function.__name__, json.dumps(arguments)]
    where = None if folder is None else {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=where, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{module}.{function.__name__}({arguments}) failed with exit code {done.returncode}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    name, function, given = sys.argv[1:]
    json.dump(getattr(importlib.import_module(name), function)(**json.loads(given)), sys.stdout)
