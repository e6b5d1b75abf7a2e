"""Strategies of matrix games and populations, each asked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.agents import NoopAgent, RandomAgent, make_agent
from piase_gym.agents.base import Agent, Feedback, ask
from piase_gym.agents.matrix_strategies import STRATEGIES, GenerousTitForTat, remember
from piase_gym.agents.population import PopulationAgent, make_population
from piase_gym.agents.simple import draw_at
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.errors import (
    ConfigError,
    SnapshotError,
    UnsupportedError,
)
from tests import probes
from tests.helpers.percepts import batch, percept_of

probes.register()


def vector(played: int, given: int, own: int, others: int, agents: int = 2) -> Any:
    """Return what a matrix game shows of its past."""
    row = np.zeros(13, np.float32)
    row[[1, 6, 10, 11, 12]] = agents, played, given, own, others
    return row


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("always_cooperate", [0, 0, 0, 0, 0, 0]),
        ("always_defect", [1, 1, 1, 1, 1, 1]),
        ("tit_for_tat", [0, 0, 1, 0, 1, 0]),
        ("grudger", [0, 0, 1, 1, 1, 0]),
        ("pavlov", [0, 0, 1, 1, 0, 0]),
    ],
)
def test_strategies_answer_the_last_round(name: str, expected: list[int]) -> None:
    rows = [
        vector(0, 0, 0, 0),  # the first round
        vector(1, 1, 1, 1),  # both cooperated
        vector(2, 1, 1, 0),  # exploited
        vector(2, 1, 0, 1),  # one exploited the other, who had defected before
        vector(2, 0, 0, 0),  # both defected
        vector(3, 6, 1, 2, agents=3),  # all three have always cooperated
    ]
    memory = remember(np.array(rows), np.zeros(len(rows), np.uint64))
    agent = STRATEGIES[name]()
    assert (~agent.cooperates(memory)).astype(int).tolist() == expected


def test_half_of_the_others_are_enough() -> None:
    rows = np.array([vector(3, 3, 1, others, agents=5) for others in range(5)])
    memory = remember(rows, np.arange(5, dtype=np.uint64) << np.uint64(30))
    assert memory.answered.tolist() == [False, False, True, True, True]
    assert memory.draws.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    with pytest.raises(UnsupportedError, match="matrix games only"):
        remember(rows[:, :12], np.zeros(5, np.uint64))
    with pytest.raises(UnsupportedError, match="matrix games only"):
        remember(rows.astype(np.float64), np.zeros(5, np.uint64))


def test_generosity_is_a_chance() -> None:
    agent = GenerousTitForTat()
    assert agent.forgiveness == pytest.approx(1 / 3)
    draws = np.array([0, 2**30, 2**31], np.uint64)  # 0, a quarter, a half
    memory = remember(np.array([vector(2, 1, 1, 0)] * 3), draws)
    assert agent.cooperates(memory).tolist() == [True, True, False]
    agent.configure({"forgiveness": 0.25, "other": 1})
    assert agent.cooperates(memory).tolist() == [True, False, False]
    agent.configure({})
    assert agent.forgiveness == 0.25
    agent.configure({"forgiveness": 1})
    agent.configure({"forgiveness": 0})
    for wrong in (-0.1, 1.1, "x"):
        with pytest.raises(ConfigError, match="forgiveness is a number from 0 to 1"):
            agent.configure({"forgiveness": wrong})


class Noted(Agent):
    """Notes what it is asked."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.calls = name, list[Any]()

    def reset(self, seed: int) -> None:
        self.calls.append(("reset", seed))

    def perceive(self, percept: Any) -> None:
        self.calls.append(("perceive", percept))

    def begin_act(self) -> None:
        self.calls.append("begin")

    def act(self) -> Any:
        self.calls.append("act")
        return self.name

    def follow_act(self, act: Any) -> None:
        self.calls.append(("follow", act))

    def learn(self, feedback: Feedback) -> None:
        self.calls.append(("learn", feedback))

    def configure(self, config: Any) -> None:
        self.calls.append(("configure", config))

    def outgoing_letters(self) -> Any:
        return (self.name,)

    def spoken(self) -> Any:
        return (("bob", self.name),)

    def log_entries(self) -> Any:
        return ((self.name, {}),)

    def get_state(self) -> Any:
        return {"name": self.name}

    def set_state(self, state: Any) -> None:
        self.calls.append(("state", state))


def test_who_plays_in_a_population_is_asked_everything() -> None:
    members = [Noted("a"), Noted("b")]
    population = PopulationAgent(members)
    seed = next(seed for seed in range(50) if draw_at(seed, -1) >= 2**31)
    population.reset(seed)
    assert population.member == 1
    population.perceive("x")
    assert str(population.percept) == "x"
    population.begin_act()
    assert population.act() == "b"
    population.follow_act(3)
    feedback = Feedback(1.0, False, False, Outcome.OK)
    population.learn(feedback)
    done = [("reset", seed), ("perceive", "x"), "begin", "act", ("follow", 3), ("learn", feedback)]
    assert members[1].calls == done
    assert members[0].calls == []
    assert population.outgoing_letters() == ("b",)
    assert population.spoken() == (("bob", "b"),)
    assert population.log_entries() == (("b", {}),)
    population.configure({"k": 1})
    assert [member.calls[-1] for member in members] == [("configure", {"k": 1})] * 2
    population.set_id("ann")
    assert [one.get_id() for one in (population, *members)] == ["ann"] * 3
    state = population.get_state()
    assert state == {"member": 1, "states": [{"name": "a"}, {"name": "b"}]}
    population.set_state({"member": 0, "states": [1, 2]})
    assert population.member == 0
    assert [member.calls[-1] for member in members] == [("state", 1), ("state", 2)]
    with pytest.raises(SnapshotError):
        population.set_state({"member": 2, "states": [1, 2]})
    assert not population.acts_in_batches
    assert not population.waits
    members[0].waits = True
    assert PopulationAgent(members).waits


def test_populations_are_named_by_their_members() -> None:
    made = make_population(" noop, random ,noop", make_agent)
    assert [type(member) for member in made.members] == [NoopAgent, RandomAgent, NoopAgent]
    with pytest.raises(ConfigError, match="a population is named by its policies"):
        make_population("noop,,random", make_agent)
    with pytest.raises(ConfigError, match="a population is no member of a population"):
        make_population("noop,population:noop", make_agent)


def test_several_agents_begin_before_any_is_waited_for() -> None:
    order: list[str] = []

    class Waits(Noted):
        def begin_act(self) -> None:
            order.append(f"begin {self.name}")

        def act(self) -> Any:
            order.append(f"act {self.name}")
            return self.name

    assert ask([Waits("a"), Waits("b")]) == ["a", "b"]
    assert order == ["begin a", "begin b", "act a", "act b"]
    order.clear()
    assert ask([Waits("a")]) == ["a"]
    assert order == ["act a"]


def test_an_agent_does_nothing_that_it_was_not_written_for() -> None:
    class Least(Agent):
        def act(self) -> Any:
            return 7

    agent = Least("ann")
    assert (agent.get_id(), agent.get_chosen_action(), agent.acts_in_batches) == ("ann", 7, False)
    assert (agent.waits, agent.of_scenario) == (False, False)
    agent.receive_perception("p")
    assert str(agent.percept) == "p"
    assert (agent.internal_state(), agent.policy_id()) == (None, None)
    assert (agent.outgoing_letters(), agent.spoken(), agent.log_entries()) == ((), (), ())
    assert agent.get_state() == {}
    with pytest.raises(UnsupportedError, match="Least cannot act in a batch"):
        agent.act_batch(batch([1]))


def test_a_percept_offers_its_parts() -> None:
    percept = percept_of("TextProbe", agents=2)
    assert percept.can_tell
    assert percept.world.mailboxes is not None
    assert percept.longest_letter == percept.world.mailboxes.rules.max_length
    assert percept.memories is None
    assert percept.reads("look")
    assert not percept.reads("xyzzy")
    assert not percept.legal("xyzzy")
    assert not percept.legal("take jewel")
    assert percept.reads("take key")
    assert percept.legal("wait")
    point = percept_of("PointProbe", agents=1)
    assert not point.can_tell
    assert point.longest_letter == 0
    assert isinstance(point.read(Command("fly")), InvalidAction)
    assert point.read(Command("coast")) == Command("coast")
