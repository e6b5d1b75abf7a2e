"""What kernels know about a config: one record, filled in once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.draws import in_32_bits
from piase_gym.compiled.memory import record
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import channel_fields, fill_channel
from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world import limits
from piase_gym.worlds.grid_world.config import DOORS, LAYOUTS, GridWorldConfig, GridWorldEnvelope
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grids.windows import MAP_FIELDS, map_fields

FULL: bool = True
"""Whether all rules are compiled, or only those for configs whose `full` is 0; see `kernels`."""
SEARCH: bool = True
"""Whether levels can be searched for a solution, or only those of configs whose `search` is 0."""

TABLE: Final = record(
    [
        ("width", "<i4"),
        ("height", "<i4"),
        ("agents", "<i4"),
        ("max_steps", "<i4"),
        # The observation: what is shown first (frame_w x frame_h), then the scalars.
        ("window", "<i4"),
        ("frame_w", "<i4"),
        ("frame_h", "<i4"),
        ("length", "<i4"),
        ("status", "<i4"),  # 1 if vectors tell energy, level, role and food
        ("recall", "<i4"),  # 1 if agents remember what they saw
        ("remembers", "<i4"),  # 1 if vectors have a place for what agents remember
        ("sight_w", "<i4"),  # the columns and rows of that place
        ("sight_h", "<i4"),
        ("memory", "<i4"),  # where it lies in the field `cells`
        ("num_actions", "<i4"),
        ("slots", "<i4"),  # agents in the outputs: the envelope's
        ("occlude", "<i4"),
        ("full_grid", "<i4"),
        # Rules.
        *MAP_FIELDS,
        ("free", "<i4"),  # where the words of free cells lie in the field `free`
        ("full", "<i4"),  # 1 if more is in use than doors, keys and goals in a window of 7 by 7
        ("agent_frame", "<i4"),  # 1 if commands are to go forward and to turn
        ("pass_through", "<i4"),
        ("shared", "<i4"),
        ("symbols", "<i4"),
        ("channel", "<i4"),  # 1 if vectors have a place for symbols
        *channel_fields(),
        ("hazard_ends", "<i4"),
        ("energy", "<i4"),
        ("fruit_energy", "<i4"),
        ("regrow", "<u4"),  # chance in 2**-32
        ("mover_period", "<i4"),
        ("mover_chance", "<u4"),  # chance in 2**-32 of a new direction
        ("clearing", "<i4"),  # 1 if the episode is won when all food is gathered
        ("survive", "<i4"),  # 1 if lasting to the end is all there is to do
        ("taggers", "<i4"),  # agents that chase the others; 0 if nobody does
        ("levels", "u1", kinds.MAX_AGENTS),
        # What follows from interacting with a cell, with empty hands and with full hands.
        ("interaction", "u1", (2, 256)),
        ("mark", "u1", events.NUM_EVENTS),  # the milestone of an event, as a bit
        ("reward", "<f8", events.NUM_EVENTS),
        ("starved", "<f8"),
        # The level.
        ("layout", "<i4"),
        ("border", "<i4"),
        ("least_difficulty", "<f8"),  # below 0: as the other fields say
        ("most_difficulty", "<f8"),
        ("density", "<i4"),  # obstacles, in thousandths of the free cells
        ("rooms", "<i4"),
        ("doors", "<i4"),
        ("boxes", "<i4"),
        ("hazards", "<i4"),
        ("fruits", "<i4"),
        ("movers", "<i4"),
        ("food", "<i4"),
        ("food_level", "<i4"),
        ("min_food_level", "<i4"),
        ("search", "<i4"),  # 1 if a level may be unsolvable and must be checked
        ("num_goals", "<i4"),  # fixed ones
        ("any_goals", "<i4"),  # goals at random places, if there are no fixed ones
        ("goals", "<i4", (limits.MAX_GOALS, 2)),
        ("starts", "<i4", (kinds.MAX_AGENTS, 2)),  # -1: random
        ("plan", "u1", limits.MAX_SIDE**2),  # the cells of every level, before the layout's own
        ("num_patches", "<i4"),
        ("patches", "<i2", (limits.MAX_PATCHES, 2)),
        ("num_movers", "<i4"),
        ("movers_at", "<i2", (limits.MAX_MOVERS, 2)),
        ("num_food", "<i4"),
        ("all_food", "<i4"),
        ("latecomers", "<i4"),  # how many agents are not there at the reset
        ("join", "<i4", kinds.MAX_AGENTS),  # the step at which each agent enters; -1: when let in
    ]
)


def frame_shape(config: GridWorldConfig, envelope: GridWorldEnvelope) -> tuple[int, int]:
    """Return (rows, columns) of what is shown: the largest window or the largest grid."""
    if config.observe == "grid":
        return envelope.height, envelope.width
    return envelope.window, envelope.window


def new_table(
    config: GridWorldConfig,
    envelope: GridWorldEnvelope,
    side: int,
    margin: int,
    starts: Mapping[str, int],
) -> NDArray[Any]:
    """Return the table of one config, shape (1,), for records of a side and a margin.

    `starts` says where the fields of these records lie that are not always as long.
    """
    tables = np.zeros(1, TABLE)
    table = tables[0]
    for name, value in config:  # other values than integers follow below
        if name in (TABLE.names or ()) and isinstance(value, int):
            table[name] = value
    _set_views(table, config, envelope)
    table["memory"], table["free"] = starts.get("memory", 0), starts["free"]
    fill_channel(table, config, envelope, starts.get("mail", 0))
    for name, value in map_fields(side, margin, starts["maps"]).items():
        table[name] = value
    seven = config.window == envelope.window == 7
    table["full"] = envelope.wide or not (config.plain_rules and seven)
    table["agent_frame"] = config.frame == "agent"
    table["pass_through"] = config.collisions == "pass"
    table["shared"] = config.shared_reward
    table["regrow"] = in_32_bits(config.regrow)
    table["mover_chance"] = in_32_bits(config.mover_chance)
    table["survive"] = config.surviving
    table["clearing"], table["taggers"] = config.clearing, config.num_taggers
    table["latecomers"] = len(config.latecomers)
    for agent, step in config.latecomers.items():
        table["join"][agent] = -1 if step is None else step
    table["levels"][: config.agents] = 1
    table["levels"][: len(config.levels)] = config.levels
    use = kinds.CELLS.array("use")
    table["interaction"] = np.where(
        use == events.NONE, events.ILLEGAL, use
    )  # what the mask forbids
    for event, mark in events.MARKS.items():
        table["mark"][event] = mark
    table["reward"], table["starved"] = reward_table(config), config.rewards.starved
    _set_level(table, config)
    return tables


def _set_views(table: Any, config: GridWorldConfig, envelope: GridWorldEnvelope) -> None:
    """Fill in the layout of the vectors."""
    rows, columns = frame_shape(config, envelope)
    table["frame_h"], table["frame_w"] = rows, columns
    table["length"] = rows * columns + 8 + HINT_CODE
    table["length"] += 4 * envelope.status + envelope.message_bytes
    table["recall"], table["remembers"] = config.recall is not None, envelope.recall
    table["sight_w"], table["sight_h"] = envelope.width, envelope.height
    table["length"] += 2 * envelope.width * envelope.height * envelope.recall
    table["status"], table["channel"] = envelope.status, envelope.symbols > 0
    table["num_actions"], table["slots"] = 6 * (1 + envelope.num_messages), envelope.agents
    table["full_grid"] = config.observe == "grid"
    table["occlude"] = not config.see_through_walls


def _set_level(table: Any, config: GridWorldConfig) -> None:
    """Fill in what levels are made of."""
    table["layout"] = LAYOUTS.index(config.layout)
    table["doors"] = DOORS.index(config.doors)
    table["density"] = round(config.obstacle_density * 1000)
    low, high = config.difficulties or (-1.0, -1.0)
    table["least_difficulty"], table["most_difficulty"] = low, high
    table["food"] = config.num_food
    table["search"] = config.must_check
    table["num_goals"], table["any_goals"] = len(config.goals), config.any_goals
    for name, places in (("goals", config.goals), ("starts", config.starts)):
        table[name] = -1
        table[name][: len(places)] = places or np.zeros((0, 2), int)
    _set_plan(table, config)


def _set_plan(table: Any, config: GridWorldConfig) -> None:
    """Fill in what stands in every level: the map, the border and the walls."""
    cells = np.full((limits.MAX_SIDE, limits.MAX_SIDE), kinds.OUTSIDE, np.uint8)
    grid = cells[: config.height, : config.width]
    grid[...] = kinds.FLOOR
    for (x, y), code in config.plan.items():
        grid[y, x] = code
    if config.border:
        grid[[0, -1], :] = grid[:, [0, -1]] = kinds.WALL
    for x, y in config.walls:
        grid[y, x] = kinds.WALL
    table["plan"] = cells.ravel()
    for number, places, codes in (
        ("num_patches", "patches", (kinds.FRUIT, kinds.BARE)),
        ("num_movers", "movers_at", (kinds.MOVER,)),
    ):
        found = np.argwhere(np.isin(grid, codes))[:, ::-1]
        table[number] = len(found)
        table[places][: len(found)] = found
    food = grid[np.isin(grid, kinds.FOODS)]
    table["num_food"], table["all_food"] = food.size, int((food.astype(int) - kinds.FOOD + 1).sum())


WORTH: Final = {
    "move": (events.MOVE, events.PUSH, events.TURN),
    "goal": (events.REACH_GOAL,),
    "stay": (events.STAY,),
    "blocked": (events.BLOCKED,),
    "interact": (*range(events.PICK_UP, events.CLOSE_DOOR + 1), events.TOGGLE, events.LATE),
    "locked": (events.NO_KEY, events.JAMMED),
    "heavy": (events.TOO_HEAVY,),
    "fruit": (events.EAT,),
    "hazard": (events.HURT,),
    "food": (events.GATHER,),
    "tag": (events.TAG,),
    "caught": (events.CAUGHT,),
    "illegal": tuple(range(events.ILLEGAL, events.REFUSED + 1)),
}
"""The events that each field of the reward table is for."""


def reward_table(config: GridWorldConfig) -> NDArray[np.float64]:
    """Return the reward of each event."""
    table = np.zeros(events.NUM_EVENTS)
    for name, those in WORTH.items():
        table[list(those)] = getattr(config.rewards, name)
    return table
