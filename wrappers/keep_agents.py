"""Every agent in every dict, from the first step of an episode to the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from piase_gym.envs.observations import absent_observation, open_masks
from piase_gym.envs.parallel import require_parallel
from piase_gym.errors import SnapshotError


class KeepAgents(BaseParallelWrapper[str, Any, Any]):
    """Keeps agents in the dicts until the episode is over, as SuperSuit's vector envs require.

    An agent that is not in play (it has ended, or has yet to enter) is shown zeros, gets no
    reward, and its actions are ignored. All agents are reported as ended in the last step, each as
    it was when it ended: terminated or truncated. SuperSuit's own `black_death_v3` has the same
    purpose, but up to version 3.11 it waits for a step in which every agent is terminated *and*
    truncated, which does not come.

    Agents that are not in play may do anything: where there are masks, theirs are all ones.

    Args:
        env: A ParallelEnv.

    Raises:
        ConfigError: If it is none.

    Example:
        >>> import piase_gym
        >>> env = KeepAgents(piase_gym.parallel_env("GridWorld", agents=3, view="vector"))
        >>> observations, infos = env.reset(seed=0)
        >>> env.agents == env.possible_agents
        True
    """

    def __init__(self, env: ParallelEnv[str, Any, Any]) -> None:
        """Prepare what agents are shown while they are not in play."""
        require_parallel(env, self)
        super().__init__(env)
        self._spaces = {name: env.observation_space(name) for name in env.possible_agents}
        self._ends: dict[str, tuple[bool, bool]] = {}

    @property
    def agents(self) -> list[str]:
        """All agents until the episode is over, then none."""
        return list(self._spaces) if self.env.agents else []

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._ends = {}
        return self._fill(observations), self._fill_infos(infos)

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Let the agents in play act; the actions of the others are ignored."""
        playing, chosen = set(self.env.agents), actions
        if isinstance(actions, Mapping):  # else the environment says what is wrong
            chosen = {name: act for name, act in actions.items() if name in playing}
        observations, rewards, terminated, truncated, infos = self.env.step(chosen)
        for name in terminated:
            if terminated[name] or truncated[name]:
                self._ends[name] = terminated[name], truncated[name]
        names, over = list(self._spaces), not self.env.agents
        ends = [self._ends.get(name, (False, True)) if over else (False, False) for name in names]
        return (
            self._fill(observations),
            {name: rewards.get(name, 0.0) for name in names},
            {name: end[0] for name, end in zip(names, ends, strict=True)},
            {name: end[1] for name, end in zip(names, ends, strict=True)},
            self._fill_infos(infos),
        )

    def snapshot(self) -> dict[str, Any]:
        """Return the environment's snapshot, with how agents have ended so far."""
        inner: Any = self.env
        return {**inner.snapshot(), "ends": {name: list(end) for name, end in self._ends.items()}}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; without "ends", agents that have ended count as truncated.

        Raises:
            SnapshotError: If it does not fit; nothing has changed then.
        """
        inner: Any = self.env
        given = snapshot.get("ends", {}) if isinstance(snapshot, Mapping) else {}
        try:
            ends = {name: (bool(given[name][0]), bool(given[name][1])) for name in given}
        except (TypeError, IndexError, KeyError) as error:
            raise SnapshotError(f"the ends in this snapshot are damaged: {error!r:.100}") from None
        inner.restore(snapshot)
        self._ends = ends

    def observe_all(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the present observations and infos; see `WorldParallelEnv.observe_all`."""
        inner: Any = self.env
        observations, infos = inner.observe_all()
        return self._fill(observations), self._fill_infos(infos)

    def _fill_infos(self, infos: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Add the infos of agents that are not in play."""
        masks = [info["action_mask"] for info in infos.values() if "action_mask" in info]
        free = {"action_mask": masks[0]} if masks else {}
        return {
            name: self._opened(name, infos[name])
            if name in infos
            else {k: np.ones_like(m) for k, m in free.items()}
            for name in self._spaces
        }

    def _opened(self, name: str, shown: Any) -> Any:
        """Return what an agent is shown, with a mask that allows something if it has ended."""
        if name in self.env.agents or not isinstance(shown, dict) or "action_mask" not in shown:
            return shown
        return {**shown, "action_mask": open_masks([shown["action_mask"]])[0]}

    def _fill(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Add the observations of agents that are not in play."""
        return {
            name: self._opened(name, observations[name])
            if name in observations
            else absent_observation(space)
            for name, space in self._spaces.items()
        }
