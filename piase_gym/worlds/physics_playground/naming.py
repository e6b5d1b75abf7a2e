"""What commands name: things, agents, places and the goal, as an agent perceives them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from piase_gym.core.commands import InvalidAction, Outcome
from piase_gym.worlds.physics_playground.actions import place_of
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import PhysicsPlaygroundFacts
from piase_gym.worlds.physics_playground.geometry import nearest_of_crate
from piase_gym.worlds.physics_playground.levels.bodies import hull
from piase_gym.worlds.physics_playground.levels.items import MAX_SIDE, Point
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.rules.strides import ARRIVED
from piase_gym.worlds.physics_playground.state import PlayState

COMPASS: Final = {
    "east": (1.0, 0.0),
    "north": (0.0, 1.0),
    "west": (-1.0, 0.0),
    "south": (0.0, -1.0),
}
AIMS: Final = ("goal", "zone")
FAR: Final = 1000.0
CLOSE: Final = 0.06
"""How many metres from the surface of a thing `go to` stops; the thing can be gripped there."""


def target_of(
    what: str, agent: int, play: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig
) -> tuple[Point, float]:
    """Return the place of what a command names, and how near an agent has to come to it."""
    place, near, first = place_of(what), hull(config.body) + CLOSE, len(play.objects)
    x, y, _ = reading.raw[first + agent][0]
    if place is not None:
        return place, ARRIVED
    if what in COMPASS:
        east, north = COMPASS[what]
        return (x + FAR * east, y + FAR * north), ARRIVED
    if what in AIMS:
        east, north = play.targets[agent] if play.targets else play.zone
        return (east, north), ARRIVED
    number = [body.name for body in (*play.objects, *play.agents)].index(what)
    (east, north, _), turn = reading.raw[number][:2]
    if number >= first:
        return (east, north), near + hull(config.body)
    body = play.objects[number]
    if body.shape == "crate":
        return nearest_of_crate((x, y), (east, north), turn, body.half), near
    return (east, north), near + body.half[0]


def proper_name(
    what: str,
    verb: str,
    facts: PhysicsPlaygroundFacts,
    play: PlayState,
    config: PhysicsPlaygroundConfig,
) -> str | None:
    """Return the proper name of what a command names, if the agent perceives it."""
    place = place_of(what)
    if place is not None:
        inside = max(map(abs, place)) <= MAX_SIDE
        return f"{place[0]:g} {place[1]:g}" if inside else None
    what = re.sub(r"^(?:the|my|your) ", "", what)
    if what in (*AIMS, "target") and facts.goal is not None:
        return "zone" if config.row.zone else "goal"
    if what in COMPASS and verb == "face":
        return what
    known = {seen.name.lower(): seen.name for seen in (*facts.others, *facts.objects)}
    kinds = [body.shape for body in play.objects]
    for number, body in enumerate(play.objects):
        if body.name in known:
            nth = kinds[: number + 1].count(body.shape)
            known |= {body.name.split()[0]: body.name, f"{body.shape}_{nth}": body.name}
            if kinds.count(body.shape) == 1:
                known[body.shape] = body.name
    return known.get(what)


def unknown(
    what: str, facts: PhysicsPlaygroundFacts, config: PhysicsPlaygroundConfig
) -> InvalidAction:
    """Say that an agent perceives nothing of that name, and what it can name."""
    names = ["the zone" if config.row.zone else "the goal"] * (facts.goal is not None)
    names += [seen.name for seen in (*facts.objects, *facts.others)]
    return InvalidAction(
        Outcome.ILLEGAL,
        f"You perceive no {what[:40]!r}. You can name {', '.join([*names, 'a place'])} "
        "such as 1.2 -0.5.",
    )


def in_the_way(facts: PhysicsPlaygroundFacts, agents: Sequence[str]) -> str:
    """Say what is in the way of an agent or of the thing it holds, if anything."""
    names = [f"{'the ' if name not in agents else ''}{name}" for name in facts.touching]
    if not names:
        held = facts.holding
        return f"Something is in the way of the {held}." if held else ""
    said = f"{', '.join(names[:-1])} and {names[-1]} are" if names[1:] else f"{names[0]} is"
    return f"{said[0].upper() if names[0] not in agents else said[0]}{said[1:]} in the way."
