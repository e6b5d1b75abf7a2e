"""Pictures are drawn as they were, stroke by stroke: the shapes, where, how large and how coloured.

Strokes are what the drawing library is asked to do; a plain box stands for each, and letters are
half as wide as high, so that nothing depends on the version of the library. Where the same strokes
give another picture, the tiles are set together otherwise. When one of these fails, look at the
picture (``env.render()``), and write the file anew with ``python -m tests.worlds.test_strokes``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ImageDraw, ImageFont

import piase_gym
from piase_gym.agents import Percept, make_agent
from piase_gym.core.digest import digest_bytes, digest_json
from piase_gym.core.rng import Stream
from piase_gym.errors import UnsupportedError
from piase_gym.worlds.grid_world.cells import CELLS, KEY
from piase_gym.worlds.grid_world.observe import pictures as maps
from piase_gym.worlds.grid_world.observe import tiles
from piase_gym.worlds.grids import figures
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.observe import pictures as houses
from piase_gym.worlds.own.pictures import picture as of_lines
from piase_gym.worlds.social_dilemma.commons import pictures as commons
from piase_gym.worlds.social_dilemma.commons.rules import CLEANING_BEAM, ZAP_BEAM
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.matrix import pictures as games
from piase_gym.worlds.word_craft.observe import pictures as tables
from tests.worlds.test_golden import FORMS, draw

FILE = Path(__file__).with_name("golden_strokes.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
KINDS = "rectangle rounded_rectangle ellipse polygon line pieslice text".split()
NAMES = tuple(f"agent_{k}" for k in range(12))

# -- strokes instead of shapes --------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return what a stroke is given, with numbers to a hundredth and letters by their size."""
    if isinstance(value, int | float):
        return round(float(value), 2)
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return getattr(value, "size", value)


def numbers(value: Any) -> Iterator[float]:
    """Yield the numbers of points in any form."""
    for part in value:
        yield from [part] if isinstance(part, int | float) else numbers(part)


def width(text: str, font: Any, *_: Any, **__: Any) -> float:
    """Return how wide words are when letters are half as wide as high."""
    return float(len(text) * font.size / 2)


def bounds(_pen: Any, at: Sequence[float], text: str, font: Any, *_: Any, **__: Any) -> Any:
    """Return the corners of words."""
    return (*at, at[0] + width(text, font), at[1] + font.size)


@contextmanager
def strokes() -> Iterator[list[Any]]:
    """Draw boxes instead of anything else, and keep what was asked for."""
    found: list[Any] = []
    fill = ImageDraw.ImageDraw.rectangle

    def stroke(kind: str, names: inspect.Signature, pen: Any, *args: Any, **more: Any) -> None:
        given = names.bind(pen, *args, **more).arguments
        given.pop("self")
        found.append([kind, {name: plain(value) for name, value in given.items()}])
        xs, ys = (list(numbers(given["xy"]))[k::2] for k in (0, 1))
        if kind == "text":
            xs.append(xs[0] + width(given["text"], given["font"]))
            ys.append(ys[0] + given["font"].size)
        box = [round(end) for end in (min(xs), min(ys), max(xs), max(ys))]
        fill(pen, box, given.get("fill"))

    with pytest.MonkeyPatch.context() as patch:
        for kind in KINDS:
            names = inspect.signature(getattr(ImageDraw.ImageDraw, kind))
            # A function, so that it becomes a method.
            patch.setattr(
                ImageDraw.ImageDraw,
                kind,
                lambda pen, *args, kind=kind, names=names, **more: stroke(
                    kind, names, pen, *args, **more
                ),
            )
        patch.setattr(ImageDraw.ImageDraw, "textbbox", bounds)
        patch.setattr(
            ImageDraw.ImageDraw, "textlength", lambda _, *rest, **more: width(*rest, **more)
        )
        patch.setattr(ImageFont.FreeTypeFont, "getlength", lambda font, text: width(text, font))
        forget_tiles()
        yield found
    forget_tiles()


def forget_tiles() -> None:
    """Forget the pictures of tiles that are kept."""
    for module in (tiles, figures, commons, houses):
        for thing in vars(module).values():
            if hasattr(thing, "cache_clear"):
                thing.cache_clear()


# -- what is drawn --------------------------------------------------------------------------------


def every_cell(codes: Sequence[int]) -> Any:
    """Return a map of floor, five wide, with every code, and with four free rows below."""
    rows = -(-len(codes) // 5)
    cells = np.full((rows + 4) * 5, FLOOR, np.uint8)
    cells[: len(codes)] = codes
    return cells.reshape(rows + 4, 5)


def grid(tile: int | None, alone: bool = False) -> tuple[Any, str]:
    """A map with every cell, one that has no painter, and agents in every state."""
    cells = every_cell([*(kind.code for kind in CELLS.kinds), 250])
    low = len(cells) - 1
    agents = [
        maps.Figure(NAMES[0], 0, 0, low, 0, 0, True),
        maps.Figure(NAMES[1], 1, 1, low, 1, KEY, True),
        maps.Figure(NAMES[2], 2, 2, low, 2, 250, True),
        maps.Figure(NAMES[3], 6, 3, low, 3, 0, True),
        maps.Figure(NAMES[4], 11, 4, low - 1, 0, KEY, True),
        maps.Figure(NAMES[5], 33, 4, low, 2, 0, False),
        maps.Figure(NAMES[6], 7, 4, low, 3, 0, False),
        maps.Figure(NAMES[7], 8, 0, 0, 3, 0, False, coming=True),
        maps.Figure(NAMES[8], 9, 4, low - 1, 1, 0, True),
    ]
    lit = np.ones(cells.shape, np.bool_)
    lit[::2, ::3] = False
    scene = maps.Scene(cells, tuple(agents[1:2] if alone else agents), 7, None if alone else lit)
    return maps.rgb(scene, tile), maps.ansi(scene)


def orchard(tile: int | None) -> tuple[Any, str]:
    """A commons with every cell and every beam, at whose ends are agents, edges and nothing."""
    cells = every_cell([*commons.PAINTERS])
    config = SocialDilemmaConfig(game="cleanup", agents=6, zap_range=2, clean_range=3)
    agents = (
        commons.Forager(NAMES[0], 0, 0, 3, 1, ZAP_BEAM, 0, 1, 2, 3),
        commons.Forager(NAMES[1], 1, 4, 4, 0, CLEANING_BEAM, 0, 0, 0, 0),
        commons.Forager(NAMES[2], 2, 4, 2, 3, ZAP_BEAM, 0, 0, 0, 0),
        commons.Forager(NAMES[3], 3, 2, 1, 2, CLEANING_BEAM, 4, 5, 0, 1),
        commons.Forager(NAMES[4], 4, 1, 2, 2, CLEANING_BEAM, 0, 0, 0, 0),
        commons.Forager(NAMES[11], 11, 3, 3, 0, 0, 0, 0, 0, 0),
    )
    scene = commons.Scene(cells, agents, 3, config)
    return commons.rgb(scene, tile), commons.ansi(scene)


def house(tile: int | None) -> tuple[Any, str]:
    """A house with every column, agents on every level, and objects."""
    cells = every_cell([*houses.PAINTERS])
    config = ObjectSearchConfig(agents=3, width=5, height=5)
    inspected = np.zeros(cells.shape, np.bool_)
    inspected[1:, 1:] = True
    agents = (
        houses.Explorer(NAMES[0], 0, 0, 2, 0, 0, 0, 0, 0),
        houses.Explorer(NAMES[1], 1, 1, 2, 1, 1, 1, 1, 2),
        houses.Explorer(NAMES[2], 2, 2, 2, 2, 3, 2, 2, 1),
    )
    objects = (houses.DrawnObject("mug", 3, 1, True), houses.DrawnObject("book", 4, 2, False))
    scene = houses.Scene(cells, inspected, agents, objects, 9, config)
    return houses.rgb(scene, tile), houses.ansi(scene)


def match(game: str, agents: int, played: int, names: Sequence[str] = NAMES) -> tuple[Any, str]:
    """A matrix game after so many rounds."""
    config = SocialDilemmaConfig(game=game, agents=agents)
    dice = Stream(played)
    rounds = tuple(
        tuple(not dice.integer(3) for _ in range(min(played, 64))) for _ in range(agents)
    )
    scores = tuple(1.25 * k * played for k in range(agents))
    scene = games.Match(config, tuple(names[:agents]), played, scores, rounds)
    return games.rgb(scene), games.ansi(scene)


def craft(tables_of: int, things: int) -> tuple[Any, str]:
    """A table or several, and a tree of three steps."""
    long = "a remarkably long name of a thing"
    recipes = (("cake", "dough", long), ("dough", "flour", "water"), (long, "ice", "flour"))
    table = [long, "flour", None, "water", *(f"thing {k}" for k in range(4, things))]
    hands = (long, None, "flour")
    made, left = {"dough"}, (3, 2, 0)
    lying = [table[k:] for k in range(tables_of)]
    scene = tables.Scene(recipes, made, lying, hands, left, NAMES[:3], things)
    return tables.rgb(scene), tables.ansi(scene)


DRAWN: dict[str, Callable[[], tuple[Any, str]]] = {
    **{f"a grid of {tile or 'any'}": partial(grid, tile) for tile in (None, 10, 16, 24)},
    "a grid of one": partial(grid, 24, True),
    **{f"an orchard of {tile or 'any'}": partial(orchard, tile) for tile in (None, 10, 23, 24)},
    **{f"a house of {tile or 'any'}": partial(house, tile) for tile in (None, 10, 23, 24)},
    "a dilemma that begins": partial(match, "prisoners_dilemma", 2, 0),
    "a dilemma": partial(match, "prisoners_dilemma", 2, 5),
    "a long hunt": partial(match, "stag_hunt", 2, 80, ("a name that is too long to be shown", "b")),
    "a good of three": partial(match, "public_goods", 3, 4),
    "a good that begins": partial(match, "public_goods", 8, 0),
    "a good of many": partial(match, "public_goods", 9, 70),
    "a table": partial(craft, 1, 6),
    "two tables": partial(craft, 2, 9),
    "three tables": partial(craft, 3, 50),
    "lines": lambda: (of_lines("one\n\n" + 30 * "many words " + 30 * "\nlast"), ""),
}
"""What is drawn from scenes."""
PLAYED: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: form for name, form in FORMS.items() if form[0] not in ("ObjectSearch",)},
    "a lost key": ("TextRoom", {"scenario": "lost_key"}),
    "two in a home": ("Household", {"agents": 2, "tasks": ("heat", "cool", "clean", "look")}),
    "a small home": (
        "Household",
        {"tasks": ("pick",), "receptacles": 3, "objects": 2, "rooms": ("bathroom",)},
    ),
    "a mock search": ("ObjectSearch", {"backend": "mock", "width": 12}),
    "a search": FORMS["a search"],
}
"""Episodes that are drawn: worlds and configs."""


def told(seen: list[Any], picture: Any, letters: str) -> list[Any]:
    """Return what is kept of a picture: its shape, and digests of all that there is of it."""
    pixels = digest_bytes(np.ascontiguousarray(picture).tobytes())
    return [list(picture.shape), len(seen), digest_json(seen), pixels, digest_json(letters)]


def scene_of(name: str) -> list[Any]:
    """Return what is kept of a picture of a scene."""
    with strokes() as seen:
        return told(seen, *DRAWN[name]())


def episode(name: str) -> list[Any]:
    """Return what is kept of pictures of an episode that is played well, but not by all."""
    world, config = PLAYED[name]
    env = piase_gym.parallel_env(world, **config)
    env.reset(seed=5)
    dice, found = Stream(3), []
    oracles = {agent: make_agent("oracle") for agent in env.agents[:2]}
    for step in range(17):
        if step % 4 == 0:
            with strokes() as seen:
                found.append(told(seen, env.world.rgb(), env.world.ansi()))
        acts = {agent: draw(env, agent, dice) for agent in env.agents}
        for agent in acts.keys() & oracles.keys():
            with suppress(UnsupportedError):
                oracles[agent].perceive(Percept(env.world, env.world.agents.index(agent), step))
                acts[agent] = oracles[agent].act()
        if env.agents:
            env.step(acts)
    env.close()
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_scenes_are_drawn_stroke_by_stroke_as_they_were(name: str) -> None:
    assert scene_of(name) == GOLDEN[name]


@pytest.mark.parametrize("name", PLAYED)
def test_episodes_are_drawn_stroke_by_stroke_as_they_were(name: str) -> None:
    assert episode(name) == GOLDEN[name]


if __name__ == "__main__":
    made = {name: scene_of(name) for name in DRAWN} | {name: episode(name) for name in PLAYED}
    rows = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in made.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
