"""Metrics, against sums made by hand; and live against from the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import AgentError, ConfigError, RunError, UnknownNameError
from piase_gym.runs.lines import Encoder
from piase_gym.wrappers import AvtLogger
from tests.helpers.piaavt import lines
from tests.helpers.run_worlds import WORLDS, grid, play, text

WINDOWS = (None, {"attempts": 1}, {"attempts": 2}, {"episodes": 2}, {"env_steps": 17})


@pytest.mark.parametrize("level", ["actions", "full"])
@pytest.mark.parametrize("world", WORLDS)
def test_live_and_file_say_the_same(world: str, level: str, tmp_path: Path) -> None:
    path, inner = tmp_path / "run.jsonl", WORLDS[world]()
    live = runs.Metrics(inner)
    env = AvtLogger(inner, path, level=level)
    for attempt in range(3):
        for agent in env.possible_agents:
            runs.log(env, "DSE_STEP_ATTEMPT_START", {"attempt": attempt}, agent)
        play(env, episodes=2, seed=attempt)
        env.unwrapped.events.post("hint", env.possible_agents[0], message=None)
    env.close()
    file = runs.Metrics(path)
    assert live.names() == file.names()
    for agent in file.agents:
        for name in file.names():
            for window in WINDOWS:
                one = live.get_performance_metric(agent, name, window)
                assert one == file.get_performance_metric(agent, name, window), (name, window)


@pytest.mark.parametrize(
    ("level", "levels", "told"),
    [
        ("critical", None, "at level 'critical', which leaves out the steps"),
        ("full", {"system": "critical"}, "'critical for system', which leaves out the steps"),
    ],
)
def test_a_log_without_steps_has_no_metrics(
    level: str, levels: dict[str, str] | None, told: str, tmp_path: Path
) -> None:
    env = AvtLogger(grid(), tmp_path / "run.jsonl", level=level, levels=levels)
    play(env, episodes=1)
    env.close()
    with pytest.raises(RunError, match=told):
        runs.Metrics(tmp_path / "run.jsonl")


def test_columns_have_the_metrics_of_the_level_at_which_they_are_read(tmp_path: Path) -> None:
    env = piase_gym.batch_env("GridWorld", num_envs=2, max_steps=3)
    runs.record(env, tmp_path / "run.arrow", level="critical")
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.zeros((2, 1), np.int64))
    env.close()
    with pytest.raises(RunError, match="leaves out the steps"):
        runs.Metrics(tmp_path / "run.arrow")
    metrics = runs.Metrics(runs.read(tmp_path / "run.arrow", level="actions"))
    assert metrics.get_performance_metric("agent_0", "env_steps") == 6


def test_metrics_are_what_happened(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(max_steps=30), path)
    seen = play(env, episodes=8)
    env.close()
    metrics = runs.Metrics(path)
    steps = [e["event_data"] for e in lines(path) if e["event_data"].get("kind") == "step"]
    assert sum(seen.won.values()) > 0
    for agent in ("agent_0", "agent_1", "agent_2"):
        get: Callable[[str], Any] = lambda name, agent=agent: metrics.get_performance_metric(  # noqa: E731
            agent, name
        )
        won, lengths = seen.won.get(agent, 0), seen.lengths[agent]
        assert get("success_rate") == won / 8
        assert get("episodes") == 8
        assert get("mean_return") == pytest.approx(sum(seen.returns[agent]) / 8)
        assert get("episode_length") == sum(lengths) / 8
        outcomes = [data["outcomes"][agent] for data in steps if agent in data["outcomes"]]
        assert get("illegal_rate") == outcomes.count("illegal") / len(outcomes)
        assert get("env_steps") == len(outcomes) == sum(lengths)
        reached = any(agent in data.get("milestones", {}) for data in steps)
        assert get("milestone.goal_reached") == reached == bool(won)
        last = metrics.get_performance_metric(agent, "episode_length", {"episodes": 3})
        assert last == sum(lengths[-3:]) / 3


def test_attempts_start_afresh() -> None:
    env = grid(agents=1, width=3, height=2, start_pos=(0, 0), goal_pos=(2, 0), max_steps=4)
    metrics = runs.Metrics(env)
    rows = []
    for action in (4, 3, 4):
        runs.log(env, "DSE_STEP_ATTEMPT_START", {}, "agent_0")
        assert metrics.get_performance_metric("agent_0", "success_rate") is None
        env.reset(seed=0)
        env.give_hint("agent_0", "go right")
        while env.agents:
            env.step({"agent_0": action})
        names = ("success_rate", "task_success", "steps_to_goal", "hints_used", "attempts")
        rows.append([metrics.get_performance_metric("agent_0", name) for name in names])
        happened = metrics.check_event_occurred("agent_0", {"name": "goal_reached"})
        assert happened == (action == 3)
    assert rows == [[0.0, False, None, 1, 1], [1.0, True, 2.0, 1, 2], [0.0, False, None, 1, 3]]
    both = metrics.get_performance_metric("agent_0", "success_rate", {"attempts": 2})
    assert both == 0.5
    assert metrics.check_event_occurred("agent_0", {"name": "goal_reached"}, {"attempts": 2})
    assert not metrics.check_event_occurred("agent_0", {"name": "goal_reached"}, {"env_steps": 3})
    metrics.close()
    assert not env.events.active


def test_only_what_a_window_shows_is_written_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    env = piase_gym.parallel_env("GridWorld", agents=2, max_steps=30)
    metrics, written = runs.Metrics(env), list[int]()
    for seed in range(2):
        env.reset(seed=seed)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 4))
    write = Encoder.event

    def write_and_count(self: Encoder, item: Any, number: int) -> dict[str, Any]:
        written.append(number)
        return write(self, item, number)

    monkeypatch.setattr(Encoder, "event", write_and_count)
    ended = {"event_type": "GOAL_STATUS_CHANGED"}
    assert metrics.check_event_occurred("agent_1", ended, {"env_steps": 2})
    assert not metrics.check_event_occurred("agent_1", {"outcome": "timeout"}, {"env_steps": 2})
    assert len(written) < 20


def test_messages_are_counted() -> None:
    env = text(actions="text")
    metrics = runs.Metrics(env)
    env.reset(seed=0)
    for line in ("say hello", "wait", "say again"):
        env.step(dict.fromkeys(env.agents, line))
    agent = env.agents[0]
    assert metrics.get_performance_metric(agent, "messages_sent") == 2
    assert metrics.get_performance_metric(agent, "messages_sent", {"env_steps": 2}) == 1
    signature = {"event_type": "NLG_OUTPUT_GENERATED", "message": "again"}
    assert metrics.check_event_occurred(agent, signature)
    assert not metrics.check_event_occurred(agent, {**signature, "message": "never"})
    kind = {"action_details.type": "say", "outcome": "ok"}
    assert metrics.check_event_occurred(agent, kind)


def test_metrics_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    path = tmp_path / "run.jsonl"
    env = AvtLogger(grid(), path)
    seen = play(env, episodes=4)
    env.close()
    metrics = runs.Metrics(path)
    metrics.define("best", lambda view: max(row.total for row in view.finished))
    metrics.define_sql("best_sql", "SELECT max(total) FROM episodes WHERE agent = $agent")
    metrics.define_sql("lines", "SELECT count(*) FROM events WHERE event_type LIKE 'REWARD%'")
    metrics.define_sql("sum", "SELECT sum(reward) FROM steps")
    returns = seen.returns["agent_1"]
    values = [metrics.get_performance_metric("agent_1", n) for n in ("best", "best_sql", "sum")]
    assert values == [pytest.approx(v) for v in (max(returns), max(returns), sum(returns))]
    assert metrics.get_performance_metric("agent_1", "lines") == sum(seen.lengths["agent_1"])
    assert "best" in metrics.names()
    metrics.define_sql("wrong", "SELECT nothing FROM nowhere")
    with pytest.raises(ConfigError, match="nowhere"):
        metrics.get_performance_metric("agent_1", "wrong")
    with pytest.raises(ConfigError, match="success_rate"):
        metrics.define("success_rate", lambda view: 1.0)
    wrong: Any = "SELECT 1"
    with pytest.raises(ConfigError, match="a metric is a function of a View, not 'SELECT 1'"):
        metrics.define("mine", wrong)


def test_the_last_steps_of_a_batch_count_though_nobody_is_in_play(tmp_path: Path) -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=2, max_steps=3, autoreset="disabled")
    live = runs.Metrics(batch)
    runs.record(batch, tmp_path / "run.jsonl")
    batch.reset(seed=0)
    for _ in range(5):
        batch.step(np.full((2, 1), 4))
    batch.close()
    for metrics in (live, runs.Metrics(tmp_path / "run.jsonl")):
        assert metrics.get_performance_metric("agent_0", "env_steps", {"env_steps": 3}) == 2


def test_wrong_questions_are_named() -> None:
    metrics = runs.Metrics(grid())
    assert metrics.agents == ("agent_0", "agent_1", "agent_2")
    for misspelt in ("sucess_rate", "reached_goal_first"):
        with pytest.raises(UnknownNameError, match=f"unknown metric '{misspelt}'.*success_rate"):
            metrics.get_performance_metric("agent_0", misspelt)
    with pytest.raises(AgentError, match="agent_9"):
        metrics.get_performance_metric("agent_9", "success_rate")
    for window in ({"days": 1}, {"episodes": 0}, {"episodes": 1, "attempts": 2}, 5):
        with pytest.raises(ConfigError):
            metrics.get_performance_metric("agent_0", "success_rate", window)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        metrics.check_event_occurred("agent_0", {})
    for ask in (metrics.get_performance_metric, metrics.check_event_occurred):
        with pytest.raises(ConfigError, match="there is no slot 1 in this run; allowed: 0"):
            ask("agent_0", "success_rate", slot=1)
    assert isinstance(metrics, runs.PiaAVTInterface)


def test_metric_types_name_every_metric() -> None:
    metrics = runs.Metrics(grid())
    kinds = runs.metric_types(grid().world.milestones)
    assert set(metrics.names()) == set(kinds)
    assert kinds["success_rate"] is float
    assert kinds["milestone.goal_reached"] is kinds["task_success"] is bool
