"""Environments of one's own are citizens: what worlds enter, they enter.

Tests that are named after a sentence of the source documents quote it.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import (
    AbstractEnvironment,
    BaseEnv,
    Environment,
    PerceptionInterface,
    Simulation,
    plugins,
    registry,
    runs,
    scenarios,
)
from piase_gym.core.commands import Command
from piase_gym.core.documents import entry_point, is_own, own_classes, settings_of
from piase_gym.core.models import Action, ActionCommand, ActionResult, Observation
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.errors import (
    ConfigError,
    OwnEnvironmentError,
    PiaseError,
    RunError,
    ScenarioError,
    SnapshotError,
    UnfinishedError,
    UnknownFieldError,
    UnsupportedError,
)
from piase_gym.interfaces.environment import WorldEnvironment
from piase_gym.testing import WORLD_CHECKS, run_checks
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.helpers.cli_runner import piase
from tests.helpers.warm_python import run_python
from tests.interfaces.own_envs import KINDS, Broken, Dice, Lamps, Street, Tower
from tests.paths import SHARED

MODULE = "tests.interfaces.own_envs"
MAKE: dict[str, Callable[[], Any]] = {
    "Lamps": Lamps,
    "Dice": Dice,
    "Street": Street,
    "Tower": lambda: Tower({}),
}
"""An environment of each kind."""
each_kind = pytest.mark.parametrize("name", MAKE)


def play(env: Any, seed: int, steps: int = 30) -> list[Any]:
    """Play random actions, and return everything that was seen."""
    dice = random.Random(seed)
    rows = [env.reset(seed=seed)]
    while env.agents and len(rows) <= steps:
        rows.append(env.step({a: dice.randrange(env.action_space(a).n) for a in env.agents}))
    return rows


def plain(value: Any) -> Any:
    """Return what was seen as values that can be compared."""
    return json.loads(json.dumps(value, default=lambda v: np.asarray(v).tolist()))


# -- the sentences of the documents ----------------------------------------------------------------


def test_create_a_new_python_class_that_inherits_from_environment() -> None:
    # "Create a new Python class that inherits from `Environment`."
    env = piase_gym.as_parallel(Lamps(2))
    observations, _ = env.reset(seed=0)
    assert observations["agent_0"]["text"] == "You stand at lamp 0. 0 of 2 are lit."
    assert [env.world.write(command) for command in env.commands("agent_0")] == [
        "go left",
        "go right",
        "light",
    ]
    rewards = [env.step({"agent_0": action})[1]["agent_0"] for action in (2, 1, 2)]
    assert rewards == [1.0, 0.0, 5.0]
    assert env.agents == []


def test_implement_all_abstract_methods_defined_in_the_environment_interface() -> None:
    # "Implement all abstract methods defined in the `Environment` interface" (and so on).
    class Half(Environment):
        def reset(self) -> Any:
            return None

        def is_done(self, agent_id: str) -> bool:
            return True

    with pytest.raises(UnfinishedError) as caught:
        Half()
    lacks, brings = str(caught.value).split(";")
    assert lacks == (
        "Half lacks get_action_space, get_environment_info, get_observation, get_state, step"
    )
    assert brings.endswith(
        "get_action_space, get_environment_info, get_observation, get_state, is_done, reset, step"
    )


@pytest.mark.parametrize(
    ("base", "methods"),
    [
        (
            AbstractEnvironment,
            "apply_action_from_agent get_current_state_snapshot get_environment_info "
            "get_perceptual_data_for_agent load_configuration reset_environment step",
        ),
        (
            PerceptionInterface,
            "execute_action get_agent_state get_environment_info get_visible_objects",
        ),
        (BaseEnv, "get_action_space reset step"),
    ],
)
def test_a_half_written_one_fails_at_construction(base: type[Any], methods: str) -> None:
    half = type("Half", (base,), {})
    with pytest.raises(TypeError) as caught:
        half()
    assert str(caught.value).startswith(f"Half lacks {methods.replace(' ', ', ')};")
    whole = type("Whole", (base,), {name: lambda *_args: None for name in methods.split()})
    assert is_own(whole())


def test_a_reset_that_takes_any_keyword_gets_the_seed() -> None:
    seeds = []

    class Guess(Tower):
        def reset(self, **options: Any) -> Observation:
            seeds.append(options.get("seed"))
            return super().reset()

    env = piase_gym.as_parallel(Guess({}))
    env.reset(seed=7)
    env.reset(seed=2**62)
    assert seeds[-2:] == [7, 2**62]


def test_ensure_the_environment_is_configurable_through_its_init_method() -> None:
    # "Ensure the environment is configurable through its `__init__` method, allowing scenarios to
    # customize it."
    env = piase_gym.parallel_env("Lamps", lamps=5)
    assert env.reset(seed=0)[0]["agent_0"]["text"].endswith("0 of 5 are lit.")
    assert settings_of(Lamps(4)) == {"lamps": 4}
    assert settings_of(Tower({"floors": 4})) == {"floors": 4}


def test_switch_between_different_perception_backends() -> None:
    # "This abstraction allows the system to switch between different perception backends without
    # changing the node logic."
    class Attic(Street):
        def get_visible_objects(self, agent_id: str, position: Any) -> list[str]:
            return [f"old {name}" for name in super().get_visible_objects(agent_id, position)]

    def explore(perception: PerceptionInterface) -> list[str]:
        seen, done = [], False
        while not done:
            place = perception.get_agent_state("agent_0")["position"]
            seen += perception.get_visible_objects("agent_0", place)
            done = perception.execute_action("agent_0", "forward")["done"]
        return seen

    assert explore(Street()) == ["chair", "keyboard"]
    assert explore(Attic()) == ["old chair", "old keyboard"]
    over_a_world = PerceptionInterface("Street")
    over_a_world.reset(seed=0)  # type: ignore[attr-defined]
    assert explore(over_a_world) == ["chair", "keyboard"]


def test_env_adjust_difficulty_on_an_environment_that_has_it() -> None:
    # "Defines methods that `Environment` objects could implement to allow dynamic changes by the
    # DSE (e.g., `env.adjust_difficulty(params)`, `env.introduce_element(element_config)`)."
    env = piase_gym.as_parallel(Dice())
    env.reset(seed=0)
    assert env.adjust_difficulty({"more": 2}) == {"changes": (("adjust_difficulty", {"more": 2}),)}
    assert _target(env) == 3
    env.reset(seed=0)
    assert _target(env) == 5
    env.adjust_difficulty({"more": 1})
    env.reset(seed=0)
    env.reset(seed=0)
    assert _target(env) == 6
    with pytest.raises(UnsupportedError, match="Dice has no introduce_element"):
        env.introduce_element({"type": "die"})


@pytest.mark.parametrize(
    ("first", "then", "target"),
    [([5], [1, 2], 6), ([5], [5, 2], 10), ([5, 2], [5], 8), ([5], [5], 8), ([5, 1], [], 3)],
)
def test_hooks_are_called_once_whatever_was_changed_before(
    first: list[int], then: list[int], target: int
) -> None:
    def changes(more: list[int]) -> list[Any]:
        return [["adjust_difficulty", {"more": number}] for number in more]

    env = piase_gym.parallel_env("Dice", changes=changes(first))
    env.reset(seed=0)
    assert _target(env) == 3 + sum(first)
    env.reconfigure({"changes": changes(then)})
    for _ in range(2):
        env.reset(seed=0)
        assert _target(env) == target


def _target(env: Any) -> int:
    """Return the points that Dice asks for now."""
    return int(env.world.digest_state()[2]["config"]["target"])


INTERFACES: dict[str, Callable[[], Any]] = {
    "parallel": lambda: piase_gym.parallel_env("GridWorld", hazards=0),
    "gymnasium": lambda: gymnasium.make("piase/GridWorld-v1", hazards=0).unwrapped,
    "aec": lambda: piase_gym.aec_env("GridWorld", hazards=0).unwrapped,
    "Environment": lambda: Environment("GridWorld", hazards=0),
    "AbstractEnvironment": lambda: AbstractEnvironment("GridWorld", hazards=0),
    "EnvironmentInterface": lambda: piase_gym.EnvironmentInterface("GridWorld", hazards=0),
    "PerceptionInterface": lambda: PerceptionInterface("GridWorld", hazards=0),
    "BaseEnv": lambda: BaseEnv("GridWorld", hazards=0),
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_hooks_are_offered_by_all_of_ours(interface: str) -> None:
    env = INTERFACES[interface]()
    first = env.possible_agents[0] if hasattr(env, "possible_agents") else env.agent
    env.reset(seed=0)
    assert env.adjust_difficulty({"hazards": 2}) == {"hazards": 2}
    assert env.introduce_element({"type": "hazard", "count": 1}) == {"hazards": 3}
    env.provide_indirect_hint(first, "Go north.")
    assert env.facts(first).hint == "Go north."
    assert env.config.hazards == 0
    env.reset(seed=0)
    assert env.config.hazards == 3
    with pytest.raises(ConfigError):
        env.adjust_difficulty({"noise": 2})


def test_the_hooks_are_offered_by_batches() -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=3, hazards=0)
    batch.adjust_difficulty({"hazards": 2}, [0, 1])
    batch.adjust_difficulty({"hazards": 4}, [1])
    batch.introduce_element({"type": "hazard"}, [0])
    batch.reset(0)
    assert [batch.config_of(slot).hazards for slot in range(3)] == [3, 4, 0]
    batch.provide_indirect_hint("agent_0", "Wait.")
    assert [batch.facts(slot, "agent_0").hint for slot in range(3)] == ["Wait."] * 3
    batch.close()


# -- one adapter -----------------------------------------------------------------------------------


@each_kind
def test_what_the_adapter_makes_is_played_like_a_world(name: str) -> None:
    env = piase_gym.as_parallel(MAKE[name]())
    assert isinstance(env, WorldParallelEnv)
    assert piase_gym.as_parallel(env) is env
    rows = plain(play(env, 3))
    assert rows == plain(play(piase_gym.parallel_env(MAKE[name]()), 3))
    assert rows == plain(play(piase_gym.parallel_env(name), 3))
    space = env.observation_space("agent_0")
    assert all(space.contains(row[0]["agent_0"]) for row in play(env, 4))


@each_kind
def test_a_worker_process_plays_the_same(name: str) -> None:
    here, there = piase_gym.parallel_env(name), piase_gym.parallel_env(name, timeout=30.0)
    assert plain(play(here, 5)) == plain(play(there, 5))
    assert here.world.digest() == there.world.digest()
    there.close()


def test_our_interfaces_become_parallel_environments_of_the_same_episode() -> None:
    for base in (Environment, AbstractEnvironment, PerceptionInterface, BaseEnv):
        made: Any = base("GridWorld", start_pos=(0, 0), goal_pos=(2, 0))
        made.reset(seed=0)
        env = piase_gym.as_parallel(made)
        assert env.runner is made.runner
        assert env.agents == ["agent_0"]
        assert env.step({"agent_0": 3})[1] == {"agent_0": -0.1}
        assert made.runner.steps == 1
        with pytest.raises(ConfigError, match="has a world already"):
            piase_gym.as_parallel(made, agents=3)
    with pytest.raises(ConfigError, match="not int"):
        piase_gym.as_parallel(3)
    assert Simulation(Environment("GridWorld"), "oracle", seed=0).run().won
    followed = CurriculumWrapper(Environment("GridWorld"), "rooms")
    assert isinstance(followed.unwrapped, WorldParallelEnv)


def test_two_agents_act_in_their_order_and_talk() -> None:
    env = piase_gym.as_parallel(Street(), agents=2, actions="text")
    env.reset(seed=0)
    shown, rewards, *_ = env.step({"agent_0": "tell all Come here!", "agent_1": "forward"})
    assert shown["agent_1"]["text"] == "position 1: keyboard\nagent_0 says: Come here!"
    assert shown["agent_0"]["text"] == "position 0: chair"
    assert rewards == {"agent_0": 0.0, "agent_1": 0.0}
    _, rewards, ended, _, infos = env.step({"agent_0": "fly", "agent_1": "forward"})
    assert (rewards["agent_1"], ended) == (1.0, {"agent_0": False, "agent_1": True})
    assert infos["agent_0"]["outcome"] == "unparsable"
    assert infos["agent_1"]["result"] == "won"
    assert env.agents == ["agent_0"]


@pytest.mark.usefixtures("spare_registries")
def test_names_of_agents_are_those_of_the_environment() -> None:
    class Named(Street):
        possible_agents = ("ann", "bo")

    assert piase_gym.as_parallel(Named()).possible_agents == ["ann", "bo"]
    assert piase_gym.parallel_env("Named").possible_agents == ["ann", "bo"]
    task = piase_gym.register_env(Named, "mine/Named-v0", max_steps=9)
    assert piase_gym.parallel_env(task).possible_agents == ["ann", "bo"]
    assert piase_gym.parallel_env("Named", agents=1).possible_agents == ["agent_0"]


def test_the_vector_has_the_numbers_of_the_observation() -> None:
    env = piase_gym.as_parallel(Lamps(3), view="vector")
    env.reset(seed=0)
    env.step({"agent_0": 2})
    shown, *_ = env.step({"agent_0": 1})
    assert shown["agent_0"][:4].tolist() == [1.0, 0.0, 0.0, 1.0]  # lit, then place


def test_free_text_reaches_the_environment_word_for_word() -> None:
    heard = []

    class Parrot(BaseEnv):
        def reset(self) -> Any:
            return Observation({"text": "Say something."})

        def step(self, action: Action) -> Any:
            heard.append(action.text)
            return self.reset(), 0.0, action.text == "Bye.", {}

        def get_action_space(self) -> dict[str, Any]:
            return {"type": "object", "properties": {"action": {"type": "string"}}}

    env = piase_gym.as_parallel(Parrot())
    assert env.actions == "text"
    env.reset(seed=0)
    for line in ("  The  Quick FOX.", "wait", "Bye."):
        env.step({"agent_0": line})
    assert heard == ["  The  Quick FOX.", "Bye."]  # waiting calls nobody
    assert env.agents == []
    assert Simulation(Parrot(), "noop", max_steps=3).run().steps == 3


def test_choices_reach_the_environment_as_it_has_named_them() -> None:
    got: list[Any] = []

    class Switches(Lamps):
        """A board."""

        def step(self, agent_id: str, action: ActionCommand) -> ActionResult:
            got.append(action.parameters["to"])
            return ActionResult(status="success")

        def get_action_space(self, agent_id: str | None = None) -> dict[str, Any]:
            rows = {"speed": [0.5, 1], "lamp": [True, False], "any": ["off", 2, None]}
            space = {name: {"parameters": {"to": {"enum": row}}} for name, row in rows.items()}
            return {**space, "flag": {"parameters": {"to": {"type": "boolean"}}}}

    env = piase_gym.as_parallel(Switches())
    env.reset(seed=0)
    for index in range(env.action_space("agent_0").n):
        env.step({"agent_0": index})
    listed = [0.5, 1, True, False, "off", 2, None, True, False]
    assert [(type(value), value) for value in got] == [(type(value), value) for value in listed]
    got.clear()
    env = piase_gym.as_parallel(Switches(), actions="text")
    env.reset(seed=0)
    lines: list[Any] = ["speed 0.5", "lamp false", "any off", "any null", "flag true"]
    lines += [Command("lamp", {"to": True})]
    for line in lines:
        *_, infos = env.step({"agent_0": line})
        assert infos["agent_0"]["outcome"] == "ok"
    assert got == [0.5, False, "off", None, True, True]
    for line in ("lamp maybe", Command("lamp", {"to": 1})):
        *_, infos = env.step({"agent_0": line})
        assert infos["agent_0"]["outcome"] == "unparsable"


# -- what worlds enter -----------------------------------------------------------------------------


@each_kind
def test_a_simulation_takes_it_as_it_is(name: str) -> None:
    summary = Simulation(MAKE[name](), seed=2, max_steps=500).run()
    assert summary.scenario == name
    assert summary.steps > 0
    assert summary.finished


@each_kind
def test_a_log_of_it_is_replayed_and_measured(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    env = AvtLogger(MAKE[name](), path, level="full", snapshot_every=5)
    live = runs.Metrics(env)
    rows = [row for seed in range(3) for row in play(env, seed, 200)]
    env.close()
    assert runs.validate(path).ok
    report = runs.replay(path)
    assert (report.ok, report.episodes, report.complete) == (True, 3, True)
    rewards = [row[1]["agent_0"] for row in rows if len(row) == 5]
    for metrics in (live, runs.Metrics(path)):
        told = {m: metrics.get_performance_metric("agent_0", m) for m in ("env_steps", "episodes")}
        assert told == {"env_steps": len(rewards), "episodes": 3}
        mean = metrics.get_performance_metric("agent_0", "mean_return")
        assert mean == pytest.approx(sum(rewards) / 3)


def test_a_changed_log_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    env = AvtLogger(Tower({"floors": 3}), path)
    play(env, 0)
    env.close()
    changed = path.read_text("utf-8").replace('"floors":3', '"floors":4')
    path.write_text(changed, "utf-8")
    report = runs.replay(path)
    assert not report.ok


def test_a_replay_elsewhere_says_what_to_import(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    env = AvtLogger(Tower({}), path)
    play(env, 0)
    env.close()
    code = f"from piase_gym import runs; print(runs.replay({str(path)!r}).ok)"
    done = run_python("-c", code)
    assert f"import '{MODULE}' first; for a command, with --module {MODULE}" in done.stderr
    code_of_check = f"from piase_gym import runs; print(runs.validate({str(path)!r}))"
    done = run_python("-c", code_of_check)
    assert f"line 1: this run is of '{MODULE}:Tower', " in done.stdout
    done = run_python("-c", f"import {MODULE}; {code}")
    assert done.stdout == "True\n"


def test_a_curriculum_changes_its_settings(tmp_path: Path) -> None:
    won = {"metric": "task_success", "operator": "==", "value": True}
    steps = [
        {
            "order": n,
            "name": f"Climb {n}",
            "environment_config_overrides": {"floors": n},
            "completion_criteria": [won],
        }
        for n in (1, 4)
    ]
    path = tmp_path / "log.jsonl"
    curriculum = DevelopmentalCurriculum(name="Tower", steps=steps)
    env = CurriculumWrapper(AvtLogger(Tower({"floors": 7}), path), curriculum)
    lengths = []
    for _ in range(2):
        env.reset(seed=0)
        count = 0
        while env.agents:
            env.step({"agent_0": 0})
            count += 1
        lengths.append(count)
    assert lengths == [1, 4]
    assert [d.decision for d in env.decisions] == ["PROCEED", "PROCEED"]
    env.close()
    assert runs.replay(path).ok
    direct = CurriculumWrapper(Tower({}), curriculum)
    direct.reset(seed=0)
    assert direct.unwrapped.config.settings == {"floors": 1}


@pytest.mark.usefixtures("spare_registries")
def test_gymnasium_and_pettingzoo_make_it_by_its_id() -> None:
    name = piase_gym.register_env(Tower, floors=2)
    assert name == "own/Tower-v0"
    env = gymnasium.make(name)
    env.reset(seed=0)
    assert env.step(0)[1:4] == (0.0, False, False)
    assert env.step(0)[1:4] == (1.0, True, False)
    assert gymnasium.make(name, floors=1).unwrapped.config.settings == {"floors": 1}  # type: ignore[attr-defined]
    several = gymnasium.make_vec(name, num_envs=2)
    several.reset(seed=0)
    assert several.step(np.array([0, 1]))[1].tolist() == [0.0, 0.0]
    assert several.step(np.array([0, 0]))[1].tolist() == [1.0, 0.0]
    several.close()
    assert "Tower" in piase_gym.list_worlds()
    assert piase_gym.list_tasks("Tower") == (name,)
    assert piase_gym.register_env(f"{MODULE}:Lamps", "mine/Lamps-v3") == "mine/Lamps-v3"
    with pytest.raises(ConfigError, match="'no_such_module:Env' cannot be loaded: No module"):
        piase_gym.register_env("no_such_module:Env")
    with pytest.raises(ConfigError, match="no class of an environment"):
        piase_gym.register_env(WorldParallelEnv)  # type: ignore[arg-type]


@pytest.mark.usefixtures("spare_registries")
def test_agents_and_max_steps_are_settings_too_where_a_class_has_such_arguments() -> None:
    class Party(Tower):
        """A tower for several, who all climb up."""

        def __init__(self, agents: int = 1, max_steps: int = 9) -> None:
            super().__init__({"floors": agents + max_steps})

    name = piase_gym.register_env(Party)
    env = piase_gym.parallel_env("Party", agents=2, max_steps=4)
    assert env.config.settings == {"agents": 2, "max_steps": 4}
    assert "of 6" in env.reset(seed=0)[0]["agent_1"]["text"]
    longer = env.config.changed({"max_steps": 8})  # as curricula set limits: of the world alone
    assert (longer.max_steps, longer.settings) == (8, env.config.settings)
    assert type(env.config)(**env.config.model_dump()) == env.config
    bare = piase_gym.parallel_env("Party").config
    assert (bare.max_steps, bare.settings) == (1000, {})
    assert bare.changed({"max_steps": 8}).settings == {}
    assert gymnasium.make(name, agents=3).unwrapped.config.settings == {"agents": 3}  # type: ignore[attr-defined]


SCENARIO = """
scenario_name: The tower
environment_type: Tower
initial_state:
  floors: 2
  agent_setup: {agent_id: climber, goal: Reach the top.}
lose_conditions:
  - {type: max_steps_reached, steps: 20}
events:
  - trigger: {type: step_reached, step: 2}
    response: {type: message_to_agent, agent_id: climber, content: Go on.}
"""


def test_a_scenario_names_it(tmp_path: Path) -> None:
    path = tmp_path / "tower.yaml"
    path.write_text(SCENARIO, "utf-8")
    scenario = scenarios.load(path)
    assert (scenario.world, scenario.config.max_steps) == ("Tower", 20)
    log = tmp_path / "log.jsonl"
    climb = Simulation(path, "noop", seed=0, wrap=(lambda env: AvtLogger(env, log),), max_steps=2)
    summary = climb.run()
    assert climb.world.config.settings == {"floors": 2}
    assert (climb.world.hints, list(summary.returns)) == (
        ["Goal: Reach the top. Go on."],
        ["climber"],
    )
    assert runs.replay(log).ok
    for env in (piase_gym.parallel_env(path), piase_gym.as_parallel(Tower({}), scenario=path)):
        assert env.possible_agents == ["climber"]
        assert env.config.settings == {"floors": 2}
        told = env.reset(seed=0)[0]["climber"]["text"]
        assert told == "You stand on floor 0 of 2.\nHint: Goal: Reach the top."
    with pytest.raises(ScenarioError, match="is of TextRoom, not of Tower"):
        piase_gym.as_parallel(Tower({}), scenario="lost_key")
    path.write_text(SCENARIO.replace("environment_type", "world"), "utf-8")
    assert scenarios.load(path).origin() == scenario.origin()
    path.write_text(SCENARIO + "world: Lamps\n", "utf-8")
    with pytest.raises(ScenarioError, match=r"tower.yaml:12:1: world: .* give one of them"):
        scenarios.load(path)


def test_conditions_of_scenarios_are_about_what_agents_are_shown() -> None:
    far = {"fact": "number", "of": "place", "at_least": 2}
    lit = {"fact": "text", "contains": "1 of 3 are lit"}
    unknown = {"fact": "number", "of": "place.x", "at_most": 99}
    scenario = {
        "win_conditions": [{"all": [far, lit]}, unknown],
        "events": [{"when": far, "response": {"type": "reward", "amount": 7}}],
    }
    env = piase_gym.parallel_env("Lamps", scenario=scenario, actions="text")
    env.reset(seed=0)
    lines = ("go right", "go right", "light")
    rewards = [env.step({"agent_0": line})[1]["agent_0"] for line in lines]
    assert rewards == [0.0, 7.0, 1.0]
    assert env.world.result(0) == "won"
    with pytest.raises(ScenarioError, match="no fact 'txt'; did you mean 'text'"):
        scenarios.load({"world": "Lamps", "win_conditions": [{**lit, "fact": "txt"}]})


def test_settings_of_an_abstract_environment_are_loaded() -> None:
    env = piase_gym.parallel_env("Dice", target=7)
    env.reset(seed=0)
    assert _target(env) == 7


def test_a_simulation_with_a_curriculum_takes_it() -> None:
    won = {"metric": "task_success", "operator": "==", "value": True}
    step = {"order": 1, "name": "One", "environment_config_overrides": {"floors": 1}}
    curriculum = DevelopmentalCurriculum(
        name="Tower", steps=[{**step, "completion_criteria": [won]}]
    )
    simulation = Simulation(Tower({}), curricula=curriculum, seed=0)
    simulation.run(episodes=3)
    assert [summary.steps for summary in simulation.summaries] == [1]


def test_the_summary_is_the_first_line_of_what_the_class_says() -> None:
    class Nameless(Lamps):
        __doc__ = None

    class Told(Lamps):
        """
        Lamps again.

        And more.
        """

    rows = [registry.own_row(kind.__name__) for kind in (Lamps, Nameless, Told)]
    assert [row and row.summary for row in rows] == [
        str(Lamps.__doc__),
        "Nameless, an environment of one's own.",
        "Lamps again.",
    ]
    row = registry.own_row("Lamps")
    assert row is not None
    assert (row.name, registry.load(row.world, row).__name__) == ("Lamps", "Lamps")
    assert [registry.own_row(name) for name in ("Lamp", "no name", "")] == [None] * 3


def test_a_plug_in_can_offer_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_worlds", dict(registry._worlds))
    for row in plugins._rows(Street):
        plugins._register("worlds", row)
    assert "Street" in piase_gym.list_worlds()


def test_what_an_environment_says_cannot_spoil_infos() -> None:
    class Loud(Tower):
        def step(self, action: Action) -> Any:
            *found, _ = super().step(action)
            odd = {"episode": 1, "metrics": 3, "milestones": "top", "outcome": "x", "floor": 2}
            return *found, odd

    env = piase_gym.as_parallel(Loud({}))
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": 0})
    assert infos["agent_0"].keys() == {"outcome", "action_mask", "floor"}
    assert infos["agent_0"]["outcome"] == "ok"
    assert Simulation(Loud({}), seed=0).run().finished


# -- what it lacks ---------------------------------------------------------------------------------


def test_what_needs_a_capability_it_lacks_says_so() -> None:
    env = piase_gym.as_parallel(Tower({}))
    env.reset(seed=0)
    with pytest.raises(UnsupportedError, match="Tower has no get_state and set_state"):
        env.snapshot()
    with pytest.raises(UnsupportedError, match="Tower does not tell its state"):
        env.digest()
    with pytest.raises(ConfigError, match="Street does not tell which actions are legal"):
        piase_gym.as_parallel(Street(), mask="obs")
    learner = piase_gym.gym_env(Street())
    learner.reset(seed=0)
    with pytest.raises(UnsupportedError, match="Street does not tell which actions are legal"):
        learner.action_masks()
    with pytest.raises(UnsupportedError, match="cannot be read back"):
        piase_gym.parse_text("Tower", "You stand on floor 0 of 3.")
    with pytest.raises(ConfigError, match="has no continuous actions"):
        piase_gym.as_parallel(Tower({}), actions="continuous")


def test_masks_are_what_the_environment_offers() -> None:
    env = piase_gym.as_parallel(Tower({}))
    _, infos = env.reset(seed=0)
    assert infos["agent_0"]["action_mask"].tolist() == [1, 0]
    *_, infos = env.step({"agent_0": 1})
    assert infos["agent_0"]["outcome"] == "illegal"
    *_, infos = env.step({"agent_0": 0})
    assert infos["agent_0"]["action_mask"].tolist() == [1, 1]


def test_an_environment_that_takes_up_its_states_has_snapshots() -> None:
    env = piase_gym.parallel_env("Lamps", agents=2)
    play(env, 1, 4)
    kept = json.loads(json.dumps(env.snapshot()))
    later = [plain(env.step(dict.fromkeys(env.agents, 2)))]
    other = piase_gym.parallel_env("Lamps", agents=2)
    other.restore(kept)
    assert [plain(other.step(dict.fromkeys(other.agents, 2)))] == later
    assert other.digest() == env.digest()


def test_a_snapshot_of_a_base_env_has_the_last_observation() -> None:
    class Climb(Tower):
        def _look(self) -> Observation:
            seen = super()._look()
            return Observation(structured={**seen.structured, "view": np.full(3, self.floor)})

        def get_state(self) -> Any:
            return self.floor

        def set_state(self, state: Any) -> None:
            self.floor = state

    env, other = (piase_gym.as_parallel(Climb({"floors": 6})) for _ in range(2))
    env.reset(seed=0)
    env.step({"agent_0": 0})
    shown = plain(env.step({"agent_0": 0})[0])
    kept = json.loads(json.dumps(env.snapshot()))
    later = plain(env.step({"agent_0": 0}))
    for restored in (env, other):
        restored.restore(kept)
        assert plain(restored.observe_all()[0]) == shown
        assert restored.observe_all()[1]["agent_0"]["action_mask"].tolist() == [1, 1]
        assert plain(restored.step({"agent_0": 0})) == later


def test_a_snapshot_has_the_messages_that_were_just_read() -> None:
    class Lane(Street):
        def get_state(self) -> Any:
            return {"at": self.at, "boxes": self.boxes}

        def set_state(self, state: Any) -> None:
            self.at, self.boxes = dict(state["at"]), dict(state["boxes"])

    env, other = (piase_gym.as_parallel(Lane(), agents=2, actions="text") for _ in range(2))
    env.reset(seed=0)
    shown = env.step({"agent_0": "tell all mind the step", "agent_1": "forward"})[0]
    assert "mind the step" in shown["agent_1"]["text"]
    snapshot = env.snapshot()
    kept = json.loads(json.dumps(snapshot))
    later = plain(env.step(dict.fromkeys(env.agents, "backward")))
    assert json.loads(json.dumps(snapshot)) == kept
    assert "mind the step" not in str(later)
    for restored in (env, other):
        restored.restore(kept)
        assert plain(restored.observe_all()[0]) == plain(shown)
        assert plain(restored.step(dict.fromkeys(restored.agents, "backward"))) == later


def test_a_restored_environment_is_not_told_its_hint_again() -> None:
    class Told(Lamps):
        count = 0

        def provide_indirect_hint(self, agent_id: str, hint: Any) -> None:
            self.count += 1

        def get_state(self) -> Any:
            return {**super().get_state(), "count": self.count}

        def set_state(self, state: Any) -> None:
            super().set_state(state)
            self.count = state["count"]

    env = piase_gym.as_parallel(Told())
    env.reset(seed=0)
    env.give_hint("agent_0", "look right")
    kept, digest = json.loads(json.dumps(env.snapshot())), env.digest()
    env.give_hint("agent_0", "look left")
    env.restore(kept)
    assert env.digest() == digest
    assert env.facts("agent_0").hint == "look right"
    env.give_hint("agent_0", "look left")
    assert env.digest() != digest
    assert env.world.get_state()["driver"]["env"]["count"] == 2


@pytest.mark.parametrize("part", ["last", "dice", "env"])
def test_a_damaged_state_changes_nothing(part: str) -> None:
    class Climb(Tower):
        def get_state(self) -> Any:
            return {"floor": self.floor}

        def set_state(self, state: Any) -> None:
            self.floor = state["floor"]

    env = piase_gym.as_parallel(Climb({"floors": 6}))
    env.reset(seed=0)
    damaged = json.loads(json.dumps(env.snapshot()))
    env.step({"agent_0": 0})
    shown, kept = plain(env.observe_all()[0]), env.snapshot()
    del damaged["state"]["driver"][part]
    with pytest.raises(SnapshotError):
        env.restore(damaged)
    assert env.snapshot() == kept
    assert plain(env.observe_all()[0]) == shown


def test_an_environment_without_a_reset_is_closed_before_the_next_is_made() -> None:
    alive: list[Street] = []

    class Lane(Street):
        def __init__(self) -> None:
            super().__init__()
            alive.append(self)

        def close(self) -> None:
            alive.remove(self)

    env = piase_gym.as_parallel(Lane())
    for seed in range(3):
        env.reset(seed=seed)
        assert len(alive) == 1
    env.close()
    assert not alive


def test_draws_of_the_environment_follow_the_seed_and_leave_the_callers_alone() -> None:
    env = piase_gym.as_parallel(Dice())
    random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    texts = [[row[0]["agent_0"]["text"] for row in play(env, seed)] for seed in (7, 8, 7)]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    assert texts[0] == texts[2] != texts[1]


def test_what_cannot_be_written_is_not_made_again(tmp_path: Path) -> None:
    class Odd(Tower):
        def __init__(self, config: dict[str, Any], extra: Any = None) -> None:
            super().__init__(config)

    path = tmp_path / "log.jsonl"
    env = AvtLogger(Odd({}, lambda: 1), path)
    play(env, 0)
    env.close()
    with pytest.raises(PiaseError, match="cannot be written as JSON"):
        runs.replay(path)
    with pytest.raises(ConfigError, match="cannot be made again"):
        piase_gym.as_parallel(Odd({}, lambda: 1)).reconfigure({"floors": 2})


# -- bad input -------------------------------------------------------------------------------------

FAULTS: Mapping[str, tuple[str, str]] = {
    "raise": ("raised", "ValueError: the stairs break"),
    "exit": ("raised", "SystemExit: 3"),
    "nothing": ("wrong_type", "the result of step is None"),
    "no observation": ("wrong_type", "the observation is 'floor 3'"),
    "no reward": ("wrong_type", "the reward is 'much'"),
    "nan": ("wrong_type", "the reward is nan"),
    "no flag": ("wrong_type", "the done flag of step is 'yes'"),
    "no info": ("wrong_type", "the info of step is None"),
    "word for number": ("wrong_shape", "now it is 'three'"),
    "array for number": ("wrong_shape", "had the shape (), now it has (4,)"),
    "new actions": ("spaces_changed", "'fly'"),
    "strange actions": ("spaces_changed", "'fly' is available"),
    "hang": ("hung", "no answer within 1 seconds"),
    "die": ("died", "process of the environment is gone"),
}


@pytest.mark.parametrize("how", FAULTS)
def test_own_environments_that_raise_hang_return_wrong_shapes_or_change_their_spaces(
    how: str, tmp_path: Path
) -> None:
    """The episode ends with a typed reason, and the log is whole; a hang needs a worker process."""
    reason, words = FAULTS[how]
    path, apart = tmp_path / "log.jsonl", how in ("hang", "die")
    own = Broken({"how": how})
    env = AvtLogger(piase_gym.as_parallel(own, timeout=1.0 if apart else None), path)
    for seed in (0, 1):
        env.reset(seed=seed)
        for _ in range(3):
            assert env.agents
            shown, rewards, ended, cut, infos = env.step({"agent_0": 0})
        assert not env.agents
        fault = infos["agent_0"]["fault"]
        assert (fault["reason"], ended, cut) == (reason, {"agent_0": False}, {"agent_0": True})
        assert words in fault["message"]
        assert (rewards["agent_0"], infos["agent_0"]["result"]) == (0.0, "lost")
        assert shown["agent_0"]["text"] == "You stand on floor 2 of 9."
    env.close()
    assert runs.validate(path).ok
    lines = [json.loads(line)["event_data"] for line in path.read_text("utf-8").splitlines()]
    logged = [line["fault"]["agent_0"]["reason"] for line in lines if "fault" in line]
    assert logged == [reason, reason]
    assert '"ACHIEVED"' not in path.read_text("utf-8")  # what breaks is no success
    report = runs.replay(path)
    assert (report.ok, report.complete, report.episodes) == (True, True, 2)


@pytest.mark.parametrize(
    ("info", "reward", "result"),
    [
        ({"won": False}, 1.0, "lost"),
        ({"success": True}, -1.0, "won"),
        ({"result": "drawn"}, 1.0, "drawn"),
        ({"result": "ended"}, 1.0, "ended"),
        ({"result": "a pity"}, 1.0, "won"),
        ({}, 1.0, "won"),
        ({}, -1.0, "lost"),
        ({"truncated": True}, 1.0, "lost"),
    ],
)
def test_an_episode_ends_as_the_environment_says_or_else_by_its_last_reward(
    info: dict[str, Any], reward: float, result: str
) -> None:
    class Once(Tower):
        def step(self, action: Action) -> Any:
            return self._look(), reward, True, info

    env = piase_gym.as_parallel(Once({}))
    env.reset(seed=0)
    assert env.step({"agent_0": 0})[4]["agent_0"]["result"] == result


def nested() -> Any:
    """Return a mapping that holds itself."""
    found: dict[str, Any] = {}
    found["self"] = found
    return found


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (10**400, "wrong_shape"),  # no number that a vector can have
        (nested(), "wrong_type"),
        (1j, "wrong_shape"),
        (np.longdouble(2), None),
        (np.complex128(2j), "wrong_shape"),
    ],
)
def test_observations_that_nobody_can_read_end_the_episode_with_a_typed_reason(
    shown: Any, reason: str | None, tmp_path: Path
) -> None:
    class View(Tower):
        def _look(self) -> Observation:
            return Observation({"text": "A view.", "floor": shown if self.floor > 1 else 0})

    path = tmp_path / "log.jsonl"
    env = AvtLogger(View({}), path, level="full")
    env.reset(seed=0)
    env.step({"agent_0": 0})
    *_, cut, infos = env.step({"agent_0": 0})
    assert cut == {"agent_0": reason is not None}
    assert infos["agent_0"].get("fault", {}).get("reason") == reason
    env.close()
    assert runs.validate(path).ok
    assert runs.replay(path).verdict == "sound"


def test_an_answer_of_a_worker_process_that_cannot_be_read_has_a_typed_reason() -> None:
    class Letter:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    class Sealed(Tower):
        def step(self, action: Action) -> Any:
            self._observation.structured["letter"] = Letter()
            return self._observation, 0.0, False, {}

    env = piase_gym.as_parallel(Sealed({}), timeout=20.0)
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": 0})
    assert infos["agent_0"]["fault"]["reason"] == "wrong_type"
    assert "the answer cannot be read: ValueError" in infos["agent_0"]["fault"]["message"]
    env.close()


def test_a_machine_that_starts_no_process_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **_more: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(OwnEnvironmentError, match="cannot be started: Too many open files"):
        piase_gym.as_parallel(Lamps(2), timeout=20.0)


def test_a_log_is_whole_where_a_state_cannot_be_told(tmp_path: Path) -> None:
    class Mute(Lamps):
        def get_state(self) -> Any:
            raise RuntimeError("not now")

    path = tmp_path / "log.jsonl"
    env = AvtLogger(Mute(), path, snapshot_every=1)
    env.reset(seed=0)
    env.step({"agent_0": 0})
    with pytest.raises(UnsupportedError, match="tells no state: RuntimeError: not now"):
        env.unwrapped.snapshot()
    env.close()
    assert runs.validate(path).ok
    assert runs.replay(path).verdict == "sound"


def test_states_may_have_integers_of_any_size_and_texts_of_any_length(tmp_path: Path) -> None:
    class Rolls(Lamps):
        """Has a generator of NumPy in its state, as its integers of 128 bits."""

        def get_state(self) -> Any:
            return {"dice": np.random.PCG64(7).state, "story": "x" * 2_000_000}

    path = tmp_path / "log.jsonl"
    env = AvtLogger(Rolls(), path)
    env.reset(seed=0)
    first = env.unwrapped.digest()
    env.step({"agent_0": 0})
    assert env.unwrapped.digest() != first
    env.close()
    assert runs.replay(path).verdict == "sound"


def test_a_reset_that_fails_ends_the_episode_with_its_first_step(tmp_path: Path) -> None:
    env = piase_gym.as_parallel(Broken({"how": "raise in reset"}))
    env.reset(seed=0)
    env.reset(seed=1)
    *_, cut, infos = env.step({"agent_0": 0})
    assert cut == {"agent_0": True}
    assert infos["agent_0"]["fault"] == {
        "reason": "raised",
        "message": "RuntimeError: no more episodes",
    }


def test_one_that_fails_at_once_is_refused() -> None:
    class Never(Tower):
        def reset(self) -> Any:
            raise RuntimeError("not today")

    with pytest.raises(OwnEnvironmentError, match="raised: RuntimeError: not today") as caught:
        piase_gym.as_parallel(Never({}))
    assert caught.value.fault.reason == "raised"
    with pytest.raises(UnknownFieldError, match="unknown key 'lamp'; did you mean 'lamps'"):
        piase_gym.parallel_env("Lamps", lamp=3)


def test_a_simulation_survives_a_fault() -> None:
    summary = Simulation(Broken({"how": "raise"}), "noop", max_steps=9).run()
    assert summary.steps == 9  # who waits calls nothing
    summary = Simulation(Broken({"how": "raise"}), seed=0).run()
    assert summary.finished
    assert summary.truncated == {"agent_0": True}
    assert summary.faults == {"agent_0": "raised: ValueError: the stairs break"}
    assert str(summary).endswith("the environment failed: raised: ValueError: the stairs break")


def test_whoever_does_not_look_at_infos_is_told_of_faults(caplog: pytest.LogCaptureFixture) -> None:
    class Weak(Broken):
        """Nothing of it was logged before."""

    for _ in range(2):
        Simulation(Weak({"how": "raise"}), seed=0).run(episodes=2)
    (line,) = caplog.records
    assert (line.name, line.levelname) == ("piase_gym", "WARNING")
    assert line.getMessage() == (
        "Weak failed (raised), and the episode is lost: ValueError: the stairs break"
    )
    assert "in step" in caplog.text  # where it was


def test_a_verb_of_its_own_comes_before_the_one_for_messages() -> None:
    done = []

    class Talk(Street):
        def get_environment_info(self) -> dict[str, Any]:
            return {"action_schema": {"tell": {"parameters": {"what": {"type": "string"}}}}}

        def execute_action(self, agent_id: str, action: str, params: Any = None) -> dict[str, Any]:
            done.append((agent_id, action, params))
            return {"status": "success"}

    env = piase_gym.as_parallel(Talk(), agents=2, actions="text")
    env.reset(seed=0)
    assert [tool["name"] for tool in env.world.tools(0)].count("tell") == 1
    *_, infos = env.step({"agent_0": "tell tales", "agent_1": "wait"})
    assert str(infos["agent_0"]["outcome"]) == "ok"
    assert done == [("agent_0", "tell", {"what": "tales"})]


def test_a_process_is_not_left_behind() -> None:
    env = piase_gym.parallel_env("Tower", timeout=20.0)
    process = env.world._driver._process
    env.close()
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends a signal")
def test_an_answer_that_was_interrupted_is_not_taken_for_the_next_one() -> None:
    class Slow(Lamps):
        def step(self, agent_id: str, action: Any) -> Any:
            time.sleep(1.5)
            return super().step(agent_id, action)

    env = piase_gym.as_parallel(Slow(2), timeout=20.0)
    first, _ = env.reset(seed=0)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            env.step({"agent_0": 2})  # lights a lamp
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    again, _ = env.reset(seed=0)
    assert again["agent_0"]["text"] == first["agent_0"]["text"]
    env.close()


def test_what_hangs_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    class Forks(Tower):
        """Forks, and both halves hang."""

        def step(self, action: Action) -> Any:
            child = os.fork()
            if child:
                Path(self.config["file"]).write_text(str(child), "utf-8")
            time.sleep(600)

    path = tmp_path / "child"
    env = piase_gym.as_parallel(Forks({"file": str(path)}), timeout=1.0)
    env.reset(seed=0)
    *_, infos = env.step({"agent_0": 0})  # which does not wait for the child
    assert infos["agent_0"]["fault"]["reason"] == "hung"
    env.close()
    child, deadline = int(path.read_text("utf-8")), time.monotonic() + 10
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.01)
    assert not _runs(child)


def _runs(process: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_may_end_without_closing_its_environments() -> None:
    code = f"""
        import piase_gym, {MODULE}
        env = piase_gym.parallel_env("Tower", timeout=20.0)
        env.reset(seed=0)
        """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")


def test_an_unknown_environment_is_named() -> None:
    with pytest.raises(ConfigError, match="import 'nowhere' first"):
        piase_gym.parallel_env("Tower", environment="nowhere:Tower")
    with pytest.raises(ConfigError, match="changes are calls of"):
        piase_gym.parallel_env("Tower", changes=[["reset", {}]])
    with pytest.raises((RunError, PiaseError)):
        piase_gym.parallel_env("NoSuchEnvironmentOfOurs")


def test_two_of_one_name_are_told_apart() -> None:
    def make(text: str) -> type[Any]:
        def look(_self: Any) -> Any:
            return Observation({"text": text})

        def step(self: Any, _action: Action) -> Any:
            return look(self), 0.0, True, {}

        space = {"properties": {"action": {"enum": ["go"]}}}
        parts = {"reset": look, "step": step, "get_action_space": lambda _self: space}
        return type("Twin", (BaseEnv,), {**parts, "__module__": text})

    one, two = make("one"), make("two")
    for kind in (one, two):
        env = piase_gym.as_parallel(kind())
        assert env.reset(seed=0)[0]["agent_0"]["text"] == kind.__module__
    with pytest.raises(ConfigError, match="environment='one:Twin' or environment='two:Twin'"):
        piase_gym.parallel_env("Twin")
    env = piase_gym.parallel_env("Twin", environment="two:Twin")
    assert env.reset(seed=0)[0]["agent_0"]["text"] == "two"


# -- the kit ---------------------------------------------------------------------------------------


ELSEWHERE = ("sb3_checker", "gymnasium_video", "human_mode")
"""Checks of other libraries, which cost most; one kind stands for all."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_kit_passes_on_an_own_environment_of_each_kind(kind: type[Any]) -> None:
    checks = [c.name for c in WORLD_CHECKS if kind is Tower or c.name not in ELSEWHERE]
    report = run_checks(kind.__name__, modules=(MODULE,), checks=checks).raise_failures()
    claims = {c for f in report.findings if f.status == "not claimed" for c in f.detail.split(", ")}
    never = {"readable", "native_text", "continuous", "late_join"}
    lacks = {"snapshot"} | ({"masks"} if kind in (Dice, Street) else set())
    assert claims == (never if kind is Lamps else never | lacks)


def test_piase_check_takes_its_name() -> None:
    done = piase("check", "Tower", "--module", MODULE, "--only", "results_come_with_ends")
    assert done.returncode == 0, done.stderr
    assert "1 passed" in done.stdout


# -- the documents' own examples -------------------------------------------------------------------


def printed(page: str, words: str) -> str:
    """Return the Python example of a document that has these words, as it is printed."""
    pages = sorted((SHARED / "seeds").glob(f"{page}_*.txt"))
    if not pages:
        pytest.skip("the PiaSE documents are not here")
    blocks = re.findall(r"```python\n(.*?)```", pages[0].read_text("utf-8"), re.S)
    found = [textwrap.dedent(block) for block in blocks if words in block]
    assert len(found) == 1
    return found[0]


def test_the_minimal_environment_of_the_llm_document_enters_everything(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "piase_gym.interfaces.env.simple"}
    names["__package__"] = "piase_gym.interfaces.env"  # beside `base_env`, as its imports ask
    exec(compile(printed("004", "class SimpleTextEnv"), "simple.py", "exec"), names)
    make = names["SimpleTextEnv"]
    path = tmp_path / "log.jsonl"
    env = AvtLogger(make({"goal": "finish", "max_steps": 4}), path)
    shown, _ = env.reset(seed=0)
    assert shown["agent_0"]["text"] == "You are in the initial state. Your goal is to finish."
    assert env.unwrapped.world.admissible_lines(0) == ["move forward", "move backward", "stay"]
    rewards = [env.step({"agent_0": action})[1]["agent_0"] for action in (0, 2, 0)]
    assert rewards == [0.0, 0.0, 1.0]
    env.close()
    assert runs.replay(path).ok
    assert Simulation(make({"max_steps": 9}), seed=1).run().finished
    world = BaseEnv("SimpleTextEnv", goal="win")
    assert world.reset().text.endswith("Your goal is to win.")
    report = run_checks("SimpleTextEnv", checks=["claims_are_true", "gymnasium_checker"])
    report.raise_failures()


def test_the_interaction_loop_of_the_llm_document_runs() -> None:
    class Player:
        def choose_action(self, _obs: Any) -> Action:
            return Action(text="climb")

    names = {"MyEnvironment": Tower, "config": {"floors": 3}, "agent": Player()}
    exec(printed("004", "agent.choose_action"), names)
    assert names["reward"] == 1.0
    assert names["done"] is True


def test_the_communication_node_of_the_explorer_document_polls_an_own_perception(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared = {"agent_id": "agent_0", "perception": Street()}
    names: dict[str, Any] = {"Node": object, "shared": shared}
    shared["message_to_others"] = "I found chair and table at position 3"
    exec(printed("003", 'perception.send_message(agent_id, "all", message)'), names)
    exec(printed("003", "class CommunicationNode"), names)
    node, other = names["CommunicationNode"](), {**shared, "agent_id": "agent_1"}
    ready = node.prep(other)
    assert node.post(other, ready, node.exec(ready)) == "default"
    assert [m["message"] for m in other["other_agent_messages"]] == [  # type: ignore[attr-defined]
        "I found chair and table at position 3"
    ]
    assert "[agent_1] Received 1 messages:" in capsys.readouterr().out


def test_what_puts_an_interface_over_a_world_is_no_environment_of_ones_own() -> None:
    class Mine(WorldEnvironment):
        """Somebody's changes to the environment over a world."""

    assert entry_point(Lamps) in own_classes
    for kind in (WorldEnvironment, Mine):
        assert kind.over_world is True
        assert entry_point(kind) not in own_classes
    assert Lamps.over_world is False


def test_an_environment_is_pickled_with_a_class_that_no_module_has(tmp_path: Path) -> None:
    class Beacons(Lamps):
        """As if it were defined in a cell of a notebook."""

    env = piase_gym.parallel_env(Beacons(2))
    env.reset(seed=0)
    data = cloudpickle.dumps(env)
    gc.disable()  # or what else cloudpickle makes may be gone by chance
    try:
        twin = pickle.loads(data)
        assert piase_gym.parallel_env("Beacons").config.kind is Beacons  # it has no other class
    finally:
        gc.enable()
    assert twin.step({"agent_0": 2})[1] == {"agent_0": 1.0}
    assert twin.world.config == env.config
    path = tmp_path / "env.pickle"
    path.write_bytes(data)
    code = (
        f"import pickle; env = pickle.load(open({str(path)!r}, 'rb')); "
        "print(env.step({'agent_0': 2})[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'agent_0': 1.0}\n"
