"""What was in the way of an agent of ObjectSearch, in words: of what it perceives, by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.codes import AHEAD, HEADINGS, OUTSIDE, UNSEEN
from piase_gym.worlds.object_search.codes import BLOCKED, FAILURES, HEIGHT, LEVELS
from piase_gym.worlds.object_search.facts import others_of
from piase_gym.worlds.object_search.form import Form
from piase_gym.worlds.object_search.geometry import OWN, SIDE

_SEEN = {"forward": 0, "move_up": 1, "move_down": -1}
"""Moves to what an agent perceives, with the levels that they rise."""


def in_the_way(verb: str, vector: NDArray[np.uint8], form: Form) -> str:
    """Say what an agent bumped into.

    Args:
        verb: What it tried.
        vector: Its vector afterwards.
        form: Where things lie in it.
    """
    if not form.house:
        return "The line ends here."
    if verb not in _SEEN:
        return FAILURES[BLOCKED]
    x, y, z, heading = vector[form.start + 3 : form.start + 7].tolist()
    if verb == "move_up" and z == LEVELS - 1:
        return "There is no level above this one."
    if verb == "move_down" and z == 0:
        return "The floor is right below you."
    dx, dy = AHEAD[HEADINGS[heading]] if verb == "forward" else (0, 0)
    place = x + dx, y + dy, z + _SEEN[verb]
    code = int(vector[OWN - SIDE if verb == "forward" else OWN])
    if code in (OUTSIDE, UNSEEN):
        return "The house ends here." if code == OUTSIDE else FAILURES[BLOCKED]
    if HEIGHT[code] <= place[2]:
        others = others_of(vector[form.others : form.objects].tolist(), form)
        there = [other.name for other in others if other.position == place]
        return f"{there[0]} is in the way." if there else "Another agent was in the way."
    noun = form.nouns.noun(form.cell_names[code])
    return f"{noun[0].upper()}{noun[1:]} is in the way."
