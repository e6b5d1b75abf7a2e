"""What a simulation is given."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.world import World
from piase_gym.errors import ConfigError, PiaseError, UnknownNameError
from piase_gym.simulation import Simulation
from piase_gym.simulation.clock import StepClock, WallClock, milliseconds
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


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, np.float64])
def test_numbers_may_be_of_numpy(kind: Any) -> None:
    limits = read_limits(None, None, kind(50), kind(7), kind(9))
    assert limits == Limits("discrete_steps", 50, 7, 9)
    clock = clock_of("event_based", periods={"bob": kind(5)}, durations={"bob": {"go": kind(3)}})
    known = [*clock._periods.values(), clock._durations[1]["go"], limits.max_steps]
    assert known == [200, 5, 3, 7]
    assert {*map(type, known)} <= {int, float}
    given: tuple[Any, ...] = (kind(4), [kind(4)], np.array([4], kind), lambda _: kind(4))
    for times in given:
        took = milliseconds(times, 0)
        assert (took, type(took)) in ((4, int), (4.0, float))


def test_how_much_is_played_is_a_whole_number() -> None:
    one, two = np.arange(1, 3)
    wrongs: tuple[Any, ...] = (-1, 1.5, "2", True, None)
    with Simulation("GridWorld", agents=two, max_steps=2) as simulation:
        for wrong in wrongs:
            with pytest.raises(ConfigError, match="num_steps is a whole number from 0 on, not "):
                simulation.run_simulation(wrong)
            with pytest.raises(ConfigError, match="episodes is a whole number from 1 on, not "):
                simulation.run(wrong)
        assert simulation.run_simulation(0).steps == 0
        assert simulation.run_simulation(one).steps == 1
        assert len(simulation.run(two).returns) == 2
        assert len(simulation.summaries) == 2


def test_what_cannot_begin_closes_the_environment_that_it_made_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(World, "close", lambda world: closed.append(world.name))
    for wrong in (
        {"policies": {"eve": "random"}},
        {"curricula": "no such curriculum"},
        {"sensors": ["no such sensor"]},
        {"late": "never", "time_model": "real_time_ms"},
    ):
        with pytest.raises(PiaseError):
            Simulation("GridWorld", **wrong)  # type: ignore[arg-type]
        assert [closed.pop()] == ["GridWorld"]
        assert not closed
    env = piase_gym.parallel_env("GridWorld")
    with pytest.raises(PiaseError):
        Simulation(env, {"eve": "random"})
    assert not closed
    env.close()
    assert closed == ["GridWorld"]
