"""How MySQL compares text (ignoring case, accents and trailing spaces), and its own functions.

`dialect` has SQLite call these functions where its own would return something else, or are missing.

This file imports nothing but the standard library: the worker process loads it by its path.
"""

from __future__ import annotations

import functools
import hashlib
import math
import operator
import re
import sqlite3
import unicodedata
import zlib
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
    for name, (arguments, aggregate) in _AGGREGATES.items():
        connection.create_aggregate(name, arguments, aggregate)


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
    known = [each for each in (value, *others) if each is not None]
    read = key if all(isinstance(each, str) for each in known) else number
    wanted, *found = [None if each is None else read(each) for each in (value, *others)]
    return found.index(wanted) + 1 if wanted is not None and wanted in found else 0


def _in_set(value: Any, texts: Any) -> int:
    """Return which of the texts between commas is equal to a value, counted from 1, or 0."""
    return _number_among(_text(value), *_text(texts).split(","))


def _part(value: Any, start: int, length: int | None = None) -> str:
    """Return a part of a text from a place, counted from 1 or, if negative, from the end."""
    text = _text(value)
    first = start - 1 if start > 0 else len(text) + start
    end = len(text) if length is None else first + length
    return text[first:end] if start and 0 <= first < end else ""


def _replaced(value: Any, start: int, length: int, new: Any) -> str:
    """Return a text in which another one stands in place of some letters."""
    text = _text(value)
    if not 0 < start <= len(text):
        return text
    rest = text[start - 1 + length :] if length >= 0 else ""
    return f"{text[: start - 1]}{_text(new)}{rest}"


# -- numbers --------------------------------------------------------------------------------

_LEADING: Final = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")


def number(value: Any) -> int | float:
    """Return a value as a number; of a text, the number with which it begins, or else 0."""
    if isinstance(value, int | float):
        return value
    match = _LEADING.match(_text(value))
    return float(match[1]) if match else 0.0


def _text(value: Any) -> str:
    """Return a value as text, without a point in whole numbers."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def _whole(value: Any) -> int:
    """Return a value as a whole number of 64 bits."""
    found = number(value)
    if isinstance(found, float):
        found = math.floor(min(max(found + 0.5, -(2.0**63)), 2.0**63))
    return max(min(found, (1 << 63) - 1), -(1 << 63))


def _remainder(value: Any, divisor: Any) -> int | float | None:
    """Return what is left of a division, with the sign of the value."""
    one, two = number(value), number(divisor)
    if not two:
        return None
    if isinstance(one, int) and isinstance(two, int):
        return abs(one) % abs(two) * (-1 if one < 0 else 1)
    return round(math.fmod(one, two), 10)


def _hexadecimal(value: Any) -> str:
    """Return a number, or the bytes of a text, with the digits 0 to F."""
    if isinstance(value, int | float):
        return f"{_whole(value) & (1 << 64) - 1:X}"
    return (value if isinstance(value, bytes) else str(value).encode()).hex().upper()


def _in_base(value: Any, old: int, new: int) -> str:
    """Return a number that is written in one base in another one, from 2 to 36."""
    if not (2 <= old <= 36 and 2 <= new <= 36):
        raise ValueError("no base")
    left, digits = int(_text(value).partition(".")[0], old), ""
    while left:
        left, digit = divmod(left, new)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return digits or "0"


_SHA2: Final = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _hashed(value: Any, kind: str) -> str:
    """Return the digest of a text as hexadecimal digits."""
    return hashlib.new(kind, _text(value).encode(), usedforsecurity=False).hexdigest()


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


def _days(value: Any) -> int:
    """Return the number of a day; the year 0 begins 365 days before the year 1."""
    return -364 if str(value) == "0000-01-01" else _moment(value).toordinal()


def _day_of_year(year: int, day: int) -> str | None:
    """Return a date by its number in a year, from 1."""
    return (date(year, 1, 1) + timedelta(day - 1)).isoformat() if day > 0 else None


def _seconds_in(value: Any) -> int:
    """Return the seconds of a time of day or, with a sign, of a longer time."""
    match = re.fullmatch(r"(?:\S+ )?(-?)(\d+):(\d\d)(?::(\d\d))?", str(value))
    if match is None:
        raise ValueError("no time")
    seconds = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4] or 0)
    return -seconds if match[1] else seconds


def _as_time(value: Any) -> str:
    """Return seconds as hours, minutes and seconds."""
    seconds = _whole(value)
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'-' * (seconds < 0)}{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


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


_EPOCH: Final = datetime(1970, 1, 1)
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
    "datediff": (2, lambda one, two: _days(one) - _days(two)),
    "makedate": (2, _day_of_year),
    "week_of_year": (1, _of_date(lambda d: d.isocalendar().week)),
    "sec_to_time": (1, _as_time),
    "time_to_sec": (1, _seconds_in),
    "unix_timestamp": (1, lambda value: int((_moment(value) - _EPOCH).total_seconds())),
    "unix_to_time": (1, lambda value: (_EPOCH + timedelta(seconds=value)).isoformat(" ")),
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
    "concat_ws": (-1, lambda mark, *texts: mark.join(_text(t) for t in texts if t is not None)),
    "mysql_text": (1, _text),
    "mysql_substr": (-1, _part),
    "mysql_mod": (2, _remainder),
    "mysql_xor": (2, lambda one, two: _whole(one) ^ _whole(two)),
    "mysql_hex": (1, _hexadecimal),
    "stuff": (4, _replaced),
    "find_in_set": (2, _in_set),
    "conv": (3, _in_base),
    "oct": (1, lambda value: f"{_whole(value):o}"),
    "crc32": (1, lambda value: zlib.crc32(_text(value).encode())),
    "md5": (1, lambda value: _hashed(value, "md5")),
    "sha": (1, lambda value: _hashed(value, "sha1")),
    "sha2": (2, lambda value, size: _hashed(value, _SHA2[size])),
}


_NEEDED: Final = {"concat_ws": slice(1), "field": slice(0)}
"""Which arguments must not be NULL; by default none."""


def _or_null(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ``NULL`` where an argument is, or is no such value."""
    needed = operator.itemgetter(_NEEDED.get(name, slice(None)))

    def call(*values: Any) -> Any:
        if None in needed(values):
            return None
        try:
            return function(*values)
        except (ValueError, TypeError, OverflowError, KeyError):
            return None

    return call


# -- aggregates -----------------------------------------------------------------------------

MOST_JOINED: Final = 1024
"""The longest result of ``GROUP_CONCAT``, in bytes: MySQL's ``group_concat_max_len``."""


class _Joined:
    """``GROUP_CONCAT``: the texts of a group, in an order.

    What is kept is bounded: each text but the empty one has a byte of the result.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[tuple[Any, ...], str]] = []
        self._found, self._mark, self._once = False, ",", False
        self._falls: tuple[Any, ...] = ()

    def step(self, value: Any, mark: str, once: int, *order: Any) -> None:
        """Take a row: a value, what separates values, whether equal ones are joined once.

        The others are the values by which rows are ordered, each with whether it falls.
        """
        if value is None:
            return
        self._found = True
        if not mark and value == "":
            return
        self._mark, self._once, self._falls = mark, bool(once), order[1::2]
        self._rows.append((tuple(map(_rank, order[::2])), _text(value)[:MOST_JOINED]))
        if len(self._rows) > 4 * MOST_JOINED:
            self._rows = self._first()

    def _first(self) -> list[tuple[tuple[Any, ...], str]]:
        """Return the rows with which the result begins, in their order."""
        rows = self._rows
        for place, falls in reversed([*enumerate(self._falls)]):
            rows.sort(key=lambda row: row[0][place], reverse=bool(falls))
        if self._once:
            once: dict[str, tuple[tuple[Any, ...], str]] = {}
            for row in rows:
                once.setdefault(key(row[1]), row)
            rows = list(once.values())
        return rows[:MOST_JOINED]

    def finalize(self) -> str | None:
        """Return the result."""
        found = self._mark.join([text for _, text in self._first()])
        return found.encode()[:MOST_JOINED].decode("utf-8", "ignore") if self._found else None


def _rank(value: Any) -> tuple[int, Any]:
    """Return what rows are ordered by: NULL first, then numbers, then texts."""
    if value is None or isinstance(value, int | float):
        return (value is not None, value or 0)
    return (2, key(_text(value)[:MOST_JOINED]))


def _spread(sample: bool, root: bool) -> type[Any]:
    """Return the aggregate for the variance of numbers, or its root, of a sample or of all."""

    class Spread:
        """Welford's algorithm."""

        def __init__(self) -> None:
            self.count, self.mean, self.squares = 0, 0.0, 0.0

        def step(self, value: Any) -> None:
            """Take a number."""
            if value is not None:
                self.count += 1
                away = number(value) - self.mean
                self.mean += away / self.count
                self.squares += away * (number(value) - self.mean)

        def finalize(self) -> float | None:
            """Return the result, which too few numbers do not have."""
            count = self.count - sample
            return (self.squares / count) ** (0.5 if root else 1.0) if count > 0 else None

    return Spread


class _Single:
    """The value of the only row of a query; a second row is an error."""

    def __init__(self) -> None:
        self._found: list[Any] = []

    def step(self, value: Any) -> None:
        """Take a row."""
        if self._found:
            raise ValueError("a second row")
        self._found.append(value)

    def finalize(self) -> Any:
        """Return the value."""
        return self._found[0] if self._found else None


def _bits(start: int, join: Callable[[int, int], int]) -> type[Any]:
    """Return the aggregate that joins numbers bit by bit."""

    class Bits:
        """The numbers so far, as one."""

        def __init__(self) -> None:
            self.found = start

        def step(self, value: Any) -> None:
            """Take a number."""
            if value is not None:
                self.found = join(self.found, _whole(value))

        def finalize(self) -> int:
            """Return the result."""
            return self.found

    return Bits


_AGGREGATES: Final[dict[str, tuple[int, type[Any]]]] = {
    "mysql_group_concat": (-1, _Joined),
    "mysql_single": (1, _Single),
    "stddev_pop": (1, _spread(sample=False, root=True)),
    "stddev_samp": (1, _spread(sample=True, root=True)),
    "variance_pop": (1, _spread(sample=False, root=False)),
    "variance": (1, _spread(sample=True, root=False)),
    "bitwise_and_agg": (1, _bits(-1, operator.and_)),
    "bitwise_or_agg": (1, _bits(0, operator.or_)),
    "bitwise_xor_agg": (1, _bits(0, operator.xor)),
}
FUNCTIONS: Final = frozenset((*_FUNCTIONS, *_AGGREGATES))
"""The names of the functions."""
