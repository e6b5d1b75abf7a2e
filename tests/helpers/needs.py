"""Tests of worlds that need an optional part are skipped where it is not installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from piase_gym.registry import missing


def need(name: str) -> None:
    """Skip the test if the world, or the world of the id, needs what is not installed."""
    lacking = missing(name)
    if lacking:
        pytest.skip(lacking)


def here(names: Iterable[str]) -> list[str]:
    """Return the worlds and ids that can be made here."""
    return [name for name in names if missing(name) is None]


def each(names: Iterable[str]) -> list[Any]:
    """Return parameters of a test, one a world or id; what cannot be made is skipped."""
    return [
        pytest.param(name, marks=pytest.mark.skipif(bool(lacking), reason=lacking or "it is there"))
        for name in names
        for lacking in [missing(name)]
    ]
