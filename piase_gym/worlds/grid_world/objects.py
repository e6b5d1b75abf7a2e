"""What there is on a grid, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from piase_gym.core.objects import AGENT
from piase_gym.worlds.grid_world import cells as kinds

_SHOWN: Final[dict[int, dict[str, Any]]] = {
    kinds.GOAL: {"kind": "goal"},
    kinds.KEY: {"kind": "key", "alike": True},
    kinds.LOCKED: {"kind": "door", "locked": True, "open": False},
    kinds.CLOSED: {"kind": "door", "locked": False, "open": False},
    kinds.OPEN: {"kind": "door", "locked": False, "open": True},
    kinds.BOX: {"kind": "box", "alike": True},
    kinds.SWITCH_OFF: {"kind": "switch", "on": False},
    kinds.SWITCH_ON: {"kind": "switch", "on": True},
    kinds.GATE: {"kind": "gate", "open": False},
    kinds.GATE_OPEN: {"kind": "gate", "open": True},
    kinds.HAZARD: {"kind": "hazard"},
    kinds.FRUIT: {"kind": "fruit"},
    kinds.MOVER: {"kind": "drone", "alike": True},
    **{code: {"kind": kinds.NAMES[code]} for code in kinds.FOODS},
}
"""What each kind of cell is. Keys, boxes and drones of one kind cannot be told apart."""
_CODES: Final = np.isin(np.arange(256), list(_SHOWN))


def objects(record: Any, side: int, agents: Sequence[str], energy: bool) -> dict[str, Any]:
    """Return all objects and agents of a record, with their places [x, y].

    Args:
        record: The state.
        side: The columns of its cells.
        agents: The names of the agents that take part.
        energy: Whether agents use up energy.
    """
    found: dict[str, Any] = {}
    fields = [record[name].tolist() for name in ("x", "y", "heading", "alive", "carry", "energy")]
    for name, x, y, heading, alive, carry, left in zip(agents, *fields, strict=False):
        found[name] = {
            "kind": AGENT,
            "place": [x, y],
            "heading": kinds.HEADINGS[heading],
            "in_play": bool(alive),
        }
        if energy:
            found[name]["energy"] = left
        if carry:
            found[f"key of {name}"] = {"kind": "key", "alike": True, "place": name}
    cells = record["cells"]
    for cell in np.flatnonzero(_CODES[cells]).tolist():
        x, y, shown = cell % side, cell // side, _SHOWN[int(cells[cell])]
        found[f"{shown['kind']} ({x}, {y})"] = {**shown, "place": [x, y]}
    return found
