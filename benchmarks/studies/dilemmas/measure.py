"""How well policies do in social dilemmas, with intervals, next to what can be computed.

Against a fixed strategy, a policy is compared with the best response; in a commons, all agents play
one policy, and the measures of the commons are reported. Run it on a trained model:

    piase train piase/SocialDilemma-PrisonersDilemma-TitForTat-v1 --steps 1000000 --out runs/tft
    python -m piase_gym.benchmarks.studies.dilemmas.measure sb3:runs/tft/policy.zip \
        --strategy tit_for_tat
    piase train piase/SocialDilemma-Harvest-8p-v1 --algo ippo --steps 20000000 --out runs/harvest
    python -m piase_gym.benchmarks.studies.dilemmas.measure sb3:runs/harvest/policy.zip \
        --commons Harvest-8p
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import piase_gym
from piase_gym.agents import Agent, Percept, make_agent
from piase_gym.agents.base import Action, BatchPercept
from piase_gym.agents.matrix_strategies import remember
from piase_gym.benchmarks.evaluation.rollout import batch_acts
from piase_gym.benchmarks.evaluation.statistics import Interval, mean_interval
from piase_gym.core.rng import partner_seeds
from piase_gym.envs.actions import decode_answer
from piase_gym.envs.batch import BatchEnv
from piase_gym.errors import SuiteError, UnsupportedError
from piase_gym.worlds.social_dilemma.matrix.solutions import best_response
from piase_gym.worlds.social_dilemma.metrics import commons_measures

SEED = 10_000_000
"""The first seed of evaluation; training never meets it."""


def choices(env: BatchEnv, agents: Sequence[Agent]) -> NDArray[np.int64]:
    """Return the actions of the caller's agents, shape (envs, agents); they must act in batches."""
    states, seats = env.batch.states, [env.world.agents.index(name) for name in env.agents]
    seeds = [partner_seeds(states["seed"], seat) for seat in seats]
    shown, masks = env.batch.obs[:, seats], env.batch.masks[:, seats]
    return batch_acts(agents, shown, masks, seeds, states["t"])


def against(policy: str | Agent, strategy: str, *, episodes: int = 1000, **config: Any) -> Interval:
    """Return a policy's mean share of the best response's return; see `shares_against`."""
    shares = shares_against(policy, strategy, episodes=episodes, **config)
    return mean_interval([shares.tolist()])


def shares_against(
    policy: str | Agent, strategy: str, *, episodes: int = 1000, **config: Any
) -> NDArray[np.float64]:
    """Return a policy's share of the best response's return against a fixed strategy.

    Args:
        policy: The policy in the first seat, by name or as an agent that acts in batches.
        strategy: The strategy in the second seat.
        episodes: Number of games, on seeds from `SEED` on.
        config: Fields of the config.

    Returns:
        A share for each episode, shape (episodes,).
    """
    env = piase_gym.batch_env(
        "SocialDilemma",
        num_envs=episodes,
        partners={"agent_1": strategy},
        autoreset="disabled",
        **config,
    )
    env.reset(seed=SEED)
    agent, returns = make_agent(policy), np.zeros(episodes)
    while env.alive().any():
        returns += env.step(choices(env, [agent]))[1][:, 0]
    return returns / best_response(env.world.config, strategy).value


@dataclass(frozen=True)
class Exploit:
    """How a strategy that knows only the last round can exploit a policy in a two-player game.

    Attributes:
        gain: How much more the exploiter gets in a game than the policy gets against itself. An
            exploiter that remembers more may gain more: this is a lower bound of exploitability.
        first: Whether the exploiter cooperates in the first round.
        then: Whether it cooperates after both cooperated, after it was betrayed, after it betrayed
            the other, and after both defected.
    """

    gain: Interval
    first: bool
    then: tuple[bool, bool, bool, bool]


class MemoryOne(Agent):
    """Plays one strategy per environment of a batch; each strategy knows only the last round.

    Args:
        tables: Whether to cooperate at first, and after the four rounds of `Exploit.then`; shape
            (envs, 5).
    """

    def __init__(self, tables: NDArray[np.bool_]) -> None:
        super().__init__()
        self.tables = tables

    def act(self) -> Action:
        """Refuse.

        Raises:
            UnsupportedError: Always; it acts in batches only.
        """
        raise UnsupportedError("MemoryOne acts in batches only")

    def act_batch(self, batch: BatchPercept) -> NDArray[np.int64]:
        """Look up what to do after the last round."""
        last = remember(batch.vectors, np.zeros(len(batch.seeds), np.uint64))
        after = 1 + 2 * (~last.cooperated).astype(np.int64) + ~last.answered
        column = np.where(last.first, 0, after)
        return (~self.tables[np.arange(len(column)), column]).astype(np.int64)


def exploited(policy: str | Agent, *, episodes: int = 100, **config: Any) -> Exploit:
    """Return how the best strategy that knows only the last round exploits a policy.

    All 32 such strategies are tried; what the best of them gains is measured on other seeds.

    Args:
        policy: The policy in the first seat, by name or as an agent that acts in batches.
        episodes: Number of games for each strategy, and for the reported gain.
        config: Fields of the config of a two-player game.

    Raises:
        SuiteError: If it is not a two-player game.
    """
    every = np.array(list(itertools.product((True, False), repeat=5)))
    tables = np.repeat(every, episodes, axis=0)
    tried = _returns(policy, MemoryOne(tables), SEED, len(tables), config)
    best = every[tried.reshape(len(every), episodes).mean(axis=1).argmax()]
    seed = SEED + len(tables)
    against = MemoryOne(np.tile(best, (episodes, 1)))
    gains = _returns(policy, against, seed, episodes, config)
    gains = gains - _returns(policy, policy, seed, episodes, config)
    first, *then = best.tolist()
    return Exploit(mean_interval([gains.tolist()]), first, tuple(then))


def _returns(
    one: str | Agent, two: str | Agent, seed: int, episodes: int, config: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return what the second seat gets in each two-player game."""
    env = piase_gym.batch_env("SocialDilemma", num_envs=episodes, autoreset="disabled", **config)
    if env.world.config.is_commons or len(env.agents) != 2:
        raise SuiteError("exploitability is measured in matrix games of 2 agents")
    env.reset(seed=seed)
    seats, returns = [make_agent(one), make_agent(two)], np.zeros(episodes)
    while env.alive().any():
        returns += env.step(choices(env, seats))[1][:, 1]
    return returns


def in_commons(policy: str | Agent, task: str, *, episodes: int = 50) -> dict[str, Interval]:
    """Return the measures of a commons in which all agents play one policy, and the mean return."""
    found = commons_episodes(policy, task, episodes=episodes)
    return {name: mean_interval([values]) for name, values in found.items()}


def commons_episodes(
    policy: str | Agent, task: str, *, episodes: int = 50
) -> dict[str, list[float]]:
    """Return the measures of each episode of a commons in which all agents play one policy.

    Args:
        policy: Its name, or an agent that acts in batches.
        task: An id.
        episodes: Number of episodes, on seeds from `SEED` on.

    Raises:
        SuiteError: If the task is not a commons.
    """
    env = piase_gym.batch_env(task, num_envs=episodes, autoreset="disabled")
    config = env.world.config
    if not getattr(config, "is_commons", False):
        raise SuiteError(f"{task} is no commons; take harvest or cleanup")
    env.reset(seed=SEED)
    choose = _players(policy, env)
    returns = np.zeros((episodes, len(env.agents)))
    while env.alive().any():
        returns += env.step(choose())[1]
    rows = [_measures(config, state) for state in env.batch.states]
    found = {name: [row[name] for row in rows] for name in rows[0]}
    return {"return an agent": returns.mean(axis=1).tolist(), **found}


def _players(policy: str | Agent, env: BatchEnv) -> Callable[[], NDArray[np.int64]]:
    """Return a function that returns a policy's actions for every agent, shape (envs, agents)."""
    seats = [make_agent(policy) for _ in env.agents]
    if isinstance(policy, Agent) or seats[0].acts_in_batches:
        return lambda: choices(env, seats)
    players = [[make_agent(policy) for _ in env.agents] for _ in range(env.num_envs)]
    return lambda: np.stack([_choices_in(env, slot, row) for slot, row in enumerate(players)])


def _choices_in(env: BatchEnv, slot: int, agents: Sequence[Agent]) -> NDArray[np.int64]:
    """Return the actions of agents in one environment, shape (agents,)."""
    world, step, found = env.single(slot), int(env.batch.states["t"][slot]), []
    for place, agent in enumerate(agents):
        number = world.agents.index(env.agents[place])
        agent.perceive(Percept(world, number, step))
        found.append(decode_answer(world, number, agent.act()))
    return np.array(found, np.int64)


def _measures(config: Any, state: Any) -> dict[str, float]:
    """Return the measures of a commons that is over."""
    names = ("eaten", "cleaned", "zaps", "away", "when")
    totals = {name: state[name][: config.agents].tolist() for name in names}
    spots = sum(int(row).bit_count() for row in state["spots"])
    return commons_measures(config, int(state["t"]), spots, totals, 0)


def main() -> None:
    """Evaluate one policy and print the results."""
    parser = argparse.ArgumentParser(description="what a policy comes to in social dilemmas")
    parser.add_argument("policy", help="a policy's name, or sb3:PATH")
    parser.add_argument("--strategy", help="play a prisoner's dilemma of 10 rounds against this")
    parser.add_argument("--commons", help="play this commons with itself, such as Harvest-8p")
    parser.add_argument("--episodes", type=int, default=200)
    given, console = parser.parse_args(), Console()
    if given.strategy:
        share = against(given.policy, given.strategy, episodes=given.episodes)
        console.print(f"share of the best response to {given.strategy}: {share.words('.3f')}")
        found = exploited(given.policy, episodes=given.episodes, rounds=10)
        console.print(f"who knows only the last round gains against it: {found.gain.words('.3f')}")
    if given.commons:
        task = f"piase/SocialDilemma-{given.commons}-v1"
        for name, value in in_commons(given.policy, task, episodes=given.episodes).items():
            console.print(f"{name}: {value.words('.3f')}")


if __name__ == "__main__":
    main()
