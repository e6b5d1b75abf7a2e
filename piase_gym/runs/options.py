"""How much is logged: one level for all, others for some agents and components."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from piase_gym.errors import ConfigError, require_count
from piase_gym.runs.schema import (
    ACTIONS,
    EVENT_TYPES,
    SYSTEM,
    EventType,
    component_id,
    played_out,
    rank,
)

NEVER = 2**62
"""The `snapshot_every` of runs without snapshots."""
_UNKNOWN = EventType("engine", ACTIONS)


class Levels:
    """Decides whether a line is wanted.

    Args:
        level: The level where `others` has none.
        others: Levels by agent, ``system``, or `source_component_id`.
        world: Name of the world.

    Raises:
        ConfigError: If a level does not exist.
    """

    def __init__(self, level: str, others: Mapping[str, str] | None, world: str) -> None:
        """Check the levels."""
        if not isinstance(others, Mapping | None):
            raise ConfigError(f"levels are a mapping of names to levels, not {others!r:.60}")
        self.level, self.world = level, world
        self.others = {str(name): rank(other) for name, other in (others or {}).items()}
        self.base = rank(level)
        self.highest = max([self.base, *self.others.values()])
        self._known: dict[tuple[str, str, str | None], bool] = {}

    def of(self, agent: str, component: str) -> int:
        """Return the level for lines of an agent and a component: the lower, if both have one."""
        found = [self.others[name] for name in (agent, component) if name in self.others]
        return min(found, default=self.base)

    def wants(self, agent: str, event_type: str, component: str | None = None) -> bool:
        """Return whether a line is wanted."""
        key = (agent, event_type, component)
        if key not in self._known:
            usual = EVENT_TYPES.get(event_type, _UNKNOWN)
            source = component or component_id(usual.component, self.world, agent)
            self._known[key] = usual.level <= self.of(agent, source)
        return self._known[key]

    @property
    def steps(self) -> bool:
        """Whether step lines are written, without which a run cannot be replayed."""
        return self.wants(SYSTEM, "ENVIRONMENT_EVENT_OCCURRED")


ENTRIES = (
    "control schema_version world world_version config config_hash scenario curricula face "
    "num_envs agents policies actions milestones measures level levels versions"
).split()
"""The entries of every manifest."""


@dataclass(frozen=True)
class Options:
    """How a run is logged; see `piase_gym.wrappers.AvtLogger` for the first fields.

    Attributes:
        clock: Returns nanoseconds; read once for each thing that happens.
        epoch: What to add to get nanoseconds since 1970; ``None`` for a monotonic clock.
    """

    level: str = "actions"
    levels: Mapping[str, str] | None = None
    experiment_id: str = "default"
    run_id: str | None = None
    snapshot_every: int = 1000
    more: Mapping[str, Any] = field(default_factory=dict)
    digest_every: int = 100
    clock: Callable[[], int] = time.monotonic_ns
    epoch: int | None = None

    def checked(self) -> Options:
        """Return the options, counts as Python's; raise `ConfigError` if one is not allowed."""
        for name in ("experiment_id", "run_id"):
            value = getattr(self, name)
            blank = not isinstance(value, str) or not value.strip()
            if blank and not (name == "run_id" and value is None):
                raise ConfigError(f"{name} must be a string that is not blank, not {value!r}")
        for name in self.more:
            if name in ENTRIES:
                raise ConfigError(f"every manifest has {name!r}; give the entry another name")
        rule = "must be a positive number of steps"
        return replace(
            self,
            snapshot_every=require_count(f"snapshot_every {rule}", self.snapshot_every),
            digest_every=require_count(f"digest_every {rule}", self.digest_every),
        )

    def name(self, world: str) -> str:
        """Return the name of the run, a new one if none is given."""
        return self.run_id or f"{world}-{uuid.uuid4().hex[:16]}"


class AgentTotals:
    """What the summary says about one agent."""

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
        """Return the tally as plain values; the mean is over episodes that were played out."""
        count = sum(self.states.values())
        total, over = (self.total, self.played) if schema > 1 else (self.everything, count)
        return {
            "episodes": count,
            **{state.lower(): number for state, number in self.states.items()},
            "steps": self.steps,
            "mean_return": total / over if over else None,
        }
