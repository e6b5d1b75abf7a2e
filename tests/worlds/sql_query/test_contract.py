"""SqlQuery is held to the contract, with questions of its own and a folder like InterCode's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym.testing import check_world
from tests.probes.checks import check_damage
from tests.worlds.sql_query.intercode_files import needs_sqlglot, write_files

CONFIGS: dict[str, dict[str, Any]] = {
    "team": {"agents": 3, "message_delay": 2, "answer": "best", "tables": 2},
    "writing": {"agents": 2, "writes": 1.0, "tables": 1, "columns": 4},
    "discovered": {"discover": True, "rewards": {"error": -0.1}, "reward_mode": "original"},
}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_questions_conform(config: str) -> None:
    check_world("SqlQuery", max_steps=5, **CONFIGS[config])


@pytest.mark.slow
@needs_sqlglot
def test_a_dataset_conforms(tmp_path: Path) -> None:
    check_world("SqlQuery", dataset=str(write_files(tmp_path)), agents=2)


def test_damaged_states_are_refused() -> None:
    check_damage("SqlQuery", {"agents": 2}, agents=3)
