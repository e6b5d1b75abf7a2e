"""The rules of the matrix games, written a second time: plain, slow, from the words of the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from piase_gym.core.rng import Stream, StreamId

USUAL: dict[str, Any] = {
    "prisoners_dilemma": [[(3, 3), (0, 5)], [(5, 0), (1, 1)]],
    "stag_hunt": [[(4, 4), (0, 3)], [(3, 0), (1, 1)]],
    "chicken": [[(3, 3), (1, 4)], [(4, 1), (0, 0)]],
    "battle_of_the_sexes": [[(3, 2), (0, 0)], [(0, 0), (2, 3)]],
    "matching_pennies": [[(1, -1), (-1, 1)], [(-1, 1), (1, -1)]],
}


@dataclass
class SlowGame:
    """One episode. `step` takes (choice, symbol) pairs, or None for who gives no command."""

    seed: int
    game: str = "prisoners_dilemma"
    agents: int = 2
    rounds: int = 10
    geometric: bool = False
    noise: float = 0.0
    symbols: int = 0
    talk: int = 0
    max_steps: int = 100_000
    shared: bool = False
    payoffs: Any = None
    multiplier: float = 2.0
    benefit: float = 2.0
    cost: float = 1.0
    history: list[list[int]] = field(default_factory=list)
    said: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    t: int = 0
    wait: int = 0
    status: str = "playing"

    def __post_init__(self) -> None:
        self.dice = Stream(self.seed, StreamId.DYNAMICS)
        self.wait = self.talk
        self.said = [0] * self.agents
        self.scores = [0.0] * self.agents

    def pay(self, choices: list[int]) -> list[float]:
        """Return what everybody gets for choices, 0 cooperate and 1 defect."""
        if self.game in USUAL:
            cell = (self.payoffs or USUAL[self.game])[choices[0]][choices[1]]
            return [float(part) for part in cell]
        giving = choices.count(0)
        if self.payoffs is not None:
            return [self.payoffs[c][giving - (c == 0)] for c in choices]
        if self.game == "public_goods":
            return [self.multiplier * giving / self.agents - (c == 0) for c in choices]
        return [(self.benefit if giving else 0.0) - self.cost * (c == 0) for c in choices]

    def chance(self, probability: float) -> bool:
        """Draw with 32 bits, as kernels do."""
        return self.dice.bits() >> 32 < min(round(probability * 2**32), 2**32 - 1)

    def step(self, acts: list[tuple[int, int] | None]) -> list[float]:
        """Play a step and return the rewards."""
        choices, self.said = [], []
        for act in acts:
            choice, symbol = act if act is not None and act[1] <= self.symbols else (1, 0)
            choices.append(choice)
            self.said.append(symbol)
        self.t += 1
        rewards = [0.0] * self.agents
        over = False
        if self.wait:
            self.wait -= 1
        else:
            self.wait = self.talk
            if self.noise:
                choices = [1 - c if self.chance(self.noise) else c for c in choices]
            rewards = self.pay(choices)
            self.scores = [a + b for a, b in zip(self.scores, rewards, strict=True)]
            if self.shared:
                rewards = [sum(rewards) / self.agents] * self.agents
            self.history.append(choices)
            if self.geometric:
                over = not self.chance(1.0 - 1.0 / self.rounds)
            else:
                over = len(self.history) == self.rounds
        if over:
            self.status = "over"
        elif self.t >= self.max_steps:
            self.status = "late"
        return rewards
