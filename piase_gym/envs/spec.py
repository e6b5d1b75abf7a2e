"""Specs of Gymnasium that say how long episodes are."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec

from piase_gym.envs.runner import EpisodeRunner

TIME_LIMIT = "max_episode_steps"
"""What Gymnasium calls the limit of the world's own `max_steps`."""
OWN_LIMITS = frozenset({"max_steps", "max_cycles"})
NO_TIME_LIMIT = -1
"""What `gymnasium.make` takes as ``max_episode_steps`` for no limit but the environment's own."""


def settle_limit(fields: Mapping[str, Any], limit: Any, asked: Collection[str]) -> dict[str, Any]:
    """Return fields of which one limits episodes: what a call asks for, else the least in its spec.

    Args:
        fields: The fields that a call and its spec give, without ``max_episode_steps``.
        limit: The ``max_episode_steps`` of the call or of its spec, if any.
        asked: The names of what the call itself gives. Two limits of one call are an error of the
            config, unless they are equal.
    """
    if limit in (None, NO_TIME_LIMIT):
        return dict(fields)
    limits = {key: fields[key] for key in fields if key in OWN_LIMITS} | {TIME_LIMIT: limit}
    named = {key: value for key, value in limits.items() if key in asked}
    chosen = named or {TIME_LIMIT: min(limits.values())}
    if all(value == limit for value in chosen.values()):
        chosen = {TIME_LIMIT: limit}
    return {key: value for key, value in fields.items() if key not in limits} | chosen


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
        if self._spec is None:
            return None
        found = copy.deepcopy(self._spec)
        found.max_episode_steps = limit = self._episode_limit()
        limits = {*OWN_LIMITS, TIME_LIMIT} & found.kwargs.keys()
        if limits:  # more than one, perhaps, of which the world took one
            kept = {key: value for key, value in found.kwargs.items() if key not in limits}
            found.kwargs = {**kept, "max_steps": limit}
        return found

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = spec
