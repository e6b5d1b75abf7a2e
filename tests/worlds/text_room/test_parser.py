"""What people type is understood, and what is not understood is explained."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import testing
from piase_gym.core.commands import MAX_LINE, Command, InvalidAction
from piase_gym.worlds.text_room.world import TextRoom
from tests.worlds.text_room.helpers import make, say, story

GIVEN = story(
    rooms={
        "hall": {
            "exits": {"east": "den"},
            "objects": ["grandfather_clock", "old_box", "red_key", "blue_key"],
        },
        "den": {"exits": {"west": "hall"}},
    },
    object_details={
        "old_box": {"is_container": True, "contains": ["gem"]},
        "red_key": {"can_be_taken": True},
        "blue_key": {"can_be_taken": True},
        "gem": {"can_be_taken": True},
    },
    agent_setup=[{"agent_id": name, "start_room": "hall"} for name in ("ann", "bob")],
)


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("n", "go north"),
        ("North!", "go north"),
        ("walk to the south", "go south"),
        ("head up.", "go up"),
        ("x the clock", "look grandfather clock"),
        ("look at grandfather clock", "look grandfather clock"),
        ("EXAMINE  THE   OLD BOX", "look old box"),
        ("look", "look"),
        ("look around", "look"),
        ("pick up the red key", "take red key"),
        ("grab Red_Key", "take red key"),
        ("take the gem out of the box", "take gem from old box"),
        ("put down blue key", "drop blue key"),
        ("insert the red key into the box", "put red key in old box"),
        ("place gem on the clock", "put gem in grandfather clock"),
        ("shut the box", "close old box"),
        ("unlock box with red key", "unlock old box with red key"),
        ("unlock the box", "unlock old box"),
        ("use red key on box", "use red key on old box"),
        ("push the clock", "use grandfather clock"),
        ("look behind the clock", "search grandfather clock"),
        ("inv", "inventory"),
        ("I", "inventory"),
        ("z", "wait"),
        ("say Hello, Bob! ", "say Hello, Bob!"),
        ("tell bob: come here", "tell bob come here"),
        ("give the gem to Bob", "give gem to bob"),
        ("hand gem to bob.", "give gem to bob"),
    ],
)
def test_a_line_is_understood(line: str, written: str) -> None:
    env = make(GIVEN)
    say(env, "open box")
    found = env.world.read(0, line)
    assert isinstance(found, Command), found
    assert env.world.write(found) == written


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "empty"),
        ("  .  ", "empty"),
        ("dance", "I do not know how to 'dance'"),
        ("opne box", "did you mean 'open'"),
        ("take", "more words: take <item_name>"),
        ("take key", "which do you mean, red key or blue key"),
        ("go sideways", "no direction"),
        ("go", "more words"),
        ("put red key", "more words: put <item_name> in"),
        ("give red key to eve", "no agent 'eve'"),
        ("tell bob", "more words"),
        ("inventory now", "did not understand 'now'"),
        (None, "not NoneType"),
        (42, "not int"),
        ("возьми ключ", "I do not know how to"),
        ("x" * (MAX_LINE + 1), "at most 1000"),
        ("take " + "x" * 10_000_000, "at most 1000"),
    ],
)
def test_what_is_not_understood_is_explained(line: Any, told: str) -> None:
    env = make(GIVEN)
    info = say(env, line)
    assert info["outcome"] in ("unparsable", "too_long")
    assert told in info["feedback"]
    assert len(info["feedback"]) <= 600


@pytest.mark.parametrize("line", ["say", "give", "say hello", "give flashlight to PiaAgent_001"])
def test_who_is_alone_has_nobody_to_speak_to(line: str) -> None:
    env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text")
    env.reset(seed=0)
    assert isinstance(env.world.read(0, line), InvalidAction)
    info = env.step({env.agents[0]: line})[-1][env.possible_agents[0]]
    assert info["outcome"] == "unparsable"
    assert f"{line.split()[0]!r}; allowed: 'look'" in info["feedback"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("take gem", "You see no such thing here; you see or hold: red key, blue key, old box,"),
        ("take the dragon", "You see no such thing here; you see or hold: red key"),
        ("take 鍵", "You see no such thing here"),
        ("take clock", "The grandfather clock cannot be taken."),
        ("go west", "ways out: east"),
        ("drop red key", "You do not carry the red key."),
        ("put red key in clock", "You do not carry the red key."),
        ("close box", "The old box is closed already."),
        ("read clock", "There is nothing to read on the grandfather clock."),
    ],
)
def test_what_is_illegal_is_explained(line: str, told: str) -> None:
    info = say(make(GIVEN), line)
    assert info["outcome"] == "illegal"
    assert told in info["feedback"]


def test_what_was_not_found_is_answered_as_a_word_that_names_nothing() -> None:
    def answers(thing: str) -> list[Any]:
        env = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text", view="text")
        env.reset(seed=0)
        shown = []
        for line in ("take {}", "use {} on desk", "unlock desk with the {}", "look at {}", "x {}"):
            given = {env.agents[0]: line.format(thing)}
            parts = [next(iter(part.values())) for part in env.step(given)]
            shown.append(repr(parts))
        shown.append(repr(env.world.decode(0, Command("take", {"item_name": thing}))))
        known = "Your goal: get the old document."
        return [line.replace(known, "").replace(thing.replace("_", " "), "?") for line in shown]

    assert "illegal" in answers("zebra")[0]
    for unseen in ("key", "brass key", "document", "clock", "old_document"):
        assert answers(unseen) == answers("zebra")


def test_an_index_out_of_sight_is_answered_as_one_that_stands_for_nothing() -> None:
    story_of_one = make(GIVEN, envelope={"items": 9, "fixtures": 4})
    world = story_of_one.world
    rows = [world.command(0, k) for k in range(world.num_actions)]
    empty = next(k for k, row in enumerate(rows) if isinstance(row, InvalidAction))
    unseen = rows.index(Command("take", {"item_name": "gem"}))
    found = [world.decode(0, k) for k in (empty, unseen)]
    assert found[0] == found[1] == world.decode(0, Command("take", {"item_name": "gem"}))


def test_the_kit_finds_a_room_that_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> testing.Report:
        return testing.run_checks("piase/TextRoom-LostKey-v3", checks=["secrets_are_kept"])

    assert check().ok
    monkeypatch.setattr(TextRoom, "_names_near", lambda self, _agent: list(self.plot.objects))
    assert "learns from" in check().failures[0].detail


WORLD = make(GIVEN).world
WORDS = ["take", "put", "in", "on", "the", "red", "key", "gem", "to", "bob", "look", "use", "say"]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)))
def test_nothing_that_is_typed_raises(line: str) -> None:
    found = WORLD.read(0, line)
    if isinstance(found, InvalidAction):
        assert found.message
    else:
        assert WORLD.read(0, WORLD.write(found)) == found


def test_names_may_have_prepositions_in_them() -> None:
    odd = story(
        rooms={"hall": {"objects": ["man in the moon", "box with a lid", "key on a ring"]}},
        object_details={
            "box with a lid": {"is_container": True, "is_open": True},
            "man in the moon": {"can_be_taken": True},
            "key on a ring": {"can_be_taken": True},
        },
        win_conditions=[{"type": "item_in_inventory", "item_name": "key on a ring"}],
    )
    world = make(odd).world
    for line, written in (
        ("put man in the moon in box with a lid", "put man in the moon in box with a lid"),
        ("take the man in the moon", "take man in the moon"),
        ("use key on a ring on the box with a lid", "use key on a ring on box with a lid"),
        ("unlock box with a lid with key on a ring", "unlock box with a lid with key on a ring"),
    ):
        found = world.read(0, line)
        assert isinstance(found, Command), found
        assert world.write(found) == written


@pytest.mark.parametrize("name", ["agent_0", "agent-0", "Agent_0"])
def test_of_agents_with_similar_names_the_one_that_is_written_is_meant(name: str) -> None:
    ids = ("me", "agent_0", "agent-0", "Agent_0")
    env = piase_gym.parallel_env("TextRoom", agents=4, agent_ids=ids)
    env.reset(seed=0)
    command = env.world.read(0, f"tell {name} hello")
    assert command == Command("tell", {"agent_id": name, "message": "hello"})
