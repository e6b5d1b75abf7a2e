"""Steps of curricula as goals: which lines follow from each line of the DSE, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.runs.curriculum_goals import StepGoals

ATTEMPT = "DSE_STEP_ATTEMPT_START"
KEY = {ATTEMPT: "order", "DSE_ADAPTATION_EVAL": "step"}


def told(goals: StepGoals, kind: str, order: Any, agent: str | None = "a", **more: Any) -> Any:
    """Return the goal that a line is about, and in short what follows from it."""
    data = {KEY.get(kind, "order"): order, **more}
    found, lines = goals.hear(kind, agent, data)
    assert {name: found[name] for name in data} == data
    return found.get("goal_id", None), short(lines)


def short(lines: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """Return lines of goals as words; a change is told in two lines that say the same."""
    words, rest = [], list(lines)
    while rest:
        agent, kind, data = rest.pop(0)
        if kind == "GOAL_STATUS_CHANGED":
            assert rest.pop(0) == (agent, "GOAL_STATE_CHANGED", data)
            assert data["old_state"] == "ACTIVE"
            words.append(f"{agent}: {data['goal_id']} {data['new_state']}, {data['reason']}")
            continue
        words.append(f"{agent}: {data['goal_id']} {kind}")
        if kind == "GOAL_CREATED":
            del data["goal_id"]
            assert data == {
                "initial_status": "ACTIVE",
                "description": "step 4: Fly" if "step_4" in words[-1] else "step 1",
                "type": "CURRICULUM_STEP",
                "initial_priority": 7,
            }
        else:
            assert data["reason"] == "the first attempt begins"
    return words


def begins(goal: str) -> list[str]:
    """Return the lines with which a goal begins."""
    return [f"{goal[-1]}: {goal} GOAL_CREATED", f"{goal[-1]}: {goal} GOAL_ACTIVATED"]


def test_a_goal_goes_from_the_first_attempt_to_the_end_of_the_step() -> None:
    goals = StepGoals("r:", 3)
    one, two, other = "r:step_1_1_a", "r:step_4_2_a", "r:step_1_3_b"
    assert told(goals, "DSE_ADAPTATION_EVAL", 1) == (None, [])
    assert told(goals, ATTEMPT, 1) == (one, begins(one))
    assert told(goals, ATTEMPT, 1) == (one, [])
    for kind in ("DSE_ADAPTATION_EVAL", "DSE_APPLY_HINT", "DSE_REPEAT_STEP"):
        assert told(goals, kind, 1) == (one, [])
    done = [f"a: {one} ACHIEVED, the step is complete"]
    assert told(goals, "DSE_STEP_COMPLETED", 1) == (one, done)
    assert told(goals, "DSE_STEP_COMPLETED", 1) == (one, [])  # once
    assert told(goals, ATTEMPT, 4, name="Fly") == (two, begins(two))
    assert told(goals, ATTEMPT, 1, agent="b") == (other, begins(other))
    assert told(goals, "DSE_CURRICULUM_FAILED", 4) == (
        two,
        [f"a: {two} FAILED, the curriculum failed"],
    )
    assert short(goals.end()) == [f"b: {other} ABANDONED, the run ended"]
    assert goals.end() == []


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("DSE_BRANCH", "ABANDONED, the agent went to another step"),
        ("DSE_AGENT_CURRICULUM_FINISHED", "ABANDONED, the curriculum is finished"),
    ],
)
def test_a_goal_that_is_left_is_given_up(kind: str, ending: str) -> None:
    goals = StepGoals("r:", 2)
    told(goals, ATTEMPT, 1)
    assert told(goals, kind, 1)[1] == [f"a: r:step_1_1_a {ending}"]
    again = "r:step_1_2_a"  # who comes back has another goal
    assert told(goals, ATTEMPT, 1) == (again, begins(again))


@pytest.mark.parametrize("more", [{}, {"slot": 2}, {"drawn_by": "spaced"}])
def test_who_begins_a_step_has_left_the_last_one_unless_it_is_in_several_at_once(
    more: dict[str, Any],
) -> None:
    goals = StepGoals("r:", 3)
    for agent in ("a", "b"):
        told(goals, ATTEMPT, 1, agent)
    goal = "r:step_4_3_a"
    left = [] if more else ["a: r:step_1_1_a ABANDONED, the agent went to step 4"]
    assert told(goals, ATTEMPT, 4, name="Fly", **more) == (goal, left + begins(goal))


@pytest.mark.parametrize(
    ("schema", "kind", "order", "agent", "more"),
    [
        (1, ATTEMPT, 1, "a", {}),
        (3, ATTEMPT, 1, None, {}),
        (3, ATTEMPT, "1", "a", {}),
        (3, ATTEMPT, True, "a", {}),
        (3, ATTEMPT, None, "a", {}),
        (3, ATTEMPT, 1, "a", {"goal_id": "mine"}),
        (3, "DSE_ENV_RECONFIG_APPLIED", 1, "a", {}),
    ],
)
def test_other_lines_are_about_no_step(
    schema: int, kind: str, order: Any, agent: Any, more: dict[str, Any]
) -> None:
    goals = StepGoals("r:", schema)
    data = {"order": order, **more}
    assert goals.hear(kind, agent, data) == (data, [])
    assert goals.end() == []


@pytest.mark.parametrize(
    ("schema", "goal", "owns"),
    [
        (2, "r:step_1_1_a", True),
        (1, "r:step_1_1_a", False),
        (3, "s:step_1_1_a", False),
        (3, "r:episode_1", False),
        (3, None, False),
    ],
)
def test_goals_of_steps_are_known_by_their_ids(schema: int, goal: Any, owns: bool) -> None:
    assert StepGoals("r:", schema).owns(goal) is owns
