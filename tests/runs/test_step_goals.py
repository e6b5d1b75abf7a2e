"""Goals of curriculum steps, from lines to lines."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.runs.curriculum_goals import StepGoals


def closed(goal: str, state: str, reason: str) -> list[Any]:
    """Return the two lines with which a goal of agent `a` ends."""
    data = {"goal_id": goal, "old_state": "ACTIVE", "new_state": state, "reason": reason}
    return [("a", kind, data) for kind in ("GOAL_STATUS_CHANGED", "GOAL_STATE_CHANGED")]


def opened(goal: str, words: str) -> list[Any]:
    """Return the two lines with which a goal of agent `a` begins."""
    created = {
        "goal_id": goal,
        "initial_status": "ACTIVE",
        "description": words,
        "type": "CURRICULUM_STEP",
        "initial_priority": 7,
    }
    activated = {"goal_id": goal, "reason": "the first attempt begins"}
    return [("a", "GOAL_CREATED", created), ("a", "GOAL_ACTIVATED", activated)]


def test_goals_of_steps_open_and_close_with_the_lines_of_the_curriculum() -> None:
    goals, begin = StepGoals("r:", 3), "DSE_STEP_ATTEMPT_START"
    one, two, three = "r:step_1_1_a", "r:step_2_2_a", "r:step_1_3_a"
    named = {"order": 1, "name": "walk"}
    assert goals.hear(begin, "a", named) == ({**named, "goal_id": one}, opened(one, "step 1: walk"))
    assert goals.hear(begin, "a", named) == ({**named, "goal_id": one}, [])
    left = closed(one, "ABANDONED", "the agent went to step 2")
    assert goals.hear(begin, "a", {"order": 2}) == (
        {"order": 2, "goal_id": two},
        left + opened(two, "step 2"),
    )
    told = {"step": 2, "order": 9}
    assert goals.hear("DSE_ADAPTATION_EVAL", "a", told) == ({**told, "goal_id": two}, [])
    assert goals.hear("DSE_STEP_COMPLETED", "a", {"order": 2}) == (
        {"order": 2, "goal_id": two},
        closed(two, "ACHIEVED", "the step is complete"),
    )
    assert goals.hear("DSE_STEP_COMPLETED", "a", {"order": 2}) == ({"order": 2, "goal_id": two}, [])
    assert goals.hear(begin, "a", {"order": 1})[1] == opened(three, "step 1")
    for order, place in ((2, {"slot": 1}), (3, {"drawn_by": "x"})):  # others go on beside it
        kinds = [kind for _, kind, _ in goals.hear(begin, "a", {"order": order, **place})[1]]
        assert kinds == ["GOAL_CREATED", "GOAL_ACTIVATED"]
    ended = closed(three, "ABANDONED", "the run ended")
    ended += closed("r:step_2_4_a", "ABANDONED", "the run ended")
    ended += closed("r:step_3_5_a", "ABANDONED", "the run ended")
    assert (goals.end(), goals.end()) == (ended, [])


@pytest.mark.parametrize(
    ("schema", "kind", "agent", "data"),
    [
        (1, "DSE_STEP_ATTEMPT_START", "a", {"order": 1}),
        (3, "DSE_STEP_ATTEMPT_START", None, {"order": 1}),
        (3, "DSE_STEP_ATTEMPT_START", "a", {"order": "1"}),
        (3, "DSE_STEP_ATTEMPT_START", "a", {"order": 1, "goal_id": "mine"}),
        (3, "DSE_ELSE", "a", {"order": 1}),
        (3, "DSE_STEP_COMPLETED", "a", {"order": 1}),
    ],
)
def test_lines_about_no_step_open_no_goal(schema: int, kind: str, agent: Any, data: Any) -> None:
    goals = StepGoals("r:", schema)
    assert goals.hear(kind, agent, data) == (data, [])
    assert goals.end() == []
    data, found = StepGoals("r:", 2).hear("DSE_STEP_ATTEMPT_START", "a", {"order": 1})
    assert data["goal_id"] == "r:step_1_1_a"
    assert len(found) == 2


def test_goals_of_steps_are_known_by_their_ids() -> None:
    assert StepGoals("r:", 2).owns("r:step_1_1_a")
    assert not StepGoals("r:", 2).owns("r:goal_1_a")
    assert not StepGoals("r:", 1).owns("r:step_1_1_a")
    assert not StepGoals("r:", 2).owns(5)
