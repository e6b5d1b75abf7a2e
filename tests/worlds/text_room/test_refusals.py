"""Why TextRoom refuses a command, in a sentence that helps."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.envs.parallel import WorldParallelEnv
from tests.worlds.text_room.helpers import make, say, story

HOUSE = story(
    rooms={
        "hall": {"description": "a hall.", "exits": {"east": "den"}, "objects": ["box", "rug"]},
        "den": {"description": "a den.", "exits": {"west": "hall"}, "objects": []},
    },
    object_details={
        "box": {"is_container": True, "contains": ["gem"], "can_be_taken": True},
        "gem": {"can_be_taken": True},
        "rug": {"can_be_taken": False},
    },
    win_conditions=[{"type": "agent_in_room", "room": "den"}],
)
UNSEEN = "You see no such thing here; you see or hold: box, rug."


@pytest.fixture
def env() -> WorldParallelEnv:
    """A hall with a closed box in hand and a rug on the floor."""
    found = make(HOUSE)
    assert answer(found, "take box") == ("You take the box.", "ok")
    return found


def answer(env: Any, line: str) -> tuple[str, str]:
    """Return what an agent is told of a command, and its outcome."""
    info = say(env, line)
    return env.world.state_of.feedback[0], str(info["outcome"])


@pytest.mark.parametrize(
    ("line", "told", "outcome"),
    [
        ("go west", "You cannot go west from here; ways out: east.", "illegal"),
        ("take rug", "The rug cannot be taken.", "illegal"),
        ("take box", "You carry the box already.", "illegal"),
        ("put box in box", "You cannot put the box in itself.", "illegal"),
        ("put box in rug", "The rug is no container.", "illegal"),
        ("use box on box", "You cannot use the box on itself.", "illegal"),
        ("put rug in box", "You do not carry the rug.", "illegal"),
        ("drop rug", "You do not carry the rug.", "illegal"),
        ("put gem in rug", UNSEEN, "illegal"),  # the gem is in the closed box
        ("drop gem", UNSEEN, "illegal"),
        ("read box", "There is nothing to read on the box.", "illegal"),
        ("open rug", "The rug does not open.", "failed"),
        ("use box on rug", "Nothing happens when you use the box on the rug.", "failed"),
    ],
)
def test_a_refusal_says_why(env: WorldParallelEnv, line: str, told: str, outcome: str) -> None:
    assert answer(env, line) == (told, outcome)
