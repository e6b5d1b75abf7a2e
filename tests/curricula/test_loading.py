"""Loading curricula: what is read, and one clear error, with its place, for what is wrong."""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import pickle
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import piase_gym
from piase_gym import curricula
from piase_gym.curricula import CurriculumStep, DevelopmentalCurriculum
from piase_gym.curricula.export import json_schema
from piase_gym.curricula.simulated_learner import base_fields
from piase_gym.errors import CurriculumError
from tests.curricula.helpers import SIMPLE, curriculum


def changed(*path: Any) -> str:
    """Return the simple curriculum as JSON, with a value put at a path; the last is the value."""
    data = copy.deepcopy(SIMPLE)
    place: Any = data
    *way, key, value = path
    for part in way:
        place = place[part]
    if value is DELETE:
        del place[key]
    elif isinstance(place, list) and key == len(place):
        place.append(value)
    else:
        place[key] = value
    return json.dumps(data, indent=2)


DELETE = object()
RULES = ("steps", 1, "adaptation_rules")
CRITERIA = ("steps", 1, "completion_criteria")
WRONG: list[tuple[tuple[Any, ...], str, str]] = [
    # metrics
    ((*CRITERIA, 0, "metric", "reached_gaol_2"), "step 2 'Far', criterion 1", "reached_goal_2'?"),
    ((*CRITERIA, 0, "metric", "step_attempts"), "step 2 'Far', criterion 1", "is for rules"),
    ((*RULES, 0, ["sucess_rate > 1", "PROCEED"]), "step 2 'Far', rule 1", "'success_rate'?"),
    ((*RULES, 0, ["score > 1", "PROCEED"]), "rule 1 (score > 1)", "declare a metric of your own"),
    (("metrics", {"m": {"metric": "sucess_rate"}}), "metric 'm'", "did you mean 'success_rate'"),
    (("metrics", {"m": {}}), "metric 'm'", "give 'metric', or the 'type'"),
    (("metrics", {"a b": {"metric": "success_rate"}}), "metric 'a b'", "letters, digits"),
    (("metrics", {"success_rate": {"metric": "mean_return"}}), "metric", "cannot stand for"),
    (("metrics", {"m": {"metric": "success_rate", "window": {"days": 3}}}), "window", "'days'"),
    (("metrics", {"m": {"metric": "success_rate", "window": {"episodes": 0}}}), "window", "not 0"),
    # operators and values
    ((*CRITERIA, 0, "operator", "=>"), "step 2 'Far'", "'=>' is not allowed; did you mean"),
    ((*CRITERIA, 0, "operator", ">"), "criterion 1", "true and false have no order"),
    ((*CRITERIA, 0, "value", "true"), "criterion 1", "is a boolean and 'true' is a string"),
    ((*CRITERIA, 0, "value", 1), "criterion 1", "is a boolean and 1 is a number"),
    ((*CRITERIA, 0, "value", None), "step 2 'Far'", "value"),
    ((*CRITERIA, 0, "window", {"episodes": True}), "step 2 'Far'", "positive number of episodes"),
    # decisions
    ((*RULES, 1, ["true", "PROCED"]), "step 2 'Far', rule 2 (true)", "did you mean 'PROCEED'?"),
    ((*RULES, 1, ["true", "proceed"]), "rule 2", "unknown decision 'proceed'"),
    ((*RULES, 1, ["true", "BRANCH_TO_Nera"]), "rule 2", "target 'Nera'; did you mean 'Near'?"),
    (
        (*RULES, 1, ["true", "BRANCH_TO_7"]),
        "rule 2",
        "unknown branch target '7'; allowed: '1', '2'",
    ),
    ((*RULES, 1, ["true", "BRANCH_TO_"]), "rule 2", "unknown decision"),
    ((*RULES, 1, ["true", "APPLY_HINT_02"]), "rule 2", "unknown hint 'HINT_02'; did you mean"),
    ((*RULES, 1, ["true"]), "step 2 'Far', rule 2", "missing"),
    ((*RULES, 1, ["true", "PROCEED", 1]), "step 2 'Far', rule 2", "at most 2"),
    ((*RULES, 1, {"condition": "true"}), "step 2 'Far', rule 2", "a list is expected"),
    ((*RULES, 1, [True, "PROCEED"]), "step 2 'Far', rule 2", "a string is expected"),
    # conditions
    ((*RULES, 1, ["__import__('os')", "PROCEED"]), "step 2 'Far', rule 2", "calls and indices"),
    ((*RULES, 1, ["9**9**9**9 > 1", "PROCEED"]), "step 2 'Far', rule 2", "3 powers"),
    ((*RULES, 1, ["(" * 400, "PROCEED"]), "step 2 'Far', rule 2", "words; at most 200"),
    ((*RULES, 1, ["(" * 100, "PROCEED"]), "step 2 'Far', rule 2", "nested deeper"),
    ((*RULES, 1, ["a" * 1_000_000, "PROCEED"]), "step 2 'Far', rule 2", "1000000 characters"),
    ((*RULES, 1, ["reached_goal_2 > 1", "PROCEED"]), "rule 2", "no place in an order"),
    # orders, names, numbers
    (("steps", 1, "order", 1), "step 1 'Far'", "the order 1 is taken by step 1 'Near' already"),
    (("steps", 1, "name", "Near"), "step 2 'Near'", "the name 'Near' is taken by step 1"),
    (("steps", 1, "order", -1), "step -1 'Far'", "it must be at least 0"),
    (("steps", 1, "order", "2"), "step '2' 'Far'", "an integer is expected"),
    (("steps", 1, "order", True), "step True 'Far'", "an integer is expected"),
    (("steps", 1, "order", DELETE), "step '?' 'Far'", "order: this key is missing"),
    (("steps", 1, "name", DELETE), "steps.1", "name: this key is missing"),
    (("steps", 1, "max_interactions", 0), "step 2 'Far'", "it must be at least 1"),
    (("steps", 1, "max_interactions", 1.5), "step 2 'Far'", "an integer is expected"),
    (("steps", 1, "max_interactions", "100"), "step 2 'Far'", "an integer is expected"),
    (("steps", 1, "episodes_per_attempt", 10**40), "step 2 'Far'", "it must be at most"),
    (("steps", []), "steps", "a curriculum has at least one step"),
    (("steps", "none"), "steps", "a list is expected (got 'none')"),
    (("steps", 1, "none"), "steps.1", ""),
    # the rest
    (("steps", 1, "adaptation_rule", []), "step 2 'Far'", "did you mean 'adaptation_rules'?"),
    (("on_no_rule", "SKIP"), "on_no_rule", "'SKIP' is not allowed; allowed: 'REPEAT_STEP'"),
    (("world", "GridWord"), "world", "did you mean 'GridWorld'?"),
    (("lead", "two words"), "lead", "two words"),
    (("__type__", "PiaAGIPrompt"), "", "allowed here: 'DevelopmentalCurriculum'"),
    (("steps", 1, "environment_config_overrides", {"width": 3}), "step 2 'Far'", "differ"),
    (
        ("steps", 1, "hints", {"HINT_01": {"data": {}}}),
        "step 2 'Far'",
        "message: this key is missing",
    ),
    (("steps", 1, "hints", {"HINT_01": "Look."}), "step 2 'Far'", "HINT_01"),
    (("steps", 1, "agent_state", "forget"), "step 2 'Far'", "agent_state"),
    (
        ("steps", 1, "environment_config", 5),
        "step 2 'Far'",
        "environment_config: a mapping of keys is expected (got 5)",
    ),
    (
        ("steps", 1, "environment_config", {"agent_ids": ["a"]}),
        "step 2 'Far'",
        "'agent_ids' fixes the spaces",
    ),
    (
        ("steps", 1, "environment_config", {"max_steps": 7, "goal_pos": [1, 1]}),
        "step 2 'Far'",
        "max_interactions means the world's max_steps",
    ),
    (
        (
            *("steps", 1, "agent_config_overrides"),
            {"motivation": {"current_goal_details": {"target_coords": [1, "there"]}}},
        ),
        "step 2 'Far'",
        "target_coords are two or three numbers",
    ),
]


@pytest.mark.parametrize(("change", "where", "told"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_place(
    change: tuple[Any, ...], where: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(changed(*change))
    start = time.process_time()
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    assert time.process_time() - start < 5
    message = str(caught.value)
    assert message.startswith(f"{path}:")
    line, column = message.removeprefix(f"{path}:").split(":")[:2]
    assert int(line) >= 1
    assert int(column) >= 1
    assert where in message
    assert told in message
    assert all(len(row) < 2000 for row in message.splitlines())


MANY: dict[str, Any] = {
    "name": "Many",
    "autor": "somebody",
    "world": "GridWorld",
    "metrics": {"lately": {"metric": "sucess_rate"}, "window": {"window": {"days": 3}}},
    "partners": {"agent_1": "orcale"},
    "steps": [
        {
            "order": "one",
            "name": "a",
            "adaptation_rules": [
                ["step_attempts >", "PROCEED"],
                ["true", "BRANCH_TO_9"],  # there might be such a step
                ["lately > 1", "PROCED"],
                ["true"],
            ],
            "environment_config": {"widht": 3},
        },
        {
            "order": 2,
            "name": "b",
            "episodes": 3,
            "completion_criteria": [
                {"metric": "sucess_rate", "operator": ">=", "value": 1.0},
                {"metric": "success_rate", "operator": "=>", "value": 1.0},
            ],
            "hints": {"HINT_01": "Look"},
            "adaptation_rules": [["true", "APPLY_HINT_02"], ["true", "APPLY_HINT_01"]],
            "environment_config": {"width": -3, "height": "many"},
        },
        {"order": 2, "name": "c", "max_attempts": 0, "agent_config_overrides": 4},
        7,
    ],
}


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps(MANY, indent=1))
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    rows = str(caught.value).splitlines()
    wanted = [
        "autor: unknown key 'autor'; did you mean 'author'?",
        "metric 'lately': unknown metric 'sucess_rate'",
        "metrics.window.window: unknown window 'days'",
        "partners: agent_1: unknown policy 'orcale'",
        "step 'one' 'a': order: an integer is expected (got 'one')",
        "step '?' 'a', rule 1 (step_attempts >): the condition ends too early",
        "step '?' 'a', rule 3 (lately > 1): unknown decision 'PROCED'",
        "step 'one' 'a', rule 4 [condition, decision]: this entry is missing",
        "step '?' 'a': GridWorld: unknown key 'widht'",
        "step 2 'b': episodes: unknown key 'episodes'",
        "step 2 'b', criterion 1 (sucess_rate >= 1.0): unknown metric",
        "step 2 'b': completion_criteria.1.operator: '=>' is not allowed",
        "step 2 'b': hints.HINT_01: a mapping of keys is expected (got 'Look')",
        "step 2 'b', rule 1 (true): unknown hint 'HINT_02'",
        "step 2 'b': GridWorld.width: ",
        "step 2 'b': GridWorld.height: ",
        "step 2 'c': the order 2 is taken by step 2 'b' already",
        "step 2 'c': max_attempts: it must be at least 1",
        "step 2 'c': agent_config_overrides: a mapping of keys is expected (got 4)",
        "steps.3: a mapping of keys is expected (got 7)",
    ]
    assert len(rows) == len(wanted), rows
    for row, told in zip(rows, wanted, strict=True):
        place, _, words = row.removeprefix(f"{path}:").partition(": ")
        assert words.startswith(told), (words, told)
        line, column = map(int, place.split(":"))
        assert line > 1
        assert column > 1
    lines = [int(row.removeprefix(f"{path}:").split(":")[0]) for row in rows]
    assert lines == sorted(lines)
    assert not any("20000" in row for row in rows)


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (["true", "BRANCH_TO_1"], ("steps", 0, "order", "one")),
        (["true", "APPLY_HINT_07"], ("steps", 1, "hints", [])),
        (["m > 1", "PROCEED"], ("metrics", {"m": 3})),
        (["m > 1", "PROCEED"], ("metrics", 3)),
    ],
)
def test_what_follows_from_a_mistake_is_not_told(rule: list[str], wrong: tuple[Any, ...]) -> None:
    data = json.loads(changed(*wrong))
    data["steps"][1]["adaptation_rules"] = [rule]
    with pytest.raises(CurriculumError) as caught:
        curricula.loads(json.dumps(data))
    assert len(str(caught.value).splitlines()) == 1
    assert "is expected (got" in str(caught.value)


def test_the_place_is_that_of_the_rule(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    text = changed(*RULES, 1, ["true", "PROCED"])
    path.write_text(text)
    row = next(n for n, line in enumerate(text.splitlines(), start=1) if 'PROCED"' in line)
    with pytest.raises(CurriculumError, match=f"wrong.json:{row}:11: step 2 'Far', rule 2"):
        curricula.load(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "1:1: this is not JSON"),
        ("[]", "1:1: a curriculum is a mapping of keys, not list"),
        ("null", "not nothing"),
        ('{"name": "a", "name": "b"}', "the key 'name' is given twice"),
        ("{'name': 'a'}", "a key in double quotes is expected"),
        ('{"name": NaN}', "a value is expected"),
        ('{"name": "x",}', "a comma stands before the end"),
        ('{"name": ' + "[" * 5000 + "]" * 5000 + "}", "nested deeper"),
        ('```json\n{"name": "a"}\n```', "wrong.json:1:1: the file is a block of Markdown"),
        ('\n\n```\n{"name": "a"}\n```', "wrong.json:3:1: the file is a block of Markdown (```)"),
    ],
)
def test_what_is_no_curriculum_is_refused(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    big.write_text(" " * 5_000_000)
    (tmp_path / "words.json").write_bytes(b"\xff\xfe{}")
    (tmp_path / "folder.json").mkdir()
    for name, told in (
        ("big.json", "5000000 bytes"),
        ("words.json", "not UTF-8"),
        ("folder.json", "there is no file"),
        ("gone.json", "there is no file"),
        ("x" * 300, "unknown curriculum"),
        ("a\0b.json", "there is no file"),
    ):
        with pytest.raises(CurriculumError, match=told):
            curricula.load(tmp_path / name if "\0" not in name else name)
    with pytest.raises(CurriculumError, match="named by a string or a path, not int"):
        curricula.load(3)


# -- what is read ---------------------------------------------------------------------------------


def test_files_of_the_prompt_suite_are_read(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    marked = {
        "__type__": "DevelopmentalCurriculum",
        "name": "Words",
        "description": "A curriculum of words.",
        "target_developmental_stage": "PiaSeedling to PiaSprout",
        "author": None,
        "version": 0.9,
        "steps": [
            {
                "__type__": "CurriculumStep",
                "name": "Begin",
                "order": 0,
                "prompt_reference": "begin.json",
                "conditions": None,
                "notes": "First.",
                "learning_objectives": ["words"],
                "success_criteria": ["spoken"],
                "piase_scenario_reference": None,
                "piaavt_metrics_to_track": ["task_success_rate"],
            }
        ],
        "overall_learning_goals": ["speech"],
        "evaluation_strategy": "Listen.",
    }
    path.write_text(json.dumps(marked, indent=1))
    made = curricula.load(path)
    assert made.version == "0.9"
    assert made.steps[0].order == 0
    assert made.source == str(path)
    assert "step 0 'Begin': there is no prompt file 'begin.json'" in made.warnings[0]
    assert made.warnings[0].startswith(f"{path}:13:")
    (tmp_path / "begin.json").write_text("{}")
    assert curricula.load(path).warnings == ()


def test_both_names_of_the_overrides_are_read() -> None:
    short = CurriculumStep(order=1, name="a", environment_config={"width": 5})  # type: ignore[call-arg]
    long = CurriculumStep(order=1, name="a", environment_config_overrides={"width": 5})
    assert short == long
    assert short.fields == {"width": 5}


@pytest.mark.parametrize("name", ["environment_config", "environment_config_overrides"])
@pytest.mark.parametrize("value", ["7", '{"agent_ids": ["a"]}'])
def test_wrong_overrides_are_told_at_their_place(name: str, value: str) -> None:
    text = f'{{"name": "c", "steps": [{{"order": 1, "name": "a",\n  "{name}": {value}}}]}}'
    with pytest.raises(CurriculumError, match=r"^x:2:"):
        curricula.loads(text, "x")


def test_what_is_null_in_a_step_is_not_given() -> None:
    names = "completion_criteria adaptation_rules environment_config agent_config_overrides hints"
    given = dict.fromkeys([*names.split(), "environment_config_overrides"])
    assert CurriculumStep(order=1, name="a", **given) == CurriculumStep(order=1, name="a")
    kept = CurriculumStep.model_validate({"order": 1, "name": "a", **given, "hints": {}})
    assert kept == CurriculumStep(order=1, name="a")
    long = CurriculumStep.model_validate(
        {"order": 1, "name": "a", **given, "environment_config_overrides": {"width": 5}}
    )
    assert long.fields == {"width": 5}
    step = json_schema()["$defs"]["CurriculumStep"]["properties"]
    assert all({"type": "null"} in step[field]["anyOf"] for field in given)


def test_errors_in_python_are_ours_too() -> None:
    with pytest.raises(CurriculumError) as caught:
        DevelopmentalCurriculum(name="x", steps=[])
    assert str(caught.value).endswith("steps: a curriculum has at least one step")
    with pytest.raises(CurriculumError) as caught:
        DevelopmentalCurriculum(name="x", steps=[{"order": 1}])
    assert str(caught.value) == "DevelopmentalCurriculum.steps.0.name: this key is missing"
    with pytest.raises(CurriculumError, match=r"step 1 'a', rule 1 .*unknown decision"):
        CurriculumStep(order=1, name="a", adaptation_rules=(("true", "GO"),))
    with pytest.raises(CurriculumError, match="name"):
        CurriculumStep(order=1)  # type: ignore[call-arg]
    with pytest.raises(CurriculumError, match="order 1 is taken"):
        DevelopmentalCurriculum(
            name="x", steps=[{"order": 1, "name": "a"}, {"order": 1, "name": "b"}]
        )


def test_a_curriculum_knows_what_it_reads() -> None:
    made = curriculum(
        {
            "completion_criteria": [{"metric": "recent", "operator": ">", "value": 0.5}],
            "adaptation_rules": [
                ["success_rate < 0.1 && step_attempts > 2", "PROCEED"],
                ["score > 3 or milestone.door_opened", "PROCEED"],
            ],
        },
        metrics={
            "recent": {"metric": "success_rate", "window": {"episodes": 20}},
            "score": {"type": "number"},
        },
    )
    assert made.needs == (
        ("success_rate", ("episodes", 20)),
        ("success_rate", None),
        ("score", None),
        ("milestone.door_opened", None),
    )


def test_milestones_of_a_known_world_are_checked() -> None:
    criteria = [{"metric": "milestone.key_taken", "value": True}]
    curriculum({"completion_criteria": criteria})  # some world may have it
    with pytest.raises(
        CurriculumError, match=r"unknown metric 'milestone.key_taken'; did you mean"
    ):
        curriculum({"completion_criteria": criteria}, world="GridWorld")


def test_the_hash_is_of_what_decides() -> None:
    one, same = curriculum({}, {}), curriculum({"notes": "x"}, {}, author="y", description="z")
    assert one.sha256 == same.sha256
    assert len(one.sha256) == 64
    others = [
        curriculum({}, {}, on_no_rule="PROCEED"),
        curriculum({"max_attempts": 2}, {}),
        curriculum({"name": "other"}, {}),
        curriculum({"environment_config": {"width": 9}}, {}),
        curriculum({"hints": {"H": {"data": {"message": "m"}}}}, {}),
    ]
    assert len({one.sha256, *(other.sha256 for other in others)}) == 6


# -- worlds and envelopes -------------------------------------------------------------------------


def test_the_envelope_holds_every_step() -> None:
    made = curriculum(
        {"environment_config": {"width": 12, "height": 4}},
        {"environment_config": {"width": 3, "height": 9, "symbols": 4}},
    )
    envelope = made.envelope("GridWorld")
    assert envelope == {
        "agents": 1,
        "width": 12,
        "height": 9,
        "window": 7,
        "symbols": 4,
        "recall": 0,
        "status": 0,
    }
    env = piase_gym.parallel_env("GridWorld", envelope=envelope)
    env.reset(seed=0)
    with pytest.raises(CurriculumError, match="names no world"):
        made.envelope()


def test_what_a_world_does_not_know_is_refused_at_load(tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    data = {**SIMPLE, "world": "GridWorld"}
    data["steps"] = [SIMPLE["steps"][0], {**SIMPLE["steps"][1], "environment_config": {"widht": 5}}]
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    row = path.read_text().splitlines().index('    "widht": 5') + 1
    assert str(caught.value).startswith(
        f"{path}:{row}:5: step 2 'Far': GridWorld: unknown key 'widht'; did you mean 'width'?"
    )
    with pytest.raises(CurriculumError, match="is for GridWorld, not for TextRoom"):
        curriculum({}, world="GridWorld").envelope("TextRoom")


@pytest.mark.parametrize("name", ["actions", "conditions", "manager", "store", "__init__"])
def test_examples_in_docstrings(name: str) -> None:
    suffix = "" if name == "__init__" else f".{name}"
    module = importlib.import_module(f"piase_gym.curricula{suffix}")
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_a_step_can_be_a_scenario() -> None:
    made = curriculum(
        {"environment_config": {"scenario": "stone_gate"}, "max_interactions": 30},
        {"environment_config": {"scenario": "lost_key"}},
        world="TextRoom",
    )
    first, second = (config for _, config in made.configs())
    assert (first.agents, first.max_steps) == (2, 30)
    assert second.agents == 1
    assert made.envelope()["agents"] == 2
    with pytest.raises(CurriculumError, match="step 1 's1': unknown scenario 'stone_gat'"):
        curriculum({"environment_config": {"scenario": "stone_gat"}}, world="TextRoom").envelope()


def test_the_scenario_of_a_step_is_one_of_the_curriculums_world() -> None:
    told = "step 1 's1': scenario 'lost_key' is of TextRoom, not of GridWorld"
    with pytest.raises(CurriculumError, match=told):
        curriculum({"environment_config": {"scenario": "lost_key"}}, world="GridWorld").envelope()
    scenario = {"initial_state": {"width": 5}}  # names no world, so it is the curriculum's
    made = curriculum({"environment_config": {"scenario": scenario}}, world="GridWorld")
    assert made.config(made.step(1)).width == 5
    assert base_fields(made, {"agents": 2}) == {"agents": 2}


def test_the_file_of_a_scenario_stands_beside_the_curriculum(tmp_path: Path) -> None:
    events = [{"trigger": {"type": "step_reached", "step": 2}, "response": {}}]
    events[0]["response"] = {"type": "log_milestone", "milestone_name": "late"}
    story = {"scenario_name": "s", "environment_type": "GridWorld", "events": events}
    (tmp_path / "story.json").write_text(json.dumps({**story, "initial_state": {"width": 5}}))
    step = {"order": 1, "name": "a", "environment_config_overrides": {"scenario": "story.json"}}
    step["completion_criteria"] = [{"metric": "milestone.late", "value": True}]
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"name": "x", "world": "GridWorld", "steps": [step]}))
    made = curricula.load(path)
    assert made.config(made.step(1)).width == 5
    with pytest.raises(CurriculumError, match=r"step 1 'a': there is no file 'story.json'"):
        curricula.loads(path.read_text(), "elsewhere")


def test_files_with_nothing_in_them_and_with_a_mark_of_their_encoding(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("", " \n"):
        path.write_text(text)
        with pytest.raises(CurriculumError, match=r":1:1: this is not JSON: there is nothing in"):
            curricula.load(path)
    path.write_text(json.dumps(SIMPLE), "utf-8-sig")
    assert curricula.load(path).sha256 == curricula.load(SIMPLE).sha256


def test_worlds_are_asked_for_their_milestones() -> None:
    criteria = [{"metric": "milestone.key_taken", "value": True}]
    made = curriculum({"completion_criteria": criteria})
    world = piase_gym.parallel_env("GridWorld").unwrapped.world
    with pytest.raises(CurriculumError, match=r"<data>: step 1 's1', criterion 1 .*key_taken"):
        made.check_world(world)
    criteria = [{"metric": "milestone.key_found", "value": True}]
    curriculum({"completion_criteria": criteria}).check_world(world)


def test_stories_have_milestones_of_their_own() -> None:
    step = {"environment_config": {"scenario": "three_levers"}}
    read = {"completion_criteria": [{"metric": "milestone.note_read", "value": True}]}
    curriculum({**step, **read}, world="TextRoom")
    wrong = {"completion_criteria": [{"metric": "milestone.note_red", "value": True}]}
    with pytest.raises(CurriculumError, match=r"unknown metric 'milestone.note_red'; did you"):
        curriculum({**step, **wrong}, world="TextRoom")


# -- bounds ---------------------------------------------------------------------------------------


def test_large_files_are_told_in_few_lines_and_little_time() -> None:
    rules = [[f"step_attempts > {n} and sucess_rate < 0.{n}", "PROCEED"] for n in range(40)]
    bad_rules = [{"order": n, "name": f"s{n}", "adaptation_rules": rules} for n in range(200)]
    branches = [["true", f"BRANCH_TO_x{n}"] for n in range(10)]
    bad_branches = [{"order": n, "name": f"s{n}", "adaptation_rules": branches} for n in range(900)]
    bad_keys = [
        {"order": n, "name": f"s{n}", **{f"k{m}": 1 for m in range(40)}} for n in range(900)
    ]
    for steps in (bad_rules, bad_branches, bad_keys):
        start = time.process_time()
        with pytest.raises(CurriculumError) as caught:
            curricula.loads(json.dumps({"name": "big", "steps": steps}))
        assert len(str(caught.value).splitlines()) == 20
        assert time.process_time() - start < 20


def test_of_many_problems_the_first_are_told() -> None:
    steps = [{"order": "x", "name": f"s{n}"} for n in range(30)]
    with pytest.raises(CurriculumError) as caught:
        curricula.load({"name": "c", "steps": steps})
    told = {line.split("'")[3] for line in str(caught.value).splitlines()}
    assert told == {f"s{n}" for n in range(20)}


def test_numbers_of_any_size_can_be_hashed() -> None:
    made = curriculum({"environment_config": {"x": 10**40}, "agent_config_overrides": {"y": "é"}})
    assert len(made.sha256) == 64


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "bell\a", "x" * 201])
def test_names_are_one_line(name: str) -> None:
    with pytest.raises(CurriculumError, match="name"):
        curriculum({"name": name})
    with pytest.raises(CurriculumError, match="name"):
        DevelopmentalCurriculum(name=name, steps=[{"order": 1, "name": "a"}])


def test_yaml_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: Y\nsteps:\n  - order: 1\n    name: a\n    max_attempts: 2\n")
    assert curricula.load(path).steps[0].max_attempts == 2
    path.write_text("name: Y\nsteps:\n  - order: 1\n    name: a\n    max_attempt: 2\n")
    with pytest.raises(CurriculumError, match=r"c.yaml:5:5: step 1 'a': .*did you mean"):
        curricula.load(path)


@pytest.mark.parametrize("key", ["environment_config", "environment_config_overrides"])
def test_wrong_settings_of_the_world_are_found_at_their_lines(tmp_path: Path, key: str) -> None:
    path = tmp_path / "c.yaml"
    start = f"name: Y\nworld: GridWorld\nsteps:\n- order: 1\n  name: a\n  {key}:\n    height: 5\n"
    path.write_text(start + "    widht: 8\n    width: 1\n")
    with pytest.raises(CurriculumError) as caught:
        curricula.load(path)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{path}:8:5: step 1 'a': GridWorld: unknown key 'widht'")
    assert lines[1].startswith(f"{path}:9:5: step 1 'a': GridWorld.width: it must be at least 2")
    path.write_text(start + "    max_cycles: 0\n")  # which is called `max_steps` in the message
    with pytest.raises(CurriculumError, match=r"c.yaml:6:3: step 1 'a': GridWorld.max_steps"):
        curricula.load(path)


# -- anything at all ------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
        st.sampled_from(["PROCEED", "BRANCH_TO_2", "step_attempts > 1", "success_rate", ">="]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["name", "metric", "order", "data", "x"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all parts of JSON data."""
    found = [way] if way else []
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            found += places(entry, (*way, key))
    return found


STRANGE = "\x85", "a\u2028b", "x\ny", "success_rate >= 0.5\x1c"
"""Texts that are more than one line."""


@pytest.mark.parametrize("text", STRANGE)
def test_a_problem_is_one_line_whatever_it_quotes(text: str) -> None:
    told: list[str] = []
    inside = {"metric": text, "operator": text, "value": text}
    for way, value in product(places(SIMPLE), (text, [text, "PROCEED"], {text: 1}, inside)):
        try:
            curricula.loads(changed(*way, value), "any.json")
        except CurriculumError as error:
            told.append(str(error))
    assert len(told) > 100
    assert all(line.startswith("any.json:") for each in told for line in each.splitlines())


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(places(SIMPLE)), ANYTHING)
def test_any_change_gives_a_curriculum_or_an_error_of_ours(way: Any, value: Any) -> None:
    text = changed(*way, value)
    made, told = None, ""
    try:
        made = curricula.loads(text, "any.json")
    except CurriculumError as error:
        told = str(error)
    assert all(line.startswith("any.json:") for line in told.splitlines() if line)
    if made is None:
        return
    assert len(made.sha256) == 64
    assert pickle.loads(pickle.dumps(made)).sha256 == made.sha256
    assert curricula.load(json.loads(text)).sha256 == made.sha256
    assert copy.deepcopy(made).steps[0].rules == made.steps[0].rules
