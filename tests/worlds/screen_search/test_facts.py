"""What an agent of ScreenSearch sees: in hundredths, as prose and back, and as a vector."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from piase_gym.core.mailbox import Message
from piase_gym.core.surroundings import Thing
from piase_gym.core.text_encoding import hash_text
from piase_gym.errors import TextParseError
from piase_gym.worlds.describing import Description, SeenObject
from piase_gym.worlds.screen_search.config import ScreenSearchConfig
from piase_gym.worlds.screen_search.facts import (
    ScreenSearchFacts,
    Sighting,
    parse,
    sightings,
    surroundings_of,
    to_text,
    vector_box,
    vector_of,
)
from piase_gym.worlds.screen_search.manual import manual
from piase_gym.worlds.screen_search.world import ScreenSearch

CONFIG = ScreenSearchConfig.model_validate({"agents": 2, "window": "Demo"})
NAMES = ("agent_0", "agent_1")
MINE = Sighting("tin mug", 25, 50, 10, 40)
FACTS = ScreenSearchFacts(
    agent="agent_1",
    messages=(Message("agent_0", "agent_1", "look"),),
    hint="to the left",
    caption="A desk\nwith a mug.",
    objects=(MINE, Sighting("pen", 100, 0, 1, 2)),
    found=("pen", "tin mug"),
    wanted=("book",),
    feedback="You pressed w.",
)
TEXT = r"""You are agent_1. You see: A desk\u{a}with a mug.
Object tin mug: 25% across and 50% down, 10% wide and 40% high.
Object pen: 100% across and 0% down, 1% wide and 2% high.
Found so far: pen, tin mug.
Still to be found: book.
Result: You pressed w.
agent_0 tells agent_1: look
Hint: to the left"""


def test_boxes_become_hundredths_of_the_picture() -> None:
    """A box of 20 x 40 pixels whose middle is at (50, 60), in a picture of 200 x 100."""
    described = Description((SeenObject("mug", (40, 40, 60, 80)),), "A mug.")
    assert sightings(described, 100, 200) == (Sighting("mug", 25, 60, 10, 40),)


def test_facts_are_written_each_once_and_read_back() -> None:
    assert to_text(FACTS) == TEXT
    assert parse(to_text(FACTS), CONFIG) == FACTS


def test_what_there_is_not_has_no_line() -> None:
    bare = ScreenSearchFacts(
        agent="agent_0", messages=(), hint=None, caption="", objects=(), found=(), wanted=()
    )
    assert to_text(bare) == "You are agent_0. You see: "
    assert parse(to_text(bare), CONFIG) == bare


@pytest.mark.parametrize(
    "numbers", [(101, 0, 0, 0), (0, 101, 0, 0), (0, 0, 101, 0), (0, 0, 0, 101)]
)
def test_no_object_is_beyond_the_picture(numbers: tuple[int, int, int, int]) -> None:
    facts = replace(FACTS, objects=(Sighting("pen", *numbers),))
    with pytest.raises(TextParseError, match="a picture has 100%"):
        parse(to_text(facts), CONFIG)


def test_a_vector_has_each_fact_in_its_place() -> None:
    row = vector_of(FACTS, NAMES)
    assert row in vector_box(2)
    code = {words: hash_text(words).astype(np.float32) for words in ("tin mug", "pen", "book")}
    assert row[0] == 1
    assert row[1:6] == pytest.approx([1, 0.25, 0.5, 0.1, 0.4])
    assert (row[6:14] == code["tin mug"]).all()
    assert row[14:19] == pytest.approx([1, 1, 0, 0.01, 0.02])
    assert (row[19:27] == code["pen"]).all()
    names, letters = 2 * 64 * 8, 2 * 10
    end = len(row) - 24
    found = row[end - letters - names : end - letters].reshape(2, 64, 8)
    assert (found[0, 0] == code["pen"]).all()
    assert (found[0, 1] == code["tin mug"]).all()
    assert (found[1, 0] == code["book"]).all()
    assert not found[0, 2:].any()
    assert not found[1, 1:].any()
    assert not row[27 : end - letters - names].any()
    heard = row[end - letters : end]
    assert heard[:2].tolist() == [1, 0]
    assert (heard[2:10] == hash_text("look")).all()
    assert not heard[10:].any()
    for k, words in enumerate((FACTS.caption, FACTS.feedback, FACTS.hint)):
        assert (row[end + 8 * k : end + 8 * k + 8] == hash_text(words)).all()


def test_the_documents_are_told_things_and_perceptions() -> None:
    told = surroundings_of(FACTS)
    mug = Thing("tin mug", "object", {"x": 25, "y": 50, "width": 10, "height": 40})
    assert told.objects == (
        mug,
        Thing("pen", "object", {"x": 100, "y": 0, "width": 1, "height": 2}),
    )
    assert told.perceptions == {
        "caption": FACTS.caption,
        "objects": [
            {"name": "tin mug", "x": 25, "y": 50, "width": 10, "height": 40},
            {"name": "pen", "x": 100, "y": 0, "width": 1, "height": 2},
        ],
        "found": ["pen", "tin mug"],
        "wanted": ["book"],
        "feedback": "You pressed w.",
    }


def test_each_new_thing_is_paid_to_who_sees_it_first() -> None:
    config = CONFIG.model_copy(update={"rewards": CONFIG.rewards.model_copy(update={"found": 0.3})})
    seen = [(MINE, MINE._replace(name="pen"), MINE), (MINE._replace(name="pen"), MINE)]
    state = SimpleNamespace(objects=seen, own=[[], []], found=["cup"])
    world: Any = SimpleNamespace(config=config, state_of=state, alive=[True, True], _order=[1, 0])
    world.window_of = lambda agent: agent
    rewards = [1.0, 1.0]
    notes: dict[int, Any] = {}
    ScreenSearch._note_found(world, rewards, notes)
    assert rewards == [1.0, pytest.approx(1.6)]
    assert notes == {1: {"found": ["pen", "tin mug"]}}
    assert state.found == ["cup", "pen", "tin mug"]
    assert state.own == [["tin mug", "pen"], ["pen", "tin mug"]]


@pytest.mark.parametrize("objects", [(), ("book",)])
def test_the_prompt_says_when_an_episode_ends(objects: tuple[str, ...]) -> None:
    told = manual(CONFIG.changed({"objects": objects, "max_steps": 7})).end
    when = "when all was found, " if objects else ""
    assert told == f"An episode ends {when}after 7 steps, or when the window is closed."
