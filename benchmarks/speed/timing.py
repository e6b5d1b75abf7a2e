"""Measuring: agent-steps per CPU-second, in interleaved rounds, as medians."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

ROUNDS = 7
SECONDS = 0.4

Timer = Callable[[float], float]
"""Takes CPU-seconds to spend; returns agent-steps per CPU-second."""


class Row(NamedTuple):
    """What is measured: a name, the agents in one step, and a function that does so many steps."""

    name: str
    agents: int
    run: Callable[[int], None]


@dataclass(frozen=True)
class Rate:
    """What was measured.

    Attributes:
        name: Of what.
        rate: Agent-steps per CPU-second.
        ratios: The rate as a multiple of other rows' rates, by their names.
    """

    name: str
    rate: float
    ratios: Mapping[str, float]


@dataclass(frozen=True)
class RateTable:
    """Rates that were measured in one run, and only there can be compared."""

    title: str
    rates: tuple[Rate, ...]


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
    found: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds + 1):
        for name, timer in timers.items():
            found[name].append(timer(seconds))
    return {name: statistics.median(values[1:]) for name, values in found.items()}


def timers_of(rows: Sequence[Row], burst: int) -> dict[str, Timer]:
    """Return a timer for each row, by name."""
    return {row.name: functools.partial(time_row, row=row, burst=burst) for row in rows}


def measure(
    rows: Sequence[Row], rounds: int = ROUNDS, seconds: float = SECONDS, burst: int = 200
) -> dict[str, float]:
    """Return agent-steps per CPU-second by row name: medians over interleaved rounds."""
    return interleave(timers_of(rows, burst), rounds, seconds)


def rate_table(title: str, rates: Mapping[str, float], bases: Sequence[str] = ()) -> RateTable:
    """Return rates with their ratios to the bases; default: to the first row."""
    bases = bases or [next(iter(rates))]
    found = [
        Rate(name, rate, {base: rate / rates[base] for base in bases})
        for name, rate in rates.items()
    ]
    return RateTable(title, tuple(found))
