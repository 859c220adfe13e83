"""The identity of a query: its plan, the format of saved state, the number of shards. A checkpoint of another one is
refused."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oop.engines.spark.stages import Stages
from oop.errors import OopError

FORMAT = 3
"""The version of the format of offsets, cells and state. Raise it when they change."""


def identity_of(stages: Stages) -> dict[str, Any]:
    """The identity of a query. The plan is in lines, so that an error can say which lines differ."""
    lines = []
    for node in stages.nodes:
        inputs = ", ".join(str(stages.nodes.index(e.node)) for e in node.inputs)
        columns = ", ".join(f"{f.name} {f.type}" for f in node.schema)
        said = node.spec.describe()
        if node.is_source:  # its label is left out, because files may be added; the rest of it may not change
            policies = "; ".join(f"{attribute}: {policy}" for attribute, policy in node.source.policies)
            said = f"Source {policies}   late: {node.source.late}   nulls: {node.source.nulls}"
        lines.append(f"{said} <- ({inputs}): {columns}")
    return {"format": FORMAT, "shards": stages.shards, "plan": lines}


def check_identity(found: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Refuse state of another plan, format or number of shards. The error says what differs."""
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


def check_checkpoint(checkpoint: str, ours: Any) -> None:
    """Refuse a checkpoint whose last offset names another identity. If no offset can be read here, because the
    checkpoint is on another machine, sources and stages check this later, each by itself."""
    offsets = Path(checkpoint) / "offsets"
    numbers = [int(p.name) for p in offsets.iterdir() if p.name.isdigit()] if offsets.is_dir() else []
    if not numbers:
        return
    for line in (offsets / str(max(numbers))).read_text().splitlines()[1:]:
        try:
            said = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(said, dict) and isinstance(said.get("plan"), dict):
            check_identity(said["plan"], ours)
