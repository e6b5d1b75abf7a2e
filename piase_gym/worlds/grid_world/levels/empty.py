"""Empty: nothing but what is strewn over the grid.

In `Empty`, start and goal are in opposite corners, in `Empty-Random` anywhere.
"""

from __future__ import annotations

LAYOUT = 0
MAY_FAIL = False
TASKS = {
    "Empty-5x5-v1": {"square": 5, "layout": "empty", "start_pos": (1, 1), "goal_pos": (3, 3)},
    "Empty-6x6-v1": {"square": 6, "layout": "empty", "start_pos": (1, 1), "goal_pos": (4, 4)},
    "Empty-8x8-v1": {"square": 8, "layout": "empty", "start_pos": (1, 1), "goal_pos": (6, 6)},
    "Empty-16x16-v1": {"square": 16, "layout": "empty", "start_pos": (1, 1), "goal_pos": (14, 14)},
    "Empty-Random-5x5-v1": {"square": 5, "layout": "empty"},
    "Empty-Random-6x6-v1": {"square": 6, "layout": "empty"},
    "Empty-Random-8x8-v1": {"square": 8, "layout": "empty"},
    "Empty-Random-16x16-v1": {"square": 16, "layout": "empty"},
}
