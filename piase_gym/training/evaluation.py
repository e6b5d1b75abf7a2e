"""How often a policy wins on given seeds, for training to look at between updates.

Here seats and partners are those of training. Numbers that are reported come from
`piase_gym.benchmarks.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from piase_gym.agents import Agent, BatchPercept, Percept, make_agent
from piase_gym.benchmarks.evaluation.rollout import seat_seed
from piase_gym.core.world import World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.partners import decode_answer
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.registry import world_spec
from piase_gym.worlds.array_world import ArrayWorld


def success(
    agent: Agent, world: World[Any, Any], partners: dict[str, str], seeds: Sequence[int]
) -> tuple[int, int]:
    """Play one episode of each seed; the agent plays every seat without a partner.

    Returns:
        How many of these seats won, and how many there were in all episodes.
    """
    if isinstance(world, ArrayWorld):
        return _in_a_batch(agent, world, partners, seeds)
    won, played = 0, 0
    for seed in seeds:
        results = _alone(agent, world, partners, seed)
        won, played = won + results.count("won"), played + len(results)
    return won, played


def _in_a_batch(
    agent: Agent, world: ArrayWorld[Any, Any], partners: dict[str, str], seeds: Sequence[int]
) -> tuple[int, int]:
    """Play all seeds at once."""
    env = BatchEnv(world, len(seeds), partners=partners, autoreset="disabled")
    seats = [world.agents.index(name) for name in env.agents]
    keys = [np.array([seat_seed(s, seat) for s in seeds], np.uint64) for seat in seats]
    shown, infos = env.reset(list(seeds))
    won, step = np.zeros(infos["alive"].shape, np.bool_), 0
    while infos["alive"].any():
        masks, steps = infos["action_mask"], np.full(len(seeds), step)
        acts = [
            agent.act_batch(BatchPercept(shown[:, k], masks[:, k], keys[k], steps))
            for k in range(len(seats))
        ]
        shown, _, terminated, _, infos = env.step(np.stack(acts, axis=1))
        won |= terminated
        step += 1
    return int(won.sum()), won.size


def _alone(agent: Agent, world: World[Any, Any], partners: dict[str, str], seed: int) -> list[str]:
    """Play one episode; return the results of the agent's seats."""
    seated = {name: make_agent(policy) for name, policy in partners.items()}
    runner = EpisodeRunner(world, world_spec(world.name), seated)
    runner.reset(seed)
    results = dict.fromkeys(runner.own, "")
    while runner.live:
        acts: list[Any] = [None] * len(world.agents)
        for seat in runner.live:
            agent.reset(seat_seed(seed, seat))
            agent.perceive(Percept(world, seat, runner.steps))
            acts[seat] = decode_answer(world, seat, agent.act())
        tick = runner.step(acts)
        for seat in runner.live:
            if tick.terminated[seat] or tick.truncated[seat]:
                results[seat] = world.result(seat)
        runner.end_step(tick)
    return list(results.values())
