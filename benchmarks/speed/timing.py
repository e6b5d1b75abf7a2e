"""Measuring in interleaved rounds, as medians: rates in agent-steps per CPU-second, or costs."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from operator import sub
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDS = 7
SECONDS = 0.4

Run = Callable[[int], None]
"""Does so many steps."""
Timer = Callable[[float], float]
"""Takes CPU-seconds to spend; returns agent-steps per CPU-second."""


class Row(NamedTuple):
    """What is measured: a name, the agents in one step, and a function that does so many steps."""

    name: str
    agents: int
    run: Run


def interleaved(
    measures: Mapping[str, Callable[[], float]], rounds: int, warm: int = 1
) -> dict[str, list[float]]:
    """Return what each measure gave in every round; all take turns.

    So a machine whose speed drifts treats them alike. The first `warm` rounds are dropped.
    """
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds + warm):
        for name, measure in measures.items():
            found[name].append(measure())
    return {name: values[warm:] for name, values in found.items()}


def medians(found: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the median of each."""
    return {name: statistics.median(values) for name, values in found.items()}


def added(found: Mapping[str, Sequence[float]], base: str) -> dict[str, float]:
    """Return the median of what each is more than the base in the same round."""
    return {name: statistics.median(map(sub, one, found[base])) for name, one in found.items()}


# -- rates --------------------------------------------------------------------------------


def time_row(seconds: float, row: Row, burst: int) -> float:
    """Return agent-steps per CPU-second of this process."""
    steps, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        row.run(burst)
        steps += burst
    return steps * row.agents / (time.process_time() - start)


def interleave(
    timers: Mapping[str, Timer], rounds: int = ROUNDS, seconds: float = SECONDS
) -> dict[str, float]:
    """Return the median of each timer; all are asked in turn, and the first round is dropped."""
    asked = {name: functools.partial(timer, seconds) for name, timer in timers.items()}
    return medians(interleaved(asked, rounds))


def timers_of(rows: Sequence[Row], burst: int) -> dict[str, Timer]:
    """Return a timer for each row, by name."""
    return {row.name: functools.partial(time_row, row=row, burst=burst) for row in rows}


def measure(
    rows: Sequence[Row], rounds: int = ROUNDS, seconds: float = SECONDS, burst: int = 200
) -> dict[str, float]:
    """Return agent-steps per CPU-second by row name: medians over interleaved rounds."""
    return interleave(timers_of(rows, burst), rounds, seconds)


def rate_table(title: str, rates: Mapping[str, float], bases: Sequence[str] = ()) -> dict[str, Any]:
    """Return rates with their ratios to the bases, JSON-able; default: to the first row."""
    bases = bases or [next(iter(rates))]
    rows = [
        {"name": name, "rate": rate, "ratios": {base: rate / rates[base] for base in bases}}
        for name, rate in rates.items()
    ]
    return {"title": title, "rates": rows}


# -- what is stepped ----------------------------------------------------------------------


def microseconds(run: Run, steps: int) -> float:
    """Return the CPU-microseconds of one step, of all threads."""
    start = time.process_time()
    run(steps)
    return (time.process_time() - start) / steps * 1e6


def milliseconds(work: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Return the CPU-milliseconds of some work on each of some things; the first warms up."""
    work(items[0])
    return microseconds(steps_of(work, items), len(items)) / 1000


def in_turns(runs: Mapping[str, Run], steps: int, rounds: int) -> dict[str, list[float]]:
    """Return the microseconds of a step of each in every round; they take turns."""
    measures = {name: functools.partial(microseconds, run, steps) for name, run in runs.items()}
    return interleaved(measures, rounds, warm=0)


def parallel_steps(env: Any, read: bool = False) -> Run:
    """Return what steps a ParallelEnv with random actions; `read` reads every text."""
    env.reset(seed=0)
    names = list(env.possible_agents)
    for number, name in enumerate(names):
        env.action_space(name).seed(number)
    draws = [{name: env.action_space(name).sample() for name in names} for _ in range(1024)]
    at = 0

    def run(steps: int) -> None:
        nonlocal at
        for step in range(at, at + steps):
            if not env.agents:
                env.reset()
            actions = draws[step & 1023]
            if len(env.agents) < len(names):
                actions = {name: actions[name] for name in env.agents}
            observations = env.step(actions)[0]
            if read:
                for observation in observations.values():
                    observation["text"]
        at += steps

    return run


def batch_draws(envs: int, agents: int, count: int, steps: int = 32) -> list[NDArray[np.int32]]:
    """Return some steps of random actions out of so many."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, count, (envs, agents), np.int32) for _ in range(steps)]


def steps_of(step: Callable[[Any], object], draws: Sequence[Any]) -> Run:
    """Return what takes steps with these actions in turn."""

    def run(steps: int) -> None:
        for number in range(steps):
            step(draws[number % len(draws)])

    return run


def batch_steps(env: Any, count: int | None = None, drawn: int = 32) -> Run:
    """Return what steps a batch with so many random actions in turn, all or the first `count`."""
    env.reset(seed=0)
    actions = count or int(env.action_space.n)
    return steps_of(env.step, batch_draws(env.num_envs, len(env.agents), actions, drawn))
