"""Strategies for repeated matrix games that react to what others did: players of tournaments.

They read the vectors of SocialDilemma's matrix games. The parts of these vectors up to the last
round are at the same indices in every envelope, so one agent plays many games at once. Several
others count as cooperating if at least half of them do. In phases for talking they are silent.

Sources: Axelrod, "The Evolution of Cooperation" (1984); Nowak and Sigmund, "Tit for tat in
heterogeneous populations" (1992) and "A strategy of win-stay, lose-shift" (1993).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Action, Agent, BatchPercept
from piase_gym.agents.simple import SeededAgent, draw_at, draws_at, percept_of, read_seed
from piase_gym.errors import ConfigError, UnsupportedError

Flags = NDArray[np.bool_]


class Memory(NamedTuple):
    """What players remember, with one entry per game.

    Attributes:
        first: Whether no round has been played yet.
        cooperated: Whether the player cooperated in the last round.
        answered: Whether the others did.
        faithful: Whether the others have always cooperated.
        draws: Random numbers from 0 to 1.
    """

    first: Flags
    cooperated: Flags
    answered: Flags
    faithful: Flags
    draws: NDArray[np.float64]


def remember(vectors: NDArray[Any], draws: NDArray[np.uint64]) -> Memory:
    """Read vectors of matrix games, shape (games, length); `draws` have 32 bits.

    Raises:
        UnsupportedError: If they are vectors of something else.
    """
    if vectors.dtype != np.float32 or vectors.shape[1] < 13:
        raise UnsupportedError(
            "strategies of repeated games play SocialDilemma's matrix games only"
        )
    others = vectors[:, 1] - 1.0
    played, given = vectors[:, 6], vectors[:, 10]
    return Memory(
        first=played == 0.0,
        cooperated=vectors[:, 11] >= 1.0,
        answered=2.0 * vectors[:, 12] >= others,
        faithful=given == played * others,
        draws=draws.astype(np.float64) / 2.0**32,
    )


class ReciprocalAgent(SeededAgent):
    """Base class: `cooperates` decides from what is remembered."""

    @abstractmethod
    def cooperates(self, memory: Memory) -> Flags:
        """Return in which games to cooperate."""

    def act(self) -> Action:
        """Return 0 to cooperate or 1 to defect.

        Raises:
            UnsupportedError: If the world is no matrix game.
        """
        percept = percept_of(self)
        if percept.world.name != "SocialDilemma":
            raise UnsupportedError(f"{type(self).__name__} plays SocialDilemma's matrix games only")
        draws = np.array([draw_at(self._seed, percept.step)], np.uint64)
        return int(not self.cooperates(remember(percept.vector[None], draws))[0])

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose for many games at once."""
        memory = remember(batch.vectors, draws_at(batch.seeds, batch.steps))
        return (~self.cooperates(memory)).astype(np.int64)


class AlwaysCooperate(ReciprocalAgent):
    """Always cooperates."""

    def cooperates(self, memory: Memory) -> Flags:
        """Return true."""
        return np.ones_like(memory.first)


class AlwaysDefect(ReciprocalAgent):
    """Always defects."""

    def cooperates(self, memory: Memory) -> Flags:
        """Return false."""
        return np.zeros_like(memory.first)


class TitForTat(ReciprocalAgent):
    """Cooperates first, then does what the others did in the last round."""

    def cooperates(self, memory: Memory) -> Flags:
        """Return what the others did."""
        return memory.first | memory.answered


class GenerousTitForTat(ReciprocalAgent):
    """Tit for tat that forgives a defection with some probability, by default one third.

    One third is Nowak and Sigmund's optimum for the payoffs 3, 0, 5 and 1; `configure` takes
    another `forgiveness`.
    """

    forgiveness = 1.0 / 3.0

    def cooperates(self, memory: Memory) -> Flags:
        """Return what the others did, or true by chance."""
        return memory.first | memory.answered | (memory.draws < self.forgiveness)

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take `forgiveness`, from 0 to 1.

        Raises:
            ConfigError: If it is no such number.
        """
        value = config.get("forgiveness", self.forgiveness)
        if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise ConfigError(f"forgiveness is a number from 0 to 1, not {value!r:.60}")
        self.forgiveness = float(value)


class Grudger(ReciprocalAgent):
    """Cooperates until anybody defects, then never again."""

    def cooperates(self, memory: Memory) -> Flags:
        """Return whether all others have always cooperated."""
        return memory.faithful


class Pavlov(ReciprocalAgent):
    """Win-stay, lose-shift: repeats its choice if the others cooperated, else switches."""

    def cooperates(self, memory: Memory) -> Flags:
        """Return whether the player did what the others did."""
        same: Flags = memory.cooperated == memory.answered
        return memory.first | same


STRATEGIES: dict[str, type[ReciprocalAgent]] = {
    "always_cooperate": AlwaysCooperate,
    "always_defect": AlwaysDefect,
    "generous_tit_for_tat": GenerousTitForTat,
    "grudger": Grudger,
    "pavlov": Pavlov,
    "tit_for_tat": TitForTat,
}
"""The strategies by name."""


class BestResponseAgent(Agent):
    """The policy ``best_response:STRATEGY``: knows the other's strategy, and plays a best response.

    Args:
        strategy: A name of `piase_gym.worlds.social_dilemma.matrix.solutions.AUTOMATA`.

    Raises:
        UnknownNameError: If no strategy has this name.
    """

    def __init__(self, strategy: str) -> None:
        """Look the strategy up."""
        super().__init__()
        from piase_gym.worlds.social_dilemma.matrix.solutions import automaton

        self.strategy, self.made_as = strategy, f"best_response:{strategy}"
        self._automaton = automaton(strategy)
        self._plans: dict[Any, Any] = {}
        self._played, self._state = 0, 0

    def reset(self, seed: int) -> None:
        """Assume that the other is in its first state."""
        self._played, self._state = 0, 0

    def act(self) -> Action:
        """Return the best choice, 0 to cooperate or 1 to defect.

        Raises:
            UnsupportedError: If the world is no matrix game of two, or has a coin.
        """
        percept = percept_of(self)
        config: Any = percept.world.config
        if percept.world.name != "SocialDilemma" or config.agents != 2 or config.coin:
            raise UnsupportedError(
                "best_response plays SocialDilemma's games of 2 agents without a coin only"
            )
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
        """Restore what `get_state` returned."""
        most = len(self._automaton.after) - 1
        played = read_seed(state, "played")
        self._played, self._state = played, read_seed(state, "state", most)
