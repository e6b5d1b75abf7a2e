"""What agents of a GridWorld can say and do: the grammar, and the command of every index."""

from __future__ import annotations

import functools
import re
from typing import Final

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.channel.symbols import SAYING
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grids.moves import MOVES, verbs_of
from piase_gym.worlds.grids.words import FrameName

ACTING = "pick up, drop, open, close, unlock, switch or lift what is on the cell ahead"


@functools.cache
def grammar_of(
    message: tuple[Param, ...], frame: FrameName, acting: str = ACTING
) -> tuple[Verb, ...]:
    """Return the verbs, each with a message if there is a channel.

    Args:
        message: The parameters of a message that is said with a command.
        frame: The frame of reference.
        acting: What `interact` can do.
    """
    return (
        *verbs_of(frame, "if it is free", message),
        Verb("stay", "do nothing", message, ("wait", "noop", "do nothing")),
        Verb("interact", acting, message, ("use", "toggle", "act", "activate")),
    )


def silent_commands(frame: FrameName) -> list[Command]:
    """Return the commands without a message; with one, the index is ``message * 6 + action``."""
    return [*MOVES[frame], Command("stay"), Command("interact")]


_DEEDS: Final = {
    "pick up|take|get|grab|fetch|collect": (events.PICK_UP, events.TOO_HEAVY),
    "lift|gather|harvest": (events.TOO_HEAVY,),
    "drop|put down|put|release": (events.DROP,),
    "open|unlock": (events.OPEN_DOOR, events.UNLOCK, events.NO_KEY),
    "close|shut": (events.CLOSE_DOOR,),
    "switch|press|flip|pull|push|turn|operate|toggle|use": (events.TOGGLE,),
    "toggle|use": (events.OPEN_DOOR, events.UNLOCK, events.NO_KEY, events.CLOSE_DOOR),
}
"""Words for what interacting can do, and the events that they stand for."""
_THINGS: Final = {
    "key": (events.PICK_UP, events.DROP, events.UNLOCK),
    "door": (events.OPEN_DOOR, events.UNLOCK, events.NO_KEY, events.CLOSE_DOOR),
    "switch": (events.TOGGLE,),
    "food": (events.TOO_HEAVY,),
}
_DEED = re.compile(
    rf"({'|'.join(_DEEDS)})((?: (?:the|a|an|my|locked|closed|open|up|down|here|on|off|with|ahead|"
    rf"{'|'.join(_THINGS)}))*)({SAYING})"
)


def deed_events(line: str) -> tuple[set[int], str] | None:
    """Return the events that a line such as ``unlock the door`` asks for, and what it says.

    Args:
        line: What was said, in lower case and without punctuation.

    Returns:
        The events, and the words with which it says a symbol; ``None`` if it is not such a line.
    """
    match = _DEED.fullmatch(line)
    if match is None:
        return None
    verb, rest, said = match.groups()
    asked = {e for words, found in _DEEDS.items() if verb in words.split("|") for e in found}
    named = [thing for thing in _THINGS if thing in rest.split()]
    if named and verb not in ("open", "unlock"):
        asked &= {event for thing in named for event in _THINGS[thing]}
    return asked, said or ""
