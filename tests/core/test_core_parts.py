"""Small parts of the core, each against what its own words say, worked out by hand."""

from __future__ import annotations

import copy
import dataclasses
import json
import signal
import threading
from collections import namedtuple
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, Field, ValidationError

import piase_gym
from piase_gym.core import difficulty, recall
from piase_gym.core.answers import HOW_TO_ANSWER
from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.commands import Verb
from piase_gym.core.digest import canonical_json, digest_bytes, digest_json
from piase_gym.core.facts import Remembered
from piase_gym.core.interrupts import Whole, on_first_interrupt
from piase_gym.core.jsonable import jsonable, python_value
from piase_gym.core.manual import Manual
from piase_gym.core.recall import Recall, Several
from piase_gym.core.script.conditions import (
    Compiled,
    _each,
    _near,
    any_agent,
    combine,
    count_agents,
)
from piase_gym.core.shorthand import Lenient, as_list
from piase_gym.core.snapshot import check_snapshot
from piase_gym.core.text_encoding import escape, hash_text, one_line, unescape
from piase_gym.core.validation_messages import fields_at, in_words, short, without_branches
from piase_gym.errors import ConfigError, SnapshotError, TextParseError
from tests import probes

probes.register()


# -- plain values and digests ----------------------------------------------------------------------


class Mood(Enum):
    """A word."""

    CALM = "calm"


class Loud(str):
    """A string of another type."""


@dataclasses.dataclass
class Cell:
    """A record."""

    place: tuple[int, int]
    mood: Mood = Mood.CALM


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (Loud("a"), "a"),
        (Mood.CALM, "calm"),
        (np.int8(3), 3),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ({1: (2, {"b", "a"})}, {"1": [2, ["a", "b"]]}),
        (Pair(1, Cell((0, 1))), {"left": 1, "right": {"place": [0, 1], "mood": "calm"}}),
        (frozenset({3, 1}), [1, 3]),
        (Cell, str(Cell)),
        (1j, "1j"),
    ],
)
def test_anything_is_jsonable(value: Any, plain: Any) -> None:
    found = jsonable(value)
    assert found == plain
    assert type(found) is type(plain)
    json.dumps(found)


def test_numbers_of_numpy_are_python_numbers() -> None:
    assert python_value(np.array([1.5, 2.0])) == [1.5, 2.0]
    assert type(python_value(np.longdouble(0.5))) is float
    assert python_value(np.clongdouble(1 + 2j)) == 1 + 2j
    assert type(python_value(np.clongdouble(1))) is complex


def test_digests_are_those_of_xxh3() -> None:
    """The digest of nothing is published with XXH3; keys are sorted before they are hashed."""
    assert digest_bytes(b"") == "2d06800538d394c2"
    assert canonical_json({"b": np.int64(1), "a": 0.1}) == b'{"a":0.1,"b":1}'
    assert digest_json({"b": 1, "a": 2}) == digest_bytes(b'{"a":2,"b":1}')
    large = {"b": 2**80, "a": Mood.CALM}
    assert digest_json(large) == digest_bytes(f'{{"a": "calm", "b": {2**80}}}'.encode())
    assert digest_json({"n": 2**80}) == digest_bytes(f'{{"n": {2**80}}}'.encode())


def test_sums_are_added_one_after_the_other() -> None:
    assert sum_in_order([]) == 0.0
    assert sum_in_order([0.1] * 10) == 0.9999999999999999
    assert sum_in_order([1e16, 1.0, -1e16]) == 0.0


# -- texts -----------------------------------------------------------------------------------------


def test_texts_are_escaped_and_back() -> None:
    assert escape("a\\é\n~\x7f") == "a\\\\\\u{e9}\n~\\u{7f}"
    assert one_line("a\nb") == "a\\u{a}b"
    assert unescape("\\u{10ffff}\\\\") == "\U0010ffff\\"
    with pytest.raises(TextParseError, match=r"\\u\{110000\} is no character; codes end at 10ffff"):
        unescape("\\u{110000}")


def test_words_are_counted_in_a_code() -> None:
    assert hash_text(None).tolist() == [0] * 8
    assert hash_text("").tolist() == [1] + [0] * 7
    one = hash_text("Key")
    assert (one[0], one[1:].sum()) == (1, 1)
    assert (hash_text("key, KEY!") == 2 * one - (np.arange(8) == 0)).all()
    many = hash_text("key " * 300)
    assert many.max() == 255
    assert sorted(many.tolist())[:6] == [0] * 6
    assert hash_text("a b", 2).tolist() == [1, 2]


def test_a_prompt_has_its_parts_in_order() -> None:
    verbs = (Verb("go", "leave"), Verb("fly", "soar"))
    manual = Manual("Rules.", "one a goal.", lambda agent: f"goal {agent}.", milestones=("a_b",))
    told = manual.prompt("Head.", 1, "Own.", verbs, ("c",), 9).split("\n\n")
    assert told[:3] == ["Head.", "Rules.", "Goal: goal 1. Own."]
    assert told[3] == f"{HOW_TO_ANSWER} The commands:\n- go: leave\n- fly: soar"
    assert told[4] == "Rewards: one a goal.\nMilestones, paid only as the rewards say: a b."
    assert told[5].startswith("An episode ends after 9 steps at the latest. Each observation opens")
    assert len(told) == 6
    ended = Manual("R.", "none.", end="It ends.", example=("You see.", "go"), unused=("fly",))
    told = ended.prompt("Head.", 0, None, verbs, ("c_d",), 9).split("\n\n")
    assert told[:2] == ["Head.", "R."]
    assert told[2] == f"{HOW_TO_ANSWER} The commands:\n- go: leave"
    assert told[3] == "Rewards: none.\nMilestones, paid only as the rewards say: c d."
    assert told[4].startswith("It ends. ")
    assert told[5] == "Example: You see.\nAction: go"
    assert "Milestones" not in Manual("R.", "none.").prompt("Head.", 0, None, verbs, (), 9)


# -- what was wrong with a value -------------------------------------------------------------------


class Inner(BaseModel):
    """A table."""

    goal: float = 0.0


class Way(BaseModel):
    """One of two shapes."""

    type: Literal["way"] = "way"
    steps: int = 0


class Plan(BaseModel):
    """A config."""

    size: int = Field(3, ge=1, le=9)
    share: float = Field(0.5, gt=0, lt=1)
    even: int = Field(2, multiple_of=2)
    names: list[str] = Field(["a"], min_length=1, max_length=2)
    word: str = Field("ab", min_length=2, max_length=3)
    mood: Mood = Mood.CALM
    side: Literal["left", "right"] = "left"
    inner: Inner | None = None
    table: dict[str, Inner] = {}
    ways: tuple[Way, ...] = ()
    plain: Annotated[Inner, "told"] = Inner()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"size": 0}, "it must be at least 1"),
        ({"size": 10}, "it must be at most 9"),
        ({"size": "x"}, "an integer is expected"),
        ({"share": 0}, "it must be more than 0.0"),
        ({"share": 1}, "it must be less than 1.0"),
        ({"even": 3}, "it must be a multiple of 2"),
        ({"names": []}, "it must have at least 1 entries"),
        ({"names": ["a", "b", "c"]}, "it must have at most 2 entries"),
        ({"names": 3}, "a list is expected"),
        ({"word": "a"}, "it must have at least 2 characters"),
        ({"word": "abcd"}, "it must have at most 3 characters"),
        ({"word": 1}, "a string is expected"),
        ({"mood": "angry"}, "allowed: 'calm'"),
        ({"side": "up"}, "allowed: 'left' or 'right'"),
        ({"table": []}, "a mapping of keys is expected"),
    ],
)
def test_what_was_expected_is_said(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Plan(**fields)
    assert in_words(caught.value.errors()[0]) == words


def test_other_errors_keep_their_words() -> None:
    assert in_words({"type": "missing"}) == "it is missing"
    told = {"type": "value_error", "msg": "Value error, Too much"}
    assert in_words(told) == "too much"
    assert in_words({"type": "union_tag_not_found"}) == "its type is missing"
    assert without_branches(("a", "tuple[int, int]", 0, "b")) == ("a", 0, "b")
    assert short("x" * 58) == repr("x" * 58)
    assert short("x" * 59) == repr("x" * 59)[:57] + "..."


def test_keys_are_known_along_a_path() -> None:
    assert fields_at(Plan, ("inner",)) == ["goal"]
    assert fields_at(Plan, ("table", "any")) == ["goal"]
    assert fields_at(Plan, ("ways", 0)) == ["type", "steps"]
    assert fields_at(Plan, ("ways", 0, "way")) == ["type", "steps"]
    assert fields_at(Plan, ("plain",)) == ["goal"]
    assert fields_at(Plan, ()) == list(Plan.model_fields)
    assert fields_at(Plan, ("size",)) == []


class Goal(Lenient):
    """A model with a short form."""

    SHORT = {"type": "string"}
    name: str = ""


class Book(Lenient):
    """A model with lists of which one entry will do."""

    LISTED = ("goals", "nothing")
    goals: list[Goal] = Field([], description="What is to be done.")


def test_one_entry_is_a_list_of_one() -> None:
    assert as_list({"a": 1}) == [{"a": 1}]
    assert as_list(goal := Goal()) == [goal]
    assert as_list(["a"]) == ["a"]
    assert Book(goals={"name": "x"}).goals == [Goal(name="x")]
    schema = Book.model_json_schema()
    field = schema["properties"]["goals"]
    assert field["description"] == "What is to be done."
    one, many = field["anyOf"]
    assert one == many["items"] == {"$ref": "#/$defs/Goal"}
    assert many["type"] == "array"
    assert "items" not in field
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Goal"]["anyOf"][0] == {"type": "string"}
    assert schema["$defs"]["Goal"]["anyOf"][1]["properties"]["name"]["type"] == "string"
    book = Book()
    assert copy.deepcopy(book) is book
    with pytest.raises(ValidationError):
        book.goals = []  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Book(other=1)  # type: ignore[call-arg]


class Number(Lenient):
    """A model of a number."""

    value: float = 0.0


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_numbers_of_files_are_finite(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Number(value=value)


def test_a_copy_of_a_script_begins_without_the_last_step() -> None:
    env = piase_gym.parallel_env("first_day_at_the_clinic", actions="text")
    env.reset(seed=0)
    env.step(dict.fromkeys(env.agents, env.world.noop))
    script = env.world.script
    assert hasattr(script, "turn")
    kept: Any = script.__getstate__()
    assert "turn" not in kept
    assert (kept["_compiled"], kept["_cache"]) == (None, {})
    assert kept.keys() == vars(script).keys() - {"turn"}


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [1, 2, 7, 8, 9, 12])
def test_masks_are_joined_over_agents_however_many_there_are(agents: int) -> None:
    dice = np.random.default_rng(agents)
    mask = dice.random((40, agents)) < 0.2
    mask[0], mask[1] = False, True
    mask[2], mask[2, -1] = False, True
    assert any_agent(mask).tolist() == [any(row) for row in mask.tolist()]
    assert count_agents(mask).tolist() == [sum(row) for row in mask.tolist()]


def held(*bits: int, own: bool = False) -> Compiled:
    """Return a condition that holds in these environments."""
    return Compiled(lambda: np.array(bits, np.bool_)[:, None], own)


def test_conditions_are_combined() -> None:
    one, two, three = held(1, 1, 0, 0), held(1, 0, 1, 0, own=True), held(1, 1, 1, 0)
    assert combine([one], "all") is one
    every = combine([one, two, three], "all")
    assert every.holds()[:, 0].tolist() == [True, False, False, False]
    assert combine([one, two, three], "any").holds()[:, 0].tolist() == [True, True, True, False]
    assert every.own
    assert not combine([one, three], "all").own


def test_places_are_near_within_a_distance() -> None:
    places = np.array([[[0, 0], [3, 4]], [[3, 3], [4, 4]]])
    assert _near(places, (0, 0), 5).tolist() == [[True, True], [True, False]]
    assert _near(places, (3, 4), None).tolist() == [[False, True], [False, False]]
    named = np.array([["hall", "attic"]], object)
    assert _near(named, "hall", 2).tolist() == [[True, False]]
    words = _each(np.array([["ab", "b"]], object), lambda value: "a" in value)
    assert words.dtype == np.bool_
    assert words.tolist() == [[True, False]]


# -- what is remembered ----------------------------------------------------------------------------


def seen(memory: Recall, **places: Any) -> None:
    """Let agent 0 perceive things."""
    world: Any = SimpleNamespace(perceived=lambda facts: places)
    memory.note(world, 0, None)


def test_what_is_out_of_sight_is_remembered_for_a_while() -> None:
    memory = Recall(("ann", "bob"))
    seen(memory, lamp=[1, 2], cup="on the desk", apple=Several([(0, 0), (2, 2)], [(0, 0), (2, 2)]))
    assert memory.shown(None, 0) == ()  # type: ignore[arg-type]
    memory.pass_step()
    seen(memory, lamp=[1, 3], apple=Several([], [(0, 0)]))
    memory.pass_step()
    found = memory.shown(None, 0)  # type: ignore[arg-type]
    assert [(m.name, m.ago) for m in found] == [("lamp", 1), ("apple", 2), ("cup", 2)]
    assert memory.lines(found) == [
        "Remembered, 1 step ago: lamp at (1, 3).",
        "Remembered, 2 steps ago: apple at (2, 2); cup: on the desk.",
    ]
    assert memory.shown(None, 1) == ()  # type: ignore[arg-type]
    again = Recall(("ann", "bob"))
    again.set_state(json.loads(json.dumps(memory.get_state())))
    assert again.shown(None, 0) == found  # type: ignore[arg-type]
    memory.clear()
    assert memory.shown(None, 0) == ()  # type: ignore[arg-type]
    assert memory.steps == 0


def test_only_the_last_are_shown_and_nothing_is_older_than_the_oldest() -> None:
    memory = Recall(("ann",))
    seen(memory, **{f"thing_{number:02}": None for number in range(17)})
    for _ in range(300):
        memory.pass_step()
    found = memory.shown(None, 0)  # type: ignore[arg-type]
    assert len(found) == 16
    assert {entry.ago for entry in found} == {254}
    code = memory.code(found).reshape(16, -1)
    assert code.shape == (16, 13)
    assert memory.length == 16 * 13
    assert code[:, 0].tolist() == [255.0] * 16
    assert code[0, 1:9].tolist() == hash_text("thing_00").tolist()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"steps": 3, "known": []},
        {"steps": 3, "known": [[["lamp", None, 4]]]},
        {"steps": 3, "known": [[["lamp", None, -1]]]},
        {"steps": 3, "known": [[["lamp", None, 1.0]]]},
        {"steps": 3, "known": [[["", None, 1]]]},
        {"steps": 3, "known": [[[7, None, 1]]]},
        {"steps": "3", "known": [[]]},
    ],
)
def test_a_damaged_memory_is_refused(state: Any) -> None:
    memory = Recall(("ann",))
    memory.pass_step()
    with pytest.raises(SnapshotError, match="what agents remember is damaged"):
        memory.set_state(state)
    assert memory.steps == 1


def read(text: str) -> Any:
    """Read a text that ends with memories."""

    @dataclasses.dataclass
    class Told:
        text: str
        remembered: Any = None

    return recall.parse_remembered(text, None, lambda own, config: Told(own))


def test_memories_are_read_back() -> None:
    view = (
        Remembered("lamp", (1, 3), 1),
        Remembered("apple", (2, 2), 2),
        Remembered("cup: a; b", "x; y", 2),
    )
    found = read("\n".join(["You see.", *Recall.lines(view)]))
    assert found.text == "You see."
    assert found.remembered == view
    assert read("You see.").remembered == ()


@pytest.mark.parametrize(
    "line",
    [
        "Remembered, 1 step ago: lamp at (1, 3)",
        "Remembered, 255 steps ago: lamp.",
        "Remembered, 2 steps ago: lamp.\nRemembered, 1 step ago: cup.",
        "Remembered, 1 step ago: lamp; cup.",
        "Remembered, 1 step ago: cup; lamp at x.\nmore",
        "\n".join(f"Remembered, {n} steps ago: lamp." for n in range(1, 18)),
    ],
)
def test_memories_that_nobody_writes_are_refused(line: str) -> None:
    with pytest.raises(TextParseError):
        read(f"You see.\n{line}")


# -- difficulty ------------------------------------------------------------------------------------


class Level(BaseModel):
    """A config with two dials."""

    world: str = "Level"
    enemies: int = Field(2, ge=0, le=10, description="How many.")
    speed: float = Field(0.5, ge=0.0, le=2.0)


ENEMIES = difficulty.number_parameter(Level, "enemies")
EASE = difficulty.number_parameter(Level, "speed", "How slow.", high=1.0, harder=-1)


def test_a_field_is_a_dial() -> None:
    assert (ENEMIES.low, ENEMIES.high, ENEMIES.whole, ENEMIES.harder) == (0, 10, True, 1)
    assert ENEMIES.description == "How many."
    assert (EASE.low, EASE.high, EASE.whole, EASE.description) == (0.0, 1.0, False, "How slow.")
    assert ENEMIES.read(Level()) == 2
    nowhere = difficulty.number_parameter(Level, "enemies", where=lambda config: False)
    assert nowhere.read(Level()) is None


def test_dials_are_turned_by_a_share_of_their_range() -> None:
    turned = [ENEMIES.moved(2, share) for share in (0.25, 0.01, -0.01, 1, -1, 0)]
    assert turned == [5, 3, 1, 10, 0, 2]
    assert all(type(value) is int for value in turned)
    assert [EASE.moved(0.5, share) for share in (0.25, -0.25, 1.0)] == [0.25, 0.75, 0.0]
    adjust = difficulty.adjust
    assert adjust([ENEMIES, EASE], Level(), {"by": 0.5}) == {"enemies": 7}
    assert adjust([ENEMIES, EASE], Level(), {"speed": 1, "enemies": 3.0}) == {
        "speed": 1.0,
        "enemies": 3,
    }


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"enemies": 11}, "Level: enemies is an integer from 0 to 10, not 11"),
        ({"enemies": 1.5}, "Level: enemies is an integer from 0 to 10, not 1.5"),
        ({"enemies": True}, "Level: enemies is an integer from 0 to 10, not True"),
        ({"speed": -0.1}, "Level: speed is a number from 0 to 1, not -0.1"),
        ({"speed": "1"}, "Level: speed is a number from 0 to 1, not '1'"),
        ({"by": 1.5}, "Level: by is a number from -1 to 1, not 1.5"),
        ({"by": True}, "Level: by is a number from -1 to 1, not True"),
        ({"enemy": 1}, "Level: there is no dial 'enemy' here; did you mean 'enemies'"),
        ({}, "Level: difficulty is adjusted by a mapping, not {}"),
        ([1], "Level: difficulty is adjusted by a mapping, not [1]"),
    ],
)
def test_a_dial_has_a_range(params: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        difficulty.adjust([ENEMIES, EASE], Level(), params)
    assert str(caught.value).startswith(told)


def test_elements_are_put_in() -> None:
    enemy = difficulty.count_element("enemy", "One more.", "enemies")
    wall = difficulty.Element("wall", "A wall.", ("at",), lambda config, said: dict(said), ("at",))
    put = difficulty.introduce
    assert put([enemy, wall], Level(), {"type": "enemy"}) == {"enemies": 3}
    assert put([enemy, wall], Level(), {"type": "enemy", "count": 4}) == {"enemies": 6}
    assert put([enemy, wall], Level(), {"type": "wall", "at": 3}) == {"at": 3}
    for element, told in (
        ({"type": "enemy", "count": 0}, "Level: count is a positive integer, not 0"),
        ({"type": "enemy", "count": True}, "Level: count is a positive integer, not True"),
        ({"type": "enmy"}, "Level: there is no element 'enmy'; did you mean 'enemy'"),
        ({"type": ["enemy"]}, "Level: there is no element ['enemy']"),
        ({"type": "enemy", "at": 1}, "Level: enemy has no option 'at'"),
        ({"type": "wall"}, "Level: wall needs at"),
        ({"count": 1}, "Level: an element is a mapping with a type"),
        ("enemy", "Level: an element is a mapping with a type"),
    ):
        with pytest.raises(ConfigError) as caught:
            put([enemy, wall], Level(), element)  # type: ignore[arg-type]
        assert str(caught.value).startswith(told)


def test_parts_of_agents_make_a_list() -> None:
    assert difficulty.is_place((1, 2.5))
    assert not any(map(difficulty.is_place, ([1], [1, 2, 3], "ab", [True, 1], [1, "2"])))
    config: Any = SimpleNamespace(world="Level", names=lambda: ("ann", "bob", "cat"))
    field = difficulty.per_agent_list("starts", difficulty.is_place, lambda config: [(0, 0)], None)
    assert field.merge(config, {1: (5, 5)}) == {"starts": [(0, 0), (5, 5)]}
    assert field.merge(config, {0: (5, 5)}) == {"starts": [(5, 5)]}
    with pytest.raises(ConfigError, match="starts of cat needs one of bob too"):
        field.merge(config, {2: (5, 5)})
    filled = difficulty.per_agent_list("starts", difficulty.is_place, lambda config: [], (9, 9))
    assert filled.merge(config, {1: (5, 5)}) == {"starts": [(9, 9), (5, 5)]}


# -- snapshots and interrupts ----------------------------------------------------------------------


def test_a_snapshot_is_checked_part_by_part() -> None:
    env = piase_gym.parallel_env("PointProbe", agents=2)
    env.reset(seed=0)
    world = env.world
    good = json.loads(json.dumps(world.snapshot()))
    header, model = world.snapshot_header(), type(world.config)
    config, hints, last = check_snapshot(good, header, model)
    assert (config.agents, hints, last) == (2, [None, None], [None, None])
    for change, told in (
        ({"schema": 2}, r"this snapshot is of PointProbe version \d+ \(schema 2\); allowed here"),
        ({"agents": ["x"]}, r"this snapshot is of the agents \['x'\]; allowed here: agent_0, ag"),
        ({"config": []}, "a snapshot's config is a mapping, not list"),
        ({"config": {"agnts": 1}}, "this snapshot's config is damaged"),
        ({"hints": [None]}, "hints are a list with a string or null an agent"),
        ({"hints": "ab"}, "hints are a list with a string or null an agent"),
        ({"hints": [1, None]}, "hints are a list with a string or null an agent"),
    ):
        with pytest.raises(SnapshotError, match=told):
            check_snapshot({**good, **change}, header, model)
    for key in ("agents", "config", "hints", "last_steps", "state"):
        less = {name: value for name, value in good.items() if name != key}
        with pytest.raises(SnapshotError, match=f"this snapshot lacks {key}$"):
            check_snapshot(less, header, model)
    with pytest.raises(SnapshotError, match="a snapshot is a mapping, not list"):
        check_snapshot([], header, model)


def test_an_interrupt_comes_at_the_end_of_the_outermost_block() -> None:
    whole, done = Whole(), []

    def once() -> None:
        with whole:
            with whole:
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    def twice() -> None:
        with whole:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("never")

    with whole.watched():
        with pytest.raises(KeyboardInterrupt):
            once()
        with whole:
            done.append("quiet")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):  # the second comes at once
            twice()
        with whole:
            done.append("calm")
    assert done == ["inner", "outer", "quiet", "calm"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupts_are_watched_until_all_have_left() -> None:
    whole = Whole()
    whole.watch()
    whole.watch()
    whole.leave()
    assert signal.getsignal(signal.SIGINT) == whole._heard
    whole.leave()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with whole.watched():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_is_a_notice(number: signal.Signals) -> None:
    told: list[str] = []
    before = signal.getsignal(number)
    with on_first_interrupt(lambda: told.append("stop")):
        signal.raise_signal(number)
        assert told == ["stop"]
        assert signal.getsignal(number) is before
    assert signal.getsignal(number) is before
    with on_first_interrupt(lambda: told.append("again")):
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before
    assert told == ["stop"]


def test_in_a_thread_nothing_is_changed() -> None:
    found: list[Any] = []

    def work() -> None:
        with on_first_interrupt(lambda: None):
            found.append(signal.getsignal(signal.SIGINT))
        whole = Whole()
        with whole:
            found.append(whole._inside)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT), 0]
