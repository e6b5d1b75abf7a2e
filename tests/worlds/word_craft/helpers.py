"""Books for tests: small ones, drawn ones, and the original's where it is at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piase_gym.core.rng import Stream
from tests.paths import SHARED

ORIGINAL = SHARED / "data" / "wordcraft" / "alchemy2.json"
Recipes = Mapping[str, Sequence[tuple[str, str]]]

SMALL: Recipes = {
    "water": (),
    "fire": (),
    "earth": (),
    "steam": (("water", "fire"),),
    "mud": (("water", "earth"),),
    "brick": (("mud", "fire"),),
    "dew": (("water", "fire"), ("steam", "steam")),
    "house": (("brick", "brick"), ("brick", "mud")),
}
"""Water and fire make two things, and two of the same make something."""


def entries(recipes: Recipes) -> dict[str, Any]:
    """Return a book in the original's schema."""
    rows = enumerate(recipes.items(), 1)
    return {
        "entities": {n: {"id": k, "recipes": [list(p) for p in pairs]} for k, (n, pairs) in rows}
    }


def book_file(folder: Path, recipes: Recipes = SMALL) -> str:
    """Write a book and return its path."""
    path = folder / "book.json"
    path.write_text(json.dumps(entries(recipes)), encoding="utf-8")
    return str(path)


def drawn_book(seed: int, count: int = 14) -> dict[str, list[tuple[str, str]]]:
    """Draw a book without circles: things are made of what stands before them."""
    dice, names = Stream(seed), [f"thing {chr(97 + k)}" for k in range(count)]
    recipes: dict[str, list[tuple[str, str]]] = {}
    for k, name in enumerate(names):
        found: dict[tuple[str, str], None] = {}
        for _ in range(dice.integer(4) if k > 3 else 0):
            pair = sorted([dice.integer(k), dice.integer(k)])
            found[names[pair[0]], names[pair[1]]] = None
        recipes[name] = list(found)
    return recipes
