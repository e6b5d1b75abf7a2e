"""Training learns, stops, goes on exactly after interruptions, and fails with sentences."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym import parallel_env
from piase_gym.agents import RandomAgent, make_agent
from piase_gym.agents.sb3_archive import CARD
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.errors import (
    AgentError,
    CapacityError,
    ConfigError,
    StorageError,
    TrainingError,
    UnknownNameError,
)
from tests import probes
from tests.cli.conftest import run
from tests.helpers.cli_runner import piase

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from piase_gym.cli.console import StepBar  # noqa: E402
from piase_gym.cli.train import report_to  # noqa: E402
from piase_gym.training import evaluation  # noqa: E402  # needs the extra
from piase_gym.training.batch_run import load_policies  # noqa: E402
from piase_gym.training.checkpoints import STATE, Folder, pack  # noqa: E402
from piase_gym.training.models import check_metadata, make_model, make_vec  # noqa: E402
from piase_gym.training.train import Progress, TrainSettings, train, train_to_end  # noqa: E402

probes.register()
TINY = {"width": 4, "height": 4, "max_steps": 12}
SMALL: dict[str, Any] = {
    "task": "GridWorld",
    "algo": "maskable_ppo",
    "config": TINY,
    "num_envs": 8,
    "num_steps": 16,
    "minibatch": 64,
    "epochs": 2,
    "width": 16,
    "layers": (16,),
    "eval_episodes": 10,
    "eval_every": 256,
    "save_every": 256,
    "steps": 1024,
}


def small(**changes: Any) -> TrainSettings:
    """Settings of a run of seconds."""
    return TrainSettings(**{**SMALL, **changes})


def weights(path: Path) -> dict[str, Any]:
    """The parameters in a model's file."""
    with zipfile.ZipFile(path) as archive, archive.open("policy.pth") as file:
        loaded: dict[str, Any] = torch.load(file, weights_only=True)
        return loaded


def same(first: Path, second: Path) -> bool:
    """Tell whether two models' parameters are equal, bit for bit."""
    a, b = weights(first), weights(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def looks(path: Path) -> list[tuple[int, float]]:
    """What was seen on the dev seeds, and when."""
    return [(row["steps"], row["dev"]) for row in Folder(path).history()]


class Interrupt:
    """Sends a signal once training has done so many steps."""

    def __init__(self, after: int) -> None:
        self.after, self.sent = after, False

    def __call__(self, progress: Progress) -> None:
        if progress.steps >= self.after and not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)


def test_it_learns_and_stops_when_it_may(tmp_path: Path) -> None:
    settings = small(
        steps=100_000,
        num_envs=64,
        minibatch=256,
        epochs=4,
        width=64,
        layers=(64,),
        learning_rate=5e-3,
        eval_every=5000,
        eval_episodes=100,
        save_every=50_000,
        stop_at=0.9,
    )
    told: list[Progress] = []
    result = train(settings, tmp_path / "run", report=told.append)
    assert told[0].dev < 0.5
    assert result.reason == "solved"
    assert result.dev >= 0.9
    assert result.steps < 100_000
    assert result.wilson95[0] < result.dev <= result.wilson95[1]
    stored = json.loads((tmp_path / "run" / "result.json").read_text("utf-8"))
    assert stored["dev"] == result.dev
    # The policy plays by name, on levels that nobody has seen.
    world = settings.make_world()
    agent = make_agent(f"sb3:{result.policy}")
    found = evaluation.look(agent, world, {}, range(3000, 3200))
    assert found.played == 200
    assert found.won >= 160
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))
    # It is also an ordinary model of sb3-contrib.
    contrib.MaskablePPO.load(result.policy, device="cpu")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"algo": "ippo", "config": {**TINY, "agents": 2}, "normalize_rewards": False},
        {"algo": "ppo", "config": {**TINY, "agents": 2}, "partners": {"agent_0": "random"}},
        {"algo": "ppo", "task": "PointProbe", "config": {}, "num_envs": 2},
        {"algo": "ippo", "task": "TextProbe", "config": {}, "num_envs": 2},
    ],
    ids=["masks", "shared", "partners", "point", "text"],
)
def test_an_interrupted_run_ends_as_an_unbroken_one(tmp_path: Path, changes: Any) -> None:
    settings = small(**changes)
    whole = train(settings, tmp_path / "whole")
    broken = train(settings, tmp_path / "broken", report=Interrupt(300))
    assert whole.reason == "finished"
    assert broken.reason == "interrupted"
    assert 0 < broken.steps < whole.steps
    random = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    torch.manual_seed(99)
    resumed = train(settings, tmp_path / "broken", resume=True)
    assert (np.random.get_state()[1] != random).any()  # type: ignore[index]  # noqa: NPY002
    assert resumed.steps == whole.steps
    assert same(*(Folder(tmp_path / name).checkpoints()[0] for name in ("whole", "broken")))
    assert looks(tmp_path / "whole") == looks(tmp_path / "broken")
    assert (resumed.dev, resumed.best_steps) == (whole.dev, whole.best_steps)
    episodes = settings.eval_episodes  # whatever the number of agents
    assert resumed.wilson95 == whole.wilson95
    assert whole.wilson95 == pytest.approx(wilson(episodes * whole.dev, episodes)[1:])


def words(out: Path) -> list[str]:
    """The words of the command that does the small run."""
    found = ["train", "GridWorld", "--algo", "maskable_ppo", "--out", str(out)]
    for key, value in TINY.items():
        found += ["-c", f"{key}={value}"]
    for key, value in SMALL.items():
        if key not in ("task", "algo", "config", "steps"):
            found += ["--set", f"{key}={json.dumps(value)}"]
    return [*found, "--steps", "1024"]


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    train(small(), tmp_path / "whole")
    command = [sys.executable, "-m", "piase_gym.cli", *words(tmp_path / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None and len(Folder(tmp_path / "killed").checkpoints()) < 2:
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    status, told = run(*words(tmp_path / "killed"), "--resume")
    assert status == 0, told
    assert "finished after 1,024 steps" in told
    assert same(*(Folder(tmp_path / name).checkpoints()[0] for name in ("whole", "killed")))
    assert looks(tmp_path / "whole") == looks(tmp_path / "killed")


def test_a_full_disk_ends_a_run_with_a_sentence_and_keeps_what_is_there(tmp_path: Path) -> None:
    settings = small()
    train(settings, tmp_path / "run", report=Interrupt(300))
    before = Folder(tmp_path / "run").checkpoints()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
    try:
        with pytest.raises(StorageError, match="could not be written"):
            train(settings, tmp_path / "run", resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert Folder(tmp_path / "run").checkpoints() == before
    assert train(settings, tmp_path / "run", resume=True).reason == "finished"


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    settings = small()
    whole = train(settings, tmp_path / "run")
    newest, older = Folder(tmp_path / "run").checkpoints()
    expected = newest.with_suffix(".kept")
    shutil.copy(newest, expected)
    newest.write_bytes(newest.read_bytes()[:500])
    resumed = train(settings, tmp_path / "run", resume=True)
    assert resumed.steps == whole.steps
    assert same(newest, expected)
    for path in (newest, older):
        path.write_bytes(b"nothing")
    with pytest.raises(TrainingError, match="only damaged checkpoints"):
        train(settings, tmp_path / "run", resume=True)


def test_folders_of_other_runs_are_refused(tmp_path: Path) -> None:
    train(small(), tmp_path / "run")
    with pytest.raises(ConfigError, match="holds a run already; resume it or choose another"):
        train(small(), tmp_path / "run")
    other = small(config={**TINY, "max_steps": 13}, seed=4)
    with pytest.raises(ConfigError, match="seed is 0 there and 4 here"):
        train(other, tmp_path / "run", resume=True)
    with pytest.raises(TrainingError, match="holds no run"):
        train(small(), tmp_path / "nothing", resume=True)
    # A checkpoint that somebody has put there from another run.
    train(other, tmp_path / "other")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    shutil.copytree(tmp_path / "other" / "checkpoints", tmp_path / "run" / "checkpoints")
    with pytest.raises(TrainingError, match="is a checkpoint of another run: settings is"):
        train(small(), tmp_path / "run", resume=True)


def test_a_policy_that_diverges_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"diverged.*the last checkpoint is .*\.zip"):
        train(small(learning_rate=1e30, normalize_rewards=False), tmp_path / "run")
    for path in Folder(tmp_path / "run").checkpoints():
        assert all(torch.isfinite(values).all() for values in weights(path).values())


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"algo": "pppo"}, UnknownNameError, "unknown algorithm 'pppo'; did you mean 'ppo'"),
        ({"task": "piase/GridWorld-v10"}, UnknownNameError, "unknown id"),
        ({"steps": 0}, ConfigError, "steps"),
        ({"seed": 2_000_000}, ConfigError, "seed"),
        ({"learning_rate": float("nan")}, ConfigError, "learning_rate"),
        ({"stepz": 5}, ConfigError, "did you mean 'steps'"),
        ({"config": {"widht": 5}}, ConfigError, "did you mean 'width'"),
    ],
)
def test_bad_settings_are_refused(changes: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        small(**changes)


def test_bad_partners_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="leave at least one to the learner"):
        train(small(partners={"agent_0": "random"}), tmp_path / "a")
    with pytest.raises(AgentError, match="there is no agent 'agent_7'"):
        train(small(partners={"agent_7": "random"}), tmp_path / "b")
    with pytest.raises(UnknownNameError, match="unknown policy 'rendom'"):
        small(config={**TINY, "agents": 2}, partners={"agent_1": "rendom"})


def test_success_in_a_batch_is_success_alone() -> None:
    world = small(config={**TINY, "agents": 2}).make_world()
    seeds, partners = range(40), {"agent_1": "random"}
    batch = evaluation.look(RandomAgent(), world, partners, seeds)  # type: ignore[arg-type]
    alone = [
        seat for seed in seeds for seat in evaluation._alone(RandomAgent(), world, partners, seed)
    ]
    assert batch[:2] == ([result for result, _ in alone].count("won"), 40)
    assert 0 < batch.won < 40
    assert batch.returned == pytest.approx(np.mean([got for _, got in alone]), abs=1e-4)


def test_files_of_ours_are_read_without_unpickling(tmp_path: Path) -> None:
    result = train(small(steps=128), tmp_path / "run")
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(result.policy) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"no data" if name == "data" else old.read(name))
    make_agent(f"sb3:{bad}")


def test_a_task_with_a_scenario_is_trained_in_its_scenario() -> None:
    task = "piase/TextRoom-LostKey-v3"
    trained, played = TrainSettings(task=task).make_world(), parallel_env(task).world
    assert trained.config == played.config
    assert trained.agents == played.agents == ("PiaAgent_001",)
    assert trained.num_actions == played.num_actions


def test_mistakes_on_the_command_line_are_one_line(tmp_path: Path) -> None:
    for more, words in (
        (["--algo", "sac"], "unknown algorithm 'sac'"),
        (["--set", "epoch=3"], "did you mean 'epochs'"),
        (["--set", "task=GridWorld"], "option of its own"),
        (["--partner", "oracle"], "write agent=policy"),
        (["--resume"], "holds no run"),
    ):
        words_of = ["train", "GridWorld", "--out", str(tmp_path / "run"), *more]
        done = piase(*words_of)
        assert done.returncode == 2, done.stdout + done.stderr
        assert words in " ".join((done.stdout + done.stderr).split())
        assert "Traceback" not in done.stderr


def test_steps_are_rounded_up_to_whole_updates_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = small(steps=100, eval_episodes=1)
    with StepBar("first look", 100) as bar:
        result = train(settings, tmp_path / "run", report=report_to(bar, 100))
    assert result.steps == 128  # 8 environments, 16 steps
    shown = capsys.readouterr().out
    assert "100 steps are rounded up to 128: to whole updates" in shown
    assert "128 of 128 steps" in shown
    with StepBar("first look", 128) as bar:
        report_to(bar, 128)(Progress(64, 128, 0.0, 0.0, None))
    assert "rounded" not in capsys.readouterr().out


@pytest.mark.parametrize(("agents", "most", "size"), [(1, 48, 32), (3, 48, 48), (3, 20, 16)])
def test_minibatches_are_equal(agents: int, most: int, size: int) -> None:
    settings = small(algo="ippo", config={**TINY, "agents": agents}, num_envs=4, minibatch=most)
    vec = make_vec(settings, settings.make_world(), {})
    assert vec.num_envs * settings.num_steps == 64 * agents
    assert make_model(settings, vec).batch_size == size
    vec.close()


def test_settings_reach_the_model() -> None:
    told: dict[str, Any] = {"gamma": 0.7, "gae_lambda": 0.6, "entropy": 0.3, "value_weight": 0.4}
    settings = small(**told, clip=0.15, learning_rate=0.25, seed=3)
    vec = make_vec(settings, settings.make_world(), {})
    model: Any = make_model(settings, vec)
    assert (model.n_steps, model.batch_size, model.n_epochs) == (16, 64, 2)
    assert (model.gamma, model.gae_lambda, model.ent_coef, model.vf_coef) == (0.7, 0.6, 0.3, 0.4)
    assert (model.clip_range(1.0), model.seed, str(model.device)) == (0.15, 3, "cpu")
    rates = [model.lr_schedule(left) for left in (0.875, 0.5, 0.0)]  # of eight updates
    assert rates == [0.25, 0.25 * 5 / 8, 0.25 / 8]
    assert isinstance(model, contrib.MaskablePPO)
    wrapped: Any = vec
    assert (wrapped.gamma, wrapped.norm_reward, wrapped.norm_obs) == (0.7, True, False)
    vec.close()


@pytest.mark.parametrize("algo", ["ippo", "maskable_ppo", "batch_ppo"])
@pytest.mark.parametrize(("steps", "shares"), [(1, [1]), (300, [1, 2 / 3, 1 / 3])])
def test_the_learning_rate_falls_over_whole_updates_and_is_never_used_up(
    algo: str, steps: int, shares: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []
    step = torch.optim.Adam.step

    def noted(self: Any, *given: Any, **named: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return step(self, *given, **named)

    monkeypatch.setattr(torch.optim.Adam, "step", noted)
    fast = {"layers": (128,)} if algo == "batch_ppo" else {}
    settings = small(algo=algo, steps=steps, learning_rate=0.01, minibatch=128, epochs=1, **fast)
    train(settings, tmp_path)
    assert rates == pytest.approx([0.01 * share for share in shares])


def test_ppo_has_no_masks_and_rewards_are_normalised_if_so_told() -> None:
    settings = small(algo="ppo", normalize_rewards=False)
    vec = make_vec(settings, settings.make_world(), {})
    assert not hasattr(vec, "norm_reward")
    assert type(make_model(settings, vec)).__name__ == "PPO"
    vec.close()


@pytest.mark.parametrize(
    ("algo", "partners", "slots"),
    [("ppo", {"agent_0": "random"}, 8), ("ippo", {}, 24), ("ippo", {"agent_1": "noop"}, 16)],
)
def test_there_are_as_many_slots_as_learners(
    algo: str, partners: dict[str, str], slots: int
) -> None:
    from piase_gym.training.settings import partners_of

    settings = small(algo=algo, config={**TINY, "agents": 3}, partners=partners)
    world = settings.make_world()
    vec = make_vec(settings, world, partners_of(settings, world.agents))
    assert vec.num_envs == slots
    vec.close()


def test_a_checkpoint_of_another_version_of_the_package_serves() -> None:
    card = {"format": 1, "piase_gym": "0.1", "world": "GridWorld"}
    check_metadata({**card, "piase_gym": "0.2", "more": 1}, card, Path("c.zip"))
    with pytest.raises(TrainingError, match=r"c\.zip is .* 'TextRoom' there and 'GridWorld' here"):
        check_metadata({**card, "world": "TextRoom"}, card, Path("c.zip"))
    with pytest.raises(TrainingError, match="format is None there and 1 here"):
        check_metadata({"world": "GridWorld"}, card, Path("c.zip"))


def test_a_run_looks_and_saves_when_it_is_told_and_its_result_is_of_the_best_look(
    tmp_path: Path,
) -> None:
    settings = small(save_every=384)
    whole: list[Progress] = []
    result = train(settings, tmp_path, report=whole.append)
    assert [one.steps for one in whole] == list(range(0, 1025, 128))
    assert {one.total for one in whole} == {1024}
    assert [steps for steps, _ in looks(tmp_path)] == [0, 256, 512, 768, 1024]
    names = [path.name for path in Folder(tmp_path).checkpoints()]
    assert names == [f"{steps:012}.zip" for steps in (1024, 768)]
    stored = json.loads((tmp_path / "result.json").read_text("utf-8"))
    seen = [(row["dev"], row["return"], row["steps"]) for row in Folder(tmp_path).history()]
    dev, _, steps = max(seen[1:])  # the untrained policy is no choice
    assert (stored["dev"], stored["best_steps"]) == (dev, steps)
    interval = wilson(round(10 * result.dev), 10)
    assert stored["wilson95"] == [interval.low, interval.high]
    seeds = evaluation.look_seeds(settings.make_world(), 10)
    assert (stored["policy"], stored["steps"]) == ("policy.zip", 1024)
    assert stored["dev_seeds"] == [seeds[0], seeds[-1] + 1]


def test_a_run_reports_the_same_whether_it_was_broken_off_or_not(tmp_path: Path) -> None:
    settings, whole = small(save_every=384), list[Progress]()
    train(settings, tmp_path / "whole", report=whole.append)
    first = train(settings, tmp_path / "parts", report=Interrupt(512))
    assert (first.reason, first.steps) == ("interrupted", 640)
    path, card, state = Folder(tmp_path / "parts").newest()
    with zipfile.ZipFile(path) as old:
        rest = {name: old.read(name) for name in old.namelist() if name not in (CARD, STATE)}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in rest.items():
            new.writestr(name, content)
    state["run"]["cpu_seconds"] = 5000.0
    del state["run"]["best_return"]  # as in checkpoints of before
    path.write_bytes(pack(path.read_bytes(), {CARD: card, STATE: state}))
    parts: list[Progress] = []
    again = train(settings, tmp_path / "parts", resume=True, report=parts.append)
    assert parts == whole[5:]
    assert any(one.train for one in parts)
    assert 5000 <= again.cpu_seconds < 5500  # of all sessions together


def test_a_part_of_work_is_trained_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import piase_gym.training.train as module

    settings, whole = small(steps=384), module.train
    monkeypatch.setattr(
        module, "train", lambda *given, **named: whole(*given, **named, report=Interrupt(100))
    )
    with pytest.raises(KeyboardInterrupt):
        train_to_end(settings, tmp_path)
    assert Folder(tmp_path).checkpoints()[0].name == "000000000256.zip"
    monkeypatch.undo()
    result = train_to_end(settings, tmp_path)
    assert (result.reason, result.steps) == ("finished", 384)
    assert train_to_end(settings, tmp_path).steps == 384


@pytest.mark.parametrize("algo", ["maskable_ppo", "batch_ppo"])
def test_threads_are_those_of_the_settings_while_it_trains(algo: str, tmp_path: Path) -> None:
    before, seen = torch.get_num_threads(), set[int]()
    fast = {"layers": (128,)} if algo == "batch_ppo" else {}
    train(
        small(steps=1, threads=before + 1, algo=algo, **fast),
        tmp_path,
        report=lambda _: seen.add(torch.get_num_threads()),
    )
    assert seen == {before + 1}
    assert torch.get_num_threads() == before
    if algo == "batch_ppo":
        load_policies(tmp_path / "policy.pt")
        assert torch.get_num_threads() == before


def test_worlds_are_closed_also_where_a_run_cannot_go_on(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    from piase_gym.worlds.bullet_client import live_clients

    few = {"num_envs": 2, "minibatch": 32, "eval_episodes": 1, "steps": 1}
    settings = small(task="PhysicsPlayground", algo="ppo", config={"max_steps": 8}, **few)
    gc.collect()
    gc.disable()  # what nobody closes stays open until garbage is collected
    try:
        before = live_clients()
        train(settings, tmp_path)
        assert live_clients() == before
        for path in tmp_path.glob("checkpoints/*"):
            path.write_bytes(b"nothing")
        with pytest.raises(TrainingError, match="only damaged checkpoints"):
            train(settings, tmp_path, resume=True)
        assert live_clients() == before
    finally:
        gc.enable()


def test_a_run_that_finds_no_room_leaves_its_folder_to_one_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pybullet")
    from piase_gym.worlds.bullet_client import LIMIT_VARIABLE, live_clients

    gc.collect()
    monkeypatch.setenv(LIMIT_VARIABLE, str(live_clients() + 3))
    few = {"task": "PhysicsPlayground", "algo": "ppo", "config": {"max_steps": 8}, "steps": 1}
    with pytest.raises(CapacityError, match=LIMIT_VARIABLE):
        train(small(num_envs=8, **few), tmp_path)
    assert train(small(num_envs=2, minibatch=32, **few), tmp_path).reason == "finished"


def test_policies_that_are_loaded_leave_the_draws_of_others_alone(tmp_path: Path) -> None:
    train(small(steps=1, algo="batch_ppo", layers=(128,)), tmp_path)
    torch.manual_seed(7)
    before = torch.rand(3)
    torch.manual_seed(7)
    load_policies(tmp_path / "policy.pt")
    assert torch.equal(torch.rand(3), before)


def test_what_suffices_before_anything_is_learned_is_no_end(tmp_path: Path) -> None:
    result = train(small(stop_at=1e-9, learning_rate=1e-9), tmp_path / "run")
    assert looks(tmp_path / "run")[0][1] > 0
    assert (result.reason, result.steps) == ("solved", 256)
    again = train(small(stop_at=1e-9, learning_rate=1e-9), tmp_path / "run", resume=True)
    assert (again.reason, again.steps) == ("solved", 256)
