"""Logs of earlier versions stay readable; every edited action that changes anything is found.

The files ``run_v<n>_*.jsonl`` were written by schema version n and are never written again.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.errors import RunError
from piase_gym.registry import load, world_spec
from piase_gym.wrappers import AvtLogger
from tests import probes
from tests.helpers.piaavt import Goals, lines, refusal
from tests.helpers.run_worlds import grid

probes.register()
HERE = Path(__file__).parent
LOGS = {path.stem: path for path in sorted(HERE.glob("run_v*.jsonl"))}
STEPS = {
    "run_v1_grid": 16,
    "run_v1_text": 12,
    "run_v1_batch": 16,
    "run_v2_grid": 11,
    "run_v2_text": 12,
    "run_v2_batch": 16,
    "run_v3_grid": 8,
    "run_v3_text": 12,
    "run_v3_batch": 16,
}


def test_every_version_has_its_logs() -> None:
    versions = {runs.read(path).manifest["schema_version"] for path in LOGS.values()}
    assert versions == set(range(1, runs.SCHEMA_VERSION + 1))
    assert set(LOGS) == set(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_logs_of_earlier_versions_are_read_and_checked(name: str) -> None:
    path = LOGS[name]
    found = path.read_text("utf-8").splitlines()
    assert {refusal(line) for line in found} == {""}
    run = runs.read(path)
    assert list(run) == lines(path)
    assert run.complete
    assert runs.validate(path).ok, str(runs.validate(path))
    summary = run.summary
    assert summary is not None
    goals = Goals(lines(path), "GOAL_STATE_CHANGED")
    metrics = runs.Metrics(path)
    for agent, row in summary["agents"].items():
        for state in ("ACHIEVED", "FAILED", "ABANDONED"):
            assert goals.count(state, agent) == row[state.lower()]
        assert sum(goals.durations(agent)) == row["steps"]
        over = row["achieved"] + row["failed"]
        assert metrics.get_performance_metric(agent, "episodes", {"env_steps": 99}) == over
    assert runs.stats(path).lines == len(found)


@pytest.mark.parametrize("name", STEPS)
def test_logs_of_earlier_versions_are_replayed(name: str) -> None:
    path = LOGS[name]
    manifest = runs.read(path).manifest
    spec = world_spec(manifest["world"])
    if load(spec.world, spec).version != manifest["world_version"]:
        with pytest.raises(RunError, match="whose rules differ"):
            runs.replay(path)
        return
    report = runs.replay(path)
    assert report.ok, str(report)
    assert report.steps == STEPS[name]


# -- edits ---------------------------------------------------------------------------------------

CONFIG: dict[str, Any] = {"agents": 2, "width": 3, "height": 3, "max_steps": 7}


def story(plan: list[dict[str, int]]) -> list[Any]:
    """Return what an environment itself says of a plan, and its state after each step."""
    env = grid(view="vector", **CONFIG)
    env.reset(seed=4)
    told: list[Any] = []
    for acts in plan:
        if not env.agents:
            break
        own = {name: acts[name] for name in env.agents}
        _, rewards, terminated, truncated, infos = env.step(own)
        outcomes = {name: str(infos[name]["outcome"]) for name in own}
        told.append([rewards, terminated, truncated, outcomes, env.unwrapped.snapshot()])
    env.close()
    return told


def test_editing_any_action_is_found_if_it_changes_anything(tmp_path: Path) -> None:
    path, edited = tmp_path / "run.jsonl", tmp_path / "edited.jsonl"
    env = AvtLogger(grid(view="vector", **CONFIG), path)
    env.reset(seed=4)
    dice, plan = itertools.cycle([3, 1, 2, 4, 0, 2, 5, 3, 2]), list[dict[str, int]]()
    while env.agents:
        plan.append({name: next(dice) for name in ("agent_0", "agent_1")})
        env.step({name: plan[-1][name] for name in env.agents})
    env.close()
    rows = path.read_bytes().splitlines(keepends=True)
    places = [i for i, row in enumerate(rows) if b'"kind":"step"' in row]
    expected, changed = story(plan), 0
    for at, place in enumerate(places):
        event = json.loads(rows[place])
        for agent, was in event["event_data"]["commands"].items():
            for act in set(range(6)) - {was}:
                event["event_data"]["commands"][agent] = act
                rest = [*rows[:place], json.dumps(event).encode() + b"\n", *rows[place + 1 :]]
                edited.write_bytes(b"".join(rest))
                other = [*plan[:at], {**plan[at], agent: act}, *plan[at + 1 :]]
                differs = story(other) != expected
                report = runs.replay(edited)
                found = report.first_divergence is not None
                assert found is differs, (at, agent, was, act, str(report))
                assert not report.ok  # for the seal is broken
                if differs:
                    assert report.first_divergence is not None
                    assert report.first_divergence.step == at + 1
                    assert report.first_divergence.line == place + 1
                assert not runs.validate(edited).ok  # the checksum sees every edit
                changed += differs
            event["event_data"]["commands"][agent] = was
    assert changed > 20
    assert story(plan) == expected
