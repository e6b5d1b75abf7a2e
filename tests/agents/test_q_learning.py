"""Q-learning agents learn the values that the update rule gives."""

from __future__ import annotations

import pytest

from piase_gym.agents.base import Feedback, Percept
from piase_gym.agents.q_learning import QLearningAgent
from piase_gym.core.commands import Outcome
from piase_gym.errors import (
    UnsupportedError,
)
from tests import probes
from tests.helpers.percepts import batch, feedback, percept_of

probes.register()


def q_percept() -> tuple[QLearningAgent, Percept]:
    """Return an agent that sees one state, and what it perceives."""
    agent = QLearningAgent(see=lambda percept: str(percept.step), exploration=0.0)
    agent.reset(0)
    return agent, percept_of("GridWorld")


def test_what_was_not_seen_teaches_nothing() -> None:
    agent, percept = q_percept()
    agent.perceive(percept)
    action = agent.act()
    agent.learn(feedback(8.0, truncated=True))
    assert agent.table == {}
    agent.perceive(percept)
    assert agent.table == {}
    action = agent.act()
    agent.learn(feedback(8.0, terminated=True))
    assert agent.table == {"0": {action: 4.0}}
    percept.step = 1
    agent.perceive(percept)
    assert agent.table == {"0": {action: 4.0}}


def test_a_late_answer_teaches_nothing() -> None:
    agent, percept = q_percept()
    agent.perceive(percept)
    action = agent.act()
    agent.learn(feedback(2.0))
    agent.learn(Feedback(9.0, False, False, Outcome.TIMEOUT))
    percept.step = 1
    agent.perceive(percept)
    assert agent.table == {}
    agent.act()
    agent.reset(1)
    assert (agent._last, agent._reward, agent.episodes) == (None, None, 2)
    assert isinstance(action, int)


def test_a_value_that_was_learnt_is_used_once() -> None:
    agent, percept = q_percept()
    agent.perceive(percept)
    action = agent.act()
    agent.learn(feedback(2.0))
    percept.step = 1
    agent.perceive(percept)
    assert agent.table == {"0": {action: 1.0}}
    agent.perceive(percept)
    assert agent.table == {"0": {action: 1.0}}


def test_exploration_decays_to_its_least() -> None:
    agent = QLearningAgent(exploration=0.8, exploration_decay=0.5, least_exploration=0.15)
    seen = []
    for seed in range(5):
        seen.append(agent.exploration)
        agent.reset(seed)
    assert seen == [0.8, 0.8, 0.4, 0.2, 0.15]
    assert QLearningAgent(learning=False).exploration == 0.0
    with pytest.raises(UnsupportedError, match="call perceive first"):
        agent.act()
    with pytest.raises(UnsupportedError, match="in a batch, Q-learning knows states by"):
        QLearningAgent(see=lambda percept: "").act_batch(batch([1]))
