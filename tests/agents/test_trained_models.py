"""Shelves: a model for each task plays as one policy; the reference PPO is trained onto one."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from piase_gym.agents.sb3_archive import CARD
from piase_gym.benchmarks import Row, Suite, evaluate
from piase_gym.benchmarks.evaluation.policies import read_policy
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.benchmarks.references.measure import (
    measure_references,
    merged,
    reference_suite,
    settings_of,
)
from piase_gym.benchmarks.references.models import ModelFolder, read_card, shipped_models
from piase_gym.benchmarks.references.references import shipped
from piase_gym.errors import PolicyError, SuiteError, UnknownNameError
from piase_gym.registry import task_spec
from tests.helpers.needs import here

pytest.importorskip("stable_baselines3")
import torch

from piase_gym.benchmarks.references.learners import BY_WORLD, FAST, PASSES
from piase_gym.benchmarks.references.train import (
    BUDGET,
    RECIPE,
    WEIGHTS,
    slim,
    train_models,
    trained,
)

SMALL = "piase/GridWorld-Empty-Random-5x5-v1"
OTHER = "piase/GridWorld-Empty-5x5-v1"
TEAM = Row(task=SMALL, config={"agents": 2}, label="team")
GUEST = Row(task=SMALL, config={"agents": 2}, label="guest", focal=1, partners=("random",))
QUICK = {**RECIPE, "steps": 512, "num_envs": 4, "num_steps": 32, "minibatch": 64}
QUICK |= {"eval_episodes": 2, "eval_every": 512}


def setting_of(row: Row) -> Setting:
    """Return the only setting of a row."""
    (setting,), _ = Suite(name="s", rows=(row,)).settings("dev")
    return setting


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """A shelf with models of one agent, and of two."""
    shelf = ModelFolder(tmp_path_factory.mktemp("shelf"))
    told: list[str] = []
    settings = [setting_of(row) for row in (Row(task=SMALL), TEAM, GUEST)]
    problems = train_models(
        settings, shelf, workers=2, recipe=QUICK, report=lambda name, _: told.append(name)
    )
    assert problems == []
    assert sorted(told) == [
        "GridWorld-Empty-Random-5x5-v1",
        "GridWorld-Empty-Random-5x5-v1-agents-2",  # team and guest share it
    ]
    return shelf


def test_the_same_command_gives_the_same_bytes(shelf: ModelFolder) -> None:
    setting = setting_of(Row(task=SMALL))
    _, again = trained(setting, QUICK)
    assert again == shelf.path(setting).read_bytes()


def test_each_task_is_played_by_its_model(shelf: ModelFolder) -> None:
    suite = Suite(name="two", rows=(Row(task=SMALL), TEAM, GUEST))
    results = evaluate({"mine": str(shelf.folder)}, suite, episodes=3)
    assert results.complete
    assert len(results.rows) == 3
    for row in suite.rows:
        setting = setting_of(row)
        alone = evaluate({"mine": f"sb3:{shelf.path(setting)}"}, row, episodes=3)
        assert alone.evidence() == [
            r.evidence() for r in results.episodes if r.setting == setting.label
        ]


def test_a_task_without_a_model_is_skipped_and_told(shelf: ModelFolder) -> None:
    results = evaluate({"mine": shelf.folder, "noop": "noop"}, [OTHER, SMALL], episodes=2)
    assert [(row.setting, row.policy) for row in results.rows] == [
        (OTHER, "noop"),
        (SMALL, "mine"),
        (SMALL, "noop"),
    ]
    (skipped,) = results.skipped
    assert "there is no model GridWorld-Empty-5x5-v1.zip" in skipped.what
    with pytest.raises(SuiteError, match="no model"):
        evaluate(shelf.folder, OTHER, episodes=2)


def test_a_model_in_the_wrong_place_is_told(shelf: ModelFolder, tmp_path: Path) -> None:
    wrong = ModelFolder(tmp_path)
    team = shelf.path(setting_of(TEAM))
    task = "piase/TextRoom-v3"
    shutil.copy(team, wrong.path(setting_of(Row(task=task))))
    results = evaluate({"mine": tmp_path}, task, episodes=1)
    (fault,) = results.rows[0].faults
    assert "was made for observations" in fault


def test_another_model_is_another_policy(shelf: ModelFolder, tmp_path: Path) -> None:
    setting = setting_of(Row(task=SMALL))
    mine = read_policy(str(shelf.folder), "mine").at(setting)
    digest = hashlib.sha256(shelf.path(setting).read_bytes()).hexdigest()[:16]
    assert mine.fingerprint == f"sb3:{digest}"
    with pytest.raises(PolicyError, match="no model"):
        read_policy(str(tmp_path), "mine").at(setting)


def test_what_cannot_be_trained_is_a_problem(tmp_path: Path) -> None:
    bad: dict[str, Any] = {**QUICK, "learning_rate": 1e30}
    (problem,) = train_models([setting_of(Row(task=SMALL))], ModelFolder(tmp_path), recipe=bad)
    assert "diverged" in problem.what
    assert not list(tmp_path.iterdir())


def test_references_of_some_tasks_leave_the_others() -> None:
    kept = {"protocol": 1, "settings": {"a": {"old": True}, "b": {"old": True}}}
    new = {"protocol": 1, "settings": {"b": {"old": False}}}
    assert merged(kept, new)["settings"] == {"a": {"old": True}, "b": {"old": False}}
    suite = Suite(name="one", rows=(Row(task=SMALL), TEAM))
    found, _ = measure_references(
        suites=[suite], tasks=["team"], episodes=2, policies={"oracle": "oracle"}
    )
    assert list(found["settings"]) == ["team"]
    with pytest.raises(UnknownNameError, match="Nowhere"):
        reference_suite(None, ["piase/Nowhere-*"])


def test_encodings_that_training_never_met_become_zeros(tmp_path: Path) -> None:
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    known = {"pi.encoder.table.weight": table, "head.weight": table.clone()}
    known["vf.encoder.table.weight"] = table  # one tensor under two names
    first, last = (tmp_path / name for name in ("first.zip", "last.zip"))
    for path, change in ((first, 0.0), (last, 0.25)):
        content = io.BytesIO()
        table[1, 0] += change
        torch.save({**known, "count": torch.tensor([7])}, content)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(WEIGHTS, content.getvalue())
            archive.writestr(CARD, json.dumps({"made": path.name}))
    small = tmp_path / "small.zip"
    small.write_bytes(slim(last, first))
    assert read_card(small) == {"made": "last.zip"}
    with zipfile.ZipFile(small) as archive:
        assert archive.namelist() == [WEIGHTS, CARD]
        found = torch.load(io.BytesIO(archive.read(WEIGHTS)), weights_only=True)
    for name in ("pi.encoder.table.weight", "vf.encoder.table.weight"):
        assert found[name].tolist() == [[0.0, 0.0], [3.25, 4.0], [0.0, 0.0]]
    assert found["head.weight"].tolist() == known["head.weight"].tolist()  # nothing but encodings
    assert (found["head.weight"].dtype, found["count"].tolist()) == (torch.float16, [7])


# -- what ships ---------------------------------------------------------------------------


def holds(made: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Tell whether the settings of a model, read from JSON, are those that are wanted."""
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in wanted.items()}
    return {name: made[name] for name in plain} == plain


def test_stored_models_are_those_of_the_stored_references() -> None:
    shelf, stored = shipped_models()["ppo"], shipped()["settings"]
    checked = set()
    for setting in settings_of(reference_suite()):
        entry = stored.get(setting.label, {}).get("policies", {}).get("ppo")
        if entry is None:
            continue
        path = shelf.path(setting)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        fast = path.suffix == ".pt"
        assert entry["fingerprint"] == f"{'ppo' if fast else 'sb3'}:{digest}", setting.label
        made = read_card(path)["settings"]
        world = task_spec(setting.task).world
        assert entry["training"] == {name: made[name] for name in ("algo", "steps", "seed")}
        recipes: list[dict[str, Any]] = [{**RECIPE, "steps": BUDGET}]
        if fast:
            recipes = [
                {**({} if attempt.slow else FAST), **own}
                | {"steps": attempt.steps.get(setting.task, attempt.steps.get(world))}
                | attempt.options
                for attempt in PASSES
                for own in ({}, BY_WORLD.get(world, {}))  # models from before it still ship
            ]
        assert any(holds(made, recipe) for recipe in recipes), path
        checked.add(path)
    models = (path for path in shelf.folder.iterdir() if path.suffix in (".zip", ".pt"))
    assert checked == {path for path in models if here([path.name.partition("-")[0]])}
