"""The command ``oop``: demo, explain, bench.

>>> main(["explain", "nowhere.py"])
1
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from oop import Stream, __version__
from oop.errors import OopError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and give its exit code. An error of oop is printed without a traceback, and its code is 1."""
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except OopError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("oop", description="Out-of-order, punctuation-driven dataflow.")
    parser.add_argument("--version", action="version", version=f"oop {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = _command(commands, "demo", "count packets of three links, and compare ways of doing it")
    demo.add_argument("--rows", type=_positive, default=4_000_000, help="packets to generate (default: %(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="of the generator (default: %(default)s)")
    demo.add_argument("--quiet", action="store_true", help="no progress bar")
    demo.add_argument("--no-spark", dest="spark", action="store_false", help="leave out the part that runs on Spark")
    demo.set_defaults(run=_demo)

    explain = _command(commands, "explain", "show the plans of the streams in a Python file, without running them")
    explain.add_argument("target", metavar="FILE[:NAME]", help="the file, and the stream's name in it (default: all)")
    explain.set_defaults(run=_explain)

    bench = _command(commands, "bench", "run the benchmarks of a checkout")
    bench.add_argument("name", nargs="?", help="one benchmark (default: all)")
    bench.add_argument("--list", action="store_true", help="only list their names")
    bench.set_defaults(run=_bench)
    return parser


def _command(commands: argparse._SubParsersAction, name: str, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(name, help=text, description=f"{text.capitalize()}.")
    return made


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _demo(arguments: argparse.Namespace) -> int:
    from oop.cli import demo

    return demo.run_demo(arguments.rows, arguments.seed, arguments.quiet, arguments.spark)


def _explain(arguments: argparse.Namespace) -> int:
    path, name = _file_and_name(arguments.target)
    module = _load(path)
    streams = {n: value for n, value in vars(module).items() if isinstance(value, Stream)}
    if name and name not in streams:
        known = ", ".join(streams) or "none"
        raise OopError(f"{path} has no stream called {name!r}; it has {known}", hint="name a Stream at its top level")
    if not streams:
        raise OopError(f"{path} has no stream at its top level", hint="assign one to a name, outside of functions")
    chosen = {name: streams[name]} if name else streams
    for i, (title, stream) in enumerate(chosen.items()):
        if len(chosen) > 1:
            print(f"{'' if i == 0 else chr(10)}{title}:")
        print(stream.explain())
    return 0


def _file_and_name(target: str) -> tuple[Path, str]:
    path, colon, name = target.rpartition(":")
    if not colon or Path(target).exists():
        path, name = target, ""
    if not Path(path).is_file():
        raise OopError(f"{path}: no such file", hint="oop explain FILE or oop explain FILE:NAME")
    return Path(path), name


def _load(path: Path) -> ModuleType:
    """Import a file by its path. It can import the files beside it, as when it is run as a script."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OopError(f"{path} is not a Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    sys.modules[spec.name] = module  # dataclasses look their module up here
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop(spec.name, None)
        sys.path.remove(folder)
    return module


def _bench(arguments: argparse.Namespace) -> int:
    folder = Path(__file__).resolve().parents[2] / "benchmarks"
    found = {p.stem.removeprefix("test_"): p for p in sorted(folder.glob("*.py")) if not p.stem.startswith("_")}
    if not found:
        raise OopError(
            f"the benchmarks are not part of an installed oop; there is no {folder}",
            hint="run this in a checkout of the sources, installed with pip install -e .",
        )
    if arguments.list:
        print("\n".join(found))
        return 0
    if arguments.name and arguments.name not in found:
        raise OopError(f"no benchmark {arguments.name!r}; there are {', '.join(found)}")
    chosen = [found[arguments.name]] if arguments.name else list(found.values())
    return max(abs(_run(path)) for path in chosen)  # negative is the signal that killed it


def _run(path: Path) -> int:
    """Run one benchmark in a process of its own, so that what it loads and warms up does not affect the next one."""
    print(f"=== {path.parent.name}/{path.name}", flush=True)
    command = [sys.executable, str(path)]
    if path.stem.startswith("test_"):
        command = [sys.executable, "-m", "pytest", "--benchmark-only", "--quiet", str(path)]
    root = path.parent.parent
    # the path is set so that a checkout that is not installed works too
    found = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": found}, check=False).returncode
