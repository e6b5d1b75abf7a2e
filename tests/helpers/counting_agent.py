"""An agent whose actions are known beforehand."""

from __future__ import annotations

from typing import Any

from piase_gym.agents.base import Agent


class Counts(Agent):
    """Answers 0, 1, 2 and so on."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.seen: list[Any] = []

    def perceive(self, percept: Any) -> None:
        self.seen.append(percept)

    def act(self) -> Any:
        self.count += 1
        return self.count - 1
