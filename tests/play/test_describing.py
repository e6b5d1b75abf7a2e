"""Worlds and their configs in words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from piase_gym.play import describing
from tests import probes

probes.register()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 32}, "1..32"),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}, "1..8"),
        ({"type": "integer", "minimum": 0}, "integer >= 0"),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, "integer >= 0"),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 2}, "0..2147483646"),
        ({"type": "number", "minimum": 0.0, "maximum": 0.5}, "number 0..0.5"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "number > 0, <= 1"),
        ({"type": "number", "exclusiveMaximum": 2}, "number < 2"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "null"}, "none"),
        ({}, "anything"),
        ({"enum": ["a", "b"]}, "a | b"),
        ({"const": 3}, "3"),
        ({"type": ["string", "null"]}, "string or none"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}, "string or none"),
        ({"oneOf": [{"type": "integer"}]}, "integer"),
        ({"type": "array", "items": {"type": "string"}}, "list of strings"),
        ({"type": "array", "items": {"type": "integer", "minimum": 1}}, "list of integer >= 1"),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4},
            "list of strings, at least 1 and at most 4",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 4},
            "list of strings, at most 4",
        ),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}]},
            "(integer, none)",
        ),
        ({"type": "object", "properties": {"a": 1, "b": 2}}, "table of a, b"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "name -> number"),
        ({"$ref": "#/$defs/Way"}, "up | down"),
    ],
)
def test_what_a_field_allows_is_said_in_words(schema: dict[str, Any], words: str) -> None:
    known = {"Way": {"enum": ["up", "down"]}}
    assert describing.type_words(schema, known) == words


class Pay(BaseModel):
    """A table in a table."""

    goal: float = Field(1.0, description="For a goal.")


class Plan(BaseModel):
    """A config of its own."""

    name: str = Field(description="It has no default.")
    size: int = Field(3, ge=1, le=9, description="Cells.")
    pay: Pay = Field(default_factory=Pay)
    script: int = 0
    envelope: int = 0


def test_a_config_has_a_row_for_each_field() -> None:
    here = Plan(name="x", size=4, pay=Pay(goal=2.0))
    rows = list(describing.config_rows(Plan, here))
    assert [(row["key"], row["type"], row["default"], row["value"]) for row in rows] == [
        ("name", "string", None, "x"),
        ("size", "1..9", 3, 4),
        ("pay.goal", "number", 1.0, 2.0),
    ]
    assert [row["description"] for row in rows] == ["It has no default.", "Cells.", "For a goal."]
    assert [row["value"] for row in describing.config_rows(Plan, None)] == [None] * 3


def test_a_description_is_the_first_paragraph_of_its_part() -> None:
    class Told:
        """A world.

        ## Description

        It has
        rooms.

        And more.
        """

    class Short:
        """A world that
        is small.

        More.
        """

    assert describing.description(Told) == "It has rooms."  # type: ignore[arg-type]
    assert describing.description(Short) == "A world that is small."  # type: ignore[arg-type]


def test_an_id_is_described_under_a_config() -> None:
    found = describing.describe("TextProbe", {"agents": 2})
    assert (found["name"], found["world"], found["agents"]) == (
        *("TextProbe", "TextProbe"),
        ["agent_0", "agent_1"],
    )
    assert found["actions"] == []  # what an index means depends on the state
    assert found["oracle"] is True
    assert {row["key"]: row["value"] for row in found["config"]}["agents"] == 2
    point = describing.describe("PointProbe", {})
    assert len(point["actions"]) == 5
    assert point["actions"][4] == "coast"
    assert point["spaces"]["continuous actions"] == "Box(-1..1, (2,), float32)"
    assert point["spaces"]["discrete actions"] == "Discrete(5), masked"
