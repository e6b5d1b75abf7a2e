"""One step in the making: its state, what agents do in it, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from piase_gym.core.commands import Command, Outcome
from piase_gym.worlds.text_room.state import Plot, RoomState

NOBODY = -1


class Happening(NamedTuple):
    """Something that an event may be waiting for.

    Attributes:
        kind: The kind of trigger.
        agent: Who caused it, or `NOBODY`.
        what: The room, item or flag, or the number of an event whose count was reached.
    """

    kind: str
    agent: int
    what: int | str


class Effect(NamedTuple):
    """What came of a command."""

    outcome: Outcome
    feedback: str


@dataclass(slots=True)
class Turn:
    """One step in the making.

    Attributes:
        plot: The story.
        state: The state, which changes.
        agents: Names of all agents.
        rewards: What events have given to each agent so far.
        milestones: The milestones reached in this step, by agent.
        letters: What agents say: (sender, recipient, message).
        happenings: What events may be waiting for, in order.
    """

    plot: Plot
    state: RoomState
    agents: tuple[str, ...]
    rewards: list[float]
    milestones: dict[int, list[str]] = field(default_factory=dict)
    letters: list[tuple[str, str, str]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)

    def happen(self, kind: str, agent: int, what: int | str) -> None:
        """Note something, if there are events that may be waiting for it."""
        if kind in self.plot.awaited:
            self.happenings.append(Happening(kind, agent, what))


class ResolvedCommand(NamedTuple):
    """A command with its names looked up; -1 stands for what it does not name."""

    verb: str
    agent: int
    target: int = -1
    item: int = -1
    other: int = -1
    direction: str = ""
    message: str = ""


def resolve_names(
    plot: Plot, agents: tuple[str, ...], agent: int, command: Command
) -> ResolvedCommand:
    """Look up the names of a command."""
    values = command.parameters
    other = values.get("agent_id")
    return ResolvedCommand(
        command.verb,
        agent,
        plot.object_of.get(values.get("target_object", ""), -1),
        plot.object_of.get(values.get("item_name", ""), -1),
        agents.index(other) if other in agents else -1,
        values.get("direction", ""),
        values.get("message", ""),
    )
