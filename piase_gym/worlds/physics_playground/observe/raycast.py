"""Draws boxes, balls, cylinders and wedges on a floor, with light, shadows and smooth edges.

A ray goes through each sample of the picture, four samples per pixel. All solids are convex, so a
ray is inside one between two distances; only the part of the picture that a solid (or its shadow)
can cover is computed. Nothing depends on the order of solids, so nothing flickers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Colour = tuple[float, float, float]
Window = tuple[slice, slice]

SAMPLES = 2
"""Samples across a pixel, and down it."""
LIGHT = np.array((-0.42, -0.33, 0.85), np.float32)
"""The direction towards the light, a unit vector."""
AMBIENT, DIFFUSE = 0.55, 0.5
"""How bright a shadow is, and how much brighter a surface that faces the light is."""
SKY: Colour = (0.86, 0.90, 0.95)
RIM = 0.05
"""Width of the ring around a mark, in metres."""
NEAR = 0.02
CURVED = 3
"""The face of a solid that is perpendicular to no axis: round, or the slope of a wedge."""


@dataclass(frozen=True)
class Solid:
    """A convex body.

    Attributes:
        shape: What it is; a wedge rises along its x, a cylinder stands along its z.
        half: Half extents; for a ball, the radius repeated three times.
        position: Its centre.
        turn: Its rotation, shape (3, 3).
        colour: Red, green and blue, from 0 to 1.
        shadow: Whether it casts a shadow.
    """

    shape: Literal["box", "ball", "cylinder", "wedge"]
    half: Sequence[float]
    position: Sequence[float]
    turn: NDArray[np.float64]
    colour: Colour
    shadow: bool = True

    @property
    def radius(self) -> float:
        """Radius of a ball around it."""
        return self.half[0] if self.shape == "ball" else math.hypot(*self.half)


@dataclass(frozen=True)
class Mark:
    """A disc painted on the floor, with a ring around it."""

    middle: Sequence[float]
    radius: float
    colour: Colour


class Camera:
    """A pinhole camera.

    Args:
        eye: Where it is.
        target: What is in the middle of the picture.
        angle: Degrees from the left edge to the right.
        side: Samples from edge to edge.
    """

    def __init__(
        self, eye: Sequence[float], target: Sequence[float], angle: float, side: int
    ) -> None:
        self.eye, self.side = np.asarray(eye, np.float64), side
        ahead = np.asarray(target, np.float64) - self.eye
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        self.axes = np.stack((right, np.cross(right, ahead), ahead))
        self.wide = math.tan(math.radians(angle) / 2.0)
        self.part: Window = slice(0, side), slice(0, side)

    def cropped(self, part: Window) -> Self:
        """Return a camera that takes only a part of the picture."""
        found = copy.copy(self)
        found.part = part
        return found

    def rays(self) -> Floats:
        """Return the vector to each sample, one metre ahead, shape (rows, columns, 3)."""
        places = self.wide * (2.0 * (np.arange(self.side) + 0.5) / self.side - 1.0)
        places = places.astype(np.float32)
        right, up, ahead = self.axes.astype(np.float32)
        rows, columns = self.part
        found: Floats = places[None, columns, None] * right + -places[rows, None, None] * up + ahead
        return found

    def window(self, *balls: tuple[NDArray[np.float64], float]) -> Window | None:
        """Return the part of the picture that holds these balls, or ``None`` if none can be seen.

        It also holds the straight lines between balls that are ahead.
        """
        low, high = np.full(2, np.inf), np.full(2, -np.inf)
        for middle, radius in balls:
            *across, ahead = self.axes @ (middle - self.eye)
            if ahead - radius < NEAR:
                if ahead + radius > NEAR:
                    rows, columns = self.part
                    return slice(0, rows.stop - rows.start), slice(0, columns.stop - columns.start)
                continue
            for sign in (-1.0, 1.0):
                for depth in (ahead - radius, ahead + radius):
                    place = (np.array(across) + sign * radius) / (depth * self.wide)
                    low, high = np.minimum(low, place), np.maximum(high, place)
        if not (low < high).all():
            return None
        ends = np.array((-high[1], -low[1], low[0], high[0]))
        top, bottom, left, right = np.clip((ends + 1.0) / 2.0 * self.side, -1, self.side + 1)
        rows, columns = (
            slice(
                max(part.start, int(low)) - part.start, min(part.stop, int(high) + 1) - part.start
            )
            for part, low, high in zip(self.part, (top, left), (bottom, right), strict=True)
        )
        return (rows, columns) if rows.start < rows.stop and columns.start < columns.stop else None


def parts_with(solids: Iterable[Solid], camera: Camera) -> list[Window]:
    """Return parts of a picture, of whole pixels, that hold some solids and their shadows.

    No two of them overlap.
    """
    found: list[Window] = []
    for solid in solids:
        window = camera.window(*_with_shadow(solid))
        if window is None:
            continue
        rows, columns = (
            slice(end.start // SAMPLES * SAMPLES, -(-end.stop // SAMPLES) * SAMPLES)
            for end in window
        )
        while touched := [part for part in found if _overlap((rows, columns), part)]:
            found = [part for part in found if part not in touched]
            rows, columns = (
                slice(min(end.start for end in ends), max(end.stop for end in ends))
                for ends in zip((rows, columns), *touched, strict=True)
            )
        found.append((rows, columns))
    return found


def _overlap(one: Window, other: Window) -> bool:
    """Return whether two parts of a picture share a sample."""
    pairs = zip(one, other, strict=True)
    return all(a.start < b.stop and b.start < a.stop for a, b in pairs)


def _with_shadow(solid: Solid) -> tuple[tuple[NDArray[np.float64], float], ...]:
    """Return balls around a solid and around the foot of its shadow."""
    middle, light = np.asarray(solid.position, np.float64), LIGHT.astype(np.float64)
    foot = middle - light * (max(middle[2], 0.0) / light[2])
    return (middle, solid.radius), (foot, solid.radius / light[2])


def draw(solids: Sequence[Solid], marks: Sequence[Mark], camera: Camera, floor: Colour) -> Floats:
    """Draw a scene.

    Args:
        solids: The solids on the floor or above it.
        marks: The marks painted on the floor, the topmost last.
        camera: The camera; along each side it has `SAMPLES` samples per pixel of the picture.
        floor: The colour of the plane z = 0.

    Returns:
        Shape (side, side, 3), from 0 to 1; for a cropped camera, only its part.
    """
    rays, eye = camera.rays(), camera.eye.astype(np.float32)
    depth = np.full(rays.shape[:2], np.inf, np.float32)
    colours = np.empty_like(rays)
    colours[:] = SKY
    facing = np.full(rays.shape[:2], (1.0 - AMBIENT) / DIFFUSE, np.float32)  # the sky as it is
    owner = np.full(rays.shape[:2], -2, np.int16)
    down = rays[..., 2] < -1e-6
    depth[down] = -eye[2] / rays[..., 2][down]
    colours[down], facing[down], owner[down] = floor, LIGHT[2], -1
    for mark in marks:
        _paint(mark, colours, owner, rays, depth, camera)
    for number, solid in enumerate(solids):
        window = camera.window((np.asarray(solid.position), solid.radius))
        if window is None:
            continue
        start = eye - _floats(solid.position)
        near, far, face = _inside(solid, start, rays[window])
        seen = (near <= far) & (near > NEAR) & (near < depth[window])
        depth[window][seen] = near[seen]
        colours[window][seen], owner[window][seen] = solid.colour, number
        facing[window][seen] = _brightness(solid, start, rays[window][seen], near[seen], face[seen])
    lit = np.ones(rays.shape[:2], np.bool_)
    for number, solid in enumerate(solids):
        if solid.shadow:
            _darken(number, solid, lit, owner, rays, depth, camera)
    colours *= (AMBIENT + DIFFUSE * facing * lit)[..., None]
    height, width = (count // SAMPLES for count in rays.shape[:2])
    shape = (height, SAMPLES, width, SAMPLES, 3)
    mean: Floats = np.clip(colours, 0.0, 1.0).reshape(shape).mean((1, 3), dtype=np.float32)
    return mean


def _paint(
    mark: Mark,
    colours: Floats,
    owner: NDArray[np.int16],
    rays: Floats,
    depth: Floats,
    camera: Camera,
) -> None:
    """Tint the floor under a mark."""
    middle = np.array((*mark.middle[:2], 0.0))
    window = camera.window((middle, mark.radius))
    if window is None:
        return
    with np.errstate(invalid="ignore"):
        places = rays[window][..., :2] * depth[window][..., None] + _floats(camera.eye[:2])
    away = np.hypot(places[..., 0] - middle[0], places[..., 1] - middle[1])
    disc = (owner[window] == -1) & (away <= mark.radius)
    rim = disc & (away > mark.radius - RIM)
    colours[window][disc] = 0.6 * colours[window][disc] + 0.4 * _floats(mark.colour)
    colours[window][rim] = mark.colour


def _darken(
    number: int,
    solid: Solid,
    lit: NDArray[np.bool_],
    owner: NDArray[np.int16],
    rays: Floats,
    depth: Floats,
    camera: Camera,
) -> None:
    """Take away the light where a solid casts shadow on others; its own far side is dark anyway."""
    window = camera.window(*_with_shadow(solid))
    if window is None:
        return
    others = (owner[window] != number) & (owner[window] != -2) & lit[window]
    if not others.any():
        return
    places = rays[window][others] * depth[window][others][:, None] + _floats(camera.eye)
    toward = np.broadcast_to(LIGHT, places.shape)
    near, far, _ = _inside(solid, places - _floats(solid.position), toward)
    dark = np.zeros_like(others)
    dark[others] = (near <= far) & (far > 1e-3)
    lit[window] &= ~dark


def _inside(solid: Solid, start: Floats, rays: Floats) -> tuple[Floats, Floats, NDArray[np.int8]]:
    """Return the distances at which rays enter and leave a solid, and the face where they enter.

    Args:
        solid: The solid.
        start: Where the rays begin, relative to its centre: one place, or one per ray.
        rays: The directions of the rays, shape (..., 3).
    """
    turn, half = _floats(solid.turn), _floats(solid.half)
    o, d = start @ turn, rays @ turn
    with np.errstate(divide="ignore", invalid="ignore"):
        face = np.full(d.shape[:-1], CURVED, np.int8)
        if solid.shape == "ball":
            flat = (o * o).sum(-1) - half[0] ** 2
            return *_roots((d * d).sum(-1), (o * d).sum(-1), flat), face
        near, far = np.full_like(d[..., 0], -np.inf), np.full_like(d[..., 0], np.inf)
        for axis in (2,) if solid.shape == "cylinder" else (0, 1, 2):
            one = (-half[axis] - o[..., axis]) / d[..., axis]
            other = (half[axis] - o[..., axis]) / d[..., axis]
            enter, leave = np.minimum(one, other), np.maximum(one, other)
            face[enter > near] = axis
            near, far = np.fmax(near, enter), np.fmin(far, leave)
        if solid.shape == "box":
            return near, far, face
        if solid.shape == "cylinder":
            x, y, p, q = d[..., 0], d[..., 1], o[..., 0], o[..., 1]
            enter, leave = _roots(x * x + y * y, x * p + y * q, p * p + q * q - half[0] ** 2)
        else:
            rise, above = d @ _slope(half), o @ _slope(half)
            outside = np.where((rise == 0.0) & (above > 0.0), np.inf, -np.inf)
            enter = np.where(rise < 0.0, -above / rise, outside)
            leave = np.where(rise > 0.0, -above / rise, np.inf)
        face[enter > near] = CURVED
        return np.fmax(near, enter), np.fmin(far, leave), face


def _brightness(
    solid: Solid, start: Floats, rays: Floats, near: Floats, face: NDArray[np.int8]
) -> Floats:
    """Return how much the surface where rays enter faces the light, shape (rays,)."""
    turn, half = _floats(solid.turn), _floats(solid.half)
    o, d, light = start @ turn, rays @ turn, LIGHT @ turn
    found = np.zeros_like(near)
    for axis in range(3):
        here = face == axis
        found[here] = -np.sign(d[here, axis]) * light[axis]
    curved = face == CURVED
    if solid.shape == "wedge":
        found[curved] = _slope(half) @ light
    else:
        normal = (o + d[curved] * near[curved][:, None]) / half[0]
        if solid.shape == "cylinder":
            normal[:, 2] = 0.0
        found[curved] = normal @ light
    return np.maximum(0.0, found)


def _slope(half: Floats) -> Floats:
    """Return the normal of a wedge's slope, which goes through its centre."""
    return _floats((-half[2], 0.0, half[0])) / math.hypot(half[0], half[2])


def _floats(values: Any) -> Floats:
    """Return an array of the type that is used here."""
    return np.asarray(values, np.float32)


def _roots(square: Floats, product: Floats, rest: Floats) -> tuple[Floats, Floats]:
    """Return where ``square t2 + 2 product t + rest`` is below 0; an empty interval if nowhere."""
    inner = product * product - square * rest
    root = np.sqrt(np.maximum(inner, 0.0))
    missed = (inner < 0.0) | (square == 0.0)
    near = np.where(missed, np.inf, (-product - root) / square)
    far = np.where(missed, -np.inf, (-product + root) / square)
    # A ray along a cylinder's axis is inside all the way, or nowhere.
    along = (square == 0.0) & (rest <= 0.0)
    return np.where(along, -np.inf, near), np.where(along, np.inf, far)
