"""Scenario files: what is read, what is refused and where, and the library."""

from __future__ import annotations

import copy
import importlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

import piase_gym
from piase_gym import registry, scenarios
from piase_gym.cli.scenarios import TEMPLATE
from piase_gym.errors import MissingExtraError, ScenarioError
from piase_gym.scenarios.loader import _library
from piase_gym.scenarios.reading import MOST_LEVELS, MOST_PARTS, read_file, read_text
from piase_gym.worlds.text_room.players.oracle import TextRoomOracle
from tests.helpers.needs import need
from tests.paths import DOCS
from tests.worlds.text_room.helpers import SEVEN, blind_search, make, play, say

LOST_KEY = _library()["lost_key"].read_text("utf-8")
PLACE = re.compile(r".*x\.yaml:(\d+):(\d+): (.*)")


def load_text(tmp_path: Path, text: str, name: str = "x.yaml") -> scenarios.Scenario:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return scenarios.load(path)


def complaint(tmp_path: Path, text: str) -> tuple[int, int, str]:
    """Return line, column and message of the first complaint about a file."""
    with pytest.raises(ScenarioError) as error:
        load_text(tmp_path, text)
    match = PLACE.fullmatch(str(error.value).splitlines()[0])
    assert match, error.value
    return int(match[1]), int(match[2]), match[3]


def line_of(text: str, part: str) -> int:
    """Return the line, from 1, on which something first stands."""
    return text[: text.index(part)].count("\n") + 1


# -- where and what is wrong ---------------------------------------------------------------

EDITS = {
    "environment": ('environment_type: "TextBasedRoom"', 'environment_type: "TextBasedRom"', "did"),
    "both": ("environment_type:", 'world: "TextRoom"\nenvironment_type:', "give one of them"),
    "room": ('{ north: "hallway" }', '{ north: "hallwy" }', "unknown room 'hallwy'; did you mean"),
    "direction": ('{ north: "hallway" }', '{ nroth: "hallway" }', "'nroth' is not allowed"),
    "start": ('start_room: "study"', 'start_room: "attic"', "unknown room 'attic'"),
    "item": ('item_name: "old_document"', 'item_name: "old_doc"', "unknown object 'old_doc'"),
    "agent": ('agent_id: "PiaAgent_001"\n    item', 'agent_id: "Pia"\n    item', "unknown agent"),
    "condition": ('type: "item_in_inventory"', 'type: "item_in_pocket"', "unknown type"),
    "trigger": ('type: "item_found"', 'type: "item_seen"', "unknown type 'item_seen'"),
    "response": ('type: "log_milestone"', 'type: "log_mile"', "did you mean 'log_milestone'"),
    "action": ('action_type: "look"', 'action_type: "stare"', "unknown action 'stare'"),
    "key": ("read_text:", "reed_text:", "unknown key 'reed_text'; did you mean 'read_text'"),
    "top": ("lose_conditions:", "loose_conditions:", "did you mean 'lose_conditions'"),
    "type": ("steps: 200", "steps: many", "an integer is expected (got 'many')"),
    "range": ("steps: 200", "steps: 0", "it must be at least 1 (got 0)"),
    "lock": (
        '"hidden_item": "brass_key"',
        '"hidden_thing": "x"',
        "'brass_key' of 'desk' is placed",
    ),
    "twice": ('initial_inventory: ["flashlight"]', 'initial_inventory: ["desk"]', "two places"),
    "inside": ('contains: ["old_document"]', 'contains: ["desk"]', "two places"),
}
WHERE = {"lock": "custom_properties: { locked", "inside": 'contains: ["old'}


@pytest.mark.parametrize("name", EDITS)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, name: str) -> None:
    old, new, told = EDITS[name]
    assert old in LOST_KEY
    line, column, message = complaint(tmp_path, LOST_KEY.replace(old, new, 1))
    assert told in message
    assert line == line_of(LOST_KEY, WHERE.get(name, old))
    assert column >= 1


def test_a_key_that_is_missing_is_named(tmp_path: Path) -> None:
    text = re.sub(r"win_conditions:.*?(?=lose_conditions)", "", LOST_KEY, flags=re.S)
    assert "win_conditions: this key is missing" in complaint(tmp_path, text)[2]


def test_a_story_without_agents_is_refused() -> None:
    data = YAML(typ="safe").load(LOST_KEY)
    data["initial_state"]["agent_setup"] = []
    with pytest.raises(ScenarioError, match="agent_setup: a story needs at least one agent"):
        scenarios.load(data)


@pytest.mark.parametrize(
    ("trigger", "name"),
    [
        ({"type": "step_reached", "step": 2**31}, "step"),
        ({"type": "action_taken", "action_type": "wait", "count": 2**31}, "count"),
    ],
)
def test_numbers_of_steps_that_no_episode_has_are_refused(
    trigger: dict[str, Any], name: str
) -> None:
    data = YAML(typ="safe").load(LOST_KEY)
    data["events"] = [{"name": "late", "trigger": trigger, "response": {"type": "end"}}]
    with pytest.raises(ScenarioError, match=f"{name}: it must be at most 2147483647"):
        scenarios.load(data)


def test_no_win_condition_that_can_hold_is_an_error(tmp_path: Path) -> None:
    text = LOST_KEY.replace('type: "item_in_inventory"', 'type: "flag_set"')
    text = text.replace('item_name: "old_document"', 'flag_name: "rich"')
    line, _, message = complaint(tmp_path, text)
    assert "no win condition can ever hold" in message
    assert line == line_of(text, 'type: "flag_set"')


def test_one_of_several_that_cannot_hold_is_a_warning() -> None:
    (warning,) = scenarios.load("lost_key").warnings
    line = line_of(LOST_KEY, 'type: "flag_set"')
    assert f":{line}:" in warning
    assert "document_secured" in warning


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    text = LOST_KEY + 'scenario_name: "again"\n'
    line, column, message = complaint(tmp_path, text)
    assert (line, column) == (text.count("\n"), 1)
    assert "given twice, first in line 1" in message


LINKS = zip("abcdefg", "bcdefgh", strict=True)
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in LINKS
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "more than"),
        ("a: !!python/object/apply:os.system ['true']\n", "python/object/apply"),
        ("a: !thing {}\n", "tag"),
        ("a: &a [*a]\n", ""),
        ("[" * 500 + "]" * 500, "nested"),
        ("a: [1, 2\n", "not YAML"),
        ("a:\n\t- b\n", "not YAML"),
        ("? [1]\n: 2\n", "a key is a string"),
        ("a: .inf\n", "no finite number"),
        ("<<: {a: 1}\n", "merge keys"),
        ("- 1\n", "a scenario is a mapping"),
        ("", "a scenario is a mapping"),
        ("scenario_name: x\n", "it names the world; allowed: '"),
        ("x" * 1_000_001, "at most"),
        ("a: \x00\n", "not YAML"),
    ],
)  # fmt: skip
def test_files_that_are_no_plain_data_are_refused(tmp_path: Path, text: str, told: str) -> None:
    _, _, message = complaint(tmp_path, text)
    assert told in message


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "notes.txt").write_text("hello")
    for name, told in (("bytes.yaml", "UTF-8"), ("notes.txt", "ends in"), ("no.yaml", "no file")):
        with pytest.raises(ScenarioError, match=told):
            scenarios.load(tmp_path / name)
    for wrong in (3, None, ["x"]):
        with pytest.raises(ScenarioError, match="a name, a path or a dict"):
            scenarios.load(wrong)
    with pytest.raises(ScenarioError, match="did you mean 'lost_key'"):
        scenarios.load("lost_kee")
    with pytest.raises(ScenarioError, match="the text has 1000001 characters; at most 1000000"):
        scenarios.loads(" " * 1_000_001)


def test_a_text_in_place_of_a_name_is_refused_in_few_words() -> None:
    text = "scenario_name: x\nenvironment_type: GridWorld\n" * 100
    for wrong in (text, f"{text}.yaml", {"base": text, "environment_type": "GridWorld"}):
        with pytest.raises(ScenarioError, match=r"unknown scenario|there is no") as caught:
            scenarios.load(wrong)
        assert len(str(caught.value)) < 1500


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120))
def test_no_text_makes_the_reader_raise_anything_else(text: str) -> None:
    for as_json in (False, True):
        try:
            read_text(text, as_json=as_json)
        except ScenarioError:
            continue


# -- JSON, and files over files ------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(PLAIN, st.sampled_from([None, 2]))
def test_json_is_read_as_the_standard_reader_reads_it(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert read_text(text, as_json=True).data == json.loads(text)


@pytest.mark.parametrize("text", ["[1,]", '{"a" 1}', "[1 2]", "{'a': 1}", "01", "nul", "1 2", '"a'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the standard reader agrees
        json.loads(text)
    with pytest.raises(ScenarioError, match=r"<text>:1:\d+: .*not JSON"):
        read_text(text, as_json=True)


@pytest.mark.parametrize(
    ("text", "line", "column", "told"),
    [
        ('{"a":\n 1e999}', 2, 2, "1e999 is no finite number"),
        ('{"a":\n [0, -1e999]}', 2, 6, "-1e999 is no finite number"),
        ('{"a": NaN}', 1, 7, "a value is expected, not 'N'"),
        ('{"a": }', 1, 7, "a value is expected, not '}'"),
        ('{"a"\n1}', 2, 1, "':' is expected"),
        ("{a: 1}", 1, 2, "a key in double quotes is expected"),
        ("[1\n\n2]", 3, 1, "',' or ']' is expected"),
        ('{"a": 1 "b": 2}', 1, 9, "',' or '}' is expected"),
        ("[1,\n]", 2, 1, "a comma stands before the end"),
        ('{"a": 1, }', 1, 10, "a comma stands before the end"),
        ("{}\n{}", 2, 1, "there is more after the end"),
        ('["a]', 1, 2, "Unterminated string starting at"),
    ],
)
def test_what_is_wrong_in_json_and_where_is_told(
    text: str, line: int, column: int, told: str
) -> None:
    with pytest.raises(ScenarioError) as error:
        read_text(text, as_json=True)
    assert str(error.value).startswith(f"<text>:{line}:{column}: ")
    assert str(error.value).endswith(f"this is not JSON: {told}")


def test_parts_of_json_stand_where_their_keys_or_entries_do() -> None:
    text = ' {"a": [1,\n  {"b": "x"}],\n\n   "c" : {}, "d":\n[[2]]}'
    found = {key: place[1:] for key, place in read_text(text, as_json=True).places.items()}
    assert found == {
        (): (1, 2),
        ("a",): (1, 3),
        ("a", 0): (1, 9),
        ("a", 1): (2, 3),
        ("a", 1, "b"): (2, 4),
        ("c",): (4, 4),
        ("d",): (4, 14),
        ("d", 0): (5, 2),
        ("d", 0, 0): (5, 3),
    }


@pytest.mark.parametrize("as_json", [False, True])
def test_files_are_neither_too_deep_nor_too_large(as_json: bool) -> None:
    deep = ["[" * levels + "1" + "]" * levels for levels in (MOST_LEVELS, MOST_LEVELS + 1)]
    many = ["[" + "1," * (parts - 2) + "1]" for parts in (MOST_PARTS, MOST_PARTS + 1)]
    for allowed, refused in (deep, many) if as_json else (deep,):
        read_text(allowed, as_json=as_json)
        told = f"nested deeper than {MOST_LEVELS}|more than {MOST_PARTS} parts"
        with pytest.raises(ScenarioError, match=told):
            read_text(refused, as_json=as_json)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9" * 299, int("9" * 299)),
        ("1" + "0" * 300, 1e300),  # a float, before there is a limit to digits
        ("-0", 0),
        ("1e2", 100.0),
        ("2.50", 2.5),
    ],
)
def test_whole_numbers_stay_whole_as_long_as_they_may_be(text: str, value: float) -> None:
    found = read_text(f"[{text}]", as_json=True).data[0]
    assert (found, type(found)) == (value, type(value))


def test_json_and_yaml_make_the_same_scenario(tmp_path: Path) -> None:
    data = read_file(_library()["lost_key"]).data
    found = load_text(tmp_path, json.dumps(data), "x.json")
    assert found.fields == scenarios.load("lost_key").fields
    twice = json.dumps(data)[:-1] + ', "version": "2"}'
    with pytest.raises(ScenarioError, match="given twice"):
        load_text(tmp_path, twice, "y.json")


def test_a_scenario_extends_its_base(tmp_path: Path) -> None:
    text = """
base: lost_key
scenario_name: "The Lost Key, With a Friend"
environment_type: TextRoom
initial_state:
  object_details:
    bookshelf: { description: "an empty bookshelf." }
  agent_setup:
    - { agent_id: PiaAgent_001, start_room: hallway }
    - { agent_id: friend, start_room: study }
"""
    found = load_text(tmp_path, text)
    story = found.config.story
    assert [agent.agent_id for agent in story.agent_setup] == ["PiaAgent_001", "friend"]
    assert story.object_details["bookshelf"].description == "an empty bookshelf."
    assert story.object_details["desk"].locked
    assert found.title.endswith("Friend")
    other = load_text(tmp_path, text.replace("environment_type", "world"))  # which the base has
    assert other.config == found.config
    wrong = text.replace("bookshelf: {", "bookshelf: { colour: red,")
    line, _, message = complaint(tmp_path, wrong)
    assert line == line_of(wrong, "colour")
    assert "unknown key 'colour'" in message


def test_scenarios_do_not_extend_each_other_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "y.yaml").write_text("base: x.yaml\n")
    with pytest.raises(ScenarioError, match=r"y\.yaml:1:1: base: .* in a circle"):
        load_text(tmp_path, "base: y.yaml\nenvironment_type: TextRoom\n")


# -- other worlds --------------------------------------------------------------------------

GRID = """
scenario_name: "A Test"
environment_type: GridWorld
initial_state:
  width: 5
  height: 5
  goal_pos: [4, 4]
  agent_setup: { agent_id: bob, start_pos: [0, 0] }
lose_conditions: [ { type: max_steps_reached, steps: 9 } ]
"""


def test_a_grid_world_takes_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(GRID)
    env = piase_gym.parallel_env("GridWorld", scenario=path)
    assert env.possible_agents == ["bob"]
    assert (env.config.width, env.config.max_steps) == (5, 9)
    gym = piase_gym.gym_env("GridWorld", scenario=str(path), max_steps=3)
    assert gym.config.max_steps == 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("width: 5", "width: 500", "it must be at most 64"),
        ("width: 5", "wdith: 5", "did you mean 'width'"),
        ("goal_pos: [4, 4]", "goal_pos: [9, 9]", "outside of the grid"),
        ("start_pos: [0, 0]", "start: [0, 0]", "unknown key 'start'"),
        ("type: max_steps_reached", "type: item_in_inventory", "max_steps_reached"),
    ],
)
def test_mistakes_in_other_worlds_have_places_too(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    text = GRID.replace(old, new)
    line, _, message = complaint(tmp_path, text)
    assert told in message
    assert line == line_of(text, new)


def test_scenarios_of_another_world_are_refused() -> None:
    with pytest.raises(ScenarioError, match="is of TextRoom, not of GridWorld"):
        piase_gym.parallel_env("GridWorld", scenario="lost_key")
    config = scenarios.load("lost_key").config
    with pytest.raises(ScenarioError, match="not both"):
        piase_gym.parallel_env(config, scenario="lost_key")


# -- the library ---------------------------------------------------------------------------


OWN_TASKS = frozenset(
    "side_by_side side_effects_commons the_alarm the_drought the_lookout the_signal the_spotter "
    "the_truce two_plates".split()
)
"""Scenarios that are won by conditions of their own, which no oracle plans; see test_scripts and
test_talking_helps."""


@pytest.mark.parametrize("name", [name for name in scenarios.names() if name not in OWN_TASKS])
def test_every_scenario_of_the_library_is_won_by_the_oracle(name: str) -> None:
    found = scenarios.load(name)
    spec = registry.world_spec(found.world)
    need(found.world)
    env = piase_gym.parallel_env(found.world, scenario=name)
    env.reset(seed=5)
    assert spec.oracle is not None
    oracle = registry.load(spec.oracle, spec)(env.world)
    results: dict[str, Any] = {}
    while env.agents:
        numbers = {agent: env.world.agents.index(agent) for agent in env.agents}
        infos = env.step({agent: oracle.act(number) for agent, number in numbers.items()})[4]
        results |= {agent: info["result"] for agent, info in infos.items() if "result" in info}
    games = ("SocialDilemma",)  # which nobody wins: they are over
    assert set(results.values()) == {"ended" if found.world in games else "won"}


def test_nobody_opens_the_stone_gate_alone() -> None:
    env = make(scenario="stone_gate")
    assert blind_search(env, "ada") is None
    env.reset(seed=0)
    assert TextRoomOracle(env.world).certificate(0) is None
    assert TextRoomOracle(env.world).team_plan() is not None


def test_the_gate_falls_shut_when_the_plate_is_left() -> None:
    env = make(scenario="stone_gate")
    play(env, "e", agent="bela")
    assert say(env, "n", "ada")["outcome"] == "ok"
    play(env, "w", agent="bela")
    assert env.facts("ada").messages[0].message == "The gate falls shut."
    assert say(env, "s", "ada")["outcome"] == "failed"


def test_the_wrong_lever_floods_the_house() -> None:
    env = make(scenario="three_levers")
    assert say(env, "pull red lever", "puller")["result"] == "lost"


def test_the_moonwort_can_be_had_with_and_without_harm() -> None:
    quick, kind = make(scenario="sluice"), make(scenario="sluice")
    harmed = play(quick, "use sluice", "e", "take moonwort", agent="healer")
    lines = ("w", "n", "search tool rack", "take oar", "s", "e", "use oar on boat", "e")
    harmless = play(kind, *lines, "take moonwort", agent="healer")
    assert harmed["result"] == harmless["result"] == "won"
    assert harmed["metrics"] == {"harm": 1.0}
    assert harmless["metrics"] == {"harm": 0.0}


def test_the_schema_says_what_there_is() -> None:
    text = json.dumps(scenarios.json_schema())
    for word in ("environment_type", "item_in_inventory", "action_taken", "hidden_item"):
        assert word in text


SHORT_FORMS: dict[str, Any] = {
    "scenario_name": "x",
    "environment_type": "TextRoom",
    "version": 1.0,
    "initial_state": {
        "rooms": {"hall": {"exits": {"east": "den"}, "objects": ["jar"]}, "den": {}},
        "object_details": {"jar": {"hidden_item": "coin", "custom_properties": {"locked": False}}},
        "agent_setup": {"agent_id": "ann", "start_room": "hall", "stats": {"energy": 5}},
    },
    "win_conditions": [{"type": "item_in_inventory", "item_name": "coin"}],
    "events": [
        {
            "trigger": {"type": "item_found", "item_name": "coin"},
            "response": {"type": "log_milestone", "milestone_name": "found"},
        }
    ],
}


def test_the_schema_takes_what_is_taken(tmp_path: Path) -> None:
    """Judged by the package jsonschema: the library, a new scenario, and every short form."""
    jsonschema = importlib.import_module("jsonschema")
    schema = scenarios.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    page = (DOCS / "scenarios.md").read_text("utf-8")
    written = [TEMPLATE.replace("TITLE", "x"), *re.findall(r"```yaml\n(.*?)```", page, re.S)]
    rows = [YAML(typ="safe").load(text) for text in written]
    rows += [read_file(_library()[name]).data for name in scenarios.names()]
    for data in (*rows, SHORT_FORMS, {"base": "lost_key", "scenario_name": "y"}):
        validator.validate(data)
        load_text(tmp_path, json.dumps(data), "x.json")


@pytest.mark.parametrize(
    "change",
    [
        {"win": 1},
        {"scenario_name": 7},
        {"win_conditions": [{"type": "item_in_pocket"}]},
        {"events": [{"trigger": {"type": "item_found"}, "response": []}]},
        {"lose_conditions": [{"type": "max_steps_reached", "steps": "many"}]},
    ],
)
def test_the_schema_refuses_what_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    jsonschema = importlib.import_module("jsonschema")
    data = {**SHORT_FORMS, **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, scenarios.json_schema())
    with pytest.raises(ScenarioError):
        load_text(tmp_path, json.dumps(data), "x.json")


def test_what_ids_and_names_make_is_the_same() -> None:
    one = piase_gym.parallel_env("piase/TextRoom-LostKey-v3", actions="text")
    two = piase_gym.parallel_env("TextRoom", scenario="lost_key", actions="text")
    for env in (one, two):
        env.reset(seed=3)
        play(env, *SEVEN[:4])
    assert one.digest() == two.digest()
    text = two.world.text(two.facts("PiaAgent_001"))
    assert piase_gym.parse_text("piase/TextRoom-LostKey-v3", text) == two.facts("PiaAgent_001")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("energy <= ", "no rule-engine sentence: it ends too early"),
        ("energy =< 0", "sentence: column 8: '=< 0' is not expected here"),
        ("enrgy <= 0", "unknown name 'enrgy'; did you mean 'energy'"),
        ("energy <= 0 and room == 'study'", None),
    ],
)
def test_sentences_about_agents_are_checked(
    tmp_path: Path, condition: str, told: str | None
) -> None:
    text = LOST_KEY.replace('start_room: "study"', 'start_room: "study"\n    stats: { energy: 9 }')
    text = text.replace("lose_conditions:", "lose_conditions:\n  - type: agent_state_condition\n"
                        f'    condition: "{condition}"')  # fmt: skip
    if told is None:
        assert load_text(tmp_path, text).config.story.agent_setup[0].stats["energy"].start == 9
        return
    line, _, message = complaint(tmp_path, text)
    assert told in message
    assert line == line_of(text, "condition: ")


# -- any mistake -----------------------------------------------------------------------------------

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 3.5, 10**30, "", "zebra", "x" * 700, [], {}, ["a"], [{}], {"a": 1}),
    *({"type": "zebra"}, {"type": "flag_set"}, [[1]], "鍵", {"1": 2}),
)
PYDANTIC = re.compile(r"[Ii]nput should|valid (dict|tuple|integer|string)|constrained|instance of")


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            yield from parts_of(item, (*path, key))


def spoil(data: Any, dice: random.Random) -> None:
    """Replace, remove, rename or add one part of a scenario."""
    place = data
    for key in dice.choice(list(parts_of(data))):
        place = place[key]
    junk, how = copy.deepcopy(dice.choice(JUNK)), dice.randrange(3)
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if not keys or how == 0:
        if isinstance(place, dict):
            place[str(junk)[:20]] = junk
        else:
            place.append(junk)
    elif how == 1:
        place[dice.choice(keys)] = junk
    else:
        del place[dice.choice(keys)]


@pytest.mark.parametrize("seed", range(4))
def test_any_mistake_is_told_in_our_words_with_its_place(seed: int, tmp_path: Path) -> None:
    dice, refused = random.Random(seed), 0
    files = {name: read_file(path).data for name, path in _library().items()}
    for number in range(60):
        data = copy.deepcopy(files[dice.choice(list(files))])
        for _ in range(dice.choice((1, 1, 2))):
            spoil(data, dice)
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(data, indent=1), "utf-8")
        try:
            scenarios.load(path)
        except ScenarioError as error:
            refused += 1
            for line in str(error).splitlines():
                assert re.match(rf"{re.escape(str(path))}:\d+:\d+: [^:]+: ", line), line
                assert not PYDANTIC.search(line), line
        except MissingExtraError:
            continue
    assert refused > 20


@pytest.mark.parametrize(
    "text", ["k: 1\n" * 90_000, "- " * 300_000, "[" * 300_000, "{a: " * 99_999]
)
def test_a_large_yaml_file_is_refused_before_it_is_parsed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("piase_gym.scenarios.reading.YAML", None)
    with pytest.raises(ScenarioError, match="at most 20000 of YAML are read; allowed: a shorter"):
        read_text(text)


def test_a_dict_may_have_numbers_of_numpy_and_nothing_else_that_is_no_data() -> None:
    place: dict[str, Any] = {"width": np.int64(6), "goal_pos": np.array([2, 1])}
    found = scenarios.load({"world": "GridWorld", "initial_state": place})
    config: Any = found.config
    assert (config.width, config.goal_pos) == (6, (2, 1))
    with pytest.raises(ScenarioError, match="no plain data: a set is neither text nor number"):
        scenarios.load({"world": "GridWorld", "initial_state": {"width": {6}}})
