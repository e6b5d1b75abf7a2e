"""How a run is to be logged, and what its summary counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from piase_gym.errors import ConfigError
from piase_gym.runs.bulk import BulkEncoder
from piase_gym.runs.schema import played_out
from piase_gym.runs.sinks import LoggerInterface
from piase_gym.runs.writer import Writer


@dataclass(frozen=True)
class Options:
    """How a run is to be logged; see `piase_gym.wrappers.AvtLogger` for the fields."""

    level: str = "actions"
    levels: Mapping[str, str] | None = None
    experiment_id: str = "default"
    run_id: str | None = None
    snapshot_every: int = 1000
    on_error: str = "warn"
    more: Mapping[str, Any] = field(default_factory=dict)
    writer: Callable[[BulkEncoder, Sequence[LoggerInterface], str], Writer] = Writer

    def check(self) -> None:
        """Raise `ConfigError` if a field is not allowed."""
        for name in ("experiment_id", "run_id"):
            value = getattr(self, name)
            blank = not isinstance(value, str) or not value.strip()
            if blank and not (name == "run_id" and value is None):
                raise ConfigError(f"{name} must be a string that is not blank, not {value!r}")
        every = self.snapshot_every
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise ConfigError(f"snapshot_every must be a positive number of steps, not {every!r}")


class Tally:
    """What the summary says of one agent."""

    def __init__(self) -> None:
        self.states = {"ACHIEVED": 0, "FAILED": 0, "ABANDONED": 0}
        self.total = self.everything = 0.0
        self.played = self.steps = 0

    def add(self, state: str, reason: str, total: float, steps: int) -> None:
        """Count an episode."""
        self.states[state] += 1
        self.steps += steps
        self.everything += total
        if played_out(reason):
            self.played += 1
            self.total += total

    def value(self, schema: int) -> dict[str, Any]:
        """Return it as plain values; the mean is over episodes that were played out."""
        count = sum(self.states.values())
        total, over = (self.total, self.played) if schema > 1 else (self.everything, count)
        return {
            "episodes": count,
            **{state.lower(): number for state, number in self.states.items()},
            "steps": self.steps,
            "mean_return": total / over if over else None,
        }
