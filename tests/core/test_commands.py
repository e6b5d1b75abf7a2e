"""The grammar: commands as text and as data, and what invalid actions say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.commands import (
    MAX_LINE,
    OUTCOMES,
    Command,
    InvalidAction,
    Outcome,
    Param,
    Verb,
    check_command,
    merged_lines,
    read_command,
    write_command,
)
from piase_gym.errors import suggest

ROOMS = ("hallway", "old library")
LOOK = Verb("look", "see", (Param("target", optional=True, before="at"),), ("examine", "l"))
GO = Verb("go", "walk", (Param("direction", choices=("north", "south")),), ("walk", "head to"))
USE = Verb("use", "apply", (Param("item"), Param("target", optional=True, before="on")))
PUT = Verb("put", "lay down", (Param("item"), Param("place", before="into")), ("lay",))
WAIT = Verb("wait", "let time pass", (Param("steps", "integer", optional=True),), ("noop",))
PUSH = Verb("push", "push", (Param("force", "number"), Param("room", before="to", choices=ROOMS)))
GRAMMAR = (LOOK, GO, USE, PUT, WAIT, PUSH)

WORDS = st.from_regex(r"\A[b-z][a-z]{2,8}\Z").filter(
    lambda word: word not in {"the", "into", "with"}
)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


def values_of(param: Param) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a parameter."""
    if param.choices:
        return st.sampled_from(param.choices)
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "string": NAMES,
        "integer": st.integers(),
        "number": st.floats(allow_nan=False, allow_infinity=False),
    }
    return by_kind[param.kind]


@st.composite
def commands(draw: st.DrawFn, grammar: tuple[Verb, ...] = GRAMMAR) -> Command:
    """Draw a command of the grammar; optional parameters are there or not."""
    verb = draw(st.sampled_from(grammar))
    chosen = [p for p in verb.params if not p.optional or draw(st.booleans())]
    return Command(verb.name, {param.name: draw(values_of(param)) for param in chosen})


@given(commands())
def test_write_and_read_are_inverse(command: Command) -> None:
    line = write_command(command, GRAMMAR)
    assert read_command(line, GRAMMAR) == command
    assert check_command(command, GRAMMAR) == command


@given(commands(), st.sampled_from([str.upper, str.title, str.lower]), st.sampled_from(". ! .. "))
def test_case_space_and_final_stops_do_not_matter(command: Command, change: Any, end: str) -> None:
    line = "  " + change(write_command(command, GRAMMAR)).replace(" ", " \t ") + end + "\n"
    assert read_command(line, GRAMMAR) == command


@given(commands())
def test_synonyms_stand_for_their_verb(command: Command) -> None:
    verb = next(item for item in GRAMMAR if item.name == command.verb)
    line = write_command(command, GRAMMAR)
    for synonym in verb.synonyms:
        assert read_command(synonym + line.removeprefix(verb.name), GRAMMAR) == command
        assert check_command(Command(synonym, command.parameters), GRAMMAR) == command


@given(st.text(max_size=60) | st.sampled_from(["use on", "put x into", "go", "push 1 to", "."]))
def test_any_text_is_a_command_or_an_invalid_action_that_explains(line: str) -> None:
    read = read_command(line, GRAMMAR)
    if isinstance(read, InvalidAction):
        assert read.outcome is Outcome.UNPARSABLE
        assert read.message
    else:
        assert check_command(read, GRAMMAR) == read


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("look", Command("look")),
        ("look at desk", Command("look", {"target": "desk"})),
        ("look at the desk", Command("look", {"target": "desk"})),
        ("l", Command("look")),
        ("Examine at A Large Desk!", Command("look", {"target": "large desk"})),
        ("head to north", Command("go", {"direction": "north"})),
        ("use the key on the desk", Command("use", {"item": "key", "target": "desk"})),
        ("use an old key", Command("use", {"item": "old key"})),
        ("put a pen into the box", Command("put", {"item": "pen", "place": "box"})),
        ("wait 3", Command("wait", {"steps": 3})),
        ("push 2 to the old library", Command("push", {"force": 2.0, "room": "old library"})),
    ],
)
def test_lines_a_person_would_write(line: str, expected: Command) -> None:
    assert read_command(line, GRAMMAR) == expected


def test_an_article_that_belongs_to_a_choice_is_kept() -> None:
    sing = Verb("sing", "sing", (Param("song", choices=("the wanderer", "moon")),))
    assert read_command("sing the wanderer", (sing,)) == Command("sing", {"song": "the wanderer"})
    assert read_command("sing the moon", (sing,)) == Command("sing", {"song": "moon"})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ("empty", "go north|south", "use <item> [on <target>]")),
        ("  \n", ("empty", "commands")),
        ("...", ("empty",)),
        ("lok at desk", ("'lok'", "did you mean 'look'?", "'wait'")),
        ("dance", ("'dance'", "allowed", "'go'", "'push'")),
        ("gonorth", ("'gonorth'",)),
        ("go", ("'go'", "direction", "go north|south")),
        ("go nroth", ("direction", "'nroth'", "did you mean 'north'?")),
        ("go up", ("direction", "'up'", "'north'", "'south'")),
        ("use", ("'use'", "item", "use <item> [on <target>]")),
        ("put pen", ("'put'", "place", "put <item> into <place>")),
        ("wait long", ("steps", "integer", "'long'")),
        ("wait 1.5", ("steps", "integer", "'1.5'")),
        ("push hard to hallway", ("force", "number", "'hard'")),
        ("push 2 to the moon", ("room", "'moon'", "'hallway'")),
        (None, ("string", "NoneType")),
        (3, ("string", "int")),
        (b"look", ("string", "bytes")),
        (["look"], ("string", "list")),
    ],
)
def test_an_invalid_action_says_what_was_expected(line: object, words: tuple[str, ...]) -> None:
    read = read_command(line, GRAMMAR)
    assert isinstance(read, InvalidAction)
    assert read.outcome is Outcome.UNPARSABLE
    assert [word for word in words if word not in read.message] == []


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("rigth", ("north", "south", "west", "east"), ""),
        ("south", ("north", "west"), ""),
        ("nroth", ("north", "west"), "did you mean 'north'? "),
        ("box", ("red box", "ball"), "did you mean 'red box'? "),
        ("", ("red box",), ""),
    ],
)
def test_only_what_is_close_is_suggested(word: str, known: tuple[str, ...], hint: str) -> None:
    assert suggest(word, known) == f"{hint}allowed: {', '.join(map(repr, known))}"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
def test_numbers_are_finite(number: str) -> None:
    read = read_command(f"push {number} to hallway", GRAMMAR)
    assert isinstance(read, InvalidAction)
    assert "force" in read.message


@pytest.mark.parametrize("line", ["stay put", "stay where you are please"])
def test_words_after_a_complete_command_are_not_swallowed(line: str) -> None:
    stay = Verb("stay", "do nothing")
    read = read_command(line, (stay,))
    assert isinstance(read, InvalidAction)
    assert repr(line.removeprefix("stay ")) in read.message


@pytest.mark.parametrize("length", [MAX_LINE + 1, 10**6])
def test_a_line_that_is_too_long(length: int) -> None:
    read = read_command("x" * length, GRAMMAR)
    assert isinstance(read, InvalidAction)
    assert read.outcome is Outcome.TOO_LONG
    assert str(length) in read.message
    assert str(MAX_LINE) in read.message


def test_a_line_of_the_greatest_length_is_read() -> None:
    line = "use " + "x" * (MAX_LINE - 4)
    assert read_command(line, GRAMMAR) == Command("use", {"item": line[4:]})


@pytest.mark.parametrize(
    "line",
    [
        "x" * 900,
        "go " + "x" * 900,
        "wait " + "x" * 900,
    ],
    ids=["verb", "choice", "number"],
)
def test_messages_stay_short(line: str) -> None:
    read = read_command(line, GRAMMAR)
    assert isinstance(read, InvalidAction)
    assert len(read.message) < 400


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command("lok"), ("'lok'", "did you mean 'look'?")),
        (Command("go"), ("'go'", "'direction'", "go north|south")),
        (Command("go", {"direction": None}), ("'direction'",)),
        (Command("go", {"direction": "up"}), ("direction", "'up'", "'north'")),
        (Command("go", {"direction": 3}), ("direction", "string", "int")),
        (Command("go", {"directon": "north"}), ("'directon'", "did you mean 'direction'?")),
        (Command("wait", {"steps": "3"}), ("steps", "integer", "str")),
        (Command("wait", {"steps": 1.5}), ("steps", "integer", "float")),
        (Command("wait", {"steps": True}), ("steps", "integer", "bool")),
        (Command("push", {"force": "2", "room": "hallway"}), ("force", "number", "str")),
        (Command("look", {"target": ["desk"]}), ("target", "string", "list")),
        (Command(["look"]), ("action type", "string", "list")),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_command_as_data_is_explained(command: Command, words: tuple[str, ...]) -> None:
    checked = check_command(command, GRAMMAR)
    assert isinstance(checked, InvalidAction)
    assert checked.outcome is Outcome.UNPARSABLE
    assert [word for word in words if word not in checked.message] == []


def test_a_verb_of_two_words_is_a_tool_whose_name_llm_apis_take() -> None:
    verb = Verb("go to", "drive there", (Param("what"),))
    assert verb.tool()["name"] == "go_to"
    assert check_command(Command("go_to", {"what": "goal"}), (verb,)) == ("go to", {"what": "goal"})


def test_verbs_in_any_script_are_tools_of_different_names() -> None:
    verbs = [Verb(name, "do it") for name in ("打开", "关闭", "öffne", "größe")]
    names = [verb.tool()["name"] for verb in verbs]
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert [check_command(Command(name), verbs) for name in names] == [(v.name, {}) for v in verbs]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), pytest.param(10**400, id="huge")])
def test_numbers_as_data_are_finite(number: float) -> None:
    command = Command("push", {"force": number, "room": "hallway"})
    assert isinstance(check_command(command, GRAMMAR), InvalidAction)


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        (Command("x" * 10**6), Outcome.UNPARSABLE),
        (Command("go", {"x" * 10**6: "north"}), Outcome.UNPARSABLE),
        (Command("go", {1: "north"}), Outcome.UNPARSABLE),  # type: ignore[dict-item]
        (Command("go", {"direction": "x" * 10**6}), Outcome.TOO_LONG),
        (Command("use", {"item": "x" * 10**6}), Outcome.TOO_LONG),
    ],
    ids=["verb", "name", "number", "choice", "value"],
)
def test_what_is_too_long_as_data_is_explained_briefly(command: Command, outcome: Outcome) -> None:
    checked = check_command(command, GRAMMAR)
    assert isinstance(checked, InvalidAction)
    assert checked.outcome is outcome
    assert len(checked.message) < 200


def test_half_a_character_is_read_as_it_is_logged() -> None:
    command = Command("use", {"item": "a \ud83d key"})
    assert check_command(command, GRAMMAR) == Command("use", {"item": "a ? key"})
    assert read_command("use a \ud83d key", (USE,)) == Command("use", {"item": "? key"})


def test_a_missing_optional_value_may_be_given_as_none() -> None:
    command = Command("use", {"item": "key", "target": None})
    assert check_command(command, GRAMMAR) == Command("use", {"item": "key"})


def test_an_integer_will_do_for_a_number() -> None:
    command = Command("push", {"force": 2, "room": "hallway"})
    assert check_command(command, GRAMMAR) == command


def test_commands_are_keys_whatever_the_order_of_their_parameters() -> None:
    one = Command("use", {"item": "key", "target": "desk"})
    other = Command("use", {"target": "desk", "item": "key"})
    assert {one: 1}[other] == 1
    assert one != Command("use", {"item": "desk", "target": "key"})


@pytest.mark.parametrize(
    ("verb", "usage"),
    [
        (LOOK, "look [at <target>]"),
        (GO, "go north|south"),
        (USE, "use <item> [on <target>]"),
        (PUSH, "push <force> to hallway|old library"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_usage(verb: Verb, usage: str) -> None:
    assert verb.usage == usage


def test_a_tool_is_json_schema() -> None:
    assert json.loads(json.dumps(USE.tool())) == {
        "name": "use",
        "description": "apply",
        "parameters": {
            "type": "object",
            "properties": {"item": {"type": "string"}, "target": {"type": "string"}},
            "required": ["item"],
            "additionalProperties": False,
        },
    }
    assert GO.tool()["parameters"]["properties"]["direction"]["enum"] == ["north", "south"]


def test_outcomes_have_the_status_words_of_the_design() -> None:
    assert {str(outcome): outcome.status for outcome in OUTCOMES} == {
        "ok": "success",
        "failed": "failure",
        "illegal": "invalid_action",
        "unparsable": "invalid_action",
        "too_long": "invalid_action",
        "timeout": "failure",
        "refused": "invalid_action",
    }


def test_commands_that_differ_in_their_last_name_share_a_line() -> None:
    world = piase_gym.parallel_env("GridWorld", width=4, height=4).world
    assert merged_lines(world.commands[:5], world.write) == ["move north|south|west|east", "stay"]
    rows = [
        Command("look"),
        Command("look", {"at": "silver_key"}),
        Command("use", {"item": "lamp", "on": "red_box"}),
        Command("use", {"item": "key", "on": "red_box"}),
        Command("look", {"at": "x|y"}),
        Command("use", {"item": "lamp", "on": "key"}),
        Command("look", {"at": "box"}),
        Command("look at", {"at": "box"}),
    ]

    def write(command: Command) -> str:
        return " ".join([command.verb, *command.parameters.values()]).replace("_", " ")

    assert merged_lines(rows, write) == [
        "look",
        "look silver key|box",
        "use lamp red box|key",
        "use key red box",
        "look x|y",
        "look at box",
    ]
    odd = merged_lines([Command("say", {"a": 1}), Command("say", {"a": 2})], lambda _: "say it")
    assert odd == ["say it", "say it"]
