"""A damaged file is an error of ours that names it: no crash of the process, no error of Arrow or Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop.errors import SourceError
from oop.io.ipc import ipc_rows
from oop.io.sound import Sound

ROOT = Path(__file__).resolve().parents[3]


def try_mutants(first: int, last: int) -> list[str]:
    """What went wrong, apart from errors of ours."""
    wrong = []
    while first < last:
        command = [sys.executable, "-m", "tests.oop_.io.mutants", str(first), str(last)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600)
        mutant = ""
        for line in done.stdout.splitlines():
            if line.startswith("mutant "):
                mutant = line
            else:
                wrong.append(f"{mutant}: {line}")
        assert mutant, done.stderr
        if done.returncode:
            wrong.append(f"{mutant}: ended with {done.returncode}: {done.stderr[-300:]}")
        first = int(mutant.split()[1]) + 1
    return wrong


def test_mutants() -> None:
    assert try_mutants(0, 250) == []


@pytest.mark.slow
def test_many_mutants() -> None:
    assert try_mutants(250, 7500) == []


def write_file(path: Path, batches: int = 8, rows: int = 50_000) -> pa.Table:
    table = pa.table({"ts": range(rows * batches), "word": ["word"] * rows * batches})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        for batch in table.to_batches(max_chunksize=rows):
            writer.write_batch(batch)
    return table


def test_an_arrow_file_that_another_process_shortens_while_it_is_read(tmp_path: Path) -> None:
    """Of a mapped file the rest would be gone, and the process with it (SIGBUS)."""
    path = tmp_path / "data.arrow"
    write_file(path)
    program = f"""
import os, oop
source = oop.source({str(path)!r}, time="ts", punctuate=oop.ordered())
run = source.run()
next(iter(run))
os.truncate({str(path)!r}, 100)
try:
    run.to_table()
except oop.errors.SourceError as error:
    print(error)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "data.arrow: batch" in done.stdout and "cut short" in done.stdout


def test_files_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "data.arrow"
    write_file(path, batches=3, rows=10)
    whole = path.read_bytes()
    for length in range(1, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(SourceError, match=r"data\.arrow.*\nHint: "):
            oop.source(str(path), time="ts", punctuate=oop.ordered()).run().to_table()


def test_the_damaged_batch_and_column_are_named_and_the_batches_before_it_read(tmp_path: Path) -> None:
    path = tmp_path / "data.arrow"
    table = write_file(path, batches=3, rows=10)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"wordword")
    data[at] = 0xFF
    path.write_bytes(data)
    seen = []
    with pytest.raises(SourceError, match=r"data\.arrow: batch 2 \(from 0\) cannot be read: column 'word': .*UTF8"):
        for batch in oop.source(str(path), time="ts", punctuate=oop.ordered()).run():
            seen.append(batch)
    assert pa.Table.from_batches(seen).to_pylist() == table.slice(0, 20).to_pylist()


def test_a_reader_that_the_caller_opened_is_looked_at_too(tmp_path: Path) -> None:
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 7]), ["a"], safe=False)
    batch = pa.record_batch({"ts": [1, 2], "k": broken})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    source = oop.source(pa.ipc.open_stream(sink.getvalue()), time="ts", punctuate=oop.ordered())
    with pytest.raises(SourceError, match=r"batch 0 \(from 0\) cannot be read: column 'k': Dictionary indices invalid"):
        source.run().to_table()


def test_a_dictionary_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be far larger than the batches that share it."""
    dictionary = pa.array([str(i) for i in range(1000)])
    sound, whole = Sound(), pa.record_batch({"k": pa.DictionaryArray.from_arrays(pa.array(range(1000)), dictionary)})
    sound(whole)
    assert sound._dictionaries["k"].buffers()[2].address == dictionary.buffers()[2].address
    other = pa.DictionaryArray.from_arrays(pa.array([1, 2]), dictionary)
    held = sound._dictionaries["k"]
    sound(pa.record_batch({"k": other}))
    assert sound._dictionaries["k"] is held
    beyond = pa.DictionaryArray.from_arrays(pa.array([1, 1000]), dictionary, safe=False)
    with pytest.raises(pa.ArrowInvalid, match="column 'k'"):
        sound(pa.record_batch({"k": beyond}))
    sound(pa.record_batch({"k": pa.array(["new"]).dictionary_encode()}))
    assert sound._dictionaries["k"] is not held


def test_rows_are_counted_by_one_column(tmp_path: Path) -> None:
    path = tmp_path / "data.arrow"
    write_file(path, batches=3, rows=10)
    assert ipc_rows(path, "ts") == [10, 10, 10]


@pytest.mark.parametrize("listed", [False, True])
def test_a_batch_in_memory_whose_buffers_are_too_short(listed: bool) -> None:
    sink = pa.BufferOutputStream()
    words = pa.record_batch({"ts": [1, 2], "word": ["ab", "cd"]})
    with pa.ipc.new_stream(sink, words.schema) as writer:
        writer.write_batch(words)
    damaged = (
        sink.getvalue().to_pybytes().replace(bytes(pa.array([0, 2, 4], pa.int32()).buffers()[1])[:12], b"\x7f" * 12)
    )
    batch = pa.ipc.open_stream(damaged).read_next_batch()
    source = oop.source([batch] if listed else batch, time="ts", punctuate=oop.ordered())
    with pytest.raises(SourceError, match=r"batch 0 \(from 0\) of \w+ cannot be read: In column 1.*\nHint: "):
        source.run().to_table()
