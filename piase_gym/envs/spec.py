"""Specs of Gymnasium that say how long episodes are."""

from __future__ import annotations

import copy

from gymnasium.envs.registration import EnvSpec

from piase_gym.envs.runner import EpisodeRunner


class LimitInSpec:
    """An environment whose spec has the world's `max_steps` as its `max_episode_steps`.

    The registry has none, so that `gymnasium.make` puts no `TimeLimit` around a world that counts
    its steps itself.
    """

    runner: EpisodeRunner
    _spec: EnvSpec | None = None

    def _episode_limit(self) -> int:
        """Return the present `max_steps`; vector environments, without a runner, override it."""
        return int(self.runner.world.config.max_steps)

    @property
    def spec(self) -> EnvSpec | None:
        """The spec, if it was made from an id; it has the world's `max_steps` too."""
        if self._spec is None or self._spec.max_episode_steps is not None:
            return self._spec
        found = copy.deepcopy(self._spec)
        found.max_episode_steps = self._episode_limit()
        return found

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec
