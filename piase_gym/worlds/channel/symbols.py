"""Messages of symbols, as commands, facts, texts and parts of vectors.

A message is written as its symbols with spaces between them: ``"2"``, ``"2 3"``. Everything here is
pure; `kernels` writes the same vectors, and reads the same numbers of messages.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import Command, Param
from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import unescape
from piase_gym.worlds.channel.config import MAX_SYMBOLS, ChannelEnvelope, SymbolConfig
from piase_gym.worlds.channel.heard import OLDEST, EarlierMessage, Heard

SAYING: Final = r"(?: saying [\d ]+?(?: to \S+)?)?"
"""The end of a line that says something, for patterns of synonyms."""


@functools.cache
def words_of(symbols: int, length: int) -> tuple[tuple[int, ...], ...]:
    """Return all messages of up to `length` symbols, in order of length and symbols.

    Example:
        >>> words_of(2, 2)
        ((1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2))
    """
    each = range(1, symbols + 1)
    return tuple(w for n in range(1, length + 1) for w in itertools.product(each, repeat=n))


@functools.lru_cache(maxsize=64)
def sayings(envelope: ChannelEnvelope, names: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """Return the parameters that each message adds to a command, silence first."""
    found: list[dict[str, Any]] = [{}]
    for word in words_of(envelope.symbols, envelope.message_length):
        said = {_name(place): symbol for place, symbol in enumerate(word)}
        found.append(said)
        if envelope.message_to:
            found += [{**said, "agent_id": name} for name in names]
    return tuple(found)


def _name(place: int) -> str:
    """Return the name of the parameter of a symbol in a message."""
    return "symbol" if place == 0 else f"symbol_{place + 1}"


@functools.lru_cache(maxsize=64)
def message_params(envelope: ChannelEnvelope, names: tuple[str, ...]) -> tuple[Param, ...]:
    """Return the parameters of a message that is said with a command: ``saying 2 3 to agent_1``."""
    most = envelope.symbols
    if not most:
        return ()
    found = [
        Param(
            _name(place),
            kind="integer",
            before="" if place else "saying",
            minimum=1,
            maximum=most,
            optional=True,
        )
        for place in range(envelope.message_length)
    ]
    if envelope.message_to:
        found.append(Param("agent_id", choices=names, before="to", optional=True))
    return tuple(found)


def said_with(
    silent: Sequence[Command], envelope: ChannelEnvelope, names: tuple[str, ...]
) -> tuple[Command, ...]:
    """Return commands without a message, then the same commands with each message."""
    return tuple(
        Command(command.verb, {**command.parameters, **more})
        for more in sayings(envelope, names)
        for command in silent
    )


def why_unsayable(command: Command, agent: str, config: SymbolConfig) -> str | None:
    """Say why a message of the envelope cannot be said under the config, or return ``None``."""
    said = command.parameters
    to, symbols = said.get("agent_id"), [v for k, v in said.items() if k.startswith("symbol")]
    if to is not None and not symbols:
        return "Say what it is to be told."
    if to is not None and not config.message_to:
        return "Messages are for all here; leave out who it is for."
    if to == agent:
        return "You cannot say something to yourself."
    if to is not None and to not in config.names():
        return f"There is no {to} here."
    if len(symbols) > config.message_length:
        return f"A message has at most {config.message_length} symbols here."
    if any(symbol > config.symbols for symbol in symbols):
        return f"Symbols go from 1 to {config.symbols} here." if config.symbols else "Nobody hears."
    return None


def highest(envelope: ChannelEnvelope) -> list[int]:
    """Return the largest value of each number of a vector that represents what was heard."""
    alone, dated = envelope.message_to, int(envelope.message_history > 0)
    one = [MAX_SYMBOLS] * envelope.message_length + [1] * alone + [255] * dated
    return one * (envelope.message_bytes // len(one))


@functools.lru_cache(maxsize=64)
def sayable(
    config: SymbolConfig, envelope: ChannelEnvelope, names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return which messages each agent may say under a config, shape (agents, messages + 1)."""
    commands = [Command("say", said) for said in sayings(envelope, names)]
    rows = [[why_unsayable(c, name, config) is None for c in commands] for name in names]
    return np.array(rows, np.bool_)


class ChannelForm:
    """The layout of what is heard in vectors, and its lines in texts, in one config's envelope.

    Attributes:
        length: How many numbers it takes in a vector.
        text_length: The room in a text for symbols that were heard before, in characters.
        high: The largest value of each number in the vector.
    """

    def __init__(self, config: SymbolConfig, envelope: ChannelEnvelope) -> None:
        """Work out the places."""
        self.names, self.words = config.names(envelope.agents), config.speech
        self.symbols, self.most = envelope.symbols, config.symbols
        self.word, self.kept = envelope.message_length, max(1, envelope.message_history)
        self.alone, self.dated = bool(envelope.message_to), envelope.message_history > 0
        self.length, self.high = envelope.message_bytes, highest(envelope)
        line = max(map(len, self.names)) + len(f" told you {OLDEST} steps ago: \n") + 3 * self.word
        self.text_length = envelope.agents * envelope.message_history * line

    def read(self, values: Sequence[float], agent: str) -> Heard:
        """Read what an agent has heard from its part of a vector."""
        now: list[Message] = []
        before: list[EarlierMessage] = []
        size = self.word + self.alone + self.dated
        for start in range(0, self.length, size):
            symbols = [int(value) for value in values[start : start + self.word]]
            if not symbols[0]:
                continue
            alone = self.alone and values[start + self.word]
            steps = int(values[start + size - 1]) - 1 if self.dated else 0
            sender = self.names[start // (size * self.kept)]
            spoken = " ".join(str(symbol) for symbol in symbols if symbol)
            letter = Message(sender, agent if alone else EVERYONE, spoken)
            if steps:
                before.append(EarlierMessage(letter, steps))
            else:
                now.append(letter)
        return Heard(tuple(now), tuple(before))

    def write(self, heard: Heard, vector: NDArray[Any], start: int) -> None:
        """Write what was heard into a vector of zeros from `start` on; words are not written."""
        if not self.length:
            return
        size, taken = self.word + self.alone + self.dated, dict.fromkeys(self.names, 0)
        now = [EarlierMessage(letter, 0) for letter in heard.messages]
        for letter, steps in [*now, *heard.earlier]:
            place = self.names.index(letter.sender) * self.kept + taken[letter.sender]
            taken[letter.sender] += 1
            symbols = [int(symbol) for symbol in letter.message.split()]
            symbols += [0] * (self.word - len(symbols))
            extra = [letter.recipient != EVERYONE] * self.alone + [steps + 1] * self.dated
            q = start + place * size
            vector[q : q + size] = [*symbols, *extra]

    # -- text -----------------------------------------------------------------------------

    def take(self, line: str, agent: str, heard: Heard, require: Require) -> Heard | None:
        """Read a line of what was heard and add it; return ``None`` if it is not such a line.

        Args:
            line: The line.
            agent: The agent to whom the text is shown.
            heard: What was read before.
            require: ``require(whether, line, what is allowed)`` raises an error.
        """
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        sender, private, steps, message = match["who"], match["you"], match["steps"], match["said"]
        others = [name for name in self.names if name != agent]
        require(sender in others, line, f"others are {', '.join(others)}")
        known = [str(symbol) for symbol in range(1, self.symbols + 1)]
        words = message.split(" ")
        if self.words:
            message = unescape(message)
        else:
            fits = all(word in known for word in words)
            require(fits, line, f"symbols are {', '.join(known) or 'none'}")
            require(len(words) <= self.word, line, f"a message has at most {self.word} symbols")
            require(self.alone or not private, line, "messages are for all")
        ago = 0 if steps is None else int(steps)
        require(not ago or self.dated, line, "what was said before is not told")
        require(steps is None or 0 < ago <= OLDEST, line, f"it was 1 to {OLDEST} steps ago")
        letter = Message(sender, agent if private else EVERYONE, message)
        if self.words and not ago:
            return Heard((*heard.messages, letter), heard.earlier)
        count = sum(m.sender == sender for m in [*heard.messages, *(e[0] for e in heard.earlier)])
        require(count < self.kept, line, "more is told of one agent than is kept")
        if ago:
            older = [e for e in heard.earlier if e.letter.sender == sender and e.steps >= ago]
            require(not older, line, "what was heard before comes newest first")
            return Heard(heard.messages, (*heard.earlier, EarlierMessage(letter, ago)))
        last = heard.messages[-1].sender if heard.messages else None
        late = last is None or self.names.index(last) < self.names.index(sender)
        require(late, line, "everybody speaks once, in the order of the agents")
        return Heard((*heard.messages, letter), heard.earlier)


Require = Callable[[bool, str, str], None]
_LINE = re.compile(
    r"(?P<who>\S+) (?:says|(?P<you>tells you|told you)|said)"
    r"(?: (?P<steps>\d+) steps? ago)?: (?P<said>.*)"
)
