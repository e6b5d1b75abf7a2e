"""Importing piase_gym is light."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import piase_gym
from piase_gym import interfaces
from tests.helpers.cli_runner import environment

HEAVY = (
    "numba",
    "llvmlite",
    "pybullet",
    "faiss",
    "torch",
    "nicegui",
    "pandas",
    "matplotlib",
    "PIL",
)


TABLES = (
    "piase_gym.worlds.household.levels.ids",
    "piase_gym.worlds.object_search.levels.ids",
    "piase_gym.worlds.physics_playground.levels.tasks",
    "piase_gym.worlds.social_dilemma.games",
    "piase_gym.worlds.sql_query.levels.ids",
    "piase_gym.worlds.text_room.levels.ids",
    "piase_gym.worlds.word_craft.levels.ids",
)
"""Plain data, from which the ids are registered. Nothing else of a world is loaded."""


def _parents(module: str) -> set[str]:
    """Return the packages of a world in which a module lies."""
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(3, len(parts))}


def run(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, json, piase_gym; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(run(code))
    assert not [name for name in HEAVY if name in loaded]
    worlds = {name for name in loaded if name.startswith("piase_gym.worlds.")}
    packages = {package for name in TABLES for package in _parents(name)}
    assert worlds == packages | set(TABLES)


def test_listing_worlds_and_tasks_loads_nothing_heavy() -> None:
    code = (
        "import sys, json, piase_gym; piase_gym.list_worlds(); piase_gym.list_tasks(); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    loaded = json.loads(run(code))
    assert not [name for name in HEAVY if name in loaded]


def test_worlds_can_be_listed_after_their_package_was_imported() -> None:
    code = (
        "import piase_gym, piase_gym.worlds.grid_world; "
        "print(piase_gym.worlds.__name__, piase_gym.list_worlds())"
    )
    assert run(code).startswith("piase_gym.worlds ('GridWorld', ")


def test_public_names_exist() -> None:
    code = (
        "import piase_gym; print([n for n in piase_gym.__all__ if not hasattr(piase_gym, n)], "
        "set(piase_gym.__all__) - set(dir(piase_gym)))"
    )
    assert run(code).strip() == "[] set()"


def test_the_interfaces_of_the_documents_are_public_and_imported_when_asked_for() -> None:
    names = [name for name in interfaces.__all__ if name in piase_gym.__all__]
    assert names == [
        "AbstractEnvironment",
        "BaseEnv",
        "Environment",
        "EnvironmentInterface",
        "PerceptionInterface",
        "as_parallel",
        "register_env",
    ]
    for name in names:
        assert getattr(piase_gym, name) is getattr(interfaces, name)
    code = "import sys, piase_gym; print([m for m in sys.modules if 'interfaces' in m])"
    assert run(code).strip() == "[]"


@pytest.mark.parametrize(
    "program", ["piase_gym.training.ppo", "piase_gym.testing.model_server", "examples.level_replay"]
)
def test_programs_need_no_docstrings(program: str) -> None:
    words = [sys.executable, "-OO", "-m", program, "--help"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120, env=environment()
    )
    assert done.stdout.startswith("usage: "), done.stderr
    assert "None" not in done.stdout
