"""Characters play in batches as in single environments, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import piase_gym
from piase_gym import runs, scenarios
from piase_gym.core.commands import Outcome
from piase_gym.errors import SnapshotError
from piase_gym.wrappers import AvtLogger

OUTCOMES = list(Outcome)


def same(batch: Any, slot: int, single: Any, shown: Any, name: str, place: int) -> None:
    """Hold what a caller sees of one agent of a slot to what a single environment shows."""
    observations, infos = shown
    assert np.array_equal(observations[slot, place], single.world.vector(single.facts(name)))
    number = single.world.agents.index(name)
    assert np.array_equal(infos["action_mask"][slot, place], single.world.masks()[number])
    assert batch.text(slot, name) == single.world.text(single.facts(name))
    assert batch.facts(slot, name) == single.facts(name)
    assert batch.digest(slot) == single.digest()


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_a_character_is_the_same_in_a_batch_as_in_single_environments(autoreset: str) -> None:
    batch = piase_gym.batch_env(
        "GridWorld", num_envs=3, scenario="the_ferryman", autoreset=autoreset
    )
    singles = [
        piase_gym.parallel_env("GridWorld", scenario="the_ferryman", view="vector")
        for _ in range(3)
    ]
    (name,) = batch.agents
    shown = batch.reset(seed=7)
    for slot, single in enumerate(singles):
        single.reset(seed=7 + slot)
        same(batch, slot, single, shown, name, 0)
    dice, ended, heard = np.random.default_rng(0), 0, set[str | None]()
    for _ in range(260):
        if autoreset == "disabled" and not any(single.agents for single in singles):
            shown = batch.reset()
            for slot, single in enumerate(singles):
                single.reset()
                same(batch, slot, single, shown, name, 0)
        acts = dice.integers(batch.world.num_actions, size=(3, 1))
        before = [bool(single.agents) for single in singles]
        observations, rewards, terminated, truncated, infos = batch.step(acts)
        for slot, single in enumerate(singles):
            if not before[slot]:
                if autoreset == "next_step":
                    single.reset()
                    same(batch, slot, single, (observations, infos), name, 0)
                    assert (rewards[slot, 0], terminated[slot, 0]) == (0.0, False)
                continue
            own = single.step({name: int(acts[slot, 0])})
            found = rewards[slot, 0], terminated[slot, 0], truncated[slot, 0]
            assert found == tuple(part[name] for part in own[1:4])
            assert OUTCOMES[infos["outcome"][slot, 0]] == own[4][name]["outcome"]
            heard.add(single.facts(name).hint)
            if not single.agents:
                ended += 1
                if autoreset == "same_step":
                    assert np.array_equal(infos["final_obs"][slot, 0], own[0][name])
                    single.reset()
            if single.agents:
                same(batch, slot, single, (observations, infos), name, 0)
            elif autoreset != "same_step":
                assert np.array_equal(observations[slot, 0], own[0][name])
    assert ended >= 3
    assert len(heard) == 4  # the goal, and all three that he can say


def crossing() -> dict[str, Any]:
    """Return a scenario with two travellers, whom a script and two guards tell different things."""
    data = json.loads(json.dumps(scenarios.load("the_ferryman").head.model_dump(mode="json")))
    guard = data["characters"][0]
    return {
        "initial_state": {
            "width": 8,
            "height": 5,
            "symbols": 2,
            "random_goals": 0,
            "goal_pos": [7, 4],
            "agent_setup": [
                {"agent_id": "anna", "start_pos": [0, 0], "goal": "go there."},
                {"agent_id": "ben", "start_pos": [0, 1]},
            ],
        },
        "characters": [guard, {**guard, "agent_id": "guard", "start": [5, 3]}],
        "events": [
            {
                "when": {"fact": "step", "at_least": 4},
                "on": "holds",
                "times": "every",
                "count": 5,
                "response": {
                    "type": "message_to_agent",
                    "agent_id": "anna",
                    "content": "It is late.",
                },
            }
        ],
    }


def test_words_of_scripts_and_characters_go_to_those_whom_they_are_for() -> None:
    batch = piase_gym.batch_env("GridWorld", num_envs=2, scenario=crossing())
    singles = [piase_gym.parallel_env("GridWorld", scenario=crossing()) for _ in range(2)]
    batch.reset(seed=2)
    for slot, single in enumerate(singles):
        single.reset(seed=2 + slot)
    dice, heard = np.random.default_rng(5), set[tuple[str, str | None]]()
    for _ in range(80):
        acts = dice.integers(batch.world.num_actions, size=(2, 2))
        observations, rewards, _, _, infos = batch.step(acts)
        for slot, single in enumerate(singles):
            if len(single.agents) < 2:
                continue
            own = single.step({a: int(acts[slot, k]) for k, a in enumerate(("anna", "ben"))})
            assert rewards[slot].tolist() == list(own[1].values())
            for name in single.agents:
                place = batch.agents.index(name)
                same(batch, slot, single, (observations, infos), name, place)
                heard.add((name, single.facts(name).hint))
    told = {name: {words for who, words in heard if who == name} for name in batch.agents}
    assert {"Goal: go there.", "Goal: go there. It is late."} < told["anna"]
    assert len(told["ben"]) >= 2
    assert not any("late" in str(words) for words in told["ben"])


def test_snapshots_of_batches_hold_what_characters_are_about() -> None:
    batch, other = (
        piase_gym.batch_env("GridWorld", num_envs=3, scenario="the_ferryman") for _ in range(2)
    )
    batch.reset(seed=1)
    dice = np.random.default_rng(3)
    for _ in range(9):
        batch.step(dice.integers(batch.world.num_actions, size=(3, 1)))
    kept = json.loads(json.dumps(batch.snapshot()))
    for wrong in (None, {}, {"ferryman": []}, {"ferryman": [{}] * 3}, {"ferryman": 3}):
        with pytest.raises(SnapshotError, match="partners"):
            other.restore({**kept, "partners": wrong})
    other.restore(kept)
    for _ in range(100):
        acts = dice.integers(batch.world.num_actions, size=(3, 1))
        one, two = batch.step(acts), other.step(acts)
        assert all(np.array_equal(a, b) for a, b in zip(one[:4], two[:4], strict=True))
        assert batch.digests() == other.digests()
    assert batch.snapshot() == other.snapshot()


@pytest.mark.parametrize("ending", ["jsonl", "arrow"])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_logs_of_batches_with_characters_are_replayed(
    ending: str, autoreset: str, tmp_path: Path
) -> None:
    path, dice = tmp_path / f"run.{ending}", np.random.default_rng(2)
    batch = piase_gym.batch_env(
        "GridWorld", num_envs=3, scenario="the_ferryman", autoreset=autoreset
    )
    env = AvtLogger(batch, path)
    env.reset(seed=1)
    for _ in range(120):
        env.step(dice.integers(batch.world.num_actions, size=(3, 1)))
    env.close()
    report = runs.replay(path)
    assert report.verdict == "sound", str(report)
    told = [e for e in runs.read(path) if "ferryman says" in str(e["event_data"])]
    assert told


@pytest.mark.parametrize(
    ("name", "task"), [("the_ferryman", "GridWorld-v1"), ("night_shift", "TextRoom-v3")]
)
def test_make_vec_brings_the_characters_along(name: str, task: str) -> None:
    many: Any = gymnasium.make_vec(f"piase/{task}", num_envs=3, scenario=name)
    singles: list[Any] = [gymnasium.make(f"piase/{task}", scenario=name) for _ in range(3)]
    shown, _ = many.reset(seed=4)
    over = [False] * 3
    for slot, single in enumerate(singles):
        assert np.array_equal(shown[slot], single.reset(seed=4 + slot)[0])
    dice = np.random.default_rng(1)
    for _ in range(60):
        acts = dice.integers(many.single_action_space.n, size=3)
        shown, rewards, terminated, truncated, _ = many.step(acts)
        for slot, single in enumerate(singles):
            if over[slot]:
                assert np.array_equal(shown[slot], single.reset()[0])
                over[slot] = False
                continue
            own = single.step(int(acts[slot]))
            assert np.array_equal(shown[slot], own[0])
            assert (rewards[slot], terminated[slot], truncated[slot]) == own[1:4]
            over[slot] = own[2] or own[3]
    many.close()


def test_somebody_else_can_play_a_character_in_a_batch() -> None:
    batch = piase_gym.batch_env(
        "GridWorld", num_envs=2, scenario="the_ferryman", partners={"ferryman": "noop"}
    )
    batch.reset(seed=0)
    before = batch.single(0).position(1)
    for _ in range(5):
        batch.step(np.full((2, 1), 4))
    assert batch.single(0).position(1) == before
