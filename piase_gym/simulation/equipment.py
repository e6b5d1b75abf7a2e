"""What an agent with sensors and actuators perceives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Percept
from piase_gym.core.commands import Command, InvalidAction, write_command
from piase_gym.core.world import World
from piase_gym.simulation.actuators import Actuator, ActuatorSet
from piase_gym.simulation.sensors import Reading, Sensor, SensorSet


class EquippedPercept(Percept):
    """A `Percept` with the readings of sensors, and with the commands of actuators."""

    __slots__ = ("actuation", "senses")

    def __init__(self, world: World[Any, Any], index: int, step: int, equipment: Equipment) -> None:
        """Represent agent number `index` of `world` in step `step`."""
        super().__init__(world, index, step)
        self.senses = equipment.senses
        self.actuation = ActuatorSet(world, equipment.actuators)

    def _part_names(self) -> tuple[str, ...]:
        """Return the names of what can be read, the readings of sensors among them."""
        return (*super()._part_names(), "readings")

    @property
    def readings(self) -> dict[str, Reading]:
        """What each sensor shows, by its name."""
        found = self.senses.read(self.facts)
        return {s.name: reading for s, reading in zip(self.senses.sensors, found, strict=True)}

    @property
    def vector(self) -> NDArray[Any]:
        """The vector view with readings at its end, a fresh array."""
        return self.senses.vector(super().vector, self.senses.read(self.facts))

    @property
    def text(self) -> str:
        """The canonical text view with readings at its end."""
        return self.senses.text(super().text, self.senses.read(self.facts))

    @property
    def mask(self) -> NDArray[np.int8]:
        """The mask over the discrete actions, once these are translated."""
        return self.actuation.mask(self.index, super().mask)

    @property
    def commands(self) -> list[Command]:
        """The legal commands."""
        return self.actuation.commands(self.index)

    @property
    def instructions(self) -> str:
        """The prompt of the world for this agent, with the actuators' commands."""
        return self.actuation.instructions(super().instructions)

    def read(self, command: str | Command) -> Command | InvalidAction:
        """Return the command of the world or of an actuator that is given, as a line or as data."""
        own = self.actuation.own(command)
        return super().read(command) if own is None else own

    def write(self, command: Command) -> str:
        """Return the line of text that stands for a command of the world or of an actuator."""
        return write_command(command, (*self.actuation.verbs, *self.world.grammar))

    def legal(self, line: str) -> bool:
        """Return whether a line is a command that is legal now, once it is translated."""
        return self.actuation.legal(self.index, self.read(line))


class Equipment:
    """Sensors and actuators of all agents of a simulation.

    Args:
        world: The world.
        sensors: Sensors, or their names.
        actuators: Actuators, or their names.

    Raises:
        UnknownNameError: If there is none of that name.
        ConfigError: If they do not go together, or with the world.
    """

    def __init__(
        self,
        world: World[Any, Any],
        sensors: Iterable[str | Sensor] = (),
        actuators: Iterable[str | Actuator] = (),
    ) -> None:
        self.senses = SensorSet(sensors)
        self.actuation = ActuatorSet(world, actuators)
        self.actuators = self.actuation.actuators

    def percept(self, world: World[Any, Any], index: int, step: int) -> Percept:
        """Return what an agent perceives of a world (which may be a copy)."""
        if self.senses.sensors or self.actuators:
            return EquippedPercept(world, index, step, self)
        return Percept(world, index, step)
