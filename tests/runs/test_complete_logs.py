"""Logs of level ``full`` are complete: each test is named after a sentence that they make true.

What changed is written down here from the rules of the worlds, by hand; what was perceived and
what became of actions is held against what the document interfaces return for the same commands.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import piase_gym
from piase_gym import runs
from piase_gym.core.models import ActionCommand, ActionResult, PerceptionData
from piase_gym.errors import AgentError, ConfigError
from piase_gym.interfaces import Environment
from piase_gym.runs.schema import UNSEALED, sealed
from piase_gym.simulation import Simulation
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import need
from tests.helpers.piaavt import lines, refusal

Row = dict[str, Any]


def changes_of(events: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Return the changes of objects that a log tells, without where and when."""
    names = ("change", "object", "property", "old", "new")
    return [
        tuple(event["event_data"][name] for name in names)
        for event in events
        if event["event_data"].get("kind") == "object"
    ]


GRID = {"map": ("@k.L.G", "######"), "actions": "text"}
YARD = {"map": ("@*.O.", "1...G"), "actions": "text", "regrow": 0.0}
PLAYED: dict[str, tuple[str, dict[str, Any], list[Any], list[tuple[Any, ...]]]] = {
    "object_moved, door_opened, picked up, unlocked": (
        "GridWorld",
        GRID,
        ["interact", "move right", "move right", "interact"],
        [
            ("picked_up", "key", "place", [1, 0], "agent_0"),
            ("object_moved", "agent_0", "place", [0, 0], [1, 0]),
            ("object_moved", "agent_0", "place", [1, 0], [2, 0]),
            ("unlocked", "door (3, 0)", "locked", True, False),
            ("door_opened", "door (3, 0)", "open", False, True),
        ],
    ),
    "dropped": (
        "GridWorld",
        GRID,
        ["interact", "interact"],
        [
            ("picked_up", "key", "place", [1, 0], "agent_0"),
            ("dropped", "key", "place", "agent_0", [1, 0]),
        ],
    ),
    "consumed": (
        "GridWorld",
        YARD,
        ["move right", "move right", "move right"],
        [
            ("object_moved", "agent_0", "place", [0, 0], [1, 0]),
            ("consumed", "fruit (1, 0)", "place", [1, 0], None),
            ("object_moved", "agent_0", "place", [1, 0], [2, 0]),
            ("object_moved", "agent_0", "place", [2, 0], [3, 0]),
            ("object_moved", "box", "place", [3, 0], [4, 0]),
        ],
    ),
    "spawned": (
        "GridWorld",
        {**YARD, "regrow": 1.0},
        ["move right", "move right"],
        [
            ("object_moved", "agent_0", "place", [0, 0], [1, 0]),
            ("consumed", "fruit (1, 0)", "place", [1, 0], None),
            ("object_moved", "agent_0", "place", [1, 0], [2, 0]),
            ("spawned", "fruit (1, 0)", "place", None, [1, 0]),
        ],
    ),
    "a story": (
        "TextRoom",
        {"scenario": "lost_key", "actions": "text"},
        [
            "go north",
            "search grandfather_clock",
            "take brass_key",
            "go south",
            "use brass_key on desk",
            "open desk",
            "take old_document",
        ],
        [
            ("object_moved", "PiaAgent_001", "place", "study", "hallway"),
            ("state_changed", "brass_key", "hidden", True, False),
            ("picked_up", "brass_key", "place", "grandfather_clock", "PiaAgent_001"),
            ("object_moved", "PiaAgent_001", "place", "hallway", "study"),
            ("unlocked", "desk", "locked", True, False),
            ("opened", "desk", "open", False, True),
            ("state_changed", "PiaAgent_001", "in_play", True, False),
            ("picked_up", "old_document", "place", "desk", "PiaAgent_001"),
        ],
    ),
    "resource_updated": (
        "SocialDilemma",
        {"game": "stag_hunt", "actions": "text"},
        [{"agent_0": "cooperate", "agent_1": "cooperate"}],
        [
            ("resource_updated", "game", "rounds", 0, 1),
            ("resource_updated", "agent_0", "score", 0.0, 4.0),
            ("resource_updated", "agent_0", "cooperated", 0, 1),
            ("resource_updated", "agent_1", "score", 0.0, 4.0),
            ("resource_updated", "agent_1", "cooperated", 0, 1),
        ],
    ),
}


@pytest.mark.parametrize("what", PLAYED)
def test_every_object_level_change_with_object_old_and_new_value(what: str, tmp_path: Path) -> None:
    world, config, plan, expected = PLAYED[what]
    need(world)
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env(world, **config), path, level="full")
    env.reset(seed=0)
    for acts in plan:
        env.step(acts if isinstance(acts, dict) else {env.agents[0]: acts})
    env.close()
    assert changes_of(lines(path)) == expected
    assert runs.replay(path).ok


# -- by the worlds' own players ------------------------------------------------------------------


def solved(world: str, path: Path, seed: int = 0, **config: Any) -> list[tuple[Any, ...]]:
    """Let the oracle play one agent, and return what changed."""
    env = AvtLogger(piase_gym.parallel_env(world, actions="text", **config), path, level="full")
    env.reset(seed=seed)
    while env.agents:
        plan = env.unwrapped.expert_plan(env.agents[0])
        env.step({env.agents[0]: plan[0]})
    env.close()
    assert runs.replay(path).ok
    return changes_of(lines(path))


def test_objects_of_a_home_are_picked_up_and_put_down(tmp_path: Path) -> None:
    found = solved("Household", tmp_path / "run.jsonl")
    assert found == [
        ("object_moved", "agent_0", "place", "loc 13", "coffeetable 1"),
        ("picked_up", "creditcard 1", "place", "coffeetable 1", "agent_0"),
        ("object_moved", "agent_0", "place", "coffeetable 1", "armchair 1"),
        ("state_changed", "agent_0", "in_play", True, False),
        ("dropped", "creditcard 1", "place", "agent_0", "armchair 1"),
    ]


def test_things_of_word_craft_are_spawned(tmp_path: Path) -> None:
    found = solved("WordCraft", tmp_path / "run.jsonl", depth=2)
    made = [row[1] for row in found if row[0] == "spawned"]
    events = lines(tmp_path / "run.jsonl")
    asked = [
        e["event_data"]["raw_observations"] for e in events if "raw_observations" in e["event_data"]
    ]
    assert made == [*made[:1], asked[0]["goal"]]
    assert {row[4] for row in found if row[0] == "spawned"} == {"table"}


def test_a_write_updates_the_rows_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("SqlQuery", actions="text", writes=1.0)
    env = AvtLogger(inner, path, level="full")
    env.reset(seed=0)
    sql = env.unwrapped.world.setting.task.gold
    assert sql.startswith("INSERT INTO club ")
    env.step({"agent_0": f"query {sql}"})
    env.close()
    found = changes_of(lines(path))
    assert found[1:] == [
        ("resource_updated", "answer", "score", None, 1.0),
        ("resource_updated", "database", "statements", 0, 1),
        ("resource_updated", "table club", "rows", 12, 13),
    ]
    assert runs.replay(path).ok


def test_apples_and_waste_of_a_commons(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("SocialDilemma", game="cleanup", agents=3, max_steps=60)
    env = AvtLogger(inner, path, level="full")
    dice, eaten = np.random.default_rng(0), 0
    env.reset(seed=1)
    while env.agents:
        before = env.unwrapped.world.states["eaten"][0].sum()
        env.step({name: int(dice.integers(7)) for name in env.agents})
        eaten += int(env.unwrapped.world.states["eaten"][0].sum() - before)
    cells = env.unwrapped.world.states["cells"][0]
    hanging, waste = int((cells == 4).sum()), int((cells == 6).sum())
    env.close()
    events = lines(path)
    found = changes_of(events)
    spawned = sum(row[0] == "spawned" and row[1].startswith("apple") for row in found)
    consumed = sum(row[0] == "consumed" and row[1].startswith("apple") for row in found)
    assert consumed == eaten
    assert spawned - consumed == hanging
    first = piase_gym.parallel_env("SocialDilemma", game="cleanup", agents=3, max_steps=60)
    first.reset(seed=1)
    start = int((first.world.states["cells"][0] == 6).sum())
    assert start + sum(row[4] - row[3] for row in found if row[2] == "waste") == waste
    assert runs.replay(path).ok


def test_searched_objects_are_found_and_wander(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    inner = piase_gym.parallel_env("ObjectSearch", agents=2, wandering=2, max_steps=60)
    env = AvtLogger(inner, path, level="full")
    dice = np.random.default_rng(0)
    env.reset(seed=1)
    places = env.unwrapped.world.states["place"][0].tolist()
    at_once = int(env.unwrapped.world.states["found"][0])
    while env.agents:
        env.step({name: int(dice.integers(env.action_space(name).n)) for name in env.agents})
    world = env.unwrapped.world
    found_now = int(world.states["found"][0]) & ~at_once
    names, now, side = world.config.object_names, world.states["place"][0].tolist(), world.side
    env.close()
    told = changes_of(lines(path))
    assert {row[1] for row in told if row[2] == "found"} == {
        name for bit, name in enumerate(names) if found_now >> bit & 1
    }
    for bit, name in enumerate(names[: len(places)]):
        moves = [row for row in told if row[1] == name and row[2] == "place"]
        if moves:
            assert moves[0][3] == [places[bit] % side, places[bit] // side]
            assert moves[-1][4] == [now[bit] % side, now[bit] // side]
    assert any(row[0] == "object_moved" and row[1] in names for row in told)
    assert runs.replay(path).ok


def test_what_a_gripper_holds_is_in_its_hand(tmp_path: Path) -> None:
    need("PhysicsPlayground")
    path = tmp_path / "run.jsonl"
    simulation = Simulation(
        "PhysicsPlayground",
        "oracle",
        seed=0,
        task="gather",
        max_steps=150,
        wrap=(lambda env: AvtLogger(env, path, level="full"),),
    )
    world, held = simulation.world, [None]

    def watch(_acts: Any, _tick: Any) -> None:
        hold = world.play.holds[0]
        held.append(None if hold is None else world.play.objects[hold.object].name)

    simulation.world_env.events.watch(watch)
    simulation.run()
    pairs = list(itertools.pairwise(held))
    gripped = [now for was, now in pairs if now is not None and was != now]
    let_go = [was for was, now in pairs if was is not None and was != now]
    assert gripped
    found = changes_of(lines(path))
    assert [row[1] for row in found if row[0] == "picked_up"] == gripped
    assert [row[1] for row in found if row[0] == "dropped"] == let_go
    assert runs.replay(path).ok


# -- the whole PerceptionData and ActionResult ---------------------------------------------------

MANY: dict[str, dict[str, Any]] = {
    "GridWorld": {"agents": 2, "layout": "door_key", "width": 6, "height": 6, "max_steps": 12},
    "SocialDilemma": {"game": "harvest", "agents": 2, "max_steps": 8},
    "PhysicsPlayground": {"task": "push", "max_steps": 6},
    "TextRoom": {"agents": 2, "max_steps": 8},
    "Household": {"agents": 2, "max_steps": 8},
    "SqlQuery": {"agents": 2, "max_steps": 4},
    "WordCraft": {"agents": 2, "depth": 2},
    "ObjectSearch": {"agents": 2, "max_steps": 8},
}
SIMPLE = {"new_perception_snippet", "immediate_perception_snippet"}


@pytest.mark.parametrize("world", MANY)
def test_full_holds_the_whole_perception_data_and_action_result_of_every_agent_and_step(
    world: str, tmp_path: Path
) -> None:
    need(world)
    path = tmp_path / "run.jsonl"
    env = Environment(world, **MANY[world])
    recorder = runs.record(env, path, level="full")
    dice = np.random.default_rng(0)
    env.reset(seed=0)
    results: list[tuple[str, Row]] = []
    perceived = [(name, seen(env, name)) for name in env.agents]
    while env.agents:
        playing = list(env.agents)
        for name in playing:
            legal = env.commands(name)
            command = legal[int(dice.integers(len(legal)))] if legal else env.world.noop
            model = ActionCommand(action_type=command.verb, parameters=dict(command.parameters))
            result = env.step(name, model)
        for name in playing:
            last = env.engine.record(name).result
            results.append((name, last.model_dump(mode="json", exclude=SIMPLE, exclude_none=True)))
            perceived.append((name, seen(env, name)))
        assert result.status != "in_progress"
    recorder.finish()
    events = lines(path)
    told = [
        (event["agent_id"], event["event_data"]["action_result"])
        for event in events
        if event["event_type"] == "AGENT_ACTION_EXECUTED_IN_ENV"
    ]
    assert told == results
    percepts = [
        (event["agent_id"], event["event_data"])
        for event in events
        if event["event_type"] == "PERCEPTION_INPUT_RECEIVED"
    ]
    assert [name for name, _ in percepts] == [name for name, _ in perceived]
    for (_, logged), (_, shown) in zip(percepts, perceived, strict=True):
        whole = PerceptionData.model_validate(logged).model_dump(mode="json")
        numbers = [row["sensor_data"].pop("vector") for row in (whole, shown)]
        np.testing.assert_array_equal(*(np.array(row, np.float32) for row in numbers))
        assert whole == shown
    for _, result in told:
        ActionResult.model_validate(result)
    assert all(refusal(line) == "" for line in path.read_text("utf-8").splitlines())
    assert runs.replay(path).verdict == "sound", str(runs.replay(path))


def seen(env: Environment, name: str) -> Row:
    """Return what an agent perceives, as JSON."""
    return json.loads(env.get_observation(name).model_dump_json())  # type: ignore[no-any-return]


def test_the_same_changes_fill_state_changes_summary(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = Environment("GridWorld", map=("@k.L.G", "######"))
    recorder = runs.record(env, path, level="full")
    env.reset(seed=0)
    right = {"action_type": "move", "parameters": {"direction": "right"}}
    plan = [{"action_type": "interact"}, right, right, {"action_type": "interact"}]
    told = [env.step("agent_0", command).state_changes_summary for command in plan]
    recorder.finish()
    both = [change for row in told for change in (row or {}).get("objects", ())]
    moved = ("agent_0", "place")  # `position` tells it
    assert [tuple(change.values()) for change in both] == [
        row for row in changes_of(lines(path)) if (row[1], row[2]) != moved
    ]
    assert [change["change"] for change in both] == ["picked_up", "unlocked", "door_opened"]
    assert told[0] == {"inventory": ["key"], "objects": [both[0]]}


def test_nobody_is_told_of_changes_out_of_its_sight() -> None:
    env = Environment("TextRoom", scenario="lost_key", agents=2)
    env.reset(seed=0)
    first, second = env.possible_agents
    wait = {"action_type": "wait"}
    env.step(first, {"action_type": "go", "parameters": {"direction": "north"}})
    env.step(second, wait)
    assert env.engine.record(first).result.state_changes_summary["position"] == "hallway"
    search = {"action_type": "search", "parameters": {"target_object": "grandfather_clock"}}
    env.step(first, search)
    env.step(second, wait)
    assert env.engine.record(second).result.state_changes_summary is None


# -- sequence_id, events that anyone posts, levels -----------------------------------------------


def test_full_holds_the_sequence_id_of_a_command(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = Environment("GridWorld", agents=2)
    recorder = runs.record(env, path, level="full")
    env.reset(seed=0)
    more = {"sequence_id": "there and back", "execution_priority": 2.0}
    env.step("agent_0", ActionCommand(action_type="stay", **more))
    env.step("agent_1", ActionCommand(action_type="stay"))
    env.step("agent_0", ActionCommand(action_type="stay"))
    env.step("agent_1", ActionCommand(action_type="stay"))
    recorder.finish()
    sent = [
        event["event_data"]["action_command"]
        for event in lines(path)
        if event["event_type"] == "AGENT_ACTION_SENT_TO_ENV"
    ]
    bare = {"action_type": "stay", "parameters": {}}
    assert sent == [{**bare, **more}, bare, bare, bare]
    assert ActionCommand.model_validate(sent[0]).sequence_id == "there and back"
    assert runs.replay(path).ok
    spoil(path, '"sequence_id":"there and back"', '"sequence_id":"elsewhere"', count=1)
    assert runs.replay(path).first_divergence.field == "action_command.sequence_id"


@pytest.mark.parametrize("level", ["actions", "events", "full"])
def test_events_that_anyone_posts_are_lines(level: str, tmp_path: Path) -> None:
    path, heard = tmp_path / "run.jsonl", []
    simulation = Simulation(
        "GridWorld", seed=0, wrap=(lambda env: AvtLogger(env, path, level=level),), max_steps=3
    )
    simulation.world_env.events.subscribe(heard.append, ["storm_begins"])
    simulation.initialize()
    simulation.post_event("storm_begins", {"wind": 9})
    simulation.env.post_event("storm_ends", agent="agent_0")
    simulation.world_env.post_event("ENVIRONMENT_EVENT_OCCURRED", {"weather": "rain"})
    simulation.run()
    kind = "ENVIRONMENT_EVENT_OCCURRED"
    posted = [
        (event["event_type"], event["agent_id"], event["event_data"])
        for event in lines(path)
        if event["event_data"].get("kind") == "posted" or "weather" in event["event_data"]
    ]
    assert posted == [
        (kind, "system", {"kind": "posted", "event": "storm_begins", "data": {"wind": 9}}),
        (kind, "agent_0", {"kind": "posted", "event": "storm_ends", "data": {}}),
        (kind, "system", {"weather": "rain"}),
    ]
    assert all(refusal(line) == "" for line in path.read_text("utf-8").splitlines())
    assert [(event.kind, event.data) for event in heard] == [("storm_begins", {"wind": 9})]
    assert runs.validate(path).ok
    assert runs.replay(path).verdict == "sound"


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        (("", {}), ConfigError, "a word"),
        ((3, {}), ConfigError, "a word"),
        (("storm", [1]), ConfigError, "mapping"),
        (("reset", {}), ConfigError, "take another type"),
        (("SIMULATION_CONTROL", {"control": "end"}), ConfigError, "by the engine"),
        (("PERCEPTION_INPUT_RECEIVED", {}), ConfigError, "by the engine"),
        (("ENVIRONMENT_EVENT_OCCURRED", {"kind": "step"}), ConfigError, "by the engine"),
        (("ENVIRONMENT_EVENT_OCCURRED", {"seed": 1}), ConfigError, "by the engine"),
        (("storm", {}, "agent_9"), AgentError, "agent_9"),
    ],
)
def test_events_that_cannot_be_posted(
    event: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld"), path)
    env.reset(seed=0)
    with pytest.raises(error, match=message):
        env.post_event(*event)
    env.step({"agent_0": 4})
    env.close()
    assert runs.replay(path).ok


@pytest.mark.parametrize(
    ("alias", "level"),
    [("DEBUG", "full"), ("INFO", "events"), ("CRITICAL_EVENTS_ONLY", "critical")],
)
def test_the_documents_level_names_are_aliases(alias: str, level: str, tmp_path: Path) -> None:
    found = {}
    for name in (alias, level):
        path = tmp_path / f"{name}.jsonl"
        options: dict[str, Any] = {"level": name, "levels": {"agent_1": name}, "run_id": "run"}
        env = AvtLogger(piase_gym.parallel_env("GridWorld", agents=2, max_steps=4), path, **options)
        env.reset(seed=0)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 3))
        env.close()
        found[name] = [{**event, "timestamp": ""} for event in lines(path)]
    assert found[alias][1:-1] == found[level][1:-1]
    assert found[alias][0]["event_data"]["level"] == level
    shown = {event["log_level"] for event in found[alias]}
    assert ("DEBUG" in shown) is (alias == "DEBUG")


# -- replay, and columns -------------------------------------------------------------------------


def spoil(path: Path, old: str, new: str, count: int = 1, at: int = 0) -> int:
    """Change a line of a log and seal the log again; returns the number of the line."""
    rows = path.read_text("utf-8").splitlines()
    number = [i for i, row in enumerate(rows) if old in row][at]
    rows[number] = rows[number].replace(old, new, count)
    end = json.loads(rows[-1])["event_data"]
    before = "".join(row + "\n" for row in rows[:-1]).encode()
    last = rows[-1].replace(end["checksum"], xxhash.xxh3_64(before).hexdigest())
    bare = sealed(last.encode() + b"\n", end["seal"])
    whole = sealed(bare, UNSEALED, xxhash.xxh3_64(before + bare).hexdigest())
    path.write_bytes(before + whole)
    return number + 1


OBJECTS = "action_result.state_changes_summary.objects[0].object"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"old":[0,0],"new":[1,0]', '"old":[0,0],"new":[2,0]', "new[0]"),
        ('"kind":"object","change":"unlocked"', '"kind":"object","change":"locked"', "change"),
        ('"picked_up","object":"key"', '"picked_up","object":"box"', OBJECTS),
        ('"visible_text":"You', '"visible_text":"We', "visible_text"),
        ('"message":"Done."', '"message":"Fine."', "action_result.message"),
        (
            '"inventory_update":{"added":["key"]',
            '"inventory_update":{"added":[]',
            "inventory_update",
        ),
    ],
)
def test_replay_recomputes_these_lines_and_names_the_first_that_differs(
    old: str, new: str, field: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", **GRID), path, level="full")
    env.reset(seed=0)
    for line in ["interact", "move right", "move right", "interact"]:
        env.step({"agent_0": line})
    env.close()
    number = spoil(path, old, new)
    report = runs.replay(path)
    assert report.seal.state == "sealed"
    assert report.first_divergence is not None
    assert report.first_divergence.line == number
    assert report.first_divergence.field.startswith(field)


def test_a_change_that_the_log_leaves_out_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", **GRID), path, level="full")
    env.reset(seed=0)
    env.step({"agent_0": "interact"})
    env.close()
    number = spoil(path, '"kind":"object"', '"kind":"gossip"')
    report = runs.replay(path)
    assert report.first_divergence is not None
    assert report.first_divergence.line == number


def test_a_change_that_never_was_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    env = AvtLogger(piase_gym.parallel_env("GridWorld", **GRID), path, level="full")
    env.reset(seed=0)
    env.post_event("ENVIRONMENT_STATE_CHANGED", {"kind": "rumour", "about": "key"})
    env.close()
    told = '"kind":"object","change":"consumed","object":"key","property":"place","old":1,"new":2'
    number = spoil(path, '"kind":"rumour","about":"key"', told)
    found = runs.replay(path).first_divergence
    assert found is not None
    assert (found.line, found.field) == (number, "line")
    assert found.logged == "ENVIRONMENT_STATE_CHANGED object"


def test_arrow_logs_expand_to_the_same_lines(tmp_path: Path) -> None:
    found = {}
    for ending in ("jsonl", "arrow"):
        path = tmp_path / f"run.{ending}"
        batch = piase_gym.batch_env("piase/GridWorld-Everything-16x16-4p-v1", num_envs=2)
        env = AvtLogger(batch, path, level="full", run_id="run")
        dice = np.random.default_rng(0)
        env.reset(seed=1)
        for step in range(12):
            env.step(dice.integers(env.world.num_actions, size=(2, 4)))
            if step == 5:
                env.post_event("storm_begins", {"wind": 9})
                env.modify({"mover_period": 3}, [1])
        env.close()
        assert runs.replay(path).ok
        found[ending] = [{**event, "timestamp": ""} for event in runs.read(path)]
    assert found["jsonl"][1:-1] == found["arrow"][1:-1]
    kinds = [event["event_data"].get("kind") for event in found["arrow"]]
    assert kinds.count("object") > 50
    assert kinds.count("modify") == 1
    percepts = [e for e in found["arrow"] if e["event_type"] == "PERCEPTION_INPUT_RECEIVED"]
    steps = [e["event_data"] for e in found["arrow"] if e["event_data"].get("kind") == "step"]
    stepped = sum(len(data["commands"]) for data in steps)
    assert len(percepts) == 2 * 4 + stepped
    assert all(event["event_data"]["visible_text"] for event in percepts)
