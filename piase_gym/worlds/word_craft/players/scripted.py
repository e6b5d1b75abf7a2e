"""A WordCraft player that knows no recipe: it tries what it has not tried, new things first."""

from __future__ import annotations

from itertools import combinations_with_replacement

from piase_gym.worlds.word_craft.facts import WordCraftFacts
from piase_gym.worlds.word_craft.world import WordCraft


class WordCraftScript:
    """Plays one agent of WordCraft from its facts.

    Args:
        world: The world to ask for facts.
    """

    def __init__(self, world: WordCraft) -> None:
        self.world = world
        self._tried: set[frozenset[str]] = set()
        self._start: tuple[str, int] | None = None

    def act(self, agent: int) -> int:
        """Return the index of the next action."""
        facts = self.world.facts(agent)
        if self._start is None or self._start[0] != facts.goal or facts.steps_left > self._start[1]:
            self._tried = set()
        self._start = facts.goal, facts.steps_left
        if facts.combined:
            self._tried.add(frozenset(facts.combined))
        wait = self.world.num_actions - 1
        if not facts.mixes_left or not any(facts.table):
            return wait
        return self._pick(facts)

    def _pick(self, facts: WordCraftFacts) -> int:
        """Pick a thing of a pair that was not tried; things in later slots go first."""
        slots = [k for k, thing in reversed(list(enumerate(facts.table))) if thing]
        pairs = [
            pair
            for pair in combinations_with_replacement(slots, 2)
            if frozenset(facts.table[k] or "" for k in pair) not in self._tried
        ]
        pairs.sort(key=lambda pair: pair[0] == pair[1])  # two of a kind last
        if facts.holding:
            held = [k for k in slots if facts.table[k] == facts.holding]
            pairs = [pair for pair in pairs if set(pair) & set(held)] or [(slots[0], slots[0])]
            one, two = pairs[0]
            return two if one in held else one
        return pairs[0][0] if pairs else slots[0]
