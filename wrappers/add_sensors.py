"""Readings of sensors at the end of every observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from piase_gym.core.text_encoding import CHARSET
from piase_gym.errors import ConfigError
from piase_gym.simulation.sensors import Sensor, SensorSet


class AddSensors(BaseParallelWrapper[str, Any, Any]):
    """Adds what sensors show to what agents observe: to the vector, to the text, or to both.

    A vector becomes a float32 vector with the readings at its end, and a text gets one line a
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
        super().__init__(env)
        if not hasattr(env.unwrapped, "facts"):
            raise ConfigError(f"AddSensors needs a world of piase_gym, not {type(env).__name__}")
        self.senses = SensorSet(sensors)
        self.observation_spaces = {
            name: self._space(env.observation_space(name)) for name in env.possible_agents
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations, always the same object."""
        self.env.observation_space(agent)  # refuses agents that are not there
        return self.observation_spaces[agent]

    def _space(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        """Return a space with room for the readings."""
        if isinstance(space, spaces.Dict):
            inner = {key: value for key, value in space.spaces.items() if key != "action_mask"}
            return spaces.Dict({**space.spaces, **{k: self._space(v) for k, v in inner.items()}})
        if isinstance(space, spaces.Text):
            length = space.max_length + self.senses.text_length
            return spaces.Text(length, min_length=0, charset=CHARSET)
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            return self.senses.box(space)
        raise ConfigError(f"AddSensors adds to vectors and texts, not to a {type(space).__name__}")

    def _add(self, shown: Any, readings: Any) -> Any:
        """Return an observation with readings."""
        if isinstance(shown, str):
            return self.senses.text(shown, readings)
        if isinstance(shown, dict):
            keys = [key for key in shown if key != "action_mask"]
            return {**shown, **{key: self._add(shown[key], readings) for key in keys}}
        return self.senses.vector(shown, readings)

    def _all(self, observations: Mapping[str, Any]) -> dict[str, Any]:
        """Add the readings of each agent."""
        facts = self.env.unwrapped.facts
        return {
            name: self._add(shown, self.senses.read(facts(name)))
            for name, shown in observations.items()
        }

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._all(observations), infos

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Let agents act; see `WorldParallelEnv.step`."""
        observations, *rest = self.env.step(dict(actions))
        return self._all(observations), *rest
