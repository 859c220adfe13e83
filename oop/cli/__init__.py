"""The command ``oop``: a demo, the plan of a script, a benchmark.

The way in is `main`, which reads the command line; each command loads what it needs when it is called.
"""

from oop.cli.command import main

__all__ = ["main"]
