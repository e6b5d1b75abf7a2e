"""Objects that scripts take away and let appear, and those that are absent at the start."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pybullet")

import piase_gym
from piase_gym.core.rng import Stream
from piase_gym.errors import ScenarioError, SnapshotError
from piase_gym.runs import replay
from piase_gym.worlds.physics_playground.scripting import place_problem
from piase_gym.wrappers import AvtLogger
from tests.worlds.physics_playground.helpers import FULL, make, oracle

START: dict[str, Any] = {
    "task": "gather",
    "agents": 1,
    "start_pos": [[0.0, 0.0]],
    "goal_pos": [2.0, 2.0],
    "rays": 32,
    "objects": [
        {"kind": "box", "position": [0.45, 0.0]},
        {"kind": "ball", "position": [-1.5, 1.0]},
        {"kind": "cylinder", "absent": True},
    ],
}


def at(step: int, kind: str, thing: str | None = None, place: Any = None) -> dict[str, Any]:
    """Return an event that changes the scene in a step."""
    response = {"type": f"{kind}_object", "object": thing, "place": place}
    given = {key: value for key, value in response.items() if value is not None}
    return {"when": {"fact": "step", "equals": step}, "response": given}


def scene(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a scenario with events."""
    return {
        "environment_type": "PhysicsPlayground",
        "initial_state": {**START, **more},
        "events": list(events),
    }


def begin(document: dict[str, Any], **more: Any) -> Any:
    """Return an environment of a scenario, reset."""
    env = piase_gym.parallel_env("PhysicsPlayground", scenario=document, actions="text", **more)
    env.reset(seed=1)
    return env


def names(env: Any) -> set[str]:
    """Return the objects that the agent perceives."""
    return {seen.name for seen in env.world.facts(0).objects}


def wait_until(env: Any, step: int) -> list[float]:
    """Wait until so many steps were taken; returns the rewards."""
    return [env.step({"agent_0": "wait"})[1]["agent_0"] for _ in range(env.world.play.t, step)]


def test_what_is_held_is_taken_out_of_the_hand_and_comes_back_elsewhere() -> None:
    env = begin(
        scene(
            at(40, "remove", "red box"),
            at(42, "spawn", "red box", [1.0, -1.0]),
            at(42, "spawn", "green cylinder", [-1.0, -1.0]),
        )
    )
    assert names(env) == {"red box", "blue ball"}
    assert env.world.facts(0).placed == (0, 2)
    env.step({"agent_0": "go to red box"})
    env.step({"agent_0": "grip"})
    wait_until(env, 39)
    assert env.world.facts(0).holding == "red box"
    rewards = wait_until(env, 40)
    assert env.world.facts(0).holding is None
    assert names(env) == {"blue ball"}
    assert env.world.facts(0).placed == (0, 1)
    assert "red box" not in env.world.objects()
    rewards += wait_until(env, 44)
    assert names(env) == {"red box", "blue ball", "green cylinder"}
    assert env.world.facts(0).placed == (0, 3)
    assert env.world.objects()["red box"]["place"] == [1.0, -1.0, 0.12]
    # Nobody is paid for what comes and goes, though the way to go is other metres then.
    assert len(rewards) == 5
    assert all(abs(reward) < 0.1 for reward in rewards)


def test_where_there_is_no_room_nothing_appears() -> None:
    env = begin(
        scene(
            at(1, "spawn", "green cylinder", [0.1, 0.0]),  # where the agent is
            at(2, "spawn", "green cylinder", [0.5, 0.1]),  # where the box is
            at(3, "spawn", "red box", [1.0, 1.0]),  # it is there already
            at(4, "remove", None, [2.5, 2.5]),  # nothing is there
            at(5, "spawn", "green cylinder", [1.5, 0.0]),
            at(6, "remove", None, [1.5, 0.05]),  # what stands there
            at(7, "remove", "red box", [1.5, 0.0]),  # it is elsewhere
        )
    )
    seen = []
    for _ in range(7):
        env.step({"agent_0": "wait"})
        seen.append(sorted(names(env)))
    both = ["blue ball", "red box"]
    assert seen == [both] * 4 + [["blue ball", "green cylinder", "red box"]] + [both] * 2
    assert env.world.facts(0).objects[0].name == "red box"


def test_snapshots_go_on_bit_for_bit_whatever_comes_and_goes() -> None:
    """In contact with what vanishes, beside what appears, and with it in view of the lidar."""
    document = scene(
        at(30, "remove", "red box"),
        at(31, "spawn", "green cylinder", [1.1, -0.4]),
        at(34, "spawn", "red box", [1.5, 0.3]),
        at(45, "remove", "green cylinder"),
    )
    env, other = begin(document), begin(document)
    env.step({"agent_0": "go to red box"})
    dice = Stream(3)
    touched = set()
    for step in range(env.world.play.t, 60):
        kept = json.loads(json.dumps(env.snapshot()))
        other.restore(kept)
        assert other.digest() == env.digest()
        assert other.world.facts(0) == env.world.facts(0), step
        act = {"agent_0": ("push", "push", "forward", "turn left", "grip")[dice.integer(5)]}
        if step < 31:
            act = {"agent_0": "push"}
        assert other.step(act)[1:4] == env.step(act)[1:4]
        touched |= set(env.world.facts(0).touching)
        assert other.digest() == env.digest()
    assert "red box" in touched
    for away in ([0, 0], [7], [1, 0]):
        wrong = json.loads(json.dumps(kept))
        wrong["state"]["play"]["away"] = away
        with pytest.raises(SnapshotError, match="are not there"):
            other.restore(wrong)


def test_logs_tell_of_what_comes_and_goes_and_replay(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    document = scene(at(2, "remove", "red box"), at(3, "spawn", "green cylinder", [1.0, -1.0]))
    env = AvtLogger(
        piase_gym.parallel_env("PhysicsPlayground", scenario=document, actions="text"),
        path,
        level="full",
    )
    env.reset(seed=1)
    for _ in range(5):
        env.step({"agent_0": "forward"})
    env.close()
    assert replay(path).verdict == "sound"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    told = [line["event_data"] for line in lines if "event_data" in line]
    changes = [(data["change"], data["object"]) for data in told if data.get("kind") == "object"]
    assert [change for change in changes if change[0] in ("spawned", "consumed")] == [
        ("consumed", "red box"),
        ("spawned", "green cylinder"),
    ]


def test_who_goes_to_what_vanishes_stops() -> None:
    env = begin(scene(at(3, "remove", "blue ball")))
    for _ in range(3):
        env.world.step([env.world.check(0, env.world.read(0, "go to blue ball"))])
    stride = env.world.strides[0]
    assert stride is not None
    assert stride.end == "blocked"
    assert env.world.under_way(0) is None
    *_, infos = env.step({"agent_0": "go to blue ball"})
    assert infos["agent_0"]["outcome"] == "illegal"
    assert "You perceive no 'blue ball'" in infos["agent_0"]["feedback"]


@pytest.mark.parametrize("task", ["push", "stack", "gather", "keep_away", "carry"])
def test_what_is_absent_changes_nothing_of_the_rest(task: str) -> None:
    """An object that is away is as if the config had none: in rewards, views, masks, and play."""
    fields = {"max_steps": 60, **FULL[task]}
    plain = make(task, **fields, view="both")
    things = [thing.model_dump() for thing in plain.world.config.things]
    kind = things[0]["kind"]
    more = make(
        task, **{**fields, "objects": [*things, {"kind": kind, "absent": True}]}, view="text"
    )
    seen, _ = plain.reset(seed=5)
    others, _ = more.reset(seed=5)
    ask, also = oracle(plain), oracle(more)
    while plain.agents:
        acts = ask()
        assert also() == acts
        found, same = plain.step(acts), more.step(acts)
        assert same[1:4] == found[1:4]
        for name, view in found[0].items():
            assert same[0][name] == view["text"]
            assert same[4][name]["action_mask"].tolist() == found[4][name]["action_mask"].tolist()
    assert not more.agents
    assert seen.keys() == others.keys()


def test_a_task_without_its_objects_is_not_done() -> None:
    env = begin(scene(at(1, "remove", "red box"), at(1, "remove", "blue ball")))
    *_, ended, _, _ = env.step({"agent_0": "wait"})
    assert not ended["agent_0"]
    assert env.world.facts(0).placed == (0, 0)
    assert oracle(env)()["agent_0"] == env.world.noop


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (at(1, "spawn", "pink box", [0, 0]), "'pink box' cannot be put here or taken; .*red box"),
        (at(1, "spawn", "green cylinder", [2.95, 0]), "is not on the floor"),
        (at(1, "spawn", "green cylinder", [0.0, 2.0]), r"\(0, 2\) is at a wall"),
        (at(1, "spawn", "green cylinder", [-2.0, -2.0]), r"\(-2, -2\) is at a ramp"),
        (at(1, "spawn", "green cylinder", "kitchen"), "a place is \\(x, y\\) in metres"),
        (at(1, "remove", None, [9.0, 0.0]), r"\(9, 0\) is not on the floor"),
    ],
)
def test_spawns_on_walls_and_outside_are_refused_at_load(response: Any, told: str) -> None:
    parts = {"walls": [{"position": [0.0, 2.05]}], "ramps": [{"position": [-2.0, -2.0]}]}
    with pytest.raises(ScenarioError, match=told):
        begin(scene(response, **parts))


def test_an_object_may_stand_at_the_very_edge_of_the_floor() -> None:
    config = begin(scene(at(1, "remove", "red box"))).world.config
    half = config.size[0] / 2.0
    assert place_problem(config, None, (half, -half)) is None
    assert "is not on the floor" in str(place_problem(config, None, (half + 1e-9, 0.0)))


def test_copies_know_what_their_script_has_done() -> None:
    """Also one that was made while a setting differs from the config's."""
    event = at(2, "remove", "red box")
    setting = {"type": "change_setting", "setting": "zone", "value": 1.5}
    document = scene(
        event, {"when": event["when"], "response": setting}, at(6, "spawn", "red box", [1, -1])
    )
    env = begin(document)
    wait_until(env, 3)
    assert env.world.config.zone == 1.5
    others = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    found = wait_until(env, 8)
    assert names(env) == {"red box", "blue ball"}
    for other in others:
        assert other.world.config.zone == 1.5
        assert wait_until(other, 8) == found
        assert names(other) == {"red box", "blue ball"}
        assert other.digest() == env.digest()
        other.reset(seed=2)
        assert other.world.config.zone == 0.7
        other.close()


def test_settings_that_a_script_changes_hold_from_the_next_step_on() -> None:
    """What is paid, how near is there, and what a grip and a stride under way are in."""
    start = {"task": "reach", "agents": 1, "start_pos": [[0.0, 0.0]], "goal_pos": [2.0, 0.0]}
    when = {"fact": "step", "equals": 3}
    settings = {"rewards": {"step": -0.5}, "tolerance": 2.5}
    events = [
        {"when": when, "response": {"type": "change_setting", "setting": name, "value": value}}
        for name, value in settings.items()
    ]
    document = {
        "environment_type": "PhysicsPlayground",
        "initial_state": start,
        "events": events[:1],
    }
    env = begin(document)
    assert wait_until(env, 5)[2:] == pytest.approx([-0.01, -0.5, -0.5], abs=1e-3)
    env.reset(seed=2)
    assert wait_until(env, 1) == pytest.approx([-0.01], abs=1e-3)
    env = begin({**document, "events": events})
    wait_until(env, 3)
    assert env.agents
    *_, infos = env.step({"agent_0": "wait"})
    assert not env.agents
    assert infos["agent_0"]["reason"] == "task_done"
