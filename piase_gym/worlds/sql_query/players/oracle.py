"""SqlQuery's oracle: it knows the gold query, runs it and submits."""

from __future__ import annotations

from piase_gym.core.commands import Command
from piase_gym.worlds.sql_query import actions
from piase_gym.worlds.sql_query.world import SqlQuery


class SqlQueryOracle:
    """Plays SqlQuery with the answer in view.

    Of several agents, the first one in play acts; the others wait.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: SqlQuery) -> None:
        self.world = world

    def _gold(self) -> Command:
        return Command("query", {"sql": self.world.setting.task.gold.strip()})

    def plan(self, agent: int) -> list[Command] | None:
        """Return what is left to do for an agent alone, or ``None`` if it is not in play."""
        world = self.world
        if not world.alive[agent]:
            return None
        asked = world.state_of.asked[agent]
        done = asked is not None and asked.reason is None
        gold = self._gold()
        if world.setting.task.writes:
            done = done and gold.parameters["sql"] in world.state_of.journal
        else:
            done = done and asked is not None and asked.sql == gold.parameters["sql"]
        ends = [] if world.config.answer == "best" else [actions.SUBMIT]
        return [*([] if done else [gold]), *ends] or [actions.SUBMIT]

    def certificate(self, agent: int) -> int | None:
        """Return in how many turns an agent can win."""
        plan = self.plan(agent)
        return None if plan is None else len(plan)

    def act(self, agent: int) -> Command:
        """Return the next command of an agent."""
        first = list(self.world.alive).index(True) if any(self.world.alive) else -1
        plan = self.plan(agent) if agent == first else None
        return plan[0] if plan else actions.WAIT
