"""State in slices of time as parts to save: a part for each slice, so that purging removes parts and a small change
saves little. The width of the slices is a part of its own.

>>> parts = SliceParts()
>>> first = dict(parts.save(2, [5, 7], {5: pa.record_batch({"v": [1]})}.get))
>>> sorted(first), [(key, part) for key, part in parts.save(2, [5], {}.get) if "slice" in key]
(['shift', 'slice/5'], [('slice/5', None)])
>>> SliceParts().load(first)[0]
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from oop.errors import OopError
from oop.operators.core.parts import Part, read_text, text_part

SliceNumber = int | None
"""The number of a slice; None for the slice of what has no time."""
_NONE = "none"


class SliceParts:
    """Which slices have been saved, or loaded."""

    def __init__(self) -> None:
        self._saved: set[SliceNumber] = set()

    def saved(self, numbers: set[int]) -> set[int]:
        """Those of these slices that have a saved part: if such a slice goes, its part must go, too.

        >>> parts = SliceParts()
        >>> _ = list(parts.save(2, [5], {5: pa.record_batch({"v": [1]})}.get))
        >>> parts.saved({5, 7})
        {5}
        """
        return {number for number in numbers if number in self._saved}

    def note_gone(self, changed: set[Any], number: SliceNumber) -> None:
        """Note that a slice is gone. The next save says so only if the slice was saved: a run that is never saved must
        not remember every slice that it ever had."""
        changed.discard(number)
        if number in self._saved:
            changed.add(number)

    def save(
        self,
        shift: int,
        changed: Iterable[SliceNumber],
        part_of: Callable[[int], pa.RecordBatch | None] | Callable[[SliceNumber], pa.RecordBatch | None],
        prefix: str = "",
    ) -> Iterator[Part]:
        """The parts of slices that changed; ``part_of`` gives None for those that are gone."""
        yield text_part(f"{prefix}shift", shift)
        for number in sorted(changed, key=lambda n: (n is None, n or 0)):
            part = part_of(number)  # type: ignore[arg-type]
            if part is not None:
                self._saved.add(number)
            elif number in self._saved:
                self._saved.discard(number)
            else:
                continue
            yield f"{prefix}slice/{_NONE if number is None else number}", part

    def load(
        self, parts: Mapping[str, pa.RecordBatch | None], prefix: str = ""
    ) -> tuple[int | None, list[tuple[SliceNumber, pa.RecordBatch]]]:
        """How wide the slices were, if that was saved, and what each held."""
        self._saved = set()
        said = parts.get(f"{prefix}shift")
        shift = None if said is None else read_text(said)
        assert shift is None or isinstance(shift, int)
        found: list[tuple[SliceNumber, pa.RecordBatch]] = []
        for key, part in parts.items():
            if part is not None and key.startswith(f"{prefix}slice/"):
                name = key.removeprefix(f"{prefix}slice/")
                found.append((None if name == _NONE else int(name), part))
        self._saved = {number for number, _ in found}
        return shift, found


def check_saved_columns(part: pa.RecordBatch, names: Iterable[str], what: str) -> None:
    """Refuse state that another plan saved: the operators behind an operator decide which columns it holds."""
    missing = [name for name in names if name not in part.schema.names]
    if missing:
        raise OopError(
            f"{what} saved without the column {missing[0]!r}, which this plan uses",
            hint="load it into the plan that saved it: what is behind an operator decides which columns it holds",
        )
