"""How often a policy wins on given seeds, and what it gets, for the looks of a training.

A training looks between updates, and keeps the policy that `rank`s highest, then the newest. The
look at the untrained policy begins the curve; that policy is kept only until the next look.

Here seats and partners are those of training. Reported numbers come from
`piase_gym.benchmarks.evaluation.evaluate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from piase_gym.agents import Agent, make_agent
from piase_gym.benchmarks.evaluation.levels import is_fixed, seeds_in
from piase_gym.benchmarks.evaluation.protocol import SEEDS, split_seeds
from piase_gym.benchmarks.evaluation.rollout import ask_one, batch_acts
from piase_gym.core.commands import Result
from piase_gym.core.rng import partner_seed
from piase_gym.core.world import World
from piase_gym.envs.batch import BatchEnv
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.registry import world_spec
from piase_gym.worlds.array_world import ArrayWorld, steps_in_batches


class EvaluationResult(NamedTuple):
    """What a look at a policy has shown.

    Attributes:
        won: How many seats won, over all episodes.
        played: How many there were.
        returned: The mean of their returns, rounded as in the file of looks, which ranks them.
    """

    won: int
    played: int
    returned: float


def rank(found: EvaluationResult, learners: int) -> tuple[float, float]:
    """Return what looks are compared by: the share won, and then, for one learner, its mean return.

    Several learners meet each other as they are at that moment, so that their returns do not say
    which of them plays better: in the prisoner's dilemma they fall as all learn to defect.
    """
    return found.won / found.played, found.returned if learners == 1 else 0.0


def mean_return(total: float, played: int) -> float:
    """Return the mean return of seats, rounded."""
    return round(float(total) / played, 4)


def look_seeds(world: World[Any, Any], count: int) -> Sequence[int]:
    """Return the seeds on which training evaluates a policy between updates: those of dev levels.

    They are the first seeds, from the dev seeds on, with levels of the part ``dev``, so that
    held-out levels have no part in the choice of a policy. Fixed tasks have the first dev seeds.

    Args:
        world: A world with the config in question; it is reset.
        count: Number of seeds.
    """
    if is_fixed(world):
        return split_seeds("dev", count)
    return seeds_in(world, "dev", range(SEEDS["dev"].start, SEEDS["held_out"].start), count)


def look(
    agent: Agent, world: World[Any, Any], partners: dict[str, str], seeds: Sequence[int]
) -> EvaluationResult:
    """Play one episode for each seed; the agent plays every seat without a partner."""
    if steps_in_batches(world):
        return _in_a_batch(agent, world, partners, seeds)
    return _told([seat for seed in seeds for seat in _alone(agent, world, partners, seed)])


def _told(seats: Sequence[tuple[str, float]]) -> EvaluationResult:
    """Return the look at seats of which each has a result and a return."""
    won = sum(result == Result.WON for result, _ in seats)
    return EvaluationResult(won, len(seats), mean_return(sum(got for _, got in seats), len(seats)))


def _in_a_batch(
    agent: Agent, world: ArrayWorld[Any, Any], partners: dict[str, str], seeds: Sequence[int]
) -> EvaluationResult:
    """Play all seeds at once."""
    env = BatchEnv(world, len(seeds), partners=partners, autoreset="disabled")
    draws = [
        [partner_seed(seed, world.agents.index(name)) for seed in seeds] for name in env.agents
    ]
    agents = [agent] * len(draws)
    shown, infos = env.reset(list(seeds))
    step, returns = 0, np.zeros(infos["alive"].shape)
    while infos["alive"].any():
        acts = batch_acts(agents, shown, infos["action_mask"], draws, step)
        shown, rewards, _, _, infos = env.step(acts)
        returns += rewards
        step += 1
    seats = [world.agents.index(name) for name in env.agents]
    ended = map(env.single, range(len(seeds)))  # one world, moved from slot to slot
    results = [one.result(seat) for one in ended for seat in seats]  # agents out may have lost
    return _told(list(zip(results, returns.ravel().tolist(), strict=True)))


def _alone(
    agent: Agent, world: World[Any, Any], partners: dict[str, str], seed: int
) -> list[tuple[str, float]]:
    """Play one episode; return the result and the return of each of the agent's seats."""
    seated = {name: make_agent(policy) for name, policy in partners.items()}
    runner = EpisodeRunner(world, world_spec(world.name), seated)
    runner.reset(seed)
    own = runner.caller_agents
    results, returns = dict.fromkeys(own, ""), dict.fromkeys(own, 0.0)
    while runner.live:
        acts: list[Any] = [None] * len(world.agents)
        for seat in runner.live:
            agent.reset(partner_seed(seed, seat))
            acts[seat] = ask_one(agent, runner, seat)
        result = runner.step(acts)
        for seat in own:
            returns[seat] += result.rewards[seat]
        for seat in runner.live:
            if result.terminated[seat] or result.truncated[seat]:
                results[seat] = world.result(seat)
        runner.end_step(result)
    return list(zip(results.values(), returns.values(), strict=True))
