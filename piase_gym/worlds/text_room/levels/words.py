"""The words of generated quests. The config determines which of them occur."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import NamedTuple

from piase_gym.worlds.texts.wording import article, spaced

MOST_ROOMS = 16
MOST_DEPTH = 8
MOST_DISTRACTORS = 16
LONGEST_ROOM = 400
"""The maximum length of a room's description, with its name and exits."""
LONGEST_OBJECT = 160
"""The maximum length of a line about an object."""


class Theme(NamedTuple):
    """The words of one kind of place.

    Attributes:
        rooms: Rooms, and how they look.
        chests: Fixtures that open, and hide or hold something.
        doors: Doors.
        treasures: Items that may be the goal, or distractors.
    """

    rooms: dict[str, str]
    chests: tuple[str, ...]
    doors: tuple[str, ...]
    treasures: tuple[str, ...]


KEYS = "brass iron silver copper golden glass bone steel".split()
"""The words that keys are named after: what they are made of."""
MATERIALS = {"golden": "gold"}
"""The materials of keys, where the word differs from the one in the key's name."""


def _read_themes() -> dict[str, Theme]:
    """Read all themes from the file next to this one."""
    found: dict[str, Theme] = {}
    text = files(__package__).joinpath("themes.json").read_text("utf-8")
    for name, theme in json.loads(text).items():
        rooms = theme.pop("rooms")
        found[name] = Theme(rooms, **{kind: tuple(row.split()) for kind, row in theme.items()})
    return found


THEMES = _read_themes()


class QuestNames(NamedTuple):
    """The names that occur in every quest of a config.

    Attributes:
        rooms: Rooms.
        treasures: Items, one of which is the goal.
        keys: One for each obstacle; those that are not needed are distractors.
        chests: Fixtures that hold or hide something.
        doors: Doors between rooms.
    """

    rooms: tuple[str, ...]
    treasures: tuple[str, ...]
    keys: tuple[str, ...]
    chests: tuple[str, ...]
    doors: tuple[str, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """What can be taken."""
        return self.treasures + self.keys

    @property
    def fixtures(self) -> tuple[str, ...]:
        """What cannot be taken."""
        return self.chests + self.doors

    @property
    def size(self) -> int:
        """How many objects there are."""
        return len(self.items) + len(self.fixtures)


@functools.lru_cache(maxsize=128)
def quest_names(theme: str, rooms: int, depth: int, distractors: int) -> QuestNames:
    """Return the names of the quests of a config.

    There are ``1 + 2 * depth + distractors`` objects: the goal, a key and a fixture for each
    obstacle, and the distractors, half of them items and half fixtures. Every second obstacle is a
    door, as long as there are rooms to separate.
    """
    table = THEMES[theme]
    doors = min(depth // 2, rooms - 1)
    return QuestNames(
        tuple(table.rooms)[:rooms],
        table.treasures[: 1 + (distractors + 1) // 2],
        tuple(f"{word}_key" for word in KEYS[:depth]),
        table.chests[: depth - doors + distractors // 2],
        table.doors[:doors],
    )


def look_of(theme: str, name: str) -> str:
    """Return how an object looks."""
    words = spaced(name)
    if name in THEMES[theme].rooms:
        return THEMES[theme].rooms[name] + "."
    if words.endswith(" key"):
        material = words.removesuffix(" key")
        return f"a small key made of {MATERIALS.get(material, material)}."
    return f"{article(words)} {words}."
