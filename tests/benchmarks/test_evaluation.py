"""The evaluation protocol: the same results however they were come by, and nothing lost."""

from __future__ import annotations

import functools
import importlib
import json
import multiprocessing
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym.agents import Percept
from piase_gym.benchmarks import Results, Row, Suite, evaluate
from piase_gym.benchmarks.evaluation import policies
from piase_gym.benchmarks.evaluation.evaluate import Journal
from piase_gym.benchmarks.evaluation.policies import fingerprint, read_policy
from piase_gym.benchmarks.evaluation.protocol import SEEDS, episode_value, split_seeds
from piase_gym.benchmarks.evaluation.rollout import (
    EpisodeMetrics,
    Job,
    SeatedWorld,
    describe,
    make_world,
    play,
    play_batch,
    play_one,
)
from piase_gym.benchmarks.evaluation.suites import Setting
from piase_gym.benchmarks.references.models import ModelFolder
from piase_gym.errors import (
    ConfigError,
    PolicyError,
    ProtocolError,
    SuiteError,
    UnknownNameError,
)
from piase_gym.jobs import InProcess
from tests.benchmarks import bench_policies as own
from tests.helpers.needs import here
from tests.paths import ROOT

EMPTY = "piase/GridWorld-Empty-Random-5x5-v1"
DOOR = "piase/GridWorld-DoorKey-6x6-v1"
TEAM = Row(task="piase/GridWorld-FourRooms-8x8-v1", config={"agents": 4}, label="team")
GUEST = replace(TEAM, label="guest", measure="per_capita", focal=1, partners=("random",))
PAIR = replace(GUEST, label="pair", focal=2, measure="win_rate")
LATE = {"agents": 3, "join_at": (0, 2, 40), "max_steps": 8}
ABSENT = Row(task=EMPTY, config=LATE, label="absent")  # the last agent comes after the end
ALONE = replace(ABSENT, label="alone", focal=1, partners=("random",))


@pytest.fixture(autouse=True)
def _import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let worker processes import the policies of the tests."""
    monkeypatch.syspath_prepend(str(ROOT))


# -- what an episode is -------------------------------------------------------------------


@pytest.mark.parametrize("task", [EMPTY, DOOR])
def test_values_are_those_of_a_loop_over_gymnasium(task: str) -> None:
    results = evaluate(own.first_legal, task, episodes=4)
    env = gymnasium.make(f"piase_gym:{task}")
    for record in results.episodes:
        _, info = env.reset(seed=record.seed)
        total, steps, over = 0.0, 0, False
        while not over:
            action = int(info["action_mask"].nonzero()[0][0])
            _, reward, terminated, truncated, info = env.step(action)
            total, steps, over = total + float(reward), steps + 1, terminated or truncated
        assert (record.value, record.steps) == (total, steps)
        assert record.results == {"agent_0": info["result"]}
        assert record.digest == env.unwrapped.world.digest()  # type: ignore[attr-defined]


def test_partners_play_as_they_do_for_a_learner_in_gymnasium() -> None:
    for record in evaluate("noop", GUEST, episodes=4).episodes:
        (agent,) = record.focal
        env = gymnasium.make(
            f"piase_gym:{GUEST.task}", agents=4, agent=agent, partners={"*": "random"}
        )
        env.reset(seed=record.seed)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, _ = env.step(4)
            total, over = total + float(reward), terminated or truncated
        assert record.value == pytest.approx(total)
        others = [name for name in record.seats if name != agent]
        assert {record.seats[name] for name in others} == {"random"}


def test_focal_seats_rotate_with_the_seed() -> None:
    seats = [record.focal for record in evaluate("noop", PAIR, episodes=4).episodes]
    assert len(set(seats)) == 4
    assert sorted(name for pair in seats for name in pair) == sorted(
        [f"agent_{n}" for n in range(4)] * 2
    )


def test_a_win_rate_is_the_share_of_wins() -> None:
    results = evaluate("oracle", PAIR, episodes=3)
    for record in results.episodes:
        won = sum(result == "won" for result in record.results.values())
        assert record.value == won / 2
    assert results.rows[0].value is not None
    assert results.rows[0].value.estimate == 1.0


def test_self_play_counts_every_agent() -> None:
    (record,) = evaluate("oracle", TEAM, episodes=1).episodes
    assert record.focal == tuple(record.returns)
    assert record.value == pytest.approx(sum(record.returns.values()) / 4)
    assert record.milestones["goal_reached"] == 4


@pytest.mark.parametrize("row", [Row(task=EMPTY), Row(task=DOOR), TEAM, GUEST, PAIR, ABSENT, ALONE])
def test_a_batch_gives_what_single_environments_give(row: Row) -> None:
    (setting,), _ = Suite(name="s", rows=(row,)).settings("dev")
    seeds = tuple(SEEDS["dev"][:9])
    job = Job(setting, read_policy("random"), seeds)
    seated = SeatedWorld(job)
    assert seated.batchable
    batched = [record.evidence() for record in play_batch(seated)]
    assert batched == [play_one(seated, seed).evidence() for seed in seeds]


def test_the_batch_is_not_taken_for_policies_that_have_not_promised() -> None:
    (setting,), _ = Suite(name="s", rows=(Row(task=EMPTY),)).settings("dev")
    seated = SeatedWorld(Job(setting, read_policy("oracle"), (0,)))
    assert not seated.batchable


def test_nothing_is_carried_from_one_episode_to_the_next() -> None:
    several = evaluate(own.Hoarder(), DOOR, episodes=3)
    last = evaluate(own.Hoarder(), DOOR, episodes=2)
    assert several.evidence()[:2] == last.evidence()


# -- the same results however they were come by -------------------------------------------


def test_workers_do_not_change_results() -> None:
    policies = {"random": "random", "restless": own.restless, "scripted": "scripted"}
    suite = Suite(name="two", rows=(Row(task=DOOR), GUEST), episodes=12)
    alone = evaluate(policies, suite, workers=1)
    two = evaluate(policies, suite, workers=2)
    assert alone.complete
    assert alone.evidence() == two.evidence()
    assert [replace(r, seconds=0.0) for r in alone.rows] == [
        replace(r, seconds=0.0) for r in two.rows
    ]


def test_results_json_is_equal_byte_for_byte_from_any_workers_and_after_a_break(
    tmp_path: Path,
) -> None:
    policies = {"random": "random", "restless": own.restless}
    folders = {name: tmp_path / name for name in ("one", "two", "broken")}
    evaluate(policies, [EMPTY, DOOR], episodes=12, out=folders["one"])
    evaluate(policies, [EMPTY, DOOR], episodes=12, out=folders["two"], workers=2)
    evaluate(policies, [EMPTY, DOOR], episodes=5, out=folders["broken"])
    evaluate(policies, [EMPTY, DOOR], episodes=12, out=folders["broken"])
    written = {(folder / "results.json").read_bytes() for folder in folders.values()}
    assert len(written) == 1
    results = Results.load(folders["two"] / "results.json")
    timings = json.loads((folders["two"] / "timings.json").read_text())
    assert timings["seconds"] == [record.seconds for record in results.episodes]
    assert min(timings["seconds"]) > 0.0
    assert results.versions == timings["versions"] != {}
    assert b"seconds" not in written.pop()


SCRIPT = """
import sys, time
sys.path.insert(0, {root!r})
from piase_gym.benchmarks import evaluate
from tests.benchmarks import bench_policies as own

def slowly(record, done, whole):
    print(done, flush=True)
    time.sleep(0.2)

evaluate(own.restless, {task!r}, episodes=25, out={out!r}, progress=slowly)
"""


def test_an_evaluation_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    code = SCRIPT.format(root=str(ROOT), task=EMPTY, out=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "7":
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    kept = len(Journal(tmp_path / "episodes.jsonl").records)
    assert 7 <= kept < 25
    played: list[int] = []
    resumed = evaluate(
        own.restless,
        EMPTY,
        episodes=25,
        out=tmp_path,
        progress=lambda record, done, whole: played.append(record.seed),
    )
    assert len(played) == 25 - kept
    assert resumed.evidence() == evaluate(own.restless, EMPTY, episodes=25).evidence()


def test_a_torn_line_is_played_again(tmp_path: Path) -> None:
    whole = evaluate("scripted", EMPTY, episodes=5, out=tmp_path)
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    played: list[int] = []
    again = evaluate(
        "scripted", EMPTY, episodes=5, out=tmp_path, progress=lambda r, *_: played.append(r.seed)
    )
    assert played == [whole.episodes[-1].seed]
    assert again.evidence() == whole.evidence()
    journal = Journal(path)
    assert (len(journal.records), journal.file.damaged) == (5, 1)


def test_another_policy_of_the_same_name_is_not_taken_for_it(tmp_path: Path) -> None:
    first = evaluate(own.first_legal, EMPTY, name="mine", episodes=3, out=tmp_path)
    second = evaluate(own.restless, EMPTY, name="mine", episodes=3, out=tmp_path)
    assert first.evidence() != second.evidence()
    assert second.evidence() == evaluate(own.restless, EMPTY, name="mine", episodes=3).evidence()


def test_fingerprints_see_code_constants_and_closures() -> None:
    def make(number: int) -> Any:
        return lambda percept: number

    assert fingerprint(make(1)) == fingerprint(make(1))
    assert fingerprint(make(1)) != fingerprint(make(2))
    assert fingerprint(own.restless) != fingerprint(own.first_legal)
    assert fingerprint(own.Killer("a", True)) != fingerprint(own.Killer("b", True))
    lock = threading.Lock()
    closed = functools.partial(own.first_legal, lock)  # cannot be pickled
    assert fingerprint(closed) != fingerprint(closed)


def test_results_survive_their_file(tmp_path: Path) -> None:
    results = evaluate("random", Suite(name="s", rows=(Row(task=EMPTY), GUEST)), episodes=3)
    results.save(tmp_path / "r.json")
    assert Results.load(tmp_path / "r.json") == results


# -- bad input ----------------------------------------------------------------------------


def test_an_unknown_task_is_reported_and_the_rest_is_finished() -> None:
    results = evaluate("random", [EMPTY, "piase/GridWorld-Emty-8x8-v1"], episodes=2)
    assert [row.setting for row in results.rows] == [EMPTY]
    assert results.rows[0].complete
    assert not results.complete
    (problem,) = results.problems
    assert problem.where == "piase/GridWorld-Emty-8x8-v1"
    assert "piase/GridWorld-Empty-8x8-v1" in problem.what


@pytest.mark.parametrize(
    ("suite", "error"),
    [
        ("smok", UnknownNameError),
        ("piase/Nowhere-v0", UnknownNameError),
        ([], SuiteError),
        ([3], SuiteError),
        (7, SuiteError),
        (["piase/Nowhere-v0"], SuiteError),
        ("nowhere.json", SuiteError),
    ],
)
def test_a_suite_without_anything_to_play_is_an_error(suite: Any, error: type) -> None:
    with pytest.raises(error):
        evaluate("random", suite, episodes=1)


@pytest.mark.parametrize(
    "row",
    [
        {"measure": "glory"},
        {"partners": ("random",)},
        {"focal": 1},
    ],
)
def test_rows_that_make_no_sense_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        Row(task=EMPTY, **row)


def test_more_focal_seats_than_agents_is_a_problem() -> None:
    with pytest.raises(SuiteError, match="leaves no partner"):
        evaluate("random", replace(GUEST, focal=4), episodes=1)


@pytest.mark.parametrize(
    "policy", ["randm", 3, object(), {}, {"mine": []}, "no.zip", "no_module:x", int]
)
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises((PolicyError, UnknownNameError)):
        evaluate(policy, EMPTY, episodes=1)


def test_no_seed_is_of_two_splits_and_results_of_others_stay_comparable() -> None:
    ends = {name: (seeds.start, seeds.stop, seeds.step) for name, seeds in SEEDS.items()}
    assert ends == {
        "train": (0, 1_000_000, 1),
        "dev": (1_000_000, 1_001_000, 1),
        "held_out": (2_000_000, 2_001_000, 1),
        "new_levels": (3_000_000, 3_100_000, 1),
    }


@pytest.mark.parametrize("wanted", [{"workers": 0}, {"episodes": 0}, {"split": "test"}])
def test_arguments_out_of_range_are_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        evaluate("random", EMPTY, **wanted)


def test_a_model_for_other_spaces_is_reported_and_the_rest_is_finished() -> None:
    class Model:
        observation_space = gymnasium.spaces.Box(0, 255, (65,), "uint8")
        action_space = gymnasium.spaces.Discrete(9)

        def predict(self, observation: Any, deterministic: bool) -> tuple[int, None]:
            return 0, None

    results = evaluate({"model": Model(), "noop": "noop"}, EMPTY, episodes=2)
    model, noop = results.rows
    assert noop.complete
    assert model.score is None
    assert model.episodes == 0
    assert any("was made for" in fault for fault in model.faults)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_diverging_policy_is_reported_and_the_rest_is_finished(workers: int) -> None:
    policies = {"nan": own.not_a_number, "noop": "noop"}
    results = evaluate(policies, EMPTY, episodes=3, workers=workers)
    bad, good = results.rows
    assert good.complete
    assert (bad.episodes, bad.score) == (0, None)
    assert list(bad.faults.values()) == [3]
    assert "nan" in next(iter(bad.faults))


def test_a_policy_that_fails_sometimes_gets_no_score() -> None:
    row = evaluate(own.raises, EMPTY, episodes=12).rows[0]
    assert 0 < row.episodes < 12
    assert sum(row.faults.values()) == 12 - row.episodes
    assert row.score is None
    assert any("ZeroDivisionError: lost my way" in fault for fault in row.faults)


def test_a_worker_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    results = evaluate(own.Killer(str(tmp_path), forever=False), EMPTY, episodes=6, workers=2)
    assert len(list(tmp_path.glob("killed-*"))) >= 1
    assert results.complete


def test_an_episode_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    killer = own.Killer(str(tmp_path / "notes"), forever=True)
    (tmp_path / "notes").mkdir()
    results = evaluate(killer, EMPTY, episodes=6, workers=2, out=tmp_path / "out")
    (row,) = results.rows
    doomed = len(list((tmp_path / "notes").iterdir()))
    assert doomed >= 1
    assert row.episodes == 6 - doomed
    assert sum(row.faults.values()) == doomed
    assert all("SIGKILL" in fault for fault in row.faults)
    # What was finished is on disk; what was not is played again by whoever resumes.
    assert len(Journal(tmp_path / "out" / "episodes.jsonl").records) == 6 - doomed


def test_a_worker_that_is_killed_from_outside_costs_nothing(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(record: Any, done: int, whole: int) -> None:
        children = multiprocessing.active_children()
        if done == 3 and children:
            killed.append(children[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    results = evaluate(own.restless, DOOR, episodes=20, workers=2, progress=kill_one)
    assert killed
    assert results.complete
    assert results.evidence() == evaluate(own.restless, DOOR, episodes=20).evidence()


def test_an_episode_that_never_ends_is_given_up() -> None:
    results = evaluate(own.hangs, EMPTY, episodes=3, workers=2, timeout=1.5)
    (row,) = results.rows
    assert row.episodes + sum(row.faults.values()) == 3
    assert row.faults
    assert all("took longer than 1.5 s" in fault for fault in row.faults)


def test_a_policy_that_cannot_be_sent_is_named() -> None:
    with pytest.raises(PolicyError, match="workers=1"):
        evaluate(lambda percept: 0, EMPTY, episodes=2, workers=2)


def test_workers_that_cannot_start_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "only_here.py"
    module.write_text("import sys\nif 'only_here_ok' not in sys.modules: sys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "only_here_ok", sys)
    results = evaluate("random", EMPTY, episodes=3, workers=2, modules=("only_here",))
    (row,) = results.rows
    assert row.episodes == 0
    assert all("cannot be started" in fault for fault in row.faults)
    monkeypatch.delitem(sys.modules, "only_here", raising=False)


# -- storage ------------------------------------------------------------------------------


def test_results_of_another_protocol_are_refused(tmp_path: Path) -> None:
    evaluate("noop", EMPTY, episodes=2, out=tmp_path)
    for name in ("results.json", "episodes.jsonl"):
        path = tmp_path / name
        text = path.read_text("utf-8")
        assert '"protocol":1' in text.replace(" ", "")
        path.write_text(
            text.replace('"protocol": 1', '"protocol": 0').replace('"protocol":1', '"protocol":0')
        )
    with pytest.raises(ProtocolError, match="protocol 0; allowed here: 1"):
        Results.load(tmp_path / "results.json")
    with pytest.raises(ProtocolError, match="protocol 0"):
        evaluate("noop", EMPTY, episodes=2, out=tmp_path)


def test_episodes_of_another_version_of_the_package_are_not_mixed_in(tmp_path: Path) -> None:
    results = evaluate("noop", EMPTY, episodes=2, out=tmp_path)
    journal = tmp_path / "episodes.jsonl"
    header, *episodes = journal.read_text("utf-8").splitlines(keepends=True)
    version = f'"piase_gym":"{piase_gym.__version__}"'
    journal.write_text(header.replace(version, '"piase_gym":"0.0.9"') + "".join(episodes))
    with pytest.raises(ProtocolError, match=r"is of piase_gym '0\.0\.9'; this is piase_gym .*fold"):
        evaluate("noop", EMPTY, episodes=3, out=tmp_path)
    journal.write_text(header.replace(f",{version}", "") + "".join(episodes))  # as it was written
    later = evaluate("noop", EMPTY, episodes=3, out=tmp_path)
    assert later.episodes[:2] == results.episodes
    assert len(journal.read_text("utf-8").splitlines()) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"value": "x"},
        {"value": None},  # counted as 0
        {"fault": "fell"},
        {"focal": None},
        {"seed": "1"},
        {"results": None},
        {"outcomes": {"ok": "x"}},
        {"more": 1},
    ],
)
def test_a_damaged_episode_is_told_with_its_journal(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    evaluate("noop", EMPTY, episodes=2, out=tmp_path)
    path = tmp_path / "episodes.jsonl"
    head, line, *rest = path.read_text("utf-8").splitlines()
    changed = json.dumps(json.loads(line) | changes)
    path.write_text("\n".join([head, changed, *rest, ""]), "utf-8")
    with pytest.raises(ProtocolError, match=r"episodes.jsonl: this is not an episode of protocol"):
        evaluate("noop", EMPTY, episodes=2, out=tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"protocol": 1}'])
def test_damaged_results_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(ProtocolError):
        Results.load(tmp_path / "r.json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    journal = tmp_path / "episodes.jsonl"
    journal.symlink_to("/dev/full")
    results = evaluate("scripted", EMPTY, episodes=3, out=tmp_path)
    assert results.rows[0].complete
    (problem,) = results.problems
    assert problem.where == "storage"
    assert "No space left on device" in problem.what
    journal.unlink()
    stored = evaluate("scripted", EMPTY, episodes=3, out=tmp_path)
    assert stored.complete
    assert stored.evidence() == results.evidence()
    assert Results.load(tmp_path / "results.json") == stored


@pytest.fixture
def small_files() -> Iterator[None]:
    """Let no file grow beyond 2,000 bytes: writes are cut off in the middle of a line."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_tears_one_line_only(tmp_path: Path, small_files: None) -> None:
    results = evaluate("scripted", EMPTY, episodes=10, out=tmp_path)
    assert results.rows[0].complete
    assert {problem.where for problem in results.problems} == {"storage"}
    assert len(results.problems) == 2  # the journal and results.json
    assert not list(tmp_path.glob(".results*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    before = len(Journal(tmp_path / "episodes.jsonl").records)
    assert 1 <= before < 10
    again = evaluate("scripted", EMPTY, episodes=10, out=tmp_path)
    assert again.complete
    assert again.evidence() == results.evidence()
    assert len(Journal(tmp_path / "episodes.jsonl").records) == 10


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        evaluate("noop", EMPTY, episodes=1, out=tmp_path / "file" / "below")


# -- suites -------------------------------------------------------------------------------


def test_a_manifest_says_what_is_held_out_and_reads_back(tmp_path: Path) -> None:
    from piase_gym.benchmarks.evaluation.suites import read_suite, standard

    suite = standard()
    manifest = suite.manifest()
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(manifest))
    assert read_suite(path) == suite
    ranges = [range(*ends) for ends in manifest["seeds"].values()]
    assert [len(set(a) & set(b)) for a in ranges for b in ranges if a is not b] == [0] * 12
    held_out, dev = ({s.label for s in suite.settings(split)[0]} for split in ("held_out", "dev"))
    skipped = {problem.where for problem in suite.missing()}
    for scenario in (s for s in manifest["held_out_scenarios"] if s not in skipped):
        meant = {s for s in held_out if s == scenario or s.startswith(f"{scenario} with ")}
        assert meant
        assert not meant & dev
    for row, partners in manifest["held_out_partners"].items():
        labels = {f"{row} with {partner}" for partner in partners if row not in skipped}
        assert labels <= held_out
        assert not labels & dev


def test_smoke_has_every_world() -> None:
    import piase_gym
    from piase_gym.benchmarks.evaluation.suites import smoke
    from piase_gym.registry import task_spec

    settings, problems = smoke().settings()
    assert not problems
    shipped = {
        w
        for w in here(piase_gym.list_worlds())
        if any(t[:6] == "piase/" for t in piase_gym.list_tasks(w))
    }
    assert {task_spec(setting.task).world for setting in settings} == shipped


def test_time_is_measured_but_no_evidence() -> None:
    start = time.perf_counter()
    (record,) = evaluate("scripted", EMPTY, episodes=1).episodes
    assert 0.0 < record.seconds < time.perf_counter() - start
    assert "seconds" not in record.evidence()


def test_partners_that_have_learned_play_with_anybody_or_are_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = replace(GUEST, partners=(), held_out_partners=("ppo",), label="taught")
    pytest.importorskip("stable_baselines3")
    results = evaluate("random", row, episodes=2, split="held_out")
    assert [(r.partner, r.episodes) for r in results.rows] == [("ppo", 2)]
    folder = {"ppo": ModelFolder(tmp_path)}
    monkeypatch.setattr(policies, "shipped_models", lambda: folder)
    with pytest.raises(SuiteError, match="the partner ppo is missing: there is no model"):
        evaluate("random", row, episodes=2, split="held_out")
    row = replace(row, held_out_partners=("random", "ppo"))
    results = evaluate("random", row, episodes=2, split="held_out")
    assert [r.partner for r in results.rows] == ["random"]
    ((where, what),) = [(problem.where, problem.what) for problem in results.skipped]
    assert where == "taught with ppo"
    assert what.startswith("the partner ppo is missing: there is no model ")


@pytest.mark.parametrize("timeout", [None, 1.5])
def test_a_job_may_take_a_timeout_for_each_of_its_episodes(
    timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def choose(*words: Any, **options: Any) -> Any:
        given.append(options["timeout"])
        return InProcess()

    monkeypatch.setattr("piase_gym.benchmarks.evaluation.evaluate.choose_backend", choose)
    evaluate("random", EMPTY, episodes=3, timeout=timeout)
    (limit,) = given
    if timeout is None:
        assert limit is None
    else:
        assert limit(SimpleNamespace(seeds=(1, 2, 3, 4))) == 6.0


def test_fingerprints_of_models_see_every_number() -> None:
    torch = pytest.importorskip("torch")

    class Model:
        """What a model of Stable-Baselines3 has."""

        def __init__(self, last: float, name: str = "net") -> None:
            self.parameters = {"policy": {name: torch.tensor([0.0] * 5000 + [last])}, "steps": 3}
            self.made = object()

        def predict(self, observation: Any) -> Any:
            return observation

        def get_parameters(self) -> Any:
            return self.parameters

    assert fingerprint(Model(1.0)) == fingerprint(Model(1.0))
    assert len({fingerprint(Model(*words)) for words in ((1.0,), (2.0,), (1.0, "other"))}) == 3
    # Nothing but numbers count: the words for a large tensor leave most of them out.
    middle = Model(1.0)
    middle.parameters["policy"]["net"][2500] = 1.0
    assert fingerprint(middle) != fingerprint(Model(1.0))


# -- episodes, by hand --------------------------------------------------------------------


def only_setting(row: Row) -> Setting:
    """Return the only setting of a row."""
    (setting,), _ = Suite(name="s", rows=(row,)).settings("dev")
    return setting


@pytest.mark.parametrize(
    ("measure", "results", "value"),
    [
        ("win_rate", ("won", "won"), 1.0),
        ("win_rate", ("won", "drawn"), 0.75),
        ("win_rate", ("lost", "drawn"), 0.25),
        ("win_rate", ("lost", "ended"), 0.0),
        ("return", ("won", "won"), 2.0),
        ("per_capita", ("lost", "ended"), 2.0),
    ],
)
def test_draws_are_half_a_win_and_returns_are_shared(
    measure: str, results: tuple[str, ...], value: float
) -> None:
    ends = dict(zip("xy", results, strict=True))
    assert episode_value(measure, {"x": 5.0, "y": -1.0}, ends) == value


def test_seeds_of_a_split_are_its_first_and_no_more_than_it_has() -> None:
    assert split_seeds("dev", 1000) == SEEDS["dev"]
    assert list(split_seeds("held_out", 2)) == [2_000_000, 2_000_001]
    for count in (0, 1001, True, 2.0):
        with pytest.raises(SuiteError, match="episodes must be an integer from 1 to 1000, not "):
            split_seeds("dev", count)  # type: ignore[arg-type]


def test_whatever_changes_an_episode_changes_its_key() -> None:
    one = only_setting(GUEST)
    settings = [one, replace(one, measure="return"), replace(one, partner="noop")]
    settings += [replace(one, version=one.version + 1), replace(one, config_hash="0")]
    settings += [replace(one, focal=2), replace(one, task=EMPTY)]
    keys = [Job(setting, read_policy("random"), (1,)).blank(1).key for setting in settings]
    keys += [Job(one, read_policy("scripted"), (1,)).blank(1).key]
    keys += [Job(one, read_policy("random"), (1,)).blank(seed).key for seed in (2, 5)]
    assert len(set(keys)) == len(keys) == 10
    named = Job(replace(one, label="x"), read_policy("random", "mine", 3), (1,)).blank(1)
    assert (named.key, named.setting, named.policy, named.run) == (keys[0], "x", "mine", 3)


def test_a_job_is_called_by_its_seeds() -> None:
    setting, policy = only_setting(Row(task=EMPTY)), read_policy("noop", "mine")
    names = [str(Job(setting, policy, seeds)) for seeds in ((5,), (5, 7, 9))]
    assert names == [f"{EMPTY}, mine, seed 5", f"{EMPTY}, mine, seeds 5 to 9"]


def test_errors_are_told_in_one_line() -> None:
    assert describe(SuiteError("one\ntwo")) == "SuiteError: one"
    raised = "the policy or world raised"
    assert describe(ValueError("one\ntwo")) == f"{raised} ValueError: one"
    assert describe(ValueError()) == f"{raised} ValueError: "
    assert describe(KeyError("x" * 400)) == f"{raised} KeyError: '{'x' * 299}"


def test_a_hint_counts_once_for_who_is_measured() -> None:
    world = make_world(only_setting(TEAM))
    world.reset(0)
    metrics = EpisodeMetrics(world, ("agent_1", "agent_2"))
    counts = []
    for agent, hint in ((1, "go"), (1, "go"), (2, "go"), (0, "go"), (1, "stay"), (1, None)):
        world.give_hint(agent, hint)
        metrics.look()
        counts.append(metrics.hints)
    assert counts == [1, 1, 2, 2, 3, 3]


def test_letters_count_of_who_is_measured() -> None:
    told: dict[str, Any] = {"task": "piase/TextRoom-Quest-Easy-v3"}
    told["config"] = {"agents": 2, "max_steps": 4}
    talker = f"{own.__name__}:talks"
    for policy, partner, count in (("noop", talker, 0), (talker, "noop", 4)):
        row = Row(**told, focal=1, partners=(partner,))
        (record,) = evaluate(policy, row, episodes=1).episodes
        assert (record.fault, record.steps, record.messages) == (None, 4, count)


def test_a_batch_that_fails_is_played_one_by_one() -> None:
    results = evaluate({"mine": own.OnlyAlone(), "same": own.first_legal}, EMPTY, episodes=4)
    mine, same = ([r.digest for r in results.of(EMPTY, name)] for name in ("mine", "same"))
    assert results.complete
    assert mine == same


def test_where_a_policy_failed_is_told() -> None:
    (row,) = evaluate(own.not_a_number, EMPTY, episodes=2).rows
    assert all(fault.startswith("step 3: ActionError: ") for fault in row.faults)
    (row,) = evaluate(own.Refuses, EMPTY, episodes=2).rows
    assert row.faults == {"PolicyError: not with me": 2}


# -- policies, by hand --------------------------------------------------------------------


def test_a_recurrent_model_keeps_its_memory_for_an_episode() -> None:
    model = own.Recurrent()
    results = evaluate(model, EMPTY, episodes=2)
    alone = evaluate(own.first_legal, EMPTY, episodes=2)
    assert [r.digest for r in results.episodes] == [r.digest for r in alone.episodes]
    for steps in (record.steps for record in results.episodes):
        given, model.given = model.given[:steps], model.given[steps:]
        assert [state for state, *_ in given] == [None, *range(1, steps)]
        assert [start for _, start, *_ in given] == [(True, (1,))] + [(False, (1,))] * (steps - 1)
        assert all(deterministic is False and sum(mask) > 0 for *_, deterministic, mask in given)
    assert model.given == []
    greedy = evaluate(policies.ModelAgent(model, greedy=True), EMPTY, episodes=1)
    assert not greedy.rows[0].faults
    assert model.given
    assert all(deterministic is True for _, _, deterministic, _ in model.given)


class Dice:
    """A model that draws from the generators that all share."""

    def predict(self, observation: Any) -> tuple[int, None]:
        drawn = [random.randrange(4), int(np.random.randint(4))]  # noqa: NPY002
        if torch := sys.modules.get("torch"):
            drawn.append(int(torch.randint(4, ())))
        return sum(drawn) % 4, None


def test_draws_of_a_model_follow_from_the_seed_and_leave_the_generators_as_they_were() -> None:
    seeds = range(7, 10)

    def played(*order: int, stir: int) -> dict[int, str]:
        random.seed(stir)
        np.random.seed(stir)  # noqa: NPY002
        own_draws = [random.getstate(), np.random.get_state()[1].tolist()]  # noqa: NPY002
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(stir)
            own_draws.append(sys.modules["torch"].get_rng_state().tolist())
        job = Job(only_setting(Row(task=EMPTY)), read_policy(Dice()), order)
        found = {record.seed: record.digest for record in play(job)}
        then = [random.getstate(), np.random.get_state()[1].tolist()]  # noqa: NPY002
        if "torch" in sys.modules:
            then.append(sys.modules["torch"].get_rng_state().tolist())
        assert then == own_draws
        return found

    first = played(*seeds, stir=1)
    assert played(*reversed(seeds), stir=2) == first
    assert played(seeds[1], stir=3) == {seeds[1]: first[seeds[1]]}
    assert len({*first.values()}) == len(seeds)
    world = make_world(only_setting(Row(task=EMPTY)))
    acts = []
    agent = policies.ModelAgent(Dice())
    for seed in (1, 2):
        agent.reset(seed)
        for step in range(20):
            agent.perceive(Percept(world, 0, step))
            acts.append(agent.act())
    assert acts[:20] != acts[20:]
    assert {*acts[:20]} == {0, 1, 2, 3}  # not one draw again and again


@pytest.mark.parametrize(
    ("policy", "name", "batched"),
    [
        ("random", "random", True),
        ("oracle", "oracle", False),
        ("ppo", "ppo", True),
        (f"{own.__name__}:first_legal", "first_legal", False),
        (own.first_legal, "first_legal", False),
        (own.Hoarder, "Hoarder", False),
        (own.Hoarder(), "Hoarder", False),
        (own.OnlyAlone, "OnlyAlone", True),
        (own.OnlyAlone(), "OnlyAlone", True),
        (own.Recurrent(), "Recurrent", False),
    ],
)
def test_policies_have_names_and_promise_batches(policy: Any, name: str, batched: bool) -> None:
    found = read_policy(policy)
    assert (found.name, found.run, found.batched, found.waits) == (name, 0, batched, False)
    assert read_policy(policy, "mine", 2).name == "mine"
    assert read_policy(policy, "mine", 2).run == 2
    assert read_policy(policy, "mine", 2).fingerprint == found.fingerprint
    assert read_policy(found) is found


def test_runs_are_numbered_by_name() -> None:
    told = {"a": ["random", "noop"], "b": "random", 3: ("noop",)}
    found = [(policy.name, policy.run, policy.source) for policy in policies.read_policies(told)]
    assert found == [("a", 0, "random"), ("a", 1, "noop"), ("b", 0, "random"), ("3", 0, "noop")]


def test_files_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    for name, data in (("a.zip", b"1"), ("b.zip", b"1"), ("c.zip", b"2"), ("d.pt", b"1")):
        (tmp_path / name).write_bytes(data)
    paths = [tmp_path / name for name in ("a.zip", "b.zip", "c.zip", "d.pt")]
    a, b, c, d = (read_policy(path) for path in paths)
    assert (a.name, a.source, d.source) == ("a", f"sb3:{paths[0]}", f"ppo:{paths[3]}")
    assert a.fingerprint == b.fingerprint == read_policy(f"sb3:{paths[0]}").fingerprint
    greedy = read_policy(f"sb3-greedy:{paths[0]}")
    assert len({p.fingerprint for p in (a, c, d, greedy)}) == 4
    with pytest.raises(PolicyError, match=r"there is no model .*e\.zip' to be read: No such file"):
        read_policy(tmp_path / "e.zip")


# -- evaluations, by hand -----------------------------------------------------------------


def test_episodes_that_are_known_are_told_under_their_new_names(tmp_path: Path) -> None:
    evaluate({"a": [own.first_legal, own.restless]}, EMPTY, episodes=3, out=tmp_path)
    played: list[tuple[int, int, int]] = []
    results = evaluate(
        {"b": own.restless},
        Row(task=EMPTY, label="mine"),
        episodes=5,
        out=tmp_path,
        progress=lambda record, done, whole: played.append((record.seed, done, whole)),
    )
    assert played == [(1_000_003, 4, 5), (1_000_004, 5, 5)]
    assert {(r.setting, r.policy, r.run) for r in results.episodes} == {("mine", "b", 0)}
    assert all(set(r.seats.values()) == {"b"} for r in results.episodes)


def test_who_is_left_out_of_a_task_is_told() -> None:
    row = Row(task=EMPTY, without=("scripted", "random"))
    results = evaluate({"s": "scripted", "n": "noop"}, row, episodes=1)
    assert results.policies == ("n",)
    assert [(p.where, p.what) for p in results.skipped] == [
        (EMPTY, f"the policy scripted is left out of {EMPTY}")
    ]
    with pytest.raises(SuiteError, match=f"nothing can be played: .* left out of {EMPTY}"):
        evaluate("random", row, episodes=1)
    with pytest.raises(SuiteError, match="'s' can be played: it has no rows here"):
        evaluate("noop", Suite(name="s", rows=(replace(row, held_out=True),)), episodes=1)


@pytest.mark.parametrize("given", [{"concurrency": 0}, {"workers": True}, {"workers": 1.0}])
def test_counts_are_positive_integers(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ConfigError, match=f"{name} must be a positive integer, not "):
        evaluate("noop", EMPTY, episodes=1, **given)


def test_an_evaluation_says_with_what_it_was_made() -> None:
    results = evaluate("noop", Suite(name="s", rows=(Row(task=EMPTY),), episodes=2, split="train"))
    assert (results.split, [r.seed for r in results.episodes]) == ("train", [0, 1])
    assert results.suite["name"] == "s"
    assert {"protocol", "piase_gym", "python", "numpy"} <= set(results.versions)
    assert results.versions["python"] == platform.python_version()


def test_fingerprints_see_what_a_function_reads_outside_of_itself() -> None:
    code = """
def helper(percept):
    return {part}

def choose(percept, more={default}):
    return choose and helper(percept) + NUMBER + more
"""

    def made(part: str = "0", default: int = 0, number: int = 1) -> str:
        names: dict[str, Any] = {"NUMBER": number}
        exec(code.format(part=part, default=default), names)
        return fingerprint(names["choose"])

    assert made() == made()
    assert made().startswith("hash:")
    assert len({made(), made("percept"), made(default=1), made(number=2)}) == 4
    bound = [fingerprint(own.Killer(name, True).reset) for name in "aba"]
    assert bound[0] == bound[2] != bound[1]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("lambda p: p.left", "lambda p: p.right"),
        ("lambda p: 1", "lambda p: 2"),
        ("lambda p, *, k=1: k", "lambda p, *, k=2: k"),
        ("lambda p, k=1: k", "lambda p, k=True: k"),
        ("lambda p, k=1: k", "lambda p, k='1': k"),
        ("lambda p, k=('ab', 'c'): k", "lambda p, k=('a', 'bc'): k"),
        ("lambda p, k=([1], 2): k", "lambda p, k=([1, 2],): k"),
        ("lambda p, k=[A, B, A]: k", "lambda p, k=[A, B, B]: k"),
        ("lambda p, k={'a': 1}: k", "lambda p, k={'b': 1}: k"),
        ("lambda p, k={1, 2}: k", "lambda p, k={1, 3}: k"),
        ("lambda p, k=Proxy({'a': 1}): k", "lambda p, k=Proxy({'a': 2}): k"),
        (
            "type('X', (), {'it': property(None, lambda s, v: 1)})",
            "type('X', (), {'it': property(None, lambda s, v: 2)})",
        ),
        ("functools.partial(max, 1)", "functools.partial(max, 2)"),
        ("lambda p, k=re.compile('a'): k", "lambda p, k=re.compile('b'): k"),
        ("lambda p, k=torch.zeros(4): k", "lambda p, k=torch.zeros(2, 2): k"),
        ("lambda p, k=torch.zeros(4): k", "lambda p, k=torch.zeros(4).int(): k"),
    ],
)
def test_policies_that_differ_in_one_thing_have_other_fingerprints(one: str, two: str) -> None:
    names = {"__name__": "mine", "A": [1], "B": [2], "Proxy": MappingProxyType}
    names |= {"functools": functools, "re": re}
    if "torch" in one:
        names["torch"] = pytest.importorskip("torch")

    def mark(code: str) -> str:
        return fingerprint(eval(code, names))

    assert mark(one) == mark(one) != mark(two)
    assert mark(one)[:5] == mark(two)[:5] == "hash:"


# -- fingerprints of whatever a policy is made of -----------------------------------------


WAYS = """
import functools
import ours

def reads(percept):
    return NET(percept)

def in_a_comprehension(percept):
    return [NET(row) for row in percept]

def by_a_helper(percept):
    return (lambda: reads(percept))()

def by_default(percept, net=NET):
    return net(percept)

def by_attribute(percept):
    return by_attribute.net(percept)

by_attribute.net = NET

def of_a_module(percept):
    return ours.inner.NET(percept)

def of_a_module_in_a_lambda(percept):
    return (lambda: ours.inner.NET(percept))()

def by_an_import(percept):
    from ours.inner import NET
    return NET(percept)

def by_a_near_import(percept):
    from .random import NET
    return NET(percept)

def by_a_distant_import(percept):
    import ours.inner as there
    return there.NET(percept)

def closing():
    net = NET
    return lambda percept: net(percept)

def passed_on():
    return functools.partial(lambda nets, percept: nets[0]["net"], [{"net": (NET,)}])

@functools.lru_cache
def with_a_cache(percept):
    return NET(percept)

def wrapped():
    @functools.wraps(reads)
    def inner(*args):
        return reads(*args)
    return inner

class Method:
    def __call__(self, percept):
        return NET(percept)

class Attribute:
    nets = {"mine": [NET]}
    def __call__(self, percept):
        return self.nets["mine"][0](percept)

class Heir(Attribute):
    pass

class Property:
    @property
    def net(self):
        return NET
    def __call__(self, percept):
        return self.net(percept)

class Static:
    __call__ = staticmethod(reads)

class Cached:
    @functools.cached_property
    def net(self):
        return NET

class Own:
    def __init__(self):
        self.net = NET
    def act(self):
        return self.net

closed, partial, twin = closing(), passed_on(), wrapped()
method, attribute, heir, prop = Method(), Attribute(), Heir(), Property()
static, cached, object_of_its_own = Static(), Cached(), Own()
bound = object_of_its_own.act
def by_an_object(percept):
    return object_of_its_own(percept)
"""
POLICIES = """
reads in_a_comprehension by_a_helper by_default by_attribute of_a_module of_a_module_in_a_lambda
by_an_import by_a_near_import by_a_distant_import closed partial with_a_cache twin method
attribute heir prop static cached object_of_its_own bound by_an_object Attribute Heir Method
""".split()


class Net:
    """Stands for a network: can be called, and holds numbers."""

    def __init__(self) -> None:
        self.bias = 0.0

    def __call__(self, percept: Any) -> int:
        return int(self.bias)

    def move(self, by: float) -> None:
        self.bias += by


def ways(net: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Policies that come to a network in different ways, by name."""
    inner = ModuleType("ours.inner")
    package = ModuleType("ours")
    names = {"NET": net, "__package__": "ours"}
    vars(inner)["NET"] = net
    vars(package).update({"inner": inner, "__path__": []})
    monkeypatch.setitem(sys.modules, "ours", package)
    for name in ("ours.inner", "ours.random"):  # not the random of Python
        monkeypatch.setitem(sys.modules, name, inner)
    exec(WAYS, names)
    return {name: names[name] for name in POLICIES}


@pytest.mark.parametrize("kind", ["object", "torch", "frozen"])
def test_fingerprints_see_networks_wherever_they_are(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net: Any = Net()
    if kind != "object":
        torch = pytest.importorskip("torch")

        class TorchNet(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(3, 2)
                torch.nn.init.zeros_(self.layer.bias)
                self.register_buffer("bias", torch.zeros(2), persistent=kind == "torch")

            def move(self, by: float) -> None:
                with torch.no_grad():
                    (self.layer if kind == "torch" else self).bias[1] += by

        net = TorchNet()
    found = ways(net, monkeypatch)

    def told() -> dict[str, str]:
        return {name: fingerprint(policy) for name, policy in found.items()}

    before = told()
    assert told() == before
    assert all(mark.startswith("hash:") for mark in before.values())
    net.move(0.5)
    after = told()
    assert [name for name in before if before[name] == after[name]] == []
    net.move(-0.5)
    assert told() == before


def test_fingerprints_see_changed_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> tuple[str, str, str]:
        return fingerprint(own.Hoarder), fingerprint(own.Hoarder()), fingerprint(own.OnlyAlone)

    before = told()
    monkeypatch.setattr(own.Hoarder, "choice", {"first": [1]}, raising=False)
    one = told()
    monkeypatch.setattr(own.Hoarder, "choice", {"first": [2]})
    two = told()
    monkeypatch.setattr(own.Hoarder, "act", own.OnlyAlone.act)
    three = told()
    for marks in zip(before[:2], one[:2], two[:2], three[:2], strict=True):
        assert len(set(marks)) == 4
    assert before[2] == one[2] == two[2] == three[2]


def test_episodes_of_a_network_that_has_learned_since_are_played_anew(tmp_path: Path) -> None:
    net = Net()

    def policy(percept: Any) -> int:
        return net(percept)

    def play(out: Path | None) -> Any:
        return evaluate({"mine": policy}, EMPTY, episodes=2, out=out, references={}).evidence()

    first = play(tmp_path)
    assert play(tmp_path) == first
    net.move(3.0)
    assert play(tmp_path) == play(None) != first


class Refuses:
    """Does not tell its state."""

    def __reduce__(self) -> str:
        raise TypeError("ask somebody else")


@pytest.mark.parametrize("secret", [threading.Lock(), (n for n in "ab"), Refuses()])
def test_what_cannot_be_looked_into_is_never_found_again(
    secret: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    net: Any = Net()
    net.secret = secret
    for name, policy in ways(net, monkeypatch).items():
        marks = {fingerprint(policy) for _ in range(2)}
        assert len(marks) == 2, name
        assert all(mark.startswith("once:") for mark in marks), name


def test_installed_packages_are_looked_into_if_the_policy_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    theirs = "import {0}\nSTATE = [0]\ndef choose(p):\n    return STATE or {0}.choose(p)\n"
    theirs += "class Base:\n    rate = 1\n    def act(self): return 1\n"
    for name, other in (("bought_one", "bought_two"), ("bought_two", "bought_one")):
        (folder / f"{name}.py").write_text(theirs.format(other))
    monkeypatch.syspath_prepend(str(folder))
    one, two = importlib.import_module("bought_one"), importlib.import_module("bought_two")
    before = fingerprint(one.choose)
    two.STATE[0] = 1
    assert fingerprint(one.choose) == before
    one.STATE[0] = 1
    assert fingerprint(one.choose) != before
    heir, marks = type("Heir", (two.Base,), {"__module__": __name__})(), []
    for change in ({}, {"rate": 2}, {"act": lambda self: 2}):
        for name, part in change.items():
            setattr(two.Base, name, part)
        marks.append(fingerprint(heir))
    assert len({*marks}) == 3
    for name in ("bought_one", "bought_two"):
        monkeypatch.delitem(sys.modules, name)


def test_fingerprints_are_equal_in_every_process_and_load_no_torch() -> None:
    script = """
import functools, logging, sys, time
import numba
import numpy as np
from piase_gym.agents import make_agent
from piase_gym.agents.fingerprints import fingerprint

log, step = logging.getLogger("mine"), time.time_ns()  # the attribute step is another

@numba.njit
def add(number):
    return number + 1

class Net:
    names = {"a", "b", "c"}
    def __init__(self):
        self.seen = [np.arange(3.0)[::2], np.float32(1), {"x": frozenset("pqr")}]
    def __call__(self, percept):
        log.info(add(percept.step))
        return percept.text in {"north", "south", "west"} and np.argmax(self.seen[0])

net = Net()
found = [net, lambda percept: net(percept), make_agent("random"), make_agent("scripted")]
print(*map(fingerprint, found), "torch" in sys.modules)
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    (line,) = told
    assert line.count("hash:") == 4
    assert line.split()[-1] == "False"
