"""Reads the lines of one text in order, for SocialDilemma's parsers; errors show the line."""

from __future__ import annotations

import re
from typing import NoReturn

from piase_gym.core.mailbox import Letter
from piase_gym.core.text_encoding import unescape
from piase_gym.errors import TextParseError
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig

_SAYS = re.compile(r"(\S+) says: (.*)")
_HINT = re.compile(r"Hint: (.*)")


class LineReader:
    """The lines of one text, from the first to the last.

    Attributes:
        config: The config under which the text was shown.
        names: The agents of its envelope.
        place: The number of the next line.
    """

    def __init__(self, text: str, config: SocialDilemmaConfig) -> None:
        """Begin at the first line."""
        self.lines = text.split("\n")
        self.place = 0
        self.config = config
        self.names = config.names(config.fixed_envelope().agents)

    @property
    def line(self) -> str:
        """The next line; empty after the last."""
        return self.lines[self.place] if self.place < len(self.lines) else ""

    def refuse(self, why: str) -> NoReturn:
        """Raise an error that shows the next line."""
        line = self.line if self.place < len(self.lines) else "the end"
        raise TextParseError(f"SocialDilemma: cannot read {line[:80]!r}; {why}")

    def next(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of the next line and go on, or None."""
        match = pattern.fullmatch(self.line)
        self.place += match is not None
        return match

    def need(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Return the match of the next line and go on.

        Raises:
            TextParseError: If it does not match.
        """
        match = self.next(pattern)
        if match is None:
            self.refuse("another line is expected here")
        return match

    def require(self, condition: bool, why: str) -> None:
        """Refuse the last line unless a condition holds."""
        if not condition:
            self.place -= 1
            self.refuse(why)

    def require_end(self) -> None:
        """Refuse what is left."""
        if self.place < len(self.lines):
            self.refuse("the text ends before it")

    def messages(self, agent: str) -> tuple[Letter, ...]:
        """Read what the others say."""
        found: list[Letter] = []
        symbols = [str(symbol) for symbol in range(1, self.config.symbols + 1)]
        while match := self.next(_SAYS):
            name, symbol = match.groups()
            self.require(name in self.names and name != agent, "others are those who say something")
            self.require(symbol in symbols, f"symbols are {', '.join(symbols) or 'none'}")
            order = [letter.sender for letter in found]
            late = not order or self.names.index(order[-1]) < self.names.index(name)
            self.require(late, "everybody speaks once, in the order of the agents")
            found.append(Letter(name, "all", symbol))
        return tuple(found)

    def hint(self) -> str | None:
        """Read the hint."""
        match = self.next(_HINT)
        return None if match is None else unescape(match.group(1))


def times(count: int, noun: str = "time") -> str:
    """Write ``1 time`` or ``2 times``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
