"""What curricula and tutors can change in a SocialDilemma: its dials and its elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from piase_gym.core.difficulty import (
    DifficultyParameter,
    Element,
    Fields,
    count_element,
    number_parameter,
)
from piase_gym.worlds.social_dilemma.constants import MAX_MEMORY, MAX_ROUNDS
from piase_gym.worlds.social_dilemma.games import BIMATRICES, COOPERATE, DEFECT

MOST_TEMPTATION: Final = 10.0
SURE: Final = 0.999
"""The greatest chance of another round that the dial sets."""


def _temptation(config: Any) -> float | None:
    """Return what it pays more to defect than to cooperate against one who cooperates."""
    if config.game not in BIMATRICES:
        return None
    own, other = config.profiles
    return float(own[DEFECT][1] - own[COOPERATE][1]) if np.array_equal(own, other) else None


def _tempt(config: Any, value: float) -> Fields:
    """Set what the defector gets from a cooperator; all else in the table stays."""
    (sucker, reward), (punishment, _) = config.profiles[0].tolist()
    return {"payoffs": ((reward, sucker), (reward + value, punishment))}


def _growth(config: Any) -> float | None:
    """Return the chance of an apple to grow back where many hang."""
    return float(config.regrowth[-1]) if config.game == "harvest" else None


def _grow(config: Any, value: float) -> Fields:
    """Set that chance, and the chances with fewer apples in proportion."""
    field = type(config).model_fields["regrowth"]
    now = config.regrowth if config.regrowth[-1] > 0 else field.default
    return {"regrowth": tuple(min(1.0, chance * value / now[-1]) for chance in now)}


def _only(parameter: DifficultyParameter, applies: Callable[[Any], bool]) -> DifficultyParameter:
    """Return a dial that is there only where it applies."""

    def read(config: Any) -> float | None:
        return parameter.read(config) if applies(config) else None

    return DifficultyParameter(
        parameter.name,
        parameter.description,
        parameter.low,
        parameter.high,
        read,
        parameter.turn,
        parameter.harder,
        parameter.whole,
    )


def _in(*games: str) -> Callable[[Any], bool]:
    """Return whether one of these games is played."""
    return lambda config: config.game in games


def _is_matrix(config: Any) -> bool:
    """Tell whether a matrix game is played."""
    return not config.is_commons


DIALS: Final = (
    DifficultyParameter(
        "temptation",
        "what defecting pays more than cooperating, against one who cooperates; in games of two",
        -MOST_TEMPTATION,
        MOST_TEMPTATION,
        _temptation,
        _tempt,
    ),
    DifficultyParameter(
        "regrowth",
        "chance a step that an apple grows back where many hang, in a harvest",
        0.0,
        1.0,
        _growth,
        _grow,
        harder=-1,
    ),
    _only(
        number_parameter("waste_chance", "chance a step that waste comes, in a cleanup", 0.0, 1.0),
        _in("cleanup"),
    ),
    _only(
        number_parameter("noise", "chance that a choice turns into the other", 0.0, 0.5), _is_matrix
    ),
    _only(
        number_parameter("multiplier", "what a contribution grows to", 0.0, 10.0, harder=-1),
        _in("public_goods"),
    ),
    _only(
        number_parameter("cost", "what volunteering costs", 0.0, 10.0),
        _in("volunteers_dilemma"),
    ),
    DifficultyParameter(
        "continuation",
        "chance of another round, under a geometric horizon",
        1.0 - SURE,
        SURE,
        lambda config: config.chance if config.horizon == "geometric" else None,
        lambda _config, value: {"continuation": value},
        harder=-1,
    ),
    DifficultyParameter(
        "rounds",
        "rounds of a game (their mean number if geometric), or steps of a commons",
        1,
        MAX_ROUNDS,
        lambda config: config.length if config.continuation is None else None,
        lambda _config, value: {"rounds": value},
        harder=-1,
        whole=True,
    ),
    _only(
        number_parameter("memory", "rounds to look back on", 1, MAX_MEMORY, harder=-1, whole=True),
        _is_matrix,
    ),
    _only(number_parameter("patches", "of apples", 1, 64, harder=-1, whole=True), _in("harvest")),
    _only(
        number_parameter("apple_chance", "chance that an apple grows", 0.0, 1.0, harder=-1),
        _in("cleanup"),
    ),
    _only(
        number_parameter("start_waste", "share of the water that is waste at first", 0.0, 1.0),
        _in("cleanup"),
    ),
    number_parameter("max_steps", "steps until truncation", 1, 2**31 - 1, harder=-1, whole=True),
)
"""What `adjust_difficulty` can turn."""


def _reputation(_config: Any, _said: Mapping[str, Any]) -> Fields:
    """Let all see what the others have done."""
    return {"reputation": True}


ELEMENTS: Final = (
    count_element("player", "one more who plays, in a game of many", "agents"),
    count_element("symbol", "something that can be said to all others", "symbols"),
    count_element("talk", "a step before each round in which only symbols count", "talk"),
    count_element("patch", "apples that grow back, in a harvest", "patches"),
    Element("reputation", "all see what each of the others has done", (), _reputation),
)
"""What `introduce_element` can add."""
