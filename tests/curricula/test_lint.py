"""Lint and export: what cannot be meant is found, what is meant is left alone."""

from __future__ import annotations

import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from piase_gym import curricula
from piase_gym.curricula import AdaptationDecisionModule, CurriculumManager, DevelopmentalCurriculum
from piase_gym.curricula import export as exporting
from piase_gym.curricula.lint import lint
from piase_gym.errors import CurriculumError
from tests.curricula.helpers import SIMPLE, Table, curriculum
from tests.helpers.cli_runner import piase

DONE = {"completion_criteria": [{"metric": "success_rate", "operator": ">=", "value": 0.8}]}


def told(made: DevelopmentalCurriculum, level: str) -> list[str]:
    return [finding.message for finding in lint(made, "GridWorld") if finding.level == level]


def rules(*pairs: list[str], **more: Any) -> dict[str, Any]:
    return {**DONE, "adaptation_rules": list(pairs), **more}


# -- rules ----------------------------------------------------------------------------------------

NEVER = [
    (["step_attempts < 1", "PROCEED"], "its condition can never hold"),
    (["step_attempts == 2 and step_attempts == 3", "PROCEED"], "its condition can never hold"),
    (["success_rate > 1", "PROCEED"], "its condition can never hold"),
    (["success_rate < 0.3 && success_rate > 0.4", "PROCEED"], "its condition can never hold"),
    (["false", "PROCEED"], "its condition can never hold"),
    (["reached_goal_2", "PROCEED"], "its condition can never hold"),
    (["success_rate >= 0.9", "PROCEED"], "holds only where the step is complete"),
    (["success_rate > mean_return and mean_return > 2", "PROCEED"], "its condition can never hold"),
]


@pytest.mark.parametrize(("rule", "expected"), NEVER)
def test_rules_that_never_fire_are_found(rule: list[str], expected: str) -> None:
    found = told(curriculum(rules(rule, max_attempts=9), DONE), "warning")
    assert any(f"step 1 's1', rule 1 ({rule[0]}): " in m and expected in m for m in found)


def test_rules_behind_others_are_found() -> None:
    made = curriculum(
        rules(
            ["step_attempts >= 3", "PROCEED"],
            ["step_attempts >= 5", "FAIL_CURRICULUM"],
            ["success_rate < 0.9", "REPEAT_STEP"],
            ["mean_return < 0", "PROCEED"],
        )
    )
    found = told(made, "warning")
    assert len(found) == 2
    assert "rule 2 (step_attempts >= 5): it never decides: where it holds" in found[0]
    assert "rule 4 (mean_return < 0): it never decides" in found[1]


def test_attempts_that_never_come_are_known() -> None:
    made = curriculum(rules(["step_attempts == 6", "PROCEED"], max_attempts=3), DONE)
    assert any("rule 1" in m and "or the step is over" in m for m in told(made, "warning"))
    back = curriculum(
        rules(["step_attempts == 6", "PROCEED"], max_attempts=3),
        rules(["step_attempts < 9", "BRANCH_TO_1"]),
    )
    assert not any("rule 1 (step_attempts == 6)" in m for m in told(back, "warning"))


def test_an_agent_that_learns_may_go_on_after_its_patience() -> None:
    late = rules(["step_attempts == 12", "APPLY_HINT_01"], patience=5)
    late["hints"] = {"HINT_01": {"data": {"message": "Go."}}}
    assert told(curriculum(late, DONE), "warning") == []
    made = curriculum(rules(["step_attempts == 12", "BRANCH_TO_3"], patience=5), DONE, DONE)
    assert told(made, "warning") == []
    limited = {**late, "max_attempts": 9}
    assert any(
        "it never decides" in message for message in told(curriculum(limited, DONE), "warning")
    )


def test_directors_without_rules_are_not_judged_by_rules() -> None:
    loop = curriculum({}, {}, director="plr")
    assert told(loop, "error") == told(loop, "warning") == []
    unread = curriculum(rules(["false", "PROCEED"]), DONE, director={"name": "threshold"})
    assert told(unread, "warning") == []
    assert "the director threshold ignores criteria and rules" in told(unread, "note")
    assert not any("ignores" in note for note in told(loop, "note"))
    ruled = curriculum(rules(["false", "PROCEED"]), DONE, director="scripted")
    assert any("can never hold" in message for message in told(ruled, "warning"))


@pytest.mark.parametrize(("config", "silent"), [({"symbols": 2}, True), ({"speech": True}, False)])
def test_messages_are_counted_in_words(config: dict[str, Any], silent: bool) -> None:
    asked = rules(["messages_sent > 2", "PROCEED"])
    made = curriculum({**asked, "environment_config": {"agents": 2, **config}}, DONE)
    found = [message for message in told(made, "warning") if "messages_sent" in message]
    assert [message.split(": ", 1)[1] for message in found] == [
        "messages_sent is always 0 here: it counts words, and the config has no speech"
    ] * silent


def test_agents_that_are_in_no_step_are_told() -> None:
    several = {**DONE, "environment_config": {"agents": 3}}
    partners = {"agent_1": "random", "agent_4": "random"}
    made = curriculum(DONE, several, agent="agent_3", lead="agent_2", partners=partners)
    words = "the world has no agent {!r} in any step; agents are agent_0, agent_1, agent_2"
    assert told(made, "warning") == [
        "agent: " + words.format("agent_3"),
        "partners: " + words.format("agent_4"),
    ]


ALIVE = [
    ["step_attempts >= 3", "PROCEED"],
    ["success_rate > 0.7", "PROCEED"],
    ["success_rate < mean_return", "PROCEED"],
    ["mean_return - 1 > 3 * success_rate", "PROCEED"],
    ["task_success and not reached_goal_1", "PROCEED"],
    ["messages_sent == 0", "PROCEED"],
]


@pytest.mark.parametrize("rule", ALIVE)
def test_rules_that_can_fire_are_left_alone(rule: list[str]) -> None:
    found = told(curriculum(rules(rule, max_attempts=9), DONE), "warning")
    assert not any("rule 1" in message for message in found)


SIMPLE_CONDITIONS = st.builds(
    "{} {} {}".format,
    st.sampled_from(["step_attempts", "success_rate", "mean_return"]),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.sampled_from(["0", "0.5", "1", "2", "-1"]),
)
CONDITIONS = st.one_of(
    SIMPLE_CONDITIONS,
    st.builds("{} and {}".format, SIMPLE_CONDITIONS, SIMPLE_CONDITIONS),
    st.builds("not {} or {}".format, SIMPLE_CONDITIONS, SIMPLE_CONDITIONS),
)
GRID = [0.0, 0.2, 0.5, 0.6, 0.8, 0.9, 1.0]


@settings(max_examples=60, deadline=None)
@given(st.lists(CONDITIONS, min_size=1, max_size=3))
def test_no_rule_that_decides_somewhere_is_called_dead(conditions: list[str]) -> None:
    made = curriculum(rules(*([c, "REPEAT_STEP"] for c in conditions)), DONE)
    dead = [message for message in told(made, "warning") if ", rule " in message]
    for attempt, rate, mean in itertools.product(range(1, 5), GRID, [-3, -1, 0, 0.3, 1, 1.5, 4]):
        table = Table({"success_rate": rate, "mean_return": mean})
        decision = AdaptationDecisionModule(table).decide("a", made, made.steps[0], attempt)
        if decision.rule is not None:
            number = int(decision.reason.split("rule ")[1].split()[0])
            assert not any(f", rule {number} (" in message for message in dead)


# -- ways -----------------------------------------------------------------------------------------


def test_steps_that_nothing_leads_to_are_found() -> None:
    made = curriculum(
        {"adaptation_rules": [["true", "BRANCH_TO_3"]]},
        DONE,
        {"adaptation_rules": [["true", "FAIL_CURRICULUM"]]},
    )
    assert told(made, "warning") == ["step 2 's2': no way leads to it from the first step"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (curriculum({}), "step 1 's1': there is no way out, whatever the agent does"),
        (
            curriculum(
                DONE,
                {"adaptation_rules": [["true", "BRANCH_TO_3"]]},
                {"adaptation_rules": [["step_attempts > 0", "BRANCH_TO_2"]]},
            ),
            "it leads only to the steps [3]",
        ),
        (
            curriculum({**DONE, "adaptation_rules": [["true", "REPEAT_STEP"]]}, {}),
            "step 2 's2': there is no way out",
        ),
    ],
)
def test_loops_without_exit_are_errors(made: DevelopmentalCurriculum, expected: str) -> None:
    assert any(expected in message for message in told(made, "error"))


@pytest.mark.parametrize(
    "made",
    [
        curriculum(DONE),
        curriculum({"max_attempts": 3}),
        curriculum({}, on_no_rule="PROCEED"),
        curriculum({}, on_no_rule="FAIL_CURRICULUM"),
        curriculum({"adaptation_rules": [["step_attempts >= 3", "PROCEED"]]}),
        DevelopmentalCurriculum(**SIMPLE),
    ],
)
def test_curricula_with_a_way_out_have_no_errors(made: DevelopmentalCurriculum) -> None:
    assert told(made, "error") == []


def test_an_agent_that_never_succeeds_is_thought_of() -> None:
    assert any("stays in it" in m for m in told(curriculum(DONE), "note"))
    assert told(curriculum({**DONE, "max_attempts": 3}), "note") == []
    assert told(DevelopmentalCurriculum(**SIMPLE), "note") == []


# -- the rest -------------------------------------------------------------------------------------


def test_what_plays_no_part_is_found() -> None:
    made = curriculum(
        {
            "completion_criteria": [
                {"metric": "success_rate", "operator": ">", "value": 0.5},
                {"metric": "success_rate", "operator": "<", "value": 0.2},
            ],
            "adaptation_rules": [
                ["steps_to_goal > 9 or step_attempts > 3", "PROCEED"],
                ["hints_used > 0", "PROCEED"],
            ],
            "hints": {"HINT_01": {"data": {"message": "x" * 301}}},
        },
        {
            "developmental_stage_prerequisite": "walker",
            "adaptation_rules": [["messages_sent > 2 || own > 1", "PROCEED"], ["true", "PROCEED"]],
        },
        metrics={"own": {"type": "number"}},
    )
    found = " | ".join(finding.message for finding in lint(made, "GridWorld"))
    for expected in (
        "its criteria can never hold together",
        "steps_to_goal has no value before the goal is reached",
        "no rule gives the hint 'HINT_01'",
        "has 301 characters; agents see 300",
        "no step leads to the stage 'walker'",
        "messages_sent is always 0 here",
        "own is a metric of your own",
    ):
        assert expected in found, expected


def test_a_step_that_is_left_without_its_stage_must_not_end_the_curriculum() -> None:
    walks = {**DONE, "developmental_stage_reached": "walker"}
    gives_up = {**walks, "adaptation_rules": [["step_attempts > 3", "PROCEED"]]}
    gated = {**DONE, "developmental_stage_prerequisite": "walker"}
    ends = "without the stage 'walker' no later step is open, so PROCEED ends the curriculum before"
    told_of_rule = [f"step 1 's1', rule 1 (step_attempts > 3): {ends} step 2 's2'"]
    assert told(curriculum(gives_up, gated), "warning") == told_of_rule
    runner = {**gated, "developmental_stage_reached": "runner"}
    last = {**DONE, "developmental_stage_prerequisite": "runner"}
    assert told(curriculum(gives_up, runner, last), "warning") == told_of_rule
    (found,) = told(curriculum(walks, gated, on_no_rule="PROCEED"), "warning")
    assert found == f"step 1 's1': {ends} step 2 's2' (on_no_rule)"
    for steps in ((gives_up, gated, DONE), (walks, gives_up, gated), (walks, gated), (gives_up,)):
        assert not told(curriculum(*steps), "warning")


def test_names_that_read_like_orders_are_found() -> None:
    found = told(curriculum({**DONE, "name": "2"}, {**DONE, "name": "1st"}), "warning")
    assert found == ["step 1 '2': BRANCH_TO_2 leads to step 2 '1st', for orders come before names"]


def test_worlds_and_envelopes_are_looked_at() -> None:
    made = curriculum({**DONE, "environment_config": {"width": 12, "agents": 3}})
    assert any("no world is named" in f.message for f in lint(made))
    notes = told(made, "note")
    assert any("agents 3 (at most 1), width 12 (at most 8)" in note for note in notes)
    assert any("envelope={'agents': 3, " in note for note in notes)
    assert any("'width': 12, 'height': 8" in note for note in notes)
    wrong = curriculum({**DONE, "environment_config": {"colour": "red"}})
    assert told(wrong, "error") == [
        message
        for message in told(wrong, "error")
        if "step 1 's1': GridWorld: unknown key" in message
    ]
    assert told(wrong, "error")
    assert "unknown world, id or scenario 'Gird'" in lint(made, "Gird")[0].message


def test_findings_have_places(tmp_path: Path) -> None:
    path = tmp_path / "c.curriculum.json"
    steps = [{"order": 1, "name": "a", **rules(["false", "PROCEED"])}]
    path.write_text(json.dumps({"name": "c", "steps": steps}, indent=1))
    row = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if '"false"' in line)
    places = {finding.message: finding.place for finding in lint(path, "GridWorld")}
    (place,) = [place for message, place in places.items() if "rule 1" in message]
    assert place == f"{path}:{row - 1}:5"


# -- export ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", [False, True])
def test_exports_are_read_back(marked: bool) -> None:
    made = curriculum(
        {**DONE, "hints": {"H": {"data": {"message": "m", "more": [1]}}}, "agent_state": ["q"]},
        {"max_attempts": 2, "notes": "n"},
        metrics={"m": {"metric": "success_rate", "window": {"episodes": 3}}},
        description="Zwölf × zwölf",
    )
    text = exporting.dumps(made, marked=marked)
    again = curricula.loads(text)
    assert again.model_dump() == made.model_dump()
    assert again.sha256 == made.sha256
    assert "Zwölf × zwölf" in text
    assert ('"__type__"' in text) is marked


def test_exports_have_what_the_prompt_suite_reads() -> None:
    value = exporting.to_prompt_suite(DevelopmentalCurriculum(**SIMPLE))
    assert value["__type__"] == "DevelopmentalCurriculum"
    for name in ("name", "description", "target_developmental_stage", "author", "version"):
        assert isinstance(value[name], str)
    for step in value["steps"]:
        assert step["__type__"] == "CurriculumStep"
        assert {"order", "name", "prompt_reference", "conditions", "notes"} <= set(step)
        assert isinstance(step["prompt_reference"], str)


def test_the_schema_knows_every_field() -> None:
    schema = exporting.json_schema()
    json.dumps(schema)
    step = schema["$defs"]["CurriculumStep"]
    assert {"environment_config", "environment_config_overrides", "__type__"} <= set(
        step["properties"]
    )
    assert step["additionalProperties"] is False
    assert set(step["required"]) == {"order", "name"}
    jsonschema = importlib.import_module("jsonschema")
    jsonschema.validate(SIMPLE, schema)


# -- the command line -----------------------------------------------------------------------------


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "corner.json"
    path.write_text(json.dumps(SIMPLE))
    done = piase("curriculum", "lint", str(path), "--world", "GridWorld")
    assert (done.returncode, "Corner, 2 steps: ok" in done.stdout) == (0, True)
    made = piase("curriculum", "export", str(path), "--piapes")
    assert json.loads(made.stdout)["__type__"] == "DevelopmentalCurriculum"
    out = tmp_path / "out.json"
    assert piase("curriculum", "export", str(path), "--out", str(out)).returncode == 0
    assert curricula.load(out).sha256 == curricula.load(path).sha256
    again = piase("curriculum", "export", str(path), "--out", str(out))
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert "CurriculumStep" in json.loads(piase("curriculum", "schema").stdout)["$defs"]


def test_the_command_line_refuses(tmp_path: Path) -> None:
    path = tmp_path / "loop.json"
    path.write_text(json.dumps({"name": "Loop", "steps": [{"order": 1, "name": "a"}]}))
    done = piase("curriculum", "lint", str(path), columns=300)
    assert done.returncode == 1
    assert f"{path}:1:" in done.stdout
    assert "there is no way out" in done.stdout
    path.write_text('```json\n{"name": "x"}\n```\n')
    done = piase("curriculum", "lint", str(path), columns=300)
    assert done.returncode == 1
    assert "block of Markdown" in done.stdout
    for words in (("lint", "nothing"), ("export", "nothing")):
        done = piase("curriculum", *words, columns=300)
        assert done.returncode in (1, 2)
        assert "unknown curriculum 'nothing'" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


def test_dead_ends_are_really_dead() -> None:
    """The claim of `lint`, against attempts that are played."""
    made = curriculum(
        DONE,
        {"adaptation_rules": [["true", "BRANCH_TO_3"]]},
        {"adaptation_rules": [["step_attempts > 0", "BRANCH_TO_2"]]},
    )
    manager, table = CurriculumManager(made), Table({"success_rate": 1.0})
    module = AdaptationDecisionModule(table)
    manager.start("a")
    for _ in range(50):
        now = manager.get_current_step_object("a")
        assert now is not None
        manager.apply(module.decide("a", made, now, manager.progress("a").attempt))
    assert manager.progress("a").active
    with pytest.raises(CurriculumError):
        lint("no such curriculum")
