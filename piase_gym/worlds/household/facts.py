"""Household's facts: what one agent may know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage

STATES = ("unseen", "plain", "closed", "open")
"""What is known of a receptacle: ``plain`` ones have no door."""


class KnownReceptacle(NamedTuple):
    """A receptacle, as an agent knows it.

    Attributes:
        name: Its name.
        here: Whether the agent stands at it.
        state: One of `STATES`, as last seen.
        things: What the agent last saw in or on it, or ``None`` if that is unknown.
    """

    name: str
    here: bool
    state: str
    things: tuple[str, ...] | None


class HeldObject(NamedTuple):
    """An object in hand, and its looks, any of ``clean``, ``hot``, ``cool``, ``sliced``."""

    name: str
    looks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HouseholdFacts(Facts):
    """What one agent of Household may know.

    Attributes:
        goal: The task in words.
        places: The receptacles of the home, all of which are in sight at the beginning, by kind
            and number.
        holding: What the agent carries.
        others: The other agents at the same place.
        away: The other agents that are not in play now and cannot be spoken to, unless the config
            hides what can be done.
        commands: What the agent can do now, sorted. Left out is what it always can do: walk to
            another receptacle, look around, examine what is where it is and what it carries, list
            what it carries, speak to others, and ask for help, if the grammar has it; and what
            `options` and `lids` return. ``None`` if the config hides what can be done.
        barred: Which of the `options` cannot be done: the names of things that cannot be taken, or
            of receptacles that cannot take what the agent carries.
        feedback: What became of its last command, in words, as far as the rest does not show it.
        earlier: With `message_history`, what was heard before.
    """

    goal: str
    places: tuple[KnownReceptacle, ...]
    holding: tuple[HeldObject, ...]
    others: tuple[str, ...]
    away: tuple[str, ...]
    commands: tuple[str, ...] | None
    barred: tuple[str, ...]
    feedback: str | None
    earlier: tuple[EarlierMessage, ...] | None = None


def lids(places: Iterable[KnownReceptacle]) -> list[str]:
    """Return the commands to open or close the receptacles where an agent stands."""
    lid = {"closed": "open", "open": "close"}
    return [f"{lid[p.state]} {p.name}" for p in places if p.here and p.state in lid]


def options(
    places: Iterable[KnownReceptacle], holding: Sequence[HeldObject], placing: str
) -> list[tuple[str, str]]:
    """Return what an agent could take or put down where it stands, unless that is barred.

    Args:
        places: What is known of receptacles.
        holding: What it carries.
        placing: ``move`` or ``put``, the verb that puts something down.

    Returns:
        Pairs of a thing, or a receptacle to put down what is carried, and the command.
    """
    near = [place for place in places if place.here and place.state != "closed"]
    if holding:
        into = "to" if placing == "move" else "in/on"
        return [(p.name, f"{placing} {holding[0].name} {into} {p.name}") for p in near]
    return [(thing, f"take {thing} from {p.name}") for p in near for thing in p.things or ()]
