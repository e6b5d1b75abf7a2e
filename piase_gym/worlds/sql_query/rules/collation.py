"""How MySQL compares text: without case, accents and spaces at the end."""

from __future__ import annotations

import functools
import sqlite3
import unicodedata
from typing import Final

COLLATION: Final = "utf8mb4_general_ci"
"""The name of the collation, which is MySQL's."""


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the collation that the tables of a dump are declared with."""
    connection.create_collation(COLLATION, compare)


def compare(first: str, second: str) -> int:
    """Return -1, 0 or 1: which of two texts comes first."""
    if first == second:
        return 0
    left, right = key(first), key(second)
    return (left > right) - (left < right)


@functools.lru_cache(maxsize=16384)
def key(text: str) -> str:
    """Return what a text is compared by."""
    text = text.rstrip(" ")
    if not text.isascii():
        parts = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return text.upper()


__all__ = ["COLLATION", "compare", "key", "register"]
