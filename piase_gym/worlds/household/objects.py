"""What there is in a home, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piase_gym.core.objects import AGENT
from piase_gym.worlds.household.levels.game import Game
from piase_gym.worlds.household.rules.goals import MARKS
from piase_gym.worlds.household.state import NOTHING, HomeState


def objects(game: Game, state: HomeState, agents: Sequence[str]) -> dict[str, Any]:
    """Return agents, receptacles and objects; an object is in a receptacle or held by an agent."""
    found: dict[str, Any] = {}
    where: dict[int, str | None] = {}
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            here = game.at[state.at[k]]
            place = game.receptacles[here[0]] if here else game.locations[state.at[k]]
            playing = state.status[k] == "playing"
            found[name] = {"kind": AGENT, "place": place, "in_play": playing}
            if state.holding[k] != NOTHING:
                where[state.holding[k]] = name
    for k, name in enumerate(game.receptacles):
        found[name] = {"kind": "receptacle"}
        if game.openable[k]:
            found[name]["open"] = bool(state.opened[k])
        where |= dict.fromkeys(state.contents[k], name)
    for k, name in enumerate(game.objects):
        marks = {mark: bool(state.marks[k] & bit) for mark, bit in MARKS.items()}
        found[name] = {"kind": game.types[k], "place": where.get(k), **marks}
    return found
