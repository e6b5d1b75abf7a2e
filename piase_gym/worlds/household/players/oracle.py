"""Household's oracle: it sees the whole home, and does the task in as few commands as possible."""

from __future__ import annotations

from piase_gym.core.commands import Command
from piase_gym.worlds.household.levels.game import Entry, Game
from piase_gym.worlds.household.players.planner import find_plan
from piase_gym.worlds.household.world import Household

LOOK = Command("look")


class HouseholdOracle:
    """Plays Household with the whole state in view.

    With several agents, the one with the shortest plan does the task; the others look on.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: Household) -> None:
        self.world = world
        self._game: Game | None = None
        self._agent, self._next = -1, -1
        self._rows: list[Entry] = []

    def plan(self, agent: int) -> list[Command] | None:
        """Return a shortest plan for an agent alone, or ``None`` if it cannot win alone."""
        rows = self._plan(agent)
        return None if rows is None else [row.command for row in rows]

    def _plan(self, agent: int) -> list[Entry] | None:
        world = self.world
        if not world.alive[agent]:
            return None
        return find_plan(world.game, world.state_of, agent, world.placing)

    def certificate(self, agent: int) -> int | None:
        """Return how many steps an agent would need to win alone, or ``None`` if it cannot."""
        rows = self._plan(agent)
        return None if rows is None else len(rows)

    def act(self, agent: int) -> Command:
        """Return the next command of an agent; it looks on if there is nothing for it to do."""
        world = self.world
        t = world.state_of.t
        if self._next != t or self._game is not world.game or not self._goes_on():
            self._choose()
            self._game, self._next = world.game, t
        if agent != self._agent or not self._rows:
            return LOOK
        row = self._rows.pop(0)
        self._next = t + 1
        return row.command

    def _goes_on(self) -> bool:
        """Return whether the next command of the plan is still legal."""
        return bool(self._rows) and self._rows[0] in self.world.rows(self._agent)

    def _choose(self) -> None:
        """Plan for everybody, and keep the shortest plan."""
        self._agent, self._rows = -1, []
        for agent, alive in enumerate(self.world.alive):
            rows = self._plan(agent) if alive else None
            if rows is not None and (self._agent < 0 or len(rows) < len(self._rows)):
                self._agent, self._rows = agent, rows
