"""What teachers remember: the last value that is allowed, and the first that is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from piase_gym.core.rng import MAX_SEED
from piase_gym.errors import ProgressError
from tests.curricula.teacher_helpers import PLAN, opened

MOST = 2**53
"""Whole numbers up to it are exact in JSON's readers."""
LEVEL = {"order": 2, "seed": MAX_SEED, "settings": [5.0]}
FIRST = {"order": 1, "seed": 0, "settings": [4.0]}
WIDTH = {"width": [4, 8]}
TEACHERS: dict[str, dict[str, Any]] = {
    "plr": {"warm_up": 1, "buffer": 2, "settings": WIDTH},
    "plr of steps": {"over": "steps", "score": "return"},
    "learnability": {
        "over": "levels",
        "candidates": 2,
        "best": 2,
        "tries": 1,
        "period": 7,
        "settings": WIDTH,
    },
    "learnability of steps": {"window": 3},
    "alp_gmm": {"settings": WIDTH, "period": 2, "components": [1, 2], "history": 2},
    "self_paced": {"period": 3},
    "self_paced settings": {"settings": WIDTH, "start": {"width": [5, 1]}, "period": 3},
}
MEMORIES: dict[str, dict[str, Any]] = {
    "plr": {
        "count": MOST,
        "known": [
            {"task": LEVEL, "score": 0.0, "last": MOST},
            {"task": FIRST, "score": 1.5, "last": 0},
        ],
    },
    "plr of steps": {
        "count": 0,
        "known": [{"task": {"order": 4, "seed": None, "settings": []}, "score": 0.0, "last": 0}],
        "returns": {"4": [-2.0, MOST], "2": [0.5, 0]},
    },
    "learnability": {
        "candidates": [
            {"task": LEVEL, "begun": MOST, "ended": MOST, "won": MOST},
            {"task": FIRST, "begun": 0, "ended": 0, "won": 0},
        ],
        "best": [LEVEL, FIRST],
        "played": 7,
    },
    "learnability of steps": {"results": {"1": [True, False, True]}, "played": 0},
    "alp_gmm": {
        "places": [[0.1], [-1e299]],
        "outcomes": [1e299, -1e299],
        "progress": [0.0, 1e299],
        "count": MOST,
        "mixture": [{"mean": [0.5, 0.1], "covariance": [[0.2, 0.1], [0.1, 0.2]]}],
    },
    "self_paced": {
        "shares": [0.2, 0.3, 0.5],
        "values": [0.0, None, 1.0],
        "places": [[0.0], [2.0]],
        "outcomes": [0.0, 1.0],
        "updates": MOST,
    },
    "self_paced settings": {
        "mean": [0.5],
        "factor": [[0.1]],
        "places": [[0.4], [1.6]],
        "outcomes": [0.0, 1.0],
        "densities": [0.3, -1.5],
        "updates": 0,
    },
}
THIRD = {"order": 1, "seed": 7, "settings": [4.0]}
WRONG: list[tuple[str, str, Any]] = [
    ("plr", "count", -1),
    ("plr", "count", MOST + 1),
    ("plr", "known.0.score", -0.1),
    ("plr", "known.1.last", -1),
    ("plr", "known.0.last", MOST + 1),
    ("plr", "known.0.task.settings", []),
    ("plr", "known.0.task.settings", [5.0, 5.0]),
    ("plr", "known.0.task.seed", None),
    ("plr", "known.0.task.seed", MAX_SEED + 1),
    ("plr", "known.0.task.seed", -1),
    ("plr", "known.0.task", FIRST),  # the same twice
    ("plr", "known.2", {"task": THIRD, "score": 1.0, "last": 0}),  # no room
    ("plr of steps", "known.0.task.seed", 3),
    ("plr of steps", "returns.2", [0.5, -1]),
    ("plr of steps", "returns.4", [0.5, MOST + 1]),
    ("learnability", "played", 8),
    ("learnability", "played", -1),
    ("learnability", "best.2", THIRD),
    ("learnability", "candidates.2", {"task": THIRD, "begun": 0, "ended": 0, "won": 0}),
    ("learnability", "candidates.0.begun", MOST + 1),
    ("learnability", "candidates.0.begun", MOST - 1),
    ("learnability", "candidates.1.won", 1),
    ("learnability", "candidates.1.won", -1),
    ("learnability", "best.0.seed", None),
    ("learnability", "best.0.seed", MAX_SEED + 1),
    ("learnability", "best.1.seed", -1),
    ("learnability", "candidates.1.task.settings", []),
    ("learnability of steps", "results.1", [True] * 4),
    ("learnability of steps", "best", [{"order": 1, "seed": 7, "settings": []}]),
    ("alp_gmm", "count", MOST + 1),
    ("alp_gmm", "count", 1),  # fewer than are remembered
    ("alp_gmm", "places", [[0.1]]),
    ("alp_gmm", "outcomes", [0.1]),
    ("alp_gmm", "progress", [0.1]),
    ("alp_gmm", "places.0", [0.1, 0.2]),
    ("alp_gmm", "places.0", [1e300]),
    ("alp_gmm", "places.1", [-1e300]),
    ("alp_gmm", "outcomes.0", 1e300),
    ("alp_gmm", "outcomes.1", -1e300),
    ("alp_gmm", "progress.1", 1e300),
    ("alp_gmm", "mixture.0.mean", [0.5]),
    ("alp_gmm", "mixture.0.covariance", [[0.2, 0.1]]),
    ("alp_gmm", "mixture.0.covariance", [[0.2, 0.1], [0.0, 0.2]]),  # not symmetric
    ("alp_gmm", "mixture.0.covariance", [[0.1, 0.2], [0.2, 0.1]]),  # not positive
    ("self_paced", "updates", -1),
    ("self_paced", "updates", MOST + 1),
    ("self_paced", "values", [0.0, None]),
    ("self_paced", "shares", [0.0, 0.5, 0.5]),
    ("self_paced", "shares", [0.2, 0.3, 0.4]),
    ("self_paced", "shares", [0.2, 0.3, 0.6]),
    ("self_paced", "outcomes", [0.0]),
    ("self_paced", "places.1", [3.0]),
    ("self_paced", "places.0", [-1.0]),
    ("self_paced", "places.0", [0.0, 1.0]),
    ("self_paced", "mean", [0.5]),
    ("self_paced settings", "mean", []),
    ("self_paced settings", "factor", []),
    ("self_paced settings", "factor.0", [0.0]),
    ("self_paced settings", "factor.0", [0.1, 0.1]),
    ("self_paced settings", "places.0", [0.4, 0.4]),
    ("self_paced settings", "densities", [0.3]),
    ("self_paced", "densities", [0.3, -1.5]),
]


def teacher(kind: str) -> Any:
    """One of the teachers above."""
    return opened(kind.split()[0], **TEACHERS[kind])


@pytest.mark.parametrize("kind", TEACHERS)
def test_the_largest_and_least_values_are_read(kind: str) -> None:
    director = teacher(kind)
    director.check_resumed({"draws": [0, MOST], "teacher": MEMORIES[kind]}, PLAN)
    for draws in ([-1], [MOST + 1]):
        with pytest.raises(ProgressError, match="draws"):
            director.check_resumed({"draws": draws, "teacher": MEMORIES[kind]}, PLAN)


@pytest.mark.parametrize(("kind", "where", "value"), WRONG)
def test_what_a_teacher_cannot_have_remembered_is_refused(
    kind: str, where: str, value: Any
) -> None:
    memory: Any = copy.deepcopy(MEMORIES[kind])
    *path, last = where.split(".")
    held = memory
    for name in path:
        held = held[int(name)] if isinstance(held, list) else held[name]
    if not isinstance(held, list):
        held[last] = value
    else:
        held[int(last) :] = [value, *held[int(last) + 1 :]]
    with pytest.raises(ProgressError, match="damaged, or of"):
        teacher(kind).check_resumed({"teacher": memory}, PLAN)


def test_a_whole_period_of_episodes_is_never_remembered() -> None:
    memory = {**MEMORIES["self_paced"], "places": [[0.0]] * 3, "outcomes": [0.0] * 3}
    with pytest.raises(ProgressError, match="damaged, or of"):  # at the third it would have moved
        teacher("self_paced").check_resumed({"teacher": memory}, PLAN)


@pytest.mark.parametrize(
    ("kind", "where"), [("plr", "known"), ("learnability", "candidates"), ("learnability", "best")]
)
def test_a_step_that_is_not_there_is_refused(kind: str, where: str) -> None:
    memory = copy.deepcopy(MEMORIES[kind])
    (memory[where][0] if where == "best" else memory[where][0]["task"])["order"] = 3
    with pytest.raises(ProgressError, match="there is no step 3"):
        teacher(kind).check_resumed({"teacher": memory}, PLAN)


def test_shares_of_other_steps_are_refused() -> None:
    memory = {**MEMORIES["self_paced"], "shares": [0.5, 0.5], "values": [None, None], "places": []}
    memory["outcomes"] = []
    with pytest.raises(ProgressError, match="a share for each step"):
        teacher("self_paced").check_resumed({"teacher": memory}, PLAN)
