"""What the tests of the document interfaces share."""

from __future__ import annotations

from typing import Any

from piase_gym.core.models import ActionCommand
from tests import probes

probes.register()

# The reference project's GridWorld: 10 x 8 cells, (0, 0) at the top left.
REFERENCE: dict[str, Any] = {
    "grid_size": (10, 8),
    "walls": [(2, 2), (3, 3)],
    "start_pos": (0, 0),
    "goal_pos": (9, 7),
}
CORNERS: dict[str, Any] = {"agents": 2, "start_pos": [(0, 0), (3, 3)], "goal_pos": (1, 0)}


def move(direction: str, **more: Any) -> ActionCommand:
    return ActionCommand(action_type="move", parameters={"direction": direction}, **more)


STAY = ActionCommand(action_type="stay")
