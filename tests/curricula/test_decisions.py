"""Decisions and progress, from values written by hand and from a small simulation of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym.curricula import (
    AdaptationDecisionModule,
    AgentProgress,
    CurriculumManager,
    CurriculumStep,
    Decision,
    DevelopmentalCurriculum,
    actions,
)
from piase_gym.curricula.decisions import replace_action
from piase_gym.errors import AgentError, CurriculumError, ProgressError
from tests.curricula.example_curricula import STAYS
from tests.curricula.helpers import SIMPLE, Table, curriculum
from tests.helpers.costs import Unread

# -- completion -----------------------------------------------------------------------------------


def step(**fields: Any) -> CurriculumStep:
    return CurriculumStep(order=1, name="Step", **fields)


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "expected"),
    [
        (">", 1, 1.9, True),
        ("<", 2, 1.9, True),
        (">=", 100, 90, False),
        ("==", 1, 1.0, True),
        ("==", True, True, True),
        ("==", True, "true", False),
        ("!=", True, "false", False),
        ("==", True, 1, False),
        ("==", 1, True, False),
        ("==", "won", "won", True),
        ("==", False, None, False),
        ("!=", 3, None, False),
        (">=", 1, float("nan"), False),
        (">=", True, True, False),  # truths have no order
        ("<=", False, False, False),
        (">=", "won", "won", True),
    ],
)
def test_a_criterion_converts_nothing(
    operator: str, wanted: Any, value: Any, expected: bool
) -> None:
    module = AdaptationDecisionModule(Table({"m": value}))
    criteria = [{"metric": "m", "operator": operator, "value": wanted}]
    assert module.evaluate_step_completion("a", step(completion_criteria=criteria)) is expected


def test_all_criteria_must_hold_and_none_never_completes() -> None:
    module = AdaptationDecisionModule(Table({"a": True, "b": 3}))
    both = [{"metric": "a", "value": True}, {"metric": "b", "operator": ">", "value": 2}]
    assert module.evaluate_step_completion("x", step(completion_criteria=both))
    both[1]["value"] = 3
    assert not module.evaluate_step_completion("x", step(completion_criteria=both))
    told = module.decide("x", curriculum({}), step(completion_criteria=both), 1).reason
    assert "b is 3, wanted > 3" in told
    assert "a is" not in told  # which holds
    assert not module.evaluate_step_completion("x", step())


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1234567, "1234567"), (1234567.25, "1234567.25"), (1 / 3, "0.333333"), ("a", "'a'")],
)
def test_values_are_told_in_full(value: Any, shown: str) -> None:
    criteria = [{"metric": "m", "value": True}]
    tried = step(completion_criteria=criteria)
    told = AdaptationDecisionModule(Table({"m": value})).decide("x", curriculum({}), tried, 1)
    assert f"m is {shown}, wanted == true" in told.reason


def test_a_metric_is_asked_for_once_in_a_decision() -> None:
    """It may be dear, and must not change between the criteria and the rules."""
    table = Table({"reached_goal_2": False})
    rules = [["reached_goal_2 == true", "PROCEED"], ["reached_goal_2 == false", "REPEAT_STEP"]]
    criteria = [{"metric": "reached_goal_2", "value": True}]
    tried = step(completion_criteria=criteria, adaptation_rules=rules)
    assert AdaptationDecisionModule(table).decide("x", curriculum({}), tried, 1).rule == rules[1][0]
    assert len(table.asked) == 1


def test_earlier_decisions_are_read_for_patience_alone() -> None:
    module, made = AdaptationDecisionModule(Table({})), curriculum({}, {})
    told = module.decide("a", made, made.steps[0], 2, before=Unread())
    assert told == module.decide("a", made, made.steps[0], 2)


def test_windows_are_asked_for() -> None:
    table = Table({"success_rate": 1.0})
    made = curriculum(
        {
            "completion_criteria": [
                {
                    "metric": "success_rate",
                    "operator": ">=",
                    "value": 0.9,
                    "window": {"episodes": 20},
                },
                {"metric": "lately", "operator": ">=", "value": 0.5},
            ]
        },
        metrics={"lately": {"metric": "success_rate", "window": {"env_steps": 500}}},
    )
    decision = AdaptationDecisionModule(table).decide("a", made, made.steps[0], 1)
    assert decision.completed
    assert [row[1:] for row in table.asked] == [
        ("success_rate", {"episodes": 20}),
        ("success_rate", {"env_steps": 500}),
    ]
    assert decision.values == {"success_rate over 20 episodes": 1.0, "lately": 1.0}


# -- rules ----------------------------------------------------------------------------------------


def test_the_first_rule_that_holds_decides() -> None:
    rules = [["score < 50", "FAIL_CURRICULUM"], ["score < 80", "REPEAT_STEP"]]
    module = AdaptationDecisionModule(Table({"score": 40}))
    assert module.evaluate_adaptation_rules("a", step(adaptation_rules=rules), 1) == (
        "FAIL_CURRICULUM"
    )
    module = AdaptationDecisionModule(Table({"score": 60}))
    assert module.evaluate_adaptation_rules("a", step(adaptation_rules=rules), 1) == "REPEAT_STEP"


def test_what_is_not_known_yet_makes_a_rule_false_and_is_told() -> None:
    made = curriculum(
        {"adaptation_rules": [["steps_to_goal > 5", "PROCEED"], ["step_attempts > 4", "PROCEED"]]}
    )
    decision = AdaptationDecisionModule(Table()).decide("a", made, made.steps[0], 1)
    assert decision.decision == "REPEAT_STEP"
    assert decision.rule is None
    assert decision.values == {"steps_to_goal": None, "step_attempts": 1}
    assert "rule 1 reads steps_to_goal without a value" in decision.reason


@pytest.mark.parametrize(
    ("more", "attempt", "expected"),
    [
        ({}, 99, "REPEAT_STEP"),
        ({"max_attempts": 3}, 2, "REPEAT_STEP"),
        ({"max_attempts": 3}, 3, "FAIL_CURRICULUM"),
    ],
)
def test_without_a_rule_the_step_is_tried_again(
    more: dict[str, Any], attempt: int, expected: str
) -> None:
    module = AdaptationDecisionModule(Table())
    made = curriculum(more, {})
    assert module.evaluate_adaptation_rules("a", made.steps[0], attempt) == expected
    proceed = curriculum(more, {}, on_no_rule="PROCEED")
    assert module.evaluate_adaptation_rules("a", proceed.steps[0], attempt) == "PROCEED"


def test_branches_and_hints_name_their_targets() -> None:
    made = curriculum(
        {
            "hints": {"HINT_01": {"data": {"message": "Look."}}},
            "adaptation_rules": [
                ["step_attempts == 1", "APPLY_HINT_01"],
                ["step_attempts == 2", "BRANCH_TO_Practice"],
                ["step_attempts == 3", "BRANCH_TO_2"],
            ],
        },
        {},
        {"name": "Practice"},
    )
    module = AdaptationDecisionModule(Table())
    found = [module.decide("a", made, made.steps[0], n) for n in (1, 2, 3)]
    assert [d.decision for d in found] == ["APPLY_HINT_01", "BRANCH_TO_Practice", "BRANCH_TO_2"]
    assert [d.next_step for d in found] == [1, 3, 2]
    assert [d.hint for d in found] == ["HINT_01", None, None]


ORDERS = {0: "Warm up", 3: "Practice", 4: "7", 12: "0"}


@pytest.mark.parametrize(
    ("word", "steps", "hints", "expected"),
    [
        ("PROCEED", None, None, ("PROCEED", None)),
        ("REPEAT_STEP", ORDERS, (), ("REPEAT_STEP", None)),
        ("FAIL_CURRICULUM", ORDERS, (), ("FAIL_CURRICULUM", None)),
        ("BRANCH_TO_Practice", ORDERS, (), ("BRANCH_TO", 3)),
        ("BRANCH_TO_3", ORDERS, (), ("BRANCH_TO", 3)),
        ("BRANCH_TO_0", ORDERS, (), ("BRANCH_TO", 0)),  # orders come before names
        ("BRANCH_TO_7", ORDERS, (), ("BRANCH_TO", 4)),
        ("BRANCH_TO_3", None, None, ("BRANCH_TO", 3)),
        ("BRANCH_TO_Practice", None, None, ("BRANCH_TO", "Practice")),
        ("BRANCH_TO_123456789", None, None, ("BRANCH_TO", 123456789)),
        ("BRANCH_TO_1234567890", None, None, ("BRANCH_TO", "1234567890")),
        ("APPLY_HINT_01", {}, ["HINT_01"], ("APPLY_HINT", "HINT_01")),
        ("APPLY_HINT_01", {}, ["01"], ("APPLY_HINT", "01")),
        ("APPLY_HINT_01", {}, ["01", "HINT_01"], ("APPLY_HINT", "HINT_01")),
        ("APPLY_HINT_01", None, None, ("APPLY_HINT", "HINT_01")),
    ],
)
def test_a_word_says_one_decision(word: str, steps: Any, hints: Any, expected: Any) -> None:
    found = actions.read(word, steps, hints)
    assert ((found.kind, found.target), str(found)) == (expected, word)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (3, "a decision is a string, not int; allowed: PROCEED, REPEAT_STEP, FAIL_CURRICULUM, "),
        (None, "a decision is a string, not NoneType; .*, BRANCH_TO_<order or name>, "),
        ("PROCED", "unknown decision 'PROCED'; did you mean 'PROCEED'"),
        ("BRANCH_TO_", "unknown decision 'BRANCH_TO_'; .*APPLY_HINT_<key>"),
        ("APPLY_HINT_", "unknown decision 'APPLY_HINT_'; .*APPLY_HINT_<key>"),
        (
            "BRANCH_TO_Practise",
            "unknown branch target 'Practise'; did you mean 'Practice'.* '12', 'Warm up'",
        ),
        ("BRANCH_TO_1", "unknown branch target '1'; "),
        ("BRANCH_TO_0000000003", "unknown branch target '0000000003'; "),
        ("APPLY_HINT_O1", "unknown hint 'HINT_O1'; did you mean 'HINT_01'"),
    ],
)
def test_a_word_that_says_no_decision_is_refused(word: Any, told: str) -> None:
    with pytest.raises(CurriculumError, match=told):
        actions.read(word, ORDERS, ["HINT_01"])


VALUES = st.dictionaries(
    st.sampled_from(["success_rate", "mean_return", "task_success", "steps_to_goal"]),
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(-5, 5), st.text(max_size=3)),
)


@settings(max_examples=200, deadline=None)
@given(VALUES, st.integers(1, 5))
def test_decisions_are_pure(values: dict[str, Any], attempt: int) -> None:
    made = curriculum(
        {
            "completion_criteria": [{"metric": "success_rate", "operator": ">=", "value": 0.8}],
            "adaptation_rules": [
                ["task_success and mean_return > 0.5", "PROCEED"],
                ["step_attempts >= 3 || steps_to_goal < 3", "BRANCH_TO_1"],
            ],
        },
        {},
    )
    first, second = (
        AdaptationDecisionModule(Table(values)).decide("a", made, made.steps[0], attempt)
        for _ in range(2)
    )
    assert first.to_bytes() == second.to_bytes()
    assert Decision(**json.loads(first.to_bytes())) == first
    again = AdaptationDecisionModule(Table(first.values)).decide("a", made, made.steps[0], attempt)
    assert again.to_bytes() == first.to_bytes()  # nothing but the values that it names was read


# -- a whole curriculum, over a simulation that knows nothing of worlds ---------------------------


class Walk:
    """An agent on a grid: it goes to the goal by the shortest way, or does not move."""

    def __init__(self, moves: bool) -> None:
        self.moves = moves
        self.table = Table()

    def attempt(self, order: int, fields: dict[str, Any]) -> None:
        """Play an episode, and write down whether the agent stood on the goal."""
        place, goal = tuple(fields["start_pos"]), tuple(fields["goal_pos"])
        walls = {tuple(wall) for wall in fields["obstacles"]}
        stood = place == goal
        for _ in range(fields["max_steps"]):
            if self.moves and not stood:
                place = self._next(place, goal, walls)
            stood = stood or place == goal
        self.table.values = {f"reached_goal_{order}": stood}

    def _next(self, place: Any, goal: Any, walls: set[Any]) -> Any:
        """Return the neighbour from which the goal is nearest (a flood from the goal)."""
        distance = {goal: 0}
        front = [goal]
        while front:
            here = front.pop(0)
            for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                there = (here[0] + dx, here[1] + dy)
                inside = 0 <= there[0] < 5 and 0 <= there[1] < 5
                if inside and there not in walls and there not in distance:
                    distance[there] = distance[here] + 1
                    front.append(there)
        near = [(place[0] + dx, place[1] + dy) for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0))]
        return min((p for p in near if p in distance), key=distance.__getitem__)


def play(made: DevelopmentalCurriculum, walk: Walk, most: int = 50) -> CurriculumManager:
    """Let an agent go through a curriculum."""
    manager, module = CurriculumManager(made), AdaptationDecisionModule(walk.table)
    manager.start("agent_0")
    for _ in range(most):
        now = manager.get_current_step_object("agent_0")
        if now is None:
            break
        walk.attempt(now.order, now.fields)
        attempts = manager.get_step_attempts("agent_0", now.order)
        manager.apply(module.decide("agent_0", made, now, attempts))
    return manager


def test_an_agent_that_never_moves_is_let_through_hinted_and_failed() -> None:
    manager = play(DevelopmentalCurriculum(**SIMPLE), Walk(moves=False))
    progress = manager.agent_progress["agent_0"]
    told = [(d.step, d.attempt, d.decision) for d in progress.decisions]
    assert told == STAYS
    assert progress.failed
    assert progress.completed_steps == []
    assert progress.statuses == {1: "completed_failure", 2: "completed_failure"}
    assert progress.step_attempts == {1: 3, 2: 3}


def test_an_agent_that_arrives_at_once_finishes_in_two_attempts() -> None:
    manager = play(DevelopmentalCurriculum(**SIMPLE), Walk(moves=True))
    progress = manager.agent_progress["agent_0"]
    assert [d.decision for d in progress.decisions] == ["PROCEED", "PROCEED"]
    assert all(d.completed and d.rule is None for d in progress.decisions)
    assert progress.finished
    assert progress.completed_steps == [1, 2]
    assert manager.get_current_step_object("agent_0") is None


# -- the manager ----------------------------------------------------------------------------------


def test_the_manager_as_the_reference_project_uses_it(tmp_path: Any) -> None:
    path = tmp_path / "three.json"
    steps = [{"order": n, "name": f"Step{n}", "prompt_reference": f"p{n}.json"} for n in (1, 2, 0)]
    path.write_text(json.dumps({"name": "Three", "steps": steps}))
    manager = CurriculumManager()
    assert manager.load_curriculum_from_file(path)
    assert manager.current_curriculum is not None
    assert [s.name for s in manager.current_curriculum.steps] == ["Step0", "Step1", "Step2"]
    manager.initialize_agent_progress("a")
    assert manager.agent_progress["a"]["current_step_order"] == -1
    assert manager.get_step_attempts("a", 0) == 0
    first = manager.get_next_step("a")
    assert first is not None
    manager.set_current_step("a", first.order)
    assert manager.get_current_step_object("a") == first
    assert manager.get_step_attempts("a", 0) == 1
    manager.complete_step("a", 0)
    assert manager.agent_progress["a"]["completed_steps"] == [0]
    second = manager.get_next_step("a")
    assert second is not None
    manager.set_current_step("a", second.order)
    manager.set_current_step("a", second.order, increment_attempt=True)
    assert manager.get_step_attempts("a", 1) == 2
    manager.set_current_step("a", second.order, increment_attempt=False)
    assert manager.get_step_attempts("a", 1) == 2
    assert manager.get_step_by_name_or_order(1) == second
    assert manager.get_step_by_name_or_order("Step1") == second
    assert manager.get_step_by_name_or_order("Step9") is None
    assert manager.get_step_by_name_or_order(9) is None


def test_every_agent_has_its_own_curriculum() -> None:
    manager = CurriculumManager(curriculum({}, {}))
    other = curriculum({"name": "Alone"})
    manager.start("a")
    manager.start("b", other)
    found = [manager.get_current_step_object(name) for name in ("a", "b")]
    assert [s.name for s in found if s is not None] == ["s1", "Alone"]


def test_returning_to_a_step_goes_on_counting() -> None:
    made = curriculum(
        {"completion_criteria": [{"metric": "task_success", "value": True}]},
        {"adaptation_rules": [["step_attempts == 1", "BRANCH_TO_1"]]},
    )
    manager, table = CurriculumManager(made), Table({"task_success": True})
    module = AdaptationDecisionModule(table)
    manager.start("a")

    def decide() -> Decision:
        now = manager.get_current_step_object("a")
        assert now is not None
        decision = module.decide("a", made, now, manager.get_step_attempts("a", now.order))
        manager.apply(decision)
        return decision

    assert [decide().next_step for _ in range(3)] == [2, 1, 2]
    assert manager.agent_progress["a"].step_attempts == {1: 2, 2: 2}
    assert manager.agent_progress["a"].completed_steps == [1]


def test_stages_gate_steps() -> None:
    made = curriculum(
        {"completion_criteria": [{"metric": "task_success", "value": True}]},
        {"developmental_stage_prerequisite": "walker"},
        {"developmental_stage_reached": "walker"},
        target_developmental_stage="runner",
    )
    manager = CurriculumManager(made)
    manager.start("a")
    module = AdaptationDecisionModule(Table({"task_success": True}))
    decision = module.decide("a", made, made.steps[0], 1)
    assert decision.next_step == 3  # step 2 asks for a stage that only step 3 gives
    manager.apply(decision)
    assert manager.agent_progress["a"].statuses == {
        1: "completed_success",
        2: "skipped",
        3: "in_progress",
    }
    manager.start("b", stage="walker")
    open_to_b = module.decide("b", made, made.steps[0], 1, stages=["walker"])
    assert open_to_b.next_step == 2


def test_a_stage_that_a_step_leads_to_opens_the_next_one() -> None:
    won = [{"metric": "task_success", "value": True}]
    made = curriculum(
        {"completion_criteria": won, "developmental_stage_reached": "walker"},
        {"developmental_stage_prerequisite": "walker"},
        {},
    )
    for success, after in ((True, 2), (False, 3)):
        module = AdaptationDecisionModule(Table({"task_success": success}))
        on = made if success else made.model_copy(update={"on_no_rule": "PROCEED"})
        on = DevelopmentalCurriculum.model_validate(on.model_dump(exclude_defaults=True))
        decision = module.decide("a", on, on.steps[0], 1)
        assert (decision.completed, decision.next_step) == (success, after)


def test_a_decision_that_is_replaced_names_no_rule() -> None:
    made = curriculum(
        {
            "adaptation_rules": [["true", "APPLY_HINT_01"]],
            "hints": {"HINT_01": {"data": {"message": "Go."}}},
        },
        {},
    )
    decision = AdaptationDecisionModule(Table()).decide("a", made, made.steps[0], 1)
    assert (decision.rule, decision.hint) == ("true", "HINT_01")
    other = replace_action(decision, made, actions.plain("PROCEED"), (), "the tutor chose it")
    assert (other.decision, other.rule, other.hint) == ("PROCEED", None, None)
    assert (other.next_step, other.status, other.reason) == (
        2,
        "completed_failure",
        "the tutor chose it",
    )


def test_a_rule_cannot_lead_to_a_step_whose_stage_is_not_reached() -> None:
    made = curriculum(
        {"adaptation_rules": [["true", "BRANCH_TO_2"], ["step_attempts > 1", "PROCEED"]]},
        {"developmental_stage_prerequisite": "walker"},
    )
    module = AdaptationDecisionModule(Table())
    decision = module.decide("a", made, made.steps[0], 1)
    assert decision.decision == "REPEAT_STEP"
    assert "rule 1 leads to a step whose stage is not reached" in decision.reason
    assert module.decide("a", made, made.steps[0], 1, stages=["walker"]).next_step == 2


def test_the_end_of_everything_is_the_stage_it_leads_to() -> None:
    made = curriculum(
        {"completion_criteria": [{"metric": "task_success", "value": True}]},
        target_developmental_stage="walker",
    )
    manager = CurriculumManager(made)
    manager.start("a")
    module = AdaptationDecisionModule(Table({"task_success": True}))
    assert manager.apply(module.decide("a", made, made.steps[0], 1)) is None
    assert manager.agent_progress["a"].stage == "walker"


def test_a_decision_about_something_else_changes_nothing() -> None:
    made = curriculum({}, {})
    manager = CurriculumManager(made)
    manager.start("a")
    before = manager.agent_progress["a"].as_json()
    stale = AdaptationDecisionModule(Table()).decide("a", made, made.steps[1], 1)
    with pytest.raises(ProgressError, match=r"attempt 1 of step 2 .* is in attempt 1 of step 1"):
        manager.apply(stale)
    assert manager.agent_progress["a"].as_json() == before
    with pytest.raises(AgentError, match="'b' has no curriculum"):
        manager.set_current_step("b", 1)
    with pytest.raises(CurriculumError, match="there is no step 7"):
        manager.set_current_step("a", 7)
    with pytest.raises(CurriculumError, match="load one first"):
        CurriculumManager().initialize_agent_progress("a")


# -- progress as a value --------------------------------------------------------------------------


def test_progress_survives_json_at_every_decision() -> None:
    made = DevelopmentalCurriculum(**SIMPLE)
    straight = play(made, Walk(moves=False)).agent_progress["agent_0"]
    walk = Walk(moves=False)
    manager, module = CurriculumManager(made), AdaptationDecisionModule(walk.table)
    manager.start("agent_0")
    while (now := manager.get_current_step_object("agent_0")) is not None:
        walk.attempt(now.order, now.fields)
        manager.apply(module.decide("agent_0", made, now, manager.progress("agent_0").attempt))
        text = json.dumps(manager.progress("agent_0").as_json())
        manager = CurriculumManager()
        manager.resume(AgentProgress.from_json(json.loads(text)), made)
    assert manager.agent_progress["agent_0"] == straight


def test_progress_of_another_curriculum_or_schema_is_refused() -> None:
    made = curriculum({}, {})
    manager = CurriculumManager(made)
    manager.start("a")
    value = manager.progress("a").as_json()
    changed = curriculum({"max_attempts": 3}, {})
    with pytest.raises(ProgressError, match="as it was before its steps were changed"):
        CurriculumManager().resume(AgentProgress.from_json(value), changed)
    newer = curriculum({}, {}, version="2.0")
    with pytest.raises(ProgressError, match=r"version 1.0, and the curriculum is 'Test' version 2"):
        CurriculumManager().resume(AgentProgress.from_json(value), newer)
    reworded = curriculum({"notes": "more words"}, {}, description="other words")
    CurriculumManager().resume(AgentProgress.from_json(value), reworded)
    for broken, told in (
        ({**value, "schema": 2}, "schema version 2; this piase_gym reads version 1"),
        ({**value, "schema": True}, "schema version True; this piase_gym reads version 1"),
        ({**value, "env_steps": 2**62}, "a field has a value that is not allowed"),
        ({**value, "episodes": -5}, "a field has a value that is not allowed"),
        ({**value, "step_attempts": {"1": -5}}, "a field has a value that is not allowed"),
        ({**value, "step_episodes": {"1": 2**62}}, "a field has a value that is not allowed"),
        ({**value, "statuses": {"1": "gone"}}, "a field has a value that is not allowed"),
        ({**value, "outcome": "lost"}, "damaged"),
        ({**value, "step_attempts": {"1": True}}, "damaged"),
        ({**value, "surplus": 1}, "damaged"),
        ({"schema": 1}, "damaged"),
        ([], "progress is a mapping, not list"),
    ):
        with pytest.raises(ProgressError, match=told):
            AgentProgress.from_json(broken)
    decided = Decision("a", "Test", 1, "s1", 1, "BRANCH_TO_77", None, "", next_step=77).as_json()
    for strange, told in (
        ({"current_step_order": 77}, "there is no step 77"),
        ({"completed_steps": [77]}, "there is no step 77"),
        ({"step_episodes": {"77": 1}}, "there is no step 77"),
        ({"statuses": {"77": "skipped"}}, "there is no step 77"),
        ({"decisions": [{**decided, "next_step": 1, "step": 77}]}, "there is no step 77"),
        ({"decisions": [decided]}, "there is no step 77"),
        ({"step_attempts": {}}, "no attempt of"),
        ({"hint": "HINT_01"}, "there is no hint 'HINT_01'"),
        ({"curriculum": "Other"}, "is in 'Other' version 1.0, and the curriculum is 'Test'"),
        ({"curriculum_version": "0.9"}, "version 0.9, and the curriculum is 'Test' version 1.0"),
    ):
        with pytest.raises(ProgressError, match=told):
            CurriculumManager().resume(AgentProgress.from_json({**value, **strange}), made)


def test_every_decision_leaves_the_statuses_of_all_steps() -> None:
    reached = {"metric": "success_rate", "operator": "==", "value": 1}
    made = curriculum(
        {"completion_criteria": [reached], "adaptation_rules": [["true", "BRANCH_TO_3"]]},
        {},
        {
            "adaptation_rules": [
                ["step_attempts == 1", "BRANCH_TO_1"],
                ["step_attempts == 2", "REPEAT_STEP"],
                ["true", "PROCEED"],
            ]
        },
        {"completion_criteria": [reached]},
    )
    manager, table = CurriculumManager(made), Table()
    manager.start("a")
    progress, module = manager.progress("a"), AdaptationDecisionModule(table)
    begun, failed, done = "in_progress", "completed_failure", "completed_success"
    left_out = "skipped"
    assert progress.statuses == {1: begun}
    for rate, wanted in (
        (0, {1: failed, 2: left_out, 3: begun}),
        (0, {1: begun, 2: left_out, 3: failed}),
        (1, {1: done, 2: begun}),
    ):
        table.values["success_rate"] = rate
        step = made.step(progress.current_step_order)
        manager.apply(module.decide("a", made, step, progress.attempt, env_steps=1, episodes=1))
        assert {n: s for n, s in progress.statuses.items() if n in wanted} == wanted
        assert [progress.status(n) for n in (1, 2, 4)] == [wanted[1], wanted[2], "not_started"]
    # who comes back to a completed step and fails there has completed it nevertheless
    manager.set_current_step("a", 1)
    assert progress.status(1) == begun
    table.values["success_rate"] = 0
    step = made.step(1)
    manager.apply(module.decide("a", made, step, progress.attempt, env_steps=1, episodes=1))
    assert progress.statuses == {1: done, 2: begun, 3: begun}
    for wanted in ({3: begun}, {3: failed, 4: begun}, {3: failed, 4: done}):
        table.values["success_rate"] = int(4 in progress.statuses)
        step = made.step(progress.current_step_order)
        manager.apply(module.decide("a", made, step, progress.attempt, env_steps=1, episodes=1))
        assert progress.statuses == {1: done, 2: begun, 3: begun, **wanted}
    assert progress.outcome == "finished"
