"""WordCraft's oracle: it sees the task, and makes what it takes, from the leaves to the goal."""

from __future__ import annotations

from piase_gym.core.commands import Command
from piase_gym.worlds.word_craft.actions import WAIT
from piase_gym.worlds.word_craft.world import WordCraft


class WordCraftOracle:
    """Plays WordCraft with the whole state in view, in as many mixes as the task is deep.

    Of several agents, one combines everything; with trade, the others give it what that takes.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: WordCraft) -> None:
        self.world = world

    def plan(self, agent: int) -> list[Command]:
        """Return the pairs that are still to be combined, in order."""
        return [
            Command("combine", {"first": self._name(one), "second": self._name(two)})
            for one, two in self._pairs()
        ]

    def certificate(self, agent: int) -> int | None:
        """Return in how many mixes the goal can be made by the task's recipes."""
        return len(self._pairs()) if self.world.alive[agent] else None

    def act(self, agent: int) -> Command | int:
        """Return the next command of an agent."""
        world = self.world
        state, config = world.states[0], world.config
        able = [k for k, alive in enumerate(world.alive) if alive and self._able(k)]
        if not world.alive[agent] or not able:
            return WAIT
        maker, pairs = able[0], self._pairs()
        wanted = {thing for pair in pairs for thing in pair}
        here = world.table_of(agent)
        if agent != maker:
            slots = [k for k, thing in enumerate(here, 1) if thing in wanted]
            if not config.trade or not slots:
                return WAIT
            return Command("give", {"slot": slots[0], "agent_id": world.agents[maker]})
        for one, two in pairs:
            if one in here and two in here:
                hand = int(state["hand"][agent])
                if hand == 0:
                    return here.index(one)
                if hand in (one, two):
                    return here.index(two if hand == one else one)
                names = {"first": self._name(one), "second": self._name(two)}
                return Command("combine", names)
        return WAIT

    def _able(self, agent: int) -> bool:
        return int(self.world.states["used"][0, agent]) < self.world.config.allowed_mixes

    def _name(self, thing: int) -> str:
        return str(self.world.form.names[thing])

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of the task whose products are not made yet, parts before wholes."""
        state = self.world.states[0]
        depth = int(state["depth"])
        rows = [state[name][:depth].tolist() for name in ("chain", "first", "second")]
        left = {
            product: (one, two)
            for k, (product, one, two) in enumerate(zip(*rows, strict=True))
            if not int(state["made"]) >> k & 1
        }
        order: list[tuple[int, int]] = []
        while left:
            product = next(p for p, parts in left.items() if not left.keys() & set(parts))
            order.append(left.pop(product))
        return order
