"""The small parts of agents: what is drawn, remembered and asked, each for itself."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import piase_gym
from piase_gym.agents import NoopAgent, OracleAgent, RandomAgent, make_agent
from piase_gym.agents import policy_registry as registry
from piase_gym.agents.base import Agent, BatchPercept, Feedback, Percept, ask
from piase_gym.agents.human import HumanAgent
from piase_gym.agents.matrix_strategies import STRATEGIES, GenerousTitForTat, remember
from piase_gym.agents.population import PopulationAgent, make_population
from piase_gym.agents.q_learning import QLearningAgent
from piase_gym.agents.simple import draw_at, draw_from, draws_at, read_seed
from piase_gym.agents.space_data import (
    MAX_SYMBOLS,
    action_spaces,
    misfit,
    read_space,
    symbol_starts,
    write_space,
)
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.errors import (
    ConfigError,
    PolicyError,
    SnapshotError,
    UnknownNameError,
    UnsupportedError,
)
from tests import probes

probes.register()


def percept_of(world: str, **config: Any) -> Percept:
    """Return what the first agent perceives at the start of an episode."""
    env = piase_gym.parallel_env(world, **config)
    env.reset(seed=0)
    return Percept(env.world, 0, 0)


# -- draws and numbers of states -------------------------------------------------------------------


def test_draws_are_those_of_splitmix() -> None:
    """Sebastiano Vigna's splitmix64 from the seed 1234567, upper halves of its outputs."""
    outputs = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    seeds, steps = np.full(3, 1234567, np.uint64), np.arange(3)
    assert [draw_at(1234567, step) for step in range(3)] == [value >> 32 for value in outputs]
    assert draws_at(seeds, steps).tolist() == [value >> 32 for value in outputs]


def test_a_draw_chooses_by_cumulated_chances() -> None:
    chances = np.array([[1.0, 2.0, 1.0]] * 4 + [[0.0, 3.0, 0.0]])
    draws = np.array([0, 2**30, 2**31, 3 * 2**30, 0], np.uint64)
    assert draw_from(chances, draws).tolist() == [0, 1, 1, 2, 1]


def test_numbers_of_a_state_are_checked() -> None:
    assert read_seed({"seed": 2**64 - 1}) == 2**64 - 1
    assert read_seed({"n": 0}, "n", 3) == 0
    assert read_seed({"n": 3}, "n", 3) == 3
    for value in (4, -1, True, 1.0, None):
        with pytest.raises(SnapshotError, match=r"'n' is .*, not an integer from 0 to 3"):
            read_seed({"n": value}, "n", 3)


def test_random_agents_spread_over_what_is_legal() -> None:
    """A third of the draws each, where three actions are legal; points all over a box."""
    agent, percept = RandomAgent(), percept_of("PointProbe", agents=1)
    seen = []
    for step in range(300):
        percept.step = step
        agent.percept = percept
        seen.append(agent.act())
    assert sorted(set(seen)) == [0, 1, 2, 3, 4]
    assert max(seen.count(action) for action in range(5)) < 90
    world: Any = SimpleNamespace(
        capabilities=SimpleNamespace(discrete=False, continuous=True),
        action_box=spaces.Box(np.array([0.0, -4.0]), np.array([1.0, -2.0]), dtype=np.float64),
    )
    agent.percept = SimpleNamespace(step=0, world=world)  # type: ignore[assignment]
    points = []
    for step in range(200):
        percept_like = Percept.__new__(Percept)
        percept_like.world, percept_like.index, percept_like.step = world, 0, step
        agent.percept = percept_like
        points.append(agent.act())
    array = np.array(points)
    assert array.min(0) == pytest.approx([0, -4], abs=0.05)
    assert array.max(0) == pytest.approx([1, -2], abs=0.05)
    assert abs(np.corrcoef(array.T)[0, 1]) < 0.2
    agent.percept = None
    with pytest.raises(UnsupportedError, match="RandomAgent acts on a Percept"):
        agent.act()


def test_an_oracle_that_there_is_not() -> None:
    agent = OracleAgent()
    agent.percept = percept_of("PointProbe")
    with pytest.raises(UnsupportedError, match="PointProbe has no oracle"):
        agent.act()
    assert agent.internal_state() is None
    agent._player = SimpleNamespace(cut_short=True)
    assert agent.internal_state() == {"cut_short": True}


def batch(seeds: list[int], noop: int | None = None) -> BatchPercept:
    """Return what is perceived in some environments with two actions."""
    count = len(seeds)
    masks = np.ones((count, 2), np.int8)
    zeros = np.zeros(count, np.int64)
    return BatchPercept(np.zeros((count, 3)), masks, np.array(seeds, np.uint64), zeros, noop)


def test_doing_nothing_in_a_batch_needs_an_index() -> None:
    assert NoopAgent().act_batch(batch([1, 2], 4)).tolist() == [4, 4]
    with pytest.raises(UnsupportedError, match="does not tell which index does nothing"):
        NoopAgent().act_batch(batch([1]))


# -- strategies and populations --------------------------------------------------------------------


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


# -- policies by name ------------------------------------------------------------------------------


def test_policies_that_data_may_not_name() -> None:
    assert registry.names_file("sb3:x.zip")
    assert registry.names_file("population:noop, ppo:x.zip")
    assert not registry.names_file("sb3")
    assert not registry.names_file("population:noop,random")
    assert registry.why_untrusted("noop") is None
    assert str(registry.why_untrusted("ppo:x.zip")).startswith("load 'ppo:x.zip', for that may run")
    assert str(registry.why_untrusted("llm:m")).startswith("ask 'llm:m', for that costs and tells")


def test_policies_are_checked_without_being_made(tmp_path: Path) -> None:
    check = registry.check_policy
    assert check("noop") == "noop"
    assert check("sb3:none.zip") == "sb3:none.zip"
    with pytest.raises(PolicyError, match=r"there is no model 'none\.zip'"):
        check("sb3:none.zip", files=True)
    with pytest.raises(PolicyError, match=r"there is no model 'none\.zip'"):
        check("population:noop,sb3:none.zip", files=True)
    model = tmp_path / "model.zip"
    model.write_bytes(b"x")
    assert check(f"sb3:{model}", files=True)
    for wrong in ("sb3:", "nop", "sb4:x", "population:noop,nop"):
        with pytest.raises(UnknownNameError):
            check(wrong)
    assert registry.policy_name(NoopAgent()) == "noop"
    assert registry.policy_name(Noted("a")) is None
    assert make_agent(agent := NoopAgent()) is agent
    for unknown in (3, "nop"):
        with pytest.raises(UnknownNameError):
            make_agent(unknown)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="is not asked, for it is named in data of others"):
        make_agent("llm:m@http://127.0.0.1:1/v1", trusted=False)
    with pytest.raises(UnknownNameError, match="did you mean 'best_response:grudger'"):
        check("best_response:grudge")


# -- spaces as data --------------------------------------------------------------------------------


def test_spaces_are_written_and_read() -> None:
    box = spaces.Box(np.array([[0, 1]], np.int16), np.array([[5, 9]], np.int16), dtype=np.int16)
    assert write_space(box) == {
        "dtype": "int16",
        "shape": [1, 2],
        "low": [[0, 1]],
        "high": [[5, 9]],
    }
    for space in (box, spaces.Discrete(7)):
        assert read_space(json.loads(json.dumps(write_space(space)))) == space
    assert action_spaces(percept_of("PointProbe").world) == [
        spaces.Discrete(5),
        spaces.Box(-1.0, 1.0, (2,), np.float32),
    ]
    assert action_spaces(percept_of("GridWorld").world) == [spaces.Discrete(6)]
    told = str(misfit("it", spaces.Discrete(2), spaces.Discrete(3), "that"))
    assert told == (
        "it was trained for observations Discrete(2) and actions Discrete(3), not for that"
    )


def test_symbols_are_counted_on() -> None:
    """Places with two, three and one values begin at 0, 2 and 5; there are six symbols."""
    assert symbol_starts([[1, 2, 0]]).tolist() == [0, 2, 5, 6]
    assert symbol_starts([MAX_SYMBOLS - 1])[-1] == MAX_SYMBOLS
    with pytest.raises(ConfigError, match="with 262,145 different values are no symbols"):
        symbol_starts([MAX_SYMBOLS])


# -- Q-learning ------------------------------------------------------------------------------------


def q_percept() -> tuple[QLearningAgent, Percept]:
    """Return an agent that sees one state, and what it perceives."""
    agent = QLearningAgent(see=lambda percept: str(percept.step), exploration=0.0)
    agent.reset(0)
    return agent, percept_of("GridWorld")


def feedback(reward: float, terminated: bool = False, truncated: bool = False) -> Feedback:
    return Feedback(reward, terminated, truncated, Outcome.OK)


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


# -- characters ------------------------------------------------------------------------------------


def test_a_character_walks_around_others_to_where_it_is_to_be() -> None:
    from piase_gym.agents.character import _fits, _GridPlace

    assert _fits("Bread", "I have BREAD here")
    assert not _fits("bread", "cake")
    assert _fits(3, 3)
    assert not _fits(3, "3")
    env = piase_gym.parallel_env(
        "GridWorld", agents=2, width=5, height=4, start_pos=[(0, 0), (1, 0)], goal_pos=(4, 3)
    )
    env.reset(seed=0)
    place = _GridPlace(env.world, 0)
    assert place.here == (0, 0)
    assert place.near() == ["agent_1"]
    assert place.towards((0, 0)) == env.world.noop
    assert place.towards((3, 0)) == Command("move", {"direction": "down"})
    assert place.towards((1, 0)) == env.world.noop  # somebody stands there
    assert place.towards((9, 9)) == env.world.noop


# -- people ----------------------------------------------------------------------------------------


def test_a_person_is_told_what_a_command_does() -> None:
    import io

    lines, out = iter(["?", "fly", ""]), io.StringIO()
    agent = HumanAgent("agent_0", read=lambda prompt: next(lines), out=out)
    agent.reset(0)
    agent.percept = percept_of("GridWorld", start_pos=(0, 0), goal_pos=(1, 1))
    assert agent.act() == agent.percept.world.noop
    said = out.getvalue()
    assert said.startswith("Type commands for agent_0; ? tells the rules.\n\n")
    assert "Possible now: " in said
    out.truncate(0)
    out.seek(0)
    agent.learn(Feedback(0.5, False, False, Outcome.OK))
    assert out.getvalue() == "(ok, reward 0.5)\n"
    lines = iter([""])
    agent._read = lambda prompt: next(lines)
    agent.act()
    assert "Type commands" not in out.getvalue()
    agent.reset(1)
    lines = iter([""])
    agent.act()
    assert "Type commands" in out.getvalue()
    agent.percept = None
    with pytest.raises(UnsupportedError, match="a person acts on a Percept"):
        agent.act()


def test_only_so_many_commands_are_listed_for_a_person() -> None:
    agent = HumanAgent()
    words = [Command("say", {"word": f"w{number}"}) for number in range(26)]
    percept: Any = SimpleNamespace(
        commands=words,
        world=SimpleNamespace(write=lambda c: f"{c.parameters['word']} {'x' * (1 + len(c.verb))}"),
    )
    told = agent._possible(percept)
    assert told.count(";") == 23
    assert told.endswith(" and 2 more")
    percept.commands = words[:24]
    assert "more" not in agent._possible(percept)
