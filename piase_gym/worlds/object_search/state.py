"""ObjectSearch's records, one per environment, and its tables, one per config.

`cells` holds what fills the columns of a house, and `place` where its objects lie; on a line,
`shelf` says what lies at each position. Objects are bits of a word, in the order of `names`.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.memory import Varying
from piase_gym.compiled.memory import record as record_type
from piase_gym.compiled.stepping import BOOKKEEPING, fields_of, starts
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.checks import find_grid_problem, is_one_of, read_cells
from piase_gym.worlds.grids.codes import OUTSIDE
from piase_gym.worlds.grids.windows import MAP_FIELDS, map_fields, maps_size
from piase_gym.worlds.object_search import codes
from piase_gym.worlds.object_search.codes import TABLE as CELLS
from piase_gym.worlds.object_search.config import (
    MAX_DELAY,
    ObjectSearchConfig,
    ObjectSearchEnvelope,
)
from piase_gym.worlds.object_search.geometry import AREA, SIDE

LAYOUT, DYNAMICS, CHANNEL, WORDS = 0, 1, 2, 3
"""The random streams. Draws of `CHANNEL` are numbered by step and agents, and keep no counter."""
SMALL_SIDE, FEW = 16, 4
"""Houses and teams up to these sizes have a smaller record."""
POSE: Final = 8
"""Bytes of a report before its window: 1 + x (0 for silence), y, level, heading, pitch, roll, and
the objects, the low byte first."""
ROOM: Final = 64
"""Bytes that a report, or a window, takes in a record."""
SCALARS: Final = 14 + HINT_CODE
"""The last bytes before a caption: number, width, height, x, y, level, heading, pitch, roll,
objects, then steps done and the maximum number of steps in two bytes each, then the hint's hash."""
VARYING: Final[Varying] = tuple(
    (name, "u1") for name in ("cells", "inspected", "on_way", "holds", "known", "maps")
)
OTHER: Final = 4
"""Bytes of another agent in sight: 1 + x (0 for none), y, level, heading."""


def buckets(envelope: ObjectSearchEnvelope) -> tuple[int, int, int]:
    """Return (side, capacity, longest delay) of the record for an envelope.

    Each capacity is compiled separately; the others are not (`VARYING`).
    """
    small = max(envelope.width, envelope.height) <= SMALL_SIDE or not envelope.house
    few = envelope.agents <= FEW
    delay = MAX_DELAY if envelope.delay and envelope.channel else 0
    return SMALL_SIDE if small else codes.MAX_SIDE, FEW if few else codes.MAX_AGENTS, delay


@functools.cache
def layout(side: int, agents: int, delay: int) -> np.dtype[Any]:
    """Return the record type of an environment; fields up to `inspected` are the canonical state.

    If reports can take time (`delay`), it includes `on_way`, too: the reports of the last steps.

    `shelf` says what lies at each position of a line, `goal` what there is to find, and `found`
    what the team has found. `inspected` has a bit for each agent that has looked at a column;
    `covered` counts columns that somebody has looked at, `repeats` the first looks of agents at
    columns that others had looked at before, and `area` is the sum of `covered` over all steps.
    `told` holds the reports that are heard in this step.

    Derived: `holds`, 1 + the object in a column; `seen`, what each agent sees now, and `look`, its
    window; `one`, `two` and `three`, the columns of its window that are at least that high;
    `known`, which columns it has looked at under each heading, one word per line of columns.
    """
    return record_type(
        [
            *fields_of("<u8", "keys counters", 2),
            ("seed", "<u8"),
            ("area", "<i8"),
            *fields_of("<i4", "t open covered repeats"),
            ("reports", "<i4", agents),
            *fields_of("<i2", "width height agents"),
            ("place", "<i2", codes.MAX_OBJECTS),
            *fields_of("<i2", "x y", agents),
            *fields_of("<u2", "goal found"),
            ("shelf", "<u2", codes.MAX_LINE),
            *fields_of("u1", "z heading pitch roll alive fate marks order", agents),
            ("hint", "u1", agents * HINT_CODE),
            ("told", "u1", agents * ROOM),
            ("cells", "u1", side * side),
            ("inspected", "u1", side * side),
            ("on_way", "u1", max(8, delay * agents * ROOM)),
            ("holds", "u1", side * side),
            ("look", "u1", agents * ROOM),
            ("seen", "<u2", agents),
            *fields_of("<u8", "one two three", agents),
            ("known", "<u4" if side == SMALL_SIDE else "<u8", agents * 4 * side),
            ("at", "<i4", (agents, 4)),  # where agents stand in the maps
            ("maps", "u1", maps_size(side, SIDE)),
            *BOOKKEEPING,
        ],
        [name for name, _ in VARYING],
    )


_FIELDS: Final = layout(SMALL_SIDE, FEW, 0).names or ()
CANONICAL: Final = _FIELDS[: _FIELDS.index("inspected") + 1]


def canonical(envelope: ObjectSearchEnvelope) -> tuple[str, ...]:
    """Return the canonical fields of the record for an envelope."""
    return (*CANONICAL, "on_way") if buckets(envelope)[2] else CANONICAL


_OF_CONFIG: Final = "width height agents room objects wandering wander_period sight max_steps"
_WORTH: Final = "found step message illegal"
TABLE: Final = record_type(
    [
        *fields_of("<f8", " ".join(f"worth_{name}" for name in _WORTH.split())),
        *fields_of("<i4", f"{_OF_CONFIG} names"),
        # agents in the outputs, length of vectors, actions
        *fields_of("<i4", "slots length num_actions kinds"),
        # flags of the config, then those of the envelope
        *fields_of("<i4", "house together shared ends talks tells late pictures channel shown"),
        ("pieces", "<i4"),  # of furniture
        *fields_of("<i4", "recall delay reach"),  # -1 and 0 stand for none; reach is in columns
        ("loss", "<u8"),  # share of reports that get lost, times 2**32
        ("heard", "<u4", codes.MAX_AGENTS),  # for each sender, one bit per listener
        ("join", "<i4", codes.MAX_AGENTS),
        ("line", "<i4"),  # whether `shelf` is given
        ("shelf", "<u2", codes.MAX_LINE),
        *fields_of("<i4", "inspected on_way holds known"),  # where these fields begin
        ("word_size", "<i4"),  # the bytes of a word of `known`
        *MAP_FIELDS,
    ]
)


def report_length(envelope: ObjectSearchEnvelope) -> int:
    """Return how many bytes of a vector a report takes."""
    return POSE + AREA * envelope.house


def vector_length(envelope: ObjectSearchEnvelope) -> int:
    """Return the length of a vector."""
    others = OTHER * envelope.agents * envelope.house
    said = report_length(envelope) * envelope.agents * envelope.channel
    found = 2 * envelope.found
    caption = HINT_CODE * envelope.camera
    return AREA * envelope.house + SCALARS + 2 * envelope.objects + found + others + said + caption


def new_table(config: ObjectSearchConfig, envelope: ObjectSearchEnvelope) -> NDArray[Any]:
    """Return the table of one config, shape (1,)."""
    tables = np.zeros(1, TABLE)
    table = tables[0]
    side, places = buckets(envelope)[0], starts(layout_for(envelope), VARYING)
    for name in ("inspected", "on_way", "holds", "known"):
        table[name] = places[name]
    table["word_size"] = layout_for(envelope)["known"].base.itemsize
    for name, value in map_fields(side, SIDE, places["maps"]).items():
        table[name] = value
    for name in _OF_CONFIG.split():
        table[name] = getattr(config, name)
    for name in _WORTH.split():
        table[f"worth_{name}"] = getattr(config.rewards, name)
    if not config.in_house:
        table["height"] = 1
    table["names"], table["kinds"] = len(config.object_names), envelope.objects
    table["slots"], table["length"] = envelope.agents, vector_length(envelope)
    table["num_actions"] = codes.ACTIONS * (1 + envelope.channel)
    table["house"], table["together"] = config.in_house, config.start == "together"
    table["shared"], table["ends"] = config.shared_reward, config.ends_when_found
    table["talks"], table["tells"] = config.channel, config.show_found
    table["channel"], table["shown"] = envelope.channel, envelope.found
    table["pictures"] = config.in_pictures
    table["pieces"] = round(config.furniture * config.width * config.height / 2)
    table["recall"] = -1 if config.delay is None else config.recall
    table["delay"] = config.message_delay if buckets(envelope)[2] else 0
    table["loss"] = round(config.message_loss * 2**32)
    heard_by = config.listeners()
    table["heard"][: len(heard_by)] = heard_by
    table["worth_message"] -= config.message_cost
    table["reach"] = codes.MAX_LINE if config.message_range is None else config.message_range
    table["late"] = bool(config.latecomers)
    steps = [-1 if step is None else step for step in config.join_at]
    table["join"][: len(steps)] = steps
    if config.line is not None:
        table["line"] = 1
        for position, here in enumerate(config.line):
            table["shelf"][position] = sum(
                1 << config.object_names.index(name) for name in set(here)
            )
    return tables


def layout_for(envelope: ObjectSearchEnvelope) -> np.dtype[Any]:
    """Return the record type for an envelope."""
    return layout(*buckets(envelope))


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    bounds = {
        "z": codes.LEVELS,
        "heading": 4,
        "pitch": len(codes.PITCHES),
        "roll": len(codes.ROLLS),
        "alive": 2,
        "fate": codes.OUT_OF_TIME + 1,
    }
    if problem := find_grid_problem(record, table, bounds, int(table["max_steps"])):
        return problem
    width, height = int(record["width"]), int(record["height"])
    known = (1 << int(table["names"])) - 1
    if int(record["goal"]) & ~known or int(record["found"]) & ~int(record["goal"]):
        return "'goal' and 'found' must be objects that there are"
    if (record["shelf"] & np.uint16(known ^ 0xFFFF)).any() or record["shelf"][width:].any():
        return "'shelf' must hold objects that there are, at positions that there are"
    if not 0 <= record["covered"] <= record["open"]:
        return "'covered' must be in 0..'open'"
    reports = _reports(record)
    if not (reports[:, :6] < (width + 1, max(2, height), codes.LEVELS, 4, 3, 3)).all():
        return "'told' must hold reports from poses that there are"
    return _find_house_problem(record) if table["house"] else ""


def _reports(record: Any) -> NDArray[np.uint8]:
    """Return the reports that are heard, and those that are on their way."""
    parts = [record["told"], record["on_way"]][: 1 + (record["on_way"].size >= ROOM)]
    reports: NDArray[np.uint8] = np.concatenate(parts).reshape(-1, ROOM)
    return reports


def _find_house_problem(record: Any) -> str:
    """Say what is impossible in a house, or return an empty string."""
    found = read_cells(record, tuple(code for code in CELLS.names if code > OUTSIDE))
    if found is None:
        return "'cells' has unknown codes, or something outside of the house"
    cells = found[0]
    if not is_one_of(_reports(record)[:, POSE:], tuple(CELLS.names)).all():
        return "'told' has unknown codes"
    place, goal = record["place"].tolist(), int(record["goal"])
    lying = [at for number, at in enumerate(place) if goal >> number & 1]
    room = codes.HEIGHT[record["cells"]] < codes.LEVELS
    if any(not 0 <= at < cells.size or not room[at] for at in lying):
        return "'place' must be a column that is not full, for every object"
    if len(set(lying)) < len(lying):
        return "'place' puts two objects into one column"
    for agent in np.flatnonzero(record["alive"]).tolist():
        x, y, z = (int(record[name][agent]) for name in "xyz")
        if z < codes.HEIGHT[cells[y, x]]:
            return f"agent {agent} is inside of what fills its column"
    return ""
