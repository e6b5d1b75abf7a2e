"""What was in the way of an agent of ObjectSearch, in words: by name if the agent perceives it."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.codes import AHEAD, HEADINGS, OUTSIDE, UNSEEN
from piase_gym.worlds.object_search.codes import BLOCKED, FAILURES, HEIGHT, LEVELS
from piase_gym.worlds.object_search.facts import others_of
from piase_gym.worlds.object_search.form import Form
from piase_gym.worlds.object_search.geometry import OWN, SIDE

_SEEN = {"forward": 0, "move_up": 1, "move_down": -1}
"""Moves into cells that an agent perceives, with the levels that they rise."""


def in_the_way(verb: str, vector: NDArray[np.uint8], form: Form) -> str:
    """Say what an agent bumped into.

    Args:
        verb: What it tried.
        vector: Its vector afterwards.
        form: Where things lie in the vector.
    """
    if not form.house:
        return "The line ends here."
    if verb not in _SEEN:
        return FAILURES[BLOCKED]
    z, code = int(vector[form.start + 5]), int(vector[OWN - SIDE * (verb == "forward")])
    return _thing(form, verb, z, code) or _agent(verb, vector, form)


@functools.lru_cache(maxsize=256)
def _thing(form: Form, verb: str, z: int, code: int) -> str | None:
    """Say which part of the house an agent bumped into, or return `None` if it was an agent.

    Args:
        form: The names of columns.
        verb: What it tried.
        z: Its level.
        code: What fills the column that it wanted to enter.
    """
    if verb == "move_up" and z == LEVELS - 1:
        return "There is no level above this one."
    if verb == "move_down" and z == 0:
        return "The floor is right below you."
    if code in (OUTSIDE, UNSEEN):
        return "The house ends here." if code == OUTSIDE else FAILURES[BLOCKED]
    if HEIGHT[code] <= z + _SEEN[verb]:
        return None
    noun = form.nouns.noun(form.cell_names[code])
    return f"{noun[0].upper()}{noun[1:]} is in the way."


def _agent(verb: str, vector: NDArray[np.uint8], form: Form) -> str:
    """Say which agent is in the cell that another wanted to enter, if it is still there."""
    x, y, z, heading = vector[form.start + 3 : form.start + 7].tolist()
    dx, dy = AHEAD[HEADINGS[heading]] if verb == "forward" else (0, 0)
    place = x + dx, y + dy, z + _SEEN[verb]
    others = others_of(vector[form.others : form.objects].tolist(), form)
    there = [other.name for other in others if other.position == place]
    return f"{there[0]} is in the way." if there else "Another agent was in the way."
