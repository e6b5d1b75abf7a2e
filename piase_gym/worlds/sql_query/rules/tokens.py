"""SQL as words: enough to find its clauses, for any dialect, without a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_TOKEN: Final = re.compile(
    r"""
    (?P<gap>\s+|--[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<quoted>'(?:[^'\\]|''|\\.)*(?:'|\Z)|"(?:[^"\\]|""|\\.)*(?:"|\Z)|`[^`]*(?:`|\Z))
    |(?P<word>[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\d[\w.]*)
    |(?P<sign>[<>!]=|<>|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(sql: str) -> list[str]:
    """Return the words and signs of a statement, words in lower case.

    Quoted strings and names stay as they are; spaces, comments, and brackets and semicolons around
    the whole statement are left out.
    """
    found = []
    for match in _TOKEN.finditer(sql):
        if match.lastgroup != "gap":
            text = match.group()
            found.append(text.lower() if match.lastgroup == "word" else text)
    while found and found[-1] == ";":
        found.pop()
    while found[:1] == ["("] and closing(found, 0) == len(found) - 1:
        found = found[1:-1]
    return found


def closing(words: Sequence[str], start: int) -> int:
    """Return where the bracket that opens at `start` closes; the end if it does not."""
    depth = 0
    for place in range(start, len(words)):
        depth += (words[place] == "(") - (words[place] == ")")
        if depth == 0:
            return place
    return len(words)


def outside(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that are outside all brackets."""
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth == 0 and word != ")":
            yield word


def quoted(value: object) -> str:
    """Return a value as it is written in SQL."""
    text = str(value).replace("'", "''")
    return f"'{text}'" if isinstance(value, str) else text


def is_ordered(sql: str) -> bool:
    """Return whether a query asks for an order of its rows, by an outer ``ORDER BY``."""
    return "order" in outside(tokens(sql))
