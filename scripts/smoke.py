"""Use an installed oop; ``scripts/check_dist.sh`` runs this in a new environment, outside of the checkout."""

import importlib
import sys
from pathlib import Path

import oop

if not Path(oop.__file__).is_relative_to(sys.prefix):
    raise SystemExit(f"this is not the installed oop: {oop.__file__}")
for name in ("oop.kernels", "oop.operators", "oop.punctuation"):
    importlib.import_module(name)
print(f"oop {oop.__version__} works from {Path(oop.__file__).parent}")
