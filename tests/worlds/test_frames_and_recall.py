"""Every id in both frames of reference and with ``recall="map"``: both views say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.benchmarks.speed.text_lengths import tasks
from piase_gym.core.recall import CODE, MOST
from piase_gym.errors import ConfigError, EnvelopeError, SnapshotError, TextParseError
from piase_gym.testing import check_world
from tests.probes.checks import CONTRACT

FORMS: tuple[dict[str, Any], ...] = (
    {"recall": "map"},
    {"frame": "agent"},
    {"frame": "grid"},
    {"frame": "agent", "recall": "map"},
)
STEPS = 8


def made(task: str, form: dict[str, Any]) -> Any:
    """Return an environment in another form, or ``None`` if its config does not have it."""
    try:
        return piase_gym.parallel_env(task, view="both", **form)
    except ConfigError:
        return None


@pytest.mark.parametrize("task", tasks())
def test_views_say_the_same_in_every_form(task: str) -> None:
    envs = [(form, env) for form in FORMS if (env := made(task, form)) is not None]
    forms = [form for form, _ in envs]
    world = task.split("/")[1].split("-")[0]
    commons = "Cleanup" in task or "Harvest" in task
    assert ({"recall": "map"} in forms) == (commons or world != "SocialDilemma")
    on_grid = commons or world == "GridWorld"
    assert ({"frame": "agent"} in forms) == on_grid
    for _form, env in envs:
        dice = np.random.default_rng(0)
        shown, infos = env.reset(seed=2)
        for _ in range(STEPS):
            for name, view in shown.items():
                assert env.observation_space(name).contains(view)
                facts = env.facts(name)
                assert piase_gym.parse_text(task, view["text"], env.config) == facts
                np.testing.assert_array_equal(env.world.vector(facts), view["vector"])
            if not env.agents:
                break
            masks = {name: infos[name]["action_mask"].nonzero()[0] for name in env.agents}
            shown, *_, infos = env.step({n: int(dice.choice(m)) for n, m in masks.items()})
        env.close()


@pytest.mark.slow
def test_a_world_that_remembers_conforms() -> None:
    """Those whose agents talk, and the commons, remember in their own tests of the kit."""
    check_world("WordCraft", checks=CONTRACT, recall="map", depth=2, max_steps=30)


def remembered(env: Any, lines: list[str], seed: int = 0) -> list[str]:
    """Return what the first agent remembers after each of some commands, in words."""
    shown, _ = env.reset(seed=seed)
    (name,) = env.agents
    found = []
    for line in lines:
        shown, *_ = env.step({name: line})
        told = [t for t in shown[name]["text"].split("\n") if t.startswith("Remembered")]
        found.append(" | ".join(told))
    return found


LINE = {0: ["chair"], 3: ["keyboard", "lamp"]}


def test_what_was_seen_is_told_with_when_and_where() -> None:
    fields: dict[str, Any] = {"backend": "mock", "line": LINE, "width": 6, "actions": "text"}
    env = piase_gym.parallel_env("ObjectSearch", recall="map", **fields)
    lines = ["forward", "forward", "forward", "forward", "backward", "backward"]
    assert remembered(env, lines) == [
        "Remembered, 1 step ago: chair at 0.",
        "Remembered, 2 steps ago: chair at 0.",
        "Remembered, 3 steps ago: chair at 0.",
        "Remembered, 1 step ago: keyboard at 3; lamp at 3. | Remembered, 4 steps ago: chair at 0.",
        "Remembered, 5 steps ago: chair at 0.",
        "Remembered, 1 step ago: keyboard at 3; lamp at 3. | Remembered, 6 steps ago: chair at 0.",
    ]
    facts = env.facts("agent_0")
    assert facts.remembered == (("keyboard", 3, 1), ("lamp", 3, 1), ("chair", 0, 6))
    bare = piase_gym.parallel_env("ObjectSearch", **fields)
    assert bare.reset(seed=0)[0]["agent_0"]["text"].startswith("You are")
    assert bare.facts("agent_0").remembered is None
    rows = env.world.vector(facts)[-MOST * CODE :].reshape(MOST, CODE)
    assert rows[:4, 0].tolist() == [2, 2, 7, 0]
    assert rows[0, -4:].tolist() == [1, 3, 0, 0]
    assert rows[2, -4:].tolist() == [1, 0, 0, 0]
    snapshot, digest = env.snapshot(), env.digest()
    env.step({"agent_0": "forward"})
    other = piase_gym.parallel_env("ObjectSearch", recall="map", **fields)
    other.reset(seed=9)
    assert other.facts("agent_0").remembered == ()
    other.restore(snapshot)
    assert (other.digest(), other.facts("agent_0")) == (digest, facts)
    other.step({"agent_0": "forward"})
    assert other.facts("agent_0") == env.facts("agent_0")
    env.reset(seed=0)
    assert env.facts("agent_0").remembered == ()
    for known in (None, [], [[["chair", 0, 99]]], [[["chair", 0, -1]]], [[[5, 0, 1]]]):
        state = {**snapshot["state"], "remembered": {"steps": 6, "known": known}}
        with pytest.raises(SnapshotError, match="remember"):
            other.restore({**snapshot, "state": state})
    with pytest.raises(EnvelopeError, match="recall=None has other spaces than recall='map'"):
        env.reconfigure({"recall": None})


def test_homes_crafts_and_queries_are_remembered() -> None:
    env = piase_gym.parallel_env("Household", recall="map", actions="text")
    env.reset(seed=3)
    first, second = [place.name for place in env.facts("agent_0").places[:2]]
    told = remembered(env, [f"go to {first}", f"go to {second}", "look"], 3)
    assert told[1:] == [f"Remembered, {n} step{'s' * (n > 1)} ago: {first}." for n in (1, 2)]

    env = piase_gym.parallel_env("SqlQuery", recall="map", actions="text")
    told = remembered(env, ["SELECT 1 AS a, 2 AS b", "SELECT nonsense", "SELECT ';:'", "wait"])
    assert told[1] == "Remembered, 1 step ago: SELECT 1 AS a, 2 AS b: 1 row of a, b."
    assert told[2].startswith("Remembered, 1 step ago: SELECT nonsense: failed (syntax). | ")
    assert env.facts("agent_0").remembered[0].name == "SELECT nonsense"

    env = piase_gym.parallel_env("WordCraft", recall="map", depth=2, mixes=9, actions="text")
    env.reset(seed=3)
    one, two = [thing for thing in env.facts("agent_0").table if thing][:2]
    told = remembered(env, [f"combine {one} and {one}"] + [f"combine {one} and {two}"] * 2, 3)
    pair = f"{one} and {one}: "
    assert any(line.split(" ago: ")[-1].startswith(pair) for line in told[1:])


def test_texts_that_nobody_writes_are_refused() -> None:
    env = piase_gym.parallel_env("ObjectSearch", backend="mock", line=LINE, recall="map")
    text = env.reset(seed=0)[0]["agent_0"]["text"]
    for line in (
        "Remembered, 0 steps ago: chair at 0.",
        "Remembered, 255 steps ago: chair at 0.",
        "Remembered, 2 steps ago: chair at 0",
        "Remembered, 2 steps ago: chair at (0, x).",
        "Remembered, 2 steps ago: lamp at 3; chair at 0.",
        "Remembered, 2 steps ago: lamp at 3.\nRemembered, 1 step ago: chair at 0.",
        "Remembered, 2 steps ago: lamp at 3.\nHint: late",
    ):
        with pytest.raises(TextParseError):
            piase_gym.parse_text("ObjectSearch", f"{text}\n{line}", env.config)


@pytest.mark.parametrize(("world", "fields"), [
    ("SocialDilemma", {}),
    ("GridWorld", {"observe": "grid"}),
    ("WordCraft", {"recall": "all"}),
])  # fmt: skip
def test_where_everything_is_seen_there_is_no_recall(world: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="recall"):
        piase_gym.parallel_env(world, **{"recall": "map", **fields})


def test_apples_and_waste_are_remembered_until_they_are_in_view_again() -> None:
    fields: dict[str, Any] = {"game": "cleanup", "agents": 2, "timeout": 3, "waste_chance": 0.0}
    env = piase_gym.parallel_env("SocialDilemma", recall="map", actions="text", **fields)
    env.reset(seed=3)
    record, side, codes = env.world.states[0], env.world.side, {"apple": 4, "waste": 6}
    expected: dict[tuple[str, tuple[int, int]], int] = {}
    gone = 0
    lines = ("west", "west", "south", "clean", "east", "east", "north", "zap", "west", "clean")
    for step in range(60):
        x, y, turn = (int(record[name][0]) for name in ("x", "y", "heading"))
        dx, dy = ((0, -1), (1, 0), (0, 1), (-1, 0))[turn]
        other = None if record["out"][1] else (int(record["x"][1]), int(record["y"][1]))
        window = [(n // 7, n % 7 - 3) for n in range(49 * (not record["out"][0]))]
        for place in [(x + n * dx - k * dy, y + n * dy + k * dx) for n, k in window]:
            if not all(0 <= at < 16 for at in place):
                continue
            hidden = place in ((x, y), other)
            for kind, code in codes.items():
                if record["cells"][place[1] * side + place[0]] == code and not hidden:
                    expected[kind, place] = step
                elif not hidden or kind == "apple":
                    gone += expected.pop((kind, place), None) is not None
        known = [m for m in env.facts("agent_0").remembered if m.name in codes]
        old = {key: step - seen for key, seen in expected.items() if seen < step}
        assert all(old[memory.name, memory.place] == memory.ago for memory in known)
        assert len(known) >= min(15, len(old))
        env.step({name: lines[step * (k + 3) % 10] for k, name in enumerate(env.agents)})
    assert gone
    assert len(expected) > 3
