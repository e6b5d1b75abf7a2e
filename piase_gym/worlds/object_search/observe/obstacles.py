"""What was in the way of an agent of ObjectSearch, in words: of what it perceives, by name."""

from __future__ import annotations

from collections.abc import Sequence

from piase_gym.worlds.grids.codes import AHEAD, HEADINGS, OUTSIDE, UNSEEN
from piase_gym.worlds.object_search.codes import BLOCKED, FAILURES, HEIGHT, LEVELS
from piase_gym.worlds.object_search.facts import others_of
from piase_gym.worlds.object_search.form import Form
from piase_gym.worlds.object_search.geometry import OWN, SIDE


def in_the_way(verb: str, values: Sequence[int], form: Form) -> str:
    """Say what an agent bumped into.

    Args:
        verb: What it tried.
        values: Its vector afterwards.
        form: Where things lie in it.
    """
    x, y, z, heading = values[form.start + 3 : form.start + 7]
    if not form.house:
        return "The line ends here."
    if verb == "move_up" and z == LEVELS - 1:
        return "There is no level above this one."
    if verb == "move_down" and z == 0:
        return "The floor is right below you."
    dx, dy = AHEAD[HEADINGS[heading]] if verb == "forward" else (0, 0)
    dz = {"move_up": 1, "move_down": -1}.get(verb, 0)
    if not (dx or dy or dz):
        return FAILURES[BLOCKED]
    place = x + dx, y + dy, z + dz
    for other in others_of(values[form.others : form.objects], form):
        if other.position == place:
            return f"{other.name} is in the way."
    code = values[OWN - SIDE if verb == "forward" else OWN]
    if code in (OUTSIDE, UNSEEN):
        return "The house ends here." if code == OUTSIDE else FAILURES[BLOCKED]
    if HEIGHT[code] <= place[2]:
        return "Another agent was in the way."
    noun = form.nouns.noun(form.cell_names[code])
    return f"{noun[0].upper()}{noun[1:]} is in the way."
