"""Which things WordCraft's script picks for what it is told, one case at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.worlds.word_craft.facts import WordCraftFacts
from piase_gym.worlds.word_craft.players.scripted import WordCraftScript

WAIT = 9


def told(*table: str | None, **more: Any) -> WordCraftFacts:
    """Return the facts of an agent with some things on its table."""
    facts: dict[str, Any] = {
        "agent": "agent_0",
        "messages": (),
        "hint": None,
        "goal": "house",
        "table": table,
        "holding": None,
        "combined": None,
        "made": (),
        "mixes_left": 5,
        "steps_left": 20,
        "others": (),
    }
    return WordCraftFacts(**{**facts, **more})


def picks(*rows: WordCraftFacts) -> list[int]:
    """Return the actions of one script that is told one thing after the other."""
    world: Any = SimpleNamespace(num_actions=WAIT + 1)
    script, done = WordCraftScript(world), []
    for row in rows:
        world.facts = lambda _, row=row: row
        done.append(script.act(0))
    return done


def tried(*pairs: tuple[str, str], start: int = 20) -> list[WordCraftFacts]:
    """Return what is told after each of some pairs, of a table of three things."""
    return [
        told("log", "mud", "saw", combined=pair, steps_left=start - k)
        for k, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        (told("log", "mud"), 1),  # what came last
        (told("log", None, "mud", None), 2),
        (told("log", "mud", holding="mud"), 0),
        (told("log", "mud", holding="log"), 1),
        (told("log", holding="log"), 0),
        (told("log", "mud", mixes_left=0), WAIT),
        (told(None, None), WAIT),
        (told(), WAIT),
        (told("log", "mud", holding="axe"), 1),  # which is gone from the table
    ],
)
def test_new_things_are_tried_first_and_with_another_one(
    facts: WordCraftFacts, action: int
) -> None:
    assert picks(facts) == [action]


def test_what_was_tried_is_not_tried_again() -> None:
    pairs = [("saw", "mud"), ("log", "saw"), ("log", "mud")]
    assert picks(told("log", "mud", "saw"), *tried(*pairs)) == [2, 2, 1, 2]
    assert picks(*tried(*pairs, ("saw", "saw"), ("mud", "mud")))[-2:] == [1, 0]
    everything = tried(*pairs, ("saw", "saw"), ("mud", "mud"), ("log", "log"))
    assert picks(*everything)[-1] == 2  # all was tried: it goes on


def test_a_thing_in_hand_is_combined_with_what_it_was_not_tried_with() -> None:
    before = tried(("saw", "mud"))
    assert picks(*before, told("log", "mud", "saw", holding="saw", steps_left=19))[-1] == 0
    assert picks(*before, told("log", "mud", "saw", holding="mud", steps_left=19))[-1] == 0
    all_of_saw = tried(("saw", "mud"), ("saw", "log"))
    assert picks(*all_of_saw, told("log", "mud", "saw", holding="saw", steps_left=18))[-1] == 2


@pytest.mark.parametrize(
    ("fields", "again"),
    [
        ({"steps_left": 19}, False),
        ({"steps_left": 20}, False),
        ({"steps_left": 21}, True),
        ({"goal": "boat"}, True),
    ],
)
def test_another_episode_begins_with_nothing_tried(fields: dict[str, Any], again: bool) -> None:
    first = told("log", "mud", combined=("log", "mud"))
    held: dict[str, Any] = {"holding": "mud", "steps_left": 20, **fields}
    assert picks(first, told("log", "mud", **held))[-1] == (0 if again else 1)
