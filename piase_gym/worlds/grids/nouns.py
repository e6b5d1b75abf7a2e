"""What cells of grids are called in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from piase_gym.errors import TextParseError
from piase_gym.worlds.texts.wording import article

YOU: Final = "you"
"""The viewer's own cell in a window."""


@dataclass(frozen=True, eq=False)
class CellNouns:
    """What cells are called.

    Attributes:
        mass: Name of a cell -> its noun, for nouns that take no article.
        plurals: Name of a cell -> its plural, for irregular plurals.
    """

    mass: Mapping[str, str]
    plurals: Mapping[str, str] = field(default_factory=dict)

    def noun(self, name: str, plural: bool = False) -> str:
        """Return the noun for a cell, with its article, or its plural."""
        if name in self.mass:
            return self.mass[name]
        if " facing " in name:
            return name
        return self.plurals.get(name, f"{name}s") if plural else f"{article(name)} {name}"


def matched(
    world: str, pattern: re.Pattern[str], words: str, line: str, allowed: str
) -> re.Match[str]:
    """Return the match of a part of a line, or raise as `require` does."""
    found = pattern.fullmatch(words)
    require(world, found is not None, line, allowed)
    assert found is not None
    return found


def require(world: str, condition: bool, line: str, allowed: str) -> None:
    """Raise a `TextParseError` that shows the line and what is allowed."""
    if not condition:
        raise TextParseError(f"{world}: cannot read {line[:80]!r}; {allowed}")
