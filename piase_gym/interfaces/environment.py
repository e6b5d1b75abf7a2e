"""`Environment` of the environment-layer document, `AbstractEnvironment` of the design document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from piase_gym.core.documents import AbstractEnvironment, Environment
from piase_gym.core.models import ActionResult, EnvironmentInfo, PerceptionData
from piase_gym.envs.arguments import require_characters
from piase_gym.errors import ActionError, ConfigError, UnknownNameError, whole_number
from piase_gym.interfaces.base import AnyCommand, WorldInterface
from piase_gym.interfaces.perceptions import (
    action_schema,
    environment_info,
    perceive,
)
from piase_gym.interfaces.results import simple_result


class WorldEnvironment(WorldInterface, Environment, over_world=True):
    """A world behind the `Environment` of the environment-layer document.

    Commands are buffered: see `piase_gym.interfaces.turns`. The arguments are those of
    `WorldInterface`.

    Example:
        >>> from piase_gym.core.models import ActionCommand
        >>> env = Environment("GridWorld", start_pos=(0, 0), goal_pos=(1, 0))
        >>> perception = env.reset(seed=0)
        >>> command = ActionCommand(action_type="move", parameters={"direction": "right"})
        >>> result = env.step("agent_0", command)
        >>> result.status, result.rewards_obtained, env.is_done("agent_0")
        ('success', {'reward': 10.0}, True)
    """

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> PerceptionData:
        """Start an episode; see `WorldInterface.reset`.

        Returns:
            The perception of the primary agent: the first that is in play.
        """
        super().reset(seed, options)
        return self.get_observation(self.agents[0])

    def step(self, agent_id: str, action: AnyCommand) -> ActionResult:
        """Submit the command of one agent; the world ticks when the last agent has submitted.

        Returns:
            Its result with the new perception, or ``in_progress``.

        Raises:
            ActionError: If it is not a command at all; nothing has happened then. A command that
                the world does not know costs a step and is an ``invalid_action``.
            AgentError: If the agent does not exist or is not in play.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        result = self._submit(agent_id, action)
        if result.status == "in_progress":
            return result
        return result.model_copy(update={"new_perception_snippet": self.get_observation(agent_id)})

    def get_observation(self, agent_id: str) -> PerceptionData:
        """Return what an agent perceives now; its result is in `last_action_result`."""
        return perceive(self.engine, self.engine.record(agent_id))

    def get_state(self) -> dict[str, Any]:
        """Return the world's whole state, with random streams, as a JSON-serializable value."""
        self.runner.require_episode()
        return self.world.get_state()

    def is_done(self, agent_id: str) -> bool:
        """Return whether the episode is over for an agent."""
        return self.engine.done(self.engine.record(agent_id))

    def get_action_space(self, agent_id: str | None = None) -> dict[str, Any]:
        """Return the verbs and the schemas of their parameters; it is the same for all agents."""
        self.runner.require_open()
        if agent_id is not None:
            self.engine.find(agent_id)
        schema = action_schema(self.world)
        return {name: verb.model_dump(exclude_none=True) for name, verb in schema.items()}

    def get_environment_info(self) -> dict[str, Any]:
        """Return name, description, version, and the schemas of actions and of `sensor_data`."""
        self.runner.require_open()
        return environment_info(self.runner, "sensors").model_dump(mode="json")


class WorldAbstractEnvironment(WorldInterface, AbstractEnvironment, over_world=True):
    """A world behind the `AbstractEnvironment` of the PiaSE design document.

    A simulation lets agents act with `apply_action_from_agent`, then closes the tick with `step`.
    Ticks are counted from 0, so the tick that is open is the timestamp of perceptions. The
    arguments are those of `WorldInterface`.
    """

    def load_configuration(self, config_data: Mapping[str, Any]) -> bool:
        """Take fields of the config; they hold from the next `reset_environment` on.

        Returns:
            True.

        Raises:
            ConfigError: If a field is unknown or not allowed.
            EnvelopeError: If the config does not fit the envelope.
        """
        self.reconfigure(config_data)
        return True

    def step(self, current_time_step: int) -> None:
        """Close a tick: live agents that have not submitted do the world's no-op.

        If that tick has happened already, nothing changes.

        Raises:
            ActionError: If it is not an integer from 0 to the number of the open tick.
            ResetNeededError: Before the first reset and after the end of an episode.
        """
        self.engine.close_tick(_check_tick(current_time_step))

    def get_current_state_snapshot(self, scope: str | None = None) -> dict[str, Any]:
        """Return the state of the environment as JSON-serializable values.

        Args:
            scope: One part only: ``time``, ``config``, ``world`` or ``agents``, or an agent's
                name; by default all of the first four.

        Raises:
            UnknownNameError: If there is no such scope.
        """
        self.runner.require_episode()
        parts: dict[str, Callable[[], dict[str, Any]]] = {
            "time": self._time,
            "config": lambda: self.config.saved(),
            "world": self.world.get_state,
            "agents": lambda: {name: self._agent(name) for name in self.possible_agents},
        }
        if scope is None:
            return {name: part() for name, part in parts.items()}
        if scope in parts:
            return parts[scope]()
        if scope not in self.possible_agents:
            raise UnknownNameError("scope", scope, (*parts, *self.possible_agents))
        return self._agent(scope)

    def _time(self) -> dict[str, Any]:
        """Return which episode it is, and how far it has gone."""
        return {
            "time_step": self.time_step,
            "seed": self.seed,
            "waiting_for": self.engine.waiting_for,
            "is_over": self.engine.over,
        }

    def _agent(self, name: str) -> dict[str, Any]:
        """Return what the environment keeps about one agent."""
        record = self.engine.records[name]
        return {
            "in_play": self.engine.in_play(record),
            "done": self.engine.done(record),
            "submitted": record.act is not None,
            "total_reward": record.total,
            "last_action_result": simple_result(record.result),
        }

    def reset_environment(self, scenario_config: object = None, *, seed: int | None = None) -> bool:
        """Start an episode.

        Args:
            scenario_config: Fields of the config to change, and ``seed``; or a scenario of the
                same agents: its name, its path, a dict of what its file says, or the object.
            seed: The seed, if `scenario_config` has none.

        Returns:
            True.

        Raises:
            ConfigError: If a field or the seed is not allowed.
            ScenarioError: If something is wrong with the scenario, or it is of other agents or
                characters.
        """
        from piase_gym.scenarios import fields_for, is_scenario, load  # which reads YAML

        if isinstance(scenario_config, Mapping):
            given = dict(scenario_config)
            if "seed" in given and seed is not None:
                raise ConfigError("seed is given twice: by itself and in scenario_config")
            seed = given.pop("seed", seed)
            scenario_config = given
        if is_scenario(scenario_config):
            scenario = load(scenario_config, self.world.name)
            scenario_config = fields_for(scenario, self.world)
            require_characters(scenario, self.world, self.runner.partners)
        if not isinstance(scenario_config, Mapping | None):
            kind = type(scenario_config).__name__
            raise ConfigError(f"scenario_config is a mapping, a scenario or None, not {kind}")
        changes = dict(scenario_config or {})
        self.engine.reset(seed, {"config": changes} if changes else None)
        return True

    def get_perceptual_data_for_agent(self, agent_id: str) -> PerceptionData:
        """Return what an agent perceives now."""
        return perceive(self.engine, self.engine.record(agent_id))

    def apply_action_from_agent(self, agent_id: str, action_command: AnyCommand) -> ActionResult:
        """Submit the command of one agent; see `Environment.step`.

        Returns:
            Its result with the scene that follows, or ``in_progress``.
        """
        result = self._submit(agent_id, action_command)
        return with_text(self, agent_id, result)

    def get_environment_info(self) -> EnvironmentInfo:
        """Return what the environment is and what can be done and perceived in it."""
        self.runner.require_open()
        return environment_info(self.runner, "model")


def with_text(interface: WorldInterface, agent_id: str, result: ActionResult) -> ActionResult:
    """Add the scene in words to a result that is final, as `immediate_perception_snippet`."""
    perceived = interface.engine.perceived(interface.engine.record(agent_id))
    if result.status == "in_progress" or perceived is None:
        return result
    snippet = {"timestamp": result.timestamp, "visible_text": perceived.text}
    return result.model_copy(update={"immediate_perception_snippet": snippet})


def _check_tick(tick: Any) -> int:
    """Return the number of a tick.

    Raises:
        ActionError: If it is not an integer from 0 on.
    """
    value = whole_number(tick)
    if value is None or value < 0:
        raise ActionError(f"a time step is an integer from 0 on, not {tick!r:.60}")
    return value
