"""How much is written of what: one level for all, others for some agents and components."""

from __future__ import annotations

from collections.abc import Mapping

from piase_gym.errors import ConfigError
from piase_gym.runs.schema import ACTIONS, EVENT_TYPES, SYSTEM, EventType, component_id, rank

_UNKNOWN = EventType("engine", ACTIONS)


class Levels:
    """Decides whether a line is wanted.

    Args:
        level: The level where nothing else is said.
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
        """Tell whether a line is to be written."""
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
