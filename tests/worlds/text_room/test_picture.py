"""What is drawn in TextRoom's picture, and where: boxes, lines of text, marks, doors."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import ImageDraw

from piase_gym.worlds.drawing import font
from tests.worlds.text_room.helpers import make, play, say, story

INK, PALE, PAPER, WAY = (40, 38, 35), (120, 114, 104), (255, 254, 250), (196, 184, 160)
HERE, EDGE = (255, 247, 214), (150, 138, 118)
ITEM, FIXTURE = (38, 110, 140), (120, 92, 60)
OPEN, CLOSED, LOCKED = (58, 140, 74), (204, 138, 30), (190, 52, 44)
ANN, BOB = (36, 88, 170), (178, 58, 120)
Call = tuple[str, Any, dict[str, Any]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What is drawn from now on: the shape, where it is, and how."""
    found: list[Call] = []
    draw = ImageDraw.Draw

    class Pen:
        """Draws, and keeps what it draws."""

        def __init__(self, image: Any) -> None:
            self.pen = draw(image)
            found.append(("picture", image.size, {}))

        def __getattr__(self, shape: str) -> Any:
            method = getattr(self.pen, shape)

            def call(place: Any, *more: Any, **how: Any) -> Any:
                if shape != "textlength":
                    size = {"font": how["font"].size} if "font" in how else {}
                    found.append((shape, (place, *more), {**how, **size}))
                return method(place, *more, **how)

            return call

    monkeypatch.setattr(ImageDraw, "Draw", Pen)
    return found


def words(x: int, y: int, text: str, fill: Any = INK, size: int = 16, **more: Any) -> Call:
    return "text", ((x, y), text), {"fill": fill, "font": size, **more}


def dot(x: int, y: int, colour: Any, *, ring: bool = False) -> Call:
    fill = None if ring else colour
    return "ellipse", ((x, y, x + 11, y + 11),), {"fill": fill, "outline": colour, "width": 2}


def square(x: int, y: int, colour: Any) -> Call:
    return "rectangle", ((x, y, x + 11, y + 11),), {"fill": colour}


def bar(x: int, y: int, colour: Any) -> Call:
    return "rectangle", ((x, y, x + 14, y + 7),), {"fill": colour}


def person(x: int, y: int, colour: Any) -> list[Call]:
    """A head, and shoulders 14 wide under it."""
    head = "ellipse", ((x + 3, y, x + 11, y + 8),), {"fill": colour}
    return [head, ("pieslice", ((x, y + 8, x + 14, y + 24), 180, 360), {"fill": colour})]


def room(x: int, y: int, fill: Any) -> Call:
    """A box of 270 by 166."""
    how = {"fill": fill, "outline": EDGE, "width": 3}
    return "rounded_rectangle", ((x, y, x + 270, y + 166), 12), how


def door(x: int, y: int, colour: Any) -> list[Call]:
    plate = "rounded_rectangle", ((x - 15, y - 15, x + 15, y + 15), 5), {"fill": colour}
    return [plate, words(x, y, "D", PAPER, anchor="mm")]


def way(*ends: tuple[int, int]) -> Call:
    return "line", ([*ends],), {"fill": WAY, "width": 22}


def length(text: str) -> int:
    """Pixels of small words."""
    return round(font(14).getlength(text))


def house() -> dict[str, Any]:
    """A hall, a den behind a locked door to its east, an attic above."""
    oak = {"door": "oak_door"}
    return story(
        rooms={
            "hall": {
                "exits": {"east": {"room": "den", **oak}, "up": "attic"},
                "objects": ["box", "coin"],
            },
            "den": {"exits": {"west": {"room": "hall", **oak}}},
            "attic": {"exits": {"down": "hall"}, "objects": ["key"]},
        },
        object_details={
            "oak_door": {"locked": True, "key_required": "key"},
            "box": {"is_container": True, "contains": ["gem"]},
            "gem": {"can_be_taken": True},
            "coin": {"can_be_taken": True},
            "key": {"can_be_taken": True},
        },
        agent_setup=[
            {"agent_id": "ann", "start_room": "hall"},
            {"agent_id": "bob", "start_room": "den"},
        ],
    )


def legend(y: int) -> list[Call]:
    """The marks with their words, 34 pixels and a word's length from each to the next."""
    found, x = list[Call](), 56 + 80
    marks = {"item": dot(0, 0, ITEM), "fixture": square(0, 0, FIXTURE)}
    marks |= {"hidden": dot(0, 0, PALE, ring=True)}
    bars = {"open": OPEN, "closed": CLOSED, "locked": LOCKED}
    for word in ("item", "fixture", "open", "closed", "locked", "hidden"):
        if word in bars:
            mark = bar(x, y + 6, bars[word])
        else:
            shape, _, how = marks[word]
            mark = (shape, ((x + 1, y + 4, x + 12, y + 15),), how)
        found += [mark, words(x + 20, y, word, PALE, 14)]
        x += 34 + length(word)
    return found


def test_rooms_are_drawn_as_a_map_with_who_and_what_is_in_them(calls: list[Call]) -> None:
    # Two columns and two rows of boxes of 270 by 166 (2 * 14 and six lines of 23), 56 from each
    # other and from the edges; under them a line for each agent, one more, and one of margin.
    env = make(house())
    say(env, "take coin")
    calls.clear()
    picture = env.world.rgb()
    width, height = 56 + 2 * (270 + 56), 56 + 2 * (166 + 56) + 23 * 4
    assert picture.shape == (height, width, 3)
    assert (*picture[0, 0],) == (236, 232, 222)
    hall, den, attic = (56, 278), (382, 278), (382, 56)
    middles = [(x + 135, y + 83) for x, y in (hall, den, attic)]
    along = round((166 / 2 + 14) / (166 + 56) * (270 + 56))
    foot = height - 23 * 3 - 14
    assert calls == [
        ("picture", (width, height), {}),
        way(middles[0], middles[1]),
        way(middles[0], middles[2]),
        way(middles[1], middles[0]),
        way(middles[2], middles[0]),
        room(*hall, HERE),
        words(hall[0] + 14, hall[1] + 11, "Hall", size=18),
        *person(hall[0] + 14, hall[1] + 38, ANN),
        words(hall[0] + 34, hall[1] + 37, "ann"),
        square(hall[0] + 15, hall[1] + 64, FIXTURE),
        words(hall[0] + 256 - length("closed"), hall[1] + 61, "closed", CLOSED, 14),
        words(hall[0] + 34, hall[1] + 60, "box"),
        dot(hall[0] + 33, hall[1] + 87, ITEM),  # 18 to the right: it is in the box
        words(hall[0] + 52, hall[1] + 83, "gem"),
        room(*den, HERE),
        words(den[0] + 14, den[1] + 11, "Den", size=18),
        *person(den[0] + 14, den[1] + 38, BOB),
        words(den[0] + 34, den[1] + 37, "bob"),
        room(*attic, PAPER),
        words(attic[0] + 14, attic[1] + 11, "Attic", size=18),
        dot(attic[0] + 15, attic[1] + 41, ITEM),
        words(attic[0] + 34, attic[1] + 37, "key"),
        # Doors are in the middle between the boxes, names of ways 14 from the box that they leave.
        *door(den[0] - 28, den[1] + 83, LOCKED),
        words(middles[0][0] + along, 278 - 14, "up", size=14, anchor="mm"),
        *door(den[0] - 28, den[1] + 83, LOCKED),
        words(middles[2][0] - along, 222 + 14, "down", size=14, anchor="mm"),
        *person(56, foot + 1, ANN),
        words(76, foot, "ann carries coin"),
        *person(56, foot + 24, BOB),
        words(76, foot + 23, "bob carries nothing"),
        words(56, foot + 46, "step 1", size=14),
        *legend(foot + 46),
    ]


def test_doors_and_lids_show_how_they_stand(calls: list[Call]) -> None:
    env = make(house())
    play(env, "go up", "take key", "go down", "unlock oak door with key", agent="ann")
    play(env, "open box", "take coin", agent="ann")
    calls.clear()
    env.world.rgb()
    assert [call for call in calls if call[1][-1] == "D"] == [door(354, 361, CLOSED)[1]] * 2
    assert door(354, 361, CLOSED)[0] in calls
    assert words(312 - length("open"), 339, "open", OPEN, 14) in calls
    play(env, "open oak door", agent="ann")
    calls.clear()
    env.world.rgb()
    assert calls.count(door(354, 361, OPEN)[0]) == 2


def test_what_is_hidden_has_a_pale_ring(calls: list[Call]) -> None:
    given = story(
        object_details={
            "box": {"hidden_item": ["gem"]},
            "gem": {"can_be_taken": True},
        }
    )
    env = make(given)
    calls.clear()
    env.world.rgb()
    hall = 56
    ring = dot(hall + 33, hall + 87, ITEM, ring=True)
    assert calls[calls.index(ring) + 1] == words(hall + 52, hall + 83, "gem", PALE)


def test_words_that_do_not_fit_are_cut(calls: list[Call]) -> None:
    given = story()
    given["rooms"]["den"]["objects"] = ["m" * 38]
    given["object_details"]["m" * 38] = {"can_be_taken": True}
    env = make(given)
    calls.clear()
    picture = env.world.rgb()
    assert picture.shape == (56 + 166 + 56 + 23 * 3, 56 + 2 * 326, 3)
    (cut,) = (call[1][1] for call in calls if call[0] == "text" and call[1][1].endswith("..."))
    # From 20 behind the left of the mark to 10 before the right margin.
    space = 270 - 2 * 14 - 30
    assert font(16).getlength(cut) <= space < font(16).getlength(f"m{cut}")
    assert cut == "m" * (len(cut) - 3) + "..."


def test_names_of_a_way_there_and_back_do_not_overlap(calls: list[Call]) -> None:
    env = make(scenario="three_levers")
    env.reset(seed=0)
    env.world.rgb()
    places = {more[0][1]: more[0][0] for shape, *more in calls if shape == "text"}
    for one, two in (("up", "down"), ("in", "out")):
        assert abs(places[one][1] - places[two][1]) > font(14).size
