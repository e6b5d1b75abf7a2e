"""TextRoom's facts: what one agent may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from piase_gym.core.mailbox import Message
from piase_gym.core.world import Facts
from piase_gym.worlds.channel.heard import EarlierMessage

STATES = ("", "closed", "open", "locked", "unlocked", "not searched", "searched")
"""The states of a thing. One that has a lock and is closed is ``locked`` or ``unlocked``. One that
cannot be carried, opened or closed may be ``searched``, and is ``not searched`` until this agent
searches it."""


class VisibleObject(NamedTuple):
    """An object in sight.

    Attributes:
        name: Its name.
        inside: The object that it is in, or "".
        state: One of `STATES`.
        description: How it looks.
    """

    name: str
    inside: str
    state: str
    description: str


class HeldObject(NamedTuple):
    """An object in hand: its name, and one of `STATES`."""

    name: str
    state: str


class KnownExit(NamedTuple):
    """A way out.

    Attributes:
        direction: The direction in which it leads.
        door: The door in it, or "".
        to: The room that it leads to, once the agent has walked it in either direction; else "".
    """

    direction: str
    door: str
    to: str


class PastThing(NamedTuple):
    """An object that is out of sight.

    Attributes:
        name: Its name.
        inside: The object that it was in, or "".
        state: Its state then, one of `STATES`.
        age: How many steps ago it was seen.
    """

    name: str
    inside: str
    state: str
    age: int


class PastRoom(NamedTuple):
    """A room that was seen, and what was last seen there.

    Attributes:
        name: Its name.
        age: How many steps ago it was seen; 0 for the room where the agent is now.
        exits: Its ways out.
        things: What was seen there.
    """

    name: str
    age: int
    exits: tuple[KnownExit, ...]
    things: tuple[PastThing, ...]


@dataclass(frozen=True, kw_only=True)
class TextRoomFacts(Facts):
    """What one agent of TextRoom may know.

    Attributes:
        room: Where the agent is.
        description: How the room looks.
        exits: The ways out.
        objects: The objects in sight that the agent does not carry.
        inventory: What the agent carries.
        others: Who else is here.
        stats: Numbers of its body, by name.
        goal: The item that a generated quest asks for; in a written story, its goal in words.
        past: With ``recall="map"``, what it remembers of what is out of sight.
        feedback: What became of its last command, in words.
        earlier: With `message_history`, what was heard before.
    """

    room: str
    description: str
    exits: tuple[KnownExit, ...]
    objects: tuple[VisibleObject, ...]
    inventory: tuple[HeldObject, ...]
    others: tuple[str, ...]
    stats: tuple[tuple[str, float], ...]
    goal: str
    past: tuple[PastRoom, ...]
    feedback: str | None
    earlier: tuple[EarlierMessage, ...] | None = None


class StepFacts(NamedTuple):
    """One agent's knowledge of a step: body, letters, memory, feedback on its command, a hint."""

    stats: tuple[tuple[str, float], ...]
    messages: tuple[Message, ...]
    past: tuple[PastRoom, ...]
    feedback: str | None
    hint: str | None
