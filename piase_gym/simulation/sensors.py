"""Sensors: what an agent is shown besides its facts, computed from its facts alone.

A sensor reveals nothing that the agent may not know; it puts facts another way, such as a bearing
to a goal that is in sight. Readings are at the end of the vector, and as lines at the end of the
text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym import plugins
from piase_gym.core.text_encoding import one_line
from piase_gym.core.world import Facts
from piase_gym.errors import ConfigError, PluginError

MAX_LINE = 200
"""Longest line of one sensor in a text; the rest is cut off."""
Reading = tuple[float, ...]


@dataclass(frozen=True)
class Sensor:
    """A function of facts, and the numbers that it gives.

    Attributes:
        name: Its name, which begins its line in a text.
        sense: A pure function of an agent's facts: `size` numbers, or one number if `size` is 1.
        size: How many numbers.
        low: Least value; readings below it are set to it.
        high: Greatest value; readings above it are set to it.
        tell: Puts a reading into words; by default the numbers themselves.

    Raises:
        ConfigError: If it has no name, no size or no range.
    """

    name: str
    sense: Callable[[Any], Sequence[float] | float]
    size: int = 1
    low: float = -math.inf
    high: float = math.inf
    tell: Callable[[Reading], str] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        named = isinstance(self.name, str) and self.name
        if not named or one_line(self.name) != self.name:
            raise ConfigError(f"a sensor's name is a word in plain ASCII, not {self.name!r}")
        sized = isinstance(self.size, Integral) and not isinstance(self.size, bool)
        ranged = isinstance(self.low, Real) and isinstance(self.high, Real)
        if not (sized and self.size >= 1 and ranged and self.low < self.high):
            raise ConfigError(f"sensor {self.name!r} needs a size of 1 or more, and low < high")

    def read(self, facts: Facts) -> Reading:
        """Return the reading for some facts.

        Raises:
            PluginError: If its function fails, or does not return so many numbers.
        """
        try:
            values = np.asarray(self.sense(facts), float).reshape(-1)
        except Exception as error:  # a third-party function may raise anything
            message = f"{type(error).__name__}: {error}"
            raise PluginError(f"the sensor {self.name!r} failed ({message})") from error
        if len(values) != self.size or np.isnan(values).any():
            shown = _numbers(tuple(values[:6]))
            raise PluginError(f"the sensor {self.name!r} gave [{shown}], not {self.size} numbers")
        return tuple(np.clip(values, self.low, self.high).tolist())

    def line(self, reading: Reading) -> str:
        """Return the line that stands for a reading in a text.

        Raises:
            PluginError: If its function `tell` fails, or does not return a string.
        """
        try:
            words = (self.tell or _numbers)(reading)
            return f"{self.name}: {one_line(words)}"[:MAX_LINE]
        except Exception as error:  # a third-party function may raise anything
            message = f"{type(error).__name__}: {error}"
            raise PluginError(f"the sensor {self.name!r} failed to tell ({message})") from error


def _numbers(reading: Reading) -> str:
    """Return a reading as it is told without words."""
    return ", ".join(f"{value:g}" for value in reading)


def sensors() -> tuple[str, ...]:
    """Return the names of the sensors of all plug-ins, sorted."""
    return plugins.names("sensors")


def find_sensor(sensor: str | Sensor) -> Sensor:
    """Return a sensor by name, or the given one itself.

    Raises:
        UnknownNameError: If there is none of this name.
        PluginError: If it is a plug-in that cannot be loaded, or no `Sensor`.
    """
    return plugins.find("sensors", sensor, Sensor)


class SensorSet:
    """Several sensors together, in their order.

    Args:
        names: Sensors, or their names.

    Raises:
        UnknownNameError: If there is no such sensor.
        ConfigError: If two have the same name.
    """

    def __init__(self, names: Iterable[str | Sensor]) -> None:
        self.sensors = tuple(find_sensor(name) for name in names)
        if len({sensor.name for sensor in self.sensors}) < len(self.sensors):
            raise ConfigError(f"a sensor is given twice: {[s.name for s in self.sensors]}")

    def read(self, facts: Facts) -> list[Reading]:
        """Return the reading of each sensor."""
        return [sensor.read(facts) for sensor in self.sensors]

    def box(self, space: Box) -> Box:
        """Return the space of vectors with readings at their end, float32."""
        if not self.sensors:
            return space
        sizes = [sensor.size for sensor in self.sensors]
        low, high = (
            np.repeat([getattr(sensor, end) for sensor in self.sensors], sizes)
            for end in ("low", "high")
        )
        low, high = np.concatenate([space.low, low]), np.concatenate([space.high, high])
        return Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    def vector(self, vector: NDArray[Any], readings: Sequence[Reading]) -> NDArray[Any]:
        """Return a vector with readings at its end."""
        if not self.sensors:
            return vector
        flat = [value for reading in readings for value in reading]
        return np.concatenate([vector, flat]).astype(np.float32)

    def text(self, text: str, readings: Sequence[Reading]) -> str:
        """Return a text with a line for each reading at its end."""
        lines = [s.line(reading) for s, reading in zip(self.sensors, readings, strict=True)]
        return "\n".join([text, *lines])

    @property
    def text_length(self) -> int:
        """Most characters that the sensors' lines take in a text."""
        return len(self.sensors) * (MAX_LINE + 1)
