"""Commands translated by actuators before the world gets them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from piase_gym.envs.parallel import require_parallel
from piase_gym.errors import ConfigError
from piase_gym.simulation.actuators import Actuator, ActuatorSet


class AddActuators(BaseParallelWrapper[str, Any, Any]):
    """Sends what agents do through actuators.

    Masks say which actions are legal once they are translated. Logs hold the commands that the
    world got, so a replay needs no actuators.

    Args:
        env: A ParallelEnv of one of our worlds, or a wrapper around one.
        actuators: Actuators, or their names.

    Raises:
        UnknownNameError: If there is no such actuator.
        ConfigError: If a verb of theirs is there already.
    """

    def __init__(self, env: ParallelEnv[str, Any, Any], *actuators: str | Actuator) -> None:
        """Find the actuators."""
        require_parallel(env, self)
        super().__init__(env)
        if not hasattr(env.unwrapped, "facts"):
            raise ConfigError(f"AddActuators needs a world of piase_gym, not {type(env).__name__}")
        self._inner_env: Any = env.unwrapped
        self.actuation = ActuatorSet(self._inner_env.world, actuators)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `WorldParallelEnv.reset`."""
        observations, infos = self.env.reset(seed=seed, options=options)
        self._mask(observations, infos)
        return observations, infos

    def step(self, actions: Mapping[str, Any]) -> Any:
        """Translate what agents do, and let the world take a step."""
        if isinstance(actions, Mapping):  # else the environment says what is wrong
            given, read = dict(actions), self._inner_env.read_action
            for name in self.env.agents:
                if name in given:
                    number = self._inner_env.runner.number(name)
                    given[name] = self.actuation.act(number, given[name], read)
            actions = given
        found: Any = self.env.step(actions)
        self._mask(found[0], found[-1])
        return found

    def observe_all(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the present observations and infos; see `WorldParallelEnv.observe_all`."""
        inner: Any = self.env
        observations, infos = inner.observe_all()
        self._mask(observations, infos)
        return observations, infos

    def _mask(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        """Put in the masks of translated actions."""
        for name, info in infos.items():
            shown = observations[name]
            parts = (info, shown) if isinstance(shown, dict) else (info,)
            masked = [part for part in parts if "action_mask" in part]
            if masked:
                number = self._inner_env.runner.number(name)
                mask = self.actuation.mask(number, masked[0]["action_mask"])
                for part in masked:
                    part["action_mask"] = mask

    # -- what agents are told --------------------------------------------------------------

    def admissible_commands(self, agent: str) -> list[str]:
        """Return the legal commands of an agent now, as lines of text."""
        self._inner_env.runner.require_episode()
        found = self.actuation.commands(self._inner_env.runner.number(agent))
        own = {verb.name for verb in self.actuation.verbs}
        return [c.verb if c.verb in own else self._inner_env.world.write(c) for c in found]

    def instructions(self, agent: str) -> str:
        """Return the prompt for an agent, with the actuators' commands."""
        return self.actuation.instructions(self._inner_env.instructions(agent))
