"""Tasks and their splits, against a slow search over the definition."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.errors import ConfigError
from piase_gym.worlds.word_craft.config import WordCraftConfig
from piase_gym.worlds.word_craft.levels.book import RecipeBook, book_of, read_book
from piase_gym.worlds.word_craft.levels.tasks import (
    PoolKey,
    index_of,
    links_of,
    marks_of,
    orders_of,
    pool_of,
)
from tests.worlds.word_craft.helpers import book_file, drawn_book, entries

Task = frozenset[int]
PANTRY = 40


def is_task(book: RecipeBook, recipes: tuple[int, ...]) -> bool:
    """Tell whether some recipes are a task: one goal, all is needed, and all can be made."""
    rows = [book.recipes[k] for k in recipes]
    made = [product for product, *_ in rows]
    if len(set(made)) < len(made):
        return False
    parts = {part for _, *pair in rows for part in pair}
    if len(set(made) - parts) != 1:
        return False  # one of them is the goal, which nothing needs
    have, news = parts - set(made), True
    while news:
        news = False
        for product, *pair in rows:
            if product not in have and have.issuperset(pair):
                have.add(product)
                news = True
    return have.issuperset(made)


def opened(book: RecipeBook, goal: int, depth: int) -> Counter[Task]:
    """Open a goal, then what is given, in every order; count how often each task is come upon."""
    found: Counter[Task] = Counter()

    def go_on(given: list[int], made: set[int], used: tuple[int, ...]) -> None:
        for thing in given:
            rest = [other for other in given if other != thing]
            for recipe in book.recipes_of[thing]:
                parts = set(book.recipes[recipe][1:])
                if parts & (made | {thing, goal}):
                    continue
                grown = (*used, recipe)
                if len(grown) == depth:
                    found[frozenset(grown)] += 1
                else:
                    go_on([*rest, *sorted(parts - set(rest))], made | {thing}, grown)

    go_on([goal], set(), ())
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_index_is_that_of_the_definition(seed: int) -> None:
    book = book_of(entries(drawn_book(seed))["entities"])
    for depth in (1, 2, 3):
        index = index_of(book, depth)
        listed = [frozenset(row) for row in index.tolist()]
        assert len(set(listed)) == len(listed)
        chosen = combinations(range(len(book.recipes)), depth)
        assert set(listed) == {frozenset(c) for c in chosen if is_task(book, c)}
        orders: Counter[Task] = Counter()
        for goal in range(len(book.entities)):
            orders += opened(book, goal, depth)
        told = dict(zip(listed, orders_of(book, index).tolist(), strict=True))
        assert told == dict(orders)
        for row in index.tolist():  # the goal is first, and what needs a thing stands before it
            products = [book.recipes[k][0] for k in row]
            for place, recipe in enumerate(row):
                assert not set(book.recipes[recipe][1:]) & set(products[: place + 1])


SPLITS = (
    "by_goal",
    "by_goal_train_terminals",
    "by_recipe",
    "by_recipe_train_all_goals",
    "by_task",
)


def sides(split: Any, depth: int, ratio: float = 0.75) -> dict[str, list[Task]]:
    """Return the listed tasks of a depth on each side of a split."""
    found = {}
    for side in ("train", "test", "all"):
        key = PoolKey(entities=80, depth=depth, split=split, train_ratio=ratio, tasks=side)  # type: ignore[arg-type]
        pool = pool_of(key)
        start = pool.starts[depth - 1]
        rows = pool.tasks[start : start + pool.counts[depth - 1], :depth]
        found[side] = [frozenset(row) for row in rows.tolist()]
    return found


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("depth", [1, 3])
def test_splits_hold_out_what_they_say(split: str, depth: int) -> None:
    found, book = sides(split, depth), read_book().limited(80)
    train, test = set(found["train"]), set(found["test"])
    assert train
    assert test
    assert not train & test
    assert train | test == set(found["all"])
    pair = links_of(book).pair.tolist()
    if split.startswith("by_goal"):
        goals = [
            {g for task in part for g in {book.recipes[k][0] for k in task} - _parts(book, task)}
            for part in (train, test)
        ]
        assert not goals[0] & goals[1]
        if depth == 1 and split == "by_goal":
            makeable = sum(map(bool, book.recipes_of))
            assert len(goals[0]) == math.ceil(0.75 * makeable)
        if split == "by_goal_train_terminals":
            assert not goals[1] & set(book.terminals)
    elif split.startswith("by_recipe"):
        learned = {pair[k] for task in train for k in task}
        assert all({pair[k] for k in task} - learned for task in test)
        if split == "by_recipe" and depth == 1:
            assert len(learned) == math.ceil(0.75 * len(book.pairs))
        if split == "by_recipe_train_all_goals" and depth == 1:
            known = {t for k, row in enumerate(book.recipes) if pair[k] in learned for t in row}
            assert known == {thing for row in book.recipes for thing in row}
    else:
        assert len(train) == math.ceil(0.75 * len(found["all"]))


def _parts(book: RecipeBook, task: Task) -> set[int]:
    return {part for k in task for part in book.recipes[k][1:]}


def drawn(count: int, **config: Any) -> list[tuple[Task, Any]]:
    """Return the tasks of many episodes, as recipes, and their records."""
    env = piase_gym.batch_env("WordCraft", num_envs=count, **config)
    env.reset(seed=5)
    book = env.world.config.book
    number = {row: k for k, row in enumerate(book.recipes)}
    found = []
    for record in env.batch.states:
        depth = int(record["depth"])
        rows = zip(*(record[n][:depth].tolist() for n in ("chain", "first", "second")), strict=True)
        task = frozenset(number[p - 1, a - 1, b - 1] for p, a, b in rows)
        found.append((task, record.copy()))
    return found


@pytest.mark.parametrize("split", SPLITS)
def test_deep_tasks_are_drawn_and_keep_to_their_side(split: str) -> None:
    config = {"split": split, "train_ratio": 0.7, "entities": 120}
    book = read_book().limited(120)
    held = pool_of(PoolKey(entities=120, depth=5, split=split, train_ratio=0.7)).held_out  # type: ignore[arg-type]
    goals = {}
    for side in ("train", "test"):
        for depth in (4, 5):
            tasks = [task for task, _ in drawn(60, depth=depth, tasks=side, **config)]
            assert all(len(task) == depth and is_task(book, tuple(task)) for task in tasks)
            assert len(set(tasks)) > 20
            if split.startswith("by_recipe"):
                assert all(bool(held[list(task)].any()) == (side == "test") for task in tasks)
            if split == "by_task":
                pool = pool_of(PoolKey(**config, depth=depth, tasks=side))  # type: ignore[arg-type]
                rows = index_of(book, 1)[[sorted(task) for task in tasks]][:, :, 0]
                below = marks_of(rows, pool.key) < pool.threshold
                assert (below == (side == "train")).all()
            goals[side] = {
                g for t in tasks for g in {book.recipes[k][0] for k in t} - _parts(book, t)
            }
    if split.startswith("by_goal"):
        assert not goals["train"] & goals["test"]


def test_every_listed_task_is_drawn_with_equal_chance() -> None:
    tasks = [task for task, _ in drawn(20_000, entities=PANTRY, depth=2)]
    book = read_book().limited(PANTRY)
    counts = Counter(tasks)
    index = {frozenset(row) for row in index_of(book, 2).tolist()}
    assert counts.keys() == index
    mean = len(tasks) / len(index)
    chi = sum((count - mean) ** 2 / mean for count in counts.values())
    assert abs(chi - len(index)) < 6 * math.sqrt(2 * len(index))


def test_a_table_has_what_the_task_takes_and_distractors() -> None:
    for depth in (1, 3, 5):
        for _, record in drawn(200, depth=depth, distractors=6):
            chain = set(record["chain"][:depth].tolist())
            needed = {*record["first"][:depth].tolist(), *record["second"][:depth].tolist()} - chain
            table = [thing for thing in record["tables"].tolist() if thing]
            assert len(set(table)) == len(table) == len(needed) + 6
            assert needed <= set(table)
            assert not chain & set(table)


def test_distractors_follow_the_recipes_or_are_all_alike() -> None:
    book = read_book()
    often = {k for k, n in Counter(p for pair in book.pairs for p in set(pair)).items() if n > 20}
    shares = {}
    for uniform in (False, True):
        rows = drawn(2000, depth=1, distractors=3, uniform_distractors=uniform)
        things = [
            thing - 1
            for _, record in rows
            for thing in record["tables"].tolist()
            if thing and thing not in (record["first"][0], record["second"][0])
        ]
        shares[uniform] = sum(thing in often for thing in things) / len(things)
    weights = Counter(p for pair in book.pairs for p in set(pair))
    total = sum(weights.values()) + len(book.entities)
    expected = sum(weights[k] + 1 for k in often) / total
    assert abs(shares[False] - expected) < 0.03
    assert abs(shares[True] - len(often) / len(book.entities)) < 0.03


def test_depths_are_mixed_if_asked_for() -> None:
    depths = Counter(len(task) for task, _ in drawn(600, depth=4, least_depth=2))
    assert set(depths) == {2, 3, 4}
    assert min(depths.values()) > 150


def test_goals_can_be_named() -> None:
    env = piase_gym.parallel_env("WordCraft", goals="bread", depth=3)
    env.reset(seed=0)
    assert env.facts("agent_0").goal == "bread"
    with pytest.raises(ConfigError, match="the book has no 'braed'; did you mean 'bread'"):
        piase_gym.parallel_env("WordCraft", goals=["braed"])


def test_the_originals_names_are_taken(tmp_path: Path) -> None:
    path = book_file(tmp_path)
    given = {"data_path": path, "max_depth": 2, "num_distractors": 1, "max_mix_steps": 3}
    theirs = WordCraftConfig(**given, feature_type="random", random_feature_size=7)
    ours = WordCraftConfig(
        recipes=path, depth=2, distractors=1, mixes=3, features="random", feature_size=7
    )
    assert theirs == ours
    assert theirs.max_steps == 6
    assert WordCraftConfig(max_depth=3, max_mix_steps=1).allowed_mixes == 3
    assert WordCraftConfig(depth=3).changed({"depth": 2}).max_steps == 4


def test_the_steps_of_a_restored_task_follow_its_depth_too() -> None:
    env = piase_gym.parallel_env("WordCraft", envelope={"given": 4, "made": 9})
    env.reset(seed=0)
    env.restore(env.snapshot())
    for depth in (3, 1):
        env.reconfigure({"depth": depth})
        env.reset(seed=0)
        assert env.config.max_steps == 2 * depth
    env.reconfigure({"max_steps": 5})
    env.reconfigure({"depth": 3})
    env.reset(seed=0)
    assert env.config.max_steps == 5


BAD = {
    "tasks='test' needs train_ratio below 1": {"tasks": "test"},
    "no task of depth 2": {"goals": "steam", "depth": 2, "entities": 20},
    "nothing can be made in a book of 9 entities": {"entities": 9},
    "least_depth=3 is more than depth=2": {"least_depth": 3, "depth": 2},
    "has 35 to spare": {"entities": 40, "depth": 2, "distractors": 36},
    "trade needs two agents": {"trade": True},
    "there are no glove features": {"feature_type": "glove"},
    "a pickled object": {"recipe_book_path": "book.pkl"},
    "ask for fewer": {"agents": 8, "mixes": 100},
}


@pytest.mark.parametrize("told", BAD)
def test_what_cannot_be_played_is_refused(told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        piase_gym.parallel_env("WordCraft", **BAD[told])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ratio", "wanted"), [(0.5, 2**63), (0.25, 2**62), (0.75, 3 * 2**62), (1.0, 2**64 - 1)]
)
def test_marks_of_64_bits_are_split_in_the_ratio(ratio: float, wanted: int) -> None:
    key = PoolKey(entities=40, depth=1, split="by_task", train_ratio=ratio, tasks="train")
    assert pool_of(key).threshold == wanted
