"""PiaAVT's own demands on a log, written down from its specification without looking at our code.

`refusal` is a validator of single lines; `Goals` reads goals as the toolkit's two goal analyses do.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

FIELDS = {
    "timestamp": str,
    "simulation_run_id": str,
    "experiment_id": str,
    "agent_id": str,
    "source_component_id": str,
    "log_level": str,
    "event_type": str,
    "event_data": dict,
}
LEVELS = {"TRACE", "DEBUG", "INFO", "STATE", "WARN", "ERROR", "CRITICAL"}
TYPES = set(
    """SIMULATION_CONTROL SYSTEM_MESSAGE MODULE_INITIALIZED MODULE_CONFIGURED MODULE_RESET
    MODULE_TERMINATED MODULE_WARNING MODULE_ERROR ENVIRONMENT_STATE_CHANGED
    ENVIRONMENT_EVENT_OCCURRED REWARD_SIGNAL_ISSUED TASK_STATUS_UPDATE PERCEPTION_INPUT_RECEIVED
    PERCEPTION_INPUT_PROCESSED AGENT_ACTION_SENT_TO_ENV AGENT_ACTION_EXECUTED_IN_ENV GOAL_CREATED
    GOAL_ACTIVATED GOAL_STATUS_CHANGED GOAL_STATE_CHANGED GOAL_ACHIEVED GOAL_FAILED
    GOAL_PRIORITY_UPDATED LEARNING_EPISODE_START LEARNING_EPISODE_END MODEL_PARAMETER_UPDATE
    PREDICTION_ERROR_DETECTED NLG_OUTPUT_GENERATED NLU_OUTPUT_GENERATED LTM_STORE_SUCCESS
    LTM_RETRIEVAL_SUCCESS STATE_UPDATE EMOTION_STATE_UPDATED SELFMODEL_CONFIDENCE_CHANGED
    DSE_AGENT_CURRICULUM_START DSE_STEP_ATTEMPT_START DSE_ENV_RECONFIG_APPLIED
    DSE_AGENT_RECONFIG_APPLIED DSE_STEP_COMPLETED DSE_ADAPTATION_EVAL DSE_APPLY_HINT
    DSE_REPEAT_STEP DSE_BRANCH DSE_CURRICULUM_FAILED DSE_AGENT_CURRICULUM_FINISHED""".split()
)
STAMP = re.compile(r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z")


def refusal(line: str) -> str:
    """Say why PiaAVT would refuse a line, or return an empty string."""
    event = json.loads(line, parse_constant=refuse)
    for field, kind in FIELDS.items():
        if not isinstance(event.get(field), kind):
            return f"{field} is {event.get(field)!r}"
        if kind is str and not event[field].strip():
            return f"{field} is blank"
    if not STAMP.fullmatch(event["timestamp"]):
        return f"timestamp {event['timestamp']}"
    datetime.strptime(event["timestamp"], "%Y-%m-%dT%H:%M:%S.%fZ")
    if event["log_level"] not in LEVELS:
        return f"log_level {event['log_level']}"
    if event["event_type"] not in TYPES:
        return f"event_type {event['event_type']}"
    return ""


def refuse(name: str) -> None:
    """JSON has no NaN and no infinities."""
    raise AssertionError(f"{name} is not JSON")


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the events of a plain log."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Goals:
    """Counts episodes' goals and durations from the lines of one name of the state change."""

    def __init__(self, events: list[dict[str, Any]], change: str) -> None:
        self.created: dict[str, dict[str, Any]] = {}
        self.active: dict[str, int] = {}
        self.ended: dict[str, tuple[str, int, str]] = {}
        lessons = {
            event["event_data"]["goal_id"]
            for event in events
            if event["event_data"].get("type") == "CURRICULUM_STEP"
        }
        for event in events:
            data = event["event_data"]
            if data.get("goal_id") in lessons:
                continue
            if event["event_type"] == "GOAL_CREATED":
                assert data["goal_id"] not in self.created
                assert data["type"] == "EXTRINSIC_TASK"
                assert data.get("initial_status") == "ACTIVE" or ":" not in data["goal_id"]
                assert 0 <= data["initial_priority"] <= 10
                assert data["description"]
                self.created[data["goal_id"]] = event
            elif event["event_type"] == "GOAL_ACTIVATED":
                assert data["goal_id"] in self.created
                self.active[data["goal_id"]] = event["step"]
            elif event["event_type"] == change:
                goal = data["goal_id"]
                assert data["old_state"] == "ACTIVE"
                assert goal not in self.ended
                steps = event["step"] - self.active[goal]
                self.ended[goal] = (data["new_state"], steps, event["agent_id"])
        assert set(self.active) == set(self.created)

    def count(self, state: str, agent: str) -> int:
        """Return how many goals of an agent ended in a state."""
        return sum(end[0] == state and end[2] == agent for end in self.ended.values())

    def durations(self, agent: str) -> list[int]:
        """Return how many steps each goal of an agent took."""
        return [end[1] for end in self.ended.values() if end[2] == agent]
