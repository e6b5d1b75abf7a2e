"""What there is in a social dilemma, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piase_gym.core.objects import AGENT
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, WASTE, WATER


def of_commons(record: Any, side: int, agents: Sequence[str]) -> dict[str, Any]:
    """Return agents, apples that hang, and the water with what pollutes it.

    Args:
        record: The state.
        side: Columns of its cells.
        agents: The names of the agents that take part.
    """
    names = ("x", "y", "heading", "alive", "out", "eaten", "cleaned")
    rows = zip(*(record[name].tolist() for name in names), strict=True)
    found: dict[str, Any] = {
        name: {
            "kind": AGENT,
            "place": None if out else [x, y],
            "heading": HEADINGS[heading],
            "in_play": bool(alive),
            "time_out": out,
            "eaten": eaten,
            "cleaned": cleaned,
        }
        for name, (x, y, heading, alive, out, eaten, cleaned) in zip(agents, rows, strict=False)
    }
    cells = record["cells"]
    for cell in np.flatnonzero((cells >= APPLE) & (cells <= WASTE)).tolist():
        place, code = [cell % side, cell // side], int(cells[cell])
        if code == APPLE:
            found[f"apple ({place[0]}, {place[1]})"] = {"kind": "apple", "place": place}
        elif code in (WATER, WASTE):
            waste = {"kind": "water", "place": place, "waste": int(code == WASTE)}
            found[f"water ({place[0]}, {place[1]})"] = waste
    return found


def of_matrix(record: Any, agents: Sequence[str], scores: Sequence[float]) -> dict[str, Any]:
    """Return the game with its rounds, and agents with their scores and choices.

    Args:
        record: The state.
        agents: The names of the agents that take part.
        scores: Everybody's score.
    """
    played = int(record["played"])
    rows = zip(scores, record["cooperated"].tolist(), record["alive"].tolist(), strict=False)
    found: dict[str, Any] = {"game": {"kind": "game", "rounds": played}}
    for name, (score, cooperated, alive) in zip(agents, rows, strict=False):
        counts = {"score": score, "cooperated": cooperated, "in_play": bool(alive)}
        found[name] = {"kind": AGENT, **counts}
    return found
