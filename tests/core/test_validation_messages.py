"""What was wrong with a value is told in words."""

from __future__ import annotations

import copy
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

import piase_gym
from piase_gym.core.shorthand import ShorthandModel, as_list
from piase_gym.core.validation_messages import fields_at, in_words, short, without_branches
from tests import probes

probes.register()


class Mood(Enum):
    """A word."""

    CALM = "calm"


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
    assert without_branches(("a", "constrained-int")) == ("a",)
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


class Goal(ShorthandModel):
    """A model with a short form."""

    SHORT = {"type": "string"}
    name: str = ""


class Book(ShorthandModel):
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


class Number(ShorthandModel):
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
    assert (kept["compiled"], kept["_cache"]) == (None, {})
    assert kept.keys() == vars(script).keys() - {"turn"}
