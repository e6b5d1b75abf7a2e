"""Rates and costs, told from a clock that the tests turn themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from piase_gym.benchmarks.speed import timing
from piase_gym.benchmarks.speed.timing import Row


class Clock:
    """A clock that goes on only where somebody works."""

    def __init__(self) -> None:
        self.now = 100.0

    def work(self, each: float) -> timing.Run:
        """Return what takes so many seconds a step."""

        def run(steps: int) -> None:
            self.now += steps * each

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Stand in for the clock of the process."""
    made = Clock()
    monkeypatch.setattr(timing.time, "process_time", lambda: made.now)
    return made


def test_all_take_turns_and_the_first_round_is_dropped() -> None:
    asked: list[str] = []

    def ask(name: str) -> float:
        asked.append(name)
        return float(len(asked))

    measures = {name: lambda name=name: ask(name) for name in ("a", "b")}
    assert timing.interleaved(measures, 3) == {"a": [3.0, 5.0, 7.0], "b": [4.0, 6.0, 8.0]}
    assert asked == ["a", "b"] * 4
    asked.clear()
    assert timing.interleaved(measures, 2, warm=0) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}


def test_medians_and_what_is_more_than_the_base_in_the_same_round() -> None:
    found = {"bare": [1.0, 5.0, 9.0], "more": [9.0, 7.0, 10.0]}
    assert timing.medians(found) == {"bare": 5.0, "more": 9.0}
    assert timing.added(found, "bare") == {"bare": 0.0, "more": 2.0}  # of 8, 2 and 1


def test_a_rate_counts_the_steps_of_all_agents(clock: Clock) -> None:
    # Bursts of 4 steps of 1/8 s: half a second each, so two fill a second and three are too many.
    for seconds in (1.0, 0.75):  # what counts is the time that was taken
        assert timing.time_row(seconds, Row("a", 3, clock.work(0.125)), 4) == 3 * 8 / 1.0
    assert clock.now == 102.0
    rows = [Row("a", 1, clock.work(0.125)), Row("b", 2, clock.work(0.5))]
    assert timing.measure(rows, rounds=1, seconds=1.0, burst=2) == {"a": 8.0, "b": 4.0}
    # Two rounds, the first of which is dropped, of a second each.
    assert clock.now == 106.0


def test_the_usual_burst_is_of_200_steps(clock: Clock) -> None:
    timing.measure([Row("a", 1, clock.work(1.0))], rounds=1, seconds=1.0)
    assert clock.now == 100.0 + 2 * 200


def test_timers_are_asked_for_the_same_seconds() -> None:
    asked: list[float] = []

    def timer(seconds: float) -> float:
        asked.append(seconds)
        return float(len(asked))

    assert timing.interleave({"a": timer}, 3, 0.25) == {"a": 3.0}  # of 2, 3 and 4
    assert asked == [0.25] * 4


def test_a_cost_is_that_of_one_step(clock: Clock) -> None:
    assert timing.microseconds(clock.work(0.5), 4) == 500_000.0
    runs = {"a": clock.work(0.25), "b": clock.work(2.0)}
    assert timing.in_turns(runs, 2, 3) == {"a": [250_000.0] * 3, "b": [2_000_000.0] * 3}
    assert clock.now == 102.0 + 3 * (0.5 + 4.0)  # no round more


def test_ratios_are_to_the_first_row_or_to_those_that_are_named() -> None:
    rates = {"a": 2.0, "b": 8.0}
    told = timing.rate_table("T", rates)
    assert told == {
        "title": "T",
        "rates": [
            {"name": "a", "rate": 2.0, "ratios": {"a": 1.0}},
            {"name": "b", "rate": 8.0, "ratios": {"a": 4.0}},
        ],
    }
    both = [row["ratios"] for row in timing.rate_table("T", rates, ["b", "a"])["rates"]]
    assert both == [{"b": 0.25, "a": 1.0}, {"b": 1.0, "a": 4.0}]


class Space:
    """Draws the number that it was seeded with, then the next ones."""

    def seed(self, number: int) -> None:
        self.at = 10_000 * number - 1

    def sample(self) -> int:
        self.at += 1
        return self.at


class Text(dict[str, str]):
    """An observation that counts how often its text is read."""

    read = 0

    def __getitem__(self, key: str) -> str:
        assert key == "text"
        Text.read += 1
        return ""


class Told:
    """An environment of two agents that tells what it was asked; one leaves after two steps."""

    possible_agents = ("a", "b")

    def __init__(self) -> None:
        self.spaces = {name: Space() for name in self.possible_agents}
        self.asked: list[Any] = []
        self.agents: list[str] = []

    def action_space(self, name: str) -> Space:
        return self.spaces[name]

    def reset(self, seed: int | None = None) -> None:
        self.asked.append(seed)
        self.agents, self.steps = ["a", "b"], 0

    def step(self, actions: dict[str, int]) -> Any:
        self.asked.append(actions)
        shown = {name: Text() for name in self.agents}
        self.steps += 1
        self.agents = [["a", "b"], ["b"], []][self.steps - 1]
        return (shown,)


@pytest.mark.parametrize("read", [False, True])
def test_a_parallel_env_is_stepped_with_drawn_actions_of_those_that_live(read: bool) -> None:
    env, Text.read = Told(), 0
    run = timing.parallel_steps(env, read)
    run(2)
    run(2)
    assert env.asked == [
        0,
        {"a": 0, "b": 10_000},
        {"a": 1, "b": 10_001},
        {"b": 10_002},
        None,
        {"a": 3, "b": 10_003},
    ]
    assert Text.read == (2 + 2 + 1 + 2 if read else 0)
    run(1021)
    acts = [asked for asked in env.asked if isinstance(asked, dict)]
    assert [next(iter(one.values())) % 10_000 for one in acts] == [*range(1024), 0]


class Batch:
    """A batch of 3 games of two agents with 5 actions that keeps what it is given."""

    num_envs, agents = 3, ("a", "b")

    class action_space:  # an attribute of environments
        n = 5

    def __init__(self) -> None:
        self.given: list[Any] = []

    def reset(self, seed: int) -> None:
        self.given.append(seed)

    def step(self, actions: Any) -> None:
        self.given.append(actions)


@pytest.mark.parametrize(("count", "most"), [(None, 5), (2, 2)])
def test_a_batch_is_stepped_with_so_many_drawn_actions_in_turn(
    count: int | None, most: int
) -> None:
    env = Batch()
    timing.batch_steps(env, count)(33)
    seed, *acts = env.given
    assert seed == 0
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, most, (3, 2), np.int32) for _ in range(32)]
    np.testing.assert_array_equal(acts, [*drawn, drawn[0]])
    assert acts[0].dtype == np.int32
    env = Batch()
    timing.batch_steps(env, count, drawn=2)(3)
    np.testing.assert_array_equal(env.given[3], env.given[1])
