"""What environments of others answer to an action, read field by field."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.core.commands import Outcome, Result
from piase_gym.worlds.own.answers import read_answer
from piase_gym.worlds.own.faults import FaultyError


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ({}, (False, False)),
        ({"terminated": True}, (True, False)),
        ({"done": True}, (True, False)),
        ({"truncated": True}, (False, True)),
        ({"done": True, "truncated": True}, (False, True)),
        ({"details": {"terminated": True}}, (True, False)),
        ({"done": True, "details": {"truncated": 1}}, (False, True)),
    ],
)
def test_an_episode_ends_once(given: dict[str, Any], ends: tuple[bool, bool]) -> None:
    found = read_answer(given)
    assert (found.terminated, found.truncated) == ends


@pytest.mark.parametrize(
    ("given", "reward"),
    [
        ({}, 0.0),
        ({"reward": 2}, 2.0),
        ({"details": {"reward": -0.5}}, -0.5),
        ({"rewards_obtained": {"a": 0.5, "b": 0.25}, "reward": 9}, 0.75),
        ({"rewards_obtained": 3, "reward": 9}, 9.0),
    ],
)
def test_rewards_are_one_number_or_a_sum(given: dict[str, Any], reward: float) -> None:
    assert read_answer(given).reward == reward


def test_words_and_details_are_kept() -> None:
    found = read_answer({"status": "nonsense", "message": "ok", "details": {"won": False, 1: {2}}})
    assert (found.outcome, found.message) == (Outcome.OK, "ok")
    assert (found.result, found.notes) == (Result.LOST, {"won": False, "1": [2]})
    assert read_answer({"error_details": "stuck"}).message == "stuck"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (3, "the result of an action"),
        ({"details": [1]}, "the details of a result"),
        ({"rewards_obtained": {"a": "much"}}, "the reward 'a'"),
        ({"rewards_obtained": 1.0}, "rewards_obtained is 1.0, not a mapping"),
    ],
)
def test_other_answers_are_refused(given: Any, told: str) -> None:
    with pytest.raises(FaultyError, match=told):
        read_answer(given)
