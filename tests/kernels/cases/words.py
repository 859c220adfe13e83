"""Cases of the kernel that packs keys into words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oop.kernels.views import Column
from tests.kernels.cases.inputs import LARGE, LEAST, Case, key_columns, new_rng


def cases() -> Iterator[Case]:
    for label, columns in key_columns().items():
        length = len(columns[0]) if columns else 5
        name = f"wrong-{label}" if any(c.kind == "bytes" for c in columns) else label
        yield Case("pack_words", f"{name}-nulls", lambda args=(columns, True, length): args)
        if any(c.valid is not None for c in columns):
            name = f"wrong-{label}"
        yield Case("pack_words", name, lambda args=(columns, False, length): args)
    eights = [Column("int8", np.roll(np.arange(-60, 60), i).astype(np.int8)) for i in range(65)]
    words = [Column("int", np.roll(np.arange(LEAST, LEAST + 9), i)) for i in range(64)]
    some = np.arange(9) % 4 > 0
    holes = [Column(c.kind, c.data, None, np.roll(some, i)) for i, c in enumerate(words)]
    large = [Column("int32", new_rng().integers(-(2**31), 2**31, LARGE).astype(np.int32)) for _ in range(2)]
    given: dict[str, tuple[Any, ...]] = {
        "large": (large, False),
        "64_narrow": (eights[:64], False),
        "64_narrow-nulls": (eights[:64], True),
        "64_wide": (words, False),
        "64_wide-nulls": (holes, True),
        "strided": ([Column("int32", np.arange(20, dtype=np.int32)[::-2], None, (np.arange(20) % 3 > 0)[::2])], True),
        "no_column-no_row": ([], False, 0),
        "wrong-65": (eights, False),
        "wrong-65_nulls": (eights, True),
        "wrong-lengths": ([words[0], eights[0]], False),
        "wrong-length": (words[:1], False, 8),
        "wrong-no_length": ([], False),
    }
    for label, args in given.items():
        yield Case("pack_words", label, lambda args=args: args)
