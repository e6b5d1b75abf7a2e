"""What worlds of text share, used by a grammar that is no text room's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from piase_gym.core.commands import Command, InvalidAction, Param, Verb
from piase_gym.core.mailbox import Message
from piase_gym.errors import TextParseError
from piase_gym.worlds.texts.action_table import ActionTable
from piase_gym.worlds.texts.letters import letter_line, read_letters
from piase_gym.worlds.texts.lines import LineReader
from piase_gym.worlds.texts.parser import CommandParser, Wording
from piase_gym.worlds.texts.wording import listing, plain, without_article

FLOORS = ("cellar", "attic")
VERBS = (
    Verb("climb", "climb to a floor", (Param("floor", choices=FLOORS),)),
    Verb("heat", "heat a thing", (Param("food"), Param("stove", before="with"))),
    Verb("ask", "ask somebody", (Param("cook"), Param("question", "text"))),
    Verb("rest", "do nothing"),
)
WORDING = Wording(
    {"climb": ("climb", "go"), "heat": ("heat", "warm up"), "ask": ("ask",), "rest": ("rest",)},
    {"heat": ("with", "on")},
    VERBS,
    {"down": "cellar"},
    implied="climb",
    things=("food", "stove"),
    people=("cook",),
    aliases={"food": ("stove", "item"), "stove": ("on", "food")},
)
NEAR = ("apple_1", "gas_stove", "stove_on_wheels")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("down", Command("climb", {"floor": "cellar"})),
        ("go attic!", Command("climb", {"floor": "attic"})),
        ("climb roof", "'roof' is no floor; allowed: 'cellar', 'attic'"),
        ("heat the Apple 1 with gas", Command("heat", {"food": "apple_1", "stove": "gas_stove"})),
        (
            "warm up apple 1 on stove on wheels",
            Command("heat", {"food": "apple_1", "stove": "stove_on_wheels"}),
        ),
        ("heat apple 1", "'heat' needs more words: heat <food> with <stove>"),
        ("heat pear with gas stove", "You see no such thing here"),
        ("heat apple 1 with stove", "which do you mean, gas stove or stove on wheels?"),
        ("ask ann: is it Hot?", Command("ask", {"cook": "ann", "question": "is it Hot?"})),
        ("ask bob why", "there is no agent 'bob'"),
        ("rest", Command("rest")),
        ("fly", "I do not know how to 'fly'"),
    ],
)
def test_any_grammar_is_read(line: str, found: Any) -> None:
    read = CommandParser(WORDING, ("ann",), VERBS).read(line, NEAR)
    if isinstance(found, str):
        assert isinstance(read, InvalidAction)
        assert found in read.message
    else:
        assert read == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("  CLIMB   the Attic . ", Command("climb", {"floor": "attic"})),
        ("go attic through the hatch", Command("climb", {"floor": "attic"})),
        ("go down to the dark", Command("climb", {"floor": "cellar"})),
        ("go attic with care", "'attic with care' is no floor"),
        ("go upstairs", Command("climb", {"floor": "attic"})),  # where the choices say so
        ("go", "'climb' needs more words: climb cellar|attic"),
        ("goat", "I do not know how to 'goat'; allowed: 'climb'"),
        ("rest now", "I did not understand 'now' after 'rest'"),
        ("rest!", Command("rest")),
        ("", "the line is empty; commands: climb cellar|attic; heat <food> with <stove>; "),
        (" .!", "the line is empty"),
        ("heat", "'heat' needs more words"),
        ("heat 1 with gas", Command("heat", {"food": "apple_1", "stove": "gas_stove"})),
        ("heat app with gas", "You see no such thing here"),  # no whole word
        ("ask", "there is no agent ''"),
        ("ask ann", "'ask' needs more words: ask <cook> <question>"),
        ("Ask the why", "there is no agent 'the'"),
        ("ask Ann, Why. ", Command("ask", {"cook": "ann", "question": "Why."})),
        ("rest" + " " * 996, Command("rest")),
        ("rest" + " " * 997, "the line has 1001 characters; at most 1000 are read"),
        (7, "a text action is a string, not int"),
    ],
)
def test_lines_are_read_in_any_shape(line: Any, found: Any) -> None:
    parser = CommandParser(WORDING, ("ann",), VERBS)
    read = parser.read(line, NEAR, {"upstairs": "attic"})
    if isinstance(found, str):
        assert isinstance(read, InvalidAction)
        assert found in read.message
    else:
        assert read == found


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "you see or hold: nothing."),
        (2, "you see or hold: egg 0, egg 1."),
        (20, "egg 18, egg 19."),
        (21, "egg 18, egg 19 and 1 more."),
        (23, "egg 19 and 3 more."),
    ],
)
def test_who_names_what_is_not_there_is_told_what_is(count: int, told: str) -> None:
    near = [f"egg_{k}" for k in range(count)]
    read = CommandParser(WORDING, ("ann",), VERBS).read("heat ham on stove", near)
    assert isinstance(read, InvalidAction)
    assert read.outcome == "illegal"
    assert read.message.endswith(told)


def test_a_verb_that_cannot_be_used_here_is_as_unknown() -> None:
    parser = CommandParser(WORDING, ("ann",), VERBS[1:])
    read = parser.read("climb", NEAR)
    assert isinstance(read, InvalidAction)
    assert read.message.startswith("I do not know how to 'climb'; allowed: 'heat'")


def test_two_names_are_cut_where_both_are_known() -> None:
    near = ("pot_with_lid", "stove_with_oven", "lid")
    parser = CommandParser(WORDING, (), VERBS)
    for line in (
        "heat pot with lid with stove with oven",
        "heat the pot with lid on the stove with oven",
    ):
        found = parser.read(line, near)
        assert found == Command("heat", {"food": "pot_with_lid", "stove": "stove_with_oven"})
    assert parser.read("heat lid with oven", near) == Command(
        "heat", {"food": "lid", "stove": "stove_with_oven"}
    )
    alone = parser.read("heat pot with lid", near)
    assert isinstance(alone, InvalidAction)
    assert "needs more words" in alone.message


def test_commands_in_data_are_settled_by_the_wording() -> None:
    parser = CommandParser(WORDING, ("ann",), VERBS)
    heat = Command("heat", {"food": "apple_1", "stove": "gas_stove"})
    assert parser.check(Command("heat", {"food": "apple 1", "stove": "gas"}), NEAR) == heat
    assert parser.check(Command("heat", {"item": "apple 1", "on": "gas"}), NEAR) == heat
    asked = parser.check(Command("ask", {"cook": "Ann", "question": "apple 1"}), NEAR)
    assert asked == Command("ask", {"cook": "ann", "question": "apple 1"})
    for wrong in (
        {"food": "apple_1", "on": "pear"},
        {"food": "apple_1"},
        {**heat.parameters, "x": 1},
    ):
        assert isinstance(parser.check(Command("heat", wrong), NEAR), InvalidAction)


def test_a_table_of_actions_knows_lines_and_places() -> None:
    rows = [(0, Command("rest")), (2, Command("climb", {"floor": "attic"}))]
    table = ActionTable.of(4, rows, VERBS)
    assert table.lines == ("rest", "", "climb attic", "")
    assert table.numbers == {"rest": 0, "climb attic": 2}
    assert table.place(rows[1][1]) == 2
    assert table.place(Command("rest")) is None


def test_lines_are_read_in_order_and_errors_show_them() -> None:
    letters = (Message("ann", "all", "one\ntwo"), Message("system", "ann", "well"))
    text = "\n".join(["Kitchen.", *map(letter_line, letters), "Hint: stir", "more"])
    lines = LineReader("Household", text, left_over="the text ends before it")
    assert lines.next(re.compile("Garden.")) is None
    lines.need(re.compile("Kitchen."))
    assert tuple(read_letters(lines, ("ann",))) == letters
    assert lines.hint() == "stir"
    with pytest.raises(TextParseError, match="Household: cannot read 'more'; the text ends before"):
        lines.require_end()
    with pytest.raises(TextParseError, match="Household: cannot read 'eve'"):
        next(read_letters(LineReader("Household", "ann tells eve: hi"), ("ann",)))


def test_names_are_written_as_people_write_them() -> None:
    assert plain("Old_Desk  lamp") == "old desk lamp"
    assert without_article("the Old desk") == "Old desk"
    assert (listing(["a"]), listing(["a", "b", "c"])) == ("a", "a, b and c")
