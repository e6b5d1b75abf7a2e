"""Conditions of scripts, compiled and asked."""

from __future__ import annotations

import numpy as np
import pytest

from piase_gym.core.script.conditions import (
    Compiled,
    _test_each,
    _within_distance,
    combine,
)
from piase_gym.core.script.turn import any_agent, count_agents
from tests import probes

probes.register()


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
    assert _within_distance(places, (0, 0), 5).tolist() == [[True, True], [True, False]]
    assert _within_distance(places, (3, 4), None).tolist() == [[False, True], [False, False]]
    named = np.array([["hall", "attic"]], object)
    assert _within_distance(named, "hall", 2).tolist() == [[True, False]]
    words = _test_each(np.array([["ab", "b"]], object), lambda value: "a" in value)
    assert words.dtype == np.bool_
    assert words.tolist() == [[True, False]]
