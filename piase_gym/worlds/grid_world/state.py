"""GridWorld's memory: one record an environment, one table a config.

A record is one pointer for a kernel, which is why the rules run as fast as C. The map is kept five
times: `cells` holds the objects (and is the truth), and `maps` holds four copies, turned so that
each heading is up, with agents painted in. An agent's window is then a few 8-byte copies from one
of them. `maps` is derived: digests and snapshots leave it out.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.textcode import HINT_CODE
from piase_gym.worlds.grid_world.cells import (
    CLOSED,
    FLOOR,
    KEY,
    LOCKED,
    MAX_AGENTS,
    NAMES,
    OPEN,
    OUTSIDE,
    WALL,
)
from piase_gym.worlds.grid_world.config import (
    LAYOUTS,
    MAX_GOALS,
    MAX_SIDE,
    GridWorldConfig,
    GridWorldEnvelope,
)

# Events: what became of one agent's command. Rewards and outcomes are tables over them.
NONE: Final = 0
MOVE: Final = 1
REACH_GOAL: Final = 2
STAY: Final = 3
PICK_UP: Final = 4
DROP: Final = 5
OPEN_DOOR: Final = 6
UNLOCK: Final = 7
CLOSE_DOOR: Final = 8
BLOCKED: Final = 9
NO_KEY: Final = 10
ILLEGAL: Final = 11
UNPARSABLE: Final = 12
TOO_LONG: Final = 13
TIMEOUT: Final = 14
REFUSED: Final = 15
NUM_EVENTS: Final = 16

NUM_STREAMS: Final = 3
NUM_ACTIONS: Final = 6

# Milestones: bits of `marks`.
KEY_FOUND: Final = 1
DOOR_OPENED: Final = 2
GOAL_REACHED: Final = 4
MILESTONES: Final = ("key_found", "door_opened", "goal_reached")

_MARKS: Final = {
    PICK_UP: KEY_FOUND,
    UNLOCK: DOOR_OPENED,
    OPEN_DOOR: DOOR_OPENED,
    REACH_GOAL: GOAL_REACHED,
}

# Faults: why no level could be made.
NO_FREE_CELL: Final = 1
NO_WAY: Final = 2


@functools.cache
def layout(side: int, window: int) -> np.dtype[Any]:
    """Return the record of an environment for buckets of map side and window.

    The fields up to `cells` are the canonical state; those after it are derived or settings.
    """
    agents = MAX_AGENTS
    ahead, beside = window - 1, window // 2
    rows, stride = side + ahead + 1, side + 2 * beside
    return np.dtype(
        [
            ("keys", "<u8", NUM_STREAMS),
            ("counters", "<u8", NUM_STREAMS),
            ("seed", "<u8"),
            ("t", "<i4"),
            ("width", "<i4"),
            ("height", "<i4"),
            ("agents", "<i4"),
            ("x", "<i4", agents),
            ("y", "<i4", agents),
            ("heading", "u1", agents),
            ("carry", "u1", agents),
            ("alive", "u1", agents),
            ("marks", "u1", agents),
            ("hint", "u1", agents * HINT_CODE),
            ("num_goals", "<i4"),
            ("goals", "<i4", (MAX_GOALS, 2)),
            ("cells", "u1", side * side),
            ("maps", "u1", 4 * rows * stride + 16),
            ("order", "u1", agents),
            ("config", "<i4"),  # which table holds
            ("next_config", "<i4"),  # which table holds from the next reset on
            ("base", "<u8"),  # what the environment was seeded with
            ("episode", "<u8"),  # how many resets without a seed followed
            ("over", "u1"),  # whether the episode is over and the next step resets
            ("ended", "u1"),  # whether an episode ended in the last step
            ("fault", "<i4"),
        ],
        align=True,
    )


CANONICAL: Final = (
    "keys counters seed t width height agents x y heading carry alive marks hint "
    "num_goals goals cells"
).split()

TABLE: Final = np.dtype(
    [
        ("width", "<i4"),
        ("height", "<i4"),
        ("agents", "<i4"),
        ("max_steps", "<i4"),
        ("layout", "<i4"),
        ("border", "<i4"),
        ("density", "<i4"),  # obstacles, in thousandths of the free cells
        ("pass_through", "<i4"),
        ("shared", "<i4"),
        ("occlude", "<i4"),
        ("window", "<i4"),
        ("full_grid", "<i4"),
        # The observation: what is shown first (frame_w x frame_h), then 16 scalars.
        ("frame_w", "<i4"),
        ("frame_h", "<i4"),
        ("length", "<i4"),
        ("num_actions", "<i4"),
        ("slots", "<i4"),  # agents in the outputs: the envelope's
        ("search", "<i4"),  # 1 if a level may be unsolvable and must be checked
        # Where the cell y * side + x lies in the map turned by r: place[4 * cell + r].
        ("side", "<i4"),
        ("stride", "<i4"),
        ("place", "<i4", 4 * MAX_SIDE * MAX_SIDE),
        # What follows from interacting with a cell, with empty hands and with full ones.
        ("interaction", "u1", (2, 256)),
        ("mark", "u1", NUM_EVENTS),  # the milestone of an event, as a bit
        ("num_goals", "<i4"),
        ("goals", "<i4", (MAX_GOALS, 2)),
        ("starts", "<i4", (MAX_AGENTS, 2)),  # -1: random
        ("walls", "u1", MAX_SIDE * MAX_SIDE),
        ("reward", "<f8", NUM_EVENTS),
    ],
    align=True,
)

SCALARS: Final = 8 + HINT_CODE
"""After the frame: width, height, x, y, heading, carry, goal ahead, goal right, hint code."""


def buckets(envelope: GridWorldEnvelope) -> tuple[int, int]:
    """Return (side, window) of the record that holds an envelope.

    A few sizes serve all, because each is a separate compilation.
    """
    side = next(s for s in (16, 32, MAX_SIDE) if s >= max(envelope.width, envelope.height))
    return side, 7 if envelope.window <= 7 else 15


@functools.cache
def single(side: int, window: int, full_grid: bool) -> np.dtype[Any]:
    """Return one record for all that a batch of one needs: state, table, acts and outputs.

    One argument instead of nine makes a call from Python several times cheaper.
    """
    agents, frame = MAX_AGENTS, (side if full_grid else window) ** 2
    return np.dtype(
        [
            ("state", layout(side, window)),
            ("table", TABLE),
            ("acts", "<i4", agents),
            ("coded", "u1"),  # 1 if acts may be codes, such as ABSENT
            ("obs", "u1", agents * (frame + SCALARS)),
            ("masks", "i1", agents * NUM_ACTIONS),
            ("rewards", "<f8", agents),
            ("terminated", "u1", agents),  # numba has no nested booleans
            ("truncated", "u1", agents),
            ("events", "u1", agents),
        ],
        align=True,  # so that memory views of fields have native formats
    )


def new_single(config: GridWorldConfig, envelope: GridWorldEnvelope) -> NDArray[Any]:
    """Return a zeroed batch of one, with its table filled in."""
    one = np.zeros(1, single(*buckets(envelope), config.observe == "grid"))
    one["table"] = new_table(config, envelope)
    return one


def new_states(envelope: GridWorldEnvelope, count: int) -> NDArray[Any]:
    """Return `count` zeroed records (so that padding bytes are equal everywhere)."""
    return np.zeros(count, layout(*buckets(envelope)))


def frame_shape(config: GridWorldConfig, envelope: GridWorldEnvelope) -> tuple[int, int]:
    """Return (rows, columns) of what is shown: the largest window or the largest grid."""
    if config.observe == "grid":
        return envelope.height, envelope.width
    return envelope.window, envelope.window


def new_table(config: GridWorldConfig, envelope: GridWorldEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    tables = np.zeros(1, TABLE)
    table = tables[0]
    table["width"], table["height"], table["agents"] = config.width, config.height, config.agents
    table["max_steps"] = config.max_steps
    table["layout"] = LAYOUTS.index(config.layout)
    table["border"] = config.border
    table["density"] = round(config.obstacle_density * 1000)
    table["pass_through"] = config.collisions == "pass"
    table["shared"] = config.shared_reward
    table["occlude"] = not config.see_through_walls
    table["window"] = config.window
    table["full_grid"] = config.observe == "grid"
    table["frame_h"], table["frame_w"] = frame_shape(config, envelope)
    table["length"] = table["frame_h"] * table["frame_w"] + SCALARS
    table["num_actions"], table["slots"] = NUM_ACTIONS, envelope.agents
    fixed = bool(config.goals or config.starts)
    table["search"] = (
        config.layout == "obstacles" or bool(config.walls) or (config.layout != "empty" and fixed)
    )
    _set_geometry(table, *buckets(envelope))
    table["num_goals"] = len(config.goals)
    table["goals"][: len(config.goals)] = config.goals or np.zeros((0, 2), int)
    table["starts"] = -1
    table["starts"][: len(config.starts)] = config.starts or np.zeros((0, 2), int)
    for x, y in config.walls:
        table["walls"][y * MAX_SIDE + x] = WALL
    table["reward"] = reward_table(config)
    table["interaction"] = _interactions()
    for event, mark in _MARKS.items():
        table["mark"][event] = mark
    return tables


def _set_geometry(table: Any, side: int, window: int) -> None:
    """Fill in where cells lie in the four turned maps."""
    ahead, beside = window - 1, window // 2
    stride, rows, last = side + 2 * beside, side + ahead + 1, side - 1
    table["side"], table["stride"] = side, stride
    y, x = np.divmod(np.arange(side * side), side)
    turned = [(x, y), (y, last - x), (last - x, last - y), (last - y, x)]
    for r, (column, row) in enumerate(turned):
        start = r * rows * stride + ahead * stride + beside
        table["place"][r : 4 * side * side : 4] = start + row * stride + column


def _interactions() -> NDArray[np.uint8]:
    """Return the event of interacting with each cell, with empty hands and with full ones.

    `ILLEGAL` is what the mask forbids.
    """
    table = np.full((2, 256), ILLEGAL, np.uint8)
    table[:, LOCKED] = NO_KEY, UNLOCK  # only keys can be carried
    table[:, CLOSED], table[:, OPEN] = OPEN_DOOR, CLOSE_DOOR
    table[0, KEY], table[1, FLOOR] = PICK_UP, DROP
    return table


def reward_table(config: GridWorldConfig) -> NDArray[np.float64]:
    """Return what each event is worth."""
    rewards = config.rewards
    table = np.zeros(NUM_EVENTS)
    table[[MOVE, REACH_GOAL, STAY, BLOCKED]] = (
        rewards.move,
        rewards.goal,
        rewards.stay,
        rewards.blocked,
    )
    table[[PICK_UP, DROP, OPEN_DOOR, UNLOCK, CLOSE_DOOR]] = rewards.interact
    table[NO_KEY] = rewards.locked
    table[ILLEGAL:] = rewards.illegal
    return table


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    for name in ("width", "height", "agents"):
        if record[name] != table[name]:
            return f"{name!r} is {record[name]}, but the config says {table[name]}"
    width, height, count = int(record["width"]), int(record["height"]), int(record["agents"])
    bounds = {"x": width, "y": height, "heading": 4, "alive": 2, "marks": 8}
    for name, stop in bounds.items():
        if not ((record[name] >= 0) & (record[name] < stop)).all():
            return f"{name!r} must be in 0..{stop - 1} for every agent"
    if record["alive"][count:].any():
        return f"'alive' names agents beyond the {count} of the config"
    if sorted(record["order"].tolist()) != list(range(MAX_AGENTS)) and record["order"].any():
        return "'order' must name every agent once"
    if not np.isin(record["carry"], (0, KEY)).all():
        return f"'carry' must be 0 or {KEY}"
    if not 0 <= record["t"] <= table["max_steps"]:
        return f"'t' must be in 0..{table['max_steps']}"
    goals = record["goals"][: max(0, int(record["num_goals"]))]
    if not 1 <= record["num_goals"] <= MAX_GOALS or (goals < 0).any():
        return f"'num_goals' must be in 1..{MAX_GOALS}, with a place for each"
    if (goals >= (width, height)).any():
        return "'goals' has a goal outside of the grid"
    side = int(table["side"])
    cells = record["cells"].reshape(side, side)
    outside = np.ones_like(cells, np.bool_)
    outside[:height, :width] = False
    if (cells[outside] != OUTSIDE).any() or not np.isin(cells[~outside], _INSIDE).all():
        return "'cells' has unknown codes, or something outside of the grid"
    return ""


_INSIDE = [code for code in NAMES if code > OUTSIDE]
