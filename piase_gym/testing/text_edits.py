"""Texts with one number or one noun changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from piase_gym.core.rng import Stream
from piase_gym.core.world import Facts
from piase_gym.testing.values import plain

Words = Mapping[str, Sequence[str]]
MOST = 30
"""Most edits of one text."""
_TOKEN = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])|[A-Za-z][\w.-]*\w|[A-Za-z]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def vocabulary_of(facts: Sequence[Facts]) -> dict[str, list[str]]:
    """Return, for each word that occurs in facts, the words that occur in its place elsewhere."""
    places: dict[str, set[str]] = defaultdict(set)
    for entry in facts:
        for field, value in plain(entry).items():
            if field not in ("hint", "messages", "feedback"):
                for place, word in _words(value, field):
                    places[place].add(word)
    table: dict[str, set[str]] = defaultdict(set)
    for words in places.values():
        for word in words:
            table[word] |= words - {word}
    return {word: sorted(others) for word, others in sorted(table.items()) if others}


def _words(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield the words in a value, each with the kind of place that it stands in."""
    if isinstance(value, str):
        for number, word in enumerate(value.split()):
            if not _NUMBER.fullmatch(word):
                yield f"{place}/{number}", word
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _words(item, f"{place}/{key}")
    elif isinstance(value, list):
        same = len({type(item) for item in value}) == 1 and len(value) > 2
        for number, item in enumerate(value):
            yield from _words(item, f"{place}/*" if same else f"{place}/{number}")


def edits_of(text: str, words: Words, seed: int) -> Iterator[tuple[str, str]]:
    """Yield texts with one number or noun changed, each with a description of the change."""
    dice = Stream(seed)
    tokens = list(_TOKEN.finditer(text))
    dice.shuffle(tokens)
    found = (edit for token in tokens for edit in _edits_at(text, token, words, dice))
    yield from islice(found, MOST)


def _edits_at(
    text: str, token: re.Match[str], words: Words, dice: Stream
) -> Iterator[tuple[str, str]]:
    """Yield the texts that result when one word of a text is replaced by another."""
    word = token.group()
    if _NUMBER.fullmatch(word):
        news = [_shifted(word, 1), _shifted(word, -1)]
    else:
        others = words.get(word, ())
        news = [others[dice.integer(len(others))]] if others else []
    for new in news:
        edited = text[: token.start()] + new + text[token.end() :]
        line = text[: token.start()].count("\n") + 1
        yield edited, f"{word!r} in line {line} replaced by {new!r}"


def _shifted(number: str, by: int) -> str:
    """Return a number whose last digit is one higher or lower, written in the same way."""
    digits = len(number.partition(".")[2])
    return f"{float(number) + by / 10**digits:.{digits}f}" if digits else str(int(number) + by)
