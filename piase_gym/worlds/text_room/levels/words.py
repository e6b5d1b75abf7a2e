"""The words of generated quests. A config fixes which of them occur."""

from __future__ import annotations

import functools
from typing import NamedTuple

from piase_gym.worlds.texts.wording import article, spaced

MOST_ROOMS = 16
MOST_DEPTH = 8
MOST_DISTRACTORS = 16
LONGEST_ROOM = 400
"""No description of a room, its name and ways included, is longer."""
LONGEST_OBJECT = 160
"""No line about an object is longer."""


class Theme(NamedTuple):
    """The words of one kind of place.

    Attributes:
        rooms: Rooms, and how they look.
        chests: Fixtures that open, and hide or hold something.
        doors: Doors.
        treasures: Items that may be the goal, or distract.
    """

    rooms: dict[str, str]
    chests: tuple[str, ...]
    doors: tuple[str, ...]
    treasures: tuple[str, ...]


KEYS = "brass iron silver copper golden glass bone steel".split()
"""Keys are called after what they are made of."""
MATERIALS = {"golden": "gold"}
"""What they are made of, where that is another word."""


def _names(words: str) -> tuple[str, ...]:
    """Return the names in a line of them."""
    return tuple(words.split())


THEMES = {
    "house": Theme(
        {
            "hallway": "a narrow hallway with a worn carpet",
            "kitchen": "a kitchen that smells of bread",
            "study": "a quiet study lined with books",
            "bedroom": "a bedroom with drawn curtains",
            "cellar": "a cool cellar with an earthen floor",
            "attic": "a dusty attic under the roof",
            "library": "a library with a reading lamp",
            "bathroom": "a bathroom with white tiles",
            "pantry": "a pantry full of shelves",
            "parlour": "a parlour with a cold fireplace",
            "workshop": "a workshop with a long bench",
            "conservatory": "a conservatory full of ferns",
            "nursery": "a nursery with painted walls",
            "laundry": "a laundry with a stone sink",
            "gallery": "a gallery of faded portraits",
            "veranda": "a veranda facing the garden",
        },
        _names(
            "desk wardrobe dresser cupboard trunk cabinet drawer locker bureau hamper sideboard "
            "bookcase chest toolbox safe crate"
        ),
        _names("oak_door pine_door cedar_door green_door red_door blue_door grey_door black_door"),
        _names(
            "lantern teapot umbrella candle mirror compass violin medal spoon ribbon diary vase "
            "thimble whistle marble magnet"
        ),
    ),
    "castle": Theme(
        {
            "courtyard": "a courtyard paved with cobbles",
            "great_hall": "a great hall hung with banners",
            "chapel": "a chapel with tall windows",
            "armoury": "an armoury with empty racks",
            "dungeon": "a dungeon with damp walls",
            "tower": "a round tower with a winding stair",
            "throne_room": "a throne room with a dais",
            "stables": "stables strewn with straw",
            "scullery": "a scullery with a deep hearth",
            "solar": "a solar warmed by the sun",
            "crypt": "a crypt cut into the rock",
            "battlements": "battlements above the moat",
            "guardroom": "a guardroom with a long table",
            "gatehouse": "a gatehouse with a portcullis",
            "brewery": "a brewery with copper kettles",
            "oratory": "an oratory with a single bench",
        },
        _names(
            "coffer altar barrel strongbox shrine ark casket armoire reliquary bin basket "
            "sarcophagus manger urn keg hutch"
        ),
        _names(
            "iron_gate oak_gate bronze_door studded_door carved_door barred_door low_door tall_door"
        ),
        _names(
            "crown sceptre goblet chalice sword shield helmet banner scroll amulet ring dagger "
            "horn lute saddle gauntlet"
        ),
    ),
    "ship": Theme(
        {
            "bridge": "a bridge with a wide view of the sea",
            "galley": "a galley with swinging pans",
            "cabin": "a cabin with two bunks",
            "hold": "a hold that creaks with the waves",
            "engine_room": "an engine room full of pipes",
            "mess": "a mess with bolted tables",
            "sickbay": "a sickbay with folded sheets",
            "foredeck": "a foredeck wet with spray",
            "afterdeck": "an afterdeck with coiled ropes",
            "chart_room": "a chart room with rolled maps",
            "radio_room": "a radio room that hums",
            "boiler_room": "a boiler room hot as an oven",
            "storeroom": "a storeroom with netted shelves",
            "washroom": "a washroom with a tin basin",
            "wardroom": "a wardroom with leather seats",
            "brig": "a brig with a barred window",
        },
        _names(
            "sea_chest tank bunker icebox footlocker canister rack vent console panel lifeboat "
            "binnacle drum bucket hatchbox chart_case"
        ),
        _names(
            "bulkhead hatch steel_door grated_door porthole_door sliding_door fire_door cargo_door"
        ),
        _names(
            "sextant spyglass logbook anchor_pin flare rope_knot barometer harpoon foghorn oilskin "
            "lifebelt chronometer pennant bell pearl conch"
        ),
    ),
}


class QuestNames(NamedTuple):
    """The names that occur in every quest of a config.

    Attributes:
        rooms: Rooms.
        treasures: Items of which one is the goal.
        keys: One for each obstacle; those that are not needed distract.
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

    There are ``1 + 2 * depth + distractors`` objects: the goal, for each obstacle a key and a
    fixture, and of the distractors one half items and the other half fixtures. Every second
    obstacle is a door, as far as there are rooms to part.
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
