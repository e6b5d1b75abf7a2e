"""GridWorld's records: one per environment, in a few sizes.

A record is one pointer for a kernel, which is why the rules run as fast as C. `cells` holds the
objects and is authoritative; what is seen is kept in `maps` (see `piase_gym.worlds.grids.windows`),
which is derived: digests and snapshots leave it out.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.memory import Varying
from piase_gym.compiled.memory import record as record_type
from piase_gym.compiled.stepping import BOOKKEEPING, starts
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import channel_problem, channel_size
from piase_gym.worlds.checks import find_grid_problem, is_one_of, read_cells
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world import limits
from piase_gym.worlds.grid_world.config import GridWorldConfig, GridWorldEnvelope
from piase_gym.worlds.grid_world.rules import tables
from piase_gym.worlds.grid_world.rules.events import ESCAPED, ROLES
from piase_gym.worlds.grid_world.rules.memory import PLANES
from piase_gym.worlds.grids.windows import maps_size

MAX_MARGIN: Final = 15
BEHIND: Final = ("memory", "mail")
"""The fields that only some records have; kernels find them after the cells."""
VARYING: Final[Varying] = (("cells", "u1"), ("free", "<u8"), ("maps", "u1"))
NUM_STREAMS: Final = 3  # layout, dynamics, channel


def buckets(envelope: GridWorldEnvelope) -> tuple[int, int, int, int, int]:
    """Return (side, margin, capacity, bytes of memory and channel) of an envelope's record.

    Each capacity is compiled separately; the others are not (`VARYING`).
    """
    side = next(s for s in (16, 32, limits.MAX_SIDE) if s >= max(envelope.width, envelope.height))
    capacity = next(c for c in (4, kinds.MAX_AGENTS) if c >= envelope.agents)
    memory = capacity * PLANES * side * side * envelope.recall
    margin = 7 if envelope.window <= 7 else MAX_MARGIN
    return side, margin, capacity, memory, channel_size(envelope)


def _fields(agents: int) -> tuple[list[Any], list[Any]]:
    """Return the derived and the canonical fields that are equally long on grids of all sizes."""
    derived: list[Any] = [
        ("at", "<i4", (agents, 4)),  # where agents stand in the maps
        ("can", "u1", agents),  # whether `interact` was legal in the last observation
        *BOOKKEEPING,
    ]
    canonical: list[Any] = [
        ("keys", "<u8", NUM_STREAMS),
        ("counters", "<u8", NUM_STREAMS),
        ("seed", "<u8"),
        ("t", "<i4"),
        ("width", "<i2"),
        ("height", "<i2"),
        ("agents", "<i2"),
        ("num_goals", "<i2"),
        ("goals", "<i2", (limits.MAX_GOALS, 2)),
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
        ("patches", "<i2", (limits.MAX_PATCHES, 2)),  # where fruit grows
        ("num_movers", "<i4"),
        ("movers", "<i2", (limits.MAX_MOVERS, 3)),  # x, y, heading
    ]
    return derived, canonical


@functools.cache
def layout(side: int, margin: int, agents: int, memory: int = 0, mail: int = 0) -> np.dtype[Any]:
    """Return the record type of an environment.

    The fields up to `cells` (and then `memory` and `mail`, if any) are the canonical state; those
    after it are derived or settings. In memory, fields that are equally long on every grid come
    first, and the cells come before what is derived from them.
    """
    derived, canonical = _fields(agents)
    canonical.append(("cells", "u1", side * side))
    if memory:  # kernels find it after the cells
        canonical.append(("memory", "u1", memory))
    if mail:
        canonical.append(("mail", "u1", mail))
    grid: list[Any] = [
        ("free", "<u8", side),  # while a level is generated: bit x of word y is set for free floor
        ("maps", "u1", maps_size(side, margin)),
    ]
    names = [field[0] for field in (*canonical, *derived, *reversed(grid))]
    return record_type([*derived, *canonical, *grid])[names]


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
    """Return the length of a vector with a frame of `rows` rows and `columns` columns."""
    extra = STATUS if envelope.status else 0
    extra += PLANES * envelope.width * envelope.height * envelope.recall
    return rows * columns + SCALARS + extra + envelope.message_bytes


def new_table(config: GridWorldConfig, envelope: GridWorldEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    side, margin, *_ = buckets(envelope)
    return tables.new_table(config, envelope, side, margin, starts(layout_for(envelope), VARYING))


def layout_for(envelope: GridWorldEnvelope) -> np.dtype[Any]:
    """Return the type of records of an envelope."""
    return layout(*buckets(envelope))


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    bounds = {
        "heading": 4,
        "alive": 2,
        "role": len(ROLES),
        "fate": ESCAPED + 1,
        "level": kinds.MAX_FOOD + 1,
        "said": int(table["symbols"]) + 1,
    }
    if problem := find_grid_problem(record, table, bounds, int(table["max_steps"])):
        return problem
    width, height = int(record["width"]), int(record["height"])
    if not is_one_of(record["carry"], (0, kinds.KEY)).all():
        return f"'carry' must be 0 or {kinds.KEY}"
    for number, places, most in (
        ("num_goals", "goals", limits.MAX_GOALS),
        ("num_patches", "patches", limits.MAX_PATCHES),
        ("num_movers", "movers", limits.MAX_MOVERS),
    ):
        if not 0 <= record[number] <= most:
            return f"{number!r} must be in 0..{most}, with a place for each"
        found = record[places][: int(record[number]), :2]
        if (found < 0).any() or (found >= (width, height)).any():
            return f"{places!r} has a place outside of the grid"
    if (record["movers"][:, 2] & ~3).any():
        return "'movers' must have headings in 0..3"
    return (
        _find_cell_problem(record) or _find_memory_problem(record) or channel_problem(record, table)
    )


def _find_cell_problem(record: Any) -> str:
    """Say what is impossible in the cells, or return an empty string."""
    if read_cells(record, _INSIDE) is None:
        return "'cells' has unknown codes, or something outside of the grid"
    food = is_one_of(record["cells"], tuple(kinds.FOODS)).sum()
    if record["num_food"] != food:
        return f"'num_food' is {record['num_food']}, but 'cells' has {food}"
    return ""


def _find_memory_problem(record: Any) -> str:
    """Say what is impossible in the memory of agents, or return an empty string."""
    if "memory" not in (record.dtype.names or ()):
        return ""
    codes, ages = np.moveaxis(record["memory"].reshape(len(record["x"]), PLANES, -1), 1, 0)
    last = kinds.AGENT + 4 * int(record["agents"]) - 1
    known = (codes == 0) | is_one_of(codes, _INSIDE) | ((codes >= kinds.AGENT) & (codes <= last))
    if not known.all() or ages[codes == 0].any():
        return "'memory' has unknown codes, or an age of what was never seen"
    return ""


_INSIDE = tuple(code for code in kinds.NAMES if code > kinds.OUTSIDE)
