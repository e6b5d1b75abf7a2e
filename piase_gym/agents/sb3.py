"""Plays models of Stable-Baselines3 and sb3-contrib, in one environment or in many at once."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Action, BatchPercept
from piase_gym.agents.recurrent import RecurrentAgent
from piase_gym.agents.sb3_network import Network, copy_network, load_network
from piase_gym.agents.simple import draw_at, draw_from, draws_at, percept_of
from piase_gym.agents.space_data import action_spaces, misfit
from piase_gym.core.rng import GOLDEN, mix64
from piase_gym.errors import PolicyError


class Sb3Agent(RecurrentAgent):
    """Plays a trained model.

    Args:
        model: A file written by `piase train` or by ``model.save``, or a model. Nothing in a file
            is run, unless it needs classes of its own and is trusted.
        greedy: Whether to take the most probable action instead of a draw.
        trusted: Whether a file that cannot be read otherwise may be unpickled, which can run any
            code. A path that the user types is trusted; a path from a log, a scenario or a
            curriculum is not.

    Attributes:
        observation_space: The observation space that the model was trained for.
        action_space: The action space that it was trained for.

    Raises:
        PolicyError: If the file cannot be read, or its numbers are not finite.
    """

    def __init__(
        self, model: str | Path | Network | Any, *, greedy: bool = False, trusted: bool = True
    ) -> None:
        """Load the model, unless it is loaded already."""
        super().__init__()
        if isinstance(model, str | Path):
            model = load_network(model, trusted=trusted)
        self.network = model if isinstance(model, Network) else copy_network(model)
        self.greedy = greedy
        self.observation_space = self.network.observation_space
        self.action_space = self.network.action_space
        self._fits: Any = None

    def memory_lengths(self) -> tuple[int]:
        """Return the length of the network's recurrent state."""
        return (self.network.memory_length,)

    def act(self) -> Action:
        """Return the index, or the point of the action box, for the last percept.

        Raises:
            PolicyError: If the model is for other spaces, or gives numbers that are not finite.
        """
        percept = percept_of(self)
        if self._fits is not percept.world:
            self._require_fit(percept.world)
        draw = draw_at(self._seed, percept.step)
        vectors, memory = percept.vector[None], self._remembered(self.network.memory_length)
        act: Action
        if isinstance(self.action_space, spaces.Box):
            mean, spread, memory = self.network.gaussian(vectors, memory)
            act = self._point(mean[0], spread[0], draw)
        else:
            draws = np.array([draw], np.uint64)
            chosen, memory = self._choose(vectors, percept.mask[None], memory, draws)
            act = int(chosen[0])
        self._remember(memory)
        return act

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose for many environments at once.

        Raises:
            PolicyError: As `act`.
        """
        space = self.observation_space
        length, actions = batch.vectors.shape[1:], batch.masks.shape[1]
        if length != space.shape or actions != getattr(self.action_space, "n", None):
            raise self._misfit(f"vectors of shape {length} and {actions} actions")
        memory = self._remembered_batch(batch, self.network.memory_length)
        draws = draws_at(batch.seeds, batch.steps)
        chosen, memory = self._choose(batch.vectors, batch.masks, memory, draws)
        self._remember_batch(batch, memory)
        return chosen

    def _choose(
        self,
        vectors: NDArray[Any],
        masks: NDArray[np.int8],
        memory: NDArray[np.float64],
        draws: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Choose the likeliest actions, or draw them; return them and the memory after that."""
        space = self.observation_space
        if isinstance(space, spaces.Box) and (vectors > space.high).any():
            raise self._misfit("larger observations")
        chances, memory = self.network.probabilities(vectors, masks, memory)
        if self.greedy:
            return np.asarray(chances.argmax(axis=1), np.int64), memory
        return draw_from(chances, draws), memory

    def _point(self, mean: NDArray[Any], spread: NDArray[Any], draw: int) -> NDArray[Any]:
        """Return a point of the action box: the mean of a Gaussian, or a draw from it."""
        box = self.action_space
        assert isinstance(box, spaces.Box)
        mean, spread = mean.reshape(box.shape), spread.reshape(box.shape)
        if not self.greedy:
            bits = [mix64(draw + (k + 1) * GOLDEN) >> 12 for k in range(mean.size)]
            normal = [NormalDist().inv_cdf((b + 0.5) / 2.0**52) for b in bits]
            mean = mean + spread * np.reshape(normal, box.shape)
        if self.network.squashed:
            mean = box.low + (np.tanh(mean) + 1.0) / 2.0 * (box.high - box.low)
        point: NDArray[Any] = np.clip(mean, box.low, box.high).astype(box.dtype)
        return point

    def _require_fit(self, world: Any) -> None:
        """Raise `PolicyError` unless the model was trained for the spaces of a world."""
        offered = action_spaces(world)
        if self.observation_space != world.vector_space or self.action_space not in offered:
            shown = " and ".join(map(str, offered))
            raise self._misfit(f"{world.vector_space} and {shown} of {world.name}")
        self._fits = world

    def _misfit(self, offered: str) -> PolicyError:
        """Return the error for a model that is for other spaces."""
        return misfit(self.network.name, self.observation_space, self.action_space, offered)
