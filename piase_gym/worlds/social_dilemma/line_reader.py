"""Reads the lines of one text in order, for SocialDilemma's parsers; errors show the line."""

from __future__ import annotations

import re

from piase_gym.core.mailbox import Message
from piase_gym.worlds.social_dilemma.config import SocialDilemmaConfig
from piase_gym.worlds.texts import lines as texts

_SAYS = re.compile(r"(\S+) says: (.*)")


class LineReader(texts.LineReader):
    """The lines of one text under a config.

    Attributes:
        config: The config under which the text was shown.
        names: The agents of its envelope.
    """

    def __init__(self, text: str, config: SocialDilemmaConfig) -> None:
        """Begin at the first line."""
        expected, left_over = "another line is expected here", "the text ends before it"
        super().__init__("SocialDilemma", text, expected, left_over)
        self.config = config
        self.names = config.names(config.fixed_envelope().agents)

    def messages(self, agent: str) -> tuple[Message, ...]:
        """Read what the others say."""
        found: list[Message] = []
        symbols = [str(symbol) for symbol in range(1, self.config.symbols + 1)]
        while match := self.next(_SAYS):
            name, symbol = match.groups()
            self.require(name in self.names and name != agent, "others are those who say something")
            self.require(symbol in symbols, f"symbols are {', '.join(symbols) or 'none'}")
            order = [letter.sender for letter in found]
            late = not order or self.names.index(order[-1]) < self.names.index(name)
            self.require(late, "everybody speaks once, in the order of the agents")
            found.append(Message(name, "all", symbol))
        return tuple(found)


def times(count: int, noun: str = "time") -> str:
    """Write ``1 time`` or ``2 times``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
