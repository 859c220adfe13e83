"""Use an installed oop; ``scripts/check_dist.sh`` runs this in a new environment, outside of the checkout."""

import importlib
import sys
from pathlib import Path

import pyarrow as pa

import oop

if not Path(oop.__file__).is_relative_to(sys.prefix):
    raise SystemExit(f"this is not the installed oop: {oop.__file__}")
for name in ("oop.kernels", "oop.operators", "oop.punctuation", "oop.cli", "oop.cli.demo"):
    importlib.import_module(name)
stream = oop.source(pa.table({"ts": [3, 1, 12]}), time="ts", punctuate=oop.slack(5))
counts = stream.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table()["n"].to_pylist()
if counts != [2, 1]:
    raise SystemExit(f"the counts are wrong: {counts}")
print(f"oop {oop.__version__} works from {Path(oop.__file__).parent}")
