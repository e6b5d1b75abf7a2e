"""What every environment does with its episodes: seeds, levels, partners, events, changes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.agents.base import Agent, Feedback
from piase_gym.core.commands import Command, Outcome
from piase_gym.core.facts import StepResult
from piase_gym.core.rng import episode_seed, partner_seed
from piase_gym.envs.runner import MOST_DRAWS, join_steps
from piase_gym.errors import (
    AgentError,
    ClosedError,
    ConfigError,
    EnvelopeError,
    GenerationError,
    ResetNeededError,
)
from piase_gym.interfaces import Environment
from tests import probes

probes.register()


def make(**more: Any) -> Any:
    """Return a text adventure of two agents that is played by text."""
    return piase_gym.parallel_env("TextProbe", actions="text", **{"agents": 2, **more})


def listen(env: Any, *kinds: str) -> list[Any]:
    """Return a list of what is posted from now on."""
    heard: list[Any] = []
    env.events.subscribe(heard.append, kinds or None)
    return heard


def wait(env: Any) -> Any:
    """Let everybody wait."""
    return env.step(dict.fromkeys(env.agents, "wait"))


# -- seeds and levels ------------------------------------------------------------------------------


def test_episodes_are_numbered_from_their_seed_on() -> None:
    env = make()
    heard = listen(env, "reset", "begun")
    env.reset(seed=7)
    env.reset()
    env.reset()
    env.reset(seed=7)
    seeds = [7, episode_seed(7, 1), episode_seed(7, 2), 7]
    told = [(event.kind, dict(event.data)) for event in heard]
    numbers = zip(seeds, (0, 1, 2, 0), strict=True)
    assert told[::2] == [("reset", {"seed": seed, "episode": n}) for seed, n in numbers]
    assert told[1::2] == [("begun", {})] * 4


def test_a_seed_for_the_next_reset_is_used_once_and_gone_on_from() -> None:
    env = make()
    env.reset(seed=3)
    env.runner.set_next_seed(9)
    assert env.reset()[1]["agent_0"]["seed"] == 9
    assert env.reset()[1]["agent_0"]["seed"] == episode_seed(9, 1)
    env.runner.set_next_seed(9)
    assert env.reset(seed=4)[1]["agent_0"]["seed"] == 4
    assert env.reset()[1]["agent_0"]["seed"] == episode_seed(4, 1)


def test_levels_that_are_not_admitted_are_passed_over() -> None:
    env, drawn = make(), list[str]()

    def admits(world: Any) -> bool:
        drawn.append(world.level())
        return len(drawn) % 3 == 0

    env.runner.admits = admits
    assert env.reset(seed=5)[1]["agent_0"]["seed"] == episode_seed(5, 2)
    assert env.reset()[1]["agent_0"]["seed"] == episode_seed(5, 5)
    plain = make()
    plain.reset(seed=episode_seed(5, 5))
    assert plain.world.level() == drawn[-1]
    drawn.clear()

    def refuses(world: Any) -> bool:
        drawn.append(world.level())
        return False

    env.runner.admits = refuses
    with pytest.raises(GenerationError, match=r"100 draws gave no level .* TextProbe has too few"):
        env.reset()
    assert len(drawn) == MOST_DRAWS == 100


# -- partners --------------------------------------------------------------------------------------


class Notebook(Agent):
    """Writes down what it is told, and looks around."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def reset(self, seed: int) -> None:
        self.told.append(seed)

    def perceive(self, percept: Any) -> None:
        self.told.append((percept.agent, percept.step))

    def act(self) -> Any:
        return "look"

    def learn(self, feedback: Feedback) -> None:
        self.told.append(feedback)

    def internal_state(self) -> Any:
        return {"pages": len(self.told)}


def test_partners_are_asked_and_told_what_came_of_it_while_they_are_in_play() -> None:
    agent = Notebook()
    env = make(partners={"agent_1": agent}, max_steps=2)
    heard = listen(env, "state")
    env.reset(seed=7)
    for _ in range(2):
        _, rewards, *_ = wait(env)
    paid = float(rewards["agent_0"])
    assert agent.told == [
        partner_seed(7, 1),
        ("agent_1", 0),
        Feedback(agent.told[2].reward, False, False, Outcome.OK),
        ("agent_1", 1),
        Feedback(agent.told[4].reward, False, True, Outcome.OK),
    ]
    assert agent.told[4].reward == pytest.approx(paid)
    assert [(event.agent, event.data) for event in heard] == [
        ("agent_1", {"state": {"pages": 2}}),
        ("agent_1", {"state": {"pages": 4}}),
    ]


def test_partners_that_come_later_are_not_asked_before() -> None:
    agent = Notebook()
    env = make(partners={"agent_1": agent}, join_at=(0, 2))
    env.reset(seed=7)
    for _ in range(3):
        wait(env)
    assert [row for row in agent.told if isinstance(row, tuple)] == [("agent_1", 2)]


def test_who_cannot_enter_any_more_is_named() -> None:
    env: Any = Environment(
        "TextProbe", agents=2, join_at=(9, 0), max_steps=3, partners={"agent_1": "noop"}
    )
    with pytest.raises(AgentError, match="the episode is over before agent_0 enters"):
        env.reset(seed=0)


# -- events ----------------------------------------------------------------------------------------


def test_an_order_is_told_when_it_is_another_one() -> None:
    env = make()
    heard = listen(env, "order")
    env.reset(seed=0)
    for order in ([0, 1], [1, 0], [1, 0], [0, 1], [1, 0]):
        env.runner.set_order(order)
    assert [event.data["order"] for event in heard] == [[1, 0], [0, 1], [1, 0]]
    env.reset()
    env.runner.set_order([0, 1])  # which every reset brings back
    assert len(heard) == 3
    env.restore(env.snapshot())
    env.runner.set_order([0, 1])  # it may have been another in the snapshot
    assert [event.data["order"] for event in heard[3:]] == [[0, 1]]


def test_who_watches_is_given_what_was_done() -> None:
    env = piase_gym.parallel_env("TextProbe", agents=2)
    seen: dict[bool, list[Any]] = {False: [], True: []}
    env.events.watch(lambda acts, result: seen[False].append([*acts]))
    env.events.watch(lambda acts, result: seen[True].append([*acts]), decoded=True)
    heard = listen(env, "step", "milestone")
    env.reset(seed=0)
    index = next(k for k in range(9) if env.world.command(1, k) == Command("wait"))
    meant = env.world.command(0, 0)  # in another room it will be another
    env.step({"agent_0": 0, "agent_1": index})
    assert seen[False] == [[0, index]]
    assert seen[True] == [[meant, Command("wait")]]
    (event,) = heard
    assert (event.kind, event.data["step"]) == ("step", 1)
    assert event.data["commands"] == seen[True][0]
    assert event.data["result"] is env.runner.last_step


def test_what_is_restored_is_told_and_goes_on_in_the_same_way() -> None:
    env, other = make(), make()
    env.reset(seed=3)
    wait(env)
    env.reconfigure({"items": 3})
    snapshot = json.loads(json.dumps(env.snapshot()))
    assert snapshot["episode"] == {"base": 3, "number": 0, "seed": 3, "steps": 1}
    heard = listen(other, "restore", "step")
    other.restore(snapshot)
    assert heard[0].data == {"seed": 3, "step": 1, "snapshot": snapshot}
    assert (other.agents, other.runner.steps) == (["agent_0", "agent_1"], 1)
    wait(other)
    assert heard[1].data["step"] == 2
    wait(env)
    assert env.digest() == other.digest()
    assert env.reset()[1]["agent_0"]["seed"] == other.reset()[1]["agent_0"]["seed"]
    assert env.config.items == other.config.items == 3


# -- changes ---------------------------------------------------------------------------------------


def test_changes_that_wait_add_up_and_are_told() -> None:
    env = make(items=4)
    heard = listen(env, "reconfigure", "modify")
    env.reset(seed=0)
    env.reconfigure({"items": 3})
    env.reconfigure({"slip": 0.5})
    found = env.modify({"max_steps": 9, "items": 4})
    assert (found.now, found.waiting) == ({"max_steps": 9}, {})  # there are 4 items now
    told = [(event.kind, event.data["changes"]) for event in heard]
    assert told == [
        ("reconfigure", {"items": 3}),
        ("reconfigure", {"slip": 0.5}),
        ("modify", {"max_steps": 9}),
        ("reconfigure", {"max_steps": 9, "items": 4}),
    ]
    assert (env.config.items, env.config.slip, env.config.max_steps) == (4, 0.0, 9)
    env.reset()
    assert (env.config.items, env.config.slip, env.config.max_steps) == (4, 0.5, 9)
    assert env.runner.next_config is None


@pytest.mark.parametrize("field", ["envelope", "agent_ids"])
def test_what_fixes_the_spaces_does_not_change(field: str) -> None:
    env = make()
    with pytest.raises(EnvelopeError, match="fix the spaces; make another environment"):
        env.reconfigure({field: None})
    for change in (env.reconfigure, env.modify):
        with pytest.raises(ConfigError, match="takes a mapping, not list"):
            change([field])
    with pytest.raises(EnvelopeError, match=r"items 7 \(at most 4\)"):
        env.reconfigure({"items": 7})
    assert env.runner.next_config is None


def test_no_config_is_longer_than_a_time_limit_around() -> None:
    env = make(max_steps=5)
    env.reset(seed=0)
    env.runner.time_limit = 5
    for change in (env.reconfigure, env.modify):
        with pytest.raises(ConfigError, match=r"max_steps=6 is not allowed: .*max_episode_steps=5"):
            change({"max_steps": 6})
        change({"max_steps": 4})
        change({"max_steps": 5})
    assert env.config.max_steps == 5


def test_an_envelope_grows_before_the_first_reset_alone() -> None:
    env = make(partners={"agent_1": "noop"})
    heard = listen(env, "rebuild")
    env.grow_envelope({"items": 6})
    assert env.world.envelope.items == 6
    assert [event.kind for event in heard] == ["rebuild"]
    assert (env.possible_agents, list(env.runner.partners)) == (["agent_0"], [1])
    env.reset(seed=0)
    with pytest.raises(EnvelopeError, match="this TextProbe was reset, so its spaces are fixed"):
        env.grow_envelope({"items": 7})
    env.reconfigure({"items": 6})


def test_a_closed_environment_says_so_once() -> None:
    env = make()
    heard = listen(env, "close")
    with pytest.raises(ResetNeededError, match="this TextProbe was never reset"):
        env.snapshot()
    env.reset(seed=0)
    env.close()
    env.close()
    assert ([event.kind for event in heard], env.agents, env.runner.live) == (["close"], [], [])
    with pytest.raises(ClosedError, match="this TextProbe is closed; make another one"):
        env.reset()


def test_options_of_a_reset_hold_in_its_episode() -> None:
    env = make()
    env.reset(seed=0)
    env.reconfigure({"slip": 0.5})
    env.reset(options={"config": {"items": 3}})
    assert (env.config.items, env.config.slip) == (3, 0.5)
    with pytest.warns(UserWarning, match="'speed' is unknown and ignored; known: config"):
        env.reset(options={"speed": 1})
    with pytest.raises(ConfigError, match="reset options are a mapping, not list"):
        env.reset(options=["config"])


def test_without_anybody_in_play_changes_wait() -> None:
    env = make(max_steps=1)
    assert env.modify({"max_steps": 2}).waiting == {"max_steps": 2}
    env.reset(seed=0)
    assert env.modify({"max_steps": 1}).now == {"max_steps": 1}
    wait(env)
    assert env.agents == []
    assert env.modify({"max_steps": 3}).waiting == {"max_steps": 3}
    with pytest.raises(EnvelopeError, match=r"items 7 \(at most 4\)"):
        env.modify({"items": 7})
    env.reset()
    assert env.config.max_steps == 3


def test_letters_are_told_in_the_step_in_which_they_are_sent() -> None:
    env = make()
    env.reset(seed=0)
    env.step({"agent_0": "say one", "agent_1": "wait"})  # to nobody who listens
    heard = listen(env, "message")
    env.step({"agent_0": "say two", "agent_1": "say three"})
    wait(env)
    told = [(event.agent, event.data["message"]) for event in heard]
    assert told == [("agent_0", "two"), ("agent_1", "three")]


# -- steps that belong together --------------------------------------------------------------------


def test_steps_of_one_command_are_joined() -> None:
    outcomes = [Outcome.FAILED, Outcome.OK]
    first = StepResult(
        [1.0, 0.5],
        [False] * 2,
        [False] * 2,
        [Outcome.OK] * 2,
        False,
        {0: {"milestones": ["a"], "feedback": "One."}},
    )
    notes: dict[int, dict[str, Any]] = {
        0: {"milestones": ["b"], "feedback": "Two."},
        1: {"events": ["x"]},
    }
    then = StepResult([2.0, 0.0], [True, False], [False] * 2, outcomes, True, notes)
    found = join_steps(first, then)
    assert found == StepResult(
        [3.0, 0.5],
        [True, False],
        [False] * 2,
        outcomes,
        True,
        {0: {"milestones": ["a", "b"], "feedback": "Two."}, 1: {"events": ["x"]}},
    )
    assert first.notes == {0: {"milestones": ["a"], "feedback": "One."}}


class Patient(Notebook):
    """Answers with an index."""

    def act(self) -> Any:
        return np.int64(0)


def test_a_partner_may_answer_with_an_index() -> None:
    env = piase_gym.parallel_env("TextProbe", agents=2, partners={"agent_1": Patient()})
    acts: list[Any] = []
    env.events.watch(lambda given, result: acts.append(list(given)))
    env.reset(seed=0)
    env.step({"agent_0": 1})
    assert acts == [[1, 0]]
