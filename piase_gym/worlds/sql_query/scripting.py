"""What scripts can ask of a question and its answers."""

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.core.script.observables import Observable, named, row_of

OBSERVABLES: Final = named(
    Observable(
        name="score",
        about="the best score of a result so far, -1 before the first result",
        read=lambda world, _states, _of: np.array(
            [[-1.0 if world.state_of.best is None else world.state_of.best]]
        ),
        shared=True,
    ),
    Observable(
        name="changes",
        about="how many statements have changed the database",
        read=lambda world, _states, _of: np.array([[len(world.state_of.journal)]]),
        shared=True,
    ),
    Observable(
        name="query",
        about="its last query",
        read=lambda world, _states, _of: row_of(
            ["" if asked is None else asked.sql for asked in world.state_of.asked]
        ),
        kind="text",
    ),
    Observable(
        name="error",
        about="what was wrong with its last query, as a word of `rules.engine`, or nothing",
        read=lambda world, _states, _of: row_of(
            [(asked.reason if asked else None) or "nothing" for asked in world.state_of.asked]
        ),
        kind="word",
    ),
    Observable(
        name="tables_described",
        about="how many tables it has looked at",
        read=lambda world, _states, _of: np.array([[len(d) for d in world.state_of.described]]),
    ),
)
"""What conditions can be about."""
