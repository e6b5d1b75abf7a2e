"""Recipe books: what ships, the original's schema, and what is no book."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.errors import ConfigError
from piase_gym.worlds.word_craft.levels.book import read_book
from piase_gym.worlds.word_craft.levels.tasks import index_of, orders_of, task_counts
from tests.worlds.word_craft.helpers import ORIGINAL, SMALL, book_file, entries

BOOK = read_book()


def test_what_ships_is_large_whole_and_without_circles() -> None:
    assert len(BOOK.entities) >= 300
    assert len(BOOK.recipes) >= 1000
    assert all(max(parts) < product for product, *parts in BOOK.recipes)  # in order: no circle
    made = set(BOOK.roots)
    for product, *parts in BOOK.recipes:  # in order: the parts of each come first
        made |= {product} if made >= {*parts} else set()
    assert len(made) == len(BOOK.entities)
    linked = {0}
    for _ in BOOK.entities:
        linked |= {thing for row in BOOK.recipes if linked & set(row) for thing in row}
        if len(linked) == len(BOOK.entities):
            break
    assert len(linked) == len(BOOK.entities)
    assert max(map(len, BOOK.pairs.values())) <= 3
    pantry = BOOK.limited(40)
    assert {len(products) for products in pantry.pairs.values()} == {1}
    assert len(pantry.recipes) == len({*pantry.recipes}) > 60


def test_a_book_goes_through_the_originals_schema(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps(BOOK.to_json()), encoding="utf-8")
    again = read_book(str(path))
    assert (again.entities, again.ids, again.recipes) == (BOOK.entities, BOOK.ids, BOOK.recipes)


def test_counts_follow_from_the_rules(tmp_path: Path) -> None:
    book = read_book(book_file(tmp_path))
    assert (len(book.entities), len(book.recipes), len(book.pairs)) == (8, 7, 6)
    assert book.pairs[0, 1] == (book.index["steam"], book.index["dew"])
    assert [book.entities[k] for k in book.roots] == ["water", "fire", "earth"]
    assert [book.entities[k] for k in book.terminals] == ["dew", "house"]
    # depth 2: brick by mud; dew by steam; house by brick, or by brick or mud of the other recipe;
    # depth 3: house of brick of mud, once for each of its two recipes.
    assert task_counts(book) == {1: 7, 2: 5, 3: 2}


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = book_file(tmp_path)
    assert len(read_book(path).recipes) == 7
    book_file(tmp_path, {**SMALL, "lake": [("water", "water"), ("dew", "dew")]})
    assert len(read_book(path).recipes) == 9


def _changed(**more: Any) -> dict[str, Any]:
    return entries({**SMALL, **more})


BAD: dict[str, tuple[Any, str]] = {
    "a circle": (_changed(water=[("house", "fire")]), "in a circle: 'water' of 'house'"),
    "a circle beside a way in": (_changed(mud=[("water", "earth"), ("brick", "fire")]), "circle"),
    "an unknown name": (_changed(lava=[("earth", "fyre")]), "'lava' is made of 'fyre'; did you"),
    "a self-recipe": (_changed(fire=[("fire", "earth")]), "'fire' is made of 'fire' and 'earth'"),
    "torn": ('{"entities": {"water": {"id": 1, "rec', "not whole JSON"),
    "no text": (b"\xff\xfe\x00", "cannot be read"),
    "deep": ("[" * 100_000, "cannot be read"),
    "a list": ("[]", 'a book is {"entities"'),
    "a number": ("7", 'a book is {"entities"'),
    "three parts": (_changed(lava=[("earth", "fire", "fire")]), "not a pair of names"),
    "numbers for names": (_changed(lava=[(1, 2)]), "[1, 2], not a pair of names"),
    "no recipes": ({"entities": {"a": {"id": 1}, "b": {}, "c": {}}}, "a list of 'recipes'"),
    "nothing made": (entries({"a": (), "b": (), "c": ()}), "there is no recipe in it"),
    "too small": (entries({"a": (), "b": [("a", "a")]}), "a book has 3 to"),
    "a strange name": (_changed(**{"a, b": [("water", "water")]}), "'a, b' is no name"),
    "a name of digits": (_changed(**{"7": [("water", "water")]}), "'7' is no name"),
    "names alike": (_changed(Fire=[("water", "water")]), "in case only"),
    "an id twice": (
        {"entities": {n: {"id": 1, "recipes": []} for n in ("a", "b", "c")}},
        "two entities have the id 1",
    ),
    "an id of text": (
        {"entities": {n: {"id": n, "recipes": []} for n in ("a", "b", "c")}},
        "the id of 'a' is 'a', not an integer",
    ),
    "a key twice": ('{"entities": {"a": {"recipes": []}, "a": {"recipes": []}}}', "there twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_books_are_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    content, told = BAD[case]
    path = tmp_path / "bad.json"
    raw = content if isinstance(content, bytes | str) else json.dumps(content)
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    with pytest.raises(ConfigError) as caught:
        piase_gym.parallel_env("WordCraft", recipes=str(path))
    message = str(caught.value)
    assert told in message
    assert message.count("\n") == 0
    assert "bad.json" in message
    good = piase_gym.parallel_env("WordCraft")  # nothing is left of it
    good.reset(seed=0)


def test_a_book_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match=r"there is no recipe book 'nowhere\.json'"):
        piase_gym.parallel_env("WordCraft", recipes="nowhere.json")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        piase_gym.parallel_env("WordCraft", recipes=str(Path(__file__).parent))


def test_books_with_circles_can_be_played(tmp_path: Path) -> None:
    circles = {**SMALL, "fire": [("fire", "earth")], "water": [("steam", "earth")]}
    book = read_book(book_file(tmp_path, circles), lenient=True)
    assert book.left_out == 1
    for depth in (1, 2, 3):
        for task in index_of(book, depth).tolist():
            rows = [book.recipes[k] for k in task]
            have = {part for _, *parts in rows for part in parts} - {row[0] for row in rows}
            for product, *parts in reversed(rows):
                assert have.issuperset(parts)
                have.add(product)


@pytest.mark.skipif(not ORIGINAL.exists(), reason="the original's book is not at hand")
def test_the_originals_book() -> None:
    """The counts are those that the original prints."""
    book = read_book(str(ORIGINAL))
    assert (len(book.entities), len(book.recipes), len(book.pairs)) == (700, 3417, 3277)
    found = {d: int(orders_of(book, index_of(book, d)).sum()) for d in (1, 2, 3)}
    assert found == {1: 3417, 2: 35280, 3: 509358}
    env = piase_gym.parallel_env("WordCraft", recipes=str(ORIGINAL), depth=3, distractors=4)
    env.reset(seed=0)
