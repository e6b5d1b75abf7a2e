"""Events as lines of text: what lines of a run share is cached, the data goes through orjson."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from piase_gym.runs.json_values import dumps, encode
from piase_gym.runs.schema import EVENT_TYPES, EventType, component_id

_UNKNOWN = EventType("engine")
_SECOND = 1_000_000_000
"""Nanoseconds."""
Fields = tuple[int, str, str, int, int, Mapping[str, Any], str | None, str | None]
"""The fields of a `Line` as a plain tuple, which is made in a third of the time."""


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
        full: Whether it is time to `flush`.
        lines: The lines taken so far.
        finish: Returns what completes the run if the process ends and nobody closed it.
    """

    final = True
    full = False

    def __init__(self) -> None:
        """Start with no lines."""
        self.lines: list[Line] = []
        self.finish: Callable[[], Callable[[], None] | None] = lambda: None

    def open(self, encoder: Encoder) -> None:
        """Get to know what encodes the lines, before the first of them comes."""

    def take(self, fields: Fields) -> None:
        """Take the fields of a line."""
        self.lines.append(Line(*fields))

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
        self._second, self._time = -(1 << 63), b""
        """The `ns` at which the present second began, and how it is written."""

    def line(self, fields: Fields, number: int) -> bytes:
        """Write one event, as the line with this number."""
        ns, agent, event_type, step, episode, data, component, log_level = fields
        key = agent, event_type, component, log_level
        head = self._heads.get(key) or self._head(*key)
        since = ns - self._second
        if not 0 <= since < _SECOND:
            since = self._begin_second(ns)
        parts = self._time, since // 1000, self._run, number, head, step, episode, dumps(data)
        return b'%b%06d%b%d%b%d,"episode":%d,"event_data":%b}\n' % parts

    def _begin_second(self, ns: int) -> int:
        """Write the second in which a time lies; return the nanoseconds since it began."""
        seconds, since = divmod(ns + self.clock, _SECOND)
        form = '{"timestamp":"%Y-%m-%dT%H:%M:%S.'
        self._second, self._time = ns - since, time.strftime(form, time.gmtime(seconds)).encode()
        return since

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
