"""Pictures of PhysicsPlayground, in letters and in perspective. They read a state."""

from __future__ import annotations

import colorsys
import functools
import math
import textwrap
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.bullet.client import ground
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.geometry import rotate, upright
from piase_gym.worlds.physics_playground.levels.bodies import ROVER, SPHERE
from piase_gym.worlds.physics_playground.observe.raycast import (
    SAMPLES,
    Camera,
    Mark,
    Solid,
    draw,
    parts_with,
)
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.state import Body, PlayState

COLUMNS, LINES = 60, 30
"""The largest numbers of letters across the board and down it."""
RGB: dict[str, tuple[float, float, float]] = {
    "red": (0.84, 0.15, 0.16),
    "blue": (0.20, 0.40, 0.85),
    "green": (0.20, 0.65, 0.25),
    "yellow": (0.95, 0.80, 0.15),
    "purple": (0.55, 0.25, 0.65),
    "orange": (0.95, 0.50, 0.10),
    "white": (0.97, 0.97, 0.97),
    "black": (0.12, 0.12, 0.12),
    "pink": (0.95, 0.55, 0.70),
    "brown": (0.50, 0.30, 0.15),
    "grey": (0.55, 0.55, 0.55),
    "cyan": (0.20, 0.80, 0.85),
    "olive": (0.50, 0.50, 0.10),
    "navy": (0.08, 0.12, 0.45),
    "teal": (0.05, 0.50, 0.50),
    "maroon": (0.50, 0.05, 0.15),
}
FLOOR, WALLS, RAMPS = (0.90, 0.88, 0.84), (0.60, 0.62, 0.66), (0.75, 0.65, 0.50)
ZONE = (0.24, 0.67, 0.35)
LETTERS = {"box": "b", "ball": "o", "cylinder": "c", "crate": "C", "wall": "#", "ramp": "%"}


def agent_colour(number: int, count: int) -> tuple[float, float, float]:
    """Return an agent's colour: hues around the circle."""
    return colorsys.hsv_to_rgb((0.58 + number / max(count, 1)) % 1.0, 0.75, 0.85)


def ansi(state: PlayState, reading: BodyReadings, config: PhysicsPlaygroundConfig) -> str:
    """Draw the floor from above in letters, one letter per place, and say what they mean.

    A letter is twice as high as wide, and so is the place that it stands for. An agent is drawn as
    its number, with a mark next to it on the side to which it heads.
    """
    columns, lines = _board(config.size)
    rows = [[" "] * columns for _ in range(lines)]

    def spot(x: float, y: float) -> tuple[int, int]:
        across, down = x / config.size[0] + 0.5, 0.5 - y / config.size[1]
        return (
            min(columns - 1, max(0, int(across * columns))),
            min(lines - 1, max(0, int(down * lines))),
        )

    places = [
        ((column + 0.5) / columns - 0.5, 0.5 - (line + 0.5) / lines, column, line)
        for line in range(lines)
        for column in range(columns)
    ]
    for x, y, column, line in places:
        place = x * config.size[0], y * config.size[1]
        if state.zone and math.dist(place, state.zone) <= config.zone:
            rows[line][column] = "."
        for body in state.statics:
            if _covers(body, place):
                rows[line][column] = LETTERS[body.shape]
    for body in state.statics:  # parts that are thinner than a letter are drawn too
        for share in np.linspace(-1.0, 1.0, 2 * COLUMNS).tolist():
            along = share * body.half[0]
            x = body.position[0] + along * math.cos(body.yaw)
            column, line = spot(x, body.position[1] + along * math.sin(body.yaw))
            rows[line][column] = LETTERS[body.shape]
    for target in state.targets:
        column, line = spot(target[0], target[1])
        rows[line][column] = "x"
    for number in state.there:
        column, line = spot(*reading.raw[number][0][:2])
        rows[line][column] = LETTERS[state.objects[number].shape]
    agents = reading.raw[len(state.objects) :]
    for ahead in (True, False):  # no mark hides an agent
        for number, (place, q, *_) in enumerate(agents):
            column, line = spot(place[0], place[1])
            x, y, _ = rotate(q, (1.0, 0.0, 0.0))
            if not ahead:
                rows[line][column] = str(number)
                continue
            right, down, mark = _heading(x, y)
            if 0 <= column + right < columns and 0 <= line + down < lines:
                rows[line + down][column + right] = mark
    frame = "+" + "-" * columns + "+"
    body_lines = [f"|{''.join(row)}|" for row in rows]
    foot = f"step {state.t}: " + ", ".join(
        f"{body.name} {status}" for body, status in zip(state.agents, state.status, strict=False)
    )
    return "\n".join([frame, *body_lines, frame, *_wrapped([foot, _legend(state)])])


def _board(size: tuple[float, float]) -> tuple[int, int]:
    """Return how many columns and lines a floor has, within `COLUMNS` and `LINES`."""
    metre = min(COLUMNS / size[0], 2.0 * LINES / size[1])  # columns per metre
    return max(1, round(metre * size[0])), max(1, round(metre * size[1] / 2.0))


def _covers(body: Body, place: tuple[float, float]) -> bool:
    """Return whether a place is on a wall or ramp."""
    dx, dy = place[0] - body.position[0], place[1] - body.position[1]
    c, s = math.cos(body.yaw), math.sin(body.yaw)
    return abs(dx * c + dy * s) <= body.half[0] and abs(dy * c - dx * s) <= body.half[1]


def _heading(x: float, y: float) -> tuple[int, int, str]:
    """Return the offset from an agent at which its heading is shown, and the mark there."""
    eighth = round(4.0 * math.atan2(y, x) / math.pi) % 8
    right, down = ((1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1))[eighth]
    return right, down, ">/^\\</v\\"[eighth]


def _legend(state: PlayState) -> str:
    """Say what the letters that are there mean."""
    things = [*(state.objects[number] for number in state.there), *state.statics]
    found = {LETTERS[body.shape]: body.shape for body in things}
    parts = ["0, 1, …: agents, with ^ v < > / \\ where they head" if len(state.agents) > 1 else ""]
    parts[0] = parts[0] or "0: the agent, with ^ v < > / \\ where it heads"
    parts += [f"{letter} {name}" for letter, name in found.items()]
    parts += [". the zone"] if state.zone else []
    return ", ".join(parts + (["x target"] if state.targets else []))


def _wrapped(lines: Sequence[str]) -> list[str]:
    """Break lines so that they fit under the board."""
    return [part for line in lines for part in textwrap.wrap(line, COLUMNS + 2)]


def picture(
    state: PlayState,
    reading: BodyReadings,
    config: PhysicsPlaygroundConfig,
    viewer: int | None,
    side: int,
) -> NDArray[np.uint8]:
    """Draw the scene in perspective; targets and zone are marks on the floor.

    Args:
        state: What there is.
        reading: Where everything is.
        config: For sizes.
        viewer: The agent that the camera looks from; ``None`` for a view from above.
        side: The side of the picture in pixels.

    Returns:
        Shape (side, side, 3).
    """
    scene = _scene(state, config)
    fixed, moving = _fixed(scene), _moving(state, reading, viewer)
    if viewer is not None:
        (x, y, z), q, *_ = reading.raw[len(state.objects) + viewer]
        cx, cy, _ = rotate(q, (1.0, 0.0, 0.0))
        size = math.hypot(cx, cy) or 1.0
        cx, cy = cx / size, cy / size
        eye = (x + 0.12 * cx, y + 0.12 * cy, z + 0.2)
        camera = Camera(eye, (x + 1.5 * cx, y + 1.5 * cy, z - 0.1), 75.0, side * SAMPLES)
        return _pixels([*fixed, *moving], scene, camera)
    camera, found = _from_above(scene, side), _background(scene, side).copy()
    for part in parts_with(moving, camera):
        rows, columns = (slice(end.start // SAMPLES, end.stop // SAMPLES) for end in part)
        found[rows, columns] = _pixels([*fixed, *moving], scene, camera.cropped(part))
    return found


class Scene(NamedTuple):
    """What stays the same in an episode: the floor's size, walls and ramps, and the marks."""

    size: tuple[float, float]
    statics: tuple[tuple[str, tuple[float, ...], tuple[float, ...], float], ...]
    marks: tuple[Mark, ...]


def _scene(state: PlayState, config: PhysicsPlaygroundConfig) -> Scene:
    """Return what stays the same in an episode."""
    marks = [Mark(tuple(state.zone), config.zone, ZONE)] if state.zone else []
    marks += [
        Mark(tuple(place), config.tolerance, agent_colour(number, len(state.agents)))
        for number, place in enumerate(state.targets)
    ]
    statics = (
        (body.shape, tuple(body.half), tuple(body.position), body.yaw) for body in state.statics
    )
    return Scene(config.size, tuple(statics), tuple(marks))


def _from_above(scene: Scene, side: int) -> Camera:
    """Return a camera that has the whole floor in view."""
    wide = max(scene.size)
    eye = 0.0, -0.62 * wide, 0.95 * wide
    return Camera(eye, (0.0, -0.04 * wide, 0.0), 55.0, side * SAMPLES)


def _pixels(solids: Sequence[Solid], scene: Scene, camera: Camera) -> NDArray[np.uint8]:
    """Draw solids and the marks of a scene."""
    return np.round(255.0 * draw(solids, scene.marks, camera, FLOOR)).astype(np.uint8)


@functools.lru_cache(maxsize=8)
def _background(scene: Scene, side: int) -> NDArray[np.uint8]:
    """Draw a scene in which nothing moves."""
    return _pixels(_fixed(scene), scene, _from_above(scene, side))


def _fixed(scene: Scene) -> list[Solid]:
    """Return the walls and ramps; those around the floor cast no shadow on it."""
    found = [
        Solid("box", body.half, body.position, np.eye(3), WALLS, shadow=False)
        for body in ground(scene.size)[1:]
    ]
    for shape, half, place, yaw in scene.statics:
        turn = _matrix(upright(yaw))
        if shape == "ramp":
            found.append(Solid("wedge", half, place, turn, RAMPS))
        else:
            found.append(Solid("box", half, place, turn, WALLS))
    return found


def _moving(state: PlayState, reading: BodyReadings, viewer: int | None) -> list[Solid]:
    """Return the objects, and all agents except the viewer."""
    found: list[Solid] = []
    for number in state.there:
        body, (place, q, *_) = state.objects[number], reading.raw[number]
        shape: Any = body.shape if body.shape in ("ball", "cylinder") else "box"
        found.append(Solid(shape, body.half, place, _matrix(q), RGB[body.name.split()[0]]))
    count = len(state.agents)
    for number, (place, q, *_) in enumerate(reading.raw[len(state.objects) :]):
        if number != viewer:
            parts = ROVER_PARTS if state.agents[number].shape == "rover" else SPHERE_PARTS
            turn, colour = _matrix(q), agent_colour(number, count)
            found += [
                Solid(
                    part.shape,
                    part.half,
                    np.asarray(place) + turn @ np.asarray(part.position),
                    turn @ part.turn,
                    part.colour or colour,
                )
                for part in parts
            ]
    return found


def _matrix(q: Sequence[float]) -> NDArray[np.float64]:
    """Return the matrix of a quaternion."""
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return np.array([rotate(q, axis) for axis in axes]).T


class Part(NamedTuple):
    """A drawn piece of an agent, in the agent's frame; colour ``None`` is the agent's own."""

    shape: Literal["box", "ball", "cylinder"]
    half: tuple[float, float, float]
    position: tuple[float, float, float]
    colour: tuple[float, float, float] | None = None
    turn: NDArray[np.float64] = np.eye(3)


_TYRE, _GLASS = (0.13, 0.13, 0.15), (0.97, 0.97, 0.92)
_ON_EDGE = np.array(((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)))
_X, _Y, _Z = ROVER
ROVER_PARTS = (
    Part("box", (_X, _Y - 0.045, 0.6 * _Z), (0.0, 0.0, 0.2 * _Z)),
    Part("box", (0.3 * _X, 0.5 * _Y, 0.25 * _Z), (0.5 * _X, 0.0, _Z), _GLASS),
    *(
        Part("cylinder", (0.8 * _Z, 0.8 * _Z, 0.02), (x, y, -0.2 * _Z), _TYRE, _ON_EDGE)
        for x in (-0.62 * _X, 0.62 * _X)
        for y in (-_Y + 0.02, _Y - 0.02)
    ),
)
"""A hull on four wheels, with a window in front."""
SPHERE_PARTS = (
    Part("ball", (SPHERE,) * 3, (0.0, 0.0, 0.0)),
    Part("ball", (0.35 * SPHERE,) * 3, (0.8 * SPHERE, 0.0, 0.3 * SPHERE), _GLASS),
)
"""A ball with an eye in front."""
