"""From what a simulation is given to what it runs: scenarios, environments, budgets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piase_gym.envs.arguments import build_runner
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.interfaces.own import as_parallel, usual_actions
from piase_gym.scenarios import Scenario

if TYPE_CHECKING:
    from piase_gym.scenarios.schema import ScenarioHead

TIME_MODELS = ("discrete_steps", "real_time_ms")


def make_env(
    given: Any, scenario: Scenario | None, render_mode: str | None, config: dict[str, Any]
) -> WorldParallelEnv:
    """Make the environment of a scenario or a world, with the actions that the world has."""
    if isinstance(given, WorldAccess):
        return as_parallel(given, view="text", render_mode=render_mode, **config)
    name = given if scenario is None else scenario.world
    runner = build_runner(name, None, scenario, config.pop("envelope", None), config)
    style = ObservationStyle("text")
    kind = usual_actions(runner.world)
    return WorldParallelEnv(runner, style=style, actions=kind, render_mode=render_mode)


@dataclass(frozen=True)
class Limits:
    """How time passes in a simulation, and how much of it an episode has.

    Attributes:
        time_model: One of `TIME_MODELS`.
        step_ms: Length of a step of ``real_time_ms``, in milliseconds.
        max_steps: Most steps of an episode, besides the world's own limit.
        max_wall_seconds: Most wall-clock time of an episode.
    """

    time_model: str
    step_ms: int
    max_steps: float
    max_wall_seconds: float


def read_limits(
    head: ScenarioHead | None,
    time_model: str | None,
    step_ms: int | None,
    max_steps: int | None,
    max_wall_seconds: float | None,
) -> Limits:
    """Return the limits of a simulation: what is given, else the scenario's, else none.

    Raises:
        UnknownNameError: If there is no such time model.
        ConfigError: If a number is not positive.
    """
    if head is not None:
        time_model = time_model or head.time_model
        step_ms = head.step_ms if step_ms is None else step_ms
        max_wall_seconds = head.max_wall_seconds if max_wall_seconds is None else max_wall_seconds
    chosen = time_model or TIME_MODELS[0]
    if chosen not in TIME_MODELS:
        raise UnknownNameError("time_model", chosen, TIME_MODELS)
    return Limits(
        chosen,
        int(_positive("step_ms", step_ms, 200)),
        _positive("max_steps", max_steps, math.inf),
        _positive("max_wall_seconds", max_wall_seconds, math.inf),
    )


def _positive(name: str, value: Any, usual: float) -> float:
    """Return a positive number, or the usual one if none is given."""
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ConfigError(f"{name} must be a positive number, not {value!r}")
    return value
