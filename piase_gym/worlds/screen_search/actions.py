"""ScreenSearch's commands: the twelve movements of the explorer document, each a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from piase_gym.core.commands import Command, Verb
from piase_gym.worlds.channel.config import speaking_verbs

STAY: Final = "stay"
MOVEMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "forward": ("w", "move forward"),
    "backward": ("s", "move backward"),
    "move_left": ("a", "move to the left"),
    "move_right": ("d", "move to the right"),
    "move_up": ("e", "move up"),
    "move_down": ("q", "move down"),
    "look_left": ("left", "turn the head to the left"),
    "look_right": ("right", "turn the head to the right"),
    "look_up": ("up", "raise the head"),
    "look_down": ("down", "lower the head"),
    "tilt_left": ("z", "roll the head to the left"),
    "tilt_right": ("c", "roll the head to the right"),
}
"""Movement -> the key that usually does it, and what it does."""
TABLE: Final = (*map(Command, MOVEMENTS), Command(STAY))
"""The command of every index."""


_MORE: Final = {
    "forward": ("move forward", "move_forward", "ahead"),
    "backward": ("move backward", "move_backward", "back"),
    "look_left": ("turn left",),
    "look_right": ("turn right",),
}


def _also(name: str) -> tuple[str, ...]:
    """Return the other spellings of a movement."""
    words = name.replace("_", " ")
    return (*((words,) if words != name else ()), *_MORE.get(name, ()))


def verbs(agents: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs, including those for speaking if there are several agents."""
    found = [Verb(name, does, (), _also(name)) for name, (_, does) in MOVEMENTS.items()]
    found.append(Verb(STAY, "press nothing and look again", synonyms=("wait", "noop")))
    if len(agents) > 1:
        found += speaking_verbs(agents, "speak to everyone else")
    return tuple(found)
