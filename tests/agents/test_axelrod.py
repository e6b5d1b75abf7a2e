"""Our strategies beside those of the package Axelrod, and our equilibria beside nashpy's."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix.solutions import AUTOMATA, nash_equilibria, tournament

NEED = "make test-originals"
THEIRS = {
    "always_cooperate": "Cooperator",
    "always_defect": "Defector",
    "generous_tit_for_tat": "GTFT",
    "grudger": "Grudger",
    "pavlov": "WinStayLoseShift",
    "random": "Random",
    "tit_for_tat": "TitForTat",
}
DICE = ("generous_tit_for_tat", "random")
axelrod = pytest.mark.skipif(find_spec("axelrod") is None, reason=f"needs Axelrod: {NEED}")


def test_every_strategy_has_its_like() -> None:
    assert set(THEIRS) == set(AUTOMATA)


@axelrod
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_ours_and_theirs_choose_alike(noise: float) -> None:
    env = piase_gym.parallel_env("SocialDilemma", rounds=40, noise=noise, view="vector")
    for seed, (one, two) in enumerate(itertools.product(THEIRS, repeat=2)):
        env.reset(seed=seed)
        compare(env, one, two)


def compare(env: Any, one: str, two: str) -> None:
    """Play a game by our strategies, of which theirs are shown every round."""
    import axelrod

    ours = [make_agent(one), make_agent(two)]
    theirs = [getattr(axelrod, THEIRS[name])() for name in (one, two)]
    moves = {True: axelrod.Action.C, False: axelrod.Action.D}
    for number, (agent, player) in enumerate(zip(ours, theirs, strict=True)):
        agent.reset(number)
        player.set_seed(number)
    for step in range(40):
        acts: dict[str, Any] = {}
        for number, agent in enumerate(ours):
            agent.perceive(Percept(env.world, number, step))
            act = acts[f"agent_{number}"] = agent.act()
            wanted = theirs[number].strategy(theirs[1 - number])
            assert (one, two)[number] in DICE or wanted == moves[act == 0]
        rewards = list(env.step(acts)[1].values())
        played = [moves[bool(past & np.uint64(1))] for past in env.world.states["past"][0][:2]]
        assert rewards == list(axelrod.Game().score(tuple(played)))
        for number, player in enumerate(theirs):
            player.history.append(played[number], played[1 - number])
    counted = [player.cooperations / 40 for player in theirs]
    assert [env.world.measure(number)["cooperation_rate"] for number in (0, 1)] == counted


@axelrod
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_tournaments_come_to_the_same(noise: float) -> None:
    """Theirs is played 300 times, ours computed."""
    import axelrod

    expected = tournament(SocialDilemmaConfig(rounds=20, noise=noise), list(THEIRS))
    for (i, one), (j, two) in itertools.combinations_with_replacement(
        enumerate(THEIRS.values()), 2
    ):
        pair = getattr(axelrod, one)(), getattr(axelrod, two)()
        scores = []
        for seed in range(1, 301):
            match = axelrod.Match(pair, turns=20, noise=noise, seed=seed)
            match.play()
            scores.append(match.final_score())
        error = np.std(scores, axis=0) / np.sqrt(300)
        found = np.mean(scores, axis=0)
        assert (abs(found - (expected[i, j], expected[j, i])) <= 4.5 * error + 1e-9).all()


@pytest.mark.skipif(find_spec("nashpy") is None, reason=f"needs nashpy: {NEED}")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # nashpy warns of degenerate games
def test_equilibria_are_those_that_nashpy_finds() -> None:
    import nashpy

    dice = np.random.default_rng(0)
    small = dice.integers(0, 4, (300, 2, 2, 2)).astype(float)  # many of them are degenerate
    for table in (*dice.normal(size=(300, 2, 2, 2)), *small):
        game = nashpy.Game(table[..., 0], table[..., 1])
        theirs = {(row[0], column[0]) for row, column in game.support_enumeration()}
        ours = sorted(nash_equilibria(SocialDilemmaConfig(payoffs=table.tolist())))
        assert np.allclose(ours, sorted(theirs)), table
