"""What tests of teachers share: a director of three steps, and episodes that end."""

from __future__ import annotations

from typing import Any

from piase_gym.curricula import CurriculumManager
from piase_gym.curricula.directors import StepChoice, make_director
from piase_gym.runs.history import Episode
from tests.curricula.example_curricula import curriculum, step
from tests.curricula.helpers import Table

AGENT = "agent_0"
PLAN = curriculum(step(1), step(2), step(4))


def opened(name: str, seed: int = 0, **options: Any) -> Any:
    """A director of three steps, and nobody in any world."""
    director, manager = make_director({"name": name, **options}), CurriculumManager(PLAN)
    manager.start(AGENT)
    director.open(manager, Table(), seed, [AGENT])
    return director


def ended(
    director: Any, choice: StepChoice, won: bool = False, total: float = 0.0, seed: int = 0
) -> None:
    """Let an episode of a choice end."""
    level = choice.seed if choice.seed is not None else seed
    result = "won" if won else "lost"
    episode = Episode(AGENT, 0, 0, 0, level, 0, 5, 5, total, result)
    director.observe_choice(AGENT, choice, episode)
