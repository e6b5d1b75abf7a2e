"""From what a simulation is given to what it runs: scenarios, environments, budgets."""

from __future__ import annotations

from typing import Any

from piase_gym import scenarios
from piase_gym.config import WorldConfig
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.faces.parallel import WorldParallelEnv, parallel_env
from piase_gym.registry import find, load, world_spec
from piase_gym.scenarios import Scenario

TIME_MODELS = ("discrete_steps", "real_time_ms")


def find_scenario(scenario: object) -> Scenario | None:
    """Return the scenario that is meant, or ``None`` for a world, an id or a config.

    Raises:
        ScenarioError: If it is neither.
    """
    if isinstance(scenario, WorldConfig):
        return None
    if isinstance(scenario, str):
        try:
            find(scenario)
        except UnknownNameError:
            return scenarios.load(scenario)
        return None
    return scenarios.load(scenario)


def make_env(
    given: Any, scenario: Scenario | None, render_mode: str | None, config: dict[str, Any]
) -> WorldParallelEnv:
    """Make the environment of a scenario or a world, with the actions that the world has."""
    if scenario is not None:
        name, spec = scenario.world, world_spec(scenario.world)
    else:
        name = given
        spec = find(given.world if isinstance(given, WorldConfig) else given)[0]
    offered = load(spec.world, spec).capabilities
    kind = "discrete" if offered.discrete else "continuous" if offered.continuous else "text"
    return parallel_env(
        name, actions=kind, scenario=scenario, view="text", render_mode=render_mode, **config
    )


def check_time_model(name: str | None) -> str:
    """Return a time model; the default waits for agents."""
    chosen = name or TIME_MODELS[0]
    if chosen not in TIME_MODELS:
        raise UnknownNameError("time_model", chosen, TIME_MODELS)
    return chosen


def positive(name: str, value: Any) -> Any:
    """Return a budget, which is a positive number or ``None``."""
    if value is not None and (isinstance(value, bool) or not value > 0):
        raise ConfigError(f"{name} must be a positive number, not {value!r}")
    return value
