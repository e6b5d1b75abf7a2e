"""Pictures of a commons: a `Scene` read from the state, drawn with letters or with pixels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.drawing import SCALE, Canvas
from piase_gym.worlds.grids.codes import AHEAD, FLOOR, HEADINGS
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
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, BARE, TABLE, WASTE, WATER
from piase_gym.worlds.social_dilemma.commons.rules import ZAP_BEAM
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig


@dataclass(frozen=True)
class Forager:
    """An agent as the picture shows it."""

    name: str
    number: int
    x: int
    y: int
    heading: int
    beam: int
    out: int
    eaten: int
    cleaned: int
    zaps: int


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a picture shows, apart from the state it was read from.

    Attributes:
        cells: The object codes, shape (height, width), with `BARE` where apples can grow.
        agents: The agents, by number.
        step: How many steps the episode has lasted.
        config: What is played.
    """

    cells: NDArray[np.uint8]
    agents: tuple[Forager, ...]
    step: int
    config: SocialDilemmaConfig


def scene(record: Any, side: int, config: SocialDilemmaConfig, names: Sequence[str]) -> Scene:
    """Read a scene out of the record of an environment; later steps do not change it."""
    width, height = int(record["width"]), int(record["height"])
    cells = record["cells"].reshape(side, side)[:height, :width].copy()
    columns = np.arange(width, dtype=np.uint64)
    spots = (record["spots"][:height, None] >> columns) & np.uint64(1)
    cells[(spots == 1) & (cells == FLOOR)] = BARE
    fields = "x y heading beam out eaten cleaned zaps".split()
    rows = zip(*(record[name][: config.agents].tolist() for name in fields), strict=True)
    agents = tuple(Forager(names[a], a, *row) for a, row in enumerate(rows))
    return Scene(cells, agents, int(record["t"]), config)


# -- letters ------------------------------------------------------------------------------


def ansi(scene: Scene) -> str:
    """Draw a scene with letters: the map, a legend, and a line for each agent.

    An agent is an arrow and its number in base 36.
    """
    signs = {**TABLE.signs, BARE: ","}
    grid = [[f"{signs[code]} " for code in row] for row in scene.cells.tolist()]
    for agent in scene.agents:
        if not agent.out:
            grid[agent.y][agent.x] = _sign(agent)
    shown = set(np.unique(scene.cells).tolist())
    names = {**TABLE.names, BARE: "bare ground for apples"}
    legend = [f"{signs[code]} {names[code]}" for code in signs if code in shown and code != FLOOR]
    head = f"{scene.config.game}: {scene.step} of {scene.config.length} steps"
    lines = [head, "", *("".join(row).rstrip() for row in grid), "", "   ".join(legend)]
    return "\n".join(lines + [_line(agent) for agent in scene.agents])


def _sign(agent: Forager) -> str:
    """Return the letters of an agent."""
    return ARROWS[agent.heading] + np.base_repr(agent.number, 36).lower()


def _line(agent: Forager) -> str:
    """Say in a few words where an agent is and what it has done."""
    place = (
        f"in time-out for {agent.out}"
        if agent.out
        else f"at ({agent.x}, {agent.y}), facing {HEADINGS[agent.heading]}"
    )
    deeds = f"{agent.eaten} eaten, {agent.cleaned} cleaned, {agent.zaps} zaps"
    return f"{_sign(agent)} {agent.name} {place}; {deeds}"


# -- pixels -------------------------------------------------------------------------------


def rgb(scene: Scene, tile: int | None = None) -> NDArray[np.uint8]:
    """Draw a scene with pixels; beams of this step shine over what they fly through.

    Args:
        scene: What to draw.
        tile: The side of a cell in pixels; by default one that makes the longer side of the
            picture about 512 pixels.
    """
    size = default_tile(*scene.cells.shape) if tile is None else tile
    numbered = size >= NUMBERED_TILE
    here = [agent for agent in reversed(scene.agents) if not agent.out]
    pieces = [beam for agent in here if agent.beam for beam in _beams(scene, agent, size)]
    pieces += [
        (a.x, a.y, piece_tile(AgentFigure(a.number, a.heading, 0, numbered), size)) for a in here
    ]
    return picture(scene.cells, pieces, size, lambda code: cell_tile(PAINTERS[code], size))


def _beams(scene: Scene, agent: Forager, tile: int) -> list[tuple[int, int, NDArray[np.uint8]]]:
    """Return the lit cells of an agent's beam, up to the first agent."""
    zap = agent.beam == ZAP_BEAM
    reach = scene.config.zap_range if zap else scene.config.clean_range
    taken = {(other.x, other.y) for other in scene.agents if not other.out}
    height, width = scene.cells.shape
    colour = "#ffd23f" if zap else "#7fd8ff"
    dx, dy = AHEAD[HEADINGS[agent.heading]]
    found = []
    for i in range(1, reach + 1):
        x, y = agent.x + i * dx, agent.y + i * dy
        if not (0 <= x < width and 0 <= y < height) or (x, y) in taken:
            break
        found.append((x, y, beam_tile(colour, agent.heading, tile)))
    return found


def paint_floor(canvas: Canvas) -> None:
    """Short grass, hardly darker than paper."""
    canvas.box((0, 0), (1, 1), "#eef1df")


def paint_bare(canvas: Canvas) -> None:
    """Bare earth with a few stalks."""
    canvas.box((0, 0), (1, 1), "#e6dcc3")
    if not canvas.tiny:
        for x in (0.3, 0.5, 0.7):
            canvas.line(((x, 0.75), (x + 0.04, 0.52)), 0.05, "#b39b6b")


def paint_apple(canvas: Canvas) -> None:
    """A red apple with a leaf, on earth."""
    canvas.box((0, 0), (1, 1), "#dfe8c6")
    if canvas.tiny:
        canvas.disc((0.5, 0.5), 0.34, "#d1332e")
        return
    canvas.disc((0.5, 0.6), 0.3, "#1f243028")
    canvas.disc((0.42, 0.56), 0.24, "#c42b27")
    canvas.disc((0.58, 0.56), 0.24, "#c42b27")
    canvas.disc((0.42, 0.52), 0.17, "#e0524a")
    canvas.line(((0.5, 0.4), (0.54, 0.22)), 0.06, "#6b4a2b")
    canvas.shape(((0.54, 0.28), (0.78, 0.16), (0.66, 0.36)), "#4f9d3a")


def paint_water(canvas: Canvas) -> None:
    """Water with two small waves."""
    canvas.box((0, 0), (1, 1), "#a9d3ec")
    if not canvas.tiny:
        for y in (0.35, 0.68):
            points = ((0.15, y), (0.32, y - 0.07), (0.5, y), (0.68, y - 0.07), (0.85, y))
            canvas.line(points, 0.05, "#7db5da")


def paint_waste(canvas: Canvas) -> None:
    """Water with brown blots."""
    canvas.box((0, 0), (1, 1), "#8ea39a")
    canvas.disc((0.5, 0.52), 0.36, "#6b5a35")
    if not canvas.tiny:
        for place, radius in (((0.3, 0.3), 0.14), ((0.72, 0.34), 0.1), ((0.68, 0.74), 0.13)):
            canvas.disc(place, radius, "#58492a")
        canvas.disc((0.44, 0.46), 0.12, "#85714a")


PAINTERS: Final[dict[int, Callable[[Canvas], None]]] = {
    FLOOR: paint_floor,
    APPLE: paint_apple,
    WATER: paint_water,
    WASTE: paint_waste,
    BARE: paint_bare,
}


@functools.lru_cache(maxsize=64)
def beam_tile(colour: str, heading: int, tile: int) -> NDArray[np.uint8]:
    """Return the picture of a piece of a beam, shape (tile, tile, 4); read-only."""
    image, canvas = blank_tile(tile)
    upright = heading % 2 == 0
    for half, share in ((0.26, "66"), (0.12, "cc")):
        start, end = (0.5 - half, 0.0), (0.5 + half, 1.0)
        if not upright:
            start, end = start[::-1], end[::-1]
        canvas.box(start, end, colour + share)
    return kept(image.reduce(SCALE))
