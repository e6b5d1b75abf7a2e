"""The base of wrappers that add something to the end of every observation, in both views."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from piase_gym.core.text_encoding import CHARSET, one_line
from piase_gym.envs.parallel import require_parallel
from piase_gym.errors import ConfigError
from piase_gym.memory.embedders import CachedEmbedder


class Addition(Protocol):
    """How something is added to the end of a vector and of a text."""

    @property
    def text_length(self) -> int:
        """The maximum number of characters that it takes in a text."""

    def box(self, space: spaces.Box) -> spaces.Box:
        """Return the space of the longer vectors."""

    def vector(self, vector: NDArray[Any], readings: Any) -> NDArray[Any]:
        """Return the longer vector."""

    def text(self, text: str, readings: Any) -> str:
        """Return the longer text."""


class ChangesViews(BaseParallelWrapper[str, Any, Any]):
    """Shows agents other observations than those of the environment; spaces are in a dict."""

    observation_spaces: dict[str, spaces.Space[Any]]

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        """Refuse what is no ParallelEnv."""
        require_parallel(env, self)
        super().__init__(env)

    @abstractmethod
    def changed(self, agent: str, shown: Any) -> Any:
        """Return what an agent is shown in place of an observation."""

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations, always the same object."""
        self.env.observation_space(agent)  # refuses agents that are not there
        return self.observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._show_all(observations), infos

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Let agents act; see `WorldParallelEnv.step`."""
        observations, *rest = self.env.step(actions)
        return self._show_all(observations), *rest

    def observe_all(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the present observations and infos; see `WorldParallelEnv.observe_all`."""
        inner: Any = self.env
        observations, infos = inner.observe_all()
        return self._show_all(observations), infos

    def _show_all(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Return each agent's observation as it is shown."""
        return {name: self.changed(name, shown) for name, shown in observations.items()}


class AddToViews(ChangesViews):
    """Adds to what agents observe: to the vector, to the text, or to both.

    Args:
        env: A ParallelEnv of one of our worlds, or a wrapper around one.
        addition: How to add.

    Raises:
        ConfigError: If an observation is neither a vector nor a text of ours.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any], addition: Addition) -> None:
        """Make the spaces."""
        super().__init__(env)
        if not hasattr(env.unwrapped, "facts"):
            own, kind = type(self).__name__, type(env).__name__
            raise ConfigError(f"{own} needs a world of piase_gym, not {kind}")
        self.addition = addition
        self.observation_spaces = {
            name: self._space(env.observation_space(name)) for name in env.possible_agents
        }

    @abstractmethod
    def readings(self, agent: str) -> Any:
        """Return what to add to an agent's present observation."""

    def changed(self, agent: str, shown: Any) -> Any:
        """Return the longer observation."""
        return self._add(shown, self.readings(agent))

    def _space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        """Return a space with room for what is added."""
        if isinstance(space, spaces.Dict):
            inner = {key: value for key, value in space.spaces.items() if key != "action_mask"}
            return spaces.Dict({**space.spaces, **{k: self._space(v) for k, v in inner.items()}})
        if isinstance(space, spaces.Text):
            length = space.max_length + self.addition.text_length
            return spaces.Text(length, min_length=0, charset=CHARSET)
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            return self.addition.box(space)
        own, kind = type(self).__name__, type(space).__name__
        raise ConfigError(f"{own} adds to vectors and texts, not to a {kind}")

    def _add(self, shown: Any, readings: Any) -> Any:
        """Return a longer observation."""
        if isinstance(shown, str):
            return self.addition.text(shown, readings)
        if isinstance(shown, dict):
            keys = [key for key in shown if key != "action_mask"]
            return {**shown, **{key: self._add(shown[key], readings) for key in keys}}
        return self.addition.vector(shown, readings)


Line = tuple[str, str, float]
"""The label before a line, its words, and its weight from 0 to 1."""


class Lines:
    """Lines at the end of a text; at the end of a vector, the weight and embedding of each.

    Args:
        count: The maximum number of lines; where there are fewer, the vector has zeros.
        embedder: What turns the words of a line into numbers.
    """

    LONGEST = 600
    """The maximum length of a line in characters; the rest is cut off."""

    def __init__(self, count: int, embedder: CachedEmbedder) -> None:
        self.count, self.embedder = count, embedder
        self.text_length = count * (self.LONGEST + 1)

    def box(self, space: spaces.Box) -> spaces.Box:
        """Return the space of vectors with lines at their end, float32."""
        low, high = np.full((2, self.count, 1 + self.embedder.size), 1.0)
        low[:, 1:], low[:, 0] = -1.0, 0.0
        return spaces.Box(
            np.concatenate([space.low, low.ravel()]).astype(np.float32),
            np.concatenate([space.high, high.ravel()]).astype(np.float32),
            dtype=np.float32,
        )

    def vector(self, vector: NDArray[Any], readings: Sequence[Line]) -> NDArray[Any]:
        """Return a vector with lines at its end."""
        added = np.zeros((self.count, 1 + self.embedder.size), np.float32)
        added[: len(readings), 1:] = self.embedder.embed([words for _, words, _ in readings])
        added[: len(readings), 0] = [weight for *_, weight in readings]
        return np.concatenate([vector, np.clip(added, -1.0, 1.0).ravel()]).astype(np.float32)

    def text(self, text: str, readings: Sequence[Line]) -> str:
        """Return a text with lines at its end."""
        lines = [f"{before}: {one_line(words)}"[: self.LONGEST] for before, words, _ in readings]
        return "\n".join([text, *lines])
