"""The memory of the commons: one record per environment, one table per config.

`cells` holds the objects (and is the truth); `maps` shows them with agents on top (see
`piase_gym.worlds.grids.windows`). ``spots`` says where apples grow and ``ripe`` where they hang,
with one bit per column and one word per row; `maps`, `at` and `ripe` are derived.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.draws import in_32_bits
from piase_gym.compiled.memory import Varying
from piase_gym.compiled.memory import record as record_type
from piase_gym.compiled.stepping import BOOKKEEPING, fields_of, starts
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import (
    channel_fields,
    channel_problem,
    channel_size,
    fill_channel,
)
from piase_gym.worlds.checks import find_grid_problem, read_cells
from piase_gym.worlds.grids.codes import FLOOR
from piase_gym.worlds.grids.windows import MAP_FIELDS, map_fields, maps_size
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, CLEANING, WASTE, WATER
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig, SocialDilemmaEnvelope
from piase_gym.worlds.social_dilemma.constants import MAX_AGENTS, MAX_SIDE, MAX_WINDOW, RESULTS

LAYOUT, DYNAMICS = 0, 1
"""The random streams."""
REACH: Final = 2
"""Apples regrow the better the more hang within this many cells (Euclidean distance)."""
SCALARS: Final = 20 + HINT_CODE
"""After the window: number, game, width, height, x, y, heading, time-out; then in two bytes each
step, steps of the game, eaten, cleaned, zaps, times zapped; then the hashed hint."""
VARYING: Final[Varying] = (
    ("cells", "u1"),
    *((name, "<u8") for name in ("spots", "ripe", "grown")),
    ("mail", "u1"),
    ("maps", "u1"),
)
TOLD: Final = 6
"""Bytes of one agent's reputation: eaten, cleaned, zaps."""


def buckets(envelope: SocialDilemmaEnvelope) -> tuple[int, int, int]:
    """Return (side, margin, capacity) of the record that holds an envelope.

    Each capacity is compiled separately; sides and margins are not (`VARYING`).
    """
    side = next(s for s in (16, 32, MAX_SIDE) if s >= max(envelope.width, envelope.height))
    margin = 7 if envelope.window <= 7 else MAX_WINDOW
    return side, margin, 8 if envelope.agents <= 8 else MAX_AGENTS


@functools.cache
def layout(side: int, margin: int, agents: int, mail: int = 0) -> np.dtype[Any]:
    """Return the record of an environment; the fields up to `cells` are the canonical state.

    ``when`` is the sum of the steps in which an agent ate, ``away`` how many it spent in time-out,
    ``out`` those of time-out that are left, and ``beam`` what it fired in this step (1: a zap, 2:
    cleaning; for pictures). ``grown`` holds what grows in this step, and ``struck`` who is hit. The
    channel, which is part of the state too, takes `mail` bytes.
    """
    fields = [
        *fields_of("<u8", "keys counters", 2),
        ("seed", "<u8"),
        ("spots", "<u8", side),
        ("when", "<i8", agents),
        ("t", "<i4"),
        *fields_of("<i4", "eaten cleaned zaps zapped away", agents),
        *fields_of("<i2", "width height agents"),
        *fields_of("<i2", "x y out", agents),
        *fields_of("u1", "heading alive fate marks said beam order", agents),
        ("hint", "u1", agents * HINT_CODE),
        ("cells", "u1", side * side),
        *fields_of("u1", "mail" if mail else "", mail),
        ("at", "<i4", (agents, 4)),  # where agents stand in the maps
        *fields_of("<u8", "ripe grown", side),
        ("waste", "<i4"),  # cells of waste
        ("struck", "u1", agents),
        ("maps", "u1", maps_size(side, margin)),
        *BOOKKEEPING,
    ]
    return record_type(fields, [name for name, _ in VARYING])


_FIELDS: Final = layout(16, 7, 8).names or ()
CANONICAL: Final = _FIELDS[: _FIELDS.index("cells") + 1]

_OF_CONFIG: Final = "width height agents max_steps symbols reputation window patches river orchard"
_REACHES: Final = "zap_range clean_range timeout"
_WORTH: Final = "apple zap_cost zap_fine apple_chance"
TABLE: Final = record_type(
    [
        *fields_of("<i4", f"{_OF_CONFIG} {_REACHES}"),
        *fields_of("<f8", _WORTH),
        # agents in the outputs, length of vectors, actions with messages and without
        *fields_of("<i4", "slots length num_actions actions rounds shared cleanup"),
        *channel_fields(),
        *fields_of("<i4", "channel known"),  # 1 if vectors have a place for symbols, reputations
        *fields_of("<i4", "spots ripe grown"),  # where these fields begin
        ("agent_frame", "<i4"),  # 1 if commands are to go forward and to turn
        *fields_of("<i4", "frame_w frame_h"),
        *MAP_FIELDS,
        ("start_waste", "<i4"),  # cells
        ("most_waste", "<f8"),  # cells
        ("waste_chance", "<u4"),  # chances in 2**-32
        ("regrowth", "<u4", 4),
    ]
)


def layout_for(envelope: SocialDilemmaEnvelope) -> np.dtype[Any]:
    """Return the record that holds an envelope."""
    return layout(*buckets(envelope), channel_size(envelope))


def vector_length(envelope: SocialDilemmaEnvelope) -> int:
    """Return the length of a vector."""
    others = envelope.agents * TOLD * envelope.reputation + envelope.message_bytes
    return envelope.window**2 + SCALARS + others


def num_silent(envelope: SocialDilemmaEnvelope) -> int:
    """Return the number of actions without messages."""
    return CLEANING + envelope.cleaning


def new_table(config: SocialDilemmaConfig, envelope: SocialDilemmaEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    tables = np.zeros(1, TABLE)
    table = tables[0]
    places = starts(layout_for(envelope), VARYING)
    for name in ("spots", "ripe", "grown"):
        table[name] = places[name]
    for name, value in map_fields(*buckets(envelope)[:2], places["maps"]).items():
        table[name] = value
    for name in f"{_OF_CONFIG} {_REACHES} {_WORTH}".split():
        table[name] = getattr(config, name)
    table["slots"], table["length"] = envelope.agents, vector_length(envelope)
    table["rounds"], table["shared"] = config.length, config.shared_reward
    table["actions"] = num_silent(envelope)
    table["num_actions"] = num_silent(envelope) * (1 + envelope.num_messages)
    fill_channel(table, config, envelope, places.get("mail", 0))
    table["channel"], table["known"] = envelope.symbols > 0, envelope.reputation
    table["frame_w"] = table["frame_h"] = envelope.window
    table["agent_frame"] = config.frame == "agent"
    table["cleanup"] = config.game == "cleanup"
    water = config.river * config.height
    table["start_waste"] = round(config.start_waste * water)
    table["most_waste"] = config.most_waste * water
    table["waste_chance"] = in_32_bits(config.waste_chance)
    table["regrowth"] = [in_32_bits(chance) for chance in config.regrowth]
    return tables


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    bounds = {
        "heading": 4,
        "alive": 2,
        "fate": len(RESULTS),
        "said": int(table["symbols"]) + 1,
        "beam": 3,
        "out": int(table["timeout"]) + 1,
    }
    if problem := find_grid_problem(
        record, table, bounds, int(min(table["rounds"], table["max_steps"]))
    ):
        return problem
    for name in ("eaten", "cleaned", "zaps", "zapped", "away"):
        if ((record[name] < 0) | (record[name] > record["t"])).any():
            return f"{name!r} counts more than can have happened"
    return _find_cell_problem(record, int(record["agents"])) or channel_problem(record, table)


def _find_cell_problem(record: Any, count: int) -> str:
    """Say what is impossible in the cells, or return an empty string."""
    found = read_cells(record, (FLOOR, APPLE, WATER, WASTE))
    if found is None:
        return "'cells' has unknown codes, or something outside of the grid"
    cells, outside = found
    columns = np.arange(len(cells), dtype=np.uint64)
    spots = ((record["spots"][:, None] >> columns) & np.uint64(1)).astype(np.bool_)
    if (spots & outside).any() or ((cells == APPLE) & ~spots).any():
        return "'spots' lie outside of the grid, or apples hang where none grow"
    here = [a for a in range(count) if record["alive"][a] and not record["out"][a]]
    places = {(int(record["x"][a]), int(record["y"][a])) for a in here}
    if len(places) < len(here):
        return "two agents are on one cell"
    return ""
