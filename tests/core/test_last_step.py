"""Observations open with what the last command did; text actions are read in models' forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

import piase_gym
from piase_gym.core.last_step import LINE_LENGTH, LastStep, read_last_steps, without_last_step
from piase_gym.errors import SnapshotError

LINES = [
    (LastStep("stay", "ok", 0.0), "Last step: stay; ok; reward 0.\n"),
    (
        LastStep("move up", "failed", -1.0, (), "A wall is in the way."),
        "Last step: move up; failed; reward -1. A wall is in the way.\n",
    ),
    (
        LastStep("interact", "ok", 1.25, ("door_opened", "won")),
        "Last step: interact; ok; reward 1.25; milestones: door opened, won.\n",
    ),
    (
        LastStep("", "unparsable", -0.5, ("seen",), "What?"),
        "Last step: no command; unparsable; reward -0.5; milestone: seen. What?\n",
    ),
    (
        LastStep("say a\nb é", "ok", 1e-9),
        "Last step: say a\\u{a}b \\u{e9}; ok; reward 1e-09.\n",
    ),
]


@pytest.mark.parametrize(("step", "line"), LINES)
def test_the_line_of_a_step(step: LastStep, line: str) -> None:
    assert step.line == line
    assert without_last_step(line + "You are here.\nMore.") == "You are here.\nMore."


def test_what_is_long_is_cut_and_other_texts_are_left_alone() -> None:
    long = LastStep("é" * 500, "timeout", -1 / 3, ("m" * 300,), "鍵" * 500).line
    assert len(long) <= LINE_LENGTH
    assert long.count("...") == 3
    assert long.endswith("...\n")
    for text in ("You are here.", "Last step: x", "Last step: stay; fine; reward 0.\nHere.", ""):
        assert without_last_step(text) == text


def test_what_just_fits_is_not_cut() -> None:
    line = LastStep("c" * 100, "ok", 0.0, ("m" * 100,), "r" * 600).line
    assert line == (f"Last step: {'c' * 100}; ok; reward 0; milestone: {'m' * 100}. {'r' * 600}.\n")
    line = LastStep("c" * 101, "ok", 0.0, (), "r" * 601).line
    assert line == f"Last step: {'c' * 97}...; ok; reward 0. {'r' * 597}...\n"
    assert LastStep("", "illegal", 0.0).line == "Last step: nothing done; illegal; reward 0.\n"


def test_last_steps_are_read_back_as_they_were_written() -> None:
    step = LastStep("go", "ok", 0.5, ("seen",), "Why.")
    assert read_last_steps([None, step.row], 2) == [None, step]
    good = ["go", "ok", 0.5, ["seen"], "Why."]
    assert step.row == good
    for place, value in ((0, 3), (1, "fine"), (2, 1), (2, "0.5"), (3, [1]), (3, None), (4, None)):
        row = [*good[:place], value, *good[place + 1 :]]
        with pytest.raises(SnapshotError, match="last_steps are a list with null or"):
            read_last_steps([row], 1)


PLAYED: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    (
        "GridWorld",
        {"start_pos": (0, 0), "goal_pos": (2, 0)},
        ["move up", "move right", "jump", "move right"],
        [
            "Last step: move north; failed; reward -1. The edge of the grid is in the way.",
            "Last step: move east; ok; reward -0.1.",
            "Last step: no command; unparsable; reward -1. I do not know how to 'jump'; allowed: "
            "'move', 'stay', 'interact'.",
            "Last step: move east; ok; reward 10; milestone: goal reached.",
        ],
    ),
    (
        "TextRoom",
        {"scenario": "lost_key"},
        ["wait", "go up", "go north"],
        [
            "Last step: wait; ok; reward -0.1.",
            "Last step: go up; illegal; reward -1.1.",
            "Last step: go north; ok; reward -0.1.",
        ],
    ),
]


@pytest.mark.parametrize(("world", "fields", "commands", "lines"), PLAYED)
def test_each_observation_opens_with_the_step(
    world: str, fields: dict[str, Any], commands: list[str], lines: list[str]
) -> None:
    env = piase_gym.parallel_env(world, actions="text", view="text", **fields)
    lazy = piase_gym.parallel_env(world, actions="text", texts="lazy", **fields)
    me = env.possible_agents[0]
    first = env.reset(seed=3)[0][me]
    lazy.reset(seed=3)
    assert first == env.world.text(env.facts(me))
    kept = []
    for command, line in zip(commands, lines, strict=True):
        shown, rewards, _, _, infos = env.step({me: command})
        kept.append((lazy.step({me: command})[0][me], shown[me]))
        head, _, text = shown[me].partition("\n")
        assert head == line
        assert text == env.world.text(env.facts(me))
        assert f"reward {rewards[me]:g}" in head
        assert f"; {infos[me]['outcome']}; " in head
        assert piase_gym.parse_text(world, shown[me], env.world.config) == env.facts(me)
    assert [views["text"] for views, _ in kept] == [text for _, text in kept]


def test_a_step_is_part_of_a_snapshot_but_not_of_the_state() -> None:
    env = piase_gym.parallel_env("GridWorld", agents=2, view="text", layout="door_key")
    env.reset(seed=1)
    env.step({"agent_0": 0, "agent_1": 4})
    digest, told = env.world.digest(), [env.world.observation_text(i) for i in range(2)]
    snapshot = json.loads(json.dumps(env.snapshot()))
    other = piase_gym.parallel_env("GridWorld", agents=2, view="text", layout="door_key")
    other.restore(snapshot)
    assert [other.world.observation_text(i) for i in range(2)] == told
    assert all(text.startswith("Last step: ") for text in told)
    assert other.world.digest() == digest
    env.reset(seed=1)
    assert not env.world.observation_text(0).startswith("Last step: ")
    for wrong in (None, [], [None], [None, 3], [None, ["stay", "fine", 0.0, [], ""]]):
        with pytest.raises(SnapshotError, match="last_steps"):
            other.restore({**snapshot, "last_steps": wrong})
    with pytest.raises(SnapshotError, match="lacks last_steps"):
        other.restore({k: v for k, v in snapshot.items() if k != "last_steps"})
    assert [other.world.observation_text(i) for i in range(2)] == told


REPLIES = [
    "{0}",
    "  {0}.  ",
    "`{0}`",
    '"{0}"',
    "- {0}",
    "I look around first.\n\nAction: {0}",
    "<think>{1}</think>\n{0}",
    "```\n{0}\n```",
    '{{"reason": "why not", "action": "{0}"}}',
    "<action>{0}</action>",
    "Action: {1}\nNo, wait.\nAction: {0}",
]
COMMANDS = [
    ("GridWorld", {}, "stay", "move left"),
    ("TextRoom", {"scenario": "lost_key"}, "go north", "wait"),
    ("SocialDilemma", {}, "defect", "cooperate"),
    ("PhysicsPlayground", {}, "forward", "wait"),
    ("Household", {}, "look", "inventory"),
    ("WordCraft", {}, "wait", "combine 1 with 2"),
    ("ObjectSearch", {}, "stay", "look_left"),
]


@pytest.mark.parametrize(("world", "fields", "command", "other"), COMMANDS)
def test_answers_as_models_give_them(
    world: str, fields: dict[str, Any], command: str, other: str
) -> None:
    if world == "PhysicsPlayground":
        pytest.importorskip("pybullet")
    env = piase_gym.parallel_env(world, actions="text", view="text", **fields)
    env.reset(seed=0)
    read, bare = env.world.read_reply, env.world.read(0, command)
    assert isinstance(bare, piase_gym.core.commands.Command)
    for form in REPLIES:
        assert read(0, form.format(command, other)) == bare, form
    for reply in (f"{command}\n{other}", "Well.\nI do not know.", "", 3, None, "x" * 30_000):
        found = read(0, reply)
        assert isinstance(found, piase_gym.core.commands.InvalidAction), reply
        assert found.outcome in ("unparsable", "too_long")
    assert read(0, "x " * 5000 + f"\nAction: {command}") == bare


def test_strict_environments_take_bare_commands_alone() -> None:
    reply = "Action: stay"
    for strict, outcome in ((False, "ok"), (True, "unparsable")):
        env = piase_gym.parallel_env("GridWorld", actions="text", strict=strict)
        env.reset(seed=0)
        assert env.step({"agent_0": reply})[4]["agent_0"]["outcome"] == outcome
        single = piase_gym.gym_env("GridWorld", actions="text", strict=strict)
        single.reset(seed=0)
        assert single.step(reply)[4]["outcome"] == outcome


def test_sql_of_several_lines_is_one_command() -> None:
    env = piase_gym.parallel_env("SqlQuery", actions="text", view="text")
    env.reset(seed=0)
    sql = "SELECT 1\nUNION\nSELECT 2"
    found = env.world.read_reply(0, sql)
    assert found == env.world.read(0, sql)
    assert found.parameters["sql"] == sql
    assert env.world.read_reply(0, f"Let me see.\n```sql\n{sql}\n```").parameters["sql"] == sql


def test_a_reward_of_minus_zero_is_told_as_nothing() -> None:
    env = piase_gym.parallel_env("GridWorld", view="text", actions="text", rewards={"move": -0.0})
    env.reset(seed=0)
    observations, *_ = env.step(dict.fromkeys(env.agents, "move right"))
    (text,) = observations.values()
    assert text.startswith("Last step: move east; ok; reward 0.\n")
