"""What both probes do with an index that comes to `World.step`."""

from __future__ import annotations

import operator
from typing import Any

from piase_gym.errors import ActionError
from piase_gym.world import World


def checked_index(world: World[Any, Any], agent: int, act: object) -> int:
    """Return an index in ``0..num_actions-1``.

    Raises:
        ActionError: If it is none. A world must say so before anything has changed.
    """
    try:
        index = operator.index(act)  # type: ignore[arg-type]
    except TypeError:
        index = -1
    if not 0 <= index < world.num_actions:
        raise ActionError(
            f"action {act!r:.60} of {world.agents[agent]} is not allowed; "
            f"actions are integers from 0 to {world.num_actions - 1}"
        )
    return index
