"""What is checked of every record before kernels, which check no bounds, go on from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def find_agent_problem(
    record: Any, table: Any, bounds: Mapping[str, int], same: Sequence[str] = ("agents",)
) -> str:
    """Say what is impossible in fields that each agent has, or return an empty string.

    Args:
        record: The state.
        table: What the config says.
        bounds: The end of the range of each field, from 0 on.
        same: Fields in which both must agree.
    """
    for name in same:
        if record[name] != table[name]:
            return f"{name!r} is {record[name]}, but the config says {table[name]}"
    for name, stop in bounds.items():
        if not ((record[name] >= 0) & (record[name] < stop)).all():
            return f"{name!r} must be in 0..{stop - 1} for every agent"
    count = int(record["agents"])
    if record["alive"][count:].any():
        return f"'alive' names agents beyond the {count} of the config"
    return ""


def find_grid_problem(record: Any, table: Any, bounds: Mapping[str, int], most_steps: int) -> str:
    """Say what is impossible in what all grids share, or return an empty string.

    Args:
        record: The state.
        table: What the config says.
        bounds: As for `find_agent_problem`, without those of places.
        most_steps: Steps that an episode has at most.
    """
    bounds = {"x": int(record["width"]), "y": int(record["height"]), **bounds}
    problem = find_agent_problem(record, table, bounds, ("width", "height", "agents"))
    count = int(record["agents"])
    if not problem and sorted(record["order"][:count].tolist()) != list(range(count)):
        return f"'order' must name each of the {count} agents once"
    if not problem and not 0 <= record["t"] <= most_steps:
        return f"'t' must be in 0..{most_steps}"
    return problem
