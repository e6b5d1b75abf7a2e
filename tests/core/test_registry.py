"""One table fills both registries, and every row can be made, written as JSON and read back."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv

import piase_gym
from piase_gym import registry, scenarios
from piase_gym.agents import NoopAgent
from piase_gym.envs.parallel import parallel_env
from piase_gym.errors import (
    AgentError,
    ConfigError,
    MissingExtraError,
    PiaseError,
    ScenarioError,
    UnknownNameError,
)
from piase_gym.interfaces import BaseEnv, Environment
from piase_gym.names import parse_text, task_fields
from piase_gym.play.describing import describe
from piase_gym.registry import TaskSpec, WorldSpec
from tests.helpers.needs import each, here

WORLDS = tuple(
    name
    for name in registry.list_worlds()
    if registry.world_spec(name).world.startswith("piase_gym.")
)
TASKS = tuple(task for world in WORLDS for task in registry.list_tasks(world))


def pettingzoo_ids(api: str) -> list[str]:
    """Return our ids in PettingZoo's registry."""
    rows = {"parallel": pettingzoo.parallel_registry, "aec": pettingzoo.aec_registry}[api]
    return sorted(name for name in rows if name.startswith("piase/"))


# -- what is registered -------------------------------------------------------------------


def test_gymnasium_knows_exactly_our_ids() -> None:
    ids = sorted(n for n in gymnasium.registry if n.startswith("piase/"))
    assert ids == sorted([*TASKS, registry.TEAM])
    teams = sorted(n for n in gymnasium.registry if n.startswith("piase-team/"))
    assert teams == sorted(task.replace("piase/", "piase-team/") for task in TASKS)


@pytest.mark.parametrize("api", ["parallel", "aec"])
def test_pettingzoo_knows_exactly_our_ids(api: str) -> None:
    assert pettingzoo_ids(api) == list(TASKS)


def test_every_task_is_listed_once_under_its_world() -> None:
    assert sorted(t for world in WORLDS for t in registry.list_tasks(world)) == list(TASKS)
    for world in here(WORLDS):
        version = registry.load(registry.world_spec(world).world).version
        assert f"piase/{world}-v{version}" in registry.list_tasks(world)
        assert all(task.startswith(f"piase/{world}-") for task in registry.list_tasks(world))


def test_the_lists_are_public() -> None:
    assert set(TASKS) <= set(piase_gym.list_tasks())
    parallel_env("GridWorld")  # imports the subpackage of the same name
    assert set(WORLDS) <= set(piase_gym.list_worlds())


@pytest.mark.parametrize("world", each(WORLDS))
def test_the_entry_points_of_a_world_exist(world: str) -> None:
    spec = registry.world_spec(world)
    made = registry.load(spec.world)
    assert made.name == registry.load(spec.config).world == world
    assert callable(registry.load(spec.parser))
    if spec.oracle is not None:
        assert callable(registry.load(spec.oracle))
    assert spec.summary.endswith(".")


@pytest.mark.parametrize("task", each(TASKS))
def test_every_id_can_be_made_everywhere(task: str) -> None:
    env = gymnasium.make(task)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    parallel = pettingzoo.make("parallel", task)
    parallel.reset(seed=0)
    aec = pettingzoo.make("aec", task)
    aec.reset(seed=0)
    assert parallel.possible_agents == aec.possible_agents
    assert parallel.unwrapped.digest() == env.unwrapped.digest()
    assert parallel.unwrapped.config == registry.make_config(
        registry.world_spec(env.unwrapped.world.name),
        task_fields(registry.task_spec(task)),
    ).pinned(parallel.unwrapped.world.envelope)
    for made in (env, parallel, aec):
        made.close()


@pytest.mark.parametrize("task", each(TASKS))
def test_a_spec_goes_through_json_and_makes_the_same_env(task: str) -> None:
    fields: dict[str, Any] = {"max_steps": 7, "view": "vector", "mask": None}
    env = gymnasium.make(task, **fields)
    spec = env.spec
    assert spec is not None
    read = EnvSpec.from_json(spec.to_json())
    assert read.kwargs == {"world": task, **fields}
    assert json.loads(spec.to_json())["entry_point"] == "piase_gym.envs.single:make_task"
    twin = gymnasium.make(read)
    observations = env.reset(seed=3)[0], twin.reset(seed=3)[0]
    np.testing.assert_array_equal(*observations)
    for number, place in enumerate((3, 1, 0, 2, 4, 3, 1)):
        action = place % int(env.action_space.n)  # type: ignore[attr-defined]
        one, other = env.step(action), twin.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:3] == other[1:3]
        assert other[3] == (one[3] or (one[2] and number == 6))  # Gymnasium's TimeLimit adds it
        assert env.unwrapped.digest() == twin.unwrapped.digest()
        if one[2] or one[3]:
            break
    assert one[2] or one[3], "max_steps was lost"


def test_a_task_without_the_import_is_found_by_module() -> None:
    assert gymnasium.make("piase_gym:piase/GridWorld-v1").unwrapped.world.name == "GridWorld"


# -- names --------------------------------------------------------------------------------


def test_names_that_contain_what_was_written_are_listed_first() -> None:
    told = str(UnknownNameError("id", "Maze", ["Boxes-v1", "Maze-7-v1", "Tag-v1", "maze-9-v1"]))
    assert told == "unknown id 'Maze'; allowed: 'Maze-7-v1', 'maze-9-v1', 'Boxes-v1', 'Tag-v1'"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: registry.world_spec("GridWrold"), ("world", "'GridWrold'", "'GridWorld'?")),
        (lambda: registry.list_tasks("GridWrold"), ("world", "'GridWrold'", "'GridWorld'?")),
        (lambda: registry.task_spec("piase/GridWorld-v10"), ("id", "'piase/GridWorld-v1'?")),
        (lambda: registry.find("GridWrold"), ("world or id", "'GridWorld'?")),
        (lambda: registry.find("piase/GridWrold-v0"), ("id", "'piase/GridWorld-v1'?")),
        (lambda: registry.find("zebra"), ("'zebra'", "allowed", "'GridWorld'")),
        (lambda: parse_text("GridWrold", ""), ("world, id or scenario", "'GridWorld'?")),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(
    call: Callable[[], object], words: tuple[str, ...]
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        call()
    assert [word for word in words if word not in str(caught.value)] == []
    assert isinstance(caught.value, PiaseError)
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize("name", [None, 3, b"GridWorld", ["GridWorld"], object()])
def test_a_name_is_a_string(name: object) -> None:
    with pytest.raises(ConfigError, match="named by a string"):
        registry.find(name)
    if isinstance(name, bytes | int):
        with pytest.raises(UnknownNameError, match="unknown world"):
            piase_gym.list_tasks(name)  # type: ignore[arg-type]


def test_a_task_may_be_named_with_its_module() -> None:
    assert registry.task_spec("piase_gym:piase/GridWorld-v1").id == "piase/GridWorld-v1"


SEED_NAMES = [
    *("SocialDilemmaSim", "TextBasedRoom", "TextBasedRoom_v1", "GridWorld", "PhysicsPlayground"),
    *("lost_key", "piase_gym:piase/TextRoom-LostKey-v3"),
]


@pytest.mark.parametrize("name", [*SEED_NAMES, "tests/own.yaml", None])
def test_every_entry_takes_every_name(name: str | None, tmp_path: Path) -> None:
    if name == "PhysicsPlayground":
        pytest.importorskip("pybullet")
    if name == "tests/own.yaml":
        (tmp_path / "own.yaml").write_text("base: lost_key\nconfig: {max_steps: 7}\n", "utf-8")
        name = str(tmp_path / "own.yaml")
    given: Any = scenarios.load("lost_key") if name is None else name
    text: dict[str, Any] = {"view": "text", "actions": "text"}
    envs: list[Any] = [
        parallel_env(given, **text),
        piase_gym.aec_env(given, **text),
        piase_gym.gym_env(given, **text),
        gymnasium.make_vec(
            EnvSpec("own/It-v0", vector_entry_point="piase_gym.envs.vector:make_vector"),
            num_envs=1,
            world=given,
            **text,
        ),
        Environment(given),
        BaseEnv(given),
        piase_gym.Simulation(given),
    ]
    for env in envs:
        inner = env.world_env if isinstance(env, piase_gym.Simulation) else env
        inner = inner.envs[0] if isinstance(inner, SyncVectorEnv) else inner.unwrapped
        assert inner.world.config == envs[0].world.config
        env.close()
    if envs[0].world.capabilities.batched:
        assert piase_gym.batch_env(given, num_envs=1).world.config == envs[0].config
    if isinstance(given, str):
        assert describe(given, {})["config"]
    if "own" in str(given):
        assert envs[0].config.max_steps == 7


@pytest.mark.parametrize(
    "make",
    [
        parallel_env,
        piase_gym.aec_env,
        piase_gym.gym_env,
        piase_gym.Simulation,
        Environment,
        BaseEnv,
    ],
)
def test_an_unknown_name_is_refused_alike_everywhere(make: Callable[..., object]) -> None:
    with pytest.raises(UnknownNameError, match=r"world, id or scenario 'lost_kye'.*'lost_key'"):
        make("lost_kye")
    with pytest.raises(ConfigError, match="named by a string"):
        make(3)
    if make is not piase_gym.Simulation:  # whose scenario has no second place
        with pytest.raises(ScenarioError, match="not both"):
            make("lost_key", scenario="stone_gate")


def test_a_simulation_takes_the_number_of_agents() -> None:
    for simulation in (
        piase_gym.Simulation("GridWorld", "random", agents=2),
        piase_gym.Simulation("GridWorld", agents=2, policies="random"),
        piase_gym.Simulation("GridWorld", agents=2),
    ):
        assert simulation.manager.names == ("agent_0", "agent_1")
        assert {type(agent).__name__ for agent in simulation.manager.agents.values()} == {
            "RandomAgent"
        }
    assert isinstance(
        piase_gym.Simulation("GridWorld", agents="noop").manager.agents["agent_0"], NoopAgent
    )
    with pytest.raises(ConfigError, match="policies"):
        piase_gym.Simulation("GridWorld", "random", agents="noop")


def test_one_policy_may_stand_for_all_partners() -> None:
    task = "piase/GridWorld-v1"

    def seats(env: Any) -> dict[int, str]:
        return {number: type(agent).__name__ for number, agent in env.items()}

    for partners in ("scripted", {"*": "scripted"}):
        fields: dict[str, Any] = {"agents": 3, "partners": partners}
        expected = {1: "ScriptedAgent", 2: "ScriptedAgent"}
        assert seats(piase_gym.gym_env("GridWorld", **fields).runner.partners) == expected
        made: Any = gymnasium.make(task, **fields).unwrapped
        assert seats(made.runner.partners) == expected
        base: Any = BaseEnv("GridWorld", **fields)
        assert seats(base.runner.partners) == expected
        with pytest.warns(UserWarning, match="no act_batch"):
            vector: Any = gymnasium.make_vec(task, num_envs=2, **fields)
        assert seats(vector.batch.partners) == expected
        for make in (parallel_env, functools.partial(piase_gym.batch_env, num_envs=2)):
            with pytest.raises(AgentError, match=r"no agent to the caller.*'agent_2': 'scripted'"):
                make("GridWorld", **fields)
    agent = NoopAgent()
    assert piase_gym.gym_env("GridWorld", agents=2, partners=agent).runner.partners == {1: agent}
    with pytest.raises(ConfigError, match="one agent object cannot play several"):
        piase_gym.gym_env("GridWorld", agents=3, partners=agent)
    with pytest.raises(ConfigError, match="a policy, or a mapping"):
        piase_gym.gym_env("GridWorld", agents=3, partners=["noop"])


# -- parsing by name ----------------------------------------------------------------------


@pytest.mark.parametrize("task", each(TASKS))
def test_text_is_read_back_by_id(task: str) -> None:
    env = parallel_env(task)
    observations, _ = env.reset(seed=5)
    name = env.agents[0]
    assert parse_text(task, observations[name]["text"]) == env.facts(name)


@pytest.mark.parametrize(
    "fields", [{}, {"width": 5, "agents": 2, "window": 3}, {"observe": "grid", "height": 4}]
)
def test_text_is_read_back_by_world_name_under_its_config(fields: dict[str, Any]) -> None:
    env = parallel_env("GridWorld", **fields)
    observations, _ = env.reset(seed=5)
    for name in env.agents:
        text = observations[name]["text"]
        assert parse_text("GridWorld", text, fields) == env.facts(name)
        assert parse_text("GridWorld", text, env.config) == env.facts(name)


def test_fields_given_with_an_id_come_on_top_of_its_own() -> None:
    task = "piase/GridWorld-DoorKey-8x8-v1"
    env = parallel_env(task, agents=2, window=5)
    observations, _ = env.reset(seed=1)
    text = observations["agent_1"]["text"]
    assert parse_text(task, text, {"agents": 2, "window": 5}) == env.facts("agent_1")


@pytest.mark.parametrize("config", [3, "x", ["agents"]])
def test_a_config_to_parse_under_is_a_config(config: Any) -> None:
    text = parallel_env("GridWorld").reset(seed=0)[0]["agent_0"]["text"]
    with pytest.raises(ConfigError):
        parse_text("GridWorld", text, config)


@pytest.mark.parametrize("text", [None, 3, b"You are"])
def test_a_text_to_parse_is_a_string(text: Any) -> None:
    with pytest.raises(PiaseError):
        parse_text("GridWorld", text)


# -- registering --------------------------------------------------------------------------


def test_a_world_may_have_aliases(spare_registries: None) -> None:
    spec = dataclasses.replace(registry.world_spec("GridWorld"), aliases=("Mesh",))
    registry.register_world(spec)
    assert registry.find("Mesh") == (spec, None)
    assert "Mesh" not in registry.list_worlds()
    assert registry.list_tasks("Mesh") == registry.list_tasks("GridWorld")


def test_a_task_of_an_unknown_world_is_refused_everywhere(spare_registries: None) -> None:
    with pytest.raises(UnknownNameError, match="'GridWorld'"):
        registry.register_task(TaskSpec(id="piase/GridWord-Mine-v0", world="GridWord"))
    assert "piase/GridWord-Mine-v0" not in registry.list_tasks()
    assert "piase/GridWord-Mine-v0" not in gymnasium.registry


def test_registering_an_id_again_changes_nothing() -> None:
    task = "piase/GridWorld-v1"
    before = registry.task_spec(task), gymnasium.registry[task]
    registry.register_task(TaskSpec(id=task, world="GridWorld", config={"width": 4}))
    assert (registry.task_spec(task), gymnasium.registry[task]) == before


def test_importing_again_registers_nothing_twice() -> None:
    importlib.reload(importlib.import_module("piase_gym.shipped")).register_shipped()
    assert set(registry.list_tasks()) >= set(TASKS)
    assert len(registry.list_tasks()) == len(set(registry.list_tasks()))


def test_a_missing_extra_is_named(spare_registries: None) -> None:
    spec = WorldSpec(
        name="Marbles",
        summary="Roll.",
        world="not_there:Marbles",
        config="piase_gym.worlds.grid_world.config:GridWorldConfig",
        parser="not_there:parse",
        extra="physics",
    )
    registry.register_world(spec)
    for call in (lambda: parallel_env("Marbles"), lambda: parse_text("Marbles", "x")):
        with pytest.raises(MissingExtraError, match=r"Marbles needs .*piase-gym\[physics\]"):
            call()


def test_a_broken_import_of_a_world_without_extras_is_not_hidden() -> None:
    with pytest.raises(ModuleNotFoundError, match="not_there"):
        registry.load("not_there:thing", registry.world_spec("GridWorld"))


def test_a_config_is_a_mapping() -> None:
    spec = registry.world_spec("GridWorld")
    with pytest.raises(ConfigError, match=r"^GridWorld: a config is a mapping, not str$"):
        registry.make_config(spec, "width=5")  # type: ignore[arg-type]
