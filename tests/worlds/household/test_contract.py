"""Household is held to the contract, with homes of its own and with a game's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym.testing import check_world
from tests.probes.checks import check_damage
from tests.worlds.household.helpers import game_file

CONFIGS: dict[str, dict[str, Any]] = {
    "explained": {"feedback": "explain", "lists_commands": False, "rewards": {"subgoal": 0.3}},
    "team": {"agents": 3, "message_delay": 2, "grammar": "both", "split": "valid_unseen"},
}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_homes_conform(config: str) -> None:
    check_world("Household", max_steps=12, receptacles=6, objects=8, **CONFIGS[config])


@pytest.mark.slow
def test_a_game_of_a_file_conforms(tmp_path: Path) -> None:
    check_world("Household", max_steps=12, game=game_file(tmp_path), agents=2)


def test_damaged_states_are_refused() -> None:
    check_damage("Household", {"agents": 2}, agents=3)
