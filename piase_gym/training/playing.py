"""Plays whole episodes with policies of the fast learner, all episodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.levels import is_fixed, seeds_in
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.core.world import World
from piase_gym.training.environments import has_kernel, make_envs
from piase_gym.training.networks import Policy

AT_ONCE = 50
"""Episodes that are played at once where no kernel steps the world: each has an environment."""
HELD_OUT = SEEDS["held_out"]
"""Seeds that no training begins with: a batch starts with s, s + 1, ... and goes on with hashes of
63 bits. Their levels may still be levels that training drew; see `held_out_seeds`."""


def held_out_seeds(world: World[Any, Any]) -> Sequence[int]:
    """Return a thousand seeds of levels that no training meets; for a fixed task, `HELD_OUT`.

    Args:
        world: A world with the config in question; it is reset.
    """
    if is_fixed(world):
        return HELD_OUT
    return seeds_in(world, "held_out", SEEDS["new_levels"], len(HELD_OUT))


def evaluate(
    policy: Policy | Sequence[Policy], task: Any, greedy: bool = False, **config: Any
) -> float:
    """Return the share of agents that win, in one episode of each held-out seed."""
    seeds = held_out_seeds(make_envs(task, 1, "disabled", **config).world)
    return float(play(policy, task, seeds, greedy, **config).mean())


def play(
    policy: Policy | Sequence[Policy],
    task: Any,
    seeds: Sequence[int],
    greedy: bool = False,
    **config: Any,
) -> NDArray[np.bool_]:
    """Play one episode for each seed; return who won, shape (seeds, agents).

    `play_returns` takes the same arguments and gives the returns as well.
    """
    return play_returns(policy, task, seeds, greedy, **config)[0]


@torch.no_grad()
def play_returns(
    policy: Policy | Sequence[Policy],
    task: Any,
    seeds: Sequence[int],
    greedy: bool = False,
    **config: Any,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Play one episode for each seed; return who won and the returns, shapes (seeds, agents).

    Args:
        policy: The policy of all agents, or one for each (`Trainer.policies`).
        task: An id, a world or a config.
        seeds: The seeds of the episodes.
        greedy: Whether to take the most probable actions instead of sampling.
        config: Further arguments of `batch_env`.
    """
    if len(seeds) > AT_ONCE and not has_kernel(task, **config):
        starts = range(0, len(seeds), AT_ONCE)
        parts = [
            play_returns(policy, task, seeds[k : k + AT_ONCE], greedy, **config) for k in starts
        ]
        won, returns = (np.concatenate(part) for part in zip(*parts, strict=True))
        return won, returns
    env = make_envs(task, len(seeds), "disabled", **config)
    generator = torch.Generator().manual_seed(int(seeds[0]))
    shown, infos = env.reset(list(seeds))
    shape = infos["alive"].shape
    policies = [policy] * shape[1] if isinstance(policy, Policy) else list(policy)
    groups = [(one, [a for a in range(shape[1]) if policies[a] is one]) for one in {*policies}]
    groups.sort(key=lambda group: group[1])
    memories = [one.blank(shape[0] * len(seats)) for one, seats in groups]
    acts, returns = np.zeros(shape, np.int64), np.zeros(shape)
    while infos["alive"].any():
        for k, (one, seats) in enumerate(groups):
            seen = torch.as_tensor(shown[:, seats]).flatten(0, 1)
            hidden, memory = one.read(seen, memories[k])
            if memory is not None:  # who has yet to enter remembers nothing
                memory = memory * torch.as_tensor(infos["alive"][:, seats]).flatten()[:, None]
            memories[k] = memory
            masks = torch.as_tensor(infos["action_mask"][:, seats]).flatten(0, 1)
            probs = one.judge(hidden, masks)[0].probs
            drawn = torch.multinomial(probs, 1, generator=generator)
            actions = probs.argmax(-1) if greedy else drawn
            acts[:, seats] = actions.numpy().reshape(shape[0], -1)
        shown, rewards, _, _, infos = env.step(acts)
        returns += rewards
    seats = [env.world.agents.index(name) for name in env.agents]
    worlds = map(env.single, range(len(seeds)))  # a terminated agent may also have lost
    won = np.array([[world.result(seat) == "won" for seat in seats] for world in worlds])
    env.close()
    return won, returns
