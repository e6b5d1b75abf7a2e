"""What agents see and may do, cached for the arrangements of things that have occurred.

Most commands move nothing, and agents come back to where they were. What follows from an
`VisibleState` alone is worked out once for each that occurs in an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.text_room.actions import Table
from piase_gym.worlds.text_room.facts import (
    STATES,
    HeldObject,
    StepFacts,
    TextRoomFacts,
    VisibleObject,
)
from piase_gym.worlds.text_room.observe import text, vector
from piase_gym.worlds.text_room.observe.recall import mark_of, ways_of
from piase_gym.worlds.text_room.observe.visibility import VisibleThings, look_around
from piase_gym.worlds.text_room.rules.legality import legal_indices
from piase_gym.worlds.text_room.state import Plot, RoomState, VisibleState

MOST = 256
"""The most arrangements that are remembered for each agent."""


class AgentView(NamedTuple):
    """What one agent sees and may do in one arrangement.

    Attributes:
        agent: The agent.
        arranged: The arrangement.
        sight: What it sees and holds.
        mask: Its legal commands, over the table; must be copied before it is handed out.
        row: The vector of what it knows, with zeros for the facts of the step; must be copied.
        facts: What it knows, without the facts of the step.
        scene: The part of the text about the arrangement, in a list that is empty at first.
    """

    agent: int
    arranged: VisibleState
    sight: VisibleThings
    mask: NDArray[np.int8]
    row: NDArray[np.float32]
    facts: TextRoomFacts
    scene: list[str]


class ObservedStep(NamedTuple):
    """What one agent knows at one moment; facts and vector are made from it on request.

    Attributes:
        cache: The cache that the view belongs to.
        view: What follows from the arrangement.
        step_facts: The facts of the step.
    """

    cache: ViewCache
    view: AgentView
    step_facts: StepFacts

    def facts(self) -> TextRoomFacts:
        """Return the facts."""
        return replace(self.view.facts, **self.step_facts._asdict())

    def vector(self) -> NDArray[np.float32]:
        """Return `vector.vector_of` the facts."""
        row = self.view.row.copy()
        vector.complete(row, self.step_facts, self.cache.words)
        return row

    def text(self) -> str:
        """Return the prose of the facts."""
        scene = self.view.scene
        if not scene:
            scene.append(text.scene_of(self.view.facts))
        return text.text_with(scene[0], self.view.facts.goal, self.step_facts)


class ViewCache:
    """The views of all agents in one episode.

    Args:
        plot: The story.
        table: The table of commands.
        agents: Names of all agents.
        goals: The goal of each agent, as its facts have it.
    """

    def __init__(
        self, plot: Plot, table: Table, agents: tuple[str, ...], goals: tuple[str, ...]
    ) -> None:
        """Remember nothing yet."""
        self.plot, self.table, self.agents, self.goals = plot, table, agents, goals
        self.words = table.words
        self._known: list[dict[VisibleState, AgentView]] = [{} for _ in agents]
        self.invalidate()

    def invalidate(self) -> None:
        """Take note that the state may have changed."""
        self._arranged: VisibleState | None = None
        self._now: list[AgentView | None] = [None] * len(self.agents)

    def of(self, agent: int, state: RoomState) -> AgentView:
        """Return what an agent sees and may do in a state unchanged since the last `invalidate`."""
        found = self._now[agent]
        if found is None:
            arranged = self._arranged
            if arranged is None:
                arranged = self._arranged = state.arranged()
            known = self._known[agent]
            found = known.get(arranged)
            if found is None:
                if len(known) >= MOST:
                    known.clear()
                found = known[arranged] = self._look(agent, arranged)
            self._now[agent] = found
        return found

    def _look(self, agent: int, arranged: VisibleState) -> AgentView:
        """Work out what an agent sees and may do."""
        sight = look_around(self.plot, arranged, agent)
        bits = bytearray(self.table.bases["size"])
        for index in legal_indices(self.table, self.plot, arranged, agent, sight):
            bits[index] = 1
        mask = np.frombuffer(bits, np.int8)
        facts = self._facts(agent, arranged, sight)
        return AgentView(
            agent, arranged, sight, mask, vector.vector_of(facts, self.words), facts, []
        )

    def _description(self, room: int, looks: Mapping[str, str]) -> str:
        """Return how a room looks."""
        name = self.plot.rooms[room]
        return looks.get(f"room:{name}", self.plot.story.rooms[name].description)

    def _facts(self, agent: int, arranged: VisibleState, sight: VisibleThings) -> TextRoomFacts:
        """Return what an agent knows, without the facts of the step."""
        plot, names, looks = self.plot, self.plot.objects, dict(arranged.looks)
        marks = {k: STATES[mark_of(plot, arranged, agent, k)] for k in sight.reach}
        room = arranged.rooms[agent]
        seen = [
            VisibleObject(
                names[k], names[host] if host >= 0 else "", marks[k], plot.look_of(k, looks)
            )
            for k, host in sight.here
        ]
        return TextRoomFacts(
            agent=self.agents[agent],
            room=plot.rooms[room],
            description=self._description(room, looks),
            exits=ways_of(plot, arranged.walked[agent], room),
            objects=tuple(seen),
            inventory=tuple([HeldObject(names[k], marks[k]) for k in sight.held]),
            others=tuple([self.agents[k] for k in sight.others]),
            goal=self.goals[agent],
            stats=(),
            past=(),
            feedback=None,
        )

    def __reduce__(self) -> Any:
        """Copy and pickle without the cached views."""
        return ViewCache, (self.plot, self.table, self.agents, self.goals)
