"""What Bullet reports of all movable bodies at one moment."""

from __future__ import annotations

from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

flatten = chain.from_iterable


class BodyReadings:
    """Where all movable bodies are and how they move: objects first, then agents.

    Attributes:
        raw: For each body (position, quaternion, velocity, spin), as Bullet reports it.
    """

    def __init__(self, raw: list[tuple[Any, ...]]) -> None:
        """Keep what Bullet reported; arrays are made when they are asked for."""
        self.raw = raw

    @property
    def flat(self) -> chain[float]:
        """All numbers, one after the other: 13 per body."""
        return flatten(flatten(self.raw))

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """All numbers: position, quaternion, velocity, spin; shape (bodies, 13)."""
        return np.fromiter(self.flat, np.float64).reshape(-1, 13)

    @property
    def position(self) -> NDArray[np.float64]:
        """Shape (bodies, 3)."""
        return self.table[:, :3]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Shape (bodies, 3)."""
        return self.table[:, 7:10]

    @property
    def spin(self) -> NDArray[np.float64]:
        """Angular velocity, shape (bodies, 3)."""
        return self.table[:, 10:13]
