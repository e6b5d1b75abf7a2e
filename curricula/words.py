"""The words of a condition: split and checked one by one, before anything is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from piase_gym.errors import CurriculumError

MOST_CHARACTERS = 1000
MOST_WORDS = 200
MOST_LEVELS = 20
MOST_DIGITS = 20
MOST_POWERS = 2
LARGEST_EXPONENT = 10

_WORD = re.compile(
    r"""(?P<blank>\s+)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)
    |(?P<string>"[^"\\\n]*"|'[^'\\\n]*')
    |(?P<sign>&&|\|\||\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\],!])""",
    re.VERBOSE | re.ASCII,
)
_LITERALS = ("true", "false", "null")
_RESERVED = ("and", "or", "not", "in", *_LITERALS)
_FORBIDDEN = ("if", "elif", "else", "for", "while", "inf", "nan")
READ_AS = {"&&": "and", "||": "or", "!": "not"}
ALLOWED = (
    "a condition compares step_attempts and metrics, such as "
    "'step_attempts >= 3 and success_rate < 0.5'"
)


class Word(NamedTuple):
    """A word of a condition: its kind, how it is written, and its column from 1."""

    kind: str
    text: str
    column: int


def read_words(text: object) -> list[Word]:
    """Split a condition into words, and refuse what it must not have.

    Raises:
        CurriculumError: If it is too long, too deep, or has a word that is not allowed.
    """
    if not isinstance(text, str):
        raise CurriculumError(f"a condition is a string, not {type(text).__name__}; {ALLOWED}")
    if len(text) > MOST_CHARACTERS:
        raise CurriculumError(
            f"the condition has {len(text)} characters; at most {MOST_CHARACTERS} are allowed"
        )
    words = list(_split(text))
    if not words:
        raise CurriculumError(f"the condition is empty; {ALLOWED}")
    if len(words) > MOST_WORDS:
        raise CurriculumError(
            f"the condition has {len(words)} words; at most {MOST_WORDS} are allowed"
        )
    _check_levels(words)
    _check_powers(words)
    _check_calls(words)
    return words


def _split(text: str) -> Iterator[Word]:
    """Yield the words of a condition."""
    index = 0
    while index < len(text):
        match = _WORD.match(text, index)
        if match is None:
            raise CurriculumError(
                f"column {index + 1}: {text[index : index + 20]!r} cannot be read; {ALLOWED}"
            )
        kind, word = str(match.lastgroup), match.group()
        if kind == "number":
            _check_number(word, index + 1)
        if kind == "name" and word in _RESERVED:
            kind = "word"
        if kind == "name" and word in _FORBIDDEN:
            raise CurriculumError(f"column {index + 1}: {word!r} is not allowed; {ALLOWED}")
        if kind != "blank":
            yield Word(kind, word, index + 1)
        index = match.end()


def _check_number(word: str, column: int) -> None:
    """Refuse numbers that nobody means."""
    digits, _, exponent = word.lower().partition("e")
    if len(digits) > MOST_DIGITS or abs(int(exponent[:5] or 0)) > MOST_DIGITS or len(exponent) > 5:
        raise CurriculumError(
            f"column {column}: the number {word[:30]} is too long; at most {MOST_DIGITS} digits"
        )


def _check_levels(words: list[Word]) -> None:
    """Refuse what is nested too deeply; signs before a value nest too."""
    level = run = 0
    for word in words:
        level += (word.text in "([") - (word.text in ")]")
        run = run + 1 if word.text in ("!", "not", "-") else 0
        if level + run > MOST_LEVELS:
            raise CurriculumError(
                f"column {word.column}: the condition is nested deeper than {MOST_LEVELS} levels"
            )


def _check_powers(words: list[Word]) -> None:
    """Refuse powers that could grow beyond every measure."""
    places = [n for n, word in enumerate(words) if word.text == "**"]
    if len(places) > MOST_POWERS:
        raise CurriculumError(
            f"column {words[places[-1]].column}: {len(places)} powers; "
            f"at most {MOST_POWERS} are allowed"
        )
    for n in places:
        exponent = words[n + 1].text if n + 1 < len(words) else ""
        if not exponent.isdecimal() or int(exponent) > LARGEST_EXPONENT:
            raise CurriculumError(
                f"column {words[n].column}: an exponent is a whole number from 0 to "
                f"{LARGEST_EXPONENT}, not {exponent!r}"
            )


def _check_calls(words: list[Word]) -> None:
    """Refuse calls and indices: a bracket that opens right after a value."""
    for before, word in pairwise(words):
        value = before.kind in ("name", "number", "string") or before.text in (")", "]")
        if value and word.text in ("(", "["):
            raise CurriculumError(
                f"column {word.column}: calls and indices are not allowed; {ALLOWED}"
            )
