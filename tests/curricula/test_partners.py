"""Curricula that say who plays the other agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from piase_gym import curricula
from piase_gym.curricula import DevelopmentalCurriculum, simulated_learner
from piase_gym.curricula.learning_path import read_paths, table_rows
from piase_gym.errors import AgentError, CurriculumError

STEP = {
    "order": 1,
    "name": "Be kind",
    "episodes_per_attempt": 2,
    "completion_criteria": [{"metric": "measure.efficiency", "operator": ">=", "value": 1.0}],
    "max_attempts": 2,
    "environment_config_overrides": {"rounds": 4},
}


def plan(**fields: Any) -> DevelopmentalCurriculum:
    """A prisoner's dilemma that is complete if everybody cooperates."""
    whole = {"name": "Kind", "world": "SocialDilemma", "steps": [STEP], **fields}
    return DevelopmentalCurriculum(**whole)


@pytest.mark.parametrize(
    ("partner", "outcome"),
    [("tit_for_tat", "finished"), ("always_cooperate", "finished"), ("always_defect", "failed")],
)
def test_a_simulation_meets_the_partners(partner: str, outcome: str) -> None:
    made = plan(partners={"agent_1": partner})
    assert simulated_learner.simulate(made, 1.0).path.outcome == outcome


def test_partners_draw_the_same_for_the_same_seed() -> None:
    made = plan(partners={"agent_1": "random"})
    runs = [simulated_learner.simulate(made, 1.0, seed=seed, most=4) for seed in (3, 3, 4)]
    values = [[m.decision.values for m in run.path.moves] for run in runs]
    assert values[0] == values[1] != values[2]


def test_without_partners_others_are_oracles_and_hashes_stay() -> None:
    assert simulated_learner.simulate(plan(), 1.0).path.outcome == "finished"
    assert plan().sha256 == plan(partners={}).sha256 != plan(partners={"agent_1": "noop"}).sha256


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"partners": {"agent_1": "tit_for_tit"}}, "did you mean 'tit_for_tat'"),
        ({"partners": {"agent_0": "noop"}, "agent": "agent_0"}, "agent_0 is the agent that"),
        ({"partners": ["noop"]}, "partners"),
    ],
)
def test_wrong_partners_are_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(CurriculumError, match=words):
        plan(**fields)


def test_a_file_with_a_wrong_partner_is_told_with_its_line(tmp_path: Path) -> None:
    text = plan(partners={"agent_1": "noop"}).model_dump_json().replace('"noop"', '"nop"')
    (path := tmp_path / "kind.curriculum.json").write_text(text)
    with pytest.raises(CurriculumError, match=r"kind.curriculum.json:1:\d+: .*did you mean 'noop'"):
        curricula.load(path)


def test_seats_that_do_not_exist_are_refused() -> None:
    with pytest.raises(AgentError, match="no agent 'agent_7'"):
        simulated_learner.simulate(plan(partners={"agent_7": "noop"}), 1.0)


def test_training_leaves_the_partners_their_seats(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    from piase_gym.training.curriculum_run import (
        CurriculumTraining,
        CurriculumTrainingSettings,
        make_curriculum_env,
    )

    env = make_curriculum_env(curricula.load("give_and_take"), num_envs=2)
    assert env.agents == ("agent_0",)
    env.close()
    settings = CurriculumTrainingSettings(
        curriculum="give_and_take", steps=2048, num_envs=16, num_steps=32
    )
    run = CurriculumTraining(settings, tmp_path)
    looks: list[Any] = []
    run.train(looks.append)
    run.close()
    assert looks[-1].steps >= 2048
    assert looks[-1].won == 0.0  # nobody wins these games, though episodes end
    (learning_path,) = read_paths(tmp_path)
    assert learning_path.judged_by == "measure.efficiency"
    assert table_rows(learning_path)[0][6].endswith("%")
