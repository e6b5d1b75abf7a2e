"""What environments of others say of their actions, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.worlds.own.actions import verbs_of_schema
from piase_gym.worlds.own.faults import FaultyError


@pytest.mark.parametrize("part", [None, {}, {"parameters": None}, "walk on"])
def test_verbs_need_no_parameters(part: Any) -> None:
    (verb,) = verbs_of_schema({"go": part})
    assert (verb.usage, verb.params) == ("go", ())
    assert verb.description == ("walk on" if part == "walk on" else "go")


@pytest.mark.parametrize("choices", [["n", "s"], ("n", "s")])
def test_choices_are_listed(choices: Any) -> None:
    (verb,) = verbs_of_schema({"go": {"parameters": {"way": {"enum": choices}}}})
    assert verb.usage == "go n|s"


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (["n", "s"], r"the action 'go' is \['n', 's'\], not a verb with a mapping"),
        (3, "the action 'go' is 3, not a verb with a mapping"),
        ({"parameters": ["way"]}, "not a verb with a mapping of parameters"),
        ({"parameters": {"way": ["n", "s"]}}, "the parameter .* is .* a JSON Schema, such as"),
        ({"parameters": {"way": {"enum": "ns"}}}, "the choices of 'way' is 'ns', not a list"),
        ({"parameters": {"way": {"choices": {"n", "s"}}}}, "the choices of 'way' is .* not a list"),
    ],
)
def test_nothing_that_is_said_of_an_action_is_lost(part: Any, told: str) -> None:
    with pytest.raises(FaultyError, match=told):
        verbs_of_schema({"go": part})
