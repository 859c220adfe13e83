"""File formats, one module for each: endings, reading, writing, reading by pieces, compression.

Idea. A format says all that inputs, sinks and Spark need to know of it, so that none of them names one.

Way in. Read `format.py`; its `format_of` finds a format by a file's name. A new format is a subclass of `Format` in a
new module here: all modules of this package are loaded with it, and nothing else names them. Text with another
delimiter needs no module: it is a subclass of `Csv`, in three lines of `delimited.py`.
"""

import pkgutil
from importlib import import_module

from oop.io.formats.format import FORMATS, File, FilePiece, Format, Writer, endings_read, endings_written, format_of

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["FORMATS", "File", "FilePiece", "Format", "Writer", "endings_read", "endings_written", "format_of"]
