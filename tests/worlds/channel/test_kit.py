"""The conformance kit on worlds whose agents talk, in symbols and in words, and remember."""

from __future__ import annotations

from typing import Any

import pytest

from piase_gym.testing import check_world
from tests.helpers.needs import need

RICH: dict[str, Any] = {
    "symbols": 2,
    "message_length": 2,
    "message_delay": 1,
    "message_to": True,
    "message_history": 2,
    "message_loss": 0.25,
    "message_cost": 0.5,
}
SOME: dict[str, Any] = {"symbols": 2, "message_to": True, "message_delay": 1, "message_loss": 0.25}
WORDS: dict[str, Any] = {"speech": True, "message_history": 2}
HEARD: dict[str, Any] = {"message_history": 2, "recall": "map", "shared_memory": True}
SMALL: dict[str, Any] = {"agents": 2, "width": 5, "height": 5, "max_steps": 30}
TALKING: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("GridWorld", {**SMALL, **RICH, "message_range": 3}),
    "grid, words": ("GridWorld", {**SMALL, **WORDS}),
    "matrix": ("SocialDilemma", {"game": "stag_hunt", "rounds": 9, "coin": True, **RICH}),
    "matrix, words": ("SocialDilemma", {"rounds": 9, "talk": 1, **WORDS}),
    "commons": ("SocialDilemma", {"game": "harvest", "agents": 2, "rounds": 30, **SOME}),
    "search, words": ("ObjectSearch", {"agents": 2, "max_steps": 20, "recall": "map", **WORDS}),
    "rooms": ("TextRoom", {"agents": 2, "max_steps": 20, "message_history": 2}),
    "home": ("Household", {"agents": 2, "max_steps": 12, "objects": 6, "receptacles": 6, **HEARD}),
    "queries": ("SqlQuery", {"agents": 2, "max_steps": 4, "message_history": 2, "recall": "map"}),
    "physics": ("PhysicsPlayground", {"agents": 2, "max_steps": 8, **SOME, "sight": 2.0}),
}


@pytest.mark.parametrize("case", TALKING)
def test_the_kit_passes_where_agents_talk(case: str) -> None:
    world, fields = TALKING[case]
    need(world)
    check_world(world, **fields)
