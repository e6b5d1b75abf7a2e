"""What agents of text worlds have heard before: ``message_history`` as an addition to their views.

What was heard is part of the mailboxes, and so of snapshots and digests; here it is only shown, in
the lines and the numbers that every world uses for words (see `heard`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.additions import Addition, PerceivedWorld
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import unescape
from piase_gym.errors import TextParseError
from piase_gym.worlds.channel.heard import (
    EARLIER_CODE,
    OLDEST,
    EarlierMessage,
    code_of_earlier,
    heard_before,
    heard_lines,
)

_LINE = re.compile(r"(\S+) (said|told you) ([1-9]\d{0,2}) steps? ago: (.*)")


class MessageHistory(Addition):
    """The last messages that each agent has heard from each of the others.

    Args:
        agents: The names of the agents.
        kept: How many messages of each sender there is room for.
        longest: The largest number of characters in a message.
    """

    field: ClassVar[str] = "earlier"
    setting: ClassVar[str] = "message_history=0"
    prompt: ClassVar[str] = ""

    def __init__(self, agents: Sequence[str], kept: int, longest: int) -> None:
        super().__init__(agents)
        self.kept, self._longest = kept, longest

    @classmethod
    def of(cls, world: Any) -> Self:
        """Return the addition to a world, with room for what its envelope allows."""
        kept: int = world.config.fixed_envelope().message_history
        return cls(world.agents, kept, world.max_message)

    @property
    def length(self) -> int:
        """How many numbers it takes in a vector."""
        return len(self.agents) * self.kept * EARLIER_CODE

    @property
    def text_length(self) -> int:
        """How many characters it takes in a text at most; each may be escaped as ten."""
        line = 60 + max(map(len, self.agents)) + 10 * self._longest
        return len(self.agents) * self.kept * line

    def shown(self, world: PerceivedWorld, agent: int) -> tuple[EarlierMessage, ...]:
        """Return what an agent has heard, newest first for each sender."""
        return () if world.mailboxes is None else heard_before(world.mailboxes, self.agents[agent])

    @staticmethod
    def lines(view: Sequence[EarlierMessage]) -> list[str]:
        """Write what was heard, one line per message."""
        return heard_lines((), view)

    def code(self, view: Sequence[EarlierMessage]) -> NDArray[np.float64]:
        """Return the numbers of what was heard; see `heard.code_of_earlier`."""
        return code_of_earlier(view, self.agents, self.kept).astype(np.float64)


def parse_heard(text: str, config: Any, parse: Callable[[str, Any], Any]) -> Any:
    """Read a text that ends with what its agent has heard before.

    Args:
        text: The text.
        config: The config under which it was shown.
        parse: The function that reads the world's own text, without these lines.

    Raises:
        TextParseError: If the text ends in other lines, or the rest is not a text of the world.
    """
    sizes = config.fixed_envelope()
    names, lines = config.names(sizes.agents), text.split("\n")
    most = len(names) * sizes.message_history
    first = len(lines)
    while first and len(lines) - first < most and _sender(lines[first - 1]) in names:
        first -= 1
    facts = parse("\n".join(lines[:first]), config)
    heard = tuple(read_heard(lines[first:], facts.agent, names, sizes.message_history))
    return replace(facts, earlier=heard)


def _sender(line: str) -> str | None:
    """Return the sender in a line of what was heard before, or ``None`` for any other line."""
    match = _LINE.fullmatch(line)
    return None if match is None else match[1]


def read_heard(
    lines: Sequence[str], agent: str, names: Sequence[str], kept: int
) -> Iterator[EarlierMessage]:
    """Read lines of what an agent has heard before.

    Raises:
        TextParseError: If they are not as they would have been written.
    """
    last, count = (-1, 0), 0
    for line in lines:
        match = _LINE.fullmatch(line)
        known = match is not None and match[1] in names and match[1] != agent
        if match is None or not known or int(match[3]) > OLDEST:
            raise TextParseError(f"cannot read {line[:80]!r} of what was heard before")
        place = names.index(match[1]), int(match[3])
        count = count + 1 if place[0] == last[0] else 1
        found = EarlierMessage(
            Message(match[1], EVERYONE if match[2] == "said" else agent, unescape(match[4])),
            place[1],
        )
        if place < last or count > kept or heard_lines((), [found]) != [line]:
            raise TextParseError(
                f"{line[:80]!r} of what was heard before stands in order of senders and steps, "
                f"{kept} of each"
            )
        last = place
        yield found
