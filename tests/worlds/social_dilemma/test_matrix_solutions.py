"""Equilibria, optima and best responses of matrix games: closed forms and brute force."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.agents.matrix_strategies import STRATEGIES
from piase_gym.core.rng import Stream
from piase_gym.errors import ConfigError, UnknownNameError, UnsupportedError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.outcomes import social_optimum, totals
from piase_gym.worlds.social_dilemma.matrix.solutions import (
    AUTOMATA,
    automaton,
    best_response,
    expected_returns,
    exploitability,
    memory_one,
    nash_equilibria,
    symmetric_equilibria,
)
from piase_gym.worlds.social_dilemma.metrics import equality, gini

SAFE = [name for name in sorted(STRATEGIES) if name != "generous_tit_for_tat"]
"""Strategies without dice."""


def config_of(**fields: Any) -> SocialDilemmaConfig:
    """Return a config."""
    return SocialDilemmaConfig(**fields)


@pytest.mark.parametrize(
    ("game", "found"),
    [
        ("prisoners_dilemma", [(0, 0)]),
        ("stag_hunt", [(1, 1), (0, 0), (0.5, 0.5)]),
        ("chicken", [(1, 0), (0, 1), (0.5, 0.5)]),
        ("battle_of_the_sexes", [(1, 1), (0, 0), (3 / 5, 2 / 5)]),
        ("matching_pennies", [(0.5, 0.5)]),
    ],
)
def test_equilibria_are_those_of_the_textbooks(game: str, found: Any) -> None:
    equilibria = nash_equilibria(config_of(game=game))
    assert np.array(equilibria) == pytest.approx(np.array(found, float))


def test_nobody_gains_by_leaving_an_equilibrium() -> None:
    dice = Stream(4)
    mixed = 0
    for _ in range(300):
        table = [[[dice.integer(9) for _ in "ab"] for _ in "ab"] for _ in "ab"]
        config = config_of(payoffs=table)
        found = nash_equilibria(config)
        array = np.array(table, float)
        for p, q in found:
            row, column = np.array([p, 1 - p]), np.array([q, 1 - q])
            mine, theirs = array[..., 0] @ column, row @ array[..., 1]
            assert row @ mine == pytest.approx(mine.max())
            assert theirs @ column == pytest.approx(theirs.max())
        mixed += any(0 < p < 1 and 0 < q < 1 for p, q in found)
    assert mixed > 20


@pytest.mark.parametrize("chance", [k / 20 for k in range(1, 20)])
def test_an_equilibrium_that_the_gain_only_touches_is_listed_once(chance: float) -> None:
    """Of three, cooperating gains (p - chance)², written in the Bernstein basis."""
    gain = [chance**2, chance**2 - chance, (1.0 - chance) ** 2]
    config = config_of(game="public_goods", agents=3, payoffs=[gain, [0.0, 0.0, 0.0]])
    assert symmetric_equilibria(config) == pytest.approx([chance, 1.0], abs=1e-6)


@pytest.mark.parametrize("agents", [2, 3, 6])
def test_volunteers_mix_as_diekmann_computed(agents: int) -> None:
    config = config_of(game="volunteers_dilemma", agents=agents, benefit=5.0, cost=2.0)
    wanted = 1.0 - (2.0 / 5.0) ** (1.0 / (agents - 1))
    assert symmetric_equilibria(config) == pytest.approx([wanted])
    assert symmetric_equilibria(config_of(game="public_goods", agents=agents, multiplier=1.5)) == [
        0.0
    ]
    with pytest.raises(ConfigError, match="alike"):
        symmetric_equilibria(config_of(game="battle_of_the_sexes"))


def test_social_optima() -> None:
    best, ways = social_optimum(config_of())
    assert (best, ways) == (6.0, [frozenset({0, 1})])
    best, ways = social_optimum(config_of(game="chicken", payoffs=[[3, 1], [6, 0]]))
    assert (best, set(ways)) == (7.0, {frozenset({0}), frozenset({1})})
    assert totals(config_of(game="public_goods", agents=5, multiplier=2.0)) == (0.0, 5.0)
    assert totals(config_of(game="volunteers_dilemma", agents=3)) == (0.0, 5.0)
    assert totals(config_of(game="battle_of_the_sexes")) == (0.0, 5.0)
    assert totals(config_of(game="matching_pennies")) == (0.0, 0.0)
    assert social_optimum(config_of(game="volunteers_dilemma", agents=3))[1] == [frozenset({0})]


def brute_force(config: SocialDilemmaConfig, strategy: str, seat: int) -> float:
    """Try every sequence of choices against an agent, each in an environment of its own."""
    plans = np.array(list(itertools.product((0, 1), repeat=config.length)))
    other = f"agent_{1 - seat}"
    env = piase_gym.batch_env(config, num_envs=len(plans), partners={other: strategy})
    env.reset(seed=0)
    returns = sum(env.step(plans[:, t : t + 1])[1][:, 0] for t in range(config.length))
    assert isinstance(returns, np.ndarray)
    return float(returns.max())


@pytest.mark.parametrize("strategy", SAFE)
@pytest.mark.parametrize("game", ["prisoners_dilemma", "chicken", "battle_of_the_sexes"])
def test_best_responses_are_those_of_brute_force(game: str, strategy: str) -> None:
    config = config_of(game=game, rounds=7)
    for seat in (0, 1):
        found = best_response(config, strategy, seat).value
        assert found == pytest.approx(brute_force(config, strategy, seat))


def play(one: Any, two: Any, env: Any, seed: int) -> list[float]:
    """Return the returns of two agents."""
    agents, returns = [make_agent(one), make_agent(two)], [0.0, 0.0]
    env.reset(seed=seed)
    for number, agent in enumerate(agents):
        agent.reset(1000 * seed + number)
    step = 0
    while env.agents:
        for number, agent in enumerate(agents):
            agent.perceive(Percept(env.world, number, step))
        rewards = env.step({f"agent_{n}": agent.act() for n, agent in enumerate(agents)})[1]
        returns = [total + rewards[f"agent_{n}"] for n, total in enumerate(returns)]
        step += 1
    return returns


@pytest.mark.parametrize("one", SAFE)
@pytest.mark.parametrize("two", SAFE)
def test_agents_and_automata_play_alike(one: str, two: str) -> None:
    env = piase_gym.parallel_env("SocialDilemma", game="chicken", rounds=9, view="vector")
    assert play(one, two, env, 3) == pytest.approx(expected_returns(env.config, one, two))


@pytest.mark.parametrize("strategy", sorted(AUTOMATA))
def test_the_best_responder_gets_what_was_computed(strategy: str) -> None:
    env = piase_gym.parallel_env("SocialDilemma", rounds=8, noise=0.1, view="vector")
    value = best_response(env.config, strategy).value
    returns = [play(f"best_response:{strategy}", strategy, env, s)[0] for s in range(400)]
    error = np.std(returns) / np.sqrt(len(returns))
    assert np.mean(returns) == pytest.approx(value, abs=4 * error + 1e-9)


def test_against_tit_for_tat_one_cooperates_but_in_the_last_round() -> None:
    found = best_response(config_of(rounds=10), "tit_for_tat")
    assert found.value == 9 * 3 + 5
    assert found.choices[1:, 0].tolist() == [1] + [0] * 9
    for_ever = best_response(config_of(continuation=0.9), "tit_for_tat")
    assert for_ever.value == pytest.approx(30.0)
    assert for_ever.choices.tolist() == [[0, 0]]
    hasty = best_response(config_of(continuation=0.1), "tit_for_tat")
    assert hasty.value == pytest.approx(5.0 + 1.0 * 0.1 / 0.9)


def test_exploitability() -> None:
    endless = config_of(continuation=0.9)
    assert exploitability(endless, "tit_for_tat") == pytest.approx({0: 0.0, 1: 0.0}, abs=1e-6)
    assert exploitability(endless, "always_defect") == pytest.approx({0: 0.0, 1: 0.0}, abs=1e-6)
    assert exploitability(endless, "always_cooperate")[0] == pytest.approx(20.0)
    fair = memory_one(0.5, 0.5, 0.5, 0.5, 0.5)
    pennies = config_of(game="matching_pennies", rounds=6)
    assert exploitability(pennies, fair) == pytest.approx({0: 0.0, 1: 0.0})


def test_batches_of_partners_choose_like_single_ones() -> None:
    for name in STRATEGIES:
        count, rounds = 6, 12
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batch = piase_gym.batch_env(
                "SocialDilemma",
                game="public_goods",
                agents=4,
                rounds=rounds,
                noise=0.2,
                num_envs=count,
                partners={"agent_2": name},
            )
        batch.reset(seed=2)
        dice = np.random.default_rng(0)
        acts = dice.integers(0, 2, (rounds, count, 3))
        seen = [batch.step(acts[t])[1] for t in range(rounds)]
        for slot in range(count):
            env = gym_like(name, rounds)
            env.reset(seed=2 + slot)
            for t in range(rounds):
                choices = dict(zip(("agent_0", "agent_1", "agent_3"), acts[t, slot], strict=True))
                rewards = env.step({a: int(c) for a, c in choices.items()})[1]
                assert list(rewards.values()) == pytest.approx(seen[t][slot].tolist())


def gym_like(name: str, rounds: int) -> Any:
    """Return a single environment with the partner."""
    return piase_gym.parallel_env(
        "SocialDilemma",
        game="public_goods",
        agents=4,
        rounds=rounds,
        noise=0.2,
        view="vector",
        partners={"agent_2": name},
    )


def test_strategies_are_for_matrix_games() -> None:
    env = piase_gym.parallel_env("GridWorld", agents=2, view="vector")
    env.reset(seed=0)
    agent = make_agent("pavlov")
    agent.perceive(Percept(env.world, 0, 0))
    with pytest.raises(UnsupportedError, match="matrix games"):
        agent.act()
    env = piase_gym.parallel_env("SocialDilemma", coin=True)
    env.reset(seed=0)
    agent = make_agent("best_response:tit_for_tat")
    agent.perceive(Percept(env.world, 1, 0))
    with pytest.raises(UnsupportedError, match="without a coin"):
        agent.act()
    for computed in (nash_equilibria, symmetric_equilibria):
        with pytest.raises(ConfigError, match="without a coin"):
            computed(env.config)
    with pytest.raises(UnknownNameError, match="did you mean 'tit_for_tat'"):
        automaton("tit_for_tats")
    with pytest.raises(UnknownNameError, match="best_response:"):
        make_agent("best_response:nobody")
    with pytest.raises(ConfigError, match="forgiveness"):
        make_agent("generous_tit_for_tat").configure({"forgiveness": 2})


def test_gini() -> None:
    assert gini([1, 1, 1]) == 0.0
    assert gini([0, 0, 0]) == 0.0
    assert gini([0, 0, 3]) == pytest.approx(2 / 3)
    dice = np.random.default_rng(1)
    for _ in range(50):
        shares = dice.random(5)
        pairs = sum(abs(a - b) for a in shares for b in shares)
        assert gini(shares) == pytest.approx(pairs / (2 * 5 * shares.sum()))
    assert equality([-1.0, 1.0], least=-1.0) == pytest.approx(0.5)


def test_equality_is_of_what_is_above_the_least() -> None:
    env = piase_gym.parallel_env("SocialDilemma", view="vector", game="public_goods", rounds=1)
    env.reset(seed=0)
    env.step(dict(zip(env.agents, (0, 0, 1, 1), strict=True)))
    found = env.world.measure(0)  # 0, 0, 1 and 1 are 0.5, 0.5, 1.5 and 1.5 above the least
    assert found == pytest.approx({"cooperation_rate": 1.0, "efficiency": 0.5, "equality": 0.75})
