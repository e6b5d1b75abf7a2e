"""Simulated people: scripted characters with a routine, needs and a small dialogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym import runs, scenarios
from piase_gym.errors import ScenarioError
from piase_gym.simulation.simulation import Simulation
from piase_gym.wrappers import AvtLogger


def visit(acts: list[str]) -> tuple[Any, list[Any]]:
    """Visit the watchman; returns the environment and what was seen after each command."""
    env = piase_gym.parallel_env("night_shift", actions="text")
    env.reset(seed=0)
    return env, [env.step({"visitor": act})[0]["visitor"] for act in acts]


def test_ability_to_define_and_manage_simulated_humans() -> None:
    env, seen = visit(["wait", "wait", "tell watchman where is the key", *["wait"] * 4])
    assert env.possible_agents == ["visitor"]  # nobody has to play the watchman
    assert "watchman is here" in seen[0]["text"]
    assert "watchman tells visitor: Who goes there?" in seen[1]["text"]
    heard = " ".join(view["text"] for view in seen)
    assert "The iron key? Look into the barrel in the yard." in heard
    assert (seen[0]["vector"] != seen[1]["vector"]).any()


def test_who_is_asked_something_else_answers_something_else() -> None:
    _, seen = visit(["wait", "wait", "tell watchman hello", "wait", "tell watchman a KEY", "wait"])
    words = ["I only keep the keys here." in view["text"] for view in seen]
    assert any(words)
    assert not any("barrel in the yard" in view["text"] for view in seen[:4])
    _, more = visit(["wait"] * 9)
    assert not any("keep the keys" in view["text"] for view in more)


def places(name: str, seed: int, steps: int) -> list[Any]:
    """Return where a character was, while the other waits far away."""
    env = piase_gym.parallel_env(name, start_pos=[[0, 4], [3, 2]])
    env.reset(seed=seed)
    noop = env.world.commands.index(env.world.noop)
    found = []
    for _ in range(steps):
        env.step({"traveller": noop})
        found.append(tuple(env.world.position(1)))
    return found


def test_a_character_has_a_routine_and_needs() -> None:
    walked = places("the_ferryman", 0, 40)
    assert walked == places("the_ferryman", 7, 40)  # nothing is random
    assert walked[:4] == [(3, 2), (4, 2), (5, 2), (6, 2)]
    assert (3, 2) in walked[5:12]
    tired = walked.index((5, 0))
    assert 14 <= tired <= 20
    assert walked[tired + 1] == (5, 0)
    assert (6, 2) in walked[tired:]  # and goes on


def test_a_character_of_a_grid_talks_in_words_and_understands_symbols() -> None:
    env = piase_gym.parallel_env("the_ferryman", actions="text", start_pos=[[3, 1], [3, 2]])
    before, _ = env.reset(seed=0)
    seen = env.step({"traveller": "stay"})[0]["traveller"]
    assert "ferryman says: Say 1 for the ford, 2 for the hut." in seen["text"]
    assert (seen["vector"] != before["traveller"]["vector"]).any()
    env.step({"traveller": "stay saying 2"})
    seen = env.step({"traveller": "stay"})[0]["traveller"]
    assert "My hut is mine." in seen["text"]
    env.step({"traveller": "stay saying 1"})
    assert "lower right" in env.step({"traveller": "stay"})[0]["traveller"]["text"]


@pytest.mark.parametrize("name", ["night_shift", "the_ferryman"])
def test_characters_are_in_snapshots(name: str) -> None:
    env, other = piase_gym.parallel_env(name), piase_gym.parallel_env(name)
    env.reset(seed=1)
    dice, learner = np.random.default_rng(0), env.possible_agents[0]
    for _ in range(7):
        env.step({learner: int(dice.integers(env.world.num_actions))})
    kept = json.loads(json.dumps(env.snapshot()))
    other.restore(kept)
    for _ in range(12):
        act = int(dice.integers(env.world.num_actions))
        assert env.step({learner: act})[1:4] == other.step({learner: act})[1:4]
        assert env.digest() == other.digest()
        assert env.snapshot() == other.snapshot()
        if not env.agents:
            break


@pytest.mark.parametrize("name", ["night_shift", "the_ferryman"])
def test_runs_with_characters_are_replayed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env(name), path)
    env.reset(seed=1)
    dice, learner = np.random.default_rng(0), env.possible_agents[0]
    while env.agents:
        env.step({learner: int(dice.integers(env.unwrapped.world.num_actions))})
    env.close()
    report = runs.replay(path)
    assert report.verdict == "sound", str(report)


def test_simulations_seat_no_agent_for_a_character() -> None:
    with Simulation("night_shift", "noop", seed=0, max_steps=5) as simulation:
        assert simulation.manager.names == ("visitor",)
        assert simulation.run().steps == 5


def test_what_is_wrong_with_characters_is_told(tmp_path: Path) -> None:
    text = (Path(scenarios.load("the_ferryman").file)).read_text("utf-8")
    path = tmp_path / "wrong.yaml"
    wrong = text.replace("start: [3, 2]", "start: [3, 9]").replace('to: "hut"', 'to: "hat"')
    path.write_text(wrong, "utf-8")
    with pytest.raises(ScenarioError) as caught:
        scenarios.load(path)
    told = str(caught.value)
    assert ":21:" in told
    assert "lies outside" in told
    assert "no node 'hat'" in told
