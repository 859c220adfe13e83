"""Row numbers of a DataFrame that Spark reads: its input stage counts, and keeps the count."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

import oop
from oop.engines.spark.cells import PROMISES, ROWS, Cell, decode, decode_promises, encode_batch
from oop.engines.spark.channels import InputRunner
from oop.engines.spark.runner import StageRunner
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages, without_data
from oop.plan.final import final_plan


def test_the_input_stage_counts_and_goes_on_where_it_was_saved() -> None:
    table = pa.table({"ts": [5, 6, 7, 1, 8, 9, 10, 11], "k": list("abababab")})
    stream = oop.source(table, time="ts", punctuate=oop.slack(2)).filter(oop.col("k") == "a").window(oop.rows(3))
    stream_ = stream.group_by("k").agg(n=oop.count())
    stages = Stages(without_data(final_plan(stream_.flow)), 1, frozenset([0]))
    key, schema = shard_keys(1)[0], stages.source_schema(0, whole=False)
    assert schema.names == ["ts", "k"]
    inputs, stage = InputRunner(stages, 0), StageRunner(stages, 1, 0)
    found, promised = [], []
    for number, batch in enumerate(table.to_batches(max_chunksize=5)):
        made = list(inputs.run([Cell(0, key, 0, 0, 0, number, ROWS, batch.num_rows, encode_batch(batch))]))
        promised += [p for c in made if c.kind == PROMISES for p in decode_promises(c.body)]
        found += [c for c in stage.run([c for c in made if c.stage == 1]) if c.kind == ROWS]
        saved = {name: part for name, part in inputs.save() if part is not None}
        inputs = InputRunner(stages, 0)
        inputs.load(saved)
    assert promised == [oop.Punctuation({"__seq": 5}), oop.Punctuation({"__seq": 8})]
    rows = [row for cell in found for row in decode(cell.body).to_pylist()]
    expected = [r for r in stream_.run().to_table().to_pylist() if r["window_end"] <= 8]
    assert Counter(map(repr, rows)) == Counter(map(repr, expected))
