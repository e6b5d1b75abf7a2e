"""TextRoom's facts: what one agent may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from piase_gym.core.mailbox import Message
from piase_gym.core.world import Facts

STATES = ("", "closed", "open")


class Seen(NamedTuple):
    """An object in sight.

    Attributes:
        name: Its name.
        inside: The object that it is in, or "".
        state: ``open``, ``closed`` or "".
        description: How it looks.
    """

    name: str
    inside: str
    state: str
    description: str


class Held(NamedTuple):
    """An object in hand: its name, and ``open``, ``closed`` or ""."""

    name: str
    state: str


class Way(NamedTuple):
    """A way out: its direction, and the door in it or ""."""

    direction: str
    door: str


@dataclass(frozen=True, kw_only=True)
class TextRoomFacts(Facts):
    """What one agent of TextRoom may know.

    Attributes:
        room: Where the agent is.
        description: How the room looks.
        exits: The ways out.
        objects: What is in sight, besides doors' other sides and what is carried.
        inventory: What the agent carries.
        others: Who else is here.
        stats: Numbers of its body, by name.
        goal: The item that a generated quest asks for, or "".
        feedback: What became of its last command, in words.
    """

    room: str
    description: str
    exits: tuple[Way, ...]
    objects: tuple[Seen, ...]
    inventory: tuple[Held, ...]
    others: tuple[str, ...]
    stats: tuple[tuple[str, float], ...]
    goal: str
    feedback: str | None


class StepFacts(NamedTuple):
    """What one agent knows of a step: its body, letters, what became of its command, a hint."""

    stats: tuple[tuple[str, float], ...]
    messages: tuple[Message, ...]
    feedback: str | None
    hint: str | None
