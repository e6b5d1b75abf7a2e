"""The config keys of the channel between agents, and the sizes that they fix."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Self

import numpy as np
from pydantic import Field, model_validator

from piase_gym.core.commands import Param, Verb
from piase_gym.core.config import Envelope, WorldConfig

MAX_SYMBOLS: Final = 16
MAX_LENGTH: Final = 4
"""The largest number of symbols in a message."""
MAX_DELAY: Final = 64
"""The largest number of steps that a message of symbols can be on its way."""
MAX_HISTORY: Final = 16
MAX_MESSAGES: Final = 1024
"""The largest number of different pairs of message and recipient that an agent can choose from."""
SPOKEN: Final = ("say", "tell")
"""The verbs for speaking in words."""
Topology = tuple[tuple[Annotated[int, Field(ge=0, le=1)], ...], ...]


def speaking_verbs(
    agents: tuple[str, ...],
    to_all: str = "speak to everyone",
    to_one: str = "speak to one agent",
) -> tuple[Verb, Verb]:
    """Return the verbs for speaking in words.

    Args:
        agents: The names of the agents.
        to_all: What ``say`` does.
        to_one: What ``tell`` does.
    """
    words = Param("message", "text", description="what to say")
    listener = Param("agent_id", choices=agents, description="name of an agent")
    return Verb("say", to_all, (words,)), Verb("tell", to_one, (listener, words))


def history_field() -> Any:
    """Return the field `message_history`."""
    return Field(
        0,
        ge=0,
        le=MAX_HISTORY,
        description="how many of each other agent's latest messages are shown, with their age; 0: "
        "only those of this step",
    )


class MessageConfig(WorldConfig):
    """The keys that every world with messages has.

    Attributes:
        has_places: Whether agents of the world have positions, so that a range has a meaning.
        length_unit: The unit of the range.
    """

    has_places: ClassVar[bool] = False
    length_unit: ClassVar[str] = "cells"
    later: ClassVar[tuple[str, ...]] = (
        *WorldConfig.later,
        *"message_cost message_range message_topology".split(),
    )

    message_delay: int = Field(0, ge=0, le=1000, description="steps until a message is heard")
    message_loss: float = Field(
        0.0, ge=0.0, le=1.0, description="chance that a listener does not get a message"
    )
    message_cost: float = Field(
        0.0, ge=0.0, le=1000.0, description="what a message costs its sender"
    )
    message_range: float | None = Field(
        None,
        ge=0.0,
        description="how far a message is heard, measured when it arrives; default: everywhere",
    )
    message_topology: Topology | None = Field(
        None,
        description="who hears whom: one row per sender, with 1 for each agent that hears it, else "
        "0; default: everybody hears everybody",
    )

    @model_validator(mode="after")
    def _check_messages(self) -> Self:
        rows, count = self.message_topology, self.agents
        if rows is not None and [len(row) for row in rows] != [count] * count:
            shape = f"rows of {', '.join(str(len(row)) for row in rows) or 'nothing'}"
            raise ValueError(
                f"message_topology has {shape} entries; with agents={count} it has {count} rows of "
                f"{count}, of 0 and 1"
            )
        if self.message_range is not None and not self.has_places:
            raise ValueError(
                "message_range needs agents that are somewhere; leave it out, or say by "
                "message_topology who hears whom"
            )
        return self

    def hears(self, sender: int, recipient: int) -> bool:
        """Return whether the recipient may hear the sender, by `message_topology`."""
        rows = self.message_topology
        if rows is None or max(sender, recipient) >= len(rows):
            return True
        return bool(rows[sender][recipient])

    def listeners(self) -> list[int]:
        """Return an integer for each agent, with a bit per listener, by `message_topology`."""
        everyone = range(self.agents)
        return [sum(1 << b for b in everyone if self.hears(a, b)) for a in everyone]

    def reaches(self, one: Any, other: Any) -> bool:
        """Return whether two places are within `message_range`, in cells on a grid."""
        most = self.message_range
        return most is None or float(np.abs(np.subtract(one, other)).max()) <= most


class ChannelEnvelope(Envelope):
    """The sizes that a channel of symbols fixes."""

    later: ClassVar[tuple[str, ...]] = (
        *"message_length message_delay message_history message_to message_rules".split(),
    )

    symbols: int = Field(0, ge=0, le=MAX_SYMBOLS, description="most symbols of the channel")
    message_length: int = Field(1, ge=1, le=MAX_LENGTH, description="most symbols in a message")
    message_delay: int = Field(0, ge=0, le=MAX_DELAY, description="most steps on the way")
    message_history: int = Field(0, ge=0, le=MAX_HISTORY, description="most messages kept")
    message_to: int = Field(0, ge=0, le=1, description="1: messages can be for one agent")
    message_rules: int = Field(0, ge=0, le=1, description="1: messages can be lost or unheard")

    @property
    def routed(self) -> bool:
        """Whether messages need more room than for what each agent says now."""
        more = self.message_length > 1 or self.message_delay or self.message_history
        return self.symbols > 0 and bool(more or self.message_to or self.message_rules)

    @property
    def num_messages(self) -> int:
        """How many different messages there are, without silence."""
        length = self.message_length
        ways = 1 + self.agents * self.message_to
        count: int = sum(self.symbols**n for n in range(1, length + 1))
        return ways * count

    @property
    def message_bytes(self) -> int:
        """How many numbers of a vector represent what the agents say."""
        if not self.symbols:
            return 0
        one = self.message_length + self.message_to + (self.message_history > 0)
        return self.agents * max(1, self.message_history) * one


class SymbolConfig(MessageConfig):
    """The keys of worlds in which agents say symbols, or words where `speech` allows it."""

    later: ClassVar[tuple[str, ...]] = (
        *MessageConfig.later,
        *"message_delay message_loss message_length message_to message_history speech".split(),
    )

    symbols: int = Field(
        0, ge=0, le=MAX_SYMBOLS, description="symbols that agents can say to all others; 0: none"
    )
    speech: bool = Field(
        False, description="whether agents can also speak in words; not available in batches"
    )
    message_delay: int = Field(0, ge=0, le=MAX_DELAY, description="steps until a message is heard")
    message_length: int = Field(1, ge=1, le=MAX_LENGTH, description="most symbols in a message")
    message_to: bool = Field(
        False, description="whether symbols can also be said to one agent alone"
    )
    message_history: int = history_field()

    @model_validator(mode="after")
    def _check_channel(self) -> Self:
        fields = type(self).model_fields
        given = [name for name in KEYS if getattr(self, name) != fields[name].get_default()]
        if given and not (self.symbols or self.speech):
            raise ValueError(f"{given[0]} needs a channel; give symbols=... or speech=True")
        if self.symbols and self.speech:
            raise ValueError("a channel carries symbols or words: give symbols=... or speech=True")
        if self.speech and (strange := [name for name in given if name in OF_SYMBOLS]):
            raise ValueError(f"{strange[0]} is about symbols, not words; leave it out, or speech")
        count = ChannelEnvelope(agents=self.agents, **self.channel_sizes()).num_messages
        if count > MAX_MESSAGES:
            raise ValueError(
                f"symbols={self.symbols}, message_length={self.message_length} and "
                f"message_to={self.message_to} make {count} messages; at most {MAX_MESSAGES}"
            )
        return self

    def channel_sizes(self) -> dict[str, int]:
        """Return the sizes of the channel, as fields of an envelope."""
        if not self.symbols:
            return {"message_history": self.message_history} if self.message_history else {}
        rules = self.message_loss > 0.0 or self.message_topology or self.message_range is not None
        return {
            "symbols": self.symbols,
            "message_length": self.message_length,
            "message_delay": self.message_delay,
            "message_history": self.message_history,
            "message_to": int(self.message_to),
            "message_rules": int(bool(rules)),
        }


KEYS: Final = (
    "message_delay message_loss message_cost message_range message_topology message_length "
    "message_to message_history"
).split()
"""The keys that need a channel."""
OF_SYMBOLS: Final = ("message_length", "message_to")
