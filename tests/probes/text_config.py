"""What can be set about a TextProbe, and the dict that its house is built from."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from piase_gym.core.config import Envelope, WorldConfig

HOUSE: dict[str, dict[str, Any]] = {
    "rooms": {
        "cellar": {"up": ("stairway", "hall")},
        "hall": {"down": ("stairway", "cellar")},
        "garden": {},
    },
    "items": {  # item -> the rooms in which it may lie at the start
        "jewel": ("garden",),
        "key": ("cellar", "hall"),
        "vial": ("cellar", "hall"),
        "lamp": ("cellar", "hall", "garden"),
        "rope": ("cellar", "hall", "garden"),
        "coin": ("cellar", "hall", "garden"),
        "book": ("cellar", "hall", "garden"),
    },
    "door": {"east": "west", "north": "south", "west": "east"},  # side of the hall -> and back
}
ROOMS = tuple(HOUSE["rooms"])
ITEMS = tuple(HOUSE["items"])
MOODS = ("damp", "dusty", "bright")
DIRECTIONS = ("down", "east", "north", "south", "up", "west")
PASSAGES = ("stairway", "locked door", "open door")
PHRASES = ("hello", "I have the key.", "The door is open!")
TRAP, TREASURE, KEY = "vial", "jewel", "key"
LEAST_ITEMS = 3
MAX_AGENTS = 4


class TextProbeEnvelope(Envelope):
    """The sizes that fix TextProbe's spaces."""

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="most agents")
    items: int = Field(LEAST_ITEMS, ge=LEAST_ITEMS, le=len(ITEMS), description="most items")

    @property
    def commands(self) -> int:
        """The most commands that can be legal at once.

        ``look``, ``inventory`` and ``wait``; two ways out; each item can be taken or dropped, and
        may fit the door; the vial can be drunk; and there are the phrases.
        """
        return 3 + 2 + 2 * self.items + 1 + len(PHRASES)


class TextProbeConfig(WorldConfig):
    """Everything about a TextProbe that can be set."""

    world: ClassVar[str] = "TextProbe"

    agents: int = Field(1, ge=1, le=MAX_AGENTS, description="how many agents take part")
    items: int = Field(4, ge=LEAST_ITEMS, le=len(ITEMS), description="how many items there are")
    join_at: tuple[int, ...] = Field((), description="agent k enters after that many steps")
    slip: float = Field(0.0, ge=0.0, le=1.0, description="probability that taking an item fails")
    envelope: TextProbeEnvelope | None = Field(None, description="largest sizes")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.join_at) > self.agents:
            raise ValueError(f"join_at has {len(self.join_at)} entries for {self.agents} agents")
        if any(step < 0 for step in self.join_at):
            raise ValueError("join_at counts steps from 0")
        if 0 not in self.entries:
            raise ValueError("join_at must let at least one agent in at step 0")
        return self

    @property
    def entries(self) -> tuple[int, ...]:
        """`join_at`, one entry for each agent."""
        return self.join_at + (0,) * (self.agents - len(self.join_at))

    def sizes(self) -> TextProbeEnvelope:
        """Return this config's own sizes."""
        return TextProbeEnvelope(agents=self.agents, items=self.items)
