"""How well a policy does in the last step of a curriculum, on levels that training never meets.

Where the step has few levels, training meets all of them, and so does the test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import piase_gym
from piase_gym.benchmarks.evaluation import levels
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.envs.single import GymEnv
from piase_gym.registry import find, load, make_config
from piase_gym.training.curriculum_env import SlotBatch, controller_of

Choose = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.int64]]
Results = tuple[NDArray[np.bool_], NDArray[np.float64]]
"""Whether the agent won, and its return, on each level."""


class LastStepEvaluator:
    """Plays the last step as it is, whatever the rewards of training were.

    Args:
        env: The environments of a training; see `training.curriculum_env.make_curriculum_env`.
        part: The part of the levels: ``dev`` or ``held_out``.
        count: Number of levels.

    Attributes:
        seeds: One seed per level.
    """

    def __init__(self, env: Any, part: str, count: int) -> None:
        """Find the levels."""
        controller = controller_of(env)
        ((self.agent, curriculum),) = controller.curricula.items()
        last = curriculum.steps[-1]
        config = controller.setup.config({self.agent: last.order})
        spec = find(config.world)[0]
        if "rewards" in type(config).model_fields:  # those of training are for training alone
            plain = make_config(spec, last.fields).rewards
            config = config.changed({"rewards": plain.model_dump()})
        self.config, self.batched = config, not isinstance(env, SlotBatch)
        self.partners = dict(curriculum.partners) or None
        world = load(spec.world, spec)(config)
        try:
            fixed, seeds = levels.is_fixed(world), SEEDS["new_levels"]
            self.seeds = (
                list(seeds[:count]) if fixed else levels.seeds_in(world, part, seeds, count)
            )
        finally:
            world.close()

    def evaluate(self, policy: Any) -> Results:
        """Play one episode of each level; actions are sampled, always with the same seed."""
        import torch

        generator = torch.Generator().manual_seed(self.seeds[0])

        def choose(shown: NDArray[Any], masks: NDArray[Any]) -> NDArray[np.int64]:
            hidden, _ = policy.read(torch.as_tensor(shown), None)
            probs = policy.judge(hidden, torch.as_tensor(masks))[0].probs
            drawn: NDArray[np.int64] = torch.multinomial(probs, 1, generator=generator).numpy()
            return drawn[:, 0]

        with torch.no_grad():
            return self._in_a_batch(choose) if self.batched else self._one_by_one(choose)

    def _in_a_batch(self, choose: Choose) -> Results:
        """Play all levels in one batch; the policy plays all agents that are not partners."""
        count = len(self.seeds)
        env = piase_gym.batch_env(
            self.config, num_envs=count, autoreset="disabled", partners=self.partners
        )
        place = list(env.agents).index(self.agent)
        shown, infos = env.reset(self.seeds)
        returns = np.zeros(count)
        while infos["alive"].any():
            parts = shown, infos["action_mask"]
            rows, masks = (part.reshape(-1, part.shape[2]) for part in parts)
            acts = choose(rows, masks).reshape(count, -1)
            shown, rewards, _, _, infos = env.step(acts)
            returns += rewards[:, place]
        number = env.world.agents.index(self.agent)
        won = [env.single(slot).result(number) == "won" for slot in range(count)]
        env.close()
        return np.array(won), returns

    def _one_by_one(self, choose: Choose) -> Results:
        """Play all levels side by side, each in its own environment."""
        envs = [GymEnv(self.config, agent=self.agent, partners=self.partners) for _ in self.seeds]
        views = [env.reset(seed=seed) for env, seed in zip(envs, self.seeds, strict=True)]
        shown = np.stack([view for view, _ in views])
        masks = np.stack([info["action_mask"] for _, info in views])
        won, alive = np.zeros(len(envs), np.bool_), np.ones(len(envs), np.bool_)
        returns = np.zeros(len(envs))
        while alive.any():
            acts = choose(shown, masks)
            for slot in np.flatnonzero(alive).tolist():
                view, reward, terminated, truncated, info = envs[slot].step(int(acts[slot]))
                shown[slot], masks[slot] = view, info["action_mask"]
                returns[slot] += float(reward)
                if terminated or truncated:
                    alive[slot], won[slot] = False, info["result"] == "won"
        for env in envs:
            env.close()
        return won, returns


__all__ = ["LastStepEvaluator"]
