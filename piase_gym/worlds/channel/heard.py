"""What an agent has heard, now and before: as facts, as lines of texts and as hashed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.mailbox import EVERYONE, ChannelRules, Hears, Mailbox, Message
from piase_gym.core.text_encoding import HINT_CODE, hash_text, one_line
from piase_gym.worlds.texts.wording import counted

OLDEST: Final = 254
"""How many steps ago the oldest message that can be shown was heard."""


class EarlierMessage(NamedTuple):
    """A message that was heard before.

    Attributes:
        letter: The message.
        steps: How many steps ago it was heard.
    """

    letter: Message
    steps: int


class Heard(NamedTuple):
    """What an agent has heard: now, and before."""

    messages: tuple[Message, ...]
    earlier: tuple[EarlierMessage, ...] = ()


def new_mail(config: Any, agents: Sequence[str], longest: int, hears: Hears) -> Mailbox:
    """Return empty mailboxes under the rules of a config, for messages of at most `longest`."""
    history = getattr(config, "message_history", 0)
    rules = ChannelRules(config.message_delay, longest, config.message_loss, history=history)
    return Mailbox(agents, rules, hears)


def heard_before(mail: Mailbox, name: str) -> tuple[EarlierMessage, ...]:
    """Return the earlier messages that an agent is shown."""
    return tuple(EarlierMessage(*entry) for entry in mail.recent[name] if 0 < entry[1] <= OLDEST)


EARLIER_CODE: Final = 2 + HINT_CODE
"""How many numbers of a vector represent words that were heard before: the steps since then,
whether they were to all, and the words, hashed."""


def code_of_earlier(
    earlier: Iterable[EarlierMessage], names: Sequence[str], kept: int
) -> NDArray[np.uint8]:
    """Return the numbers of words that were heard before: `kept` places for each sender."""
    found = np.zeros((len(names), kept, EARLIER_CODE), np.uint8)
    taken = dict.fromkeys(names, 0)
    for letter, steps in earlier:
        row = found[names.index(letter.sender), taken[letter.sender]]
        row[:2], row[2:] = (steps, letter.recipient == EVERYONE), hash_text(letter.message)
        taken[letter.sender] += 1
    return found.ravel()


def heard_lines(
    messages: Iterable[Message], earlier: Iterable[EarlierMessage] = (), hint: str | None = None
) -> list[str]:
    """Write what was heard, one line per message, and a hint."""
    found = [
        f"{letter.sender} {'says' if letter.recipient == EVERYONE else 'tells you'}: "
        f"{one_line(letter.message)}"
        for letter in messages
    ]
    for letter, steps in earlier:
        verb = "said" if letter.recipient == EVERYONE else "told you"
        said = f"{letter.sender} {verb} {counted(steps, 'step')} ago"
        found.append(f"{said}: {one_line(letter.message)}")
    return found if hint is None else [*found, f"Hint: {one_line(hint)}"]
