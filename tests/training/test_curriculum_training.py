"""Trainings through curricula: what may change on the way, what is kept, and what is tested."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from gymnasium.spaces import Box

from piase_gym import curricula, runs
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.errors import (
    ClosedError,
    ConfigError,
    PolicyError,
    ProgressError,
    StorageError,
    TrainingError,
    UnsupportedError,
)
from piase_gym.training.action_recording import RecordingEnv, UpdateFile
from piase_gym.training.curriculum_settings import CurriculumTrainingSettings, load_policy
from tests.curricula.example_curricula import CORNER
from tests.curricula.helpers import curriculum

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from piase_gym.training import curriculum_run, curriculum_search, ppo  # noqa: E402  # needs the extra
from piase_gym.training.curriculum_env import SlotBatch, make_curriculum_env  # noqa: E402
from piase_gym.training.curriculum_evaluation import LastStepEvaluator  # noqa: E402
from piase_gym.training.curriculum_run import CurriculumTraining  # noqa: E402

SMALL: dict[str, Any] = {"num_envs": 8, "num_steps": 16, "steps": 256, "world": "GridWorld"}


def settings(**changes: Any) -> CurriculumTrainingSettings:
    """Settings of a short training."""
    return CurriculumTrainingSettings(**{"curriculum": str(CORNER), **SMALL, **changes})


def trained(folder: Path, resume: bool = False, **changes: Any) -> Any:
    """Train; return the last look."""
    run = CurriculumTraining(settings(**changes), folder, resume)
    look = run.train()
    run.close()
    return look


# -- actions in a file --------------------------------------------------------------------


def test_arrays_of_updates_come_back_as_they_were(tmp_path: Path) -> None:
    file = UpdateFile(tmp_path / "a.bin", (2, 3), np.int16)
    arrays = [np.arange(6).reshape(2, 3) + 300 * n for n in range(3)]
    for array in arrays:
        file.write(array)
    assert [one.tolist() for one in file.read(2)] == [one.tolist() for one in arrays[:2]]
    assert (tmp_path / "a.bin").read_bytes()[12:16] == b"\x2c\x01\x2d\x01"  # least bytes first
    file.cut(1)
    assert (tmp_path / "a.bin").stat().st_size == 12
    assert list(file.read(0)) == []
    with pytest.raises(StorageError, match="too short: this run cannot go on"):
        list(file.read(2))


def test_a_file_that_is_missing_is_told_even_where_nothing_is_read(tmp_path: Path) -> None:
    file = UpdateFile(tmp_path / "none" / "a.bin", (1,), np.int8)
    with pytest.raises(StorageError, match=r"a\.bin is missing or too short"):
        list(file.read(0))
    with pytest.raises(StorageError, match=r"a\.bin: No such file"):
        file.write(np.zeros(1))
    with pytest.raises(StorageError, match=r"a\.bin: No such file"):
        file.cut(0)


def test_actions_are_kept_as_they_were_played_and_others_are_damage(tmp_path: Path) -> None:
    played: list[Any] = []
    space = SimpleNamespace(n=256)
    inner = SimpleNamespace(num_envs=2, agents=("a",), action_space=space, step=played.append)
    env = RecordingEnv(inner, tmp_path / "actions.bin", 2)
    acts = np.array([[0], [255]])
    env.step(acts)
    acts[:] = 7  # trainers use an array again
    env.step(acts)
    env.write()
    assert (tmp_path / "actions.bin").stat().st_size == 4  # a byte is enough for 256 actions
    assert [one.tolist() for one in env.read(1)] == [[[[0], [255]], [[7], [7]]]]
    space.n = 255
    with pytest.raises(StorageError, match=r"actions\.bin is damaged: there is no such action"):
        list(env.read(1))


# -- settings -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["steps", "num_envs", "num_steps"])
def test_numbers_are_positive_and_whole(name: str) -> None:
    settings(**{name: 1}).check()
    for wrong in (0, True, 1.0, "1"):
        with pytest.raises(ConfigError, match=f"{name} is a positive number, not {wrong!r}"):
            settings(**{name: wrong}).check()


@pytest.mark.parametrize("name", ["config", "ppo"])
def test_what_has_to_be_a_mapping_is_one(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is a mapping, not 5"):
        settings(**{name: 5}).check()


def test_a_run_may_go_on_for_longer_to_its_end_or_with_a_log(tmp_path: Path) -> None:
    trained(tmp_path)
    look = trained(tmp_path, resume=True, steps=512, whole=True, log=True)
    assert look.steps == 512
    assert (tmp_path / "log.jsonl").stat().st_size > 0
    for name, other in (("director", "threshold"), ("num_steps", 8), ("ppo", {"epochs": 1})):
        with pytest.raises(ConfigError, match=rf"has {name} .*only steps, whole, log may change"):
            trained(tmp_path, resume=True, **{name: other})


def test_numbers_of_numpy_and_tuples_are_no_other_settings(tmp_path: Path) -> None:
    same: dict[str, Any] = {
        "config": {"start_pos": (1, 1)},
        "ppo": {"learning_rate": np.float64(0.001), "epochs": np.int64(2)},
        **{name: np.int64(SMALL[name]) for name in ("num_envs", "num_steps", "steps")},
        "seed": np.int64(3),
    }
    assert trained(tmp_path, **same).steps == 256
    assert trained(tmp_path, resume=True, **{**same, "steps": 512, "whole": True}).steps == 512


def test_torch_has_its_threads_again_when_a_training_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        trained(tmp_path)
        assert torch.get_num_threads() == 3
        monkeypatch.setattr(CurriculumTraining, "_repeat", fail)
        with pytest.raises(StorageError, match="no way back"):
            trained(tmp_path, resume=True, steps=512)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def fail(*_: Any) -> None:
    raise StorageError("no way back")


def test_what_cannot_go_on_leaves_no_log_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[Any]()

    def make(*args: Any, **options: Any) -> Any:
        made.append(make_curriculum_env(*args, **options))
        return made[-1]

    trained(tmp_path)
    rows = (tmp_path / "path.jsonl").read_text("utf-8")
    (tmp_path / "path.jsonl").write_text(rows.replace('"attempt": ', '"attempt": 9', 1), "utf-8")
    monkeypatch.setattr(curriculum_run, "make_curriculum_env", make)
    with pytest.raises(TrainingError, match="played once more, this run is another one"):
        trained(tmp_path, resume=True, steps=512, log=True)
    with pytest.raises(ClosedError):
        made[0].reset()
    assert runs.validate(tmp_path / "log.jsonl").ok


def test_progress_in_another_curriculum_leaves_no_log_open(tmp_path: Path) -> None:
    trained(tmp_path)
    path = tmp_path / "progress.json"
    told = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**told, "format": "another"}), "utf-8")
    with pytest.raises(ProgressError):
        trained(tmp_path, resume=True, steps=512, log=True)
    assert runs.validate(tmp_path / "log.jsonl").ok


def test_what_runs_cannot_use_is_no_setting_of_theirs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown setting 'memory'; allowed: clip"):
        trained(tmp_path, ppo={"memory": 4})


@pytest.mark.parametrize(
    "found", [{"steps": -1, "updates": 0}, {"steps": 0}, {"steps": 0, "updates": True}, {}, []]
)
def test_a_file_of_something_else_is_no_checkpoint(found: Any, tmp_path: Path) -> None:
    torch.save(found, tmp_path / "policy.pt")
    with pytest.raises(StorageError, match="it is no checkpoint of a training"):
        load_policy(tmp_path)


def test_checkpoints_are_data(tmp_path: Path) -> None:
    torch.save({"steps": 0, "updates": 0}, tmp_path / "policy.pt")
    assert load_policy(tmp_path) == {"steps": 0, "updates": 0}
    torch.save({"steps": 0, "updates": 0, "code": tmp_path}, tmp_path / "policy.pt")
    with pytest.raises(StorageError, match="is damaged: UnpicklingError"):
        load_policy(tmp_path)
    (tmp_path / "policy.pt").unlink()
    with pytest.raises(StorageError, match=r"policy\.pt is missing"):
        load_policy(tmp_path)


# -- runs ---------------------------------------------------------------------------------


def test_a_run_ends_with_its_curriculum_and_is_then_over(tmp_path: Path) -> None:
    look = trained(tmp_path, steps=100_000)
    assert look.outcome != "running"
    assert look.steps < 5000
    before = (tmp_path / "path.jsonl").read_bytes()
    assert trained(tmp_path, resume=True, steps=100_000).steps == look.steps
    assert (tmp_path / "path.jsonl").read_bytes() == before
    more = look.steps + 256
    assert trained(tmp_path, resume=True, steps=more, whole=True).steps == more


def test_rows_of_the_path_say_what_was_reported(tmp_path: Path) -> None:
    run, looks = CurriculumTraining(settings(steps=1024, whole=True), tmp_path), list[Any]()
    last = run.train(looks.append)
    run.close()
    rows = [json.loads(row) for row in (tmp_path / "path.jsonl").read_text().splitlines()]
    assert last == looks[-1]
    assert len(rows) == len(looks) == 8
    for row, look in zip(rows, looks, strict=True):
        entry = row["agents"]["agent_0"]
        assert (row["steps"], row["won"]) == (look.steps, round(look.won, 6))
        told = look.order, look.attempt, look.outcome
        assert (entry["order"], entry["attempt"], entry["outcome"]) == told
        under_way = entry["under_way"] or {"ended": 0, "wanted": look.wanted}
        assert (under_way["ended"], under_way["wanted"]) == (look.ended, look.wanted)
        played = list(entry["episodes"].values())
        assert sum(n for n, _ in played) == look.episodes
        assert sum(won for _, won in played) == round(look.won * look.episodes)
    decided = [at for row in rows for at in row["agents"]["agent_0"]["decided_at"]]
    assert len(decided) == len(run.controller.decisions) > 1
    assert looks[-1].decided == run.controller.decisions[-1]


def test_decisions_fall_where_the_log_has_them(tmp_path: Path) -> None:
    from piase_gym.curricula.learning_path import read_paths

    trained(tmp_path, steps=1024, log=True)
    (kept,), (logged,) = read_paths(tmp_path), read_paths(tmp_path / "log.jsonl")
    assert [move.at for move in kept.moves] == [move.at for move in logged.moves]
    assert kept.moves


def test_decisions_that_are_not_made_again_end_what_goes_on(tmp_path: Path) -> None:
    trained(tmp_path, steps=1024)
    path = tmp_path / "progress.json"
    before = json.loads(path.read_text("utf-8"))
    changed = json.dumps(before).replace('"reason": "', '"reason": "perhaps ', 1)
    assert json.loads(changed) != before
    path.write_text(changed, "utf-8")
    with pytest.raises(TrainingError, match=r"another one than .*progress\.json tells"):
        trained(tmp_path, resume=True, steps=2048, whole=True)
    assert path.read_text("utf-8") == changed


@pytest.mark.parametrize("saved", [0.0, 1e9])
def test_a_policy_that_diverges_is_never_saved_over_a_good_one(
    saved: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curriculum_run, "SAVED", saved)  # at every update, or at the end alone
    wild = {"learning_rate": 1e30}
    run = CurriculumTraining(settings(ppo=wild), tmp_path)
    before = (tmp_path / "policy.pt").read_bytes()
    with pytest.raises(TrainingError, match=r"diverged.* after 128 steps\. Try a smaller"):
        run.train()
    run.close()
    assert (tmp_path / "policy.pt").read_bytes() == before
    assert all(values.isfinite().all() for values in load_policy(tmp_path)["policies"][0].values())


# -- environments -------------------------------------------------------------------------


def test_what_slots_cannot_do_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="TextRoom is played in slots, whose steps are not logg"):
        make_curriculum_env(curricula.load("text_quest"), num_envs=1, log=tmp_path / "log.jsonl")
    closed: list[int] = []
    space = Box(0.0, 1.0, (2,))
    slots = SimpleNamespace(single_action_space=space, close=lambda: closed.append(1))
    with pytest.raises(UnsupportedError, match=r"commands, and the actions here are Box"):
        SlotBatch(slots, "agent_0", cast(Any, None))
    assert closed == [1]


def test_a_partner_that_has_to_be_trusted_is_refused(tmp_path: Path) -> None:
    partners = {"agent_1": "llm:m@http://127.0.0.1:1/v1"}
    made = curriculum({}, world="SocialDilemma").model_copy(update={"partners": partners})
    with pytest.raises(PolicyError, match=r"127\.0\.0\.1"):
        make_curriculum_env(made, num_envs=1)


# -- tests of the last step ---------------------------------------------------------------


def last_step(**fields: Any) -> tuple[LastStepEvaluator, Any]:
    """Return an evaluator of a curriculum in GridWorld, and a policy that is always sure."""
    room = {"width": 4, "height": 4, "agents": 2}
    last = {"max_interactions": 9, "environment_config_overrides": room}
    made = curriculum({}, last, world="GridWorld", partners={"agent_1": "random"})
    env = make_curriculum_env(made, num_envs=2, config={"agents": 2, **fields})
    policy = ppo.Trainer(env, ppo.Settings(num_envs=2, num_steps=2, width=8), 0).policy
    policy.admit(torch.as_tensor(env.reset(0)[0][:, 0].copy()))
    torch.nn.init.normal_(policy.actor.weight, std=1e6, generator=torch.Generator().manual_seed(2))
    evaluator = LastStepEvaluator(env, "held_out", 40)
    env.close()
    return evaluator, policy


def test_levels_are_played_alike_in_a_batch_and_one_by_one() -> None:
    evaluator, policy = last_step()
    won, returns = evaluator.evaluate(policy)
    assert evaluator.batched
    evaluator.batched = False
    alone, paid = evaluator.evaluate(policy)
    assert alone.tolist() == won.tolist()
    np.testing.assert_allclose(paid, returns, atol=1e-9)
    assert 0 < won.sum() < 40
    assert len(set(returns.round(3).tolist())) > 3


def test_what_training_pays_is_not_what_a_test_pays() -> None:
    evaluator, _ = last_step(rewards={"goal": 55.0})
    assert evaluator.config.rewards.goal == last_step()[0].config.rewards.goal != 55.0
    assert (evaluator.config.width, evaluator.config.max_steps) == (4, 9)


# -- searches -----------------------------------------------------------------------------


def test_equal_candidates_are_in_the_order_of_their_names() -> None:
    lines = [
        {"candidate": name, "settings": {"seed": 0}, "won": won, "outcome": "finished"}
        for name, won in (("c", [1, 0]), ("a", [1, 0]), ("b", [1, 1]))
    ]
    assert [row.candidate for row in curriculum_search.ranked(lines)] == ["b", "a", "c"]


def test_a_result_depends_on_every_setting_and_the_steps_of_the_curriculum(tmp_path: Path) -> None:
    job = curriculum_search.SearchJob(settings(), 3)
    others = [settings(seed=1), settings(director="threshold"), settings(ppo={"epochs": 1})]
    keys = {job.key, *(replace(job, settings=other).key for other in others)}
    keys |= {replace(job, tests=4).key}
    made = DevelopmentalCurriculum(**{**json.loads(CORNER.read_text("utf-8")), "name": "Other"})
    (tmp_path / "other.json").write_text(made.model_dump_json(exclude_none=True), "utf-8")
    keys |= {replace(job, settings=settings(curriculum=str(tmp_path / "other.json"))).key}
    assert len(keys) == 6
    (tmp_path / "copy.json").write_bytes(CORNER.read_bytes())
    same = replace(job, settings=settings(curriculum=str(tmp_path / "copy.json")))
    assert same.key == job.key
    assert str(job) == "corner by scripted, seed 0"
