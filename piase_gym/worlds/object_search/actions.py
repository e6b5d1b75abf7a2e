"""What agents of ObjectSearch can do: the grammar, and the command of every index."""

from __future__ import annotations

import functools
from typing import Final

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.object_search.codes import VERBS

_DOES: Final = (
    "move one cell ahead",
    "move one cell back",
    "move one cell to the left without turning",
    "move one cell to the right without turning",
    "rise by one level",
    "sink by one level",
    "turn left",
    "turn right",
    "look up: from down to level, from level to up",
    "look down: from up to level, from level to down",
    "tilt your head to the left",
    "tilt your head to the right",
    "do nothing",
)
_ALSO: Final = {
    "forward": ("ahead", "move forward", "go forward", "move_forward"),
    "backward": ("back", "move back", "move backward", "go back", "move_backward"),
    "move_left": ("move left", "step left", "left", "strafe left"),
    "move_right": ("move right", "step right", "right", "strafe right"),
    "move_up": ("move up", "rise", "up", "go up"),
    "move_down": ("move down", "sink", "down", "go down"),
    "look_left": ("look left", "turn left"),
    "look_right": ("look right", "turn right"),
    "look_up": ("look up",),
    "look_down": ("look down",),
    "tilt_left": ("tilt left",),
    "tilt_right": ("tilt right",),
    "stay": ("wait", "noop", "do nothing"),
}
REPORT: Final = {"message": "report"}


@functools.cache
def grammar_of(channel: bool) -> tuple[Verb, ...]:
    """Return the verbs, each with a report if there is a channel."""
    report = Param("message", choices=("report",), before="and", optional=True)
    more = (report,) if channel else ()
    return tuple(
        Verb(verb, does, more, _ALSO.get(verb, ())) for verb, does in zip(VERBS, _DOES, strict=True)
    )


@functools.cache
def commands_of(channel: bool) -> tuple[Command, ...]:
    """Return the command of every index: the actions, then the same with a report."""
    return tuple(
        Command(verb, dict(more)) for more in ({}, REPORT)[: 1 + channel] for verb in VERBS
    )
