"""Pictures of GridWorld: a `Scene` read from the state, drawn with letters or with pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grid_world.cells import NAMES, OPAQUE, SYMBOLS
from piase_gym.worlds.grid_world.observe.tiles import object_tile, piece_tile
from piase_gym.worlds.grid_world.rules.events import IN_PLAY
from piase_gym.worlds.grids.figures import ARROWS, NUMBERED_TILE, AgentFigure, default_tile, picture
from piase_gym.worlds.grids.words import COMPASS
from piase_gym.worlds.texts.wording import article

UNKNOWN: Final = "?"
"""The sign of an object that has none."""


@dataclass(frozen=True)
class Figure:
    """An agent as the picture shows it.

    Attributes:
        name: Its name.
        number: Its index among the agents, which determines its colour.
        x: Its column.
        y: Its row, from the top.
        heading: 0 up, 1 right, 2 down, 3 left.
        carrying: The code of what it carries, or 0.
        alive: Whether it is in play; one that is not is left out of the map.
        coming: Whether it has yet to enter.
    """

    name: str
    number: int
    x: int
    y: int
    heading: int
    carrying: int
    alive: bool
    coming: bool = False


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that a picture shows, independent of the state it was read from.

    Attributes:
        cells: The object codes, shape (height, width); read-only.
        agents: The agents, by number.
        step: How many steps the episode has lasted.
        lit: Which cells some agent sees, in the shape of `cells`; ``None`` lights all.
    """

    cells: NDArray[np.uint8]
    agents: tuple[Figure, ...]
    step: int
    lit: NDArray[np.bool_] | None = None

    @property
    def present(self) -> tuple[Figure, ...]:
        """The agents on the map, the topmost last: on a shared cell the lowest number is on top."""
        return tuple(agent for agent in reversed(self.agents) if agent.alive)


def scene(record: Any, side: int, names: Sequence[str]) -> Scene:
    """Read a scene from the record of an environment.

    Args:
        record: The record; see `piase_gym.worlds.grid_world.state.layout`.
        side: The side of the square in which the record keeps its cells.
        names: The names of the agents, at least as many as there are in the record.

    Returns:
        A copy: later steps do not change it.
    """
    width, height = int(record["width"]), int(record["height"])
    cells = record["cells"][: side * side].reshape(side, side)[:height, :width].copy()
    cells.setflags(write=False)
    fields = [record[field].tolist() for field in ("x", "y", "heading", "carry", "alive", "fate")]
    agents = tuple(
        Figure(names[a], a, x, y, heading, carrying, bool(alive), not alive and fate == IN_PLAY)
        for a, (x, y, heading, carrying, alive, fate) in enumerate(
            list(zip(*fields, strict=True))[: int(record["agents"])]
        )
    )
    return Scene(cells, agents, int(record["t"]))


# -- letters ------------------------------------------------------------------------------


def ansi(scene: Scene) -> str:
    """Draw a scene with letters: the map, a legend, and a line for each agent.

    A lone agent is an arrow. If there are several, each is an arrow and a number in base 36, and
    every cell takes two characters.
    """
    several = len(scene.agents) > 1
    signs = {code: _sign(code, several) for code in np.unique(scene.cells).tolist()}
    grid = [[signs[code] for code in row] for row in scene.cells.tolist()]
    for agent in scene.present:
        grid[agent.y][agent.x] = _agent_sign(agent, several)
    shown = {sign for row in grid for sign in row}
    legend = [
        f"{sign.strip()} {_name(code)}"
        for code, sign in signs.items()
        if sign in shown and sign.strip()
    ]
    lines = ["".join(row).rstrip() for row in grid]
    lines += ["", "   ".join(legend)] if legend else [""]
    lines += [_agent_line(agent, several) for agent in scene.agents]
    return "\n".join(lines)


def _name(code: int) -> str:
    """Return the name of an object."""
    return NAMES.get(code, f"object {code}")


def _sign(code: int, several: bool) -> str:
    """Return the letters of an object; what blocks the view fills its cell."""
    sign = SYMBOLS.get(code, UNKNOWN)
    if not several:
        return sign
    return sign * 2 if code in OPAQUE else f"{sign} "


def _agent_sign(agent: Figure, several: bool) -> str:
    """Return the letters of an agent."""
    number = np.base_repr(agent.number, 36).lower() if several else ""
    return ARROWS[agent.heading] + number


def _agent_line(agent: Figure, several: bool) -> str:
    """Say in a few words how an agent is."""
    if agent.coming:
        return f"{_agent_sign(agent, several)} {agent.name} is still to come"
    start = f"{_agent_sign(agent, several)} {agent.name} at ({agent.x}, {agent.y})"
    parts = [start, f"facing {COMPASS[agent.heading]}"]
    if agent.carrying:
        name = _name(agent.carrying)
        parts.append(f"carrying {article(name)} {name}")
    if not agent.alive:
        parts.append("done")
    return ", ".join(parts)


# -- pixels -------------------------------------------------------------------------------


def rgb(scene: Scene, tile: int | None = None) -> NDArray[np.uint8]:
    """Draw a scene with pixels: agents that are done are pale, and cells that nobody sees are dark.

    Args:
        scene: What to draw.
        tile: The side of a cell in pixels; by default one that makes the longer side of the
            picture about 512 pixels.

    Returns:
        A new array of shape (height * tile, width * tile, 3).

    Raises:
        ConfigError: If `tile` is less than 1.
    """
    size = default_tile(*scene.cells.shape) if tile is None else tile
    numbered = len(scene.agents) > 1 and size >= NUMBERED_TILE
    done = [agent for agent in reversed(scene.agents) if not (agent.alive or agent.coming)]
    gone = {(agent.x, agent.y): agent for agent in done}.values()  # one per cell
    pieces = []
    for a in (*gone, *scene.present) if size >= 1 else ():
        tile_of = piece_tile(AgentFigure(a.number, a.heading, a.carrying, numbered), size)
        pieces.append((a.x, a.y, tile_of if a.alive else pale(tile_of)))
    return picture(scene.cells, pieces, size, lambda code: object_tile(code, size), scene.lit)


def pale(figure: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a translucent copy of a figure."""
    found = figure.copy()
    found[..., 3] = found[..., 3] // 5 * 2
    return found
