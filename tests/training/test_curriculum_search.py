"""Candidates for a curriculum are trained side by side, tested apart, and ranked."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from piase_gym import curricula
from piase_gym.benchmarks.evaluation import levels
from piase_gym.benchmarks.evaluation.statistics import share_interval
from piase_gym.cli.app import app
from piase_gym.curricula.export import dumps
from piase_gym.errors import ConfigError, JobError, UnknownNameError
from piase_gym.jobs import InProcess, Processes
from piase_gym.registry import find, load, make_config

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import curriculum_evaluation, curriculum_search
from piase_gym.training.curriculum_env import make_curriculum_env
from piase_gym.training.curriculum_evaluation import LastStepEvaluator
from piase_gym.training.curriculum_search import SearchJob, ranked, search, train_candidate
from piase_gym.training.curriculum_settings import CurriculumTrainingSettings, import_ppo

SMALL: dict[str, Any] = {"steps": 512, "num_envs": 8, "num_steps": 32, "whole": True}
OPTIONS = "--seeds 0-1 --steps 256 --num-envs 4 --num-steps 16 --tests 5".split()


def jobs(*directors: str, curriculum: str = "door_key", seeds: int = 2) -> list[SearchJob]:
    """Return small trainings."""
    return [
        SearchJob(
            CurriculumTrainingSettings(curriculum=curriculum, director=leads, seed=seed, **SMALL), 6
        )
        for seed in range(seeds)
        for leads in directors
    ]


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return what a search has written, by key."""
    told = (folder / "trainings.jsonl").read_text("utf-8").splitlines()
    return sorted((json.loads(line) for line in told), key=lambda line: str(line["key"]))


def test_results_are_the_same_from_any_number_of_processes(tmp_path: Path) -> None:
    todo = jobs("scripted", "randomisation")
    rows = search(todo, tmp_path / "one", InProcess())
    assert search(todo, tmp_path / "two", Processes(1)) == rows  # a second one costs seconds
    found = lines(tmp_path / "one")
    assert lines(tmp_path / "two") == found
    assert {row.candidate for row in rows} == {"door_key by scripted", "door_key by randomisation"}
    assert [row.runs for row in rows] == [2, 2]
    assert len({(line["candidate"], line["settings"]["seed"]) for line in found}) == 4
    assert all(line["steps"] == 512 and len(line["won"]) == 6 for line in found)


def test_what_is_finished_is_not_trained_again(tmp_path: Path) -> None:
    search(jobs("scripted", seeds=1), tmp_path)
    (before,) = lines(tmp_path)
    told: list[tuple[str, int, int]] = []
    todo = jobs("scripted")
    search(todo, tmp_path, progress=lambda out, done, all_: told.append((out.name, done, all_)))
    assert told == [("door_key by scripted, seed 1", 1, 1)]
    kept = lines(tmp_path)
    assert before in kept
    with (tmp_path / "trainings.jsonl").open("a") as file:
        file.write('{"note": "not a training"}\n')
    assert search(todo, tmp_path) == ranked(kept)
    changed = [replace(job, tests=7) for job in todo]
    assert not {job.key for job in changed} & {job.key for job in todo}


def test_tests_are_on_levels_that_training_never_meets(tmp_path: Path) -> None:
    (job,) = jobs("scripted", seeds=1)
    search([job], tmp_path)
    (line,) = lines(tmp_path)
    last = curricula.load("door_key").steps[-1]
    spec = find("GridWorld")[0]
    world = load(spec.world, spec)(make_config(spec, last.fields))
    hashes = [levels.level_of(world, seed) for seed in line["levels"]]
    assert len(set(hashes)) == 6
    assert {levels.part_of(level) for level in hashes} == {"held_out"}


def line_of(candidate: str, seed: int, won: list[int], outcome: str) -> dict[str, Any]:
    return {"candidate": candidate, "settings": {"seed": seed}, "won": won, "outcome": outcome}


def test_candidates_are_ranked_by_the_mean_of_their_trainings() -> None:
    rows = ranked(
        [
            line_of("a", 1, [0, 0, 0, 1], "failed"),
            line_of("b", 0, [1, 1, 1, 0], "finished"),
            line_of("a", 0, [1, 0, 0, 1], "running"),
            line_of("b", 1, [1, 1, 1, 1], "finished"),
        ]
    )
    assert [(row.candidate, row.runs, row.finished) for row in rows] == [("b", 2, 2), ("a", 2, 0)]
    runs = [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    assert rows[1].success == share_interval(runs)
    assert rows[0].success.estimate == 7 / 8


def test_mistakes_are_told_before_anything_is_trained(tmp_path: Path) -> None:
    one = jobs("scripted", seeds=1)
    with pytest.raises(ConfigError, match="door_key and rooms end in different tasks"):
        search([*one, *jobs("scripted", curriculum="rooms", seeds=1)], tmp_path)
    with pytest.raises(ConfigError, match="door_key by scripted, seed 0 is there twice"):
        search([*one, *one], tmp_path)
    with pytest.raises(UnknownNameError, match="learning_progres"):
        search([*one, *jobs("learning_progres", seeds=1)], tmp_path)
    with pytest.raises(ConfigError, match="at least one level, not 0"):
        search([replace(one[0], tests=0)], tmp_path)
    with pytest.raises(ConfigError, match="name a curriculum and a seed"):
        search([], tmp_path)
    assert not list(tmp_path.iterdir())


def test_nothing_is_trained_where_there_are_too_few_levels_for_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[Any] = []
    monkeypatch.setattr(curriculum_search.CurriculumTraining, "train", trained.append)
    monkeypatch.setattr(curriculum_evaluation, "SEEDS", {"new_levels": range(3_000_000, 3_000_009)})
    with pytest.raises(JobError, match="draw levels of the part 'held_out'; 6 are wanted"):
        search(jobs("scripted", seeds=1), tmp_path)
    assert not trained


def test_curricula_that_end_in_the_same_step_are_compared(tmp_path: Path) -> None:
    short = json.loads(dumps(curricula.load("door_key")))
    changes = {"adaptation_rules": [], "developmental_stage_prerequisite": None}
    short["steps"] = [{**step, **changes} for step in short["steps"][-2:]]
    file = tmp_path / "short.curriculum.json"
    file.write_text(json.dumps(short), "utf-8")
    command = ["curriculum", "search", "door_key", str(file), *OPTIONS, "--out", str(tmp_path)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    assert "door_key by scripted" in done.output
    assert "short by scripted" in done.output
    assert len(lines(tmp_path)) == 4
    for line in lines(tmp_path):  # the budget is used up, curriculum done or not
        assert line["settings"]["whole"] is True
        assert line["steps"] == 256


def test_a_test_has_no_more_environments_open_than_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pybullet")
    from piase_gym.worlds.bullet_client import LIMIT_VARIABLE, live_clients

    gc.collect()
    monkeypatch.setenv(LIMIT_VARIABLE, str(live_clients() + 6))
    short: dict[str, Any] = {"config": {"max_steps": 5}, "num_envs": 4, "num_steps": 8, "steps": 32}
    job = SearchJob(CurriculumTrainingSettings(curriculum="hands_on", **short), 9)
    assert len(train_candidate(job)["won"]) == 9


@pytest.mark.parametrize("name", ["give_and_take", "text_quest"])
def test_any_curriculum_has_a_test_of_its_last_step(name: str) -> None:
    curriculum = curricula.load(name)
    env = make_curriculum_env(curriculum, num_envs=2)
    ppo = import_ppo()
    policy = ppo.Trainer(env, ppo.Settings(num_envs=2, num_steps=8, total_steps=16), 0).policy
    evaluator = LastStepEvaluator(env, "held_out", 3)
    won, returns = evaluator.evaluate(policy)
    again = evaluator.evaluate(policy)
    env.close()
    assert won.shape == returns.shape == (3,)
    assert won.tolist() == again[0].tolist()
    assert returns.tolist() == again[1].tolist()
    assert len(set(evaluator.seeds)) == 3
