"""What there is in the rooms, object by object; see `piase_gym.core.objects`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from piase_gym.core.objects import AGENT
from piase_gym.worlds.text_room.state import AT_ITS_DOOR, NOWHERE, Plot, RoomState


def objects(plot: Plot, state: RoomState, agents: Sequence[str]) -> dict[str, Any]:
    """Return agents, things and doors; the place of a thing is a room, a thing or an agent.

    Objects that were taken out of the story are left out; its metrics are under ``story``.
    """
    found: dict[str, Any] = {}
    for k, name in enumerate(agents):
        if state.status[k] != "none":
            found[name] = {
                "kind": AGENT,
                "place": plot.rooms[state.rooms[k]],
                "in_play": state.status[k] == "playing",
                "flags": list(state.flags[k]),
                **state.stats[k],
            }
    doors = {door for row in plot.doors for door in row}
    for k, name in enumerate(plot.objects):
        if state.place[k] == NOWHERE:
            continue
        shown: dict[str, Any] = {
            "kind": "door" if k in doors else "container" if plot.containers[k] else "thing",
            "place": _place(plot, state.place[k], agents),
            "hidden": bool(state.hidden[k]),
        }
        if plot.opens[k]:
            shown |= {"locked": bool(state.locked[k]), "open": bool(state.is_open[k])}
        if f"object:{name}" in state.looks:
            shown["description"] = state.looks[f"object:{name}"]
        found[name] = shown
    for room in plot.rooms:
        if f"room:{room}" in state.looks:
            found[f"room {room}"] = {"kind": "room", "description": state.looks[f"room:{room}"]}
    if state.metrics:
        found["story"] = {"kind": "story", **state.metrics}
    return found


def _place(plot: Plot, place: int, agents: Sequence[str]) -> str | None:
    """Return the name of a place."""
    if place == AT_ITS_DOOR:
        return None
    return (*plot.rooms, *plot.objects, *agents)[place]
