"""Everything at once, with walls that hide what is behind them.

There are rooms with all kinds of doors, boxes, hazards, fruit, drones, hunger and talk.
"""

from __future__ import annotations

TASKS = {
    "Everything-16x16-4p-v1": {
        "square": 16,
        "layout": "multi_room",
        "doors": "mixed",
        "rooms": 4,
        "symbols": 4,
        "energy": 250,
        "boxes": 3,
        "hazards": 3,
        "fruits": 4,
        "movers": 2,
        "see_through_walls": False,
        "agents": 4,
    }
}
