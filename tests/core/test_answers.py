"""The reader of what language models answer."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import piase_gym
from piase_gym.core.answers import (
    MAX_REPLY,
    Answer,
    decoded,
    plain,
    read_answer,
    read_reply,
    read_tool_calls,
)
from piase_gym.core.commands import (
    Command,
    InvalidAction,
    Outcome,
    Param,
    Verb,
    check_command,
    read_command,
)

GRAMMAR = (
    Verb("go", "walk", (Param("direction", choices=("north", "south", "up")),)),
    Verb("take", "pick up", (Param("item"),)),
    Verb("look", "look around"),
    Verb("say", "speak", (Param("message", "text"),)),
)


def is_command(line: str) -> bool:
    return isinstance(read_command(line, GRAMMAR), Command)


READS = (is_command,)
YAML = """thinking: "I saw new objects: a key, a door"
action: go north
reason: "Continue exploring"
message_to_others: "I found a chair at position 3"
"""
WHOLE = Answer(
    "go north",
    "I saw new objects: a key, a door",
    "Continue exploring",
    "I found a chair at position 3",
)
OBJECT = {
    "thinking": WHOLE.thinking,
    "action": "go north",
    "reason": WHOLE.reason,
    "message_to_others": WHOLE.message,
}


@pytest.mark.parametrize(
    "reply",
    [
        YAML,
        f"```yaml\n{YAML}```",
        f"Here is my answer:\n\n```yaml\n{YAML}```\nGood luck to us.",
        f"<action>\n{YAML}</action>",
        json.dumps(OBJECT),
        json.dumps(OBJECT, indent=2),
        f"```json\n{json.dumps(OBJECT, indent=2)}\n```",
        f"I answer {json.dumps(OBJECT)} and hope.",
        YAML.replace("action: go north", "action: |\n  go north\n"),
        YAML.replace("action: go north", 'action: "go north"  # as planned'),
        YAML.replace("\n", "\r\n"),
        f"<think>{WHOLE.thinking}</think>"
        + "\n".join(line for line in YAML.split("\n") if "thinking" not in line),
    ],
)
def test_the_documents_answer_is_read_in_every_dress(reply: str) -> None:
    assert read_answer(reply, READS) == WHOLE
    assert read_answer(reply) == WHOLE


@pytest.mark.parametrize(
    "reply",
    [
        "go north",
        "  GO NORTH.  ",
        "- go north",
        "1. go north",
        "> go north",
        '"go north"',
        "`go north`",
        "**go north**",
        "“go north”",
        "„go north“.",
        "»go north«",
        "‘go north’",
        "「go north」。",
        "Ich sage: „go north“, Freunde.",
        "Action：go north",
        "```\ngo north\n```",
        "```go north```",
        "~~~text\ngo north\n~~~",
        "```\ngo north",
        "<action>go north</action>",
        "<ACTION> `go north` </ACTION>",
        "<action>go north",
        "I could go south, or <action>go south</action>. No: <action>go north</action>",
        "Action: go north",
        "**Action:** go north",
        "Action: **go north**.",
        'Action: "go north".',
        "**Action: go north**.",
        "I thought about it.\n\n**go north**!",
        "**Action**: `go north`",
        "Thought: the door is open.\nAction: go north",
        "Action: go south\nWait, that is wrong.\nFinal action: go north",
        "Action: go north\nObservation: You are in the hall.\nAction: go south",
        "Action:\ngo north",
        "Action:\n```\ngo north\n```",
        "```\nplan: look, then walk\n```\nAction: go north",
        "The door is open, so I walk on.\n\ngo north",
        "go north\n\nBecause the door is open.",
        "I will `go north` now.",
        "I think it is best to **go north**, my friends.",
        "<think>go south? no.</think>go north",
        "the opening tag was in the prompt: go south</think>\n\ngo north",
        "<reasoning>\nAction: go south\n</reasoning>\nAction: go north",
        "<|channel|>analysis<|message|>go south<|end|><|channel|>final<|message|>go north",
        '{"action": "go north"}',
        '{"Action": "go north"}',
        '{"command": ["go north"]}',
        '["go north"]',
        '{"answer": {"action": "go north"}}',
        "\x1b[31mgo\x1b[0m north\x07",
        "go\u200b north\u202e",
    ],
)
def test_one_command_is_found(reply: str) -> None:
    found = read_answer(reply, READS)
    assert isinstance(found, Answer), found
    assert isinstance(found.command, str)
    assert found.command.rstrip(".").lower() == "go north"


NORTH = Command("go", {"direction": "north"})


@pytest.mark.parametrize(
    "reply",
    [
        '{"action": "go", "parameters": {"direction": "north"}}',
        '{"action_type": "go", "parameters": {"direction": "north"}}',
        '{"verb": "go", "args": {"direction": "north"}}',
        '{"action": {"type": "go", "parameters": {"direction": "north"}}}',
        '<tool_call>{"name": "go", "arguments": {"direction": "north"}}</tool_call>',
        '{"function": {"name": "go", "arguments": "{\\"direction\\": \\"north\\"}"}}',
        'I call {"name": "go", "arguments": {"direction": "north"}}.',
        'action: {"type": "go", "parameters": {"direction": "north"}}',
    ],
)
def test_commands_as_data_are_found(reply: str) -> None:
    found = read_answer(reply, READS)
    assert isinstance(found, Answer), found
    assert found.command == NORTH


@pytest.mark.parametrize(
    ("reply", "outcome", "told"),
    [
        ("", "unparsable", "is empty"),
        (" \n\t\x00", "unparsable", "is empty"),
        (None, "unparsable", "not NoneType"),
        (7, "unparsable", "not int"),
        ("<think>I wonder", "unparsable", "within its reasoning"),
        ("go north\ngo south", "unparsable", "several commands, 'go north' and 'go south'"),
        ("`go north` or `go south`?", "unparsable", "several commands"),
        ('["go north", "go south"]', "unparsable", "2 commands"),
        ('{"action": ["go north", "look"]}', "unparsable", "2 commands"),
        ('{"action": 3}', "unparsable", 'no "action"'),
        ('{"plan": "go north"}', "unparsable", 'no "action"'),
        ('{"action": "go nor', "unparsable", "cannot be read"),
        ('{"action": ""}', "unparsable", "is empty"),
        ("<action></action>", "unparsable", "is empty"),
        ("reason: hungry\n<action></action>", "unparsable", "is empty"),
        ("[3]", "unparsable", "the action is 3, not a command"),
        ('{"action": "go", "parameters": "north"}', "unparsable", "no JSON"),
        ('{"action": "go", "parameters": ["north"]}', "unparsable", "not a list"),
        ("Ich gehe jetzt.\nNach Norden.", "unparsable", "no line of the reply"),
        ("x" * (MAX_REPLY + 1), "too_long", f"than {MAX_REPLY:,}"),
        ("go north\n" * 1_000_000, "too_long", f"than {MAX_REPLY:,}"),
    ],
)
def test_what_cannot_be_read_is_explained(reply: object, outcome: str, told: str) -> None:
    found = read_answer(reply, READS)
    assert isinstance(found, InvalidAction)
    assert found.outcome == Outcome(outcome)
    assert told in found.message


def test_a_line_that_is_no_command_is_left_to_the_world() -> None:
    assert read_answer("fly home", READS) == Answer("fly home")


def test_a_command_with_marks_in_its_text_is_taken_as_it_is() -> None:
    said = "say Action: go north, and `look`"
    assert read_answer(said, READS) == Answer(said)


@pytest.mark.parametrize(
    "reply",
    [
        "go north",
        "Action: go north",
        '{"action": "go north"}',
        "<action>go north</action>",
        "`go north`",
    ],
)
def test_marks_count_where_every_line_is_a_command(reply: str) -> None:
    reads = (lambda line: True,)
    assert read_answer(reply, reads, any_line=True) == Answer("go north")
    assert read_answer(reply, reads) == Answer(reply)


def test_the_strictest_reader_decides_first() -> None:
    reply = "take the lamp because it is bright\ngo north"
    assert isinstance(read_answer(reply, READS), InvalidAction)
    legal = read_answer(reply, (lambda line: line == "go north", is_command))
    assert legal == Answer("go north")


@pytest.mark.parametrize("depth", [100, 300, 500, 900, 1500])
def test_nesting_is_no_error(depth: int) -> None:
    nested = '{"action":' * depth + '"look"' + "}" * depth
    for found in (read_answer(nested), read_tool_calls([("go", nested)])):
        assert isinstance(found, Answer) or found.outcome == Outcome.UNPARSABLE


def test_escapes_in_json_stand_for_no_control_characters() -> None:
    reply = '{"action": "go\\u0000 north\\ud800", "message_to_others": "\\u001b[2Jhi\\u202e"}'
    assert read_answer(reply) == Answer("go north", message="hi")


def test_a_query_keeps_its_lines() -> None:
    query = "SELECT name\nFROM cities\nWHERE size > 3"
    assert read_answer(f"I look.\n```sql\n{query}\n```") == Answer(query)


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([("go", '{"direction": "north"}')], NORTH),
        ([("go", {"direction": "north"})] * 2, NORTH),
        ([("look", "")], Command("look")),
        ([("look", None)], Command("look")),
        ([("go", "[1]")], "not a list"),
        ([("go", '{"direction":')], "no JSON"),
        ([("look", ""), ("go", "{}")], "calls 2 tools"),
        ([], "calls 0 tools"),
        ([("go", '{"direction": "north\\ud800\\u001b[2J\\u202e"}')], NORTH),
        ([("go\x00", {"direction\u200b": "north\x07"})], NORTH),
    ],
)
def test_tool_calls(calls: list[tuple[str, object]], found: Command | str) -> None:
    read = read_tool_calls(calls)
    if isinstance(found, str):
        assert isinstance(read, InvalidAction)
        assert found in read.message
    else:
        assert read == Answer(found)


PARTS = '{ } [ "action": action: ``` <think> </think> <action> Observation: - " : | look'.split()
WORDS = st.text(max_size=300) | st.lists(
    st.sampled_from([*PARTS, "\n", "\x1b[", "go north"]), max_size=60
).map("".join)


@given(WORDS)
@example("<ACTION>******")
def test_anything_has_an_answer_or_a_reason(reply: str) -> None:
    found = read_answer(reply, READS)
    assert isinstance(found, Answer | InvalidAction)
    if isinstance(found, Answer):
        assert found.command
    assert plain(plain(reply)) == plain(reply)


@pytest.mark.parametrize(
    "part",
    ['{"a":', "[", "<think>", "```\n", "<action>", "action:\n", "*", " ", "`", "~", "`a", '"a\n'],
)
def test_no_reply_takes_long(part: str) -> None:
    start = time.process_time()
    read_answer((part * MAX_REPLY)[:MAX_REPLY], READS)
    assert time.process_time() - start < 2.0  # some 20 ms; a quadratic reader needs minutes


@pytest.mark.parametrize("blank", [" ", "\n", "\n "])
@pytest.mark.parametrize("head", ["<action>go", "Action: go\n", "```json\n", "reason:"])
def test_no_run_of_blanks_takes_long(head: str, blank: str) -> None:
    start = time.process_time()
    read_answer(head + (blank * MAX_REPLY)[: MAX_REPLY - 20] + "x", READS)
    assert time.process_time() - start < 0.7  # some 10 ms; a quadratic reader needs seconds


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n** \n__", "\n \t*"])
def test_what_a_model_makes_up_is_not_read(gap: str) -> None:
    found = read_answer(f"Action: go{gap}Observation: a wall\nAction: wait", READS)
    assert isinstance(found, Answer)
    assert found.command == "go"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("I walk.<think>or south?</think>go north", Answer("go north", "or south?")),
        ("<action>go north</action>\nAction: go south", Answer("go north")),
        ('{"action": "go south"}\nNo:\n```\ngo north\n```', Answer("go north")),
        ('```\ngo south\n```\nNo: {"action": "go north"}', Answer("go north")),
        ("reason: hungry\n<action>go north</action>", Answer("go north", reason="hungry")),
        (
            'reason: hungry\n{"action": "go north", "reason": "bored"}',
            Answer("go north", reason="bored"),
        ),
        ("<think>one</think>\nthinking: two\naction: go north", Answer("go north", "one\ntwo")),
        (
            "message: hello\nthere\n\nAnd so on.\naction: go north",
            Answer("go north", message="hello\nthere"),
        ),
        ("action: 'say it''s me'  # to all", Answer("say it's me")),
        (
            'action: go north\nmessage_to_others: "a \\"key\\"\nlies\\there"',
            Answer("go north", message='a "key"\nlies\there'),
        ),
        ("action: go north\nreason: ~\nmessage_to_others: null", Answer("go north")),
        ("action: go north\nmessage_to_others: 'null'", Answer("go north", message="null")),
        ('reason: hungry\naction: ["go north"]', Answer("go north", reason="hungry")),
        ("I ```look``` first\nand then ``` or so", Answer("look")),
        ('{"thinking": "one\ntwo", "action": "go north"}', Answer("go north", "one\ntwo")),
        ('Well: {"thinking": "one\ntwo", "action": "look"} it is.', Answer("look", "one\ntwo")),
        ('{"action": "look", "reason": {"a": "é"}}', Answer("look", reason='{"a": "é"}')),
        ('{"action": "go north", "parameters": {}}', Answer("go north")),
        ('I am {"name": "bob"}.\ngo north', Answer("go north")),
        ('Of {"parameters": 2} one.\ngo north', Answer("go north")),
        ("Observation: You are in the hall.\nAction: go north", Answer("go north")),
        ("go north".ljust(MAX_REPLY), Answer("go north")),
    ],
)
def test_of_several_parts_each_has_its_place(reply: str, found: Answer) -> None:
    assert read_answer(reply, READS) == found


def test_a_command_of_several_lines_is_taken_whole_where_there_are_such() -> None:
    query, reads = "SELECT 1\nUNION SELECT 2", (lambda text: text.startswith("SELECT"),)
    assert read_answer(query, reads, multiline=True) == Answer(query)
    assert read_answer(query, (lambda _: False, *reads), multiline=True) == Answer(query)
    assert read_answer(query, reads) == Answer("SELECT 1")
    assert read_answer("go north\ngo south") == Answer("go south")  # without readers the last line


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("go north", NORTH),
        ("I look.\ngo north\ngo south", NORTH),  # going south is not legal
        ("I could go.\nAction: go south.", Command("go", {"direction": "south"})),
        ('{"action": "go", "parameters": {"direction": "north"}}', NORTH),
        ('{"action": "fly", "parameters": {"to": "x"}}', "unknown action type 'fly'"),
        ("fly home", "I do not know how to 'fly'"),
        ("fly home\n", "I do not know how to 'fly'"),
        ("fly\nhome", "no line of the reply is a command"),
        (7, "a string, not int"),
    ],
)
def test_a_reply_is_read_as_the_world_reads_lines(reply: object, found: Command | str) -> None:
    given = read_reply(
        reply,
        read=lambda line: read_command(line, GRAMMAR),
        check=lambda command: check_command(command, GRAMMAR),
        legal=lambda command: command == NORTH,
    )
    if isinstance(found, str):
        assert isinstance(given, InvalidAction)
        assert found in given.message
    else:
        assert given == found


@pytest.mark.parametrize(
    "reply",
    [
        r"take Schl\u{fc}ssel",
        r"Action: take Schl\u{fc}ssel",
        r'{"action": "take Schl\u{fc}ssel"}',
        r'{"action": "take Schl\\u{fc}ssel"}',
        "take Schlüssel",
    ],
)
def test_characters_may_be_written_as_texts_show_them(reply: str) -> None:
    """A text has codes for what is not ASCII; who copies a name from it means the name."""
    assert read_answer(reply) == Answer("take Schlüssel")
    arguments = r'{"item": "Schl\u{fc}ssel"}'
    take = Command("take", {"item": "Schlüssel"})
    assert read_tool_calls([("take", arguments)]) == Answer(take)
    story = {
        "initial_state": {
            "rooms": {"hall": {"objects": ["Schlüssel"]}},
            "agent_setup": {"agent_id": "agent_0", "start_room": "hall"},
            "object_details": {"Schlüssel": {"can_be_taken": True}},
        },
        "win_conditions": [{"type": "item_in_inventory", "item_name": "Schlüssel"}],
    }
    env = piase_gym.parallel_env("TextRoom", scenario=story, actions="text", view="text")
    shown, _ = env.reset(seed=0)
    assert r"Schl\u{fc}ssel" in shown["agent_0"]
    assert env.step({"agent_0": reply})[2] == {"agent_0": True}


def test_codes_that_stand_for_no_character_are_left_as_they_are() -> None:
    for text in (r"\u{110000}", r"\u{d83d}", r"\u{a}", r"\u{}", "u{fc}"):
        assert decoded(text) == text
