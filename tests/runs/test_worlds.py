"""Logs of every shipped world, by every environment and level, read as PiaAVT would and replayed.

``PIASE_TRIALS=50`` edits so many actions of each world's log instead of three.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import need
from tests.helpers.piaavt import Goals, lines, refusal
from tests.helpers.run_worlds import Seen, note, play

TASKS = {
    "grid": "piase/GridWorld-Everything-16x16-4p-v1",
    "grid tag": "piase/GridWorld-Tag-10x10-4p-v2",
    "text": "piase/TextRoom-v3",
    "matrix": "piase/SocialDilemma-StagHunt-Talk-v1",
    "commons": "piase/SocialDilemma-Cleanup-4p-v1",
    "bullet": "piase/PhysicsPlayground-Carry-2p-v2",
    "text probe": "TextProbe",
    "point probe": "PointProbe",
}
LEVELS = ("critical", "actions", "events", "full")
TRIALS = int(os.environ.get("PIASE_TRIALS", "3"))


def made(task: str, **config: Any) -> Any:
    """Make a task as a ParallelEnv with short episodes."""
    need(TASKS[task])
    return piase_gym.parallel_env(TASKS[task], **{"max_steps": 25, **config})


def check(path: Path, level: str) -> list[dict[str, Any]]:
    """Hold a log to PiaAVT's demands, to our own, and to a replay. Returns its events."""
    for line in path.read_text("utf-8").splitlines():
        assert refusal(line) == "", line
    report = runs.validate(path)
    assert report.ok, str(report)
    if level != "critical":
        again = runs.replay(path)
        assert again.ok, str(again)
        assert again.complete
        assert again.steps > 0
    return lines(path)


def compare_goals(events: list[dict[str, Any]], seen: Seen) -> None:
    """Hold the goals, as either analysis of PiaAVT counts them, to what users were told."""
    for change in ("GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED"):
        goals = Goals(events, change)
        assert set(goals.ended) == set(goals.created)
        for agent, lengths in seen.lengths.items():
            assert goals.durations(agent) == lengths
            assert goals.count("ACHIEVED", agent) == seen.won.get(agent, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", TASKS)
def test_parallel_logs_are_read_by_piaavt(task: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(made(task), path, level=level, snapshot_every=20)
    seen = play(env, episodes=3)
    env.close()
    events = check(path, level)
    compare_goals(events, seen)
    assert events[-1]["event_data"]["summary"]["steps"] == seen.steps


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_logs_are_read_by_piaavt(task: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    if task.endswith("probe"):
        pytest.skip("probes are not in Gymnasium's registry")
    made(task).close()
    env: Any = AvtLogger(
        gymnasium.make(f"piase_gym:{TASKS[task]}", max_steps=25), path, level=level
    )
    env.action_space.seed(0)
    seen, focal = Seen(), ""
    for seed in range(3):
        env.reset(seed=seed)
        focal, rewards, over, info = env.unwrapped.agent, [], False, dict[str, Any]()
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            rewards.append(reward)
            over = terminated or truncated
        note(seen, focal, info["result"], rewards)
    env.close()
    goals = Goals(check(path, level), "GOAL_STATUS_CHANGED")
    assert goals.durations(focal) == seen.lengths[focal]
    assert goals.count("ACHIEVED", focal) == seen.won.get(focal, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", ["grid", "grid tag", "matrix", "commons"])
def test_batch_logs_are_read_by_piaavt(task: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.batch_env(TASKS[task], num_envs=3, max_steps=10), path, level=level)
    env.reset(seed=5)
    dice = np.random.default_rng(0)
    count, agents = env.world.num_actions, len(env.world.agents)
    over = 0
    for _ in range(25):
        result = env.step(dice.integers(count, size=(3, agents)))
        over += int(np.count_nonzero(result[2] | result[3]))
    env.close()
    goals = Goals(check(path, level), "GOAL_STATE_CHANGED")
    ended = [state for state, _, _ in goals.ended.values()]
    assert len(ended) >= over > 0


def act_of(value: Any) -> Any:
    """Return a logged command as an index or a command."""
    if isinstance(value, int):
        return value
    if "misread" in value:
        return InvalidAction(Outcome(value["misread"]), value["message"])
    return Command(value["type"], value["parameters"])


def executed(task: str, events: list[dict[str, Any]]) -> list[Any]:
    """Execute the commands of a log by the world's own environment: digests, rewards, outcomes."""
    env, found = made(task), []
    for event in events:
        data = event["event_data"]
        if data.get("kind") == "reset":
            env.reset(seed=data["seed"])
        elif data.get("kind") == "step":
            if set(data["commands"]) != set(env.agents):
                found.append("others are in play")
                break
            acts = {name: act_of(value) for name, value in data["commands"].items()}
            _, rewards, terminated, truncated, infos = env.step(acts)
            said = {name: str(infos[name]["outcome"]) for name in rewards}
            found.append((env.world.digest(), rewards, terminated, truncated, said))
    env.close()
    return found


@pytest.mark.parametrize("task", TASKS)
def test_an_edited_action_is_found_where_it_changes_anything(task: str, tmp_path: Path) -> None:
    path, edited = tmp_path / "run.jsonl", tmp_path / "edited.jsonl"
    env = AvtLogger(made(task), path)
    play(env, episodes=2)
    env.close()
    dice = np.random.default_rng(1)
    text = path.read_text().splitlines()
    steps = [i for i, line in enumerate(text) if '"kind":"step"' in line]
    before = executed(task, lines(path))
    given = [json.loads(text[place])["event_data"]["commands"] for place in steps]
    known = {json.dumps(value): value for commands in given for value in commands.values()}
    changed = 0
    for _ in range(TRIALS):
        place = int(dice.choice(steps))
        event = json.loads(text[place])
        commands = event["event_data"]["commands"]
        name = str(dice.choice(list(commands)))
        others = [value for value in known.values() if value != commands[name]]
        commands[name] = others[int(dice.integers(len(others)))]
        other = [*text[:place], json.dumps(event, ensure_ascii=False), *text[place + 1 :]]
        edited.write_text("\n".join(other) + "\n")
        assert not runs.validate(edited).ok
        after = executed(task, lines(edited))
        first = next(
            (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None
        )
        report = runs.replay(edited)
        if first is None:
            assert report.first_divergence is None, str(report)
            assert report.seal.state == "broken"
            continue
        changed += 1
        assert report.first_divergence is not None
        assert report.first_divergence.step == first + 1
    assert changed
