"""The agents that search and the objects to find, one by one; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from piase_gym.core.objects import AGENT
from piase_gym.worlds.grids.codes import HEADINGS
from piase_gym.worlds.object_search.codes import PITCHES, ROLLS
from piase_gym.worlds.object_search.observe.pictures import Scene


def objects(record: Any, scene: Scene, names: Sequence[str]) -> dict[str, Any]:
    """Return agents with their poses, and objects; on a line one may lie at several positions.

    Args:
        record: The state.
        scene: The same state, as pictures show it.
        names: The names of the agents that take part.
    """
    house = scene.config.in_house
    fields = [record[name].tolist() for name in "x y z heading pitch roll alive".split()]
    found: dict[str, Any] = {}
    for name, x, y, z, heading, pitch, roll, alive in zip(names, *fields, strict=False):
        turned = {"heading": HEADINGS[heading], "pitch": PITCHES[pitch], "roll": ROLLS[roll]}
        found[name] = {
            "kind": AGENT,
            "place": [x, y, z] if house else x,
            **(turned if house else {}),
            "in_play": bool(alive),
        }
    counts = Counter(thing.name for thing in scene.objects)
    for thing in scene.objects:
        name = f"{thing.name} ({thing.x})" if counts[thing.name] > 1 else thing.name
        place: Any = [thing.x, thing.y] if house else thing.x
        found[name] = {"kind": "object", "place": place, "found": thing.found}
    return found
