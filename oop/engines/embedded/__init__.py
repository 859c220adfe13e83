"""The engine in this process: operators as boxes, with queues between them, driven by whoever reads the result.

The way in is `oop.engines.embedded.engine`, with `Embedded` and the `Run` that it gives. Around it: how inputs are read
(`feeds`, `reading`, `polling`), how boxes take turns (`schedulers`), how groups are spread over threads (`sharded`,
`pool`), and what is noticed on the way (`health`, `tracing`, `measuring`, `stamps`).
"""
