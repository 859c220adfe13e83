"""What was saved and is damaged is noticed before an operator takes it over."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from oop.engines.spark.spool import Spooled
from oop.engines.spark.stored_parts import Damaged, StoredParts
from oop.errors import SourceError
from tests.oop_.engines.spark.test_processor import Store
from tests.oop_.io.mutants import mutate

PARTS = {f"part{i}": pa.record_batch({"slot": list(range(i * 500))}) for i in range(3)}


def test_saved_parts_that_are_damaged() -> None:
    for seed in range(100):
        store = Store()
        StoredParts(None).write(store, PARTS.items())
        name = random.Random(seed).choice(sorted(store.now))
        (body,) = store.now[name]
        damaged = mutate(body, seed)
        if damaged == body:
            continue
        store.now[name] = (damaged,)
        with pytest.raises(Damaged, match=r"the checkpoint is damaged.*\nHint: begin with another checkpoint"):
            StoredParts(None).read(store)


def test_a_damaged_copy_is_passed_over(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    for seed in range(40):
        store = Store()
        StoredParts(str(copies)).write(store, PARTS.items())
        for path in copies.iterdir():
            path.write_bytes(mutate(path.read_bytes(), seed))
        assert StoredParts(str(copies)).read(store) == PARTS


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"rows": 1}', b"\xff\xfe", b"[" * 100_000])
def test_the_end_of_a_spool_that_cannot_be_read(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "closed.json").write_bytes(body)
    with pytest.raises(SourceError, match=r"closed\.json .*\nHint: begin with another checkpoint"):
        Spooled(str(tmp_path), True).listing()
