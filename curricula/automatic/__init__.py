"""Automatic curricula: directors that choose among the steps of a curriculum by numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from piase_gym.curricula.automatic.learning_progress import LearningProgress
from piase_gym.curricula.automatic.randomisation import Randomisation
from piase_gym.curricula.automatic.threshold import Threshold
from piase_gym.curricula.director import Director, ScriptedDirector
from piase_gym.errors import ConfigError, UnknownNameError

DIRECTORS: dict[str, Callable[[], Director]] = {
    "learning_progress": LearningProgress,
    "randomisation": Randomisation,
    "scripted": ScriptedDirector,
    "threshold": Threshold,
}
"""Directors by name, with their default settings."""


def make_director(director: Any) -> Director:
    """Return a director of a name, or the given director itself; ``None`` means ``scripted``.

    Raises:
        UnknownNameError: If no director has this name.
        ConfigError: If it is neither.
    """
    if director is None:
        return ScriptedDirector()
    if isinstance(director, Director):
        return director
    if not isinstance(director, str):
        raise ConfigError(f"a director is a Director or a name, not {type(director).__name__}")
    if director not in DIRECTORS:
        raise UnknownNameError("director", director, DIRECTORS)
    return DIRECTORS[director]()


__all__ = ["DIRECTORS", "LearningProgress", "Randomisation", "Threshold", "make_director"]
