"""Playback shows what was seen while the run was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs
from piase_gym.errors import RunError
from piase_gym.studio import playback
from piase_gym.studio.playback import Moment, episodes, moments
from piase_gym.studio.playing import png
from piase_gym.wrappers import AvtLogger

Seen = tuple[bytes, dict[str, str], dict[str, float]]
"""A picture, what agents read, and their rewards."""


def seen(env: Any, rewards: dict[str, float]) -> Seen:
    """Return what is to be seen of an environment now."""
    world = env.unwrapped.world
    texts = {name: world.observation_text(world.agents.index(name)) for name in env.agents}
    return png(world.rgb()), texts, rewards


def shown(found: list[Moment]) -> list[Seen]:
    """Return the same of a playback."""
    rewards = [{agent: row.reward for agent, row in m.deeds.items()} for m in found]
    return [(m.picture, m.texts, paid) for m, paid in zip(found, rewards, strict=True)]


def play(env: Any, rng: np.random.Generator) -> list[Seen]:
    """Play an episode to its end with random actions."""
    found = [seen(env, {})]
    while env.agents:
        before = list(env.agents)
        actions = {name: int(rng.integers(env.action_space(name).n)) for name in before}
        rewards = env.step(actions)[1]
        found.append(seen(env, {name: rewards[name] for name in before}))
    return found


@pytest.mark.parametrize("level", ["actions", "full"])
def test_every_state_is_as_it_was(tmp_path: Path, level: str) -> None:
    path, rng = tmp_path / "run.jsonl", np.random.default_rng(0)
    env = AvtLogger(
        piase_gym.parallel_env("GridWorld", agents=2, width=5, height=5, max_steps=25),
        path,
        level=level,
    )
    played = []
    for seed in (1, 2, 3):
        env.reset(seed=99)  # void: no step follows
        env.reset(seed=seed)
        played.append(play(env, rng))
    env.close()
    run = runs.read(path)
    found = episodes(run)
    assert [(e.number, e.seed, e.steps) for e in found] == [
        (number, number + 1, len(states) - 1) for number, states in enumerate(played)
    ]
    for episode, states in zip(found, played, strict=True):
        again = list(moments(run, episode))
        assert shown(again) == states
        assert [moment.step for moment in again] == list(range(len(states)))
        total = {
            name: sum(rewards.get(name, 0.0) for *_, rewards in states)
            for name in env.possible_agents
        }
        assert again[-1].returns == pytest.approx(total)
        assert episode.returns == pytest.approx(total)
        assert episode.results == {
            name: env.unwrapped.world.result(i) if episode is found[-1] else episode.results[name]
            for i, name in enumerate(env.possible_agents)
        }


def test_the_slots_of_a_batch_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rng = tmp_path / "run.arrow", np.random.default_rng(1)
    config = {"agents": 2, "width": 5, "height": 5, "max_steps": 7}
    env = AvtLogger(piase_gym.batch_env("GridWorld", num_envs=3, **config), path)
    env.reset(seed=5)
    for _ in range(20):
        env.step(rng.integers(0, 6, (3, 2), dtype=np.int32))
    env.close()
    run = runs.read(path)
    found = episodes(run)
    assert {episode.slot for episode in found} == {0, 1, 2}
    assert sum(episode.steps for episode in found) >= 20 * 3 - 3 * 3
    alone = piase_gym.parallel_env("GridWorld", **config)
    steps = [event for event in run if event["event_data"].get("kind") == "step"]
    for episode in found:
        alone.reset(seed=episode.seed)
        states = [seen(alone, {})]
        for event in (event for event in steps if event["episode"] == episode.number):
            commands = event["event_data"]["commands"]
            rewards = alone.step(commands)[1]
            states.append(seen(alone, {name: rewards[name] for name in commands}))
        assert shown(list(moments(run, episode))) == states
    monkeypatch.setattr(playback, "MOST_EPISODES", 4)
    assert episodes(run) == found[:4]  # those of all slots are whole


def test_an_episode_that_goes_on_from_a_snapshot_is_one_of_its_own(tmp_path: Path) -> None:
    path, rng = tmp_path / "run.jsonl", np.random.default_rng(2)
    env: Any = AvtLogger(piase_gym.parallel_env("GridWorld", max_steps=6), path)
    env.reset(seed=4)
    env.step({"agent_0": 0})
    kept = env.snapshot()
    first = play(env, rng)
    env.restore(kept)
    second = play(env, rng)
    env.close()
    run = runs.read(path)
    found = episodes(run)
    assert [episode.steps for episode in found] == [6, len(second) - 1]
    assert shown(list(moments(run, found[0])))[1:] == [
        (*first[0][:2], {"agent_0": -0.1}),
        *first[1:],
    ]
    assert shown(list(moments(run, found[1]))) == second


def test_further_lines_stand_at_the_state_after_which_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env: Any = AvtLogger(piase_gym.parallel_env("GridWorld", max_steps=5), path)
    env.reset(seed=4)
    env.step({"agent_0": 0})
    env.give_hint("agent_0", "Try the door.")
    env.step({"agent_0": 0})
    env.close()
    run = runs.read(path)
    [episode] = episodes(run)
    hints = [
        [data["message"] for _, _, data in moment.lines if data.get("kind") == "hint"]
        for moment in moments(run, episode)
    ]
    assert hints == [[], ["Try the door."], []]


def test_long_runs_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rng = tmp_path / "run.jsonl", np.random.default_rng(0)
    env = AvtLogger(piase_gym.parallel_env("GridWorld", max_steps=6, width=9, height=9), path)
    for seed in range(3):
        env.reset(seed=seed)
        states = play(env, rng)
    env.close()
    run = runs.read(path)
    last = episodes(run)[-1]
    monkeypatch.setattr(playback, "MOST_MOMENTS", 3)
    assert shown(list(moments(run, last))) == states[:3]
    monkeypatch.setattr(playback, "MOST_EPISODES", 2)
    assert [episode.number for episode in episodes(run)] == [0, 1]


def test_a_run_that_was_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", max_steps=5), path)
    env.reset(seed=4)
    play(env, np.random.default_rng(0))
    env.close()
    path.write_text(path.read_text().replace('"agent_0":-', '"agent_0":-7', 1))
    run = runs.read(path)
    with pytest.raises(RunError, match="cannot be executed again"):
        list(moments(run, episodes(run)[0]))


def test_a_run_without_steps_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", max_steps=5), path, level="critical")
    env.reset(seed=4)
    play(env, np.random.default_rng(0))
    env.close()
    with pytest.raises(RunError, match="leaves out the steps"):
        episodes(runs.read(path))
