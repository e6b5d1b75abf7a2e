"""What the tests of `CurriculumWrapper` share."""

from __future__ import annotations

from typing import Any

import pytest

import piase_gym
from piase_gym.wrappers import CurriculumWrapper
from tests.curricula.example_curricula import CORNER, REFERENCE

FILES = [
    CORNER,
    pytest.param(
        REFERENCE,
        marks=pytest.mark.skipif(
            not REFERENCE.exists(), reason="the reference curriculum is not here"
        ),
    ),
]


def make(curricula: Any = CORNER, *, config: dict[str, Any] | None = None, **options: Any) -> Any:
    """A GridWorld under curricula."""
    return CurriculumWrapper(
        piase_gym.parallel_env("GridWorld", **(config or {})), curricula, **options
    )
