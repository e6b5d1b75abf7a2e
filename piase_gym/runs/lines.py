"""From what happened to lines of text, one by one; `piase_gym.runs.bulk` writes many at once.

A step of an array world costs 8 microseconds, so a line about it must not cost more than two: what
repeats (names, commands, outcomes, rewards) is kept as finished text.
"""

from __future__ import annotations

import functools
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import orjson

from piase_gym.runs.expand import goal_prefix, step_events
from piase_gym.runs.json_values import encode
from piase_gym.runs.schema import (
    EVENT_TYPES,
    EVENTS,
    SCHEMA_VERSION,
    SYSTEM,
    EventType,
    component_id,
)

_UNKNOWN = EventType("engine")
CACHE_SIZE = 4096
THREE = tuple(f"{number:03d}" for number in range(1000))
CALM_END = '"}}\n'
"""What comes after the digest of a step of which there is nothing else to tell."""
DIGEST = 16
"""The digits of a digest."""
T = TypeVar("T")


class Line(NamedTuple):
    """One event that is not a plain step; `data` is JSON already."""

    ns: int
    agent: str
    event_type: str
    step: int
    episode: int
    data: str
    component: str | None = None
    log_level: str | None = None


class Group(NamedTuple):
    """Events of one moment; each part is an agent, an event type and data as JSON."""

    ns: int
    step: int
    episode: int
    parts: Sequence[tuple[str, str, str]]


@dataclass(slots=True)
class Extra:
    """What is not to be said of every step.

    Attributes:
        commands: The commands as JSON, where they are not indices.
        terminated: Who ended by the rules, in the order of those in play.
        truncated: Who ended by a limit, likewise.
        more: Further entries of the line: `slot`, `results`, `milestones`, `feedback`, `messages`.
        percepts: What each agent perceives after the step, at the level ``full``.
    """

    commands: str | None = None
    terminated: Sequence[bool] | None = None
    truncated: Sequence[bool] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    percepts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


StepItem = tuple[
    int, int, int, tuple[str, ...], bytes, Sequence[str], Sequence[float], str, Extra | None
]
"""A step as it is kept until it is written: clock, step, episode, agents in play, their indices (a
byte each), outcomes, rewards, digest, and what else there is."""


class Texts(dict[Any, T]):
    """Finished texts by key, made when first asked for, forgotten when there are too many."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        """Take what makes the text of a key."""
        super().__init__()
        self.make = make

    def __missing__(self, key: Any) -> T:
        """Make the text of a key."""
        if len(self) >= CACHE_SIZE:
            self.clear()
        text = self[key] = self.make(key)
        return text


class Party:
    """The texts of steps in which the same agents are in play.

    Attributes:
        commands: By the commands' indices, a byte each.
        outcomes: By the outcomes, a tuple.
        rewards: By the rewards, eight bytes each, so that 0.0 and -0.0 differ.
        flags: By who ended by the rules, and who by a limit.
        calm: That nobody ended.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        """Start with no texts."""
        self.names = names
        self.pack = struct.Struct(f"<{len(names)}d").pack
        self.commands = Texts(lambda packed: f'"commands":{self._by_name(packed)},"outcomes":')
        self.outcomes = Texts(lambda outcomes: f'{self._by_name(outcomes)},"rewards":')
        unpack = struct.Struct(f"<{len(names)}d").unpack
        self.rewards = Texts(lambda values: f"{self._by_name(unpack(values))},")
        self.flags = Texts(self._flags)
        nobody = (False,) * len(names)
        self.calm = self.flags[nobody, nobody]

    def _by_name(self, values: Sequence[Any]) -> str:
        """Write values by name."""
        return encode(dict(zip(self.names, values, strict=True)))

    def ends(self, extra: Extra) -> tuple[str, str]:
        """Say who ended, and what else there is: what comes before the digest, and after it."""
        end = f'",{encode(extra.more)[1:-1]}}}}}\n' if extra.more else CALM_END
        if extra.terminated is None or extra.truncated is None:
            return self.calm, end
        return self.flags[tuple(extra.terminated), tuple(extra.truncated)], end

    def ended(self, text: memoryview, extra: Extra) -> tuple[memoryview, bytes]:
        """Return lines of plain steps, and what they end with if there is an `extra` to the last.

        Args:
            text: The lines without it.
            extra: What else there is to tell of the last step.
        """
        before, after = self.ends(extra)
        digest = len(text) - len(CALM_END) - DIGEST
        start = digest - len(self.calm.encode())
        end = before.encode() + bytes(text[digest : digest + DIGEST]) + after.encode()
        return text[:start], end

    def _flags(self, flags: tuple[tuple[bool, ...], tuple[bool, ...]]) -> str:
        """Say who ended, by the rules or by a limit."""
        terminated, truncated = map(self._by_name, flags)
        return f'"terminated":{terminated},"truncated":{truncated},"digest":"'


class Encoder:
    """Writes the lines of one run.

    Args:
        run_id: The `simulation_run_id`.
        experiment_id: The `experiment_id`.
        world: Name of the world.
        wants: Whether a line of an agent (or ``system``) and event type is to be written.
    """

    def __init__(
        self, run_id: str, experiment_id: str, world: str, wants: Callable[[str, str], bool]
    ) -> None:
        """Take note of what all lines have in common."""
        self.world, self.wants = world, wants
        self.count = 0
        self.table: Sequence[Mapping[str, Any]] = ()
        self.run = (
            f'Z","simulation_run_id":{encode(run_id)},"experiment_id":{encode(experiment_id)},'
            f'"event_id":{encode(run_id)[:-1]}:'
        )
        self.prefix = goal_prefix(run_id, SCHEMA_VERSION)
        self.heads = Texts(self._head)
        """The part of a line from the agent to the step: by agent, event type, component, level."""
        self.parties = Texts(Party)
        self._milli, self._prefix = -1, ""
        self.clock = time.time_ns() - time.monotonic_ns()
        self.step_head = self.heads[SYSTEM, "ENVIRONMENT_EVENT_OCCURRED", None, None]
        self.details = False
        """Whether lines of single agents may be wanted beside those of steps."""
        self.steps = True

    def set_detail(self, level: int, steps: bool) -> None:
        """Take note of the highest level in use, and whether step lines are wanted."""
        self.details, self.steps = level >= EVENTS, steps

    def stamp(self, ns: int) -> str:
        """Return a reading of the monotonic clock as a time of day, without the final Z."""
        milli, micro = divmod((ns + self.clock) // 1000, 1000)
        if milli != self._milli:
            self._milli, self._prefix = milli, moment(milli)
        return self._prefix + THREE[micro]

    def _head(self, key: tuple[str, str, str | None, str | None]) -> str:
        """Return the part of a line from the agent to the step."""
        agent, event_type, component, log_level = key
        usual = EVENT_TYPES.get(event_type, _UNKNOWN)
        source = component or component_id(usual.component, self.world, agent)
        return (
            f'","agent_id":{encode(agent)},"source_component_id":{encode(source)},'
            f'"source_type":"{_source_type(component, usual)}",'
            f'"log_level":{encode(log_level or usual.log_level)},'
            f'"event_type":{encode(event_type)},"step":'
        )

    def line(self, item: Line) -> str:
        """Write one event."""
        ns, agent, event_type, step, episode, data, component, log_level = item
        self.count += 1
        return (
            f'{{"timestamp":"{self.stamp(ns)}{self.run}{self.count}'
            f"{self.heads[agent, event_type, component, log_level]}{step},"
            f'"episode":{episode},"event_data":{data}}}\n'
        )

    def group(self, item: Group) -> str:
        """Write the events of one moment."""
        before = f'{{"timestamp":"{self.stamp(item.ns)}{self.run}'
        middle = f'{item.step},"episode":{item.episode},"event_data":'
        first, heads = self.count + 1, self.heads
        self.count += len(item.parts)
        return "".join(
            [
                f"{before}{number}{heads[agent, event_type, None, None]}{middle}{data}}}\n"
                for number, (agent, event_type, data) in enumerate(item.parts, first)
            ]
        )

    def step(self, item: StepItem) -> str:
        """Write one step, and below it what is wanted of single agents."""
        ns, step, episode, names, packed, outcomes, rewards, digest, extra = item
        party = self.parties[names]
        self.count += 1
        given = None if extra is None else extra.commands
        commands = f'"commands":{given},"outcomes":' if given else party.commands[packed]
        flags, end = (party.calm, CALM_END) if extra is None else party.ends(extra)
        line = (
            f'{{"timestamp":"{self.stamp(ns)}{self.run}{self.count}{self.step_head}{step},'
            f'"episode":{episode},"event_data":{{"kind":"step",{commands}'
            f"{party.outcomes[tuple(outcomes)]}{party.rewards[party.pack(*rewards)]}"
            f"{flags}{digest}{end}"
        )
        if self.details or not self.steps:
            return self._with_details(item, line)
        return line

    def _with_details(self, item: StepItem, line: str) -> str:
        """Return the lines of a step and of single agents, as far as they are wanted."""
        if not self.steps:
            self.count -= 1
        singles = "".join(self._single_lines(item)) if self.details else ""
        return line + singles if self.steps else singles

    def _single_lines(self, item: StepItem) -> Iterator[str]:
        """Write the lines of single agents that a step stands for."""
        ns, step, episode, *_, extra = item
        for agent, event_type, data in step_events(data_of(item), episode, self.table, self.prefix):
            if self.wants(agent, event_type):
                yield self.line(Line(ns, agent, event_type, step, episode, encode(data)))
        if extra is not None:
            for agent, percept in extra.percepts.items():
                text = encode(percept)
                yield self.line(Line(ns, agent, "PERCEPTION_INPUT_RECEIVED", step, episode, text))


def moment(milli: int) -> str:
    """Return milliseconds since 1970 as the date and time of a line, without the microseconds."""
    seconds, rest = divmod(milli, 1000)
    return _second(seconds) + THREE[rest]


@functools.lru_cache(maxsize=16)
def _second(seconds: int) -> str:
    """Return seconds since 1970 as the date and time of a line."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(seconds))


def _source_type(component: str | None, usual: EventType) -> str:
    """Return who writes a line, from its component or else from what is usual."""
    if component is None:
        return usual.source_type
    if component.startswith("PiaAGI."):
        return "AGENT"
    return "ENVIRONMENT" if ".Environment_" in component else "SIMULATOR"


def data_of(item: StepItem) -> dict[str, Any]:
    """Return the data of a step line, as far as they speak of single agents."""
    names, packed, outcomes, rewards, extra = *item[3:7], item[8]
    given = extra.commands if extra is not None else None
    commands = orjson.loads(given) if given else dict(zip(names, packed, strict=True))
    return {
        "commands": commands,
        "outcomes": dict(zip(names, outcomes, strict=True)),
        "rewards": dict(zip(names, rewards, strict=True)),
        **(extra.more if extra is not None else {}),
    }
