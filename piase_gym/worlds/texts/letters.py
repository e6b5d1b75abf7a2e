"""Letters between agents and from the system: their lines in texts and their place in vectors."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import HINT_CODE, escape, hash_text, one_line, unescape
from piase_gym.core.world import Facts
from piase_gym.worlds.texts.lines import LineReader

SYSTEM = "system"
"""The sender of the messages that events send to agents."""
LETTER_CODE = 2 + HINT_CODE
"""How many numbers a letter takes in a vector: its sender, whether it is to all, and its words."""
_LINE = re.compile(r"([\w.-]+) (?:says|tells ([\w.-]+)): (.*)")
_NEWS = re.compile(r"News for ([\w.-]+): (.*)")


# -- text -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def letter_line(letter: Message) -> str:
    """Write a letter on one line; messages from events are news."""
    if letter.sender == SYSTEM:
        return f"News for {letter.recipient}: {one_line(letter.message)}"
    says = "says" if letter.recipient == EVERYONE else f"tells {letter.recipient}"
    return f"{letter.sender} {says}: {one_line(letter.message)}"


def closing_lines(facts: Facts) -> list[str]:
    """Return the lines that end most texts: what was heard, then the hint."""
    hint = [] if facts.hint is None else [f"Hint: {one_line(facts.hint)}"]
    return [*map(letter_line, facts.messages), *hint]


def native_text(lines: Sequence[str], messages: Iterable[Message], hint: str | None) -> str:
    """Write lines in the wording of others, and below them what was heard and the hint."""
    heard = [f"{letter.sender}: {letter.message}" for letter in messages]
    return escape("\n".join([*lines, *heard, *([] if hint is None else [f"Hint: {hint}"])]))


def read_letters(lines: LineReader, agents: Sequence[str]) -> Iterator[Message]:
    """Read the next lines that are letters between these agents, or news."""
    known: Mapping[str, str] = {name: name for name in agents}
    while True:
        if (match := lines.next(_NEWS)) is not None:
            to = lines.name(match[1], {**known, EVERYONE: EVERYONE})
            yield Message(SYSTEM, to, unescape(match[2]))
        elif (match := lines.next(_LINE)) is not None:
            sender, recipient, message = match.groups()
            to = EVERYONE if recipient is None else lines.name(recipient, known)
            yield Message(lines.name(sender, known), to, unescape(message))
        else:
            return


# -- vectors ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def text_code(text: str | None) -> NDArray[np.float32]:
    """Return the lossy code of a string; the array must not be changed."""
    return hash_text(text).astype(np.float32)


@functools.lru_cache(maxsize=4096)
def text_byte(text: str) -> int:
    """Return one byte that stands for a string; 0 for none."""
    return sum(k * int(c) for k, c in enumerate(text_code(text), 1)) % 255 + 1 if text else 0


def put_last(row: NDArray[np.float32], *texts: str | None) -> None:
    """Write the codes of some texts, one after the other, at the end of a vector of zeros."""
    end = row.size
    for text in reversed(texts):
        if text is not None:
            row[end - HINT_CODE : end] = text_code(text)
        end -= HINT_CODE


def put_letters(
    row: NDArray[np.float32], place: int, letters: Sequence[Message], agents: Sequence[str]
) -> None:
    """Write at most as many letters as there are agents into a vector of zeros from `place` on.

    A sender is written as its number from 1 on; the system comes after all agents.
    """
    for letter in letters[: len(agents)]:
        known = letter.sender in agents
        row[place] = 1 + (agents.index(letter.sender) if known else len(agents))
        row[place + 1] = letter.recipient == EVERYONE
        row[place + 2 : place + LETTER_CODE] = text_code(letter.message)
        place += LETTER_CODE
