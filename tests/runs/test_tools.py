"""What PiaAVT's tools and users ask of logs: ids, goals, means, compression, places, consent."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import curricula, runs
from piase_gym.agents.policy_registry import make_agent, names_file
from piase_gym.errors import (
    ActionError,
    AgentError,
    ConfigError,
    CurriculumError,
    LogWriteError,
    PiaseError,
    PolicyError,
    RunError,
)
from piase_gym.wrappers import AvtLogger, CurriculumWrapper
from tests.curricula.example_curricula import STAY, arrive, curriculum, step
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import grid, keys, play
from tests.runs.test_forgery import forge


def logged(path: Path, env: Any = None, episodes: int = 2, **options: Any) -> Path:
    """Log some episodes."""
    env = AvtLogger(env or grid(), path, **options)
    play(env, episodes=episodes)
    env.close()
    return path


def goal_lines(path: Path, kind: str = "GOAL_STATUS_CHANGED") -> list[dict[str, Any]]:
    """Return the data of goal lines."""
    return [e["event_data"] for e in lines(path) if e["event_type"] == kind]


# -- what the toolkit's analyses read ----------------------------------------------------------


def test_ids_are_unique_over_runs_that_are_concatenated(tmp_path: Path) -> None:
    paths = [logged(tmp_path / f"{n}.jsonl", level="events") for n in range(3)]
    events = [event for path in paths for event in lines(path)]
    assert len({event["event_id"] for event in events}) == len(events)
    goals = [e["event_data"]["goal_id"] for e in events if e["event_type"] == "GOAL_CREATED"]
    assert len(set(goals)) == len(goals) == 18
    assert all(g["initial_status"] == "ACTIVE" for g in goal_lines(paths[0], "GOAL_CREATED"))


@pytest.mark.parametrize("game", ["harvest", "prisoners_dilemma"])
def test_goals_of_episodes_that_were_played_out_are_not_abandoned(
    game: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = piase_gym.parallel_env("SocialDilemma", game=game, rounds=4)
    logger = AvtLogger(env, path)
    logger.reset(seed=0)
    while logger.agents:
        logger.step(dict.fromkeys(logger.agents, 0))
    logger.reset(seed=1)
    logger.step(dict.fromkeys(logger.agents, 0))
    logger.close()
    ends = goal_lines(path)
    assert {e["new_state"] for e in ends if e["reason"] == "ended"} == {"ACHIEVED"}
    assert {e["new_state"] for e in ends if e["reason"] == "closed"} == {"ABANDONED"}
    assert runs.replay(path).sound


def test_expanded_logs_keep_the_ids_of_lines_that_are_there(tmp_path: Path) -> None:
    levels = {"agent_0": "events", "agent_1": "actions", "agent_2": "full"}
    for level, others in (("actions", None), ("events", None), ("actions", levels)):
        path = logged(tmp_path / f"{level}-{bool(others)}.jsonl", level=level, levels=others)
        out = tmp_path / f"{path.stem}-expanded.jsonl"
        runs.export(path, out, expand=True)
        before = {event["event_id"]: event for event in lines(path)}
        after = {event["event_id"]: event for event in lines(out)}
        assert len(after) == len(lines(out))
        assert {key: after.get(key) for key in before} == before
        kinds = Counter(event["event_type"] for event in lines(out))
        steps = sum(len(e["event_data"]["commands"]) for e in runs.read(path).steps())
        for kind in ("AGENT_ACTION_SENT_TO_ENV", "AGENT_ACTION_EXECUTED_IN_ENV"):
            assert kinds[kind] == kinds["REWARD_SIGNAL_ISSUED"] == steps
        if level == "events":
            assert after == before
        ids = [event["event_id"] for event in lines(out)]
        numbers = [tuple(map(int, i.rpartition(":")[2].split("."))) for i in ids]
        assert [n[0] for n in numbers if len(n) == 1] == list(range(1, len(before) + 1))


def corridor(path: Path, **more: Any) -> Path:
    """Log a curriculum in which a step is repeated, and the last one fails."""
    rules = [["step_attempts >= 2 and mean_return < 0", "FAIL_CURRICULUM"]]
    plan = curriculum(step(1), step(2, adaptation_rules=rules, **more))
    inner = piase_gym.parallel_env("GridWorld", width=3, height=3)
    env = AvtLogger(CurriculumWrapper(inner, plan), path)
    count = 0
    while env.progress["agent_0"].active:
        env.reset(seed=count)
        while env.agents:
            env.step({"agent_0": arrive(env, "agent_0") if count < 1 else STAY})
        count += 1
    env.close()
    return path


def test_steps_of_curricula_are_goals_of_their_own(tmp_path: Path) -> None:
    path = corridor(tmp_path / "run.jsonl")
    made = {g["goal_id"]: g for g in goal_lines(path, "GOAL_CREATED")}
    steps = {g["goal_id"]: g for g in made.values() if g["type"] == "CURRICULUM_STEP"}
    assert [g["description"] for g in steps.values()] == ["step 1: step 1", "step 2: step 2"]
    ends = {g["goal_id"]: g["new_state"] for g in goal_lines(path) if g["goal_id"] in steps}
    assert list(ends.values()) == ["ACHIEVED", "FAILED"]
    orders = {}
    for event in lines(path):
        data, kind = event["event_data"], event["event_type"]
        if kind.startswith("DSE_") and ("order" in data or kind == "DSE_ADAPTATION_EVAL"):
            orders.setdefault(data.get("order", data.get("step")), set()).add(data["goal_id"])
    assert {order: len(ids) for order, ids in orders.items()} == {1: 1, 2: 1}
    assert set().union(*orders.values()) == set(steps)
    assert runs.replay(path).sound
    # The episodes' goals are counted as before.
    assert runs.stats(path).goals["agent_0"].episodes == 3


def test_decisions_follow_from_the_run(tmp_path: Path) -> None:
    path, forged = corridor(tmp_path / "run.jsonl"), tmp_path / "forged.jsonl"
    events = lines(path)
    found = 0
    for place, event in enumerate(events):
        changes: list[tuple[str, Any]] = []
        if event["event_type"] == "DSE_ADAPTATION_EVAL":
            changes += [("decision", "PROCEED_NOW"), ("values", {"task_success": None})]
            changes += [("completed", not event["event_data"]["completed"]), ("rule", "x")]
        if event["event_type"] == "DSE_AGENT_CURRICULUM_START":
            changes += [("sha256", "0" * 64)]
        if event["event_type"] in ("DSE_CURRICULUM_FAILED", "DSE_STEP_COMPLETED"):
            changes += [("order", 7), ("goal_id", "x")]
        for key, value in changes:
            rows = json.loads(json.dumps(events))
            rows[place]["event_data"][key] = value
            forged.write_bytes(b"".join(forge(rows)))
            report = runs.replay(forged)
            assert not report.ok, (key, event)
            first = report.first_divergence
            assert first is not None
            assert first.line == place + 1
            found += 1
    assert found >= 3 * 4 + 1 + 2 * 2


# -- one mean ----------------------------------------------------------------------------------


def test_stats_metrics_and_summary_know_one_mean(tmp_path: Path) -> None:
    path, env = tmp_path / "run.jsonl", grid(max_steps=6)
    live = runs.Metrics(env)
    env = AvtLogger(env, path)
    seen = play(env, episodes=3)
    env.reset(seed=77)  # an episode that is broken off
    for _ in range(2):
        env.step(dict.fromkeys(env.agents, 4))
    env.reset(seed=78)
    env.step(dict.fromkeys(env.agents, 4))
    env.close()
    summary, file = runs.read(path).summary, runs.Metrics(path)
    assert summary is not None
    for agent, goal in runs.stats(path).goals.items():
        returns, lengths = seen.returns[agent], seen.lengths[agent]
        assert (goal.played, goal.episodes, goal.states["ABANDONED"]) == (3, 5, 2)
        mean = pytest.approx(np.mean(returns))
        assert goal.mean_return == mean
        assert goal.mean_length == pytest.approx(np.mean(lengths))
        assert summary["agents"][agent]["mean_return"] == mean
        for metrics in (live, file):
            assert metrics.get_performance_metric(agent, "mean_return") == mean
            assert metrics.get_performance_metric(agent, "episode_length") == goal.mean_length
    only = AvtLogger(grid(), tmp_path / "only.jsonl")
    only.reset(seed=0)
    only.step(dict.fromkeys(only.agents, 4))
    only.close()
    assert runs.stats(tmp_path / "only.jsonl").goals["agent_0"].mean_return is None
    summary = runs.read(tmp_path / "only.jsonl").summary
    assert summary is not None
    assert summary["agents"]["agent_0"]["mean_return"] is None


def test_reports_count_the_steps_of_their_own_episode(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    seen = play(env, episodes=3)
    env.close()
    reports = [e["event_data"] for e in lines(path) if e["event_type"] == "LEARNING_EPISODE_END"]
    for number, report in enumerate(reports):
        lengths = {agent: row[number] for agent, row in seen.lengths.items()}
        assert report["lengths"] == lengths
        assert report["steps"] == max(lengths.values())
        for agent, total in report["returns"].items():
            assert total == pytest.approx(seen.returns[agent][number])
    assert sum(report["steps"] for report in reports) == seen.steps
    assert any(total != 0.0 for total in reports[0]["returns"].values())


@pytest.mark.parametrize(
    ("key", "value"),
    [("rewards", None), ("rewards", True), ("terminated", None), ("terminated", 0), ("extra", 1)],
)
def test_null_and_new_entries_are_not_equal_to_anything(
    key: str, value: Any, tmp_path: Path
) -> None:
    path = logged(tmp_path / "run.jsonl")
    events = lines(path)
    place = next(i for i, e in enumerate(events) if e["event_data"].get("kind") == "step")
    data = events[place]["event_data"]
    if key == "extra":
        data[key] = value
    else:
        data[key]["agent_0"] = value
    path.write_bytes(b"".join(forge(events)))
    found = runs.replay(path).first_divergence
    assert found is not None
    assert found.line == place + 1
    assert found.logged == value
    assert found.logged is value or value == 1


# -- forks check before they run ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        ("moev up", ActionError, "'moev up' is no command of agent_0.*did you mean 'move'"),
        ("move nrth", ActionError, "'nrth'; did you mean 'north'"),
        (99, ActionError, "action 99 of agent_0 is not allowed; actions are integers from 0 to 5"),
        (-1, ActionError, "action -1 of agent_0 is not allowed"),
        (True, ActionError, "action True of agent_0 is not allowed"),
        ("interact", ActionError, "'interact' is not allowed to agent_0 at the cut.*'move north'"),
        (5, ActionError, "5 is not allowed to agent_0 at the cut"),
        ({"type": "fly", "parameters": {}}, ActionError, "fly"),
        ({"type": "fly"}, ActionError, "type and parameters"),
        ({2: "x"}, ActionError, "'x' is no command"),
        ({0: "stay"}, ConfigError, "not 0"),
        (1.5, ActionError, "1.5"),
    ],
)
def test_what_is_no_command_is_named_before_anything_runs(
    act: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    path, logs = logged(tmp_path / "run.jsonl"), tmp_path / "branches"
    with pytest.raises(error, match=message):
        runs.fork(path, at=2, actions={"agent_0": act}, logs=logs)
    assert not logs.exists()
    assert runs.fork(path, at=2, actions={"agent_0": {1: "stay", 2: 4}}, logs=logs).branches


def test_who_has_ended_cannot_act_after_the_cut(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.jsonl", episodes=1)
    ended = next(e for e in runs.read(path).steps() if "results" in e["event_data"])
    agent = next(iter(ended["event_data"]["results"]))
    with pytest.raises(AgentError, match=f"{agent} is not in play at the cut; in play are"):
        runs.fork(path, at=ended["step"], actions={agent: "stay"})


# -- compression -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["jsonl.gz", "jsonl.zst"])
def test_compressed_logs_are_read_everywhere(ending: str, tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / f"run.{ending}"
    env = AvtLogger(AvtLogger(grid(), plain, run_id="x"), path, run_id="x")
    play(env, episodes=2)
    env.recorder.flush()
    assert runs.replay(path).verdict == "equal but unsealed"  # while it is being written
    env.close()
    assert path.stat().st_size < plain.stat().st_size / 3
    if ending == "jsonl.gz":
        assert len(gzip.decompress(path.read_bytes()).splitlines()) == len(lines(plain))
    strip = [{**e, "timestamp": ""} for e in lines(plain)][1:-1]
    assert [{**e, "timestamp": ""} for e in runs.read(path)][1:-1] == strip
    assert runs.validate(path).ok
    assert runs.replay(path).sound
    assert runs.stats(path).goals == runs.stats(plain).goals
    assert runs.fork(path, at=2).effect == 0.0
    assert runs.Metrics(path).get_performance_metric("agent_0", "episodes") == 2
    again = tmp_path / f"again.{ending}"
    runs.export(path, again)
    assert list(runs.read(again)) == list(runs.read(path))
    torn = tmp_path / f"torn.{ending}"
    torn.write_bytes(path.read_bytes()[:-40])
    assert not runs.validate(torn).ok
    assert runs.replay(torn).seal.state == "unsealed"


def test_a_log_without_its_last_line_end_is_sealed_and_sound(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # as some editors leave it
    assert runs.validate(path).ok
    assert runs.replay(path).verdict == "sound"


def test_endings_of_other_compressions_are_refused(tmp_path: Path) -> None:
    for ending in (".bz2", ".xz", ".zip"):
        with pytest.raises(LogWriteError, match=r"allowed: \.jsonl, \.jsonl\.gz, \.jsonl\.zst"):
            AvtLogger(grid(), tmp_path / f"run.jsonl{ending}")
    with pytest.raises(ConfigError, match="only JSON Lines"):
        runs.export(logged(tmp_path / "run.jsonl"), tmp_path / "x.csv.gz")


def test_minari_has_every_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    seen = play(env, episodes=2)
    env.reset(seed=5)
    for _ in range(3):
        env.step(dict.fromkeys(env.agents, 4))
    env.close()  # in the midst of an episode
    (first, *_) = runs.export(path, "piase/all", format="minari")
    dataset = minari.load_dataset(first)
    lengths = [len(episode.actions) for episode in dataset.iterate_episodes()]
    assert lengths == [*seen.lengths["agent_0"], 3]
    assert next(iter(dataset.iterate_episodes([2]))).truncations[-1]
    events = lines(path)
    next(e for e in events if e["event_data"].get("kind") == "step")["event_data"]["digest"] = "0"
    path.write_bytes(b"".join(forge(events)))
    with pytest.raises(RunError, match="cannot be executed again"):
        runs.export(path, "piase/all", format="minari", overwrite=True)


def test_minari_has_no_ids_that_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    logs = {}
    for ids in (("a.b", "c"), ("a.b", "a_b")):
        logs[ids] = tmp_path / f"{'-'.join(ids)}.jsonl"
        env = AvtLogger(grid(agents=2, agent_ids=ids), logs[ids])
        play(env, episodes=1)
        env.close()
    one, two = logs.values()
    for name in ("x", "a.b", "a//b", "a/../b", "a/"):
        with pytest.raises(ConfigError, match=f"'{name}' cannot be part of a dataset's id"):
            runs.export(one, name, format="minari")
    with pytest.raises(ConfigError, match="'a_b' has the same dataset as another: piase/a_b-v0"):
        runs.export(two, "piase", format="minari")
    with pytest.raises(LogWriteError, match="cannot be written: File name too long"):
        runs.export(one, "w" * 300, format="minari")
    assert runs.export(one, "piase", format="minari") == ["piase/a_b-v0", "piase/c-v0"]
    assert [*minari.list_local_datasets()] == ["piase/a_b-v0", "piase/c-v0"]


# -- places ------------------------------------------------------------------------------------


def test_a_log_is_never_lost_by_what_is_made_of_it(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.jsonl")
    kept = path.read_bytes()
    for name in ("link.jsonl", "link.gif", "link.png"):
        (tmp_path / name).symlink_to(path)
    with pytest.raises(LogWriteError, match="the log itself"):
        runs.export(path, path, overwrite=True)
    with pytest.raises(LogWriteError, match="the log itself"):
        runs.export(path, tmp_path / "link.jsonl", overwrite=True)
    with pytest.raises(LogWriteError, match="the log itself"):
        runs.render(path, tmp_path / "link.gif")
    with pytest.raises(LogWriteError, match="the log itself"):
        runs.plot(path, tmp_path / "link.png")
    branch = tmp_path / "b" / "pair_0" / "before.jsonl"
    branch.parent.mkdir(parents=True)
    branch.write_bytes(kept)
    with pytest.raises(LogWriteError, match="the log itself"):
        runs.fork(branch, at=2, logs=tmp_path / "b")
    assert path.read_bytes() == branch.read_bytes() == kept


def test_exports_that_fail_leave_nothing_and_lose_nothing(tmp_path: Path) -> None:
    path, out = logged(tmp_path / "run.jsonl"), tmp_path / "out.jsonl"
    out.write_text("kept")
    rows = lines(path)
    next(e for e in rows if e["event_data"].get("kind") == "step")["event_data"].pop("outcomes")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(RunError, match="line"):
        runs.export(path, out, expand=True, overwrite=True)
    assert out.read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jsonl", "run.jsonl"]


@pytest.mark.parametrize("what", ["folder", "fifo", "device", "under a file", "null", "long"])
def test_places_where_nothing_can_be_written_or_read(what: str, tmp_path: Path) -> None:
    log = logged(tmp_path / "run.jsonl")
    places = {"folder": tmp_path, "device": Path("/dev/zero"), "under a file": log / "x.jsonl"}
    places |= {"fifo": tmp_path / "fifo.jsonl", "null": Path("/dev/null")}
    places |= {"long": tmp_path / ("x" * 300 + ".jsonl")}
    place = places[what]
    if what == "fifo":
        os.mkfifo(place)
    with pytest.raises(LogWriteError):
        AvtLogger(grid(), place, overwrite=True)
    with pytest.raises(LogWriteError):
        runs.export(log, place, format="jsonl", overwrite=True)
    with pytest.raises(RunError):
        runs.read(place)
    with pytest.raises(RunError):
        runs.validate(place)
    if what not in ("folder", "long"):
        with pytest.raises((LogWriteError, PiaseError)):
            runs.fork(log, at=2, logs=place)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_after_import_writes_its_own_log(tmp_path: Path) -> None:
    logged(tmp_path / "before.jsonl")
    child = os.fork()
    if child == 0:
        try:
            logged(tmp_path / "child.jsonl")
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    logged(tmp_path / "after.jsonl")
    for name in ("before", "child", "after"):
        assert runs.replay(tmp_path / f"{name}.jsonl").sound


# -- consent -----------------------------------------------------------------------------------


class Loaded(AssertionError):
    """A model was loaded."""


@pytest.mark.parametrize("policy", ["sb3:evil.zip", "sb3-greedy:evil.zip", "population:sb3:a,noop"])
def test_no_model_is_loaded_because_a_log_names_it(
    policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> Any:
        raise Loaded

    path = logged(tmp_path / "run.jsonl", keys())
    rows = lines(path)
    rows[0]["event_data"]["policies"]["agent_0"] = policy
    path.write_bytes(b"".join(forge(rows)))
    from piase_gym.agents import policy_registry

    for family in ("sb3", "sb3-greedy", "population"):
        monkeypatch.setitem(policy_registry._families, family, load)
    assert names_file(policy)
    assert runs.replay(path).ok
    report = runs.fork(path, at=2, actions={"agent_0": "stay"})
    (note,) = report.notes
    assert note in str(report)
    assert policy in note
    assert "players={'agent_0'" in note
    with pytest.raises(Loaded):  # who names it has agreed
        runs.fork(path, at=2, players={"agent_0": policy})


def test_no_model_is_loaded_because_a_curriculum_names_it() -> None:
    plan = {
        "name": "x",
        "world": "GridWorld",
        "partners": {"agent_1": "sb3:evil.zip"},
        "steps": [{"order": 1, "name": "one", "completion_criteria": []}],
    }
    with pytest.raises(CurriculumError, match=r"cannot make us load 'sb3:evil\.zip'"):
        curricula.loads(json.dumps(plan))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", ".", "nowhere.zip"])
def test_models_that_are_no_files_are_refused_at_once(path: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.zip")
    for place in (path, str(tmp_path / "fifo.zip")):
        with pytest.raises(PolicyError, match=r"not a file|there is no model"):
            make_agent(f"sb3:{place}")


def test_a_summary_that_was_changed_breaks_the_seal_alone(tmp_path: Path) -> None:
    path = logged(tmp_path / "run.jsonl")
    before, seconds, after = path.read_text("utf-8").rpartition('"seconds":')
    path.write_text(f"{before}{seconds}9{after}", "utf-8")
    report = runs.replay(path)
    assert (report.seal.state, report.verdict, report.ok) == ("broken", "damaged", False)
    assert report.first_divergence is None


@pytest.mark.parametrize("change", ["field", "nested", "id"])
def test_entries_that_came_or_went_are_named(change: str, tmp_path: Path) -> None:
    path = logged(tmp_path / "run.jsonl")
    rows = lines(path)
    place = next(i for i, e in enumerate(rows) if e["event_type"] == "GOAL_STATUS_CHANGED")
    if change == "field":
        rows[place]["more"] = 1
    elif change == "nested":
        del rows[place]["event_data"]["metrics"]["steps"]
    data = forge(rows)
    if change == "id":
        data[place] = data[place].replace(rows[0]["simulation_run_id"].encode() + b":", b"x:")
    path.write_bytes(b"".join(data))
    report = runs.replay(path)
    found = report.first_divergence or report.broken
    assert found is not None
    assert found.line == place + 1
