"""Policies that need no training: random, no-op, and the world's script and oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Action, Agent, BatchPercept, Percept
from piase_gym.core.rng import GOLDEN, mix64, mix64_array
from piase_gym.errors import SnapshotError, UnsupportedError
from piase_gym.registry import load, world_spec


def percept_of(agent: Agent) -> Percept:
    """Return what an agent has perceived.

    Raises:
        UnsupportedError: If that is nothing, or no `Percept`.
    """
    if not isinstance(agent.percept, Percept):
        raise UnsupportedError(f"{type(agent).__name__} acts on a Percept; call perceive first")
    return agent.percept


class SeededAgent(Agent):
    """Base class of agents that draw at random; their state is the seed of the episode."""

    _seed = 0

    def reset(self, seed: int) -> None:
        """Keep the seed of the episode."""
        self._seed = seed

    def get_state(self) -> dict[str, Any]:
        """Return the seed of the episode."""
        return {"seed": self._seed}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore the seed of an episode."""
        self._seed = read_seed(state)


class RandomAgent(SeededAgent):
    """Chooses uniformly among the legal commands.

    The draw is a function of the seat's seed and the step alone, so a batch draws what single
    environments would draw, and there is no state to save.
    """

    def act(self) -> Action:
        """Draw a legal action: an index, or a command where indices do not exist."""
        percept = percept_of(self)
        draw = draw_at(self._seed, percept.step)
        if percept.world.capabilities.discrete:
            legal = percept.mask.nonzero()[0].tolist()
            return int(legal[(draw * len(legal)) >> 32])
        if not percept.world.capabilities.continuous:
            listed = percept.commands
            return listed[(draw * len(listed)) >> 32]
        box = percept.world.action_box
        unit = [mix64(draw + (k + 1) * GOLDEN) / 2.0**64 for k in range(int(np.prod(box.shape)))]
        spread = np.reshape(unit, box.shape)
        point: NDArray[Any] = (box.low + spread * (box.high - box.low)).astype(box.dtype)
        return point

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Draw for every environment at once."""
        from piase_gym.compiled.choices import draw_legal  # batches have loaded numba already

        chosen = np.zeros(len(batch.masks), np.int64)
        seeds, steps = (np.ascontiguousarray(part) for part in (batch.seeds, batch.steps))
        draw_legal(np.ascontiguousarray(batch.masks), seeds, steps, chosen)
        return chosen


class NoopAgent(Agent):
    """Does what the world declares as doing nothing."""

    def act(self) -> Action:
        """Return the world's no-op."""
        return percept_of(self).world.noop

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Return the no-op for every environment.

        Raises:
            UnsupportedError: If the batch does not tell which index that is.
        """
        if batch.noop is None:
            raise UnsupportedError("this batch does not tell which index does nothing")
        return np.full(len(batch.steps), batch.noop, np.int64)


class _PlayerOfWorld(Agent):
    """Plays as the player that the registry names for the world that it perceives."""

    part: ClassVar[str]
    """The field of `WorldSpec` that names the player."""
    called: ClassVar[str]

    def __init__(self, agent_id: str = "agent_0") -> None:
        """Start without a player."""
        super().__init__(agent_id)
        self._player: Any = None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Begin anew: what a player remembers or plans is no part of a state."""
        self._player = None

    def act(self) -> Action:
        """Return what the player does next."""
        percept = percept_of(self)
        if self._player is None or self._player.world is not percept.world:
            spec = world_spec(percept.world.name)
            player = getattr(spec, self.part)
            if player is None:
                raise UnsupportedError(f"{spec.name} has no {self.called}")
            self._player = load(player, spec)(percept.world)
        action: Action = self._player.act(percept.index)
        return action


class OracleAgent(_PlayerOfWorld):
    """Plays the world's oracle, which sees the whole state."""

    part = called = "oracle"

    def internal_state(self) -> dict[str, Any] | None:
        """Return ``cut_short`` if the search ran out of its budget; see `GridWorldOracle`."""
        return {"cut_short": True} if getattr(self._player, "cut_short", False) else None


class ScriptedAgent(_PlayerOfWorld):
    """Plays the world's script, which knows only what its agent may know."""

    part, called = "scripted", "script"

    def reset(self, seed: int) -> None:
        """Forget what the script has seen."""
        self._player = None


def read_seed(state: Mapping[str, Any], name: str = "seed", most: int = 2**64 - 1) -> int:
    """Return a number from an agent's saved state.

    Raises:
        SnapshotError: If it is missing, or no integer from 0 to `most`.
    """
    value = state.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise SnapshotError(f"{name!r} is {value!r:.60}, not an integer from 0 to {most}")
    return value


def draw_at(seed: int, step: int) -> int:
    """Return 32 random bits for a step."""
    return mix64(seed + (step + 1) * GOLDEN) >> 32


def draws_at(seeds: NDArray[np.uint64], steps: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return what `draw_at` returns, for many seats at once."""
    counters = steps.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        return mix64_array(seeds + counters * np.uint64(GOLDEN)) >> np.uint64(32)


def draw_from(chances: NDArray[Any], draws: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Choose the first action at which the cumulative chance exceeds the draw.

    Args:
        chances: One row per seat, with one entry per action; a row may have any sum.
        draws: What `draws_at` returns.
    """
    sums = chances.cumsum(axis=1)
    wanted = draws.astype(np.float64) / 2.0**32 * sums[:, -1]
    return np.asarray((sums > wanted[:, None]).argmax(axis=1), np.int64)
