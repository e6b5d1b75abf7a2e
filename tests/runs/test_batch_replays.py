"""Logs of batches of any world, at any level, replay bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import ConfigError
from piase_gym.wrappers import AvtLogger

METRICS: dict[str, Any] = {
    "initial_state": {"agents": 2, "layout": "door_key", "max_steps": 6},
    "events": [
        {
            "name": "bell",
            "when": {"fact": "step", "at_least": 2},
            "response": [
                {"type": "add_metric", "metric": "late", "amount": 2, "agent_id": "agent_1"},
                {"type": "change_setting", "setting": "max_steps", "value": 8},
                {"type": "log_milestone", "milestone_name": "rang", "agent_id": "all"},
            ],
        },
        {
            "name": "first",
            "when": {"fact": "step", "at_least": 1},
            "response": [
                {"type": "log_milestone", "milestone_name": "begun", "agent_id": "agent_0"}
            ],
        },
    ],
}
"""It keeps a metric, changes a setting, and notes milestones of its own beside the world's."""
BATCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("GridWorld", {"agents": 3, "layout": "door_key", "max_steps": 9}),
    "map": ("GridWorld", {"agents": 3, "width": 5, "height": 5, "max_steps": 20, "recall": "map"}),
    "search": ("ObjectSearch", {"agents": 2, "width": 5, "height": 5, "room": 5, "max_steps": 9}),
    "commons": (
        "SocialDilemma",
        {"game": "harvest", "agents": 3, "width": 8, "height": 8, "rounds": 9},
    ),
    "matrix": ("SocialDilemma", {"game": "stag_hunt", "symbols": 2, "talk": 1}),
    "craft": ("WordCraft", {"agents": 2, "max_steps": 7}),
    "script": ("GridWorld", {"scenario": METRICS}),
}


def played(name: str, path: Path, **options: Any) -> None:
    """Log a batch that is restored, asked, told something and changed on its way."""
    world, fields = BATCHES[name]
    batch = piase_gym.batch_env(world, num_envs=2, **fields)
    env = AvtLogger(batch, path, snapshot_every=3, **options)
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    for step in range(24):
        env.step(rng.integers(0, env.action_space.n, (2, len(env.agents))))
        if step == 3:
            kept = env.snapshot()
        elif step == 7:
            env.restore(kept)
        elif step == 9:
            env.give_hint(1, env.agents[0], "look around")
        elif step == 11 and "max_steps" in fields:
            env.modify({"max_steps": fields["max_steps"] + 2}, [1])
    env.close()


@pytest.mark.parametrize("level", ["actions", "events", "full"])
@pytest.mark.parametrize("name", BATCHES)
def test_batches_replay_at_every_level(name: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    played(name, path, level=level)
    report = runs.replay(path)
    assert report.ok, report.first_divergence
    if (name, level) == ("script", "full"):
        assert '"measures":{"late":2.0}' in path.read_text()


@pytest.mark.parametrize("name", ["search", "script"])
def test_columns_replay_as_full_lines(name: str, tmp_path: Path) -> None:
    played(name, tmp_path / "run.arrow")
    run = runs.read(tmp_path / "run.arrow", level="full")
    runs.export(run, tmp_path / "full.jsonl")
    report = runs.replay(tmp_path / "full.jsonl")
    assert report.ok, report.first_divergence


@pytest.mark.parametrize("name", ["map", "search"])
def test_snapshots_of_slots_are_those_of_single_environments(name: str) -> None:
    """Looking changes nothing, not even what agents remember that have ended."""
    world, fields = BATCHES[name]
    batch = piase_gym.batch_env(world, num_envs=2, **fields)
    batch.note_steps()
    single = piase_gym.parallel_env(world, view="vector", ended_actions="ignore", **fields)
    batch.reset(seed=4)
    single.reset(seed=5)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(fields["max_steps"]):
        acts = rng.integers(0, batch.action_space.n, (2, len(batch.agents)))
        batch.step(acts)
        if not single.agents:
            break
        single.step(dict(zip(batch.agents, acts[1].tolist(), strict=True)))
        batch.single(0)
        before = batch.digests()
        assert batch.slot_snapshot(1) == single.world.snapshot()
        assert batch.digests() == before
        ended += 0 < len(single.agents) < len(batch.agents)
    assert ended or name != "map"


@pytest.mark.parametrize(
    ("level", "target", "looks"), [("events", None, 0), ("full", None, 8), ("actions", (9, 9), 8)]
)
def test_steps_look_at_single_slots_only_for_what_arrays_do_not_tell(
    level: str, target: tuple[int, int] | None, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To show a slot as a world of its own takes longer than to write its line."""
    batch = piase_gym.batch_env("GridWorld", num_envs=2, agents=2)
    runs.record(batch, sinks=[runs.MemorySink()], level=level)
    batch.reset(seed=0)
    runs.log(batch, "DSE_STEP_ATTEMPT_START", {"target_coords": target}, "agent_0")
    looked: list[int] = []
    at = batch.at
    monkeypatch.setattr(batch, "at", lambda slot: looked.append(slot) or at(slot))
    for _ in range(4):
        batch.step(np.full((2, 2), 4))
    assert len(looked) == looks


def test_environments_that_share_no_kernel_share_no_log(tmp_path: Path) -> None:
    envs = gymnasium.make_vec("piase_gym:piase/TextRoom-v3", num_envs=2)
    with pytest.raises(ConfigError, match=r"no batched kernel and run one after the other.*make"):
        AvtLogger(envs, tmp_path / "run.jsonl")
    envs.close()
