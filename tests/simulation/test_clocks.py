"""Clocks of a simulation."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

import piase_gym
from piase_gym.agents.base import Agent
from piase_gym.core.commands import Command, InvalidAction, Outcome
from piase_gym.errors import ConfigError, UnknownNameError
from piase_gym.simulation.clock import (
    EventClock,
    SimulatedClock,
    StepClock,
    WallClock,
    milliseconds,
)
from tests import probes
from tests.helpers.counting_agent import Counts

probes.register()


def seen_at(world: Any, number: int, step: int) -> Any:
    """Return a percept that says where it is of."""
    return number, step


WORLD: Any = SimpleNamespace(agents=("ann", "bob"))


ALONE: Any = SimpleNamespace(agents=("ann",))


def answers(clock: Any, steps: int, *agents: Agent) -> list[list[Any]]:
    """Ask agents step by step; return what is carried out, ``None`` for no answer in time."""
    seats, found = dict(enumerate(agents)), []
    for step in range(steps):
        told = clock.ask(WORLD, seats, step)
        found.append([None if isinstance(told[n], InvalidAction) else told[n] for n in seats])
    return found


def test_discrete_steps_wait_for_everybody() -> None:
    one, two = Counts(), Counts()
    assert answers(StepClock(seen_at), 3, one, two) == [[0, 0], [1, 1], [2, 2]]
    assert two.seen == [(1, 0), (1, 1), (1, 2)]


def test_answers_wait_in_a_queue_for_their_step() -> None:
    """Answers of 250 ms come two steps later; meanwhile nothing is asked."""
    clock = SimulatedClock(100, {0: 250.0}, percept=seen_at)
    clock.begin()
    agent = Counts()
    assert answers(clock, 7, agent) == [[None], [None], [0], [None], [None], [1], [None]]
    assert agent.seen == [(0, 0), (0, 3), (0, 6)]
    assert clock.now == 700
    assert clock.times == {0: [250.0, 250.0]}


def test_what_is_late_is_told_and_may_be_dropped() -> None:
    for policy, expected in (
        ("queue", [[None], [0], [1], [2]]),
        ("drop", [[None], [None], [1], [2]]),
    ):
        clock = SimulatedClock(100, {0: [100.0, 0.0, 99.0]}, policy, seen_at)
        clock.begin()
        late, agent, found = [], Counts(), []
        for step in range(4):
            told = clock.ask(WORLD, {0: agent}, step)[0]
            found.append([None if isinstance(told, InvalidAction) else told])
            late.append(list(clock.late))
        assert found == expected
        assert late == [[], [(0, 0)], [], []]
    told = clock.ask(WORLD, {0: agent}, 4)[0]
    assert told == InvalidAction(Outcome.TIMEOUT, "no answer within 100 ms")


def test_the_latest_of_several_answers_counts() -> None:
    for policy, expected in (("latest", [9, None]), ("queue", [7, 8])):
        clock = SimulatedClock(100, {0: [math.inf]}, policy, seen_at)
        clock.begin()
        for answer in (7, 8, 9):
            clock.submit(0, answer)
        found = answers(clock, 2, Counts())
        assert [told for (told,) in found] == expected


def test_an_episode_begins_without_the_answers_of_the_last() -> None:
    clock = SimulatedClock(100, {0: [150.0, 0.0]}, percept=seen_at)
    clock.begin()
    agent = Counts()
    assert answers(clock, 1, agent) == [[None]]
    clock.submit(0, 5)
    clock.begin()
    assert clock.now == 0.0
    assert answers(clock, 2, agent) == [[None], [1]]
    clock.close()
    assert clock._open == {}


def test_who_is_not_named_answers_at_once() -> None:
    clock = SimulatedClock(100, {1: 100.0}, percept=seen_at)
    clock.begin()
    assert answers(clock, 3, Counts(), Counts()) == [[0, None], [1, 0], [2, None]]


def test_real_time_is_that_of_the_wall() -> None:
    clock = WallClock(1, percept=seen_at)
    clock.begin()
    agent, world = Counts(), ALONE
    found: list[Any] = []
    for step in range(2000):
        told = clock.ask(world, {0: agent}, step)[0]
        found += [] if isinstance(told, InvalidAction) else [told]
        if len(found) > 1:
            break
    assert found == [0, 1]
    assert all(took >= 0 for took in clock.times[0])
    with pytest.raises(UnknownNameError, match="did you mean 'queue'"):
        WallClock(1, "que")


def test_a_step_of_real_time_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still, and then is a second late."""
    waited: list[float] = []
    moments = iter([5.0, 5.0, 6.0, 7.5])
    monkeypatch.setattr("piase_gym.simulation.clock.time.sleep", waited.append)
    clock = WallClock(200, percept=seen_at)
    clock.begin()
    monkeypatch.setattr("piase_gym.simulation.clock.time.monotonic", lambda: next(moments))
    clock.ask(WORLD, {}, 0)
    clock.ask(WORLD, {}, 1)
    assert waited == [pytest.approx(0.2), 0.0]


def test_who_thinks_meanwhile_thinks_about_a_copy_of_the_world() -> None:
    clock = WallClock(1, percept=lambda world, number, step: world)  # type: ignore[arg-type, return-value]
    clock.begin()
    agent, world = Counts(), ALONE
    clock.ask(world, {0: agent}, 0)
    for step in range(2000):
        clock.ask(world, {0: agent}, step)
        if agent.seen:
            break
    assert agent.seen[0] == world
    assert agent.seen[0] is not world


def test_a_time_is_within_the_step_in_which_an_answer_came() -> None:
    """What the clock of a thread tells otherwise is taken for the middle of the step."""

    class Comes(SimulatedClock):
        after = 0

        def _has_come(self, request: Any) -> bool:
            return bool(self._tick - request.tick == self.after)

    for after, took, told in ((0, 250.0, 50.0), (2, 250.0, 250.0), (3, 250.0, 350.0)):
        clock = Comes(100, {0: took}, percept=seen_at)
        clock.after = after
        clock.begin()
        answers(clock, after + 1, Counts())
        assert clock.times == {0: [told]}


def test_an_error_of_an_agent_is_raised_when_its_answer_is_due() -> None:
    class Fails(Counts):
        def act(self) -> Any:
            raise RuntimeError("I cannot")

    clock = SimulatedClock(100, {0: 150.0}, percept=seen_at)
    clock.begin()
    agent = Fails()
    assert answers(clock, 1, agent) == [[None]]
    with pytest.raises(RuntimeError, match="I cannot"):
        clock.ask(WORLD, {0: agent}, 1)


def test_times_of_answers() -> None:
    assert milliseconds(5, 3) == 5
    assert [milliseconds([1, 2.5], count) for count in range(3)] == [1, 2.5, math.inf]
    assert milliseconds(lambda count: 10 * count, 3) == 30
    for wrong in (-1, True, "5", None, math.nan):
        with pytest.raises(ConfigError, match="an answer takes a number of milliseconds from 0 on"):
            milliseconds(lambda count, wrong=wrong: wrong, 0)  # type: ignore[misc]


def events(clock: EventClock, steps: int, *agents: Agent) -> list[tuple[float, dict[int, Any]]]:
    """Return the times at which something happens, and what."""
    seats, found = dict(enumerate(agents)), []
    for step in range(steps):
        acting = clock.ask(WORLD, seats, step)
        found.append((clock.now, acting))
    return found


def test_agents_act_at_times_of_their_own() -> None:
    """One decides every 100 ms, and its actions take no time; the other's take 250."""
    clock = EventClock({0: 100.0, 1: 200.0}, {1: 250.0}, percept=seen_at)
    clock.begin()
    assert events(clock, 6, Counts(), Counts()) == [
        (0.0, {0: 0}),
        (100.0, {0: 1}),
        (200.0, {0: 2}),
        (250.0, {1: 0}),
        (300.0, {0: 3}),
        (400.0, {0: 4}),
    ]


def test_actions_that_end_together_are_one_step() -> None:
    clock = EventClock({0: 50.0, 1: 100.0}, {0: 50.0, 1: 100.0}, percept=seen_at)
    clock.begin()
    found = events(clock, 3, Counts(), Counts())
    assert found == [(50.0, {0: 0}), (100.0, {1: 0, 0: 1}), (150.0, {0: 2})]
    assert clock.ask(WORLD, {}, 3) == {}


def test_the_world_goes_on_of_itself() -> None:
    clock = EventClock({0: 1000.0}, {}, 300.0, seen_at)
    clock.begin()
    found = events(clock, 5, Counts())
    assert found == [(0.0, {0: 0}), (300.0, {}), (600.0, {}), (900.0, {}), (1000.0, {0: 1})]
    clock.submit(0, 9)
    assert clock.ask(WORLD, {0: Counts()}, 5) == {0: 9}
    assert clock.now == 1000.0
    clock.begin()
    assert clock.now == 0.0


def test_durations_go_by_the_verb() -> None:
    class Says(Counts):
        def act(self) -> Any:
            return [Command("coast"), Command("thrust", {"x": 0, "y": 1}), 0][super().act()]

    world = piase_gym.parallel_env("PointProbe", agents=1).world
    clock = EventClock({0: 1.0}, {0: {"coast": 10.0, "*": 30.0}}, percept=seen_at)
    clock.begin()
    agent, times = Says(), []
    for step in range(3):
        clock.ask(world, {0: agent}, step)
        times.append(clock.now)
    assert times == [10.0, 40.0, 70.0]
