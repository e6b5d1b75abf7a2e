"""What was in the way of an agent on a grid, in words."""

from __future__ import annotations


def in_the_way(name: str) -> str:
    """Say that the cell ahead could not be entered, given its name."""
    if name in ("outside", ""):
        return "The edge of the grid is in the way."
    if name == "floor":
        return "Another agent was in the way, and has moved on."
    return f"{name.split(' facing ')[0] if ' facing ' in name else f'The {name}'} is in the way."
