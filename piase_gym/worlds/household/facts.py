"""Household's facts: what one agent may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from piase_gym.core.world import Facts
from piase_gym.worlds.channel.symbols import Earlier

STATES = ("unseen", "plain", "closed", "open")
"""What is known of a receptacle: ``plain`` ones have no door."""


class Place(NamedTuple):
    """A receptacle, as an agent knows it.

    Attributes:
        name: Its name.
        here: Whether the agent stands at it.
        state: One of `STATES`, as last seen.
        things: What was in or on it when the agent last saw that, or ``None``.
    """

    name: str
    here: bool
    state: str
    things: tuple[str, ...] | None


class Held(NamedTuple):
    """An object in hand, and how it looks: of ``clean``, ``hot``, ``cool``, ``sliced``."""

    name: str
    looks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HouseholdFacts(Facts):
    """What one agent of Household may know.

    Attributes:
        goal: The task in words.
        places: The receptacles of the home, which all are in sight at the beginning, by kind and
            number.
        holding: What the agent carries.
        others: Who stands at the same place.
        commands: What the agent can do now, sorted, unless the config hides it; but for what it
            always can: walk to another receptacle, look around, examine what is where it is and
            what it carries, take stock of that, and ask for help, if the grammar has it.
        feedback: What became of its last command, in words, as far as the rest does not show it.
        earlier: With `message_history`, what was heard before.
    """

    goal: str
    places: tuple[Place, ...]
    holding: tuple[Held, ...]
    others: tuple[str, ...]
    commands: tuple[str, ...]
    feedback: str | None
    earlier: tuple[Earlier, ...] | None = None
