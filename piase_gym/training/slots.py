"""A VectorEnv of one learner, stepped as a batch is, for the trainer of `examples/ppo_batch.py`.

Worlds without a batched kernel are played in slots (`ParallelCurricula`), where an episode that has
ended is followed by a step that only begins the next one. In such a step nobody is in play, so it
teaches nothing and is not counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from piase_gym.errors import UnsupportedError

Infos = dict[str, Any]


class SlotBatch:
    """The slots of a VectorEnv with `NEXT_STEP` autoreset, as environments of one agent.

    Args:
        env: The slots; masks of actions are taken from ``infos["action_mask"]``.
        agent: Name of the learner.

    Attributes:
        env: The slots.
        agents: The learner alone.
        num_envs: How many slots.
        observation_space: The space of one vector.
        action_space: The space of one action.
    """

    def __init__(self, env: Any, agent: str) -> None:
        """Take the slots.

        Raises:
            UnsupportedError: If actions are no numbers of commands.
        """
        if not isinstance(env.single_action_space, Discrete):
            env.close()
            raise UnsupportedError(
                f"this trainer chooses among commands, and the actions here are "
                f"{env.single_action_space}; train it with Stable-Baselines3, through "
                "piase_gym.wrappers.CurriculumWrapper"
            )
        self.env, self.agents, self.num_envs = env, (agent,), env.num_envs
        self.observation_space: Any = env.single_observation_space
        self.action_space: Any = env.single_action_space
        self._free = np.ones((env.num_envs, 1, int(self.action_space.n)), np.int8)

    def reset(self, seed: int | None = None) -> tuple[NDArray[Any], Infos]:
        """Start episodes; arrays have a second axis of length 1, for the learner."""
        shown, infos = self.env.reset(seed=seed)
        return shown[:, None], self._infos(infos, np.ones(self.num_envs, np.bool_))

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Act once in every slot; where an episode has ended, the next one begins instead."""
        shown, rewards, terminated, truncated, infos = self.env.step(actions[:, 0])
        over = terminated | truncated
        more = {"final_obs": shown[:, None], "_final_obs": over}
        ends = terminated[:, None], truncated[:, None]
        return shown[:, None], rewards[:, None], *ends, {**self._infos(infos, ~over), **more}

    def _infos(self, infos: Infos, alive: NDArray[np.bool_]) -> Infos:
        """Return what stands beside the observations."""
        masks = infos.get("action_mask")
        shown = self._free if masks is None else np.asarray(masks, np.int8)[:, None].copy()
        shown[~shown.any(axis=-1)] = 1  # a slot between two episodes allows nothing
        return {"action_mask": shown, "alive": alive[:, None]}

    def close(self) -> None:
        """Close the slots."""
        self.env.close()
