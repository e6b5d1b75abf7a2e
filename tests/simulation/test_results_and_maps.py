"""What came of a simulation, and its map."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.core.commands import Outcome
from piase_gym.simulation.summary import Summary
from piase_gym.simulation.team_map import TeamMap, place_of, sign_of
from tests import probes

probes.register()


NAMES = ("ann", "bob")


def test_a_summary_counts() -> None:
    summary = Summary.begin(NAMES, "Story", "TextRoom", 7)
    assert summary.results == {"ann": None, "bob": None}
    summary.add("ann", 1.5, {"outcome": Outcome.OK, "milestones": ["a", "b", "a"]})
    summary.add("ann", 0.5, {"outcome": Outcome.OK, "metrics": {"m": 2}})
    summary.add("bob", -1.0, {"outcome": Outcome.FAILED, "milestones": ["a"], "result": "lost"})
    assert summary.returns == {"ann": 2.0, "bob": -1.0}
    assert summary.outcomes == {"ann": {"ok": 2}, "bob": {"failed": 1}}
    assert summary.milestones == ("a", "b")
    assert summary.milestones_of == {"ann": ("a", "b"), "bob": ("a",)}
    assert summary.metrics == {"m": 2}
    assert not summary.won
    assert not summary.reach("bob", "a")
    assert summary.reach("bob", "c")
    summary.end("bob", "lost", truncated=True)
    summary.end("ann", "won")
    assert summary.won
    assert summary.truncated == {"ann": False, "bob": True}


@pytest.mark.parametrize(
    ("position", "place"),
    [
        (3, (3, 0)),
        ((1, 2), (1, 2)),
        ([1, 2, 9], (1, 2)),
        (True, None),
        ((1.0, 2), None),
        ((1, 2.0), None),
        ((1,), None),
        ((1, 2, 3, 4), None),
        ("ab", None),
    ],
)
def test_places_on_a_map(position: Any, place: Any) -> None:
    assert place_of(position) == place


def test_a_map_has_signs() -> None:
    names = ("wall", "floor", "tall shelf", "low table", "air")
    assert [sign_of(name) for name in names] == ["#", ".", "O", "o", "."]
    team = TeamMap(None)
    assert (team.lines, team.legend) == ([], "")
    team.cells = {(0, 0): "#", (2, 1): ".", (-1, 0): "o", (200, 0): "o", (1, 1): "."}
    team.objects = {"cup": (1, 1), "hat": None, "egg": (0, 1)}
    team.agents = {11: ((2, 1), ">"), 0: ((2, 1), "^")}
    assert team.lines == ["#     ", "* * ^0"]
    assert team.legend == "# wall   o low furniture   * object   . seen"
