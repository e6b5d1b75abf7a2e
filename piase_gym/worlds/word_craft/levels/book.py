"""Recipe books: what can be made of what.

A book is a list of entities and, for each, the pairs that make it. Files have the schema of the
original WordCraft, ``{"entities": {name: {"id": n, "recipes": [[a, b], ...]}}}``; the book that
ships with the package is `own.txt` next to this module, one line per entity.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from piase_gym.errors import ConfigError, suggest

OWN: Final = Path(__file__).with_name("own.txt")
"""The book that ships with the package."""
MOST_ENTITIES: Final = 4096
MOST_RECIPES: Final = 65536
MOST_BYTES: Final = 20_000_000
MOST_LETTERS: Final = 60
PUBLISHED: Final = "7b2a860982baf5f27bbd6872b0612c4a69d1abd1d412a33784b2c93e49ab5a8f"
"""The digest of the recipes of the original's ``alchemy2.json``, which has circles."""
_NAME = re.compile(r"[^\s,;:\\\d](?:[^,;:\\\n\r\t]*[^\s,;:\\])?")

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class RecipeBook:
    """What can be made of what; entities are numbers here, their indices in `entities`.

    Attributes:
        entities: Their names.
        ids: Their ids in the file.
        recipes: (product, first, second), ordered by product; first is at most second.
        left_out: How many recipes of the file were left out because they need what they make.
    """

    entities: tuple[str, ...]
    ids: tuple[int, ...]
    recipes: tuple[tuple[int, int, int], ...]
    left_out: int = 0

    def __deepcopy__(self, _memo: Any) -> RecipeBook:
        """Return itself: it never changes."""
        return self

    @functools.cached_property
    def index(self) -> Mapping[str, int]:
        """The number of each entity."""
        return {name: number for number, name in enumerate(self.entities)}

    @functools.cached_property
    def pairs(self) -> Mapping[Pair, tuple[int, ...]]:
        """All that each pair makes."""
        found: dict[Pair, tuple[int, ...]] = {}
        for product, *pair in self.recipes:
            first, second = pair
            found[first, second] = (*found.get((first, second), ()), product)
        return found

    @functools.cached_property
    def recipes_of(self) -> Sequence[Sequence[int]]:
        """The numbers of the recipes that make each entity."""
        found: list[list[int]] = [[] for _ in self.entities]
        for number, (product, *_) in enumerate(self.recipes):
            found[product].append(number)
        return found

    @property
    def roots(self) -> tuple[int, ...]:
        """The entities that nothing makes."""
        return tuple(k for k, recipes in enumerate(self.recipes_of) if not recipes)

    @property
    def terminals(self) -> tuple[int, ...]:
        """The entities that make nothing."""
        used = {entity for _, *pair in self.recipes for entity in pair}
        return tuple(k for k in range(len(self.entities)) if k not in used)

    def limited(self, count: int | None) -> RecipeBook:
        """Return the book of the first `count` entities, with the recipes among them."""
        if count is None or count >= len(self.entities):
            return self
        kept = tuple(row for row in self.recipes if max(row) < count)
        return RecipeBook(self.entities[:count], self.ids[:count], kept)

    def to_json(self) -> dict[str, Any]:
        """Return the book in the original's schema."""
        entities: dict[str, Any] = {
            name: {"id": number, "recipes": []}
            for name, number in zip(self.entities, self.ids, strict=True)
        }
        for product, first, second in self.recipes:
            pair = [self.entities[first], self.entities[second]]
            entities[self.entities[product]]["recipes"].append(pair)
        return {"entities": entities}


def read_book(path: str | None = None, *, lenient: bool = False) -> RecipeBook:
    """Return the book of a file, or the one that ships with the package.

    Args:
        path: A JSON file in the original's schema.
        lenient: Whether things may be made of each other in a circle, as in the original: its
            loader leaves out recipes that need what they make, and no task goes in a circle. The
            file that was published with the original is always read this way.

    Raises:
        ConfigError: If the file cannot be read, is not such a book, names things that it does not
            have, or has circles.
    """
    place = OWN if path is None else Path(path)
    try:
        stat = place.stat()
    except (OSError, ValueError) as error:
        raise ConfigError(f"there is no recipe book {str(place)!r:.200}: {_why(error)}") from None
    return _read(place, stat.st_mtime_ns, stat.st_size, lenient)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@functools.lru_cache(maxsize=16)
def _read(place: Path, _changed: int, size: int, lenient: bool) -> RecipeBook:
    """Read a file; as long as it does not change, the book is the same object each time."""
    if size > MOST_BYTES:
        raise ConfigError(f"recipe book {place}: {size} bytes; at most {MOST_BYTES} are read")
    try:
        text = place.read_text("utf-8")
        if place == OWN:
            return book_of(own_entries(text))
        found = json.loads(text, object_pairs_hook=_no_twins)
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"recipe book {place} cannot be read: {_why(error)}") from None
    except ValueError as error:
        raise ConfigError(f"recipe book {place} is not whole JSON: {error}") from None
    try:
        return book_of(_entries(found), lenient=lenient)
    except ConfigError as error:
        raise ConfigError(f"recipe book {place}: {error}") from None


def _no_twins(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; refuse one that has a key twice."""
    found = dict(items)
    if len(found) < len(items):
        twin = next(key for k, (key, _) in enumerate(items) if key in dict(items[:k]))
        raise ValueError(f"the key {twin!r:.80} is there twice")
    return found


def own_entries(text: str) -> dict[str, Any]:
    """Read the shipped book's own form into the original's entries.

    A line is ``name = a + b ; c + d``; ``a/b + c/d`` stands for all four pairs, and a line without
    ``=`` lists entities that nothing makes.
    """
    entries: dict[str, Any] = {}
    for line in text.splitlines():
        names, _, made = line.partition("#")[0].partition("=")
        for name in filter(None, map(str.strip, names.split(","))):
            if name in entries:
                raise ConfigError(f"{name!r} is there twice")
            entries[name] = {"id": len(entries) + 1, "recipes": []}
            for recipe in filter(None, map(str.strip, made.split(";"))):
                left, right = ([n.strip() for n in side.split("/")] for side in recipe.split("+"))
                entries[name]["recipes"] += [[a, b] for a in left for b in right]
    return entries


def _entries(found: Any) -> Mapping[str, Any]:
    """Check the shape of a file, down to the pairs of names."""
    entities = found.get("entities") if isinstance(found, dict) else None
    if not isinstance(entities, dict):
        raise ConfigError('a book is {"entities": {name: {"id": n, "recipes": [[a, b], ...]}}}')
    for name, entry in entities.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("recipes"), list):
            raise ConfigError(f"{name!r:.80} must be a mapping with a list of 'recipes'")
        for recipe in entry["recipes"]:
            names = isinstance(recipe, list) and all(isinstance(part, str) for part in recipe)
            if not names or len(recipe) != 2:
                shown = json.dumps(recipe)
                raise ConfigError(f"a recipe of {name!r:.80} is {shown:.80}, not a pair of names")
    return entities


def book_of(entries: Mapping[str, Any], *, lenient: bool = False) -> RecipeBook:
    """Return the book of entries in the original's schema.

    Raises:
        ConfigError: If a name or an id is not allowed or not known, or things are made in a circle.
    """
    names = tuple(entries)
    _check_names(names)
    ids = _ids(entries)
    index = {name: number for number, name in enumerate(names)}
    rows: list[tuple[int, int, int]] = []
    themselves: list[tuple[int, int, int]] = []
    for product, entry in enumerate(entries.values()):
        for pair in entry["recipes"]:
            for part in pair:
                if part not in index:
                    hint = suggest(part, names)
                    raise ConfigError(f"{names[product]!r} is made of {part!r:.80}; {hint}")
            first, second = sorted(index[part] for part in pair)
            row = (product, first, second)
            (themselves if product in row[1:] else rows).append(row)
    lenient = lenient or _digest(entries) == PUBLISHED
    if themselves and not lenient:
        product, first, second = themselves[0]
        raise ConfigError(
            f"{names[product]!r} is made of {names[first]!r} and {names[second]!r}, and so of "
            "itself; lenient=True leaves such recipes out"
        )
    rows = list(dict.fromkeys(rows))
    if not rows:
        raise ConfigError("there is no recipe in it")
    if len(rows) > MOST_RECIPES:
        raise ConfigError(f"{len(rows)} recipes; at most {MOST_RECIPES} are read")
    book = RecipeBook(names, ids, tuple(rows), len(themselves))
    circle = () if lenient else find_circle(book)
    if circle:
        shown = " of ".join(repr(names[k]) for k in (*circle, circle[0])[:8])
        raise ConfigError(
            f"things are made of each other in a circle: {shown}; lenient=True plays such books"
        )
    return book


def _check_names(names: Sequence[str]) -> None:
    if not 3 <= len(names) <= MOST_ENTITIES:
        raise ConfigError(f"a book has 3 to {MOST_ENTITIES} entities, not {len(names)}")
    for name in names:
        if not _NAME.fullmatch(name) or len(name) > MOST_LETTERS or not name.isprintable():
            raise ConfigError(
                f"{name!r:.80} is no name: at most {MOST_LETTERS} characters, not a digit first, "
                "none of , ; : \\"
            )
    lower = {name.lower() for name in names}
    if len(lower) < len(names):
        twin = next(n for k, n in enumerate(names) if n.lower() in map(str.lower, names[:k]))
        raise ConfigError(f"{twin!r} differs from another name in case only")


def _ids(entries: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the ids, by default places from 1; they are distinct integers."""
    ids = [entry.get("id", number) for number, entry in enumerate(entries.values(), 1)]
    for name, number in zip(entries, ids, strict=True):
        if type(number) is not int:
            raise ConfigError(f"the id of {name!r} is {number!r:.40}, not an integer")
    if len(set(ids)) < len(ids):
        twin = next(number for k, number in enumerate(ids) if number in ids[:k])
        raise ConfigError(f"two entities have the id {twin}")
    return tuple(ids)


def _digest(entries: Mapping[str, Any]) -> str:
    """Return a digest of the recipes, whatever their order."""
    plain = {name: sorted(map(sorted, entries[name]["recipes"])) for name in sorted(entries)}
    return hashlib.sha256(json.dumps(plain, separators=(",", ":")).encode()).hexdigest()


def find_circle(book: RecipeBook) -> tuple[int, ...]:
    """Return a circle of things, each made of the next and the last of the first; or nothing."""
    parts = [sorted({e for r in rows for e in book.recipes[r][1:]}) for rows in book.recipes_of]
    left = set(range(len(parts)))
    while done := {k for k in left if not left.intersection(parts[k])}:
        left -= done
    if not left:
        return ()
    path = [min(left)]
    while True:
        following = min(left.intersection(parts[path[-1]]))
        if following in path:
            return tuple(path[path.index(following) :])
        path.append(following)
