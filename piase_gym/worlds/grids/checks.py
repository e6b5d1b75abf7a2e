"""What is checked of every state on a grid before kernels, which check no bounds, go on from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def find_grid_problem(record: Any, table: Any, bounds: Mapping[str, int], most_steps: int) -> str:
    """Say what is impossible in what all grids share, or return an empty string.

    Args:
        record: The state.
        table: What the config says.
        bounds: The end of the range, from 0 on, of fields that each agent has.
        most_steps: Steps that an episode has at most.
    """
    for name in ("width", "height", "agents"):
        if record[name] != table[name]:
            return f"{name!r} is {record[name]}, but the config says {table[name]}"
    count = int(record["agents"])
    for name, stop in {"x": int(record["width"]), "y": int(record["height"]), **bounds}.items():
        if not ((record[name] >= 0) & (record[name] < stop)).all():
            return f"{name!r} must be in 0..{stop - 1} for every agent"
    if record["alive"][count:].any():
        return f"'alive' names agents beyond the {count} of the config"
    if sorted(record["order"][:count].tolist()) != list(range(count)):
        return f"'order' must name each of the {count} agents once"
    if not 0 <= record["t"] <= most_steps:
        return f"'t' must be in 0..{most_steps}"
    return ""
