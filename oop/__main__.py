"""``python -m oop`` is the command ``oop``."""

from oop.cli.command import main

if __name__ == "__main__":
    raise SystemExit(main())
