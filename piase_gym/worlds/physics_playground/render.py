"""Pictures of PhysicsPlayground: letters, and Bullet's software renderer. They read a state."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.bodies import Pose
from piase_gym.worlds.physics_playground.bullet import Simulation
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.reading import Reading
from piase_gym.worlds.physics_playground.state import PlayState

COLUMNS, LINES = 41, 21
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
ZONE = np.array([60, 170, 90])
LETTERS = {"box": "b", "ball": "o", "cylinder": "c", "crate": "C", "wall": "#", "ramp": "/"}


def agent_colour(number: int, count: int) -> tuple[float, float, float]:
    """Return an agent's colour: hues around the circle."""
    return colorsys.hsv_to_rgb((0.58 + number / max(count, 1)) % 1.0, 0.75, 0.85)


def ansi(state: PlayState, reading: Reading, config: PhysicsPlaygroundConfig) -> str:
    """Draw the floor from above: digits for agents, ``x`` for targets, ``.`` for the zone."""
    rows = [[" "] * COLUMNS for _ in range(LINES)]

    def put(x: float, y: float, mark: str) -> None:
        column = round((x / config.size[0] + 0.5) * (COLUMNS - 1))
        line = round((0.5 - y / config.size[1]) * (LINES - 1))
        if 0 <= column < COLUMNS and 0 <= line < LINES:
            rows[line][column] = mark

    if state.zone:
        for line in range(LINES):
            for column in range(COLUMNS):
                x = (column / (COLUMNS - 1) - 0.5) * config.size[0]
                y = (0.5 - line / (LINES - 1)) * config.size[1]
                if math.dist((x, y), state.zone) <= config.zone:
                    rows[line][column] = "."
    for body in state.statics:
        for share in np.linspace(-1.0, 1.0, 41).tolist():
            along = share * body.half[0]
            x = body.position[0] + along * math.cos(body.yaw)
            put(x, body.position[1] + along * math.sin(body.yaw), LETTERS[body.shape])
    for target in state.targets:
        put(target[0], target[1], "x")
    for body, raw in zip(state.objects, reading.raw, strict=False):
        put(raw[0][0], raw[0][1], LETTERS[body.shape])
    for number, raw in enumerate(reading.raw[len(state.objects) :]):
        put(raw[0][0], raw[0][1], str(number))
    frame = "+" + "-" * COLUMNS + "+"
    body_lines = [f"|{''.join(row)}|" for row in rows]
    foot = f"step {state.t}: " + ", ".join(
        f"{body.name} {status}" for body, status in zip(state.agents, state.status, strict=False)
    )
    return "\n".join([frame, *body_lines, frame, foot])


def paint(sim: Simulation, state: PlayState) -> None:
    """Give every body its colour."""
    sim.paint(sim.built.floor, FLOOR)
    for number in sim.built.edges:
        sim.paint(number, WALLS)
    for number, body in zip(sim.built.statics, state.statics, strict=True):
        sim.paint(number, RAMPS if body.shape == "ramp" else WALLS)
    for number, body in zip(sim.objects, state.objects, strict=True):
        sim.paint(number, RGB[body.name.split()[0]])
    for i, number in enumerate(sim.agents):
        sim.paint(number, agent_colour(i, len(state.agents)))


def picture(
    sim: Simulation,
    state: PlayState,
    config: PhysicsPlaygroundConfig,
    viewer: Pose | None,
    side: int,
) -> NDArray[np.uint8]:
    """Take a picture; targets and zone are drawn on the floor that it shows.

    Args:
        sim: The client.
        state: For targets and zone.
        config: For sizes.
        viewer: The agent through whose eyes one looks; ``None`` looks from above.
        side: Pixels.

    Returns:
        Shape (side, side, 3).
    """
    if viewer is not None:
        x, y, z = viewer.position
        cx, cy = viewer.ahead
        eye = (x + 0.12 * cx, y + 0.12 * cy, z + 0.2)
        target, angle = (x + 1.5 * cx, y + 1.5 * cy, z - 0.1), 75.0
    else:
        wide = max(config.size)
        eye, target, angle = (0.0, -0.62 * wide, 0.95 * wide), (0.0, -0.04 * wide, 0.0), 55.0
    colours, bodies, matrix = sim.picture(eye, target, angle, side)
    floor = bodies == sim.built.floor
    if state.zone:
        _mark(colours, floor, matrix, state.zone, config.zone, ZONE)
    for number, place in enumerate(state.targets):
        shade = np.array(agent_colour(number, len(state.agents))) * 255.0
        _mark(colours, floor, matrix, place, config.tolerance, shade)
    return colours


def _mark(
    colours: NDArray[np.uint8],
    floor: NDArray[np.bool_],
    matrix: NDArray[np.float64],
    middle: Sequence[float],
    radius: float,
    shade: NDArray[np.float64] | NDArray[np.int64],
) -> None:
    """Tint a disc on the floor where the floor is seen."""
    side = len(colours)
    columns, lines = np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5)
    x, y = 2.0 * columns / side - 1.0, 1.0 - 2.0 * lines / side
    # The homography from the floor (z = 0) to the picture, inverted: pixel -> place.
    ground = np.linalg.inv(matrix[np.ix_((0, 1, 3), (0, 1, 3))])
    places = np.tensordot(ground, np.stack((x, y, np.ones_like(x))), axes=1)
    where = places[:2] / np.where(np.abs(places[2]) > 1e-9, places[2], 1e-9)
    away = np.hypot(where[0] - middle[0], where[1] - middle[1])
    disc = floor & (away <= radius)
    rim = disc & (away > radius - 0.06)
    colours[disc] = (0.55 * colours[disc] + 0.45 * shade).astype(np.uint8)
    colours[rim] = np.asarray(shade, np.float64).astype(np.uint8)
