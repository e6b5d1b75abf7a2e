"""Plays models of Stable-Baselines3 and sb3-contrib, in one environment or in many at once."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from piase_gym.agents.base import Action, BatchPercept
from piase_gym.agents.sb3_network import Network, copy_network, load_network
from piase_gym.agents.simple import SeededAgent, draw_at, draw_from, draws_at, percept_of
from piase_gym.agents.space_data import action_spaces, misfit
from piase_gym.core.rng import GOLDEN, mix64
from piase_gym.errors import PolicyError


class Sb3Agent(SeededAgent):
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

    def __deepcopy__(self, memo: dict[int, Any]) -> Sb3Agent:
        """Copy the agent, but share the network, which never changes."""
        twin = Sb3Agent(self.network, greedy=self.greedy)
        twin.set_id(self.get_id())
        twin.set_state(self.get_state())
        return twin

    def act(self) -> Action:
        """Return the index, or the point of the action box, for the last percept.

        Raises:
            PolicyError: If the model is for other spaces, or gives numbers that are not finite.
        """
        percept = percept_of(self)
        if self._fits is not percept.world:
            self._require_fit(percept.world)
        draw = draw_at(self._seed, percept.step)
        if isinstance(self.action_space, spaces.Box):
            return self._point(percept.vector, draw)
        draws = np.array([draw], np.uint64)
        return int(self._choose(percept.vector[None], percept.mask[None], draws)[0])

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Choose for many environments at once.

        Raises:
            PolicyError: As `act`.
        """
        space = self.observation_space
        length, actions = batch.vectors.shape[1:], batch.masks.shape[1]
        if length != space.shape or actions != getattr(self.action_space, "n", None):
            raise self._misfit(f"vectors of shape {length} and {actions} actions")
        return self._choose(batch.vectors, batch.masks, draws_at(batch.seeds, batch.steps))

    def _choose(
        self, vectors: NDArray[Any], masks: NDArray[np.int8], draws: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Choose the likeliest actions, or draw them."""
        space = self.observation_space
        if isinstance(space, spaces.Box) and (vectors > space.high).any():
            raise self._misfit("larger observations")
        chances = self.network.probabilities(vectors, masks)
        if self.greedy:
            return np.asarray(chances.argmax(axis=1), np.int64)
        return draw_from(chances, draws)

    def _point(self, vector: NDArray[Any], draw: int) -> NDArray[Any]:
        """Return a point of the action box."""
        box = self.action_space
        assert isinstance(box, spaces.Box)
        mean, spread = (part.reshape(box.shape) for part in self.network.gaussian(vector))
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
