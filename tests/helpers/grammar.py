"""Rules of English that every text of a world keeps; each gives the faults that it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|one\b|eu|u\b)[aeiou]|hour|honest", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(an?) (?:<)?([a-z][\w-]*)", re.IGNORECASE)
_DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)
_COUNTED = re.compile(r"(?<![\d.,-])(\d+) (steps?|times?|rounds?|objects?|agents?|rooms?|cells?)\b")
_MATERIAL = re.compile(r"\b(?:made of|out of) (?:golden|wooden|leaden|woollen|earthen|silken)\b")
_EMPTY = re.compile(
    r": \.|, ?(?:[,;]|\.(?!\.))|; ?[;.]|\(\)|\[\]|: $|\b(?:see|has found|hold|touch) \.|\bNone\b"
)
_SPACES = re.compile(r"(?<=\S)  +| (?!\.\.\.)[,.;:](?!\d)")
_END = re.compile(r"[.!?:]['\")]?$")


def faults(text: str, may_end: str = "") -> Iterator[str]:
    """Yield what is wrong in a text, a line each.

    Args:
        text: The text; each of its lines is to be one or more sentences.
        may_end: A regular expression for lines that end without a stop, such as commands.
    """
    for line in text.split("\n"):
        for found in _line_faults(line):
            yield f"{found}: {line!r}"
        if line and not _END.search(line) and not (may_end and re.fullmatch(may_end, line)):
            yield f"no stop at the end: {line!r}"


def _line_faults(line: str) -> Iterator[str]:
    for match in _ARTICLE.finditer(line):
        wanted = "an" if _VOWEL_SOUND.match(match.group(2)) else "a"
        if match.group(1).lower() != wanted and match.group(2) not in ("and", "or"):
            yield f"article {match.group()!r}"
    for match in _DOUBLED.finditer(line):
        if match.group(1).lower() not in ("that", "had"):
            yield f"doubled {match.group()!r}"
    for match in _COUNTED.finditer(line):
        if (match.group(1) == "1") == match.group(2).endswith("s"):
            yield f"number {match.group()!r}"
    for name, rule in (("material", _MATERIAL), ("empty", _EMPTY), ("space", _SPACES)):
        if match := rule.search(line):
            yield f"{name} {match.group()!r}"
