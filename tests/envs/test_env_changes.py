"""Changes, actions and answers of environments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.core.models import ActionCommand
from piase_gym.envs.actions import (
    any_out_of_range,
    decode_answer,
    explain_failure,
    explains_failures,
    no_acts,
    to_indices,
)
from piase_gym.envs.config_changes import Modified, split_changes
from piase_gym.errors import (
    ActionError,
)
from tests import probes

probes.register()


def test_changes_hold_at_once_or_wait() -> None:
    world = piase_gym.parallel_env("GridWorld").world
    before = world.config
    live = next(name for name in ("max_steps", "rewards") if name in world.live_fields)
    value = {"max_steps": 33, "rewards": {"goal": 3.0}}[live]
    changed = before.changed({live: value, "width": 9})
    found = split_changes(world, before, changed, True)
    assert list(found.now) == [live]
    assert list(found.waiting) == ["width"]
    assert found == {**found.now, **found.waiting}
    later = split_changes(world, before, changed, False)
    assert (later.now, set(later.waiting)) == ({}, {live, "width"})
    assert Modified({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_indices_of_many_environments() -> None:
    assert to_indices([[1], [2]], (2, 1)).tolist() == [[1], [2]]
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    for wrong, told in (
        ([1, 2, 3], r"actions are integers of shape \(2,\), not int64 of shape \(3,\)"),
        ([1.0, 2.0], r"not float64 of shape \(2,\)"),
        ([True, False], r"not bool of shape \(2,\)"),
        ([[1], [1, 2]], r"not object of shape \(\)"),
        (masked, r"not a masked array of shape \(2,\)"),
    ):
        with pytest.raises(ActionError, match=told):
            to_indices(wrong, (2,))
    assert not any_out_of_range(np.array([0, 4]), 5)
    assert any_out_of_range(np.array([0, 5]), 5)
    assert any_out_of_range(np.array([-1, 0], np.int8), 5)
    assert not any_out_of_range(np.zeros(0, np.int64), 5)
    assert any_out_of_range(np.array([2**64 - 1], np.uint64), 5)


def test_answers_of_agents_are_decoded() -> None:
    world = piase_gym.parallel_env("PointProbe", agents=1).world
    coast = Command("coast")
    assert decode_answer(world, 0, "coast") == coast
    assert decode_answer(world, 0, coast) == coast
    assert decode_answer(world, 0, Command("soar")).outcome == "unparsable"
    assert decode_answer(world, 0, None) is None
    assert decode_answer(world, 0, ActionCommand(action_type="coast", parameters={})) == coast
    point = decode_answer(world, 0, np.array([1.0, 0.0], np.float32))
    assert point == Command("thrust", {"x": 1.0, "y": 0.0})
    assert decode_answer(world, 0, 4) == 4
    for wrong in (5, -1, 1.5, True):
        with pytest.raises(ActionError):
            decode_answer(world, 0, wrong)
    assert no_acts(world) == [None]


def test_failures_are_explained_where_there_is_text() -> None:
    assert explains_failures("text", "vector")
    assert explains_failures("discrete", "both")
    assert not explains_failures("discrete", "vector")
    info: dict[str, Any] = {}
    explain_failure(info, None)
    explain_failure(info, SimpleNamespace(reason=""))  # type: ignore[arg-type]
    assert info == {}
    last: Any = SimpleNamespace(reason="A wall.")
    explain_failure(info, last)
    explain_failure(info, last)
    assert info == {"feedback": "A wall."}
    more = {"feedback": "You stay."}
    explain_failure(more, last)
    assert more == {"feedback": "You stay. A wall."}
