"""Names as people write and read them, and lists of them in a sentence."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from piase_gym.core.text_encoding import escape

ARTICLES = ("the", "a", "an", "my", "some")


def spaced(name: str) -> str:
    """Return a name with spaces for underscores."""
    return name.replace("_", " ")


@functools.lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Return a name as people write it: lower case, single spaces for underscores."""
    return " ".join(spaced(name).lower().split())


@functools.lru_cache(maxsize=4096)
def printable(name: str) -> str:
    """Return a name for a canonical text: with spaces, and escaped."""
    return escape(spaced(name))


def without_article(words: str) -> str:
    """Return a name without an article in front of it."""
    first, _, rest = words.strip().partition(" ")
    return rest.strip() if first in ARTICLES and rest else words.strip()


def article(words: str) -> str:
    """Return the indefinite article in front of some words."""
    return "an" if words[:1].lower() in ("a", "e", "i", "o", "u") else "a"


def counted(count: int, what: str) -> str:
    """Write ``1 step``, ``2 steps``."""
    return f"{count} {what}{'s' * (count != 1)}"


def priced(*table: tuple[float, str]) -> str:
    """Write what is rewarded: ``+10 for winning, -0.1 a step``; rewards of 0 are left out.

    Args:
        *table: Pairs of a reward and the words for its reason.
    """
    parts = [f"{worth:+g} {what}" for worth, what in table if worth]
    return f"{', '.join(parts)}." if parts else "nothing."


def listing(words: Iterable[str]) -> str:
    """Write ``north, south and west``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
