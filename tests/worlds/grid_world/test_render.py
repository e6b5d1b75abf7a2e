"""GridWorld's pictures: what is drawn, what is told apart, and that nothing aliases the state."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import piase_gym
from piase_gym.errors import ConfigError
from piase_gym.worlds.drawing import Canvas
from piase_gym.worlds.grid_world.cells import (
    FLOOR,
    GOAL,
    KEY,
    MAX_AGENTS,
    NAMES,
    SYMBOLS,
    WALL,
)
from piase_gym.worlds.grid_world.observe import pictures, tiles
from piase_gym.worlds.grid_world.observe.pictures import Figure, Scene
from piase_gym.worlds.grid_world.rules.events import ARRIVED
from piase_gym.worlds.grid_world.state import layout
from piase_gym.worlds.grids.figures import default_tile

CODES = {symbol: code for code, symbol in SYMBOLS.items()}
NEW = 25  # an object that nobody has painted


def cells(*rows: str) -> NDArray[np.uint8]:
    return np.array([[CODES[symbol] for symbol in row] for row in rows], np.uint8)


def figure(number: int = 0, x: int = 0, y: int = 0, heading: int = 1, **more: Any) -> Figure:
    fields = {"carrying": 0, "alive": True, **more}
    return Figure(f"agent_{number}", number, x, y, heading, **fields)


ROOM = cells("#####", "#.#G#", "#kL.#", "#####")
ONE = Scene(ROOM, (figure(x=1, y=1),), 0)
TWO = Scene(ROOM, (figure(0, 1, 1, 2, carrying=KEY), figure(11, 3, 2, 3)), 5)


def record() -> Any:
    state = np.zeros(1, layout(16, 7, 4))[0]
    state["width"], state["height"], state["agents"], state["t"] = 5, 4, 2, 5
    state["cells"].reshape(16, 16)[:4, :5] = ROOM
    state["x"][:2], state["y"][:2], state["heading"][:2] = (1, 3), (1, 2), (2, 3)
    state["carry"][0] = KEY
    state["alive"][:2], state["fate"][:2] = (1, 0), (0, ARRIVED)
    return state


# -- the scene ----------------------------------------------------------------------------


def test_a_scene_says_what_the_record_says() -> None:
    scene = pictures.scene(record(), 16, ("ann", "bob", "spare"))
    np.testing.assert_array_equal(scene.cells, ROOM)
    assert scene.cells.dtype == np.uint8
    assert scene.step == 5
    assert scene.agents == (
        Figure("ann", 0, 1, 1, 2, KEY, True),
        Figure("bob", 1, 3, 2, 3, 0, False),
    )
    assert all(type(value) is int for value in (scene.step, scene.agents[0].x))


def test_a_scene_does_not_follow_the_state() -> None:
    state = record()
    scene = pictures.scene(state, 16, ("ann", "bob"))
    state["cells"][:], state["x"][:], state["t"] = WALL, 0, 9
    np.testing.assert_array_equal(scene.cells, ROOM)
    assert (scene.agents[0].x, scene.step) == (1, 5)


def test_a_scene_cannot_be_changed() -> None:
    scene = pictures.scene(record(), 16, ("ann", "bob"))
    with pytest.raises(ValueError, match="read-only"):
        scene.cells[0, 0] = FLOOR
    with pytest.raises(FrozenInstanceError):
        scene.step = 1  # type: ignore[misc]


# -- letters ------------------------------------------------------------------------------

ONE_AGENT = """\
#####
#>#G#
#kL.#
#####

. floor   # wall   G goal   k key   L locked door
> agent_0 at (1, 1), facing east"""

TWO_AGENTS = """\
##########
##v0##G ##
##k LL<b##
##########

## wall   G goal   k key   LL locked door
v0 agent_0 at (1, 1), facing south, carrying a key
<b agent_11 at (3, 2), facing west"""


def test_ansi_of_one_agent() -> None:
    assert pictures.ansi(ONE) == ONE_AGENT


def test_ansi_of_several_agents() -> None:
    assert pictures.ansi(TWO) == TWO_AGENTS


def test_ansi_has_no_trailing_spaces() -> None:
    scene = replace(TWO, cells=cells(".....", "#. . ", "k.#. ", "     "))
    assert all(line == line.rstrip() for line in pictures.ansi(scene).split("\n"))


def test_ansi_leaves_out_agents_that_are_done() -> None:
    done = replace(TWO, agents=(TWO.agents[0], replace(TWO.agents[1], alive=False)))
    assert pictures.ansi(done).split("\n")[2] == "##k LL. ##"
    assert pictures.ansi(done).endswith("agent_11 at (3, 2), facing west, done")


def test_ansi_of_an_unknown_object() -> None:
    scene = Scene(np.array([[NEW, FLOOR]], np.uint8), (), 0)
    assert pictures.ansi(scene) == "?.\n\n. floor   ? object 25"


def test_the_first_of_the_agents_in_a_cell_is_on_top() -> None:
    both = replace(ONE, agents=(figure(0, 1, 1), figure(1, 1, 1, 3)))
    first = replace(ONE, agents=(both.agents[0], replace(both.agents[1], alive=False)))
    assert pictures.ansi(both).split("\n")[1] == "##>0##G ##"
    middle = slice(40, 56), slice(40, 56)  # of cell (1, 1), where a piece hides what is below
    np.testing.assert_array_equal(pictures.rgb(both, 32)[middle], pictures.rgb(first, 32)[middle])


# -- pixels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("height", "width", "tile"), [(2, 2, 64), (8, 8, 64), (16, 9, 32), (10, 40, 12), (64, 64, 8)]
)
def test_the_picture_is_about_512_pixels_long(height: int, width: int, tile: int) -> None:
    picture = pictures.rgb(Scene(np.full((height, width), FLOOR, np.uint8), (), 0))
    assert picture.shape == (height * tile, width * tile, 3)


@pytest.mark.parametrize("tile", [1, 2, 3, 7, 8, 15, 16, 24, 65])
def test_every_tile_size_can_be_drawn(tile: int) -> None:
    scene = replace(TWO, cells=np.resize(np.array([*NAMES, NEW], np.uint8), ROOM.shape))
    picture = pictures.rgb(scene, tile)
    assert picture.shape == (4 * tile, 5 * tile, 3)


def test_a_tile_needs_a_pixel() -> None:
    with pytest.raises(ConfigError, match="at least 1 pixel, not 0"):
        pictures.rgb(ONE, 0)


def test_a_picture_is_a_fresh_array() -> None:
    first = pictures.rgb(TWO)
    assert first.dtype == np.uint8
    assert first.flags.writeable
    assert first.flags.c_contiguous
    before = first.copy()
    first[...] = 0
    np.testing.assert_array_equal(pictures.rgb(TWO), before)


def test_a_one_cell_picture_is_a_fresh_array() -> None:
    scene = Scene(np.array([[GOAL]], np.uint8), (), 0)
    before = pictures.rgb(scene)
    pictures.rgb(scene)[...] = 0
    np.testing.assert_array_equal(pictures.rgb(scene), before)


def test_tiles_that_are_kept_are_read_only() -> None:
    assert not tiles.object_tile(WALL, 16).flags.writeable
    assert not tiles.piece_tile(tiles.AgentFigure(0, 0), 16).flags.writeable


def test_a_picture_painted_anew_is_the_same() -> None:
    before = pictures.rgb(TWO)
    tiles.object_tile.cache_clear()
    tiles.piece_tile.cache_clear()
    np.testing.assert_array_equal(pictures.rgb(TWO), before)


def test_cells_lie_where_they_should() -> None:
    picture = pictures.rgb(ONE, 16)
    for y, x in ((0, 4), (1, 3), (2, 1), (2, 2)):
        place = picture[16 * y : 16 * y + 16, 16 * x : 16 * x + 16]
        np.testing.assert_array_equal(place, tiles.object_tile(int(ROOM[y, x]), 16))


def test_an_agent_changes_its_own_cell_only() -> None:
    changed = pictures.rgb(ONE, 16) != pictures.rgb(replace(ONE, agents=()), 16)
    ys, xs = np.nonzero(changed.any(axis=2))
    assert set(zip((ys // 16).tolist(), (xs // 16).tolist(), strict=True)) == {(1, 1)}


@pytest.mark.parametrize("tile", [8, 16, 64])
def test_every_object_looks_different(tile: int) -> None:
    assert set(tiles.PAINTERS) == set(NAMES)
    codes = [*NAMES, NEW, NEW + 1]
    assert len({tiles.object_tile(code, tile).tobytes() for code in codes}) == len(codes)


@pytest.mark.parametrize("tile", [8, 24, 64])
def test_every_agent_heading_and_load_looks_different(tile: int) -> None:
    pieces = [
        tiles.AgentFigure(number, heading, carrying)
        for number in range(MAX_AGENTS)
        for heading in range(4)
        for carrying in (0, KEY)
    ]
    assert len({tiles.piece_tile(piece, tile).tobytes() for piece in pieces}) == len(pieces)


def test_numbers_are_shown_to_tell_several_agents_apart() -> None:
    alone = replace(TWO, agents=TWO.agents[:1])
    cell = slice(24, 48), slice(24, 48)
    assert (pictures.rgb(TWO, 24)[cell] != pictures.rgb(alone, 24)[cell]).any()
    cell = slice(23, 46), slice(23, 46)
    np.testing.assert_array_equal(pictures.rgb(TWO, 23)[cell], pictures.rgb(alone, 23)[cell])


def test_a_later_object_needs_one_painter(monkeypatch: pytest.MonkeyPatch) -> None:
    def paint_lamp(canvas: Canvas) -> None:
        canvas.box((0, 0), (1, 1), "#ff0000")

    monkeypatch.setitem(tiles.PAINTERS, NEW + 2, paint_lamp)
    tiles.object_tile.cache_clear()
    lamp = tiles.object_tile(NEW + 2, 10)
    tiles.object_tile.cache_clear()
    assert lamp[5, 5].tolist() == [255, 0, 0]


def test_who_has_ended_is_pale_and_below_who_plays() -> None:
    """One that is still to come is not on the map."""
    floor = pictures.rgb(replace(TWO, agents=()), 32).astype(int)
    there = figure(0, 1, 1, 2)
    lively = pictures.rgb(replace(TWO, agents=(there,)), 32).astype(int)
    ended = pictures.rgb(replace(TWO, agents=(replace(there, alive=False),)), 32).astype(int)
    strong, weak = abs(lively - floor).sum(), abs(ended - floor).sum()
    assert 0.2 * strong < weak < 0.6 * strong
    coming = replace(there, alive=False, coming=True)
    np.testing.assert_array_equal(pictures.rgb(replace(TWO, agents=(coming,)), 32), floor)
    both = (replace(there, alive=False), figure(1, 1, 1, 2))
    top = pictures.rgb(replace(TWO, agents=both), 32).astype(int)
    alone = pictures.rgb(replace(TWO, agents=both[1:]), 32).astype(int)
    assert (abs(top - alone).max(axis=2) > 0).mean() < 0.02  # but for soft edges


# -- what is seen is lit --------------------------------------------------------------------


@pytest.mark.parametrize("see_through", [True, False])
def test_what_some_agent_sees_is_lit(see_through: bool) -> None:
    env = piase_gym.parallel_env(
        "GridWorld", agents=2, layout="four_rooms", width=11, height=11, window=5,
        see_through_walls=see_through,
    )  # fmt: skip
    env.reset(seed=1)
    world = env.world
    seen = set()
    for agent in range(2):
        facts = world.facts(agent)
        seen.add(facts.position)
        seen |= {tuple(t.properties["position"]) for t in world.surroundings(facts).objects}
    scene = world._scene()
    assert scene.lit is not None
    assert all(scene.lit[y, x] for x, y in seen)
    assert 2 < scene.lit.sum() < 50
    picture, bright = world.rgb(), pictures.rgb(replace(scene, lit=None))
    size = len(picture) // 11
    for y in range(11):
        for x in range(11):
            tile = (slice(y * size, (y + 1) * size), slice(x * size, (x + 1) * size))
            assert np.array_equal(picture[tile], bright[tile]) == bool(scene.lit[y, x]), (x, y)


def test_a_grid_that_is_seen_whole_has_no_dark() -> None:
    env = piase_gym.parallel_env("GridWorld", observe="grid")
    env.reset(seed=1)
    assert env.world._scene().lit is None


@pytest.mark.parametrize(
    ("height", "width", "wanted"),
    [
        # 512 pixels by cells of the longer side, to the nearest even number, from 8 to 64.
        (16, 4, 32), (4, 16, 32), (13, 13, 40), (27, 5, 18), (7, 7, 64), (8, 1, 64), (9, 1, 56),
        (64, 64, 8), (60, 10, 8), (1, 1, 64), (100, 3, 8), (51, 2, 10), (50, 2, 10),
    ],
)  # fmt: skip
def test_a_picture_is_about_512_pixels_long(height: int, width: int, wanted: int) -> None:
    assert default_tile(height, width) == wanted
