"""The functions that there are, found by looking through the modules of this package.

Nothing is written down twice: a class of this package that is a `Function` and has a name is a function that users can
write, and the constructor of the same name in its module is how they write it.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from oop.operators import functions as package
from oop.operators.functions.function import Function


@functools.cache
def functions() -> Mapping[str, type[Function]]:
    """Every function of the package by its name.

    >>> sorted(functions())[:4]
    ['aside', 'collect', 'count', 'count_distinct']
    """
    found: dict[str, type[Function]] = {}
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for made in vars(import_module(module.name)).values():
            if isinstance(made, type) and issubclass(made, Function) and made.name and made.__module__ == module.name:
                assert made.name not in found, f"two functions are called {made.name}"
                found[made.name] = made
    return MappingProxyType(found)


def constructor(name: str) -> Callable[..., Function] | None:
    """How users write the function of this name, which is ``oop.<name>``; None if there is no such function.

    >>> str(constructor("sum")("len"))
    'sum(len)'
    """
    made = functions().get(name)
    return None if made is None else getattr(import_module(made.__module__), name)
