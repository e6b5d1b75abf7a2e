"""What a simulation is given."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.simulation.clock import (
    StepClock,
    WallClock,
)
from piase_gym.simulation.setup import Limits, make_clock, read_limits
from tests import probes

probes.register()


def seen_at(world: Any, number: int, step: int) -> Any:
    """Return a percept that says where it is of."""
    return number, step


def test_limits_are_those_that_are_given_else_the_scenarios() -> None:
    head: Any = SimpleNamespace(time_model="real_time", step_ms=50, max_wall_seconds=9.0)
    assert read_limits(head, None, None, None, None) == Limits("real_time_ms", 50, math.inf, 9.0)
    own = read_limits(head, "discrete_steps", 7, 3, 1.5)
    assert own == Limits("discrete_steps", 7, 3, 1.5)
    usual = read_limits(None, None, None, None, None)
    assert usual == Limits("discrete_steps", 200, math.inf, math.inf)
    with pytest.raises(UnknownNameError):
        read_limits(None, "by_magic", None, None, None)
    for name, place in (("step_ms", 2), ("max_steps", 3), ("max_wall_seconds", 4)):
        for wrong in (0, -1, True, "5", math.inf):
            given: list[Any] = [None] * 5
            given[place] = wrong
            with pytest.raises(ConfigError, match=f"{name} must be a positive number"):
                read_limits(*given)
    for wrong_limits in ((None, None, 0.5, None, None), (None, None, None, 2.5, None)):
        with pytest.raises(ConfigError, match=r"must be a whole number, not \d\.5"):
            read_limits(*wrong_limits)


NAMES = ("ann", "bob")


def clock_of(model: str, **given: Any) -> Any:
    """Return the clock of a time model whose steps last 200 ms."""
    return make_clock(Limits(model, 200, math.inf, math.inf), NAMES, seen_at, **given)


def test_each_time_model_has_its_clock() -> None:
    assert isinstance(clock_of("discrete_steps"), StepClock)
    assert isinstance(clock_of("real_time_ms"), WallClock)
    simulated = clock_of("real_time_ms", answer_times={"bob": 9.0}, late="drop")
    assert (simulated._given, simulated._policy, simulated.step_ms) == ({1: 9.0}, "drop", 200)
    usual = clock_of("event_based")
    assert (usual._periods, usual._durations) == ({0: 200, 1: 200}, {0: 0.0, 1: 0.0})
    assert usual._world_period is None
    own = clock_of("event_based", periods={"bob": 5, "world": 7}, durations={"bob": {"go": 3}})
    assert (own._periods, own._world_period) == ({0: 200, 1: 5}, 7)
    assert own._durations == {1: {"go": 3}}
    every = clock_of("event_based", periods=9.0, durations={"go": 3, "*": 0})
    assert every._periods == {0: 9.0, 1: 9.0}
    assert every._durations == {0: {"go": 3, "*": 0}, 1: {"go": 3, "*": 0}}


@pytest.mark.parametrize(
    ("model", "given", "told"),
    [
        ("discrete_steps", {"answer_times": {}}, "answer_times means nothing with time_model='dis"),
        ("event_based", {"answer_times": {}}, "answer_times means nothing"),
        ("discrete_steps", {"periods": 3}, "periods means nothing"),
        ("real_time_ms", {"durations": 3}, "durations means nothing"),
        ("discrete_steps", {"late": "drop"}, "late means nothing"),
        ("real_time_ms", {"answer_times": 3}, "answer_times is a mapping of agents to milli"),
        ("event_based", {"periods": 0}, "a period must be a positive number, not 0"),
        ("event_based", {"periods": {"world": -1}}, "the period of the world must be a positive"),
        ("event_based", {"durations": -1}, "a duration is a number from 0 on, not -1"),
        ("event_based", {"durations": {"ann": {"go": True}}}, "a duration is a number from 0 on"),
        ("event_based", {"durations": math.inf}, "a duration is a number from 0 on, not inf"),
    ],
)
def test_what_a_clock_does_not_take(model: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        clock_of(model, **given)
    assert str(caught.value).startswith(told)


def test_strangers_have_no_times() -> None:
    for model, given in (
        ("real_time_ms", {"answer_times": {"eve": 1.0}}),
        ("event_based", {"periods": {"eve": 1.0}}),
        ("event_based", {"durations": {"ann": 1.0, "eve": 1.0}}),
    ):
        with pytest.raises(UnknownNameError, match="unknown agent 'eve'"):
            clock_of(model, **given)
