"""GridWorld's memory: one record an environment, and the sizes that kernels are compiled for.

A record is one pointer for a kernel, which is why the rules run as fast as C. The map is kept
twice: `cells` holds the objects (and is the truth), and `painted` shows them with the outside
around and agents on top. An agent's window is cut out of it and turned, and `at` says where it
stands there. Both are derived: digests and snapshots leave them out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.statics import Static
from piase_gym.worlds import stepping
from piase_gym.worlds.grid_world.cells import FOOD, KEY, MAX_AGENTS, MAX_FOOD, NAMES, OUTSIDE
from piase_gym.worlds.grid_world.config import (
    MAX_GOALS,
    MAX_MOVERS,
    MAX_PATCHES,
    MAX_SIDE,
    MAX_SYMBOLS,
    GridWorldConfig,
    GridWorldEnvelope,
)
from piase_gym.worlds.grid_world.events import ESCAPED, ROLES
from piase_gym.worlds.grid_world.tables import TABLE, new_table
from piase_gym.worlds.painted_sizes import map_size, painted_sizes, view_size

NUM_STREAMS: Final = 3  # layout, dynamics, channel
NUM_ACTIONS: Final = 6  # without a message


@functools.cache
def static(side: int, margin: int, capacity: int, plain: bool) -> Static:
    """Return what kernels know when they are compiled.

    Args:
        side: The largest map that fits, 16, 32 or 64.
        margin: The largest window that fits, 7 or 15.
        capacity: How many agents fit, 4 or 32.
        plain: Whether there is nothing but doors, keys and goals, in a window of 7 by 7 cells that
            sees through walls.
    """
    fields: Mapping[str, Any] = layout(side, margin, capacity).fields or {}
    return Static(
        **painted_sizes(side, margin),
        capacity=capacity,
        frame=7 if plain else 0,  # 0: known only at run time
        full=not plain,
        hint=fields["hint"][1],  # its place in the record
        at=fields["at"][1],
        painted=fields["painted"][1],
        map_size=map_size(side, margin),
    )


def static_for(envelope: GridWorldEnvelope, *configs: GridWorldConfig) -> Static:
    """Return the sizes of an envelope, and what some configs that share it need."""
    plain = all(config.plain_rules for config in configs) and not envelope.wide
    seven = envelope.window == 7 and all(config.window == 7 for config in configs)
    return static(*buckets(envelope), plain and seven and configs[0].observe == "window")


def buckets(envelope: GridWorldEnvelope) -> tuple[int, int, int]:
    """Return (side, margin, capacity) of the record that holds an envelope.

    A few sizes serve all, because each is a separate compilation.
    """
    side = next(s for s in (16, 32, MAX_SIDE) if s >= max(envelope.width, envelope.height))
    capacity = next(c for c in (4, MAX_AGENTS) if c >= envelope.agents)
    return side, 7 if envelope.window <= 7 else 15, capacity


@functools.cache
def layout(side: int, margin: int, agents: int) -> np.dtype[Any]:
    """Return the record of an environment.

    The fields up to `cells` are the canonical state; those after it are derived or settings.
    """
    return np.dtype(
        [
            ("keys", "<u8", NUM_STREAMS),
            ("counters", "<u8", NUM_STREAMS),
            ("seed", "<u8"),
            ("t", "<i4"),
            ("width", "<i2"),
            ("height", "<i2"),
            ("agents", "<i2"),
            ("num_goals", "<i2"),
            ("goals", "<i2", (MAX_GOALS, 2)),
            ("x", "<i2", agents),
            ("y", "<i2", agents),
            ("heading", "u1", agents),
            ("carry", "u1", agents),
            ("alive", "u1", agents),
            ("fate", "u1", agents),
            ("marks", "u1", agents),
            ("role", "u1", agents),
            ("level", "u1", agents),
            ("said", "u1", agents),  # the symbol uttered in this step, 0 for silence
            ("energy", "u1", agents),
            ("order", "u1", agents),  # who acts first
            ("hint", "u1", agents * HINT_CODE),
            ("num_food", "<i4"),  # pieces that are left
            ("all_food", "<i4"),  # the sum of the weights of all pieces at the start
            ("num_patches", "<i4"),
            ("patches", "<i2", (MAX_PATCHES, 2)),  # where fruit grows
            ("num_movers", "<i4"),
            ("movers", "<i2", (MAX_MOVERS, 3)),  # x, y, heading
            ("cells", "u1", side * side),
            # What every step reads lies together, before what it reads little of.
            ("at", "<i4", agents),  # where agents stand in the painted map
            ("under", "u1", agents),
            ("shown", "<u8", agents),  # what is not hidden, a bit a cell
            ("news", "u1"),  # not 0 if somebody ended or reached a milestone in this step
            ("can", "u1", agents),  # whether `interact` was legal in the last observation
            *stepping.BOOKKEEPING,
            ("painted", "u1", map_size(side, margin)),
            ("block", "u1", view_size(margin)),  # while a window is turned
            ("free", "<u8", side),  # while a level is made: bit x of free[y] stands for free floor
        ],
        align=True,
    )


CANONICAL: Final = (
    "keys counters seed t width height agents num_goals goals x y heading carry alive fate marks "
    "role level said energy order hint num_food all_food num_patches patches num_movers movers "
    "cells"
).split()

SCALARS: Final = 8 + HINT_CODE
"""After the frame: width, height, x, y, heading, carry, goal ahead, goal right, hint code."""
STATUS: Final = 4
"""In a wide vector, after the scalars: energy, level, role, pieces of food left."""


def vector_length(envelope: GridWorldEnvelope, rows: int, columns: int) -> int:
    """Return the length of a vector whose frame has so many rows and columns."""
    extra = STATUS if envelope.status else 0
    return rows * columns + SCALARS + extra + (envelope.agents if envelope.symbols else 0)


@functools.cache
def single(side: int, margin: int, agents: int, kind: int) -> np.dtype[Any]:
    """Return one record for all that a batch of one needs: state, table, acts and outputs.

    One argument instead of nine makes a call from Python several times cheaper.

    Args:
        side: The largest map that fits, as `buckets` says.
        margin: The largest window that fits.
        agents: How many agents fit.
        kind: 0 for narrow outputs, 1 for wide ones, 2 for wide ones that show the whole grid.
    """
    length = (side if kind == 2 else margin) ** 2 + SCALARS + (STATUS + agents if kind else 0)
    actions = NUM_ACTIONS * (1 + MAX_SYMBOLS if kind else 1)
    state = layout(side, margin, agents)
    return stepping.single(state, TABLE, agents, agents * length, agents * actions, "u1")


def new_single(config: GridWorldConfig, envelope: GridWorldEnvelope) -> NDArray[Any]:
    """Return a zeroed batch of one, with its table filled in."""
    narrow = not static_for(envelope, config).full
    kind = 2 if config.observe == "grid" else 0 if narrow else 1
    one = np.zeros(1, single(*buckets(envelope), kind))
    one["table"] = config_table(config, envelope)
    return one


def config_table(config: GridWorldConfig, envelope: GridWorldEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    k = static_for(envelope, config)
    table = new_table(config, envelope, k.stride)
    table["full"] = k.full
    return table


def new_states(envelope: GridWorldEnvelope, count: int) -> NDArray[Any]:
    """Return `count` zeroed records (so that padding bytes are equal everywhere)."""
    return np.zeros(count, layout(*buckets(envelope)))


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    for name in ("width", "height", "agents"):
        if record[name] != table[name]:
            return f"{name!r} is {record[name]}, but the config says {table[name]}"
    width, height, count = int(record["width"]), int(record["height"]), int(record["agents"])
    bounds = {
        "x": width,
        "y": height,
        "heading": 4,
        "alive": 2,
        "role": len(ROLES),
        "fate": ESCAPED + 1,
        "level": MAX_FOOD + 1,
        "said": int(table["symbols"]) + 1,
    }
    for name, stop in bounds.items():
        if not ((record[name] >= 0) & (record[name] < stop)).all():
            return f"{name!r} must be in 0..{stop - 1} for every agent"
    if record["alive"][count:].any():
        return f"'alive' names agents beyond the {count} of the config"
    if sorted(record["order"][:count].tolist()) != list(range(count)):
        return f"'order' must name each of the {count} agents once"
    if not np.isin(record["carry"], (0, KEY)).all():
        return f"'carry' must be 0 or {KEY}"
    if not 0 <= record["t"] <= table["max_steps"]:
        return f"'t' must be in 0..{table['max_steps']}"
    for number, places, most in (
        ("num_goals", "goals", MAX_GOALS),
        ("num_patches", "patches", MAX_PATCHES),
        ("num_movers", "movers", MAX_MOVERS),
    ):
        if not 0 <= record[number] <= most:
            return f"{number!r} must be in 0..{most}, with a place for each"
        found = record[places][: int(record[number]), :2]
        if (found < 0).any() or (found >= (width, height)).any():
            return f"{places!r} has a place outside of the grid"
    if (record["movers"][:, 2] & ~3).any():
        return "'movers' must have headings in 0..3"
    return _find_cell_problem(record, width, height)


def _find_cell_problem(record: Any, width: int, height: int) -> str:
    """Say what is impossible in the cells, or return an empty string."""
    side = int(np.sqrt(record["cells"].size))
    cells = record["cells"].reshape(side, side)
    outside = np.ones_like(cells, np.bool_)
    outside[:height, :width] = False
    if (cells[outside] != OUTSIDE).any() or not np.isin(cells[~outside], _INSIDE).all():
        return "'cells' has unknown codes, or something outside of the grid"
    if record["num_food"] != (cells >= FOOD).sum():
        return f"'num_food' is {record['num_food']}, but 'cells' has {(cells >= FOOD).sum()}"
    return ""


_INSIDE = [code for code in NAMES if code > OUTSIDE]
