"""What Household's script does for what it has seen, one case at a time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.worlds.household.facts import HeldObject, HouseholdFacts, KnownReceptacle
from piase_gym.worlds.household.players.scripted import HouseholdScript, understand


@pytest.mark.parametrize(
    ("goal", "errand"),
    [
        ("look at bowl under the desklamp.", ("bowl", "desklamp", "", 1)),
        ("heat some egg and put it in diningtable.", ("egg", "diningtable", "hot", 1)),
        ("Wash the plate and put it on the countertop.", ("plate", "countertop", "clean", 1)),
        ("cool some pan and put it in stoveburner.", ("pan", "stoveburner", "cool", 1)),
        ("put the warm potato into the garbagecan.", ("potato", "garbagecan", "hot", 1)),
        ("a chilled apple goes into the cabinet.", ("apple", "cabinet", "cool", 1)),
        ("both the mug and the other one go on a shelf.", ("mug", "shelf", "", 2)),
        ("put two gizmo in wotsit.", ("gizmo", "wotsit", "", 2)),
        ("do it.", ("", "", "", 1)),
    ],
)
def test_tasks_in_other_words_are_understood(goal: str, errand: tuple[Any, ...]) -> None:
    assert understand(goal) == errand


def test_only_lamps_are_to_look_with() -> None:
    assert understand("examine the book with the floorlamp.").lamp
    assert not understand("put a book in drawer.").lamp


def place(name: str, state: str = "plain", *things: str, here: bool = False) -> KnownReceptacle:
    """Return a receptacle whose inside is known, unless it is closed or unseen."""
    return KnownReceptacle(name, here, state, None if state in ("closed", "unseen") else things)


CLEAN, HEAT, TWO = "put a clean mug in shelf.", "put a hot mug in shelf.", "put two mug in shelf."
PICK, LIGHT = "put a mug in shelf.", "examine the mug with the desklamp."
MUG = HeldObject("mug 1", ())


def script(
    goal: str,
    *places: KnownReceptacle,
    held: HeldObject | None = None,
    lines: tuple[str, ...] = (),
    t: int = 0,
) -> HouseholdScript:
    """Return a script that sees some receptacles and may walk to them, and do some lines."""
    facts = HouseholdFacts(
        agent="agent_0",
        messages=(),
        hint=None,
        goal=goal,
        places=places,
        holding=() if held is None else (held,),
        others=(),
        away=(),
        commands=None,
        barred=(),
        feedback=None,
    )
    walks = tuple(f"go to {one.name}" for one in places if not one.here)
    world: Any = SimpleNamespace(
        facts=lambda _: facts,
        admissible=lambda _: [*walks, *lines, "look"],
        write=lambda line: line,
        state_of=SimpleNamespace(t=t),
        noop="wait",
    )
    return HouseholdScript(world)


def does(goal: str, *places: KnownReceptacle, **more: Any) -> str:
    """Return the line that a new script writes."""
    return str(script(goal, *places, **more).act(0))


SHELF, DESK = place("shelf 1"), place("desk 1", "plain", "pen 1", "mug 1")


@pytest.mark.parametrize(
    ("goal", "places", "more", "line"),
    [
        (PICK, (SHELF, DESK), {}, "go to desk 1"),
        (
            PICK,
            (SHELF, DESK._replace(here=True)),
            {"lines": ("take pen 1 from desk 1", "take mug 1 from desk 1")},
            "take mug 1 from desk 1",
        ),
        (PICK, (place("fridge 1", "open", "mug 1"), DESK), {}, "go to desk 1"),  # has no door
        (TWO, (place("shelf 1", "plain", "mug 2"), DESK), {}, "go to desk 1"),  # it stays there
        (CLEAN, (place("shelf 1", "plain", "mug 2"),), {}, "go to shelf 1"),  # it may be dirty
        (PICK, (SHELF, DESK), {"held": MUG}, "go to shelf 1"),
        (
            PICK,
            (SHELF._replace(here=True), DESK),
            {"held": MUG, "lines": ("move mug 1 to shelf 1",)},
            "move mug 1 to shelf 1",
        ),
        (
            PICK,
            (SHELF._replace(here=True), DESK),
            {"held": MUG, "lines": ("put mug 1 in/on shelf 1",)},
            "put mug 1 in/on shelf 1",
        ),
        ("put a mug in cabinet.", (place("cabinet 1", "closed", here=True),), {"held": MUG,
         "lines": ("open cabinet 1",)}, "open cabinet 1"),
        # Of two receptacles the one that has such a thing, then the one without a door.
        (TWO, (SHELF, place("shelf 2", "plain", "mug 2")), {"held": MUG}, "go to shelf 2"),
        (
            "put a mug in cabinet.",
            (place("cabinet 1", "closed"), place("cabinet 2", "open")),
            {"held": MUG},
            "go to cabinet 2",
        ),
        (CLEAN, (SHELF, place("sinkbasin 1")), {"held": MUG}, "go to sinkbasin 1"),
        (HEAT, (SHELF, place("sinkbasin 1"), place("microwave 1", "closed")), {"held": MUG},
         "go to microwave 1"),
        (
            CLEAN,
            (SHELF, place("sinkbasin 1", here=True)),
            {"held": MUG, "lines": ("clean mug 1 with sinkbasin 1",)},
            "clean mug 1 with sinkbasin 1",
        ),
        (CLEAN, (SHELF, place("sinkbasin 1")), {"held": HeldObject("mug 1", ("clean",))},
         "go to shelf 1"),
        (CLEAN, (SHELF, place("sinkbasin 1")), {"held": HeldObject("mug 1", ("hot",))},
         "go to sinkbasin 1"),
        (LIGHT, (SHELF, place("desk 1", "plain", "desklamp 1")), {"held": MUG}, "go to desk 1"),
        (
            LIGHT,
            (SHELF, place("desk 1", "plain", "desklamp 1", here=True)),
            {"held": MUG, "lines": ("use desklamp 1",)},
            "use desklamp 1",
        ),
        # Something else in hand is put down: here, or where there is no door.
        (
            PICK,
            (DESK._replace(here=True),),
            {"held": HeldObject("pen 1", ()), "lines": ("move pen 1 to desk 1",)},
            "move pen 1 to desk 1",
        ),
        (
            PICK,
            (place("safe 1", "closed", here=True), DESK),
            {"held": HeldObject("pen 1", ()), "lines": ("open safe 1",)},
            "open safe 1",
        ),
        (
            PICK,
            (place("safe 1", "closed"), place("box 1", "open"), DESK),
            {"held": HeldObject("pen 1", ())},
            "go to desk 1",
        ),
    ],
)  # fmt: skip
def test_what_was_seen_is_used(
    goal: str, places: tuple[KnownReceptacle, ...], more: dict[str, Any], line: str
) -> None:
    assert does(goal, *places, **more) == line


@pytest.mark.parametrize(
    ("goal", "places", "more", "line"),
    [
        (PICK, (place("fridge 1", "closed", here=True),), {"lines": ("open fridge 1",)},
         "open fridge 1"),
        # A mug is likelier in a sink or on a counter than on a bed, and one looks before opening.
        (PICK, (place("bed 1", "unseen"), place("countertop 1", "unseen")), {},
         "go to countertop 1"),
        (PICK, (place("cabinet 1", "unseen"), place("countertop 1", "unseen")), {},
         "go to countertop 1"),
        # Of many of a kind each is less likely.
        ("put a gadget in shelf.", (place("shelf 1", "unseen"), place("shelf 2", "unseen"),
         place("desk 1", "unseen")), {}, "go to desk 1"),
        # With the thing in hand it is the lamp that is sought.
        (LIGHT, (place("countertop 1", "unseen"), place("desk 1", "unseen")), {},
         "go to countertop 1"),
        (LIGHT, (place("countertop 1", "unseen"), place("desk 1", "unseen")), {"held": MUG},
         "go to desk 1"),
        # When all is known it looks again, at another place each time.
        (PICK, (place("desk 1"), place("bed 1"), place("sofa 1", here=True)), {}, "go to desk 1"),
        (PICK, (place("desk 1"), place("bed 1"), place("sofa 1", here=True)), {"t": 1},
         "go to bed 1"),
        (PICK, (place("desk 1"), place("bed 1"), place("sofa 1", here=True)), {"t": 2},
         "go to desk 1"),
        (PICK, (place("sofa 1", here=True),), {}, "look"),
    ],
)  # fmt: skip
def test_what_was_not_seen_is_looked_for_where_it_is_likely(
    goal: str, places: tuple[KnownReceptacle, ...], more: dict[str, Any], line: str
) -> None:
    assert does(goal, *places, **more) == line


def test_who_is_refused_at_one_shelf_goes_to_the_next() -> None:
    player = script(PICK, SHELF._replace(here=True), place("shelf 2"), held=MUG)
    assert str(player.act(0)) == "go to shelf 2"


def test_the_second_thing_goes_where_the_first_one_went() -> None:
    one = script(TWO, place("shelf 1", "plain", here=True), place("shelf 2"), held=MUG,
                 lines=("move mug 1 to shelf 1",))  # fmt: skip
    assert str(one.act(0)) == "move mug 1 to shelf 1"
    two = script(TWO, place("shelf 2", "plain", "mug 3"), place("shelf 1", "plain", "mug 1"), DESK,
                 held=HeldObject("mug 2", ()))  # fmt: skip
    one.world = two.world
    assert str(one.act(0)) == "go to shelf 1"
