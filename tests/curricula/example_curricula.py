"""Curricula for tests, and players for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from piase_gym.curricula import DevelopmentalCurriculum
from tests.helpers.piaavt import lines
from tests.paths import SHARED

CORNER = Path(__file__).parent / "corner.curriculum.json"
REFERENCE = SHARED / "data" / "curricula" / "simple_grid_curriculum.json"
UP, DOWN, LEFT, RIGHT, STAY = range(5)
STAYS = [
    (1, 1, "REPEAT_STEP"),
    (1, 2, "REPEAT_STEP"),
    (1, 3, "PROCEED"),
    (2, 1, "REPEAT_STEP"),
    (2, 2, "APPLY_HINT_01"),
    (2, 3, "FAIL_CURRICULUM"),
]
"""Step, attempt and decision of who never moves in CORNER."""
Replayer = Callable[[Any, str], Any]


def step(order: int, **fields: Any) -> dict[str, Any]:
    """A step of a corridor that is complete when the episode is won."""
    config = fields.pop("config", {})
    corridor = {"width": 4, "height": 2, "start_pos": [0, 0], "goal_pos": [3, 0], **config}
    return {
        "order": order,
        "name": f"step {order}",
        "max_interactions": 6,
        "completion_criteria": [{"metric": "task_success", "operator": "==", "value": True}],
        "environment_config_overrides": corridor,
        **fields,
    }


def curriculum(*steps: Mapping[str, Any], **fields: Any) -> DevelopmentalCurriculum:
    """A curriculum of such steps."""
    return DevelopmentalCurriculum(**{"name": "corridor", "steps": list(steps), **fields})


def stay(env: Any, agent: str) -> int:
    """Never move."""
    return STAY


def arrive(env: Any, agent: str) -> Any:
    """Go to the goal by the shortest way."""
    from piase_gym.worlds.grid_world.players.oracle import GridWorldOracle

    world = env.unwrapped.world
    if getattr(arrive, "world", None) is not world:
        arrive.world, arrive.oracle = world, GridWorldOracle(world)  # type: ignore[attr-defined]
    act = arrive.oracle.act(world.agents.index(agent))  # type: ignore[attr-defined]
    return world.commands.index(act) if not isinstance(act, int) else act


def play(env: Any, player: Replayer, most: int = 50, seed: int | None = 0) -> int:
    """Play whole episodes until all curricula are over; return how many."""
    count = 0
    while count < most and any(progress.active for progress in env.progress.values()):
        env.reset(seed=seed if count == 0 else None)
        while env.agents:
            env.step({agent: player(env, agent) for agent in env.agents})
        count += 1
    return count


def told(env: Any) -> list[tuple[int, int, str]]:
    """Step, attempt and decision of everything that was decided."""
    return [(d.step, d.attempt, d.decision) for d in env.decisions]


def dse(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The lines of the engine in a log: event type and data."""
    found = [e for e in lines(path) if e["event_type"].startswith("DSE_")]
    return [(e["event_type"], e["event_data"]) for e in found]
