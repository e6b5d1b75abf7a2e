"""How MySQL compares text (ignoring case, accents and trailing spaces), and some of its functions.

This file imports nothing but the standard library: the worker process loads it by its path.
"""

from __future__ import annotations

import calendar
import contextlib
import functools
import re
import sqlite3
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

COLLATION: Final = "utf8mb4_general_ci"
"""The name of the collation, which is MySQL's."""


def register(connection: sqlite3.Connection) -> None:
    """Register the collation of the tables of a dump, and the functions, on a connection."""
    connection.create_collation(COLLATION, compare)
    for name, (arguments, function) in _FUNCTIONS.items():
        connection.create_function(name, arguments, function, deterministic=True)


def compare(first: str, second: str) -> int:
    """Return -1, 0 or 1: whether the first text comes before, with or after the second."""
    if first == second:
        return 0
    left, right = key(first), key(second)
    return (left > right) - (left < right)


@functools.lru_cache(maxsize=16384)
def key(text: str) -> str:
    """Return the key by which a text is compared."""
    text = text.rstrip(" ")
    if not text.isascii():
        parts = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return text.upper()


def _part(first: int, last: int) -> Callable[[Any], int | None]:
    """Return a function that takes a part of a date in ISO 8601 format."""

    def part(value: Any) -> int | None:
        date = str(value)
        return int(date[first:last]) if re.match(r"\d{4}-\d\d-\d\d", date) else None

    return part


def _matches(pattern: Any, value: Any) -> bool | None:
    """Return whether a regular expression matches anywhere in a text."""
    if pattern is None or value is None:
        return None
    return re.search(str(pattern)[:100], str(value)[:1000], re.IGNORECASE) is not None


def _part_before(value: Any, mark: Any, count: Any) -> str | None:
    """Return the text before mark number `count` or, if negative, after that mark from the end."""
    if value is None or mark is None or count is None:
        return None
    parts = str(value).split(str(mark)) if str(mark) else []
    number = count if isinstance(count, int) else 0
    return str(mark).join(parts[:number] if number >= 0 else parts[number:])


_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS: Final = frozenset((*_MONTHS, "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"))
"""The units of time that dates can be moved by."""


def _moved(value: Any, count: Any, unit: str) -> str | None:
    """Return a date or time so many units later; a day that its month lacks is the last one."""
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        start, number = datetime.fromisoformat(str(value)), round(float(count))
        if unit in _MONTHS:
            year, month = divmod(12 * start.year + start.month - 1 + _MONTHS[unit] * number, 12)
            day = min(start.day, calendar.monthrange(year, month + 1)[1])
            moved = start.replace(year=year, month=month + 1, day=day)
        else:
            moved = start + timedelta(**{f"{unit.lower()}s": number})
        is_date = len(str(value)) == 10 and unit not in ("HOUR", "MINUTE", "SECOND")
        return str(moved.date() if is_date else moved)
    return None


def _formatted(value: Any, pattern: Any) -> str | None:
    """Return a date or time in a format of Python's."""
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(str(value)).strftime(str(pattern))
    return None


_FUNCTIONS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "year": (1, _part(0, 4)),
    "month": (1, _part(5, 7)),
    "day": (1, _part(8, 10)),
    "regexp": (2, _matches),
    "substring_index": (3, _part_before),
    "date_add": (3, _moved),
    "date_format": (2, _formatted),
}
FUNCTIONS: Final = frozenset(_FUNCTIONS)
"""The names of the functions."""
