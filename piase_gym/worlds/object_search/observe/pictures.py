"""Pictures of ObjectSearch: a `Scene` read from the state, drawn with letters or with pixels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.drawing import (
    DARK_WOOD,
    GOLD,
    INK,
    LIGHT_WOOD,
    SCALE,
    WHITE,
    WOOD,
    Canvas,
    mix,
)
from piase_gym.worlds.grids.codes import FLOOR, HEADINGS, WALL
from piase_gym.worlds.grids.figures import (
    ARROWS,
    NUMBERED_TILE,
    AgentFigure,
    blank_tile,
    cell_tile,
    default_tile,
    kept,
    picture,
    piece_tile,
)
from piase_gym.worlds.object_search.codes import LOW, PITCHES, ROLLS, TABLE, TALL
from piase_gym.worlds.object_search.config import ObjectSearchConfig


@dataclass(frozen=True)
class Explorer:
    """An agent as the picture shows it."""

    name: str
    number: int
    x: int
    y: int
    z: int
    heading: int
    pitch: int
    roll: int
    reports: int


@dataclass(frozen=True)
class DrawnObject:
    """An object as the picture shows it."""

    name: str
    x: int
    y: int
    found: bool


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a picture shows, independent of the state it was read from.

    Attributes:
        cells: What fills the columns, shape (height, width).
        inspected: Which columns somebody has looked at, of the same shape.
        agents: The agents in play, by number.
        objects: The objects, in their order.
        step: How many steps the episode has lasted.
        config: The config that is played.
    """

    cells: NDArray[np.uint8]
    inspected: NDArray[np.bool_]
    agents: tuple[Explorer, ...]
    objects: tuple[DrawnObject, ...]
    step: int
    config: ObjectSearchConfig


def scene(record: Any, side: int, config: ObjectSearchConfig, names: Sequence[str]) -> Scene:
    """Read a scene from the record of an environment; later steps do not change it."""
    width, height = int(record["width"]), int(record["height"])
    if config.in_house:
        cells = record["cells"].reshape(side, side)[:height, :width].copy()
        inspected = record["inspected"].reshape(side, side)[:height, :width] > 0
    else:
        cells = np.full((1, width), FLOOR, np.uint8)
        inspected = record["inspected"][None, :width] > 0
    fields = "x y z heading pitch roll reports".split()
    rows = zip(*(record[name].tolist() for name in fields), strict=True)
    agents = tuple(
        Explorer(names[a], a, *row)
        for a, row in enumerate(rows)
        if a < config.agents and record["alive"][a]
    )
    found, goal = int(record["found"]), int(record["goal"])
    objects = tuple(
        DrawnObject(name, x, y, bool(found >> i & 1))
        for i, name in enumerate(config.object_names)
        if goal >> i & 1
        for x, y in _places(record, i, side, config)
    )
    return Scene(cells, inspected, agents, objects, int(record["t"]), config)


def _places(
    record: Any, thing: int, side: int, config: ObjectSearchConfig
) -> list[tuple[int, int]]:
    """Return where an object lies; on a line, it may lie at several positions."""
    if config.in_house:
        cell = int(record["place"][thing])
        return [(cell % side, cell // side)]
    return [(x, 0) for x, here in enumerate(record["shelf"].tolist()) if here >> thing & 1]


# -- letters ------------------------------------------------------------------------------


def ansi(scene: Scene) -> str:
    """Draw a scene with letters: the map, a legend, and a line for each agent."""
    grid = [[f"{TABLE.signs[code]} " for code in row] for row in scene.cells.tolist()]
    for thing in scene.objects:
        grid[thing.y][thing.x] = "* " if thing.found else "? "
    for agent in reversed(scene.agents):
        grid[agent.y][agent.x] = f"{ARROWS[agent.heading]}{agent.number}"
    found = sum(thing.found for thing in scene.objects)
    head = f"{found} of {len(scene.objects)} objects found after {scene.step} steps"
    legend = "# wall   o low furniture   O tall furniture   ? object   * found object"
    lines = [head, "", *("".join(row).rstrip() for row in grid), ""]
    lines += [legend if scene.config.in_house else "? object   * found object"]
    return "\n".join(lines + [_line(agent, scene.config) for agent in scene.agents])


def _line(agent: Explorer, config: ObjectSearchConfig) -> str:
    """Describe an agent in a few words."""
    sign = f"{ARROWS[agent.heading]}{agent.number} {agent.name}"
    if not config.in_house:
        return f"{sign} at position {agent.x}; {agent.reports} reports"
    return (
        f"{sign} at ({agent.x}, {agent.y}), level {agent.z}, facing {HEADINGS[agent.heading]}, "
        f"looking {PITCHES[agent.pitch]}, head {ROLLS[agent.roll]}; {agent.reports} reports"
    )


# -- pixels -------------------------------------------------------------------------------


def rgb(scene: Scene, tile: int | None = None) -> NDArray[np.uint8]:
    """Draw a scene with pixels; columns that nobody has looked at are dark.

    Args:
        scene: What to draw.
        tile: The side of a column in pixels; by default one that makes the longer side of the
            picture about 512 pixels.
    """
    size = default_tile(*scene.cells.shape) if tile is None else tile
    numbered = size >= NUMBERED_TILE
    pieces = [(o.x, o.y, thing_tile(o.found, o.name[:2], size)) for o in scene.objects]
    pieces += [
        (a.x, a.y, piece_tile(AgentFigure(a.number, a.heading, 0, numbered), size, a.z))
        for a in reversed(scene.agents)
    ]
    return picture(
        scene.cells, pieces, size, lambda code: cell_tile(PAINTERS[code], size), scene.inspected
    )


def paint_floor(canvas: Canvas) -> None:
    """Boards, hardly darker than paper."""
    canvas.box((0, 0), (1, 1), "#f3ede2")
    if not canvas.tiny:
        canvas.line(((0.02, 0.5), (0.98, 0.5)), 0.02, "#e6ddcc")


def paint_wall(canvas: Canvas) -> None:
    """Plaster with a dark rim."""
    canvas.box((0, 0), (1, 1), "#5d6673")
    canvas.box((0.06, 0.06), (0.94, 0.94), "#6f7986")


def paint_low(canvas: Canvas) -> None:
    """A low table, seen from above."""
    paint_floor(canvas)
    canvas.box((0.08, 0.12), (0.92, 0.95), "#1f243030", 0.12)
    canvas.box((0.08, 0.08), (0.92, 0.9), LIGHT_WOOD, 0.12)
    canvas.box((0.15, 0.15), (0.85, 0.83), mix(LIGHT_WOOD, WHITE, 0.2), 0.08)


def paint_tall(canvas: Canvas) -> None:
    """A wardrobe, seen from above."""
    canvas.box((0, 0), (1, 1), DARK_WOOD)
    canvas.box((0.07, 0.07), (0.93, 0.93), WOOD)
    if not canvas.tiny:
        canvas.line(((0.12, 0.12), (0.88, 0.88)), 0.03, DARK_WOOD)
        canvas.line(((0.88, 0.12), (0.12, 0.88)), 0.03, DARK_WOOD)


PAINTERS: Final[dict[int, Callable[[Canvas], None]]] = {
    FLOOR: paint_floor,
    WALL: paint_wall,
    LOW: paint_low,
    TALL: paint_tall,
}


@functools.lru_cache(maxsize=256)
def thing_tile(found: bool, letters: str, tile: int) -> NDArray[np.uint8]:
    """Return the picture of an object: gold once it is found, else a grey ring."""
    image, canvas = blank_tile(tile)
    canvas.disc((0.5, 0.5), 0.34, INK if found else "#8d949e")
    canvas.disc((0.5, 0.5), 0.28, GOLD if found else "#d9dde2")
    if tile >= NUMBERED_TILE:
        canvas.text((0.5, 0.5), 0.3, letters, INK)
    return kept(image.reduce(SCALE))
