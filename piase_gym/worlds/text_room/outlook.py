"""What agents see and may do, remembered for every arrangement of things that they were in before.

Most commands move nothing, and agents come back to where they were. What follows from where rooms,
things and agents are is worked out once for each arrangement of an episode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.text_room import rules
from piase_gym.worlds.text_room.lexicon import Table, legal_indices
from piase_gym.worlds.text_room.sight import Sight, look_around
from piase_gym.worlds.text_room.state import Plot, RoomState
from piase_gym.worlds.text_room.views import Held, Seen, TextRoomFacts, Way, standing_row

MOST = 256
"""So many arrangements are remembered for each agent."""


class Outlook(NamedTuple):
    """What one agent sees and may do in one arrangement.

    Attributes:
        sight: What it sees and holds.
        legal: The indices of its legal commands, sorted.
        mask: The same as a mask over the table; to be copied before it is handed out.
        standing: Its facts without those of the step: body, letters, feedback, hint.
        row: The vector of these; to be copied and completed.
    """

    sight: Sight
    legal: list[int]
    mask: NDArray[np.int8]
    standing: TextRoomFacts
    row: NDArray[np.float32]


def arrangement(state: RoomState) -> tuple[Any, ...]:
    """Return everything of a state that an `Outlook` depends on."""
    places = tuple(state.rooms), tuple(state.place), tuple(state.status)
    return *places, tuple(state.hidden), tuple(state.is_open), tuple(state.looks.items())


class Outlooks:
    """The outlooks of all agents in one episode.

    Args:
        plot: The story.
        table: The table of commands.
        agents: Names of all agents.
        seeks: Whether the first goal of the story is shown to the agents.
    """

    def __init__(self, plot: Plot, table: Table, agents: tuple[str, ...], seeks: bool) -> None:
        """Remember nothing yet."""
        self.plot, self.table, self.agents, self.seeks = plot, table, agents, seeks
        self._known: list[dict[tuple[Any, ...], Outlook]] = [{} for _ in agents]
        self._ways: dict[int, tuple[Way, ...]] = {}
        self.look_again()

    def look_again(self) -> None:
        """Take note that the state may be another one than before."""
        self._key: tuple[Any, ...] | None = None
        self._now: list[Outlook | None] = [None] * len(self.agents)

    def of(self, agent: int, state: RoomState) -> Outlook:
        """Return what an agent sees and may do; the state is that of the last `look_again`."""
        found = self._now[agent]
        if found is None:
            if self._key is None:
                self._key = arrangement(state)
            known = self._known[agent]
            found = known.get(self._key)
            if found is None:
                if len(known) >= MOST:
                    known.clear()
                found = known[self._key] = self._look(agent, state)
            self._now[agent] = found
        return found

    def _look(self, agent: int, state: RoomState) -> Outlook:
        """Work out what an agent sees and may do."""
        sight = look_around(self.plot, state, agent)
        legal = legal_indices(self.table, self.plot, state, agent, sight)
        mask = np.zeros(self.table.bases.size, np.int8)
        mask[legal] = 1
        standing = self._standing(agent, state, sight)
        return Outlook(sight, legal, mask, standing, standing_row(standing, self.table.words))

    def _standing(self, agent: int, state: RoomState, sight: Sight) -> TextRoomFacts:
        """Return an agent's facts without those of the step."""
        plot, names = self.plot, self.plot.objects
        room = plot.rooms[state.rooms[agent]]
        return TextRoomFacts(
            agent=self.agents[agent],
            room=room,
            description=state.looks.get(f"room:{room}", plot.story.rooms[room].description),
            exits=self._ways_out(state.rooms[agent]),
            objects=tuple([self._seen(state, k, host) for k, host in sight.here]),
            inventory=tuple([Held(names[k], self._mark(state, k)) for k in sight.held]),
            others=tuple([self.agents[k] for k in sight.others]),
            stats=(),
            goal=names[plot.goals[0]] if self.seeks else "",
            feedback=None,
        )

    def _ways_out(self, room: int) -> tuple[Way, ...]:
        """Return the ways out of a room, which never change."""
        if room not in self._ways:
            names = self.plot.objects
            self._ways[room] = tuple(
                Way(direction, names[door] if door >= 0 else "")
                for direction, (_, door) in self.plot.exits[room].items()
            )
        return self._ways[room]

    def _seen(self, state: RoomState, k: int, host: int) -> Seen:
        """Return an object as it is seen."""
        names, look = self.plot.objects, rules.look_of(self.plot, state, k)
        return Seen(names[k], names[host] if host >= 0 else "", self._mark(state, k), look)

    def _mark(self, state: RoomState, k: int) -> str:
        """Say whether an object is open or closed."""
        if not self.plot.opens[k]:
            return ""
        return "open" if state.is_open[k] else "closed"

    def __reduce__(self) -> Any:
        """Copy and pickle without what is remembered."""
        return Outlooks, (self.plot, self.table, self.agents, self.seeks)


__all__ = ["Outlook", "Outlooks"]
