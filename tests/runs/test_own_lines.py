"""Lines of users may have any data, also such as lines of the engine have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import ConfigError

OWN: list[tuple[str, dict[str, Any]]] = [
    ("MODEL_PARAMETER_UPDATE", {"kind": "step", "loss": 0.5}),
    ("STATE_UPDATE", {"kind": "reset"}),
    ("STATE_UPDATE", {"kind": ["step"]}),
    ("LEARNING_EPISODE_START", {"seed": 3}),
    ("LEARNING_EPISODE_END", {"seed": 3, "loss": 0.5}),
]


def play(path: Path, own: bool) -> runs.Metrics:
    """Log two episodes of three steps, with lines of a learner's own after each."""
    env = piase_gym.parallel_env("GridWorld", width=5, height=5, max_steps=3)
    runs.record(env, path)
    metrics = runs.Metrics(env)
    for seed in range(2):
        env.reset(seed=seed)
        while env.agents:
            env.step({"agent_0": 4})
            for event_type, data in OWN if own else ():
                runs.log(env, event_type, data, "agent_0")
    env.close()
    return metrics


def answers(metrics: runs.Metrics, path: Path) -> list[Any]:
    """Return what is computed from a run, live and from its log."""
    found: list[Any] = []
    for each in (metrics, runs.Metrics(path)):
        for window in (None, {"env_steps": 4}):
            found.append(each.get_performance_metric("agent_0", "illegal_rate", window))
        found.append(each.check_event_occurred("agent_0", {"outcome": "timeout"}))
        found.append([(r.length, r.result) for r in each.history.agents["agent_0"].episodes])
    out = path.with_suffix(".csv")
    runs.export(path, out, expand=True)
    rewards = out.read_text("utf-8").count("REWARD_SIGNAL_ISSUED")
    fork = runs.fork(path, 1, actions={"agent_0": 0})
    length = fork.branches[0][0].length
    return [*found, rewards, len(list(runs.frames(path))), length, runs.replay(path).verdict]


def test_what_is_computed_from_a_run_does_not_depend_on_its_users_lines(tmp_path: Path) -> None:
    with_own = play(tmp_path / "own.jsonl", own=True)
    without = play(tmp_path / "plain.jsonl", own=False)
    found = answers(with_own, tmp_path / "own.jsonl")
    assert found == answers(without, tmp_path / "plain.jsonl")
    assert found[-4:] == [6, 8, 2, "sound"]


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("LEARNING_EPISODE_START", {"seed": 1, "agents": []}),
        ("LEARNING_EPISODE_END", {"seed": 1, "results": {}}),
    ],
)
def test_the_reports_of_the_engine_are_refused(event_type: str, data: dict[str, Any]) -> None:
    env = piase_gym.parallel_env("GridWorld")
    runs.record(env, sinks=[runs.MemorySink()])
    with pytest.raises(ConfigError, match="is written by the engine alone"):
        runs.log(env, event_type, data)
    env.close()
