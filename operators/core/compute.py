"""pyarrow.compute, loaded at its first use: loading it would be the largest avoidable cost of `import oop`.

>>> compute.add(1, 2).as_py()
3
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Compute:
    """Stands for the module: each attribute is a function that finds the real one when it is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            import pyarrow.compute

            return getattr(pyarrow.compute, name)(*args, **options)

        self.__dict__[name] = call
        return call


compute = _Compute()
