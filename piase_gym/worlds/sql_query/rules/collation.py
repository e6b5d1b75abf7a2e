"""How MySQL compares text (ignoring case, accents and trailing spaces), and its own functions.

`dialect` has SQLite call these functions where its own would return something else, or are missing.

This file imports nothing but the standard library: the worker process loads it by its path.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import unicodedata
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

COLLATION: Final = "utf8mb4_general_ci"
"""The name of the collation, which is MySQL's."""


def register(connection: sqlite3.Connection) -> None:
    """Register the collation of the tables of a dump, and the functions, on a connection."""
    connection.create_collation(COLLATION, compare)
    for name, (arguments, function) in _FUNCTIONS.items():
        connection.create_function(name, arguments, _or_null(name, function), deterministic=True)


def compare(first: str, second: str) -> int:
    """Return -1, 0 or 1: whether the first text comes before, with or after the second."""
    if first == second:
        return 0
    left, right = key(first), key(second)
    return (left > right) - (left < right)


@functools.lru_cache(maxsize=16384)
def key(text: str) -> str:
    """Return the key by which a text is compared."""
    return _folded(text.rstrip(" "))


def _folded(text: str) -> str:
    """Return a text without its case and accents."""
    if not text.isascii():
        parts = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in parts if not unicodedata.combining(letter))
    return text.upper()


_CLASSES: Final = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "punct": "!-/:-@[-`{-~", "space": r"\s", "xdigit": "0-9a-fA-F",
}  # fmt: skip
MOST_PATTERN: Final = 500
"""The longest pattern of ``LIKE``, in characters; a longer one is like nothing."""
MOST_TEXT: Final = 1_000_000
"""The longest text that a function makes."""


def _matches(pattern: Any, value: Any) -> bool:
    """Return whether a regular expression matches anywhere in a text."""
    for name, letters in _CLASSES.items():
        pattern = str(pattern).replace(f"[:{name}:]", letters)
    return re.search(pattern[:100], str(value)[:1000], re.IGNORECASE) is not None


def _like(value: Any, pattern: Any, mark: str = "\\") -> bool:
    """Return whether a text is like a pattern, whose ``%`` stands for anything.

    It ignores case and accents, unless one of the two is binary.
    """
    text, form = (v.decode() if isinstance(v, bytes) else str(v) for v in (value, pattern))
    if not (isinstance(value, bytes) or isinstance(pattern, bytes)):
        text, form, mark = _folded(text), _folded(form), mark.upper()
    if len(form) > MOST_PATTERN:
        return False
    first, *others = _like_parts(form, mark)
    found = first.match(text)
    for part in others:
        found = part.search(text, found.end()) if found is not None else None
    return found is not None


@functools.lru_cache(maxsize=1024)
def _like_parts(pattern: str, mark: str) -> list[re.Pattern[str]]:
    """Return what stands between the ``%`` of a pattern, each to be sought after the last."""
    parts, letters = [""], iter(pattern)
    for letter in letters:
        if letter == mark:
            parts[-1] += re.escape(next(letters, letter))
        elif letter == "%":
            parts.append("")
        else:
            parts[-1] += "." if letter == "_" else re.escape(letter)
    parts[-1] += r"\Z"
    return [re.compile(part, re.DOTALL) for part in parts]


def _place(text: Any, part: Any, start: int = 1) -> int:
    """Return where a part of a text begins, counted from 1, or 0; accents count, case does not."""
    return str(text).lower().find(str(part).lower(), start - 1) + 1 if start > 0 else 0


def _part_before(value: Any, mark: Any, count: Any) -> str:
    """Return the text before mark number `count` or, if negative, after that mark from the end."""
    parts = str(value).split(str(mark)) if str(mark) else []
    number = count if isinstance(count, int) else 0
    return str(mark).join(parts[:number] if number >= 0 else parts[number:])


def _padded(value: Any, size: int, filling: Any, left: bool) -> str | None:
    """Return a text cut or filled to a length."""
    text, more = str(value)[: max(size, 0)], str(filling)
    if not 0 <= size <= MOST_TEXT or (not more and len(text) < size):
        return None
    missing = (more * (size // max(len(more), 1) + 1))[: size - len(text)]
    return missing + text if left else text + missing


def _repeated(value: Any, count: int) -> str | None:
    """Return a text several times."""
    text = str(value)
    return None if len(text) * count > MOST_TEXT else text * count


def _number_among(value: Any, *others: Any) -> int:
    """Return which of some values is equal to the first, counted from 1, or 0."""
    keys = [key(str(other)) for other in others]
    return keys.index(key(str(value))) + 1 if key(str(value)) in keys else 0


def _with_commas(value: Any, digits: int) -> str:
    """Return a number with commas."""
    return f"{float(value) + 1e-9 * (value > 0):,.{max(digits, 0)}f}"


# -- dates ----------------------------------------------------------------------------------

_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?.*", re.S)
_UNITS: Final = {"DAY": 1, "WEEK": 7}
_SECONDS: Final = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_MONTHS: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS: Final = frozenset((*_UNITS, *_SECONDS, *_MONTHS))
"""The units of time by which dates are moved."""


def _moment(value: Any) -> datetime:
    """Return a date or time; what is none is a `ValueError`."""
    match = _DATE.fullmatch(str(value))
    if match is None:
        raise ValueError("no date")
    return datetime.fromisoformat(f"{match[1]} {match[2] or '00:00:00'}")


def _of_date(part: Callable[[datetime], Any]) -> Callable[[Any], Any]:
    """Return a function that takes a part of a date in ISO 8601 format."""
    return lambda value: part(_moment(value))


def _later(value: Any, count: Any, unit: str) -> str:
    """Return a date after some time, with its time of day if it has one."""
    start, number = _moment(value), float(count)
    if unit in _MONTHS:
        months = 12 * start.year + start.month - 1 + round(number) * _MONTHS[unit]
        first = start.replace(year=months // 12, month=months % 12 + 1, day=1)
        found = first.replace(day=min(start.day, _last_day(first).day))
    elif unit in _UNITS:
        found = start + timedelta(days=round(number) * _UNITS[unit])
    else:
        found = start + timedelta(seconds=number * _SECONDS[unit])
    timed = ":" in str(value) or unit in _SECONDS
    return found.isoformat(" ") if timed else found.date().isoformat()


def _last_day(moment: datetime) -> date:
    """Return the last day of a month."""
    return (moment.replace(day=28) + timedelta(days=4)).replace(day=1).date() - timedelta(days=1)


def _units_between(unit: str, first: Any, second: Any) -> int:
    """Return how many whole units lie between two dates."""
    one, two = _moment(first), _moment(second)
    if one > two:
        return -_units_between(unit, second, first)
    if unit in _MONTHS:
        months = 12 * (two.year - one.year) + two.month - one.month
        early = (two.day, two.time()) < (one.day, one.time())
        return (months - early) // _MONTHS[unit]
    seconds = (two - one).total_seconds()
    return int(seconds // (_SECONDS[unit] if unit in _SECONDS else 86_400 * _UNITS[unit]))


def _read_date(value: Any, form: str) -> str:
    """Read a date that is written in some form."""
    found = datetime.strptime(str(value), form.replace("%-", "%"))
    timed = re.search("%[HIMSTp]", form) is not None
    return found.isoformat(" ") if timed else found.date().isoformat()


def _write_date(value: Any, form: str) -> str:
    """Write a date in some form; not every system knows a number without zeros, such as ``%-d``."""
    found = _moment(value)

    def part(code: re.Match[str]) -> str:
        text = found.strftime(code[0].replace("-", ""))
        return (text.lstrip("0") or "0") if "-" in code[0] else text

    return re.sub("%-?.", part, form)


_FUNCTIONS: Final[dict[str, tuple[int, Callable[..., Any]]]] = {
    "year": (1, _of_date(lambda d: d.year)),
    "month": (1, _of_date(lambda d: d.month)),
    "day": (1, _of_date(lambda d: d.day)),
    "hour": (1, _of_date(lambda d: d.hour)),
    "minute": (1, _of_date(lambda d: d.minute)),
    "second": (1, _of_date(lambda d: d.second)),
    "quarter": (1, _of_date(lambda d: (d.month + 2) // 3)),
    "week": (1, _of_date(lambda d: int(d.strftime("%U")))),
    "weekday": (1, _of_date(datetime.weekday)),
    "dayofweek": (1, _of_date(lambda d: d.isoweekday() % 7 + 1)),
    "dayofyear": (1, _of_date(lambda d: d.timetuple().tm_yday)),
    "dayname": (1, _of_date(lambda d: d.strftime("%A"))),
    "last_day": (1, _of_date(lambda d: _last_day(d).isoformat())),
    "date_format": (2, _write_date),
    "str_to_date": (2, _read_date),
    "date_add": (3, _later),
    "datediff": (2, lambda one, two: (_moment(one).date() - _moment(two).date()).days),
    "timestampdiff": (3, _units_between),
    "regexp": (2, _matches),
    "mysql_like": (-1, _like),
    "mysql_instr": (-1, _place),
    "mysql_upper": (1, lambda value: str(value).upper()),
    "mysql_lower": (1, lambda value: str(value).lower()),
    "mysql_format": (2, _with_commas),
    "substring_index": (3, _part_before),
    "reverse": (1, lambda value: str(value)[::-1]),
    "repeat": (2, _repeated),
    "lpad": (3, lambda value, size, filling: _padded(value, size, filling, True)),
    "rpad": (3, lambda value, size, filling: _padded(value, size, filling, False)),
    "strcmp": (2, lambda one, two: compare(str(one), str(two))),
    "ascii": (1, lambda value: (str(value).encode() or b"\0")[0]),
    "bin": (1, lambda value: f"{int(value):b}"),
    "field": (-1, _number_among),
    "elt": (-1, lambda number, *texts: texts[number - 1] if 0 < number <= len(texts) else None),
    "concat_ws": (-1, lambda mark, *texts: mark.join(str(t) for t in texts if t is not None)),
}
FUNCTIONS: Final = frozenset(_FUNCTIONS)
"""The names of the functions."""


def _or_null(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ``NULL`` where an argument is, or is no such value."""

    def call(*values: Any) -> Any:
        if None in (values[:1] if name == "concat_ws" else values):
            return None
        try:
            return function(*values)
        except (ValueError, TypeError, OverflowError, KeyError):
            return None

    return call
