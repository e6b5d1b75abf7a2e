"""WordCraft's rules once more, slowly and in sets and dicts, written from the page about them."""

from __future__ import annotations

from typing import Any

from piase_gym.worlds.word_craft.levels.book import RecipeBook

Said = tuple[Any, ...]
"""``("pick", slot)``, ``("pair", one, two)``, ``("give", slot, agent)`` or ``("wait",)``."""


class SlowCraft:
    """One episode, from the start that the real world shows."""

    def __init__(self, env: Any) -> None:
        config, record = env.world.config, env.world.states[0]
        self.config, self.book = config, env.world.config.book
        names = self.book.entities
        depth = int(record["depth"])
        self.goal = names[int(record["chain"][0]) - 1]
        self.needed = {names[thing - 1] for thing in record["chain"][1:depth].tolist()}
        self.made: set[str] = set()
        self.tables: list[dict[int, str]] = []
        for agent in range(config.agents if config.trade else 1):
            facts = env.world.facts(agent)
            self.tables.append({k: thing for k, thing in enumerate(facts.table, 1) if thing})
        self.hands: list[str | None] = [None] * config.agents
        self.used = [0] * config.agents
        self.steps = 0
        self.over = False
        self.won = False

    def table(self, agent: int) -> dict[int, str]:
        return self.tables[agent if self.config.trade else 0]

    def step(self, said: list[Said]) -> tuple[list[float], list[str]]:
        """Let everybody act in order; returns rewards and outcomes."""
        before = [dict(self.table(agent)) for agent in range(len(said))]
        results = [self.act(agent, words, before[agent]) for agent, words in enumerate(said)]
        rewards = [reward for reward, _ in results]
        self.steps += 1
        self.won = self.goal in self.made
        if self.config.shared_reward:
            rewards = [sum(rewards) / len(rewards)] * len(rewards)
        if self.won:
            rewards = [reward + self.config.rewards.goal for reward in rewards]
        spent = all(used >= self.config.allowed_mixes for used in self.used)
        self.over = self.won or spent or self.steps >= self.config.max_steps
        return rewards, [outcome for _, outcome in results]

    def act(self, agent: int, said: Said, table: dict[int, str]) -> tuple[float, str]:
        """Let an agent act on what lay on its table before anybody acted."""
        if said[0] == "wait":
            return 0.0, "ok"
        if said[0] == "give":
            return self.give(agent, said[1], said[2], table)
        if self.used[agent] >= self.config.allowed_mixes:
            return 0.0, "illegal"
        if said[0] == "pair":
            if not {said[1], said[2]} <= set(table.values()):
                return 0.0, "illegal"
            return self.combine(agent, said[1], said[2])
        if said[1] not in table:
            return 0.0, "illegal"
        hand = self.hands[agent]
        if hand is None:
            self.hands[agent] = table[said[1]]
            return 0.0, "ok"
        return self.combine(agent, hand, table[said[1]])

    def give(self, agent: int, slot: int, other: int, table: dict[int, str]) -> tuple[float, str]:
        if not self.config.trade or slot not in table or other == agent:
            return 0.0, "illegal"
        thing = self.table(agent).pop(slot)
        if self.hands[agent] == thing:
            self.hands[agent] = None
        put(self.tables[other], thing)
        return 0.0, "ok"

    def combine(self, agent: int, one: str, two: str) -> tuple[float, str]:
        self.hands[agent] = None
        self.used[agent] += 1
        makes = products(self.book, one, two)
        news = [thing for thing in makes if put(self.table(agent), thing)]
        wanted = self.needed | {self.goal}
        useless = 0.0 if self.config.evaluation else self.config.rewards.useless
        pays = self.config.subgoal_rewards and not self.config.evaluation
        worths = [
            self.config.rewards.needed if pays and thing not in {*self.made, self.goal} else 0.0
            for thing in makes
            if thing in wanted
        ]
        self.made |= wanted.intersection(makes)
        return max(worths, default=useless), "ok" if news else "failed"


def products(book: RecipeBook, one: str, two: str) -> list[str]:
    """Return all that two things make."""
    names = book.entities
    return [names[p] for p, a, b in book.recipes if {names[a], names[b]} == {one, two}]


def put(table: dict[int, str], thing: str) -> bool:
    """Put a thing into the first free slot, unless it lies there already."""
    if thing in table.values():
        return False
    slot = next(k for k in range(1, 1000) if k not in table)
    table[slot] = thing
    return True
