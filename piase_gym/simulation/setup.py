"""Turns what a simulation is given into what it runs: scenarios, environments, budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from piase_gym.envs.arguments import build_runner
from piase_gym.envs.base import WorldAccess
from piase_gym.envs.observations import ObservationStyle
from piase_gym.envs.parallel import WorldParallelEnv
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.interfaces.own import as_parallel, usual_actions
from piase_gym.scenarios import Scenario
from piase_gym.simulation.actuators import ActuatorSet
from piase_gym.simulation.clock import (
    WORLD,
    Clock,
    Durations,
    EventClock,
    MakePercept,
    SimulatedClock,
    StepClock,
    Times,
    WallClock,
    python_number,
)

if TYPE_CHECKING:
    from piase_gym.scenarios.schema import ScenarioHead

TIME_MODELS = ("discrete_steps", "real_time_ms", "event_based")
ALIASES = {"real_time": "real_time_ms"}
"""Other names of time models."""


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
        max_steps: Most steps of an episode, in addition to the world's own limit.
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
    """Return the limits of a simulation: those given, else the scenario's, else the defaults.

    Raises:
        UnknownNameError: If there is no such time model.
        ConfigError: If a number is not positive, or `step_ms` or `max_steps` is not whole.
    """
    if head is not None:
        time_model = time_model or head.time_model
        step_ms = head.step_ms if step_ms is None else step_ms
        max_wall_seconds = head.max_wall_seconds if max_wall_seconds is None else max_wall_seconds
    chosen = ALIASES.get(time_model or "", time_model) or TIME_MODELS[0]
    if chosen not in TIME_MODELS:
        raise UnknownNameError("time_model", chosen, TIME_MODELS)
    return Limits(
        chosen,
        int(_positive("step_ms", step_ms, 200, whole=True)),
        _positive("max_steps", max_steps, math.inf, whole=True),
        _positive("max_wall_seconds", max_wall_seconds, math.inf),
    )


def make_clock(
    limits: Limits,
    names: Sequence[str],
    percept: MakePercept,
    late: str = "queue",
    answer_times: Mapping[str, Times] | None = None,
    periods: float | Mapping[str, float] | None = None,
    durations: Durations | Mapping[str, Durations] | None = None,
    actuation: ActuatorSet | None = None,
) -> Clock:
    """Return the clock of a simulation; see `Simulation` for the arguments.

    Raises:
        UnknownNameError: If there is no such agent, policy or verb.
        ConfigError: If a number is not allowed, or an argument is of another time model.
    """
    model = limits.time_model
    strange = {
        "answer_times": answer_times is not None and model != "real_time_ms",
        "periods": periods is not None and model != "event_based",
        "durations": durations is not None and model != "event_based",
        "late": late != "queue" and model != "real_time_ms",
    }
    for name in (name for name, wrong in strange.items() if wrong):
        raise ConfigError(f"{name} means nothing with time_model={model!r}")
    if not isinstance(answer_times, Mapping | None):
        kind = type(answer_times).__name__
        raise ConfigError(f"answer_times is a mapping of agents to milliseconds, not {kind}")
    if model == "discrete_steps":
        return StepClock(percept)
    if model == "real_time_ms" and answer_times is None:
        return WallClock(limits.step_ms, late, percept)
    if model == "real_time_ms":
        times = {_seat(name, names): value for name, value in (answer_times or {}).items()}
        return SimulatedClock(limits.step_ms, times, late, percept)
    usual = limits.step_ms if periods is None or isinstance(periods, Mapping) else periods
    given = dict(periods) if isinstance(periods, Mapping) else {}
    world_period = given.pop(WORLD, None)
    by_number = {_seat(name, names): value for name, value in given.items()}
    every = {n: _positive("a period", by_number.get(n, usual), 0) for n in range(len(names))}
    if world_period is not None:
        world_period = _positive("the period of the world", world_period, 0)
    if isinstance(durations, Mapping) and any(name in names for name in durations):
        lasting: dict[int, Any] = {_seat(name, names): v for name, v in durations.items()}
    else:
        lasting = dict.fromkeys(range(len(names)), 0.0 if durations is None else durations)
    lasting = {number: _read_duration(value) for number, value in lasting.items()}
    if actuation is None:
        return EventClock(every, lasting, world_period, percept)
    verbs = [verb.name for verb in (*actuation.world.grammar, *actuation.verbs)] + ["*"]
    for value in lasting.values():
        for name in value if isinstance(value, Mapping) else ():
            if name not in verbs:
                raise UnknownNameError("verb", name, verbs)
    return EventClock(every, lasting, world_period, percept, actuation.own)


def _seat(name: str, names: Sequence[str]) -> int:
    """Return the number of an agent."""
    if name not in names:
        raise UnknownNameError("agent", name, names)
    return list(names).index(name)


def _read_duration(value: Any) -> Any:
    """Return a duration, or durations by verb, as Python numbers."""
    if isinstance(value, Mapping):
        return {verb: _read_duration(part) for verb, part in value.items()}
    if not _is_number(value):
        raise ConfigError(f"a duration is a number from 0 on, not {value!r:.60}")
    return python_number(value)


def _positive(name: str, value: Any, usual: float, whole: bool = False) -> float:
    """Return a positive number, which may have to be whole, or the usual one if none is given."""
    if value is None:
        return usual
    if not _is_number(value) or value == 0:
        raise ConfigError(f"{name} must be a positive number, not {value!r}")
    if whole and value % 1:
        raise ConfigError(f"{name} must be a whole number, not {value!r}")
    return python_number(value)


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number from 0 on."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and 0 <= value < math.inf
