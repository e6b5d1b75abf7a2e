"""What the lines of single agents say."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.runs.agent_lines import action_details, goal_id, goal_prefix, step_events, task_event

TABLE = [{"type": "stay", "parameters": {}}, {"type": "move", "parameters": {"to": "north"}}]


STEP: dict[str, Any] = {
    "kind": "step",
    "slot": 3,
    "commands": {"a": 1, "b": {"misread": "unparsable", "message": "no such verb"}},
    "outcomes": {"a": "ok", "b": "unparsable"},
    "rewards": {"a": 0.5, "b": -0.25},
    "feedback": {"a": "You go north."},
    "milestones": {"a": ["door_opened"]},
    "messages": [{"sender": "b", "recipient": "a", "message": "hi"}],
    "submitted": {"a": {"sequence_id": 7}},
}


def test_a_step_line_stands_for_these_lines_of_single_agents() -> None:
    result = {"status": "success"}
    north = {"type": "move", "parameters": {"to": "north"}}
    misread = {"type": "unreadable", "parameters": {"reason": "no such verb"}}
    one, two = "r:goal_4_a", "r:goal_4_b"
    assert list(step_events(STEP, 4, TABLE, "r:", {"a": result})) == [
        (
            "a",
            "AGENT_ACTION_SENT_TO_ENV",
            {
                "goal_id": one,
                "agent_id_acting": "a",
                "action_details": north,
                "slot": 3,
                "action_command": {
                    "action_type": "move",
                    "parameters": {"to": "north"},
                    "sequence_id": 7,
                },
            },
        ),
        (
            "a",
            "AGENT_ACTION_EXECUTED_IN_ENV",
            {
                "goal_id": one,
                "agent_id_acting": "a",
                "action_details": {
                    "type": "move",
                    "parameters": {"to": "north", "goal_id": one},
                    "cost": 1,
                },
                "environmental_outcome_summary": "You go north.",
                "outcome": "ok",
                "slot": 3,
                "action_result": result,
            },
        ),
        ("a", "REWARD_SIGNAL_ISSUED", {"reward_value": 0.5, "reason": "ok", "slot": 3}),
        (
            "b",
            "AGENT_ACTION_SENT_TO_ENV",
            {"goal_id": two, "agent_id_acting": "b", "action_details": misread, "slot": 3},
        ),
        (
            "b",
            "AGENT_ACTION_EXECUTED_IN_ENV",
            {
                "goal_id": two,
                "agent_id_acting": "b",
                "action_details": {
                    "type": "unreadable",
                    "parameters": {"reason": "no such verb", "goal_id": two},
                    "cost": 1,
                },
                "environmental_outcome_summary": "the line is not a command",
                "outcome": "unparsable",
                "slot": 3,
            },
        ),
        ("b", "REWARD_SIGNAL_ISSUED", {"reward_value": -0.25, "reason": "unparsable", "slot": 3}),
        ("a", "ENVIRONMENT_STATE_CHANGED", {"kind": "milestone", "name": "door_opened", "slot": 3}),
        (
            "b",
            "NLG_OUTPUT_GENERATED",
            {"sender": "b", "recipient": "a", "message": "hi", "slot": 3},
        ),
    ]
    alone = {key: value for key, value in STEP.items() if key != "slot"}
    assert all("slot" not in data for _, _, data in step_events(alone, 4, TABLE, ""))


@pytest.mark.parametrize(
    ("command", "details"),
    [
        (0, TABLE[0]),
        (1, TABLE[1]),
        (2, {"type": "action_2", "parameters": {}}),
        (-1, {"type": "action_-1", "parameters": {}}),
        (None, {"type": "none", "parameters": {}}),
        ({"type": "say", "parameters": None}, {"type": "say", "parameters": {}}),
        ({"misread": "unparsable"}, {"type": "unreadable", "parameters": {"reason": ""}}),
    ],
)
def test_a_logged_command_is_described(command: Any, details: dict[str, Any]) -> None:
    assert action_details(command, TABLE) == details
    step = {
        "commands": {"a": command},
        "outcomes": {"a": "ok"},
        "rewards": {"a": 0.0},
        "submitted": {"a": {"execution_priority": 2}},
    }
    _, _, sent = next(step_events(step, 0, TABLE, "", {"a": {}}))
    assert sent["action_command"] == {
        "action_type": details["type"],
        "parameters": details["parameters"],
        "execution_priority": 2,
    }


def test_goals_have_ids_of_their_run_and_tasks_of_their_own() -> None:
    assert (goal_prefix("run", 1), goal_prefix("run", 2)) == ("", "run:")
    assert goal_id("a", 0, "run:") == "run:goal_0_a"
    assert task_event("a", "GOAL_ACTIVATED", {"goal_id": "g"}) == (
        "a",
        "TASK_STATUS_UPDATE",
        {"task_id": "g", "status": "STARTED", "assigned_to_agent_id": "a", "metrics": {}},
    )
    for state, status in (("ACHIEVED", "COMPLETED_SUCCESS"), ("FAILED", "FAILED")):
        end = {"goal_id": "g", "new_state": state, "metrics": {"steps": 3}}
        assert task_event("a", "GOAL_STATUS_CHANGED", end) == (
            "a",
            "TASK_STATUS_UPDATE",
            {
                "task_id": "g",
                "status": status,
                "assigned_to_agent_id": "a",
                "metrics": {"steps": 3},
            },
        )
    left = {"goal_id": "g", "new_state": "ABANDONED"}
    assert task_event("a", "GOAL_STATUS_CHANGED", left) is None
    assert task_event("a", "GOAL_CREATED", {"goal_id": "g"}) is None
