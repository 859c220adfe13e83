"""What a checkpoint belongs to: the plan, the format of what is saved, the number of shards. Another's is refused."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from oop.engines.spark.stages import Stages
from oop.errors import OopError

FORMAT = 1
"""Of offsets, cells and state; it changes when they do."""


def identity(stages: Stages) -> dict[str, Any]:
    """The plan as lines, for comparing and for saying what differs."""
    lines = []
    for node in stages.nodes:
        inputs = ", ".join(str(stages.nodes.index(e.node)) for e in node.inputs)
        columns = ", ".join(f"{f.name} {f.type}" for f in node.schema)
        lines.append(f"{node.spec.describe()} <- ({inputs}): {columns}")
    return {"format": FORMAT, "shards": stages.shards, "plan": lines}


def check_identity(found: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Refuse state of another plan, format or number of shards, with the difference."""
    hint = "run the plan that wrote the checkpoint, or begin with another checkpoint"
    if found["format"] != ours["format"]:
        raise OopError(
            f"the checkpoint was written in format {found['format']}, this version reads {ours['format']}", hint=hint
        )
    if found["shards"] != ours["shards"]:
        raise OopError(
            f"the checkpoint was written with shards={found['shards']}, and there are {ours['shards']} now",
            hint=f"oop.Spark(…, shards={found['shards']}); the number is fixed for the life of a checkpoint",
        )
    if list(found["plan"]) != list(ours["plan"]):
        changes = [
            line for line in difflib.ndiff(list(found["plan"]), list(ours["plan"])) if line.startswith(("-", "+"))
        ]
        raise OopError(f"the checkpoint was written by another plan: {'; '.join(changes)}", hint=hint)
