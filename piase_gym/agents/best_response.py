"""Plays the computed best response to a named strategy in a matrix game of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from piase_gym.agents.base import Action, Agent, Percept
from piase_gym.agents.simple import read_seed
from piase_gym.errors import UnsupportedError


class BestResponseAgent(Agent):
    """The policy ``best_response:STRATEGY``: knows what the other plays, and all that follows.

    Args:
        strategy: A name of `piase_gym.worlds.social_dilemma.matrix.solutions.AUTOMATA`.

    Raises:
        UnknownNameError: If no strategy has this name.
    """

    def __init__(self, strategy: str) -> None:
        """Look the strategy up."""
        super().__init__()
        from piase_gym.worlds.social_dilemma.matrix.solutions import automaton

        self.strategy = strategy
        self._automaton = automaton(strategy)
        self._plans: dict[Any, Any] = {}
        self._played, self._state = 0, 0

    def reset(self, seed: int) -> None:
        """Suppose the other to be in its first state."""
        self._played, self._state = 0, 0

    def act(self) -> Action:
        """Return the best choice, 0 to cooperate or 1 to defect.

        Raises:
            UnsupportedError: If the world is no matrix game of two.
        """
        percept = self.percept
        if not isinstance(percept, Percept):
            raise UnsupportedError("BestResponseAgent acts on a Percept; call perceive first")
        config: Any = percept.world.config
        if percept.world.name != "SocialDilemma" or config.agents != 2:
            raise UnsupportedError("best_response plays SocialDilemma's games of 2 agents only")
        facts: Any = percept.facts
        if facts.played == self._played + 1:
            mine, other = facts.history[0]
            after = self._automaton.after[self._state]
            self._state = after[1 - other][1 - int(mine)]
        self._played = facts.played
        choices = self._plan(config, percept.index).choices
        left = 0 if facts.rounds is None else max(1, facts.rounds - facts.played)
        return int(choices[left, self._state])

    def _plan(self, config: Any, seat: int) -> Any:
        """Return the best response, computed once for each config."""
        from piase_gym.worlds.social_dilemma.matrix.solutions import best_response

        key = config, seat
        if key not in self._plans:
            self._plans[key] = best_response(config, self._automaton, seat)
        return self._plans[key]

    def get_state(self) -> dict[str, Any]:
        """Return how far the game has got, and the other's state."""
        return {"played": self._played, "state": self._state}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        most = len(self._automaton.after) - 1
        played = read_seed(state, "played")
        self._played, self._state = played, read_seed(state, "state", most)
