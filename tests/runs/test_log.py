"""Logs, held against PiaAVT's specification and against what environments reported."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import ClosedError, ConfigError, LogWriteError
from piase_gym.runs.writer import writer_thread
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import Goals, lines, refusal
from tests.helpers.run_worlds import WORLDS, Seen, grid, keys, play, text

LEVELS = ("critical", "actions", "events", "full")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_line_is_one_that_piaavt_takes(world: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(WORLDS[world](), path, level=level, experiment_id="tests")
    play(env)
    env.close()
    refused = {reason for line in path.read_text("utf-8").splitlines() if (reason := refusal(line))}
    assert refused == set()
    events = lines(path)
    assert {event["simulation_run_id"] for event in events} == {events[0]["simulation_run_id"]}
    assert {event["experiment_id"] for event in events} == {"tests"}
    assert len({event["event_id"] for event in events}) == len(events)
    stamps = [event["timestamp"] for event in events]
    assert stamps == sorted(stamps)
    first, last = events[0], events[-1]
    assert first["event_type"] == last["event_type"] == "SIMULATION_CONTROL"
    assert first["event_data"]["schema_version"] == runs.SCHEMA_VERSION
    assert last["event_data"]["control"] == "end"
    assert runs.validate(path).ok, str(runs.validate(path))


@pytest.mark.parametrize("change", ["GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"])
@pytest.mark.parametrize("world", WORLDS)
def test_goals_are_the_episodes_that_happened(world: str, change: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(WORLDS[world](), path)
    seen = play(env, episodes=6)
    played = list(env.unwrapped.possible_agents)
    env.close()
    goals = Goals(lines(path), change)
    for agent in played:
        check_goals(goals, seen, agent)
    assert set(goals.ended) == set(goals.created)


def check_goals(goals: Goals, seen: Seen, agent: str) -> None:
    """Compare goals with what the environment reported."""
    assert goals.count("ACHIEVED", agent) == seen.won.get(agent, 0)
    assert goals.count("FAILED", agent) == seen.lost.get(agent, 0)
    assert goals.count("ABANDONED", agent) == 0
    assert goals.durations(agent) == seen.lengths.get(agent, [])


def test_step_lines_say_what_step_returned(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    rng, told = np.random.default_rng(1), []
    for seed in range(3):
        env.reset(seed=seed)
        while env.agents:
            actions = {name: int(rng.integers(6)) for name in env.agents}
            _, rewards, terminated, truncated, infos = env.step(actions)
            entry = {"commands": actions, "rewards": rewards, "terminated": terminated}
            entry |= {"truncated": truncated, "digest": env.unwrapped.digest()}
            entry["outcomes"] = {name: str(infos[name]["outcome"]) for name in actions}
            told.append(entry)
    env.close()
    logged = [e for e in lines(path) if e["event_data"].get("kind") == "step"]
    assert [{key: e["event_data"][key] for key in told[0]} for e in logged] == told
    assert [event["step"] for event in logged] == list(range(1, len(told) + 1))


def test_single_lines_add_up_to_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(text(actions="text"), path, level="events")
    seen = play(env, episodes=4)
    sent = env.unwrapped.world.mailboxes.history
    env.close()
    events = lines(path)
    kinds = Counter(event["event_type"] for event in events)
    count = sum(map(sum, seen.lengths.values()))
    assert kinds["AGENT_ACTION_SENT_TO_ENV"] == kinds["AGENT_ACTION_EXECUTED_IN_ENV"] == count
    totals: Counter[str] = Counter()
    for event in events:
        if event["event_type"] == "REWARD_SIGNAL_ISSUED":
            assert isinstance(event["event_data"]["reward_value"], float)
            totals[event["agent_id"]] += event["event_data"]["reward_value"]
    for agent, returns in seen.returns.items():
        assert totals[agent] == pytest.approx(sum(returns))
    letters = [e["event_data"] for e in events if e["event_type"] == "NLG_OUTPUT_GENERATED"]
    last = [dict(letter) for letter in sent]
    assert letters[len(letters) - len(last) :] == last
    assert any("Grüße, 你好" in letter["message"] for letter in letters)
    for event in events:
        if event["event_type"] == "AGENT_ACTION_EXECUTED_IN_ENV":
            data = event["event_data"]
            assert data["agent_id_acting"] == event["agent_id"]
            assert data["action_details"]["parameters"]["goal_id"] == data["goal_id"]
            assert data["outcome"]


def test_full_has_what_agents_were_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(view="vector"), path, level="full")
    shown = []
    observations, _ = env.reset(seed=5)
    shown += [(name, row.tolist()) for name, row in observations.items()]
    while env.agents:
        observations, *_ = env.step(dict.fromkeys(env.agents, 3))
        shown += [(name, row.tolist()) for name, row in observations.items()]
    env.close()
    percepts = [e for e in lines(path) if e["event_type"] == "PERCEPTION_INPUT_RECEIVED"]
    logged = [(e["agent_id"], e["event_data"]["sensor_data"]["vector"]) for e in percepts]
    assert logged == shown


def test_levels_of_single_agents_and_components(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    levels = {"agent_1": "full", "agent_2": "critical"}
    env = AvtLogger(grid(), path, levels=levels)
    play(env, episodes=2)
    env.close()
    events = lines(path)
    for kind in ("PERCEPTION_INPUT_RECEIVED", "AGENT_ACTION_SENT_TO_ENV"):
        assert {e["agent_id"] for e in events if e["event_type"] == kind} == {"agent_1"}
    made = {e["agent_id"] for e in events if e["event_type"] == "GOAL_CREATED"}
    assert made == {"agent_0", "agent_1", "agent_2"}


def test_a_reset_without_a_step_is_void(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    for seed in range(3):
        env.reset(seed=seed)
        env.reset(seed=seed + 10)
        env.step(dict.fromkeys(env.agents, 4))
    env.reset()
    env.close()
    goals = Goals(lines(path), "GOAL_STATE_CHANGED")
    assert len(goals.created) == 9
    assert {state for state, _, _ in goals.ended.values()} == {"ABANDONED"}
    summary = runs.read(path).summary
    assert summary is not None
    assert (summary["episodes"], summary["void_resets"], summary["steps"]) == (3, 4, 3)


def test_gymnasium_twin_and_wrappers(tmp_path: Path) -> None:
    import gymnasium

    path = tmp_path / "run.jsonl"
    inner = gymnasium.make("piase_gym:piase/GridWorld-v1", width=5, height=5, agents=2, max_steps=9)
    env = AvtLogger(gymnasium.wrappers.TimeLimit(inner, 100), path)
    assert isinstance(env, gymnasium.Wrapper)
    won, ends = 0, []
    for seed in range(4):
        env.reset(seed=seed)
        over, steps = False, 0
        while not over:
            _, _, terminated, truncated, info = env.step(int(env.action_space.sample()))
            over, steps = terminated or truncated, steps + 1
        won += info["result"] == "won"
        ends.append(steps)
    env.close()
    goals = Goals(lines(path), "GOAL_STATE_CHANGED")
    assert goals.count("ACHIEVED", "agent_0") == won
    assert goals.durations("agent_0") == ends
    manifest = runs.read(path).manifest
    assert manifest["policies"] == {"agent_0": "caller", "agent_1": "random"}
    assert manifest["face"] == "gymnasium"
    assert runs.replay(path).ok


@pytest.mark.parametrize("autoreset", ["disabled", "next_step", "same_step"])
def test_batches_log_every_slot(autoreset: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    config: dict[str, Any] = {"agents": 2, "width": 4, "height": 4, "max_steps": 7}
    plain = piase_gym.batch_env("GridWorld", num_envs=3, autoreset=autoreset, **config)
    logged = piase_gym.batch_env("GridWorld", num_envs=3, autoreset=autoreset, **config)
    env = AvtLogger(logged, path)
    rng = np.random.default_rng(0)
    plain.reset(seed=3)
    env.reset(seed=3)
    won = lost = 0
    for _ in range(40):
        acts = rng.integers(6, size=(3, 2))
        told, same = plain.step(acts), env.step(acts)
        for one, other in zip(told[:4], same[:4], strict=True):
            np.testing.assert_array_equal(one, other)
        for key in told[4]:
            np.testing.assert_array_equal(told[4][key], same[4][key], key)
        won, lost = won + int(told[2].sum()), lost + int(told[3].sum())
    assert plain.digests() == env.digests()
    env.close()
    goals = Goals(lines(path), "GOAL_STATUS_CHANGED")
    agents = ("agent_0", "agent_1")
    assert sum(goals.count("ACHIEVED", agent) for agent in agents) == won
    assert sum(goals.count("FAILED", agent) for agent in agents) == lost
    report = runs.replay(path)
    assert report.ok, str(report)
    assert runs.validate(path).ok


def test_vector_environments_are_logged(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    name = "piase_gym:piase/GridWorld-v1"
    env = AvtLogger(gymnasium.make_vec(name, num_envs=2, width=4, height=4, agents=2), path)
    env.reset(seed=0)
    for _ in range(30):
        env.step(env.action_space.sample())
    env.close()
    assert runs.validate(path).ok
    assert runs.replay(path).ok


def test_sinks_get_the_same_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, packed, memory = tmp_path / "run.jsonl", tmp_path / "run.jsonl.zst", runs.MemorySink()
    sinks = [memory, runs.FileSink(packed), runs.ConsoleSink()]
    env = AvtLogger(grid(), path, sinks=sinks)
    play(env, episodes=2)
    env.close()
    events = lines(path)
    assert memory.events == events
    assert list(runs.read(packed)) == events
    assert packed.stat().st_size < path.stat().st_size / 4
    assert "SIMULATION_CONTROL" in capsys.readouterr().err


def test_a_file_has_one_writer_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    with pytest.raises(LogWriteError, match="one writer"):
        AvtLogger(grid(), path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    env.close()
    with pytest.raises(LogWriteError, match="overwrite=True"):
        AvtLogger(grid(), path)
    AvtLogger(grid(), path, overwrite=True).close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("choice", ["warn", "stop"])
def test_a_full_disk_warns_or_stops(choice: str) -> None:
    class Full(runs.LoggerInterface):
        def write(self, lines: bytes) -> None:
            with Path("/dev/full").open("wb", buffering=0) as device:
                device.write(lines)

    memory = runs.MemorySink()
    if choice == "stop":
        with pytest.raises(LogWriteError, match="No space left"):
            AvtLogger(grid(), sinks=[Full(), memory], on_error="stop")
        return
    with pytest.warns(UserWarning, match="No space left"):
        env = AvtLogger(grid(), sinks=[Full(), memory])
    play(env, episodes=1)
    env.close()
    assert memory.events[-1]["event_data"]["control"] == "end"


def test_a_world_is_released_where_its_log_cannot_be_completed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unfinished(runs.MemorySink):
        def close(self) -> None:
            raise OSError("the cable is out")

    released: list[bool] = []
    env = AvtLogger(grid(), sinks=[Unfinished()], on_error="stop")
    monkeypatch.setattr(env.unwrapped.world, "close", lambda: released.append(True))
    with pytest.raises(LogWriteError, match="the cable is out"):
        env.close()
    assert released


def test_a_sink_that_fails_with_an_error_of_ours_is_left_out_like_any_other() -> None:
    class Strict(runs.LoggerInterface):
        def write(self, lines: bytes) -> None:
            raise ConfigError("no more of this")

    memory = runs.MemorySink()
    with pytest.warns(UserWarning, match="no more of this; the run goes on without it"):
        env = AvtLogger(grid(), sinks=[Strict(), memory])
    play(env, episodes=1)
    env.close()
    assert memory.events[-1]["event_data"]["control"] == "end"


ODD = {
    "nan": float("nan"),
    "infinity": -float("inf"),
    "numpy": {"scalar": np.float32(1.5), "array": np.arange(3), "bool": np.bool_(True)},
    "strided": np.arange(10)[::3],
    "bytes": b"\xff\x00",
    "surrogate": "\ud800 broken",
    "control": "\x00\x1b\u2028\r\n",
    "huge": "x" * 3_000_000,
    "big": 10**40,
    "set": {3, 1, 2},
    "path": Path("a/b"),
    ("odd", "key"): 1,
    "object": object(),
    "type": int,
    "deep": None,
}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"log_level": "info"}, "unknown log_level 'info'; allowed: 'TRACE', 'DEBUG'"),
        ({"component": " "}, "component must be a string that is not blank, not ' '"),
        ({"component": 3}, "component must be a string that is not blank, not 3"),
        ({"agent": ""}, "agent must be a string that is not blank, not ''"),
        ({"event_type": " "}, "event_type must be a string that is not blank, not ' '"),
        ({"event_type": None}, "event_type must be a string that is not blank, not None"),
        ({"data": [1]}, "the data of a line are a mapping, not list"),
    ],
)
def test_a_line_that_piaavt_would_refuse_is_not_written(
    line: dict[str, Any], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    env.reset(seed=0)
    with pytest.raises(ConfigError) as caught:
        runs.log(env, **{"event_type": "SYSTEM_MESSAGE", "data": {"x": 1}, **line})
    assert str(caught.value).startswith(told)
    env.close()
    assert all(refusal(line) == "" for line in path.read_text("utf-8").splitlines())


def test_whatever_is_logged_becomes_json(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path, level="events")
    env.reset(seed=0)
    runs.log(env, "STATE_UPDATE", {**ODD, "deep": deep}, "agent_0")
    env.close()
    assert all(refusal(line) == "" for line in path.read_text("utf-8").splitlines())
    (event,) = [e for e in lines(path) if e["event_type"] == "STATE_UPDATE"]
    data = event["event_data"]
    assert data["nan"] is None
    assert data["infinity"] is None
    assert data["numpy"] == {"scalar": 1.5, "array": [0, 1, 2], "bool": True}
    assert data["strided"] == [0, 3, 6, 9]
    assert data["set"] == [1, 2, 3]
    assert data["bytes"] == {"base64": "/wA="}
    assert data["control"] == ODD["control"]
    assert data["big"] == str(10**40)
    assert len(data["huge"]) < 1_100_000
    assert runs.validate(path).ok


def test_inner_states_of_partners_are_logged(tmp_path: Path) -> None:
    from piase_gym.agents import RandomAgent

    class Moody(RandomAgent):
        def internal_state(self) -> dict[str, Any]:
            return {"mood": 0.25}

    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("GridWorld", agents=2, partners={"agent_1": Moody()})
    env = AvtLogger(inner, path, level="events")
    env.reset(seed=0)
    env.step({"agent_0": 4})
    env.close()
    states = [e for e in lines(path) if e["event_type"] == "STATE_UPDATE"]
    assert [(e["agent_id"], e["event_data"]) for e in states] == [("agent_1", {"mood": 0.25})]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "verbose"}, "critical"),
        ({"levels": {"agent_0": "loud"}}, "loud"),
        ({"levels": "full"}, "mapping"),
        ({"levels": {"agent_l": "full"}}, "no agent; did you mean 'agent_"),
        ({"experiment_id": "  "}, "experiment_id"),
        ({"run_id": ""}, "run_id"),
        ({"snapshot_every": 0}, "snapshot_every"),
        ({"on_error": "ignore"}, "warn"),
        ({"sinks": [print]}, "LoggerInterface"),
        ({"sinks": runs.ConsoleSink()}, "sinks is a list of sinks, not ConsoleSink"),
    ],
)
def test_wrong_options_are_named(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        AvtLogger(grid(), tmp_path / "run.jsonl", **options)
    AvtLogger(grid(), tmp_path / "run.jsonl", overwrite=True).close()  # nobody has it open


@pytest.mark.parametrize("columns", [False, True])
def test_the_log_of_an_environment_that_was_collected_is_let_go(
    columns: bool, tmp_path: Path
) -> None:
    if columns:
        pytest.importorskip("pyarrow")
    path = tmp_path / ("run.arrow" if columns else "run.jsonl")
    for _ in range(2):
        env = piase_gym.batch_env("GridWorld", num_envs=2) if columns else grid()
        logged = AvtLogger(env, path, overwrite=True)
        logged.reset(seed=0)
        del env, logged
        gc.collect()
    writer_thread.sweep()
    found = [line["event_data"].get("kind") for line in runs.read(path)]
    assert found[:2] == [None, "reset"], "what had happened is there"


UNCLOSED = """
import sys, piase_gym
from piase_gym import runs

class Full(runs.LoggerInterface):
    def write(self, lines):
        if b"kind" in lines:
            raise OSError("disk is full")

envs = [piase_gym.parallel_env("GridWorld") for _ in range(5)]
for number, env in enumerate(envs):
    runs.record(env, f"{sys.argv[1]}/{number}.jsonl", on_error="stop", sinks=[Full()])
    env.reset(seed=0)
    env.step({"agent_0": 4})
"""


def test_all_logs_are_completed_at_the_end_of_a_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "the log Full can no longer be written: disk is full" in done.stderr
    assert [runs.validate(path).ok for path in tmp_path.iterdir()] == [True] * 5


def test_a_log_has_a_path() -> None:
    with pytest.raises(ConfigError, match="path names a file, and is not 5"):
        runs.record(grid(), 5)  # type: ignore[arg-type]


def test_only_our_environments_are_logged(tmp_path: Path) -> None:
    import gymnasium

    with pytest.raises(ConfigError, match="not an environment of piase_gym"):
        AvtLogger(gymnasium.make("CartPole-v1"), tmp_path / "run.jsonl")
    with pytest.raises(ConfigError, match="path, or sinks"):
        AvtLogger(grid())
    with pytest.raises(ConfigError, match="more is a mapping of names to entries, not 5"):
        runs.record(grid(), tmp_path / "run.jsonl", more=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        grid,
        lambda: piase_gym.gym_env("GridWorld"),
        lambda: piase_gym.batch_env("GridWorld", num_envs=2),
        lambda: gymnasium.make_vec("piase/GridWorld-Empty-5x5-v1", num_envs=2),
    ],
)
def test_a_closed_environment_has_no_log(make: Any, tmp_path: Path) -> None:
    env = make()
    env.close()
    with pytest.raises(ClosedError, match="GridWorld is closed; make another one"):
        runs.record(env, tmp_path / "run.jsonl")
    assert not [*tmp_path.iterdir()]


def test_logging_changes_nothing(tmp_path: Path) -> None:
    plain, env = grid(), AvtLogger(grid(), tmp_path / "run.jsonl", level="full")
    assert play(plain) == play(env)
    assert plain.digest() == env.unwrapped.digest()
    json.dumps(env.unwrapped.snapshot())
    env.close()


def test_loggers_say_who_is_in_play(tmp_path: Path) -> None:
    env = grid(max_steps=6)
    near = AvtLogger(env, tmp_path / "near.jsonl")
    envs = env, near, AvtLogger(near, tmp_path / "far.jsonl")
    seen = [[other.agents for other in envs]]
    for number, logged in enumerate((*envs, copy.deepcopy(near), pickle.loads(pickle.dumps(near)))):
        logged.reset(seed=number)
        around = envs if number < len(envs) else (logged, logged.unwrapped)
        while around[0].agents:
            seen.append([other.agents for other in around])
            logged.step({name: (number + len(seen)) % 4 for name in around[0].agents})
        seen.append([other.agents for other in around])
    near.reset()
    near.close()
    seen.append([other.agents for other in envs])
    assert all(names == row[0] for row in seen for names in row)
    assert {len(row[0]) for row in seen} >= {0, 3}


def chaos(env: Any, seed: int) -> None:
    """Do anything at any time, the same for the same seed."""
    dice = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(200):
        what = int(dice.integers(100))
        if what == 0 or not env.agents:
            env.reset(seed=int(dice.integers(100)))
        elif what == 1:
            env.unwrapped.give_hint(env.agents[0], "left \u2028 right")
        elif what == 2:
            env.recorder.flush()
        elif what == 3:
            env.unwrapped.reconfigure({"max_steps": int(dice.integers(5, 40))})
        elif what == 4:
            data = {"order": 1, "target_coords": [1, 1]}
            runs.log(env, "DSE_STEP_ATTEMPT_START", data, env.agents[0])
        elif what == 5:
            env.unwrapped.restore(env.unwrapped.snapshot())
        if env.agents:
            env.step({name: int(dice.integers(env.action_space(name).n)) for name in env.agents})


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("make", [grid, keys], ids=["grid", "keys"])
def test_whatever_happens_is_logged_and_comes_out_again(
    make: Any, level: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    others = {"agent_1": "full"} if level == "events" else None
    env = AvtLogger(make(max_steps=60), path, level=level, levels=others, snapshot_every=70)
    for seed in range(2):
        chaos(env, seed)
    env.close()
    assert runs.validate(path).ok, str(runs.validate(path))
    if level != "critical":
        assert runs.replay(path).verdict == "sound", str(runs.replay(path))


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("autoreset", ["disabled", "next_step", "same_step"])
def test_slots_that_are_reset_at_any_time_come_out_again(
    num_envs: int, autoreset: str, tmp_path: Path
) -> None:
    path, dice = tmp_path / "run.jsonl", np.random.default_rng(0)
    config: dict[str, Any] = {"agents": 3, "width": 4, "height": 4, "max_steps": 7}
    inner = piase_gym.batch_env("GridWorld", num_envs=num_envs, autoreset=autoreset, **config)
    env = AvtLogger(inner, path, snapshot_every=20)
    env.reset(seed=3)
    for _ in range(50):
        env.step(dice.integers(6, size=(num_envs, 3)))
        if dice.random() < 0.1:
            env.reset(which=dice.random(num_envs) < 0.5)
    env.close()
    assert runs.validate(path).ok, str(runs.validate(path))
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


def test_odd_acts_are_logged_as_they_were_understood(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", agents=2, actions="text"), path)
    env.reset(seed=0)
    for _ in range(5):
        for act in ["stay", "dance", "turn left", "STAY ", "x" * 5000]:
            if env.agents:
                env.step(dict.fromkeys(env.agents, act))
    env.close()
    assert runs.validate(path).ok
    assert runs.replay(path).ok


def test_rewards_of_every_kind_are_written() -> None:
    from piase_gym.runs.json_values import encode

    rewards = {"a": float("nan"), "b": -0.0, "c": float("inf"), "d": 0.0}
    assert encode(rewards) == '{"a":null,"b":-0.0,"c":null,"d":0.0}'
    assert encode({"a": np.longdouble(0.5)}) == '{"a":0.5}'


def test_what_was_cut_is_not_cut_again() -> None:
    from piase_gym.runs.json_values import MAX_STRING, encode

    once = encode({"a": "x" * (MAX_STRING + 5)})
    assert once.endswith('x… [69 characters cut]"}')
    assert encode(json.loads(once)) == once
