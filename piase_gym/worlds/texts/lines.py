"""Reads the lines of a canonical text in order; errors show the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from piase_gym.core.text_encoding import unescape
from piase_gym.errors import TextParseError

HINT = re.compile(r"Hint: (.*)")


class LineReader:
    """The lines of one text, from the first to the last.

    Args:
        world: The world's name, for errors.
        text: The text.
        expected: What errors say about a line where another one was expected.
        left_over: What errors say about a line after the last expected one.

    Attributes:
        lines: The lines.
        place: The number of the next line.
    """

    def __init__(self, world: str, text: str, expected: str = "", left_over: str = "") -> None:
        self.world, self.expected, self.left_over = world, expected, left_over
        self.lines = text.split("\n")
        self.place = 0

    @property
    def line(self) -> str:
        """The next line; empty after the last."""
        return self.lines[self.place] if self.place < len(self.lines) else ""

    def error(self, shown: str, why: str = "") -> TextParseError:
        """Return an error that shows a part of the text."""
        reason = f"; {why}" if why else ""
        return TextParseError(f"{self.world}: cannot read {shown[:80]!r}{reason}")

    def refuse(self, why: str) -> NoReturn:
        """Raise an error that shows the next line."""
        raise self.error(self.line if self.place < len(self.lines) else "the end", why)

    def next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of the next line and go on, or return ``None`` and stay."""
        left = self.place < len(self.lines)
        match = pattern.fullmatch(self.lines[self.place]) if left else None
        self.place += match is not None
        return match

    def need(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return the match of the next line and go on.

        Raises:
            TextParseError: If it does not match.
        """
        match = self.next(pattern)
        if match is None:
            self.refuse(self.expected)
        return match

    def every(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of all next lines of one form."""
        while (match := self.next(pattern)) is not None:
            yield match

    def require(self, condition: bool, why: str) -> None:
        """Refuse the last line unless a condition holds."""
        if not condition:
            self.place -= 1
            self.refuse(why)

    def matched(self, pattern: re.Pattern[str], words: str, why: str) -> re.Match[str]:
        """Return the match of a part of the last line; refuse the line unless it matches."""
        match = pattern.fullmatch(words)
        self.require(match is not None, why)
        assert match is not None
        return match

    def require_end(self) -> None:
        """Refuse any lines that are left."""
        if self.place < len(self.lines):
            self.refuse(self.left_over)

    def name(self, shown: str, known: Mapping[str, str]) -> str:
        """Return the name for its written form; `known` maps written forms to names."""
        if shown not in known:
            raise self.error(shown)
        return known[shown]

    def free(self, pattern: re.Pattern[str]) -> str | None:
        """Return the free text in the next line, if the line is of this form."""
        match = self.next(pattern)
        return None if match is None else unescape(match.group(1))

    def hint(self) -> str | None:
        """Return the hint in the next line, if the line is a hint."""
        return self.free(HINT)
