"""Readers of what environments answer, by the names of fields: results, perceptions, messages.

So reimplementations of the documents' models are accepted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.commands import Outcome, Result, Verb
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.worlds.own.actions import fields_of
from piase_gym.worlds.own.facts import Shown
from piase_gym.worlds.own.faults import wrong

STATUSES = {
    "failure": Outcome.FAILED,
    "failed": Outcome.FAILED,
    "error": Outcome.FAILED,
    "invalid_action": Outcome.ILLEGAL,
    "invalid": Outcome.ILLEGAL,
}
"""The outcomes of the documents' statuses; every other status is a success."""


class Answer(NamedTuple):
    """What became of one agent's action.

    Attributes:
        reward: The reward.
        outcome: What became of the action.
        message: What the environment says about the action.
        terminated: Whether the environment says that this ends the agent's episode by the rules.
        truncated: Whether the environment says that this ends the agent's episode by a limit.
        result: How the episode has ended, if the environment says so, else ``None``.
        notes: What else the environment says, JSON-able.
    """

    reward: float = 0.0
    outcome: Outcome = Outcome.OK
    message: str = ""
    terminated: bool = False
    truncated: bool = False
    result: Result | None = None
    notes: Mapping[str, Any] = {}


class Turn(NamedTuple):
    """What a step did.

    Attributes:
        answers: The answer for each agent that acted, by name.
        shown: What each agent is shown after the step.
        verbs: The present verbs.
    """

    answers: Mapping[str, Answer]
    shown: Mapping[str, Shown]
    verbs: tuple[Verb, ...]


def in_order(things: Any) -> list[Any]:
    """Return a list, or the members of a set in a stable order."""
    return sorted(things, key=str) if isinstance(things, set | frozenset) else list(things)


def read_number(what: str, value: Any) -> float:
    """Return a finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise wrong(what, value, "a number") from None
    if not np.isfinite(found):
        raise wrong(what, value, "a finite number")
    return found


def said_result(info: Mapping[str, Any]) -> Result | None:
    """Return how an episode has ended according to an environment, or ``None`` if it is silent."""
    for name in ("won", "success"):
        if isinstance(info.get(name), bool | np.bool_):
            return Result.WON if info[name] else Result.LOST
    text = str(info.get("result"))
    return Result(text) if text in list(Result) else None


def read_answer(given: Any) -> Answer:
    """Read an `ActionResult`, or what `execute_action` returns."""
    found = fields_of(given)
    if "status" not in found and not isinstance(given, Mapping):
        raise wrong("the result of an action", given, "an ActionResult")
    details = found.get("details") or {}
    if not isinstance(details, Mapping):
        raise wrong("the details of a result", details, "a mapping")
    said = {**found, **details}
    rewards = found.get("rewards_obtained")
    if isinstance(rewards, Mapping):
        reward = sum_in_order(
            read_number(f"the reward {name!r:.40}", value) for name, value in rewards.items()
        )
    elif rewards is not None and "reward" not in said:
        raise wrong("rewards_obtained", rewards, "a mapping of names to numbers")
    else:
        reward = read_number("the reward", said.get("reward") or 0.0)
    outcome = STATUSES.get(str(found.get("status")), Outcome.OK)
    truncated = bool(said.get("truncated"))
    return Answer(
        float(reward),
        outcome,
        str(found.get("message") or found.get("error_details") or ""),
        not truncated and bool(said.get("terminated") or said.get("done")),
        truncated,
        said_result(said),
        jsonable(dict(details)),
    )


_PERCEPTION = "raw_observations visible_text sensor_data messages visible_entities".split()


def read_perception(given: Any, agent: str) -> Shown:
    """Read a `PerceptionData`."""
    found = fields_of(given)
    if not any(name in found for name in _PERCEPTION):
        raise wrong("what an agent perceives", given, "a PerceptionData")
    data: dict[str, Any] = {}
    for name in ("raw_observations", "sensor_data"):
        part = found.get(name) or {}
        if not isinstance(part, Mapping):
            raise wrong(name, part, "a mapping")
        data |= part
    data |= {
        name: found[name]
        for name in ("inventory_update", "self_stats_feedback", "visible_entities")
        if found.get(name) is not None
    }
    own = found.get("agent_specific_data") or {}
    said = [found.get("visible_text"), *(data.pop(name, None) for name in ("text", "description"))]
    text = next((part for part in said if isinstance(part, str) and part), None)
    if text is None:
        text = "\n".join(f"{name}: {value}" for name, value in jsonable(data).items())
    return Shown(
        text,
        data,
        read_letters(found.get("messages") or (), agent),
        terminated=bool(fields_of(own).get("done")),
        truncated=bool(fields_of(own).get("truncated")),
    )


def read_letters(given: Any, agent: str) -> tuple[Message, ...]:
    """Read messages in the form of any of the documents."""
    if not isinstance(given, list | tuple):
        raise wrong("the messages", given, "a list")
    letters = []
    for letter in given:
        part = fields_of(letter)
        words = part.get("content", part.get("message"))
        if words is None:
            raise wrong("a message", letter, "a sender and a content")
        recipient = EVERYONE if part.get("recipient") == EVERYONE else agent
        letters.append(Message(str(part.get("sender", "system")), recipient, str(words)))
    return tuple(letters)
