"""Who plays whom: partners and seats."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import piase_gym
from piase_gym.agents import NoopAgent, QLearningAgent
from piase_gym.agents.base import Agent
from piase_gym.core.events import Events
from piase_gym.core.rng import partner_seed
from piase_gym.envs.arguments import partners_around, resolve
from piase_gym.envs.partners import agent_number, assign_partners, post_asides, read_partners
from piase_gym.errors import (
    AgentError,
    ConfigError,
    ScenarioError,
    SnapshotError,
)
from tests import probes

probes.register()


NAMES = ("ann", "bob", "cat")


def test_agents_have_numbers() -> None:
    assert agent_number(NAMES, "bob") == 1
    for wrong in ("eve", 1, None):
        with pytest.raises(AgentError, match="agents are ann, bob, cat"):
            agent_number(NAMES, wrong)


def test_partners_are_named_one_by_one_or_all_at_once() -> None:
    assert read_partners(None) == {}
    assert read_partners("noop") == {"*": "noop"}
    agent = NoopAgent()
    assert read_partners(agent) == {"*": agent}
    assert read_partners({"ann": "noop"}) == {"ann": "noop"}
    with pytest.raises(ConfigError, match=r"partners are a policy, or a mapping .*, not list"):
        read_partners(["noop"])  # type: ignore[arg-type]
    world: Any = SimpleNamespace(agents=NAMES)
    seats = assign_partners(world, {"bob": "noop", "cat": agent})
    assert (set(seats), seats[1].get_id(), seats[2]) == ({1, 2}, "bob", agent)
    with pytest.raises(AgentError, match=r"such as partners=\{'cat': 'noop'\}"):
        assign_partners(world, "noop")
    with pytest.raises(AgentError, match="every agent is played by a partner"):
        assign_partners(world, dict.fromkeys(NAMES, "noop"))


def test_who_is_not_named_has_the_usual_partner() -> None:
    task: Any = SimpleNamespace(partners={"*": "noop", "cat": "oracle"})
    assert partners_around(NAMES, None, None, "ann") == {"bob": "random", "cat": "random"}
    assert partners_around(NAMES, task, None, "ann") == {"bob": "noop", "cat": "oracle"}
    found = partners_around(NAMES, task, {"*": "scripted"}, "cat")
    assert found == {"ann": "scripted", "bob": "scripted"}
    assert partners_around(NAMES, task, {"cat": "random"}, "bob")["cat"] == "random"
    with pytest.raises(AgentError, match="'ann' is the learner; partners play the other agents"):
        partners_around(NAMES, task, {"ann": "noop"}, "ann")
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        partners_around(NAMES, None, NoopAgent(), "ann")
    agent = NoopAgent()
    with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
        partners_around(NAMES, None, {"bob": agent, "cat": agent}, "ann")
    for kind in (piase_gym.parallel_env, functools.partial(piase_gym.batch_env, num_envs=2)):
        with pytest.raises(ConfigError, match="one agent object cannot play several seats"):
            kind("GridWorld", agents=3, partners={"agent_1": agent, "agent_2": agent})
    assert partners_around(NAMES[:2], None, agent, "ann") == {"bob": agent}


class Speaks(Agent):
    """Tells others everything at once."""

    def act(self) -> Any:
        return None

    def log_entries(self) -> Any:
        return [("THOUGHT", {"x": 1})]

    def spoken(self) -> Any:
        return [("agent_1", "hello")]

    def outgoing_letters(self) -> Any:
        return ["a letter", "  "]


def test_what_is_told_beside_an_action_is_heard() -> None:
    env = piase_gym.parallel_env("TextProbe", agents=2)
    env.reset(seed=0)
    events, heard = Events(), list[Any]()
    events.subscribe(heard.append)
    post_asides(Speaks(), 0, env.world, events)
    assert env.world.hints == [None, "agent_0 says: hello"]
    assert [(event.kind, event.agent) for event in heard] == [
        ("log", "agent_0"),
        ("hint", "agent_1"),
        ("send", "agent_0"),
    ]
    assert heard[0].data == {"event_type": "THOUGHT", "data": {"x": 1}}
    assert heard[1].data == {"message": "agent_0 says: hello"}
    assert (heard[2].data["message"], heard[2].data["own"]) == ("a letter", False)
    assert env.world.mailboxes is not None
    assert len(env.world.mailboxes.history) == 1
    silent = piase_gym.parallel_env("PointProbe", agents=2)
    silent.reset(seed=0)
    post_asides(Speaks(), 0, silent.world, Events())
    assert silent.world.hints == [None, "agent_0 says: hello"]


class Writes(Agent):
    """Says something with a command, or in addition to doing nothing."""

    def __init__(self, beside: bool) -> None:
        super().__init__()
        self.beside, self.got = beside, list[float]()

    def act(self) -> Any:
        return None if self.beside else "say hello"

    def outgoing_letters(self) -> Any:
        return ["hello"] * self.beside

    def learn(self, feedback: Any) -> None:
        self.got.append(feedback.reward)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("world", "fields"),
    [
        ("GridWorld", {"speech": True}),
        ("ObjectSearch", {"speech": True}),
        ("SocialDilemma", {"game": "harvest", "speech": True}),
        ("SocialDilemma", {"speech": True, "talk": 2}),
        ("PhysicsPlayground", {"speech": True}),
        ("TextRoom", {}),
        ("Household", {}),
        ("SqlQuery", {}),
    ],
)
def test_what_is_told_beside_an_action_costs_what_it_costs_by_command(
    world: str, fields: dict[str, Any], shared: bool
) -> None:
    if world == "PhysicsPlayground":
        pytest.importorskip("pybullet")
    got: dict[tuple[bool, float], list[float]] = {}
    for beside in (False, True):
        for cost in (0.0, 0.5):
            partner = Writes(beside)
            more = {**fields, "agents": 2, "message_cost": cost, "shared_reward": shared}
            env = piase_gym.parallel_env(world, partners={"agent_1": partner}, **more)
            env.reset(seed=0)
            for _ in range(2):
                env.step({"agent_0": env.world.noop})
            assert len(env.world.mailboxes.history) == 2
            got[beside, cost] = partner.got
            env.close()
    for beside in (False, True):
        paid = [free - dear for free, dear in zip(got[beside, 0.0], got[beside, 0.5], strict=True)]
        assert paid == pytest.approx([0.25 if shared else 0.5] * 2)


def test_nothing_is_told_beside_an_action_when_it_cannot_be_said() -> None:
    env = piase_gym.parallel_env(
        "SocialDilemma", speech=True, talk=1, partners={"agent_1": Writes(beside=True)}
    )
    env.reset(seed=0)
    heard = []
    for _ in range(4):  # talk, choose, talk, choose
        shown, *_ = env.step({"agent_0": env.world.noop})
        heard.append("hello" in shown["agent_0"]["text"])
    assert heard == [True, False, True, False]


@pytest.mark.parametrize("fields", [{}, {"symbols": 2}])
def test_words_do_not_enter_a_channel_without_words(fields: dict[str, Any]) -> None:
    pytest.importorskip("pybullet")
    partner = Writes(beside=True)
    env = piase_gym.parallel_env(
        "PhysicsPlayground", agents=2, partners={"agent_1": partner}, **fields
    )
    env.reset(seed=0)
    for _ in range(3):  # until it would be heard
        env.step({"agent_0": env.world.noop})
    assert env.world.mailboxes.history == []
    env.close()


class Begins(Agent):
    """Notes with which seeds it has begun and in which steps it was asked, in all its copies."""

    seeds: ClassVar[list[int]] = []
    asked: ClassVar[list[int]] = []

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)

    def act(self) -> Any:
        assert self.percept is not None
        self.asked.append(self.percept.step)
        return None


@pytest.mark.filterwarnings("ignore:Begins has no act_batch")
def test_a_partner_that_enters_late_begins_with_the_episode_in_batches_too() -> None:
    Begins.seeds.clear()
    Begins.asked.clear()
    fields = {"agents": 2, "join_at": (0, 2), "max_steps": 3}
    batch = piase_gym.batch_env("GridWorld", num_envs=1, partners={"agent_1": Begins()}, **fields)
    env = piase_gym.parallel_env("GridWorld", partners={"agent_1": NoopAgent()}, **fields)
    batch.reset(seed=3)
    for _ in range(7):  # a step of the second episode is that of the reset
        batch.step([[0]])
    env.reset(seed=3)
    first = env.runner.seed
    env.reset()
    assert first is not None
    assert env.runner.seed is not None
    assert Begins.seeds == [partner_seed(seed, 1) for seed in (first, env.runner.seed)]
    assert Begins.asked == [2, 2]


def episodes(partner: Agent, start: dict[str, Any] | None = None) -> int:
    """Return how many different episodes eight resets with one seed give."""
    fields = {"agents": 2, "layout": "door_key", "max_steps": 12}
    env = piase_gym.parallel_env("GridWorld", partners={"agent_1": partner}, **fields)
    found = set()
    for _ in range(8):
        if start is not None:
            partner.set_state(start)
        env.reset(seed=5)
        digests = []
        while env.agents:
            env.step({"agent_0": 4})
            digests.append(env.digest())
        found.add(tuple(digests))
    return len(found)


def test_a_seed_brings_an_episode_back_once_a_partner_stops_learning() -> None:
    """As the contract says: frozen, or taken back to where it was."""
    assert episodes(QLearningAgent()) > 1
    assert episodes(QLearningAgent(learning=False)) == 1
    learner = QLearningAgent()
    assert episodes(learner, learner.get_state()) == 1


class Strides(NoopAgent):
    """Moves in every second step of its own count, which is its state."""

    count = 0

    def act_batch(self, batch: Any) -> Any:
        self.count += 1
        return np.full(len(batch.seeds), 3 if self.count % 2 else 4)

    def get_state(self) -> dict[str, Any]:
        return {"count": self.count}

    def set_state(self, state: Any) -> None:
        self.count = int(state["count"])


def test_states_of_partners_that_act_in_batches_are_in_snapshots() -> None:
    agent = Strides()
    seats = {"agent_1": agent, "agent_2": NoopAgent()}
    env = piase_gym.batch_env("GridWorld", num_envs=2, agents=3, partners=seats)
    env.reset(seed=0)
    env.step([[4], [4]])
    saved = env.snapshot()
    assert saved["partners"] == {"agent_1": [{"count": 1}]}
    env.step([[4], [4]])
    then = env.digests()
    env.restore(saved)
    env.step([[4], [4]])
    assert (env.digests(), agent.count) == (then, 2)
    for damage in ([{"count": "x"}], [{}], [], 3, [{"count": 7}, {"count": 8}]):
        with pytest.raises(SnapshotError, match="the partners' part of this snapshot is damaged"):
            env.restore({**saved, "partners": {"agent_1": damage}})
    assert (env.digests(), agent.count) == (then, 2)


def test_names_and_scenarios_go_together() -> None:
    found = resolve("piase/TextRoom-LostKey-v3", None, None, {})
    assert found.scenario is not None
    assert (found.scenario.world, found.spec.name, found.own) == ("TextRoom", "TextRoom", None)
    with pytest.raises(ScenarioError, match=r"give a scenario for a name or scenario=\.\.\., not"):
        resolve("lost_key", "lost_key", None, {})
    config = resolve("GridWorld", None, None, {"width": 7}).config
    assert resolve(config, None, None, {"width": 9}).config.width == 9
    assert resolve(config, None, None, {}).config is config
    with pytest.raises(ScenarioError, match=r"give a config object or scenario=\.\.\., not both"):
        resolve(config, "lost_key", None, {})
    wide = resolve("GridWorld", None, {"width": 12}, {}).config
    assert wide.envelope.width == 12
