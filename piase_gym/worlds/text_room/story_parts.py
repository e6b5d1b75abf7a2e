"""What all parts of a story have in common: words, names, settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, field_validator

from piase_gym.core.shorthand import Lenient

VERBS = ("look", "go", "take", "drop", "put", "open", "close", "unlock", "use", "read", "search")
"""The verbs that interactions and `action_taken` triggers can name, beside those below."""
SPOKEN = ("say", "tell", "give", "inventory", "wait")

Direction = Literal[
    "north",
    "east",
    "south",
    "west",
    "northeast",
    "southeast",
    "southwest",
    "northwest",
    "up",
    "down",
    "in",
    "out",
]
DIRECTIONS: tuple[str, ...] = get_args(Direction)
Name = Annotated[
    str, Field(pattern=r"^[^\W\d_][\w' -]*$", max_length=40, description="letters, digits, _ - '")
]
"""The name of a room, thing, flag, ...; it starts with a letter, in any alphabet."""
Prose = Annotated[str, Field(max_length=2000)]


def _one_line(text: object) -> object:
    """Join the lines of a description."""
    return " ".join(text.split()) if isinstance(text, str) else text


class Part(Lenient):
    """Common settings of the parts of a story."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return itself: a story never changes, and copies of a world share it."""
        return self

    @field_validator("description", "read_text", "content", mode="before", check_fields=False)
    @classmethod
    def _join(cls, text: object) -> object:
        return _one_line(text)


def as_list(value: Any) -> Any:
    """Read one entry as a list of one."""
    return [value] if isinstance(value, dict | Part) else value
