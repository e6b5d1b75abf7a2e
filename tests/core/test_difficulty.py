"""What a parameter of difficulty may be, and what it sets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from piase_gym.core import difficulty
from piase_gym.errors import ConfigError
from tests import probes

probes.register()


class Level(BaseModel):
    """A config with two difficulty parameters."""

    world: str = "Level"
    enemies: int = Field(2, ge=0, le=10, description="How many.")
    speed: float = Field(0.5, ge=0.0, le=2.0)


ENEMIES = difficulty.number_parameter(Level, "enemies")


EASE = difficulty.number_parameter(Level, "speed", "How slow.", high=1.0, harder=-1)


def test_a_field_is_a_parameter() -> None:
    assert (ENEMIES.low, ENEMIES.high, ENEMIES.whole, ENEMIES.harder) == (0, 10, True, 1)
    assert ENEMIES.description == "How many."
    assert (EASE.low, EASE.high, EASE.whole, EASE.description) == (0.0, 1.0, False, "How slow.")
    assert ENEMIES.read(Level()) == 2
    nowhere = difficulty.number_parameter(Level, "enemies", where=lambda config: False)
    assert nowhere.read(Level()) is None


def test_parameters_are_turned_by_a_share_of_their_range() -> None:
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
        (
            {"enemy": 1},
            "Level: there is no difficulty parameter 'enemy' here; did you mean 'enemies'",
        ),
        ({}, "Level: difficulty is adjusted by a mapping, not {}"),
        ([1], "Level: difficulty is adjusted by a mapping, not [1]"),
    ],
)
def test_a_parameter_has_a_range(params: Any, told: str) -> None:
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
    assert field.merge(config, {1: (5, 5)}, None) == {"starts": [(0, 0), (5, 5)]}
    assert field.merge(config, {0: (5, 5)}, None) == {"starts": [(5, 5)]}
    with pytest.raises(ConfigError, match="starts of cat needs one of bob too"):
        field.merge(config, {2: (5, 5)}, None)
    filled = difficulty.per_agent_list("starts", difficulty.is_place, lambda config: [], (9, 9))
    assert filled.merge(config, {1: (5, 5)}, None) == {"starts": [(9, 9), (5, 5)]}


def test_a_range_that_does_not_begin_at_zero_is_as_wide_as_it_is() -> None:
    size = difficulty.number_parameter(Level, "enemies", low=4, high=8)
    assert (size.low, size.high) == (4, 8)
    assert [size.moved(6, share) for share in (0.25, -0.25, 1, -1)] == [7, 5, 8, 4]


def test_the_ends_of_a_range_belong_to_it() -> None:
    parameters = [ENEMIES, EASE]
    for value in (0, 10):
        assert difficulty.adjust(parameters, Level(), {"enemies": value}) == {"enemies": value}
    assert difficulty.adjust(parameters, Level(), {"by": 1}) == {"enemies": 10}
    assert difficulty.adjust(parameters, Level(), {"by": -1}) == {"enemies": 0}


def test_what_is_no_parameter_here_is_not_turned() -> None:
    nowhere = difficulty.number_parameter(Level, "enemies", where=lambda config: False)
    assert difficulty.adjust([nowhere, EASE], Level(), {"by": 0.25}) == {"speed": 0.25}
    for params in ({"by": 0.5}, {"enemies": 3}):
        with pytest.raises(ConfigError, match="Level: there is no difficulty parameter"):
            difficulty.adjust([nowhere], Level(), params)
