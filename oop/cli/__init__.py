"""The command `oop`: demo, explain, bench.

Idea. Each command is a function that takes the parsed arguments and gives the exit code.

Way in. Read `command.py`. `demo.py` runs the paper's first query in several ways; a new way is a `Way` in its list
`WAYS`, and the table in `README.md` must show it (`tests/docs/test_snippets.py`). `demo_spark.py` is its part on Spark.
"""

from oop.cli.command import main

__all__ = ["main"]
