"""Events as lines of text: what lines of a run share is cached, the data goes through orjson."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from piase_gym.runs.json_values import dumps, encode
from piase_gym.runs.schema import EVENT_TYPES, EventType, component_id

_UNKNOWN = EventType("engine")


class Line(NamedTuple):
    """One event."""

    ns: int
    agent: str
    event_type: str
    step: int
    episode: int
    data: Mapping[str, Any]
    component: str | None = None
    log_level: str | None = None


class Out:
    """Where the lines of a recorder go: in this class, into a list.

    Attributes:
        final: Whether lines are written for good, so that states are hashed.
        lines: The lines taken so far.
        finish: Returns what completes the run if the process ends and nobody closed it.
    """

    final = True

    def __init__(self) -> None:
        """Start with no lines."""
        self.lines: list[Line] = []
        self.finish: Callable[[], Callable[[], None] | None] = lambda: None

    def open(self, encoder: Encoder) -> None:
        """Get to know what encodes the lines, before the first of them comes."""

    @property
    def full(self) -> bool:
        """Whether it is time to `flush`."""
        return False

    def take(self, line: Line) -> None:
        """Take a line."""
        self.lines.append(line)

    def flush(self) -> None:
        """Pass on what was taken."""

    def close(self, last: Line) -> None:
        """Take the summary, which lacks what only the writer knows, and end."""
        self.take(last)


class Encoder:
    """Writes the lines of one run.

    Args:
        run_id: The `simulation_run_id`.
        experiment_id: The `experiment_id`.
        world: Name of the world.
        clock: What to add to a line's `ns` to get nanoseconds since 1970.

    Attributes:
        run_id: See above.
    """

    def __init__(self, run_id: str, experiment_id: str, world: str, clock: int) -> None:
        """Take note of what all lines have in common."""
        self.run_id, self.world, self.clock = run_id, world, clock
        self._run = (
            f'Z","simulation_run_id":{encode(run_id)},"experiment_id":{encode(experiment_id)},'
            f'"event_id":{encode(run_id)[:-1]}:'
        ).encode()
        self._heads: dict[tuple[str, str, str | None, str | None], bytes] = {}
        self._second, self._time = -1, b""

    def line(self, item: Line, number: int) -> bytes:
        """Write one event, as the line with this number."""
        ns, agent, event_type, step, episode, data, component, log_level = item
        key = agent, event_type, component, log_level
        head = self._heads.get(key) or self._head(*key)
        second, micro = divmod((ns + self.clock) // 1000, 1_000_000)
        if second != self._second:
            form = '{"timestamp":"%Y-%m-%dT%H:%M:%S.'
            self._second, self._time = second, time.strftime(form, time.gmtime(second)).encode()
        parts = self._time, micro, self._run, number, head, step, episode, dumps(data)
        return b'%b%06d%b%d%b%d,"episode":%d,"event_data":%b}\n' % parts

    def event(self, item: Line, number: int) -> dict[str, Any]:
        """Return the event that is line `number`, as it is read from a log."""
        found: dict[str, Any] = orjson.loads(self.line(item, number))
        return found

    def _head(self, agent: str, event_type: str, component: str | None, level: str | None) -> bytes:
        """Return the part of a line from the agent to the step, and keep it."""
        usual = EVENT_TYPES.get(event_type, _UNKNOWN)
        source = component or component_id(usual.component, self.world, agent)
        found = self._heads[agent, event_type, component, level] = (
            f'","agent_id":{encode(agent)},"source_component_id":{encode(source)},'
            f'"source_type":"{_source_type(component, usual)}",'
            f'"log_level":{encode(level or usual.log_level)},'
            f'"event_type":{encode(event_type)},"step":'
        ).encode()
        return found


def _source_type(component: str | None, usual: EventType) -> str:
    """Return who writes a line, from its component or else from what is usual."""
    if component is None:
        return usual.source_type
    if component.startswith("PiaAGI."):
        return "AGENT"
    return "ENVIRONMENT" if ".Environment_" in component else "SIMULATOR"
