"""The AEC environment: one agent after the other, over the parallel one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo.utils import AgentSelector
from pettingzoo.utils.conversions import parallel_to_aec_wrapper

from piase_gym.core.config import WorldConfig
from piase_gym.envs.parallel import WorldParallelEnv, parallel_env
from piase_gym.errors import ActionError, AgentError, ResetNeededError


class WorldAECEnv(parallel_to_aec_wrapper):
    """A world behind PettingZoo's AEC API. Made by `aec_env`.

    All agents in play choose before the world advances by one step, so states are those of the
    parallel environment. Compared with PettingZoo's own conversion, misuse raises errors of
    piase_gym.
    """

    env: WorldParallelEnv

    def __getattr__(self, name: str) -> Any:
        """Offer what the parallel environment adds: `facts`, `instructions`, `snapshot`, ..."""
        if name.startswith("_") or name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a snapshot; it is then the turn of the first agent in play."""
        self.env.restore(snapshot)
        self._start(*self.env.observe_all())

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; see `WorldParallelEnv.reset`."""
        self._start(*self.env.reset(seed=seed, options=options))

    def _start(self, observations: dict[str, Any], infos: dict[str, Any]) -> None:
        """Let all agents in play choose again."""
        self._observations, self.infos = observations, infos
        self.agents = list(self.env.agents)
        self._live_agents = list(self.agents)
        self._actions = dict.fromkeys(self.agents)
        self._agent_selector = AgentSelector(self._live_agents)
        self.agent_selection = self._agent_selector.reset()
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)

    def _require(self, agent: str | None = None) -> None:
        """Raise unless there is an episode, and the agent, if one is given, is in play."""
        self.env.runner.require_episode()
        if not self.agents:
            raise ResetNeededError("the episode is over; call reset() first")
        if agent is not None and agent not in self.agents:
            names = ", ".join(self.agents)
            raise AgentError(f"there is no agent {agent!r} in play; agents in play: {names}")

    def observe(self, agent: str) -> Any:
        """Return what an agent observed last, also when it ended in the last step."""
        self.env.runner.require_episode()
        if agent not in self._observations:
            self._require(agent)
        return super().observe(agent)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated and info of the selected agent."""
        self._require()
        result: tuple[Any, float, bool, bool, dict[str, Any]] = super().last(observe)
        return result

    def step(self, action: Any) -> None:
        """Take the action of the agent whose turn it is: ``None`` for one that has ended.

        With ``ended_actions="ignore"``, an agent that has ended may give any action.

        Raises:
            ActionError: If the action is not in the space.
            ResetNeededError: Before the first reset, and when all agents have ended.
        """
        self._require()
        agent = self.agent_selection
        over = self.terminations[agent] or self.truncations[agent]
        if over and self.env.ended_actions == "ignore":
            action = None
        if over and action is not None:
            raise ActionError(f"{agent!r} has ended; its only action is None")
        if not over:
            self.env.check_action(agent, action)
        super().step(action)

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """Yield the agent whose turn it is, until all have ended; nothing once they have."""
        self.env.runner.require_episode()
        return super().agent_iter(max_iter)


def aec_env(name: str | WorldConfig, **kwargs: Any) -> WorldAECEnv:
    """Make a world as a PettingZoo AECEnv; the arguments are those of `parallel_env`."""
    return WorldAECEnv(parallel_env(name, **kwargs))


def make_task(world: str, **kwargs: Any) -> WorldAECEnv:
    """Make a registered id; the entry point of PettingZoo's registry."""
    return aec_env(world, **kwargs)
