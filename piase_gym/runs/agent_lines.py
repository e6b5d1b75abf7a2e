"""The per-agent lines that one step line stands for.

At level ``events`` they are written at once; ``piase export --expand`` writes them from the step
lines of a log of any level. Both use this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

AgentEvent = tuple[str, str, dict[str, Any]]
"""An agent, an event type, and its data."""
_TASK_OF_STATE = {"ACHIEVED": "COMPLETED_SUCCESS", "FAILED": "FAILED"}
ONLY_FULL = ("action_command", "action_result")
"""The entries that per-agent lines have only at level ``full``."""
SUMMARIES = {
    "ok": "the action was carried out",
    "failed": "the action was allowed but had no effect",
    "illegal": "the action is not allowed now",
    "unparsable": "the line is not a command",
    "too_long": "the line is too long",
    "timeout": "the agent did not answer in time",
    "refused": "the agent or a guard declined to act",
}


def goal_prefix(run_id: str, schema: int) -> str:
    """Return the prefix of the ids of a run's goals, so that no other run has the same ids."""
    return f"{run_id}:" if schema > 1 else ""


def goal_id(agent: str, episode: int | str, prefix: str) -> str:
    """Return the id of the goal that stands for one agent's episode."""
    return f"{prefix}goal_{episode}_{agent}"


def action_details(command: Any, table: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a logged command as PiaAVT's `action_details`, without a goal and a cost.

    Args:
        command: As in a step line: an index into `table`, a mapping with `type` and `parameters`,
            a mapping with `misread`, or ``None``.
        table: The commands of all indices, from the manifest.
    """
    if isinstance(command, int) and 0 <= command < len(table):
        command = table[command]
    if isinstance(command, Mapping) and "misread" in command:
        return {"type": "unreadable", "parameters": {"reason": command.get("message", "")}}
    if isinstance(command, Mapping):
        return {"type": command.get("type"), "parameters": dict(command.get("parameters") or {})}
    kind = "none" if command is None else f"action_{command}"
    return {"type": kind, "parameters": {}}


def step_events(
    data: Mapping[str, Any],
    episode: int | str,
    table: Sequence[Mapping[str, Any]],
    prefix: str,
    results: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Iterator[AgentEvent]:
    """Yield what a step line says about single agents: commands, outcomes, rewards, messages.

    Args:
        data: The `event_data` of the step line.
        episode: Its episode.
        table: The commands of all indices, from the manifest.
        prefix: The prefix of the ids of the run's goals; see `goal_prefix`.
        results: Agent -> the fields of its `ActionResult`, for agents at level ``full``.
    """
    slot = {"slot": data["slot"]} if "slot" in data else {}
    outcomes, rewards = data["outcomes"], data["rewards"]
    feedback: Mapping[str, str] = data.get("feedback", {})
    submitted: Mapping[str, Mapping[str, Any]] = data.get("submitted", {})
    for agent, command in data["commands"].items():
        goal, details = goal_id(agent, episode, prefix), action_details(command, table)
        sent = {"goal_id": goal, "agent_id_acting": agent, "action_details": details, **slot}
        outcome = outcomes[agent]
        parameters = {**details["parameters"], "goal_id": goal}
        executed = {
            "goal_id": goal,
            "agent_id_acting": agent,
            "action_details": {"type": details["type"], "parameters": parameters, "cost": 1},
            "environmental_outcome_summary": feedback.get(agent) or SUMMARIES.get(outcome, ""),
            "outcome": outcome,
            **slot,
        }
        if results and agent in results:
            sent["action_command"] = {
                "action_type": details["type"],
                "parameters": details["parameters"],
                **submitted.get(agent, {}),
            }
            executed["action_result"] = results[agent]
        yield agent, "AGENT_ACTION_SENT_TO_ENV", sent
        yield agent, "AGENT_ACTION_EXECUTED_IN_ENV", executed
        reward = rewards[agent]
        yield agent, "REWARD_SIGNAL_ISSUED", {"reward_value": reward, "reason": outcome, **slot}
    for agent, names in data.get("milestones", {}).items():
        for name in names:
            yield agent, "ENVIRONMENT_STATE_CHANGED", {"kind": "milestone", "name": name, **slot}
    for letter in data.get("messages", ()):
        yield letter["sender"], "NLG_OUTPUT_GENERATED", {**letter, **slot}


def task_event(agent: str, event_type: str, data: Mapping[str, Any]) -> AgentEvent | None:
    """Return the task update that a goal line stands for, if any."""
    if event_type == "GOAL_ACTIVATED":
        status, metrics = "STARTED", {}
    elif event_type == "GOAL_STATUS_CHANGED" and data["new_state"] in _TASK_OF_STATE:
        status, metrics = _TASK_OF_STATE[data["new_state"]], dict(data.get("metrics", {}))
    else:
        return None
    update = {"task_id": data["goal_id"], "status": status, "assigned_to_agent_id": agent}
    return agent, "TASK_STATUS_UPDATE", {**update, "metrics": metrics}
