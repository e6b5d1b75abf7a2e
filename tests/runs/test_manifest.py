"""The manifest of a run: what is in it, and which are refused; commands as logs have them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym import runs
from piase_gym.agents import make_agent
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.core.digest import digest_json
from piase_gym.errors import ConfigError, RunError
from piase_gym.runs.manifest import (
    check_manifest,
    command_table,
    make_manifest,
    plain_config,
    policy_of,
    rebuild,
    versions,
)
from piase_gym.runs.options import ENTRIES, Options
from piase_gym.runs.replayer import read_act
from tests.helpers.log_lines import MANIFEST
from tests.helpers.run_worlds import text

GONE = object()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"schema_version": 1}, ""),
        ({"policies": {}, "levels": {}, "milestones": ["x"], "measures": ["y"]}, ""),
        ({"actions": [{}]}, ""),
        ({"schema_version": 0}, "schema_version is 0, not a version of this schema"),
        ({"schema_version": True}, "schema_version is True, not a version of this schema"),
        ({"schema_version": 1.0}, "schema_version is 1.0, not a version of this schema"),
        ({"schema_version": GONE}, "schema_version is None, not a version of this schema"),
        ({"schema_version": 4}, "this log has schema version 4; this piase_gym reads versions up"),
        ({"world": 3}, "the manifest's 'world' is missing or not a str"),
        ({"num_envs": GONE}, "the manifest's 'num_envs' is missing or not a int"),
        ({"config": []}, "the manifest's 'config' is missing or not a dict"),
        ({"policies": []}, "the manifest's 'policies' is not a dict"),
        ({"levels": "full"}, "the manifest's 'levels' is not a dict"),
        ({"agents": ["a", 3]}, "the manifest's 'agents' is not a list of names"),
        ({"milestones": "x"}, "the manifest's 'milestones' is not a list of names"),
        ({"measures": [None]}, "the manifest's 'measures' is not a list of names"),
        ({"actions": [3]}, "the manifest's 'actions' is not a list of commands"),
    ],
)
def test_manifests_have_what_reading_needs(change: dict[str, Any], told: str) -> None:
    manifest = {name: value for name, value in (MANIFEST | change).items() if value is not GONE}
    if not told:
        check_manifest(manifest)
        return
    with pytest.raises(RunError) as caught:
        check_manifest(manifest)
    assert str(caught.value).startswith(f"line 1: {told}")


def manifest_of(world: Any, **options: Any) -> dict[str, Any]:
    """Return the manifest of a world whose second agent is played by a policy."""
    player: Any = SimpleNamespace(policy_id=lambda: "fixed")
    events = SimpleNamespace(origin={"scenario": {"name": "s"}})
    env: Any = SimpleNamespace(world=world, partners={1: player}, events=events, num_envs=3)
    return make_manifest(env, "parallel", Options(**options))


def test_an_entry_of_ones_own_replaces_none_of_the_manifest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="every manifest has 'world'; give the entry another"):
        runs.record(text(), tmp_path / "run.jsonl", more={"world": "x"})
    assert not (tmp_path / "run.jsonl").exists()


def test_a_manifest_says_all_that_is_needed_to_run_again() -> None:
    world = text().unwrapped.world
    config = plain_config(world.config)
    assert config["agents"] == 2
    assert "envelope" in config
    found = manifest_of(world, level="full", levels={"system": "critical"}, more={"note": 1})
    assert [*found] == [*ENTRIES, "note"]
    assert found == {
        "control": "start",
        "schema_version": 3,
        "world": "TextProbe",
        "world_version": world.version_of(world.config),
        "config": config,
        "config_hash": digest_json(config),
        "scenario": {"name": "s"},
        "curricula": {},
        "face": "parallel",
        "num_envs": 3,
        "agents": ["agent_0", "agent_1"],
        "policies": {"agent_0": "caller", "agent_1": "fixed"},
        "actions": [],
        "milestones": ["key_taken", "door_unlocked", "jewel_taken"],
        "measures": [],
        "level": "full",
        "levels": {"system": "critical"},
        "versions": versions(),
        "note": 1,
    }
    again = rebuild(found)
    assert again is not world
    assert (again.name, again.config) == ("TextProbe", world.config)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"world_version": 9}, "this run is of TextProbe version 9; here is version "),
        ({"agents": ["x"]}, "the manifest's agents are not those of its config: "),
        ({"config": {"colour": 1}}, "the manifest's config is not one of TextProbe: "),
        ({"config": {"environment": "mine:Env"}}, "this run is of 'mine:Env', an environment of"),
    ],
)
def test_worlds_that_cannot_be_made_again_are_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(RunError) as caught:
        rebuild(manifest_of(text().unwrapped.world) | change)
    assert str(caught.value).startswith(f"line 1: {told}")


def test_an_envelope_is_part_of_a_config() -> None:
    def dumps(**values: Any) -> Any:
        return lambda mode: {**values, "mode": mode}

    envelope = SimpleNamespace(model_dump=dumps(items=3))
    config = SimpleNamespace(model_dump=dumps(agents=2), envelope=envelope)
    inner = {"items": 3, "mode": "json"}
    assert plain_config(config) == {"agents": 2, "mode": "json", "envelope": inner}
    config.envelope = None
    assert plain_config(config) == {"agents": 2, "mode": "json"}


def test_versions_are_those_that_are_installed() -> None:
    found = versions()
    names = "piase-gym gymnasium numba numpy orjson pettingzoo pydantic".split()
    assert [*found] == ["python", "platform", *names]
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["numpy"] == np.__version__


def test_damaged_manifests_make_no_world() -> None:
    with pytest.raises(RunError, match="schema version 99"):
        rebuild(MANIFEST | {"schema_version": 99})


def test_tables_of_commands_are_those_that_never_change() -> None:
    commands = (Command("stay", {}), Command("go", {"to": "x"}))
    world: Any = SimpleNamespace(fixed_actions=True, commands=commands)
    assert command_table(world) == [
        {"type": "stay", "parameters": {}},
        {"type": "go", "parameters": {"to": "x"}},
    ]
    world.fixed_actions = False
    assert command_table(world) == []


def test_players_without_a_name_are_named_by_their_class() -> None:
    class Mine:
        def policy_id(self) -> str:
            return ""

    assert policy_of(None) == "caller"
    assert policy_of(Mine()) == f"{__name__}:{Mine.__qualname__}"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["population:noop,random", "best_response:tit_for_tat", "noop"])
def test_players_have_the_names_by_which_they_were_made(name: str) -> None:
    assert policy_of(make_agent(name)) == name


@pytest.mark.parametrize(
    ("logged", "act"),
    [
        (None, None),
        (0, 0),
        (-3, -3),
        ({"type": "go", "parameters": {"to": "x"}}, Command("go", {"to": "x"})),
        ({"misread": "unparsable"}, InvalidAction(Outcome.UNPARSABLE, "")),
        ({"misread": "too_long", "message": 3}, InvalidAction(Outcome.TOO_LONG, "3")),
    ],
)
def test_logged_commands_are_read(logged: Any, act: Any) -> None:
    assert read_act(logged) == act


@pytest.mark.parametrize(
    "logged",
    [True, 1.0, "go", [], {}, {"type": "go"}, {"type": 3, "parameters": {}}, {"misread": "odd"}],
)
def test_what_is_no_command_is_not_read(logged: Any) -> None:
    with pytest.raises(RunError, match="a command is an index or has type and parameters; it is"):
        read_act(logged)
