"""The memory of WordCraft: one record per environment, one table per config, the arrays of a book.

Entities are counted from 1 in records and vectors; 0 stands for nothing. The arrays of a book and
its tasks are far larger than a table, so a table only holds their addresses: an object that has
tables keeps their `Arrays`, and sets the addresses in copies of tables (`Arrays.point`).
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled.memory import Varying
from piase_gym.compiled.memory import record as record_type
from piase_gym.compiled.stepping import BOOKKEEPING, fields_of
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.checks import find_agent_problem
from piase_gym.worlds.word_craft.config import (
    MOST_AGENTS,
    MOST_SLOTS,
    WordCraftConfig,
    WordCraftEnvelope,
)
from piase_gym.worlds.word_craft.levels import tasks
from piase_gym.worlds.word_craft.levels.book import RecipeBook
from piase_gym.worlds.word_craft.observe.features import FeatureKey, feature_rows

LAYOUT: Final = 0
"""The only random stream."""
ROOMS: Final = 16, 64, MOST_SLOTS
"""How many things a record may have room for; less memory is faster."""

# Events: what became of a command. Number 0 is `stepping.NONE`; from `ILLEGAL` on they are those
# that change nothing, in the order of `array_world`'s codes.
PICKED, WAITED, MADE, GAVE, NOTHING, OLD, ILLEGAL, UNPARSABLE = range(1, 9)

IN_PLAY, WON, OUT_OF_TIME = range(3)
"""Values of ``fate``."""
MILESTONES: Final = ("made_something", "made_what_is_needed", "made_the_goal", "gave")
"""The names of the bits of ``marks``."""


def capacity(envelope: WordCraftEnvelope) -> tuple[int, int]:
    """Return how many agents and things a record has room for.

    Each number of agents is compiled separately.
    """
    alone = envelope.agents == 1
    rooms = ROOMS if alone else ROOMS[1:]
    return 1 if alone else MOST_AGENTS, next(room for room in rooms if envelope.slots <= room)


@functools.cache
def layout(agents: int, slots: int) -> np.dtype[Any]:
    """Return the record of an environment; the fields up to `hint` are the canonical state."""
    return record_type(
        [
            *fields_of("<u8", "keys counters", 1),
            ("seed", "<u8"),
            *fields_of("<i4", "t agents depth made"),  # made: a bit for each thing of `chain`
            *fields_of("<i4", "chain first second", tasks.MOST_DEPTH),  # the task, the goal first
            # hand: the first of a pair; one, other: the last pair; used: mixes done
            *fields_of("<i4", "hand one other used", agents),
            ("tables", "<i4", agents * slots),
            *fields_of("u1", "alive fate marks", agents),
            ("hint", "u1", agents * HINT_CODE),
            ("order", "u1", agents),
            *fields_of("<i4", "plan aim also", agents),  # what commands are about, in a step
            *BOOKKEEPING,
        ],
        NUMBERS,
    )


NUMBERS: Final = "t agents depth made chain first second hand one other used tables".split()
"""The fields of the canonical state that are 32-bit numbers; they lie side by side."""
VARYING: Final[Varying] = (("tables", "<i4"),)
_FIELDS: Final = layout(1, ROOMS[0]).names or ()
CANONICAL: Final = _FIELDS[: _FIELDS.index("hint") + 1]
OF_AGENTS: Final = 4 + 3 * tasks.MOST_DEPTH
"""How many of these numbers come before those of each agent."""


def shown(envelope: WordCraftEnvelope) -> int:
    """Return how many of these numbers an envelope uses."""
    agents, slots = capacity(envelope)
    return OF_AGENTS + 4 * agents + (envelope.tables - 1) * slots + envelope.slots


def layout_for(envelope: WordCraftEnvelope) -> np.dtype[Any]:
    """Return the record that has room for an envelope."""
    return layout(*capacity(envelope))


# -- vectors ------------------------------------------------------------------------------

HEAD: Final = 4
"""A vector starts with: own number, agents, mixes left, steps left."""


def vector_length(envelope: WordCraftEnvelope) -> int:
    """Return the length of a vector: head, features of things, hint."""
    things = 3 + envelope.agents + envelope.tables * envelope.slots
    return HEAD + things * envelope.features + HINT_CODE


# -- books --------------------------------------------------------------------------------

_ADDRESSES: Final = "keys pairs ends products rows start tasks held tickets features places"
_COUNTS: Final = "slots_of_keys entities ticket_count"


def pair_key(first: Any, second: Any) -> Any:
    """Return the number by which a pair is looked up; `first` must not be the greater one."""
    return first * 8192 + second


class Arrays:
    """What kernels know of a book, its tasks and its features.

    Attributes:
        key: The settings that determine the tasks.
        looks: The settings that determine the features.
        pool: The tasks.
        arrays: The arrays, by the names of their addresses in a table.
    """

    def __init__(self, key: tasks.PoolKey, looks: FeatureKey) -> None:
        self.key, self.looks = key, looks
        book, self.pool = key.book, tasks.pool_of(key)
        self.entities = len(book.entities)
        links = tasks.links_of(book)
        rows = links.rows + np.int32(1)
        features, places = feature_rows(book.entities, looks)
        self.arrays: dict[str, NDArray[Any]] = {
            **_hashed(book),
            "rows": rows.ravel(),
            "start": links.start,
            "tasks": self.pool.tasks.ravel(),
            "held": self.pool.held_out,
            "tickets": _tickets(book),
            "features": features.ravel(),
            "places": places,
        }

    def __deepcopy__(self, _memo: Any) -> Arrays:
        """Return itself: it never changes, and tables hold its addresses."""
        return self

    def __reduce__(self) -> Any:
        """Leave the arrays behind."""
        return arrays_of, (self.key, self.looks)

    def point(self, table: Any) -> None:
        """Set the addresses of the arrays in a table."""
        for name, array in self.arrays.items():
            table[f"at_{name}"] = array.ctypes.data


@functools.lru_cache(maxsize=8)
def arrays_of(key: tasks.PoolKey, looks: FeatureKey) -> Arrays:
    """Return the arrays of a config."""
    return Arrays(key, looks)


def _hashed(book: RecipeBook) -> dict[str, NDArray[Any]]:
    """Return the products of pairs as a hash table with open addressing; 0 is an empty place."""
    size = 4
    while size < 2 * len(book.pairs):
        size *= 2
    keys, numbers = np.zeros(size, np.int32), np.zeros(size, np.int32)
    products, ends = [], [0]
    for number, (pair, made) in enumerate(book.pairs.items()):
        key = pair_key(pair[0] + 1, pair[1] + 1)
        place = slot_of(key, size)
        while keys[place]:
            place = (place + 1) % size
        keys[place], numbers[place] = key, number
        products += [entity + 1 for entity in made]
        ends.append(len(products))
    lists = {"products": products, "ends": ends}
    found = {name: np.array(values, np.int32) for name, values in lists.items()}
    return {"keys": keys, "pairs": numbers, **found}


def slot_of(key: Any, size: Any) -> Any:
    """Return where a key is looked for first, in a table whose size is a power of two."""
    return (key * 0x9E3779B1 >> 15) & (size - 1)


def _tickets(book: RecipeBook) -> NDArray[np.int32]:
    """Return each entity once, and once more for each pair that it is a part of.

    Drawn from these, each distractor is as likely as in the original.
    """
    parts = [part for pair in book.pairs for part in set(pair)]
    return np.array([*range(len(book.entities)), *parts], np.int32) + np.int32(1)


# -- tables -------------------------------------------------------------------------------

_SIZES: Final = "slots length num_actions width room tables features own_features"
_OF_CONFIG: Final = "agents depth max_steps distractors evaluation subgoal_rewards trade".split()
_WORTH: Final = ("goal", "needed", "useless")


@functools.cache
def table_layout() -> np.dtype[Any]:
    """Return the record of a config."""
    return record_type(
        [
            *fields_of("<u8", " ".join(f"at_{name}" for name in _ADDRESSES.split())),
            *fields_of("<u8", "mark_key threshold arrays"),
            ("starts", "<i8", tasks.INDEXED + 1),
            ("counts", "<i8", tasks.INDEXED),
            *fields_of("<f8", " ".join(f"worth_{name}" for name in _WORTH)),
            # slots: agents in the outputs; width: things on a table; room: places in the record
            *fields_of("<i4", _SIZES),
            *fields_of("<i4", " ".join(_OF_CONFIG)),
            *fields_of("<i4", "least mixes shared uniform rule one_hot plain"),
            *fields_of("<i4", _COUNTS),
        ]
    )


def num_actions(envelope: WordCraftEnvelope) -> int:
    """Return how many indices there are: each slot, each slot given to each agent, waiting."""
    gifts = envelope.slots * envelope.agents if envelope.trade else 0
    return envelope.slots + 1 + gifts


def feature_key(config: WordCraftConfig) -> FeatureKey:
    """Return the settings that determine the features of a config."""
    return FeatureKey(
        config.features, config.feature_size, config.shuffle_features, config.split_seed
    )


def new_table(
    config: WordCraftConfig, envelope: WordCraftEnvelope, arrays: Arrays, number: int
) -> NDArray[Any]:
    """Return the table of one config, shape (1,); `number` is that of its arrays."""
    tables = np.zeros(1, table_layout())
    table, pool = tables[0], arrays.pool
    for name in _OF_CONFIG:
        table[name] = getattr(config, name)
    for name in _WORTH:
        table[f"worth_{name}"] = getattr(config.rewards, name)
    table["slots"], table["width"] = envelope.agents, envelope.slots
    table["room"] = capacity(envelope)[1]
    table["tables"], table["features"] = envelope.tables, envelope.features
    table["own_features"] = config.feature_length
    table["length"], table["num_actions"] = vector_length(envelope), num_actions(envelope)
    table["least"] = config.least_depth or config.depth
    table["mixes"], table["shared"] = config.allowed_mixes, config.shared_reward
    table["uniform"], table["rule"] = config.uniform_distractors, pool.rule
    table["one_hot"] = {"index": 0, "one_hot": 1}.get(config.features, 2)
    table["plain"] = envelope.features == 1 and (
        config.features == "index" and not config.shuffle_features
    )
    table["starts"], table["counts"] = pool.starts, pool.counts
    table["mark_key"], table["threshold"] = pool.key, pool.threshold
    table["entities"], table["arrays"] = arrays.entities, number
    table["slots_of_keys"] = len(arrays.arrays["keys"])
    table["ticket_count"] = len(arrays.arrays["tickets"])
    arrays.point(table)
    return tables


def find_problem(record: Any, table: Any) -> str:
    """Say what is impossible in a state under a config's table, or return an empty string."""
    entities = int(table["entities"])
    bounds = {"alive": 2, "fate": OUT_OF_TIME + 1, "marks": 1 << len(MILESTONES)}
    if problem := find_agent_problem(record, table, bounds):
        return problem
    for name in ("chain", "first", "second", "hand", "one", "other", "tables"):
        if ((record[name] < 0) | (record[name] > entities)).any():
            return f"{name!r} must be in 0..{entities} everywhere"
    depth = int(table["depth"])
    if not 1 <= record["depth"] <= depth:
        return f"'depth' must be in 1..{depth}"
    if (record["chain"][: record["depth"]] == 0).any():
        return "'chain' lacks a part of the task"
    if not 0 <= record["made"] < 1 << depth:
        return f"'made' must be in 0..{(1 << depth) - 1}"
    if not 0 <= record["t"] <= table["max_steps"]:
        return f"'t' must be in 0..{table['max_steps']}"
    if ((record["used"] < 0) | (record["used"] > table["mixes"])).any():
        return f"'used' must be in 0..{table['mixes']} for every agent"
    if ((record["one"] == 0) != (record["other"] == 0)).any():
        return "'one' and 'other' are a pair, or both 0"
    things = record["tables"].reshape(len(record["alive"]), -1)
    if things[:, int(table["width"]) :].any() or things[int(table["tables"]) :].any():
        return "'tables' has things beyond those of the config"
    return ""
