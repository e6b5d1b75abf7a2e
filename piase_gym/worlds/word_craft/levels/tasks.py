"""The tasks of a recipe book: their index, and how they are split for training and testing.

A task of depth d is a goal with a set of d recipes: one for the goal, one for each thing that has
to be made on the way, none in a circle. What they need and do not make is given at the start. Tasks
up to depth `INDEXED` are listed, as rows of recipe numbers, the goal's first. Deeper ones are far
too many; they are drawn, by growing a listed one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.rng import GOLDEN, MASK, Stream, mix64, mix64_array
from piase_gym.errors import ConfigError, suggest
from piase_gym.worlds.word_craft.levels.book import RecipeBook, read_book

INDEXED: Final = 3
"""The depth up to which tasks are listed."""
MOST_DEPTH: Final = 5
Split = Literal[
    "debug",
    "by_goal",
    "by_goal_train_terminals",
    "by_recipe",
    "by_recipe_train_all_goals",
    "by_task",
]
Side = Literal["train", "test", "all"]
ANY, RECIPES_IN_TRAIN, A_RECIPE_IN_TEST, DRAWN_TRAIN, DRAWN_TEST = range(5)
"""The conditions on deeper tasks, besides those on the listed task that they grow from."""

Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]


class Links(NamedTuple):
    """The recipes of a book as arrays.

    Attributes:
        rows: (product, first, second) of each recipe.
        start: Where the recipes of each entity begin, and, as the last number, where all end.
        pair: The number of each recipe's pair; recipes of one pair share it.
    """

    rows: Ints
    start: Ints
    pair: Ints


@functools.lru_cache(maxsize=16)
def links_of(book: RecipeBook) -> Links:
    """Return the recipes of a book as arrays."""
    rows = np.array(book.recipes, np.int32).reshape(-1, 3)
    start = np.searchsorted(rows[:, 0], np.arange(len(book.entities) + 1)).astype(np.int32)
    number = {pair: k for k, pair in enumerate(book.pairs)}
    pair = np.array([number[first, second] for _, first, second in book.recipes], np.int32)
    return Links(rows, start, pair)


@functools.lru_cache(maxsize=16)
def index_of(book: RecipeBook, depth: int) -> Ints:
    """Return all tasks of a depth of at most `INDEXED`, shape (tasks, depth)."""
    links = links_of(book)
    if depth == 1:
        return np.arange(len(links.rows), dtype=np.int32)[:, None]
    shallow = index_of(book, depth - 1)
    if depth == 2:
        return _chained(links, shallow, 0)
    both = _with_both(links)
    return np.concatenate([both, _chained(links, shallow, 1)])


def _opened(links: Links, entities: Ints) -> tuple[NDArray[np.int64], Ints]:
    """Return each place of `entities` with each recipe of the entity there, as two arrays."""
    counts = links.start[entities + 1] - links.start[entities]
    place = np.repeat(np.arange(len(entities)), counts)
    ends = np.cumsum(counts)
    within = np.arange(len(place)) - np.repeat(ends - counts, counts)
    return place, (links.start[entities[place]] + within).astype(np.int32)


def _chained(links: Links, tasks: Ints, last: int) -> Ints:
    """Return these tasks, each with a further recipe, which makes a part of recipe number `last`.

    The product of a third recipe is then needed by the second recipe alone.
    """
    found = []
    for side in (1, 2):
        part = links.rows[tasks[:, last], side]
        usable = np.ones(len(tasks), bool)
        if side == 2:
            usable = part != links.rows[tasks[:, last], 1]
        if last:  # a part of the goal's own recipe as well: that is no chain
            goal = links.rows[tasks[:, 0]]
            usable &= (part != goal[:, 1]) & (part != goal[:, 2])
        chosen = tasks[usable]
        place, recipe = _opened(links, part[usable])
        grown = np.column_stack([chosen[place], recipe])
        made = links.rows[chosen[place], 0]
        needs = links.rows[recipe, 1:]
        circle = (needs[:, :, None] == made[:, None, :]).any(axis=(1, 2))
        found.append(grown[~circle])
    return np.concatenate(found).astype(np.int32)


def _with_both(links: Links) -> Ints:
    """Return the tasks of depth 3 that make both parts of the goal, in either order."""
    pairs = links.rows[:, 1] != links.rows[:, 2]
    recipes = np.flatnonzero(pairs).astype(np.int32)
    place, first = _opened(links, links.rows[recipes, 1])
    top = recipes[place]
    place, second = _opened(links, links.rows[top, 2])
    top, first = top[place], first[place]
    goal, one, two = links.rows[top].T
    needs_one, needs_two = links.rows[first, 1:], links.rows[second, 1:]
    circle = (needs_one == goal[:, None]).any(1) | (needs_two == goal[:, None]).any(1)
    circle |= (needs_one == two[:, None]).any(1) & (needs_two == one[:, None]).any(1)
    # The one that needs the other comes first, so that a recipe comes before those of its parts.
    swap = (needs_two == one[:, None]).any(1)
    rows = np.column_stack([top, np.where(swap, second, first), np.where(swap, first, second)])
    found: Ints = rows[~circle].astype(np.int32)
    return found


def task_counts(book: RecipeBook, depth: int = INDEXED) -> dict[int, int]:
    """Return how many tasks a book has, by depth up to `INDEXED`."""
    return {d: len(index_of(book, d)) for d in range(1, min(depth, INDEXED) + 1)}


def orders_of(book: RecipeBook, tasks: Ints) -> NDArray[np.int64]:
    """Return in how many orders the original's search finds each task; it counts every order.

    The search expands the goal, then what it has found to be needed: two parts of the goal in
    either order, unless one is needed for the other.
    """
    orders = np.ones(len(tasks), np.int64)
    if len(tasks) and tasks.shape[1] == 3:
        rows = links_of(book).rows
        goal, second, third = (rows[tasks[:, k]] for k in range(3))
        in_goal = (goal[:, 1:] == third[:, :1]).any(1) & (goal[:, 1:] == second[:, :1]).any(1)
        free = (second[:, 1:] != third[:, :1]).all(1) & (third[:, 1:] != second[:, :1]).all(1)
        orders += in_goal & free
    return orders


# -- splits -------------------------------------------------------------------------------


class PoolKey(NamedTuple):
    """All settings that determine the tasks of a config; the fields are those of the config."""

    recipes: str | None = None
    lenient: bool = False
    entities: int | None = None
    depth: int = 1
    split: Split = "by_recipe"
    train_ratio: float = 1.0
    split_seed: int = 0
    tasks: Side = "train"
    goals: tuple[str, ...] | None = None

    @property
    def book(self) -> RecipeBook:
        """The recipe book."""
        return read_book(self.recipes, lenient=self.lenient).limited(self.entities)


class Pool(NamedTuple):
    """The tasks to draw from.

    Attributes:
        tasks: Rows of recipe numbers, -1 after the last, by depth; of the last depth, those of this
            side come first.
        starts: Where the tasks of depth 1, 2 and 3 begin, and where the last end.
        counts: How many tasks of depth 1, 2 and 3 can be drawn.
        rule: The condition on deeper tasks.
        key: The key from which the marks of deeper tasks follow.
        threshold: Deeper tasks with a mark below it are on the training side of ``by_task``.
        held_out: Whether each recipe is held out for testing.
    """

    tasks: Ints
    starts: tuple[int, ...]
    counts: tuple[int, ...]
    rule: int
    key: int
    threshold: int
    held_out: NDArray[np.uint8]


@functools.lru_cache(maxsize=16)
def pool_of(key: PoolKey) -> Pool:
    """Return the tasks of one side of a split.

    Raises:
        ConfigError: If there are none, or the side is ``"test"`` and nothing is held out.
    """
    book = key.book
    wanted = _numbers(book, key.goals)
    if key.tasks == "test" and key.train_ratio == 1.0 and key.split != "debug":
        raise ConfigError("tasks='test' needs train_ratio below 1: nothing is held out now")
    goals, held = _train_goals(key, book), _held_recipes(key, book)
    products = links_of(book).rows[:, 0]
    kept, counts, rule = [], [], ANY
    for depth in range(1, min(key.depth, INDEXED) + 1):
        tasks = index_of(book, depth)
        mine = _side(key, tasks, goals[products[tasks[:, 0]]], np.any(held[tasks], axis=1))
        grows = depth == INDEXED < key.depth
        if grows:
            rule = _rule(key)
        if wanted is not None:
            asked = np.isin(products[tasks[:, 0]], wanted)
            tasks, mine = tasks[asked], mine[asked]
        counts.append(int(mine.sum()))
        others = [tasks[~mine]] if grows and rule not in (ANY, RECIPES_IN_TRAIN) else []
        rows = np.concatenate([tasks[mine], *others])
        kept.append(np.pad(rows, ((0, 0), (0, INDEXED - depth)), constant_values=-1))
    starts = (0, *np.cumsum([len(rows) for rows in kept]).tolist())
    deepest = kept[-1]
    if not (counts[-1] if key.depth <= INDEXED else len(deepest)):
        raise ConfigError(f"the book has no task of depth {key.depth} {_of_side(key)}")
    threshold = min(math.ceil(key.train_ratio * (MASK + 1)), MASK)
    while len(starts) <= INDEXED:
        starts, counts = (*starts, starts[-1]), [*counts, 0]
    tasks = np.ascontiguousarray(np.concatenate(kept), np.int32)
    return Pool(tasks, starts, tuple(counts), rule, _mark_key(key), threshold, held.astype("u1"))


def _of_side(key: PoolKey) -> str:
    whose = "" if key.goals is None else f" for the goal {' or '.join(key.goals)}"
    return f"in tasks={key.tasks!r} of split={key.split!r}{whose}"


def _numbers(book: RecipeBook, goals: Sequence[str] | None) -> list[int] | None:
    for goal in goals or ():
        if goal not in book.index:
            raise ConfigError(f"the book has no {goal!r:.80}; {suggest(goal, book.entities)}")
    return None if goals is None else [book.index[goal] for goal in goals]


def _side(key: PoolKey, tasks: Ints, train_goal: Flags, held: Flags) -> Flags:
    """Return which tasks are on the side that a config draws from."""
    if key.tasks == "all" or key.split == "debug":
        return np.ones(len(tasks), bool)
    if key.split.startswith("by_goal"):
        train = train_goal
    elif key.split.startswith("by_recipe"):
        train = ~held
    else:
        ranks = np.argsort(np.argsort(marks_of(tasks, _mark_key(key)), kind="stable"))
        train = ranks < math.ceil(key.train_ratio * len(tasks))
    return train if key.tasks == "train" else ~train


def _rule(key: PoolKey) -> int:
    """Return the condition on tasks that are deeper than the index."""
    if key.tasks == "all" or key.split == "debug" or key.split.startswith("by_goal"):
        return ANY
    if key.split.startswith("by_recipe"):
        return RECIPES_IN_TRAIN if key.tasks == "train" else A_RECIPE_IN_TEST
    return DRAWN_TRAIN if key.tasks == "train" else DRAWN_TEST


def _shuffled(key: PoolKey, count: int) -> list[int]:
    order = list(range(count))
    Stream(key.split_seed).shuffle(order)
    return order


def _train_goals(key: PoolKey, book: RecipeBook) -> Flags:
    """Return which entities are goals in training: a share of all that can be made."""
    train = np.ones(len(book.entities), bool)
    if key.split.startswith("by_goal"):
        goals = [k for k, recipes in enumerate(book.recipes_of) if recipes]
        order = [goals[k] for k in _shuffled(key, len(goals))]
        if key.split == "by_goal_train_terminals":  # these come first
            last = set(book.terminals)
            order.sort(key=lambda goal: goal not in last)
        train[order[math.ceil(key.train_ratio * len(order)) :]] = False
    return train


def _held_recipes(key: PoolKey, book: RecipeBook) -> Flags:
    """Return which recipes are held out; those of one pair are held out together."""
    pairs = list(book.pairs)
    held = np.zeros(len(pairs), bool)
    if key.split.startswith("by_recipe"):
        order = _shuffled(key, len(pairs))
        held[order[math.ceil(key.train_ratio * len(pairs)) :]] = True
        if key.split == "by_recipe_train_all_goals":
            _release(book, pairs, order, held)
    return held[links_of(book).pair]


def _release(book: RecipeBook, pairs: Sequence[Any], order: Sequence[int], held: Flags) -> None:
    """Release pairs that are held out, until every entity occurs in one that is not."""

    def occurring(number: int) -> set[int]:
        return {*pairs[number], *book.pairs[pairs[number]]}

    seen = {entity for k in order if not held[k] for entity in occurring(k)}
    for k in order:
        if held[k] and not occurring(k) <= seen:
            held[k] = False
            seen |= occurring(k)


def _mark_key(key: PoolKey) -> int:
    return mix64(key.split_seed + GOLDEN)


def marks_of(tasks: Ints, key: int) -> NDArray[np.uint64]:
    """Return 64 bits for each task, whatever the order of its recipes, as kernels do."""
    with np.errstate(over="ignore"):
        each = (tasks.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN) + np.uint64(key)
        return mix64_array(mix64_array(each).sum(axis=1, dtype=np.uint64))
