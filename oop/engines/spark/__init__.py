"""The engine on Spark: a plan becomes stages of a streaming query, between which batches and promises travel as cells.

The way in is `oop.engines.spark.engine.Spark`, which loads pyspark only when it runs something. `dataframes` chains the
stages, `starting` begins the query and its sink, `reading` plans what each micro-batch reads, `runner` and `processor`
run a stage in a worker and keep its state, `spool` takes in what workers cannot read for themselves.
"""
