"""A learner that is made up: as good as it is told to be, and better with each episode."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import piase_gym
from piase_gym import curricula
from piase_gym.agents import OracleAgent
from piase_gym.agents.base import Percept
from piase_gym.curricula.simulated_learner import SkilledLearner, simulate
from piase_gym.errors import ConfigError


@pytest.mark.parametrize("skill", [0.0, 1.0])
def test_it_does_what_the_oracle_does_or_something_legal(skill: float) -> None:
    env = piase_gym.parallel_env("piase/GridWorld-FourRooms-8x8-v1")
    env.reset(seed=3)
    learner = SkilledLearner(skill)
    learner.reset(0)
    guide = OracleAgent()
    guide.reset(0)
    acts, wise = [], []
    while env.agents:
        percept = Percept(env.world, 0, 0)
        learner.perceive(percept)
        guide.perceive(percept)
        wise.append(guide.act())
        acts.append(learner.act())
        env.step({"agent_0": acts[-1]})
    assert (acts == wise) == (skill == 1.0)


def test_it_improves_by_a_share_of_what_is_missing() -> None:
    learner = SkilledLearner(0.2, learning=0.25)
    learner.improve()
    assert learner.skill == pytest.approx(0.4)
    learner.improve()
    assert learner.skill == pytest.approx(0.55)
    assert inspect.signature(SkilledLearner).parameters["learning"].default == 0.0
    fixed = SkilledLearner(0.2)
    fixed.improve()
    assert fixed.skill == 0.2


@pytest.mark.parametrize("wrong", [-0.1, 1.1, True])
def test_shares_are_from_0_to_1(wrong: float) -> None:
    with pytest.raises(ConfigError, match="skill is a number from 0 to 1"):
        SkilledLearner(wrong)
    with pytest.raises(ConfigError, match="learning is a number from 0 to 1"):
        SkilledLearner(0.5, wrong)


@pytest.mark.parametrize("most", [0, True, 1.5, "9"])
def test_how_many_episodes_is_a_whole_number(most: Any) -> None:
    with pytest.raises(ConfigError, match="the number of episodes is 1 or more, not"):
        simulate(curricula.load("door_key"), 0.5, most=most)
