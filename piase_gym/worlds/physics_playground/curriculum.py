"""What curricula and tutors can change in a PhysicsPlayground: parameters and elements."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from piase_gym.core.difficulty import (
    DifficultyParameter,
    Element,
    Fields,
    count_of,
    is_place,
    number_parameter,
    per_agent_list,
)
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.items import MAX_SIDE

MOST_SPREAD: Final = 4.0


def _spread(config: Any) -> float:
    """Return how much masses and the other factors differ between episodes: 0 is not at all."""
    ranges = config.randomise
    factors = (ranges.mass, ranges.friction, ranges.restitution, ranges.gravity)
    return float(max(max(part.high, 1.0 / part.low) for part in factors)) - 1.0


def _set_spread(_config: Any, spread: float) -> Fields:
    """Let every factor be drawn from ``1 / (1 + spread)`` to ``1 + spread``."""
    factor = {"low": 1.0 / (1.0 + spread), "high": 1.0 + spread}
    return {"randomise": dict.fromkeys(("mass", "friction", "restitution", "gravity"), factor)}


def _thing(kind: str) -> Any:
    """Return a function that adds objects of a kind."""

    def add(config: Any, said: Mapping[str, Any]) -> Fields:
        options = {key: said[key] for key in ("position", "radius", "mass") if key in said}
        more = [{"kind": kind, **options}] * count_of("PhysicsPlayground", said)
        return {"objects": [*(thing.model_dump() for thing in config.things), *more]}

    return add


def _fixture(field: str) -> Any:
    """Return a function that adds a wall or a ramp."""

    def add(config: Any, said: Mapping[str, Any]) -> Fields:
        return {field: [*(part.model_dump() for part in getattr(config, field)), dict(said)]}

    return add


_number: Final = functools.partial(number_parameter, PhysicsPlaygroundConfig)
DIFFICULTY_PARAMETERS: Final = (
    DifficultyParameter(
        "spread",
        "how much masses, friction, bounce and gravity differ from episode to episode",
        0.0,
        MOST_SPREAD,
        _spread,
        _set_spread,
    ),
    _number(
        "tolerance",
        "how near is there, in task reach",
        low=0.05,
        harder=-1,
        where=lambda config: config.task == "reach",
    ),
    _number("zone", low=0.2, harder=-1),
    DifficultyParameter(
        "side",
        "the floor, a square with so long sides",
        2.0,
        MAX_SIDE,
        lambda config: float(max(config.size)),
        lambda _config, value: {"size": (value, value)},
    ),
    _number("friction"),
    _number("restitution"),
    _number("gravity"),
    _number("max_steps", harder=-1),
)
"""What `adjust_difficulty` can change."""

_THING: Final = ("count", "position", "radius", "mass")
ELEMENTS: Final = (
    Element("box", "a cube that can be moved", _THING, _thing("box")),
    Element("ball", "a ball", _THING, _thing("ball")),
    Element("cylinder", "a standing cylinder", _THING, _thing("cylinder")),
    Element("crate", "too heavy for one", ("count", "position"), _thing("crate")),
    Element(
        "wall",
        "stands on the floor",
        ("position", "length", "angle", "height"),
        _fixture("walls"),
        ("position",),
    ),
    Element(
        "ramp",
        "rises along its angle",
        ("position", "length", "width", "height", "angle"),
        _fixture("ramps"),
        ("position",),
    ),
)
"""What `introduce_element` can add."""

PER_AGENT_FIELDS: Final = {
    "start_pos": per_agent_list("start_pos", is_place, lambda config: config.start_pos)
}
"""Fields in which each agent may have a part of its own."""
