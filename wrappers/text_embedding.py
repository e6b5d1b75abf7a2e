"""Texts as 384 numbers, for learners that take arrays."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces
from pettingzoo import ParallelEnv

from piase_gym.errors import ConfigError
from piase_gym.memory.embedders import CachedEmbedder, Embedder
from piase_gym.wrappers.add_to_views import ChangesViews


class _TextEncoder(CachedEmbedder):
    """Puts embeddings in place of texts, in spaces and in observations."""

    def space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        """Return a space with a Box in place of each Text."""
        if isinstance(space, spaces.Text):
            return spaces.Box(-1.0, 1.0, (self.size,))
        if isinstance(space, spaces.Dict):
            return spaces.Dict({key: self.space(value) for key, value in space.spaces.items()})
        return space

    def observation(self, shown: Any) -> Any:
        """Return an observation with an embedding in place of each text."""
        if isinstance(shown, str):
            return self.embed([shown])[0]
        if isinstance(shown, dict):
            return {key: self.observation(value) for key, value in shown.items()}
        return shown

    def require_text(self, space: spaces.Space[Any]) -> None:
        """Refuse observations without a text."""
        if self.space(space) == space:
            message = (
                "needs observations with a text; make the environment with view='text' or 'both'"
            )
            raise ConfigError(f"TextEmbedding {message}")


class TextEmbedding(ChangesViews):
    """Shows agents an embedding in place of every text of their observations.

    ``view="text"`` becomes a Box of 384 numbers, and ``view="both"`` a Dict of two Boxes. Texts
    that have occurred are not embedded again.

    Args:
        env: A ParallelEnv with ``view="text"`` or ``"both"``.
        embedder: ``hashed`` (the default), ``semantic``, or an `Embedder` of your own whose numbers
            lie between -1 and 1.
        kept: How many texts are remembered with their embeddings.

    Raises:
        ConfigError: If the observations have no text.
        MissingExtraError: If the embedder needs an extra that is not installed.

    Example:
        >>> import piase_gym
        >>> env = TextEmbedding(piase_gym.parallel_env("TextRoom", view="text"))
        >>> observations, infos = env.reset(seed=0)
        >>> observations["agent_0"].shape
        (384,)
    """

    def __init__(
        self,
        env: ParallelEnv[str, Any, Any],
        embedder: str | Embedder | None = None,
        kept: int = 4096,
    ) -> None:
        """Make the spaces."""
        super().__init__(env)
        self.encoder = _TextEncoder(embedder, kept)
        for name in env.possible_agents:
            self.encoder.require_text(env.observation_space(name))
        self.observation_spaces = {
            name: self.encoder.space(env.observation_space(name)) for name in env.possible_agents
        }

    def changed(self, agent: str, shown: Any) -> Any:
        """Embed the texts of an observation."""
        return self.encoder.observation(shown)


class TextEmbeddingEnv(gymnasium.ObservationWrapper[Any, Any, Any]):
    """`TextEmbedding` for an environment of Gymnasium: ``gymnasium.make(..., view="text")``.

    Args:
        env: The environment.
        embedder: See `TextEmbedding`.
        kept: See `TextEmbedding`.

    Raises:
        ConfigError: If the observations have no text.
        MissingExtraError: If the embedder needs an extra that is not installed.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        embedder: str | Embedder | None = None,
        kept: int = 4096,
    ) -> None:
        """Make the space."""
        super().__init__(env)
        self.encoder = _TextEncoder(embedder, kept)
        self.encoder.require_text(env.observation_space)
        self.observation_space = self.encoder.space(env.observation_space)

    def observation(self, observation: Any) -> Any:
        """Return an observation with an embedding in place of each text."""
        return self.encoder.observation(observation)
