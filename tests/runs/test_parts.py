"""The parts that logs, replays and metrics are made of, each for itself, against values by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from piase_gym import runs
from piase_gym.runs.agent_lines import (
    action_command,
    action_details,
    goal_id,
    goal_prefix,
    step_events,
    task_event,
)
from piase_gym.runs.curriculum_goals import StepGoals
from piase_gym.runs.divergence import MISSING, Divergence, ReplayReport, differences
from piase_gym.runs.history import SPARE, History
from piase_gym.runs.log_file import Problem
from piase_gym.runs.recent_events import Step
from piase_gym.runs.seal import Seal
from piase_gym.runs.statistics import GoalCount
from piase_gym.runs.targets import Targets
from piase_gym.runs.windows import check_window, look

# -- lines of single agents ----------------------------------------------------------------------

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
    assert action_command(details, {"execution_priority": 2}) == {
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


# -- goals of curriculum steps -------------------------------------------------------------------


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
    assert goals.hear(begin, "a", named) == (
        {**named, "goal_id": one},
        opened(one, "step 1: walk"),
    )
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


# -- targets -------------------------------------------------------------------------------------


def stands(**places: Any) -> Any:
    """Return a world in which agents stand at places."""
    return SimpleNamespace(agents=tuple(places), position=lambda i: [*places.values()][i])


@pytest.mark.parametrize(
    ("place", "target", "there"),
    [
        ((2, 1), [2, 1], True),
        ((2, 1), [1, 2], False),
        ((2, 1), [2, 0], False),
        ((2.0, 1.0), [2.5, 1.0], True),  # 0.5 away
        ((2.0, 1.0), [2.3, 1.4], True),
        ((2.0, 1.0), [2.3, 1.41], False),
        ((2, 1), [2.0, 1.4], True),
        ((0.0, 0.0, 5.0), [0.0, 0.0], True),
        ((0.0, 0.0), [0.0, 0.0, 0.0], False),
        ("kitchen", "kitchen", True),
        ("kitchen", "hall", False),
        ((1, 2), "12", False),
        (None, None, False),
        ((1, 2), [1, "x"], False),
        ((1, 2), [1, None], False),
    ],
)
def test_who_is_near_enough_stands_on_its_target(place: Any, target: Any, there: bool) -> None:
    targets = Targets()
    assert not targets
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": target})
    assert bool(targets) == (target is not None)
    assert targets.reached(stands(a=place), [0]) == (["a"] if there else [])


def test_targets_are_reached_once_an_episode() -> None:
    targets, world = Targets(), stands(a=(0, 0), b=(1, 1), c=(1, 1))
    begin = "DSE_STEP_ATTEMPT_START"
    targets.hear(begin, "b", {"target_coords": [1, 1]})
    targets.hear(begin, "c", {"target_coords": [1, 1], "slot": 2})
    targets.hear("DSE_ELSE", "a", {"target_coords": [0, 0]})
    targets.hear(begin, None, {"target_coords": [0, 0]})
    assert targets.wanted([1], world.agents)
    assert not targets.wanted([0], world.agents)
    assert not targets.wanted([2], world.agents)
    assert targets.wanted([2], world.agents, 2)
    assert targets.reached(world, [0, 2]) == []
    assert targets.reached(world, [0, 1, 2]) == ["b"]
    assert targets.reached(world, [0, 1, 2]) == []
    assert not targets.wanted([1], world.agents)
    assert targets.reached(world, [0, 1, 2], 2) == ["b", "c"]
    targets.again()
    assert targets.reached(world, [0, 1, 2]) == ["b"]
    assert targets.reached(world, [0, 1, 2], 2) == []
    targets.again(2)
    assert targets.reached(world, [1, 2], 2) == ["b", "c"]
    targets.hear(begin, "c", {"target_coords": [1, 1], "slot": 2})  # the next attempt
    assert targets.reached(world, [1, 2], 2) == ["c"]
    targets.hear(begin, "c", {"slot": 2})
    targets.again(2)
    assert targets.reached(world, [1, 2], 2) == ["b"]
    targets.hear("DSE_CURRICULUM_FAILED", "b", {"target_coords": [1, 1]})
    targets.again()
    assert targets.reached(world, [0, 1, 2]) == []
    assert not targets


def test_a_target_of_one_slot_is_that_of_no_other() -> None:
    targets, world = Targets(), stands(a=(0, 0))
    for slot in (0, 1):
        at = {"target_coords": [0, 0], "slot": slot}
        targets.hear("DSE_STEP_ATTEMPT_START", "a", at)
        assert targets.reached(world, [0], slot) == ["a"]
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0], "slot": 1})
    assert targets.reached(world, [0], 0) == []
    targets.again(0)
    assert targets.reached(world, [0], 0) == ["a"]
    assert targets.reached(world, [0], 1) == ["a"]
    targets.hear("DSE_STEP_ATTEMPT_START", "a", {"target_coords": [0, 0]})  # in all slots
    assert [targets.reached(world, [0], slot) for slot in (0, 1, 2)] == [["a"]] * 3
    targets.hear("DSE_AGENT_CURRICULUM_FINISHED", "a", {})
    assert not targets


# -- what a replay reports -----------------------------------------------------------------------


def test_differences_are_found_at_any_depth() -> None:
    logged = {"a": [1, {"b": 2}], "c": 1, "d": None, "e": True, "f": [1], "g": "same"}
    now = {"a": [1, {"b": 3}], "c": 1.0, "e": 1, "f": [1, 2], "g": "same", "h": 0}
    assert list(differences(logged, now, "x")) == [
        ("x.a[1].b", 2, 3),
        ("x.c", 1, 1.0),
        ("x.d", None, MISSING),
        ("x.e", True, 1),
        ("x.f", [1], [1, 2]),
        ("x.h", MISSING, 0),
    ]
    assert list(differences({"a": 1}, {"a": 2}, "")) == [("a", 1, 2)]
    assert list(differences({"a": {}}, {"a": []}, "")) == [("a", {}, [])]
    assert list(differences({"a": 0}, {"a": {}}, "")) == [("a", 0, {})]


def differing(step: int, **more: Any) -> Divergence:
    """Return a difference."""
    return Divergence(step, 1, None, "digest", "x", MISSING, 9, **more)


def test_a_report_says_what_it_found_in_words() -> None:
    assert str(differing(4)) == "step 4 (episode 1, line 9): digest was 'x', is now missing"
    whose = Divergence(4, 1, "bob", "reward", 0.5, 1.0, 9, slot=0)
    said = "step 4 (episode 1 in slot 0, line 9): reward of bob was 0.5, is now 1.0"
    assert str(whose) == said
    sealed, broken = Seal("sealed", ""), Seal("broken", "")
    whole = ReplayReport(3, 2, complete=True, seal=sealed)
    assert (whole.ok, whole.sound, whole.verdict) == (True, True, "sound")
    assert str(whole) == f"3 steps in 2 episodes: equal\n  {sealed}"
    cut = ReplayReport(3, 2)
    assert (cut.ok, cut.sound, cut.verdict) == (True, False, "equal but unsealed")
    assert str(cut).startswith("3 steps in 2 episodes: equal; the run was cut short\n")
    changed = ReplayReport(3, 2, seal=broken)
    assert (changed.ok, changed.verdict) == (False, "damaged")
    assert "are equal; the change is in what a replay cannot tell" in str(changed)
    warning, error = Problem(1, "odd", "warning"), Problem(2, "torn", "error")
    torn = ReplayReport(3, 2, problems=[warning, error], seal=sealed)
    assert (torn.broken, torn.ok, torn.verdict) == (error, False, "damaged")
    told = f"{error}; the 3 steps in 2 episodes before it are equal\n  {sealed}\n  {warning}"
    assert str(torn) == told
    assert ReplayReport(problems=[warning], seal=sealed).sound
    many = ReplayReport(complete=True, problems=[warning] * 12, seal=sealed)
    said = ["0 steps in 0 episodes: equal", str(sealed), *[str(warning)] * 10]
    assert str(many) == "\n  ".join(said)


def test_a_report_keeps_a_hundred_details_and_shows_ten() -> None:
    report = ReplayReport()
    for step in range(105):
        report.add(differing(step))
    assert report.verdict == "different"
    assert not report.ok
    assert report.first_divergence == differing(0)
    assert [detail.step for detail in report.details] == [*range(1, 101)]
    shown = [line for line in str(report).splitlines() if "digest was" in line]
    assert shown[0] == f"differs at {differing(0)}"
    assert shown[1:] == [f"  {differing(step)}" for step in range(1, 11)]


# -- counts --------------------------------------------------------------------------------------


def test_a_log_is_counted_by_hand(tmp_path: Path) -> None:
    def end(agent: str, reason: str, state: str, total: Any, steps: int) -> dict[str, Any]:
        data = {"new_state": state, "reason": reason, "metrics": {"return": total, "steps": steps}}
        return {"event_type": "GOAL_STATUS_CHANGED", "agent_id": agent, "event_data": data}

    step_goal = {"new_state": "ACHIEVED", "reason": "the step is complete"}
    rows = [
        end("a", "won", "ACHIEVED", 1.5, 4),
        end("a", "lost", "FAILED", -0.5, 6),
        end("a", "ended", "ACHIEVED", None, 2),
        end("a", "reset", "ABANDONED", 9.0, 9),
        end("b", "reset", "ABANDONED", 9.0, 9),
        {"event_type": "GOAL_STATUS_CHANGED", "agent_id": "a", "event_data": step_goal},
        {"event_type": "OTHER", "agent_id": "b", "event_data": {"metrics": {}}},
    ]
    lines = [*map(orjson.dumps, rows), b"oops", b"[]", b"{}"]
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = runs.stats(path)
    assert (found.lines, found.unread) == (10, 3)
    assert found.size == path.stat().st_size
    assert found.event_types == {"GOAL_STATUS_CHANGED": 6, "OTHER": 1}
    assert found.agents == {"a": 5, "b": 2}
    states = Counter(ACHIEVED=2, FAILED=1, ABANDONED=1)
    assert found.goals == {
        "a": GoalCount(states, 3, 1.0, 12),
        "b": GoalCount(Counter(ABANDONED=1), 0, 0.0, 0),
    }
    one, two = found.goals["a"], found.goals["b"]
    assert (one.episodes, one.mean_return, one.mean_length) == (4, pytest.approx(1 / 3), 4.0)
    assert (two.episodes, two.mean_return, two.mean_length) == (1, None, None)
    path.write_bytes(b"")
    assert (runs.stats(path).lines, runs.stats(path).size) == (0, 0)


# -- what is remembered of a run -----------------------------------------------------------------


class Lines:
    """Feeds a history with the lines of a run."""

    def __init__(self, retain: int = 100) -> None:
        self.history, self.step = History(retain), 0

    def say(self, event: str, whose: str = "SYSTEM", number: int = 0, /, **data: Any) -> None:
        """Feed a line."""
        self.history.feed(
            {
                "event_type": event,
                "agent_id": whose,
                "step": self.step,
                "episode": number,
                "simulation_run_id": "r",
                "event_data": data,
            }
        )

    def reset(self, *agents: str, **more: Any) -> None:
        """Let an episode begin."""
        self.say("ENVIRONMENT_EVENT_OCCURRED", kind="reset", agents=[*agents], **more)

    def do(self, episode: int, rewards: dict[str, Any], **more: Any) -> None:
        """Let agents do a step."""
        self.step += 1
        data = {
            "kind": "step",
            "commands": dict.fromkeys(rewards, 0),
            "outcomes": {name: "ok" if reward else "failed" for name, reward in rewards.items()},
            "rewards": rewards,
            **more,
        }
        self.say("ENVIRONMENT_EVENT_OCCURRED", "SYSTEM", episode, **data)

    def hint(self, agent: str, **more: Any) -> None:
        """Let an agent be given a hint."""
        self.say("ENVIRONMENT_EVENT_OCCURRED", kind="hint", agent=agent, **more)

    def rows(self, agent: str) -> list[tuple[Any, ...]]:
        """Return the most of an agent's episodes."""
        names = "episode slot attempt seed start end length total result hints sequence".split()
        return [tuple(getattr(r, n) for n in names) for r in self.history.of(agent).episodes]


def test_episodes_are_remembered_as_they_were_played() -> None:
    run = Lines()
    run.reset("a", "b", seed=5)  # event 1
    run.hint("b")  # 2, before its first step
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    run.do(0, {"a": 1.0, "b": None}, messages=[letter, letter])  # 3
    run.hint("a")  # 4
    run.do(0, {"a": 0.5, "b": 2.0}, milestones={"a": ["door"]}, targets=["a"])  # 5
    run.do(0, {"a": 0.5, "b": 2.0}, milestones={"a": ["door"]}, targets=["a"], results={"a": "won"})
    run.do(0, {"b": 0.0}, results={"b": "lost"})  # 7
    run.say("LEARNING_EPISODE_END", measures={"a": {"way": 3.0}, "c": {"way": 1.0}})  # 8
    run.reset("a", seed=6)  # 9
    run.do(1, {"a": 1.0})  # 10
    run.reset("a", seed=7, slot=1)  # 11
    run.say("ENVIRONMENT_STATE_CHANGED", kind="restore", agents=["a"], seed=8)  # 12
    run.do(2, {"a": 1.0})  # 13
    assert run.rows("a") == [
        (0, 0, 0, 5, 0, 3, 3, 2.0, "won", 1, 3),
        (1, 0, 0, 6, 4, 5, 1, 1.0, "abandoned", 0, 10),
        (2, 0, 0, 8, 5, 6, 1, 1.0, "", 0, 13),
    ]
    assert run.rows("b") == [(0, 0, 0, 5, 0, 4, 4, 4.0, "lost", 1, 3)]
    one, two = run.history.agents["a"].episodes[0], run.history.agents["b"].episodes[0]
    assert (one.milestones, one.arrived, one.messages) == ({"door": 2}, 2, 2)
    assert (one.outcomes, one.measures) == ({"ok": 3}, {"way": 3.0})
    assert (two.milestones, two.arrived, two.messages) == ({}, 0, 0)
    assert (two.outcomes, two.measures) == ({"failed": 2, "ok": 2}, {})
    assert [row.finished for row in run.history.agents["a"].episodes] == [True, False, False]
    assert run.history.agents["a"].hints == [(1, 0, 0)]
    assert (run.history.step, run.history.sequence) == (6, 13)
    run.say("REWARD_SIGNAL_ISSUED", "a", reward_value=1.0)  # a step line says it too
    assert run.history.sequence == 13


def test_episodes_count_for_the_attempt_at_their_reset() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.say(begin, "a", order=4, episodes=1, target_coords=[0, 0])
    run.reset("a")
    run.do(0, {"a": 1.0})
    run.reset("a")  # broken off: the attempt has an episode to come again
    run.do(1, {"a": 1.0}, results={"a": "won"})
    run.reset("a")
    run.do(2, {"a": 1.0}, results={"a": "won"})
    run.say(begin, "a", order=5, slot=1)
    run.hint("a", slot=1)
    run.reset("a", slot=1)
    run.reset("a")
    run.do(3, {"a": 1.0}, slot=1, results={"a": "won"})
    run.do(4, {"a": 1.0, "b": 1.0})  # b entered after the reset
    attempts = [(row.episode, row.slot, row.attempt) for row in run.history.of("a").episodes]
    assert attempts == [(0, 0, 1), (1, 0, 1), (2, 0, SPARE), (3, 1, 2), (4, 0, SPARE)]
    assert [row.attempt for row in run.history.of("b").episodes] == [0]
    one, two = run.history.of("a").attempts
    told = (one.number, one.order, one.slot, one.aimed, one.step, one.sequence, one.episodes)
    assert told == (1, 4, None, True, 0, 1, 1)
    told = (two.number, two.order, two.slot, two.aimed, two.step, two.sequence, two.episodes)
    assert told == (2, 5, 1, False, 3, 8, None)
    assert run.history.of("a").hints == [(3, 2, 1)]
    assert [run.history.of("a").attempt_in(slot) for slot in (0, 1)] == [1, 2]


def test_windows_show_what_they_reach() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.reset("a", seed=1)  # event 1
    run.hint("a")
    run.do(0, {"a": 1.0})  # 3: step 1
    run.do(0, {"a": 0.0}, results={"a": "won"})
    run.say(begin, "a", order=1)  # 5
    run.reset("a", seed=2)
    run.hint("a")
    letter = {"sender": "a", "recipient": "b", "message": "hi"}
    run.do(1, {"a": 1.0}, messages=[letter])  # step 3
    run.hint("a")
    run.do(1, {"a": 1.0}, results={"a": "lost"})  # 10: step 4
    run.say(begin, "a", order=2)
    run.reset("a", seed=3)
    run.do(2, {"a": 0.0})  # step 5

    def seen(window: Any, slot: int | None = None) -> tuple[Any, ...]:
        view = look(run.history, "a", check_window(window), slot)
        rows, steps = [row.episode for row in view.episodes], [step.step for step in view.steps]
        current = [attempt.number for attempt in view.current]
        lines = [(line["event_type"], line["step"]) for line in view.lines()]
        return rows, steps, current, view.hints, view.messages, dict(view.outcomes), len(lines)

    # Each step is three lines of its agent: command, outcome, reward; a letter is one more.
    assert seen(None) == ([2], [5], [2], 0, 0, {"failed": 1}, 1 + 3)
    assert seen({"attempts": 1}) == seen(None)
    two = ([1, 2], [3, 4, 5], [1, 2], 2, 1, {"ok": 2, "failed": 1}, 2 + 2 + 3 * 3 + 1)
    assert seen({"attempts": 2}) == two
    assert seen({"attempts": 2}, 0) == two
    # Lines that name no slot concern all.
    assert seen({"attempts": 2}, 1) == ([], [], [1, 2], 0, 0, {}, two[-1])
    # The window of episodes begins with the first step of the first of them.
    one = ([1], [3, 4], [1, 2], 2, 1, {"ok": 2}, 1 + 1 + 3 * 3 + 1)
    assert seen({"episodes": 1}) == one
    assert seen({"episodes": 2})[:4] == ([0, 1], [1, 2, 3, 4], [1, 2], 3)
    last = ([1, 2], [4, 5], [1, 2], 0, 0, {"ok": 1, "failed": 1}, 1 + 3 * 2)
    assert seen({"env_steps": 2}) == last
    assert seen({"env_steps": 3})[:5] == ([1, 2], [3, 4, 5], [1, 2], 1, 1)
    assert look(run.history, "a", ("attempts", 2), None).finished[0].episode == 1
    fresh = Lines()
    fresh.history.of("a")
    empty = look(fresh.history, "a", ("episodes", 1), None)
    assert (empty.finished, empty.steps, list(empty.lines()), empty.after) == ([], [], [], -1)


def test_without_attempts_a_window_is_the_whole_run() -> None:
    run = Lines()
    run.reset("a")
    for _ in range(3):
        run.do(0, {"a": 1.0})
    whole = look(run.history, "a", check_window(None), None)
    assert ([row.episode for row in whole.episodes], whole.current) == ([0], [])
    assert [step.step for step in whole.steps] == [1, 2, 3]
    assert len([*whole.lines()]) == 3 * 3
    last = look(run.history, "a", check_window({"env_steps": 2}), None)
    assert [line["step"] for line in last.lines()] == [2] * 3 + [3] * 3
    unfinished = look(run.history, "a", check_window({"episodes": 1}), None)
    assert (unfinished.episodes, [*unfinished.lines()]) == ([], [])


def test_a_window_counts_the_attempts_and_steps_of_its_slot() -> None:
    run, begin = Lines(), "DSE_STEP_ATTEMPT_START"
    run.say(begin, "a", slot=1)
    run.reset("a", slot=1)
    run.do(0, {"a": 1.0}, slot=1)

    def numbers(slot: int | None) -> list[int]:
        return [a.number for a in look(run.history, "a", ("attempts", 2), slot).attempts]

    assert [numbers(slot) for slot in (None, 0, 1)] == [[1], [], [1]]
    steps = run.history.of("a").steps  # episodes that were handed over whole
    for step, slot in ((0, 1), (1, 1), (2, 1), (2, 0)):
        steps.append(Step(step, 0, slot, 1, "ok", 0.0, 0))
    seen = look(run.history, "a", ("attempts", 1), None).steps
    assert [(step.step, step.slot) for step in seen] == [(1, 1), (2, 1), (1, 1)]
