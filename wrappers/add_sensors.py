"""Readings of sensors at the end of every observation."""

from __future__ import annotations

from typing import Any

from pettingzoo import ParallelEnv

from piase_gym.simulation.sensors import Sensor, SensorSet
from piase_gym.wrappers.add_to_views import AddToViews


class AddSensors(AddToViews):
    """Adds what sensors show to what agents observe: to the vector, to the text, or to both.

    A vector becomes a float32 vector with the readings at its end, and a text gets one line per
    sensor. `piase_gym.parse_text` reads the text without these lines.

    Args:
        env: A ParallelEnv of one of our worlds, or a wrapper around one that leaves observations
            as they are.
        sensors: Sensors, or their names.

    Raises:
        UnknownNameError: If there is no such sensor.
        ConfigError: If an observation is neither a vector nor a text of ours.

    Example:
        >>> import piase_gym
        >>> from piase_gym.simulation.sensors import Sensor
        >>> hints = Sensor("hinted", lambda facts: float(facts.hint is not None), low=0, high=1)
        >>> env = AddSensors(piase_gym.parallel_env("GridWorld", view="text"), hints)
        >>> observations, infos = env.reset(seed=0)
        >>> observations["agent_0"].splitlines()[-1]
        'hinted: 0'
    """

    def __init__(self, env: ParallelEnv[str, Any, Any], *sensors: str | Sensor) -> None:
        """Find the sensors, and make the spaces."""
        self.senses = SensorSet(sensors)
        super().__init__(env, self.senses)

    def readings(self, agent: str) -> Any:
        """Return what the sensors show an agent."""
        return self.senses.read(self.env.unwrapped.facts(agent))
