"""Commands of PhysicsPlayground that last: how far they go, when they end, what logs hold."""

from __future__ import annotations

import copy
import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pybullet")

import piase_gym
from piase_gym.agents import Agent
from piase_gym.benchmarks.evaluation.rollout import ask_all
from piase_gym.core.commands import Command, Outcome
from piase_gym.envs.runner import EpisodeRunner
from piase_gym.errors import SnapshotError
from piase_gym.registry import world_spec
from piase_gym.runs import record, replay
from piase_gym.simulation import Simulation
from tests.worlds.physics_playground.helpers import make

OPEN: dict[str, Any] = {"size": (12.0, 12.0), "start_pos": [(-3.0, 0.0)], "goal_pos": (5.0, 5.0)}


def words(task: str = "reach", **config: Any) -> Any:
    """Return an environment for words."""
    return make(task, view="text", actions="text", **config)


def pose(env: Any, agent: int = 0) -> tuple[float, float, float]:
    """Return x, y and heading in degrees of an agent, as Bullet has them."""
    here = env.world.arena.pose(agent)
    return (*here.position[:2], math.degrees(math.atan2(here.ahead[1], here.ahead[0])))


def say(env: Any, line: str) -> tuple[str, float, dict[str, Any]]:
    """Let the first agent do something; return what it reads, its reward and its info."""
    seen, rewards, _, _, infos = env.step({"agent_0": line})
    return seen["agent_0"], rewards["agent_0"], infos["agent_0"]


def degrees_between(one: float, other: float) -> float:
    """Return by how many degrees to the left one turns from the second to the first."""
    return (one - other + 180.0) % 360.0 - 180.0


@pytest.mark.parametrize("body", ["rover", "sphere"])
@pytest.mark.parametrize("substeps", [8, 32])
@pytest.mark.parametrize(
    ("line", "metres", "degrees"),
    [
        ("forward 1.0", 1.0, 0.0),
        ("push 1.5 m", 1.5, 0.0),
        ("back 0.5 metres", -0.5, 0.0),
        ("turn left 45 degrees", 0.0, 45.0),
        ("turn right by 100", 0.0, -100.0),
        ("turn left 270", 0.0, 270.0),
    ],
)
def test_a_stride_goes_as_far_as_it_says_and_ends_at_rest(
    body: str, substeps: int, line: str, metres: float, degrees: float
) -> None:
    env = words(body=body, substeps=substeps, **OPEN)
    env.reset(seed=1)
    x, y, face = pose(env)
    seen, _, info = say(env, line)
    there = pose(env)
    ahead = (there[0] - x) * math.cos(math.radians(face)) + (there[1] - y) * math.sin(
        math.radians(face)
    )
    coarse = substeps > 8  # a step of a quarter of a second
    assert ahead == pytest.approx(metres, abs=0.1 if coarse else 0.05)
    assert abs(degrees_between(there[2], face + degrees)) < (4.0 if coarse else 2.0)
    assert float(np.hypot(*env.world.reading.velocity[0][:2])) < 0.06
    assert info["outcome"] == "ok"
    assert "Done in " in seen.splitlines()[0]
    env.close()


def test_who_faces_a_thing_faces_it_and_who_goes_there_can_grip_it() -> None:
    env = words("gather", start_pos=[(0.0, 0.0)], max_steps=800)
    env.reset(seed=5)
    for name in ("red ball", "the box_1", "cylinder", "yellow", "the zone", "(1.5, -1)", "north"):
        say(env, f"face {name}")
        x, y, face = pose(env)
        places = dict(
            zip([b.name for b in env.world.play.objects], env.world.reading.position, strict=False)
        )
        place = {
            "red ball": places["red ball"],
            "the box_1": places["blue box"],
            "cylinder": places["green cylinder"],
            "yellow": places["yellow box"],
            "the zone": env.world.play.zone,
            "(1.5, -1)": (1.5, -1.0),
            "north": (x, y + 100.0),
        }[name]
        bearing = math.degrees(math.atan2(place[1] - y, place[0] - x))
        assert abs(degrees_between(bearing, face)) < 1.6, name
    nearest = env.facts("agent_0").objects[0].name
    for _ in range(2):
        say(env, f"go to {nearest}")
    _, _, info = say(env, "grip")
    assert info["outcome"] == "ok"
    assert env.facts("agent_0").holding == nearest
    env.close()


def test_who_goes_to_a_place_comes_there() -> None:
    env = words(**OPEN)
    env.reset(seed=0)
    seen, _, _ = say(env, "go to x -1.2, y -0.7")
    assert math.dist(pose(env)[:2], (-1.2, -0.7)) < 0.08
    assert seen.startswith("Last step: go to -1.2 -0.7; ok; ")
    env.close()


def test_a_wall_ends_a_stride_as_failed_and_is_named() -> None:
    env = words(size=(4.0, 4.0), start_pos=[(1.0, 0.0)], goal_pos=(-1.5, 1.5))
    env.reset(seed=0)
    say(env, "face east")
    x, y, _ = pose(env)
    seen, reward, info = say(env, "forward 5")
    assert info["outcome"] is Outcome.FAILED
    assert "The wall is in the way." in info["feedback"]
    assert f"; failed; reward {reward:.4g}. The wall is in the way. Stopped after" in seen
    assert 1.7 < pose(env)[0] < 1.9
    left = float(info["feedback"].split("; ")[1].split()[0])
    assert left == pytest.approx(5.0 - math.dist(pose(env)[:2], (x, y)), abs=0.02)
    env.close()


def test_a_stride_ends_after_its_steps_and_with_the_episode() -> None:
    env = words(stride=10, max_steps=25, **OPEN)
    env.reset(seed=0)
    seen, _, info = say(env, "forward 3")
    assert env.runner.steps == 10
    assert info["outcome"] == "ok"
    assert "the most for one" in seen
    say(env, "forward 3")
    *_, truncated, infos = env.step({"agent_0": "forward 3"})
    assert env.runner.steps == 25
    assert truncated == {"agent_0": True}
    assert infos["agent_0"]["reason"] == "time_out"
    env.close()
    winner = words(size=(6.0, 6.0), start_pos=[(0.0, 0.0)], goal_pos=(2.0, 0.0))
    winner.reset(seed=0)
    seen, _, terminated, _, infos = winner.step({"agent_0": "go to goal"})
    assert terminated["agent_0"]
    assert infos["agent_0"]["milestones"] == ["done"]
    assert "milestone: done. The episode was over after " in seen["agent_0"]
    winner.close()


def test_logs_hold_every_step_of_a_stride_and_rewards_add_up(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = words("push")
    record(env, path)
    env.reset(seed=3)
    rewards = [say(env, line)[1] for line in ("face box", "go to red box", "push 0.3", "wait 1")]
    steps, digest = env.runner.steps, env.digest()
    env.close()
    events = [json.loads(line)["event_data"] for line in path.read_text("utf-8").splitlines()]
    logged = [event for event in events if event.get("kind") == "step"]
    assert len(logged) == steps > 60
    verbs = [event["commands"]["agent_0"]["type"] for event in logged]
    assert [verb for verb, _ in itertools.groupby(verbs)] == ["face", "go to", "push", "wait"]
    assert sum(event["rewards"]["agent_0"] for event in logged) == pytest.approx(sum(rewards))
    assert logged[-1]["digest"] == digest
    assert replay(path).ok


def test_a_snapshot_in_the_midst_of_a_stride_goes_on_with_it() -> None:
    env, other = words("push"), words("push")
    env.reset(seed=3)
    other.reset(seed=9)
    say(env, "face box")
    command = Command("forward", {"metres": 1.0})
    for _ in range(12):
        env.world.step([command])
    assert env.world.under_way(0) == command
    kept = json.loads(json.dumps(env.world.snapshot()))
    other.world.restore(kept)
    for _ in range(12):
        assert env.world.digest() == other.world.digest()
        assert env.world.observation_text(0) == other.world.observation_text(0)
        env.world.step([command])
        other.world.step([command])
    forgotten = copy.deepcopy(kept)
    forgotten["state"]["strides"] = [None]
    other.world.restore(forgotten)
    while env.world.under_way(0):
        env.world.step([command])
    while other.world.step([command]) and other.world.under_way(0):
        pass
    apart = math.dist(pose(env)[:2], pose(other)[:2])
    assert apart > 0.3, "who has forgotten its stride begins another one"
    for damage in ({"verb": "fly"}, {"start": [0.0]}, {"left": "far"}, {"steps": -1}):
        bad = copy.deepcopy(kept)
        bad["state"]["strides"][0] |= damage
        digest = other.world.digest()
        with pytest.raises(SnapshotError):
            other.world.restore(bad)
        assert other.world.digest() == digest
    env.close()
    other.close()


def test_all_are_asked_again_when_the_command_of_one_ends_and_who_repeats_goes_on() -> None:
    env = words(agents=2, size=(12.0, 12.0), start_pos=[(-3.0, 2.0), (-3.0, -2.0)])
    env.reset(seed=0)
    x, y, _ = pose(env)
    seen, _, _, _, infos = env.step({"agent_0": "forward 1.5", "agent_1": "turn left 20"})
    short = env.runner.steps
    assert short < 20
    assert "Under way for " in seen["agent_0"]
    assert "Done in " in seen["agent_1"]
    assert {info["outcome"] for info in infos.values()} == {"ok"}
    while env.world.under_way(0):
        env.step({"agent_0": "forward 1.5", "agent_1": "wait 9"})
    assert math.dist(pose(env)[:2], (x, y)) == pytest.approx(1.5, abs=0.05)
    before = env.runner.steps
    env.step({"agent_0": "forward 1.5", "agent_1": "wait"})
    assert env.runner.steps == before + 1, "a command of one step ends with it"
    env.close()


class Counting(Agent):
    """Says one line after the other, and counts how often it is asked."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.lines, self.asked, self.learnt = list(lines), 0, 0.0

    def act(self) -> str:
        self.asked += 1
        return self.lines[min(self.asked, len(self.lines)) - 1]

    def learn(self, feedback: Any) -> None:
        self.learnt += feedback.reward


def test_partners_and_boxes_take_single_steps() -> None:
    partner = Counting("drive 0.5 0.1")
    env = piase_gym.gym_env(
        "PhysicsPlayground",
        task="reach",
        agents=2,
        view="text",
        actions="text",
        partners={"agent_1": partner},
        **{**OPEN, "start_pos": [(-3.0, 2.0), (-3.0, -2.0)]},
    )
    env.reset(seed=0)
    env.step("forward 1.0")
    assert partner.asked == env.runner.steps > 15
    env.close()
    box = make("reach", actions="continuous", **OPEN)
    box.reset(seed=0)
    box.step({"agent_0": np.array([1.0, 0.0, 0.0], np.float32)})
    assert box.runner.steps == 1
    box.close()


def test_a_simulation_asks_who_has_ended_its_command() -> None:
    one, other = Counting("forward 1.0", "wait"), Counting("wait")
    config = {"size": (12.0, 12.0), "start_pos": [(-3.0, 2.0), (-3.0, -2.0)], "max_steps": 40}
    run = Simulation(
        "PhysicsPlayground", {"agent_0": one, "agent_1": other}, task="reach", agents=2, **config
    )
    run.initialize(seed=0)
    x, y, _ = pose(run.world_env)
    while run.step():
        pass
    assert math.dist(pose(run.world_env)[:2], (x, y)) == pytest.approx(1.0, abs=0.05)
    assert run.summary().steps == 40
    assert other.asked == 40
    assert 5 < one.asked < 25
    run.close()


def test_a_benchmark_asks_who_has_ended_its_command() -> None:
    env = words(**OPEN)
    world, agent = env.world, Counting("forward 0.5", "wait")
    runner = EpisodeRunner(world, world_spec("PhysicsPlayground"))
    runner.reset(0)
    while agent.asked < 2:
        runner.step(ask_all([agent], runner))
    assert runner.steps > 10
    assert math.dist(pose(env)[:2], (-3.0, 0.0)) == pytest.approx(0.5, abs=0.05)
    env.close()


def test_indices_can_be_strides() -> None:
    steps, strides = (make("reach", indices=kind, **OPEN) for kind in ("steps", "strides"))
    for env in (steps, strides):
        env.reset(seed=1)
        env.step({"agent_0": 1})
    assert steps.runner.steps == 1
    assert strides.runner.steps > 10
    assert math.dist(pose(strides)[:2], (-3.0, 0.0)) == pytest.approx(0.5, abs=0.05)
    assert strides.admissible_commands("agent_0")[:4] == [
        "wait 0.5",
        "forward 0.5",
        "back 0.5",
        "turn left 30",
    ]
    assert steps.action_space("agent_0") == strides.action_space("agent_0")
    steps.close()
    strides.close()


@pytest.mark.parametrize(
    ("line", "outcome", "told"),
    [
        ("face dragon", "illegal", "You can name the zone, red box"),
        ("go to blue box", "illegal", "You perceive no 'blue box'"),
        ("go to north", "illegal", "You can name the zone"),
        ("go to 1e300 0", "illegal", "a place such as"),
        ("forward -1", "unparsable", "cannot be -1"),
        ("forward nan", "unparsable", "finite number"),
        ("turn left 9999", "unparsable", "cannot be 9999"),
        ("turn 45", "unparsable", "direction"),
        ("face", "unparsable", "needs what"),
        ("forward " + "1" * 2000, "too_long", "characters"),
    ],
)
def test_bad_strides_cost_one_step_and_say_why(line: str, outcome: str, told: str) -> None:
    env = words("push")
    env.reset(seed=0)
    _, _, info = say(env, line)
    assert info["outcome"] == outcome
    assert told in info["feedback"]
    assert env.runner.steps == 1
    assert env.world.strides == [None]
    env.close()
