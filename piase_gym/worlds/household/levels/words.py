"""What homes are made of: receptacles, objects, where they are found, and the six tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

TaskName = Literal["pick", "look", "clean", "heat", "cool", "two"]
TASKS: Final[Mapping[TaskName, str]] = {
    "pick": "pick_and_place_simple",
    "look": "look_at_obj_in_light",
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
    "two": "pick_two_obj_and_place",
}
"""The tasks, with the names that ALFWorld has for them."""
RoomName = Literal["kitchen", "bedroom", "bathroom", "livingroom"]


class Kind(NamedTuple):
    """A kind of receptacle: whether it opens, and how many there are in each kind of room."""

    opens: bool
    kitchen: int = 0
    bedroom: int = 0
    bathroom: int = 0
    livingroom: int = 0


RECEPTACLES: Final[Mapping[str, Kind]] = {
    "ArmChair": Kind(False, 0, 1, 0, 2),
    "BathtubBasin": Kind(False, 0, 0, 1, 0),
    "Bed": Kind(False, 0, 2, 0, 0),
    "Cabinet": Kind(True, 12, 2, 4, 4),
    "Cart": Kind(False, 0, 0, 1, 1),
    "CoffeeMachine": Kind(False, 1, 0, 0, 0),
    "CoffeeTable": Kind(False, 0, 0, 0, 2),
    "CounterTop": Kind(False, 3, 0, 2, 0),
    "Desk": Kind(False, 0, 2, 0, 1),
    "DiningTable": Kind(False, 2, 0, 0, 1),
    "Drawer": Kind(True, 8, 8, 4, 6),
    "Dresser": Kind(False, 0, 1, 0, 1),
    "Fridge": Kind(True, 1, 0, 0, 0),
    "GarbageCan": Kind(False, 1, 1, 1, 1),
    "HandTowelHolder": Kind(False, 0, 0, 2, 0),
    "LaundryHamper": Kind(True, 0, 1, 1, 0),
    "Microwave": Kind(True, 1, 0, 0, 0),
    "Ottoman": Kind(False, 0, 1, 0, 1),
    "PaintingHanger": Kind(False, 0, 1, 0, 1),
    "Safe": Kind(True, 0, 1, 0, 1),
    "Shelf": Kind(False, 3, 6, 2, 8),
    "SideTable": Kind(False, 1, 2, 1, 3),
    "SinkBasin": Kind(False, 1, 0, 2, 0),
    "Sofa": Kind(False, 0, 1, 0, 2),
    "StoveBurner": Kind(False, 4, 0, 0, 0),
    "Toaster": Kind(False, 1, 0, 0, 0),
    "Toilet": Kind(False, 0, 0, 1, 0),
    "ToiletPaperHanger": Kind(False, 0, 0, 1, 0),
    "TowelHolder": Kind(False, 0, 0, 2, 0),
    "TVStand": Kind(False, 0, 0, 0, 1),
}
"""Kinds of receptacles."""

_KITCHEN = "CounterTop DiningTable Cabinet SideTable"
_FOOD = f"{_KITCHEN} Fridge Microwave SinkBasin GarbageCan".replace(" Cabinet", "")
_DISHES = f"{_KITCHEN} SinkBasin Fridge Microwave Shelf"
_CUTLERY = "CounterTop DiningTable Drawer SinkBasin SideTable"
_POTS = "StoveBurner CounterTop Cabinet SinkBasin DiningTable Fridge"
_SMALL = "Desk Drawer Dresser Shelf SideTable CoffeeTable DiningTable"
_BATH = "CounterTop Cabinet Drawer Toilet SinkBasin BathtubBasin Cart GarbageCan Shelf"
_SEATS = "Sofa ArmChair"


class Object(NamedTuple):
    """A kind of object.

    Attributes:
        places: Where it is found, and may be put.
        can: Letters for what can be done with it: ``p`` picked up, ``c`` cleaned, ``h`` heated,
            ``k`` cooled, ``s`` sliced, ``t`` switched on, ``x`` cuts, ``u`` has room in it.
    """

    places: tuple[str, ...]
    can: str


def _object(places: str, can: str = "") -> Object:
    return Object(tuple(places.split()), can if "t" in can else "p" + can)


OBJECTS: Final[Mapping[str, Object]] = {
    "AlarmClock": _object("Desk SideTable Shelf Dresser DiningTable"),
    "Apple": _object(_FOOD, "chks"),
    "BaseballBat": _object("Bed SideTable"),
    "BasketBall": _object(f"Bed Desk Dresser {_SEATS}"),
    "Book": _object(f"Bed {_SMALL} Cabinet {_SEATS}"),
    "Boots": _object("ArmChair Ottoman"),
    "Bowl": _object(f"{_DISHES} Desk Dresser", "cku"),
    "Box": _object(f"{_SEATS} CoffeeTable DiningTable Dresser Shelf Ottoman", "u"),
    "Bread": _object(_FOOD, "hks"),
    "ButterKnife": _object(_CUTLERY, "cx"),
    "CD": _object(f"{_SMALL} GarbageCan Safe Cabinet"),
    "Candle": _object("Toilet CounterTop Cabinet Shelf CoffeeTable DiningTable Drawer Cart"),
    "CellPhone": _object(f"Bed {_SMALL} Safe {_SEATS}"),
    "Cloth": _object(f"{_BATH} LaundryHamper Dresser", "c"),
    "CreditCard": _object(f"{_SMALL} Safe {_SEATS}"),
    "Cup": _object(_DISHES, "chku"),
    "DeskLamp": _object("Desk SideTable Dresser Shelf", "t"),
    "DishSponge": _object(f"{_BATH} DiningTable", "c"),
    "Egg": _object(_FOOD, "chks"),
    "FloorLamp": _object("SideTable Shelf", "t"),
    "Fork": _object(_CUTLERY, "c"),
    "Glassbottle": _object("CounterTop Cabinet SinkBasin Shelf DiningTable GarbageCan"),
    "HandTowel": _object("HandTowelHolder CounterTop GarbageCan Cabinet Drawer"),
    "Kettle": _object("StoveBurner CounterTop Cabinet SinkBasin DiningTable Shelf", "c"),
    "KeyChain": _object(f"{_SMALL} Safe {_SEATS}"),
    "Knife": _object(_CUTLERY, "cx"),
    "Ladle": _object("CounterTop DiningTable Cabinet Drawer SinkBasin", "c"),
    "Laptop": _object(f"Bed Desk Dresser CoffeeTable DiningTable {_SEATS} TVStand Ottoman"),
    "Lettuce": _object(_FOOD.replace(" Microwave", ""), "cks"),
    "Mug": _object(f"{_DISHES} CoffeeMachine Desk Dresser", "chku"),
    "Newspaper": _object(f"{_SEATS} CoffeeTable DiningTable SideTable GarbageCan Ottoman"),
    "Pan": _object(_POTS, "cku"),
    "Pen": _object(f"{_SMALL} GarbageCan"),
    "Pencil": _object(f"{_SMALL} GarbageCan"),
    "PepperShaker": _object(f"{_KITCHEN} Drawer Shelf"),
    "Pillow": _object(f"Bed {_SEATS} Ottoman"),
    "Plate": _object(_DISHES, "chku"),
    "Plunger": _object("Cabinet Cart"),
    "Pot": _object(_POTS, "cku"),
    "Potato": _object(_FOOD, "chks"),
    "RemoteControl": _object(f"{_SEATS} TVStand CoffeeTable SideTable Drawer Desk Dresser"),
    "SaltShaker": _object(f"{_KITCHEN} Drawer Shelf"),
    "ScrubBrush": _object("Toilet Cabinet Cart"),
    "SoapBar": _object(_BATH, "c"),
    "SoapBottle": _object(f"{_BATH} DiningTable SideTable"),
    "Spatula": _object("CounterTop DiningTable Drawer SinkBasin SideTable", "c"),
    "Spoon": _object(_CUTLERY, "c"),
    "SprayBottle": _object("CounterTop Cabinet Toilet GarbageCan Drawer Cart Shelf"),
    "Statue": _object("Shelf Dresser CoffeeTable DiningTable SideTable Desk CounterTop TVStand"),
    "TeddyBear": _object(f"Bed {_SEATS} Dresser"),
    "TennisRacket": _object("Bed Desk Dresser SideTable"),
    "TissueBox": _object("SideTable Desk Shelf Drawer CounterTop CoffeeTable Toilet"),
    "ToiletPaper": _object("ToiletPaperHanger Toilet Cabinet CounterTop Drawer Shelf Cart"),
    "Tomato": _object(_FOOD, "chks"),
    "Towel": _object("TowelHolder BathtubBasin"),
    "Vase": _object("Shelf CoffeeTable DiningTable Dresser CounterTop SideTable Desk Cabinet"),
    "Watch": _object(f"{_SMALL} Safe TVStand {_SEATS}"),
    "WateringCan": _object("SideTable Shelf"),
    "WineBottle": _object("CounterTop DiningTable Cabinet Fridge Shelf GarbageCan", "k"),
}
"""Kinds of objects."""

ROOM_OBJECTS: Final[Mapping[RoomName, frozenset[str]]] = {
    "kitchen": frozenset(
        "Apple Bowl Bread ButterKnife Cup DishSponge Egg Fork Glassbottle Kettle Knife Ladle "
        "Lettuce Mug Pan PepperShaker Plate Pot Potato SaltShaker SoapBottle Spatula Spoon Tomato "
        "Vase WineBottle".split()
    ),
    "bedroom": frozenset(
        "AlarmClock BaseballBat BasketBall Book Boots Bowl Box CD CellPhone Cloth CreditCard "
        "DeskLamp FloorLamp KeyChain Laptop Mug Pen Pencil Pillow RemoteControl Statue TeddyBear "
        "TennisRacket TissueBox Vase Watch".split()
    ),
    "bathroom": frozenset(
        "Candle Cloth DishSponge HandTowel Plunger ScrubBrush SoapBar SoapBottle SprayBottle "
        "TissueBox ToiletPaper Towel".split()
    ),
    "livingroom": frozenset(
        "Book Boots Box Candle CellPhone CreditCard DeskLamp FloorLamp KeyChain Laptop Newspaper "
        "Pen Pencil Pillow Plate RemoteControl Statue TissueBox Vase Watch WateringCan".split()
    ),
}
"""Which objects are found in which kind of room."""

OBJECT_WORDS: Final = {name.lower(): k for k, name in enumerate(OBJECTS, 1)}
RECEPTACLE_WORDS: Final = {name.lower(): k for k, name in enumerate(RECEPTACLES, 1)}
"""The words of names, with the numbers that stand for them in vectors."""
LAMPS: Final = ("DeskLamp", "FloorLamp")
MOST_RECEPTACLES = 40
MOST_OBJECTS = 60
LEVELS: Final[Mapping[int, Mapping[str, Any]]] = {
    1: {"receptacles": 4, "objects": 4, "tasks": ("pick",)},
    2: {"receptacles": 8, "objects": 10, "tasks": ("pick", "look")},
    3: {"receptacles": 12, "objects": 20, "tasks": ("pick", "look", "clean", "heat", "cool")},
    4: {"receptacles": 20, "objects": 30, "tasks": tuple(TASKS)},
    5: {"receptacles": 34, "objects": 50, "tasks": tuple(TASKS)},
}
"""What ``difficulty`` 1 to 5 stands for."""
