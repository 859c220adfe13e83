"""The command ``oop``."""

from oop.cli.command import main

__all__ = ["main"]
