"""The state of a home as an explicit value; the part that never changes is `levels.game`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from piase_gym.worlds.texts.state import CopiedState

Status = Literal["none", "playing", "won", "lost"]
View = tuple[int, tuple[int, ...] | None]
"""What an agent knows of a receptacle: one of `UNSEEN` .. `OPEN`, and what is in it, if seen."""
UNSEEN, PLAIN, CLOSED, OPEN = range(4)
NOTHING = -1


@checked(config=ConfigDict(extra="forbid", strict=True))
@dataclass(slots=True)
class HomeState(CopiedState):
    """The whole state, except for letters and random streams. Numbers stand for all things.

    Attributes:
        seed: The seed of the episode.
        number: Which of the given games is played.
        t: Steps done.
        status: The status of each agent.
        at: The location of each agent.
        holding: The object in each agent's hand, or -1.
        contents: The objects in each receptacle, sorted.
        opened: 1 for receptacles that are open.
        marks: What has become of each object, as bits of `goals.MARKS`.
        spots: The locations that each object is noted at.
        left: The receptacles that each object was taken from and not put back into.
        seen: What each agent knows of each receptacle.
        feedback: What each agent was last told, as the games word it.
        why: Why each agent's last command had no effect, or "".
        reached: The milestones.
        order: The order in which agents act in the next step.
    """

    seed: int
    number: int
    t: int
    status: list[Status]
    at: list[int]
    holding: list[int]
    contents: list[tuple[int, ...]]
    opened: list[int]
    marks: list[int]
    spots: list[tuple[int, ...]]
    left: list[tuple[int, ...]]
    seen: list[list[View]]
    feedback: list[str]
    why: list[str]
    reached: list[str]
    order: list[int]
