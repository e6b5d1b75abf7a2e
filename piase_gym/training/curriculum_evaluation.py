"""How well a policy does in the last step of a curriculum, on levels that training never meets.

Where the step has few levels, training meets all of them, and so does the test.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation import levels
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.envs.single import GymEnv
from piase_gym.registry import find, load, make_config
from piase_gym.training.curriculum_env import SlotBatch, controller_of

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
            plain = make_config(spec, last.fields_in(config.world)).rewards
            config = config.changed({"rewards": plain.model_dump()})
        self.config, self.batched = config, not isinstance(env, SlotBatch)
        self.place = list(env.agents).index(self.agent)
        self.partners = dict(curriculum.partners) or None
        self.side_by_side = env.num_envs  # as many as in training find room in a test
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
        if not self.batched:
            args = policy, self.config, self.seeds, self.agent, self.partners
            return play_slots(*args, side_by_side=self.side_by_side)
        from piase_gym.training.playing import play_returns

        won, returns = play_returns(policy, self.config, self.seeds, partners=self.partners)
        return won[:, self.place], returns[:, self.place]


def play_slots(
    policy: Any,
    config: Any,
    seeds: Sequence[int],
    agent: str | None = None,
    partners: Mapping[str, str] | None = None,
    side_by_side: int | None = None,
) -> Results:
    """Play one episode for each seed, each in an environment of its own.

    This is for worlds without a batched kernel; for others see `training.playing.play_returns`.
    What is drawn for an episode does not depend on `side_by_side`, the number of environments that
    are open at once: by default all.
    """
    won, returns = np.zeros(len(seeds), np.bool_), np.zeros(len(seeds))
    size = side_by_side or len(seeds)
    for first in range(0, len(seeds), size):
        slots = range(first, min(first + size, len(seeds)))
        with contextlib.ExitStack() as stack:
            made = (GymEnv(config, agent=agent, partners=partners) for _ in slots)
            envs = [stack.enter_context(contextlib.closing(env)) for env in made]
            part = slice(slots.start, slots.stop)
            won[part], returns[part] = _play_group(policy, envs, seeds, part)
    return won, returns


def _play_group(policy: Any, envs: Sequence[GymEnv], seeds: Sequence[int], part: slice) -> Results:
    """Play the episodes of a part of the seeds side by side."""
    import torch

    generator = torch.Generator().manual_seed(int(seeds[0]))
    views = [env.reset(seed=seed) for env, seed in zip(envs, seeds[part], strict=True)]
    shown = np.stack([view for view, _ in views])
    masks = np.stack([info["action_mask"] for _, info in views])
    won, alive = np.zeros(len(envs), np.bool_), np.ones(len(envs), np.bool_)
    returns = np.zeros(len(envs))
    probs = torch.ones(len(seeds), masks.shape[1])
    while alive.any():
        with torch.no_grad():
            probs[part] = policy(torch.as_tensor(shown), torch.as_tensor(masks))[0].probs
        drawn = torch.multinomial(probs, 1, generator=generator)[part, 0].tolist()
        for slot in np.flatnonzero(alive).tolist():
            view, reward, terminated, truncated, info = envs[slot].step(drawn[slot])
            shown[slot], masks[slot] = view, info["action_mask"]
            returns[slot] += float(reward)
            if terminated or truncated:
                alive[slot], won[slot] = False, info["result"] == "won"
    return won, returns
