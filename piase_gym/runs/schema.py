"""The vocabulary of the PiaAVT log: fields, event types, components, levels.

A run is a JSON Lines file, one event per line. The eight fields of `FIELDS` are on every line; we
add those of `MORE_FIELDS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from piase_gym.errors import ConfigError, require_known

Event = dict[str, Any]
"""A line of a log, as it was read."""
LINE_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)
"""The errors raised by code that trusts damaged values, such as a line's `event_data`."""

SCHEMA_VERSION = 3
"""The schema version that we write; earlier versions stay readable, later ones are refused.

Since version 2, ids of events and goals begin with the run, goals state their first status, the
goal of an episode that was played out is no longer ABANDONED, steps of curricula are goals, and
every summary has a seal. Since version 3, level ``full`` contains whole perceptions and results,
and the changes of objects.
"""

FIELDS = (
    "timestamp",
    "simulation_run_id",
    "experiment_id",
    "agent_id",
    "source_component_id",
    "log_level",
    "event_type",
    "event_data",
)
"""The fields that PiaAVT requires on every line."""
MORE_FIELDS = ("event_id", "source_type", "step", "episode")
"""The fields we add to every line: its number, who writes it, steps done, number of the episode."""

REBUILD = "rebuild"
"""The `control` of another manifest: the environment was rebuilt before its first reset."""
ATTEMPT = "DSE_STEP_ATTEMPT_START"
"""An agent begins another attempt at a step of its curriculum."""
SYSTEM = "system"
"""The `agent_id` of lines that concern no agent in particular."""
SOURCE_TYPES = ("AGENT", "ENVIRONMENT", "SIMULATOR")
LOG_LEVELS = ("TRACE", "DEBUG", "INFO", "STATE", "WARN", "ERROR", "CRITICAL")
TIMESTAMP = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,6}Z"
_TIMESTAMP = re.compile(TIMESTAMP, re.ASCII)

LEVELS = ("critical", "actions", "events", "full")
"""How much is written, from least to most; each level includes the lines of those before it."""
CRITICAL, ACTIONS, EVENTS, FULL = range(4)
LEVEL_ALIASES = {"CRITICAL_EVENTS_ONLY": "critical", "INFO": "events", "DEBUG": "full"}
"""The level names of the PiaSE design document: ``INFO`` leaves out the lines whose own
`log_level` is DEBUG, which are perceptions."""


def level_of(name: object) -> str:
    """Return the name of a level, given its name or alias.

    Raises:
        ConfigError: If there is no such level.
    """
    require_known("level", name, (*LEVELS, *LEVEL_ALIASES))
    return LEVEL_ALIASES.get(str(name), str(name))


def rank(level: str) -> int:
    """Return the number of a level, given its name or alias.

    Raises:
        ConfigError: If there is no such level.
    """
    return LEVELS.index(level_of(level))


def environment(world: str) -> str:
    """Return the `source_component_id` of a world."""
    return f"PiaSE.Environment_{world}"


ENGINE = "PiaSE.SimulationEngine"
DSE = "PiaSE.DSE"


@dataclass(frozen=True)
class EventType:
    """What is usual for lines of one type.

    Attributes:
        component: Who writes it: ``engine``, ``environment``, ``agent`` or ``dse``.
        level: The lowest level at which it is written.
        log_level: Its `log_level`.
    """

    component: str
    level: int = ACTIONS
    log_level: str = "INFO"

    @property
    def source_type(self) -> str:
        """The PiaSE design document's word for who writes it."""
        kinds = {"agent": "AGENT", "environment": "ENVIRONMENT"}
        return kinds.get(self.component, "SIMULATOR")


def _types(component: str, level: int, names: str, log_level: str = "INFO") -> dict[str, EventType]:
    """Return rows for several names that have the rest in common."""
    return {name: EventType(component, level, log_level) for name in names.split()}


EVENT_TYPES: dict[str, EventType] = {
    **_types("engine", CRITICAL, "SIMULATION_CONTROL"),
    **_types("engine", ACTIONS, "SYSTEM_MESSAGE"),
    **_types("engine", ACTIONS, "MODULE_INITIALIZED MODULE_CONFIGURED MODULE_RESET"),
    **_types("engine", ACTIONS, "MODULE_TERMINATED"),
    **_types("engine", CRITICAL, "MODULE_WARNING", "WARN"),
    **_types("engine", CRITICAL, "MODULE_ERROR", "ERROR"),
    **_types("environment", ACTIONS, "ENVIRONMENT_STATE_CHANGED", "STATE"),
    **_types("environment", ACTIONS, "ENVIRONMENT_EVENT_OCCURRED"),
    **_types("environment", EVENTS, "REWARD_SIGNAL_ISSUED TASK_STATUS_UPDATE"),
    **_types("agent", FULL, "PERCEPTION_INPUT_RECEIVED PERCEPTION_INPUT_PROCESSED", "DEBUG"),
    **_types("agent", EVENTS, "AGENT_ACTION_SENT_TO_ENV"),
    **_types("environment", EVENTS, "AGENT_ACTION_EXECUTED_IN_ENV"),
    **_types("agent", CRITICAL, "GOAL_CREATED GOAL_ACTIVATED GOAL_STATUS_CHANGED", "STATE"),
    **_types("agent", CRITICAL, "GOAL_STATE_CHANGED GOAL_ACHIEVED GOAL_FAILED", "STATE"),
    **_types("agent", CRITICAL, "GOAL_PRIORITY_UPDATED", "STATE"),
    **_types("engine", ACTIONS, "LEARNING_EPISODE_START LEARNING_EPISODE_END"),
    **_types("agent", ACTIONS, "MODEL_PARAMETER_UPDATE PREDICTION_ERROR_DETECTED"),
    **_types("agent", EVENTS, "NLG_OUTPUT_GENERATED NLU_OUTPUT_GENERATED"),
    **_types("agent", EVENTS, "LTM_STORE_SUCCESS LTM_RETRIEVAL_SUCCESS"),
    **_types("agent", ACTIONS, "LLM_REPLY_RECEIVED"),
    **_types("agent", EVENTS, "STATE_UPDATE EMOTION_STATE_UPDATED", "STATE"),
    **_types("agent", EVENTS, "SELFMODEL_CONFIDENCE_CHANGED", "STATE"),
    **_types("dse", ACTIONS, "DSE_AGENT_CURRICULUM_START DSE_STEP_ATTEMPT_START"),
    **_types("dse", ACTIONS, "DSE_ENV_RECONFIG_APPLIED DSE_AGENT_RECONFIG_APPLIED"),
    **_types("dse", ACTIONS, "DSE_STEP_COMPLETED DSE_ADAPTATION_EVAL DSE_APPLY_HINT"),
    **_types("dse", ACTIONS, "DSE_REPEAT_STEP DSE_BRANCH DSE_CURRICULUM_FAILED"),
    **_types("dse", ACTIONS, "DSE_AGENT_CURRICULUM_FINISHED"),
}
"""The toolkit's vocabulary, and ours: DSE types in the style of its engine, and models' replies."""

GOAL_STATES = ("ACTIVE", "ACHIEVED", "FAILED", "ABANDONED", "INVALIDATED")
GOAL_OF_RESULT = {"won": "ACHIEVED", "ended": "ACHIEVED", "lost": "FAILED", "drawn": "FAILED"}
"""The final state of the goal of an episode that ended by itself, by the result.

Where a world gives no verdict (``ended``), the task is to play to the end; a draw is not the win
that was the goal. An episode that was broken off leaves its goal ABANDONED.
"""


def goal_of_result(reason: str, schema: int = SCHEMA_VERSION) -> str:
    """Return the final state of an episode's goal, by its result or why it was broken off."""
    if schema < 2 and reason in ("ended", "drawn"):
        return "ABANDONED"
    return GOAL_OF_RESULT.get(reason, "ABANDONED")


def played_out(reason: object) -> bool:
    """Return whether an episode ended by itself; only such episodes count in means.

    Args:
        reason: Its result, or why it was broken off; see `piase_gym.core.commands.Result`.
    """
    return reason in GOAL_OF_RESULT


def describe_damage(error: Exception) -> str:
    """Say what damaged values lack, or that they are of a wrong type; see `LINE_DAMAGE`."""
    return f"lacks {error}" if isinstance(error, KeyError) else f"is damaged: {error}"


def moment_of(timestamp: str) -> str:
    """Return a timestamp in a form that can be compared; empty if it is not valid."""
    if _TIMESTAMP.fullmatch(timestamp) is None:
        return ""
    try:
        datetime.fromisoformat(timestamp)
    except ValueError:  # there is no such day or hour
        return ""
    return timestamp[:-1].ljust(26, "0") + "Z"


def event_number(event_id: str, run_id: str, schema: int) -> int:
    """Return the number of a line from its `event_id`; -1 if that is not valid."""
    run, colon, number = event_id.rpartition(":")
    if schema > 1 and (run != run_id or not colon):
        return -1
    text = number if schema > 1 else event_id
    canonical = text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")
    return int(text) if canonical and len(text) < 20 else -1


def component_id(kind: str, world: str, agent: str) -> str:
    """Return the `source_component_id` for a kind of component."""
    if kind == "environment":
        return environment(world)
    if kind == "agent":
        return f"PiaAGI.Agent_{agent}"
    return DSE if kind == "dse" else ENGINE


_ENVIRONMENT = frozenset({"ENVIRONMENT_EVENT_OCCURRED", "ENVIRONMENT_STATE_CHANGED"})
_SHAPES: tuple[frozenset[str], ...] = (
    *(frozenset({key}) for key in ("commands", "seed", "changes", "snapshot", "order")),
    frozenset({"agent", "message"}),
    frozenset({"sender", "recipient"}),
    frozenset({"change", "object"}),
)
"""Entries by which data of the environment are recognized, whatever their `kind` is."""
TYPE_OF_KIND: dict[str, str] = {
    **dict.fromkeys("step reset hint order send poll".split(), "ENVIRONMENT_EVENT_OCCURRED"),
    **dict.fromkeys("restore reconfigure modify snapshot".split(), "ENVIRONMENT_STATE_CHANGED"),
}
"""The types of the lines that a replay executes, by their kind."""
STATES = ("reset", "restore", "step")
"""The kinds of lines after which an environment is in another state."""
_REPORTS = {
    "LEARNING_EPISODE_START": frozenset({"seed", "agents"}),
    "LEARNING_EPISODE_END": frozenset({"seed", "results"}),
}
"""Entries by which the lines of the engine about whole episodes are recognized."""
_KINDS = frozenset((*TYPE_OF_KIND, "milestone", "object"))


def kind_of(event_type: str, data: Mapping[str, Any]) -> str | None:
    """Return the kind of a line that a replay executes, such as ``step``; ``None`` for others.

    Users may write any `kind` into lines of other types.
    """
    kind = data.get("kind")
    return kind if isinstance(kind, str) and TYPE_OF_KIND.get(kind) == event_type else None


def looks_derived(event_type: str, data: Mapping[str, Any]) -> bool:
    """Return whether a line has the entries of one that the engine writes about an environment."""
    if event_type in _REPORTS:
        return _REPORTS[event_type] <= data.keys()
    return event_type in _ENVIRONMENT and any(shape <= data.keys() for shape in _SHAPES)


def own_line(told: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the event type and the data of a user's own line.

    What is posted with a word from outside the toolkit's vocabulary becomes an event of the
    environment of kind ``posted``, with the word as its ``event``.

    Args:
        told: The data of an event of kind ``log``.

    Raises:
        ConfigError: If it could be taken for a line that the engine writes.
    """
    event_type, data = told["event_type"], told["data"]
    if told.get("posted") and event_type not in EVENT_TYPES:
        return "ENVIRONMENT_EVENT_OCCURRED", {"kind": "posted", "event": event_type, "data": data}
    taken = event_type in ("SIMULATION_CONTROL", "PERCEPTION_INPUT_RECEIVED")
    kind = event_type in _ENVIRONMENT and data.get("kind") in _KINDS
    if taken or kind or looks_derived(event_type, data):
        raise ConfigError(
            f"a line {event_type} with {', '.join(data) or 'no data'} is written by the engine "
            "alone; post it as a type of your own"
        )
    return event_type, data


UNSEALED = "0" * 16
"""The placeholder for the seal while the seal is computed."""


def sealed(line: bytes, seal: str, mark: str = UNSEALED) -> bytes:
    """Return a summary's line with its seal set to `mark`.

    The seal is the hash of all lines up to and including this one, with `UNSEALED` in place of the
    seal.
    """
    before, key, after = line.rpartition(f'"seal":"{seal}"'.encode())
    return before + key.replace(seal.encode(), mark.encode()) + after
