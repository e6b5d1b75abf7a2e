"""What curricula and tutors can change in a SocialDilemma: difficulty parameters and elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from piase_gym.core.difficulty import (
    DifficultyParameter,
    Element,
    Fields,
    count_element,
    number_parameter,
)
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.social_dilemma.constants import MAX_ROUNDS
from piase_gym.worlds.social_dilemma.games import BIMATRICES, COOPERATE, DEFECT, MATRIX_GAMES

MOST_TEMPTATION: Final = 10.0
SURE: Final = 0.999
"""The greatest chance of another round that can be set."""


def _temptation(config: Any) -> float | None:
    """Return how much more defecting pays than cooperating, against an agent that cooperates."""
    if config.game not in BIMATRICES:
        return None
    own, other = config.profiles
    return float(own[DEFECT][1] - own[COOPERATE][1]) if np.array_equal(own, other) else None


def _tempt(config: Any, value: float) -> Fields:
    """Set a defector's payoff against a cooperator; all else in the table stays."""
    (sucker, reward), (punishment, _) = config.profiles[0].tolist()
    return {"payoffs": ((reward, sucker), (reward + value, punishment))}


def _growth(config: Any) -> float | None:
    """Return the chance that an apple grows back where many hang."""
    return float(config.regrowth[-1]) if config.game == "harvest" else None


def _grow(config: Any, value: float) -> Fields:
    """Set that chance, and the chances with fewer apples in proportion."""
    field = type(config).model_fields["regrowth"]
    now = config.regrowth if config.regrowth[-1] > 0 else field.default
    return {"regrowth": tuple(min(1.0, chance * value / now[-1]) for chance in now)}


def _plays(*games: str) -> Callable[[Any], bool]:
    """Return a test of whether one of these games is played."""
    return lambda config: config.game in games


_CLEANUP: Final = _plays("cleanup")
_PUBLIC_GOODS: Final = _plays("public_goods")
_MATRIX: Final = _plays(*MATRIX_GAMES)


_number: Final = functools.partial(number_parameter, SocialDilemmaConfig)
DIFFICULTY_PARAMETERS: Final = (
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
    _number("waste_chance", "chance a step that waste comes, in a cleanup", where=_CLEANUP),
    _number("noise", "chance that a choice turns into the other", where=_MATRIX),
    _number(
        "multiplier", "what a contribution grows to", high=10.0, harder=-1, where=_PUBLIC_GOODS
    ),
    _number("cost", low=0.0, high=10.0, where=_plays("volunteers_dilemma")),
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
    _number("memory", "rounds to look back on", harder=-1, where=_MATRIX),
    _number("patches", "of apples", harder=-1, where=_plays("harvest")),
    _number("apple_chance", "chance that an apple grows", harder=-1, where=_CLEANUP),
    _number("start_waste", "share of the water that is waste at first", where=_CLEANUP),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""


ELEMENTS: Final = (
    count_element("player", "one more who plays, in a game of many", "agents"),
    count_element("symbol", "something that can be said to all others", "symbols"),
    count_element("talk", "a step before each round in which only symbols count", "talk"),
    count_element("patch", "apples that grow back, in a harvest", "patches"),
    Element(
        "reputation",
        "all see what each of the others has done",
        (),
        lambda _config, _said: {"reputation": True},
    ),
)
"""What `introduce_element` can add."""
