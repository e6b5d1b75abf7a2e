"""Which key stands for which command: arrows for directions, digits and letters for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from piase_gym.core.commands import Command, InvalidAction
from piase_gym.core.world import World

WORDS = {
    "up": ("up", "north", "forward"),
    "down": ("down", "south", "backward", "back"),
    "left": ("left", "west"),
    "right": ("right", "east"),
}
"""For each arrow key, the words of a command that it stands for, the likeliest first."""
LETTERS = {"w": "up", "s": "down", "a": "left", "d": "right"}
ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
SPARE = "1234567890bcefgijklmopuvxyz"
"""Keys for other commands; ``h``, ``n``, ``q``, ``r`` and ``t`` are the game's own."""
MAX_TABLE = 64
"""Largest table of indices that is looked at as a whole."""


@dataclass(frozen=True)
class Choice:
    """A command that the person can give with one key.

    Attributes:
        key: ``up``, ``down``, ``left``, ``right``, one character, or nothing if keys ran out.
        command: The command.
        line: The command as a line.
        legal: Whether it is legal now.
    """

    key: str
    command: Command
    line: str
    legal: bool

    @property
    def label(self) -> str:
        """The key as it is shown."""
        return ARROWS.get(self.key, self.key)


class Choices:
    """Lists what one agent can do; where indices mean the same at every step, keys do too."""

    def __init__(self, world: World[Any, Any], agent: int) -> None:
        """Watch over an agent of a world."""
        self.world = world
        self.agent = agent
        self._table: list[Command] | None = None
        self._fixed = world.capabilities.discrete and world.num_actions <= MAX_TABLE

    def now(self) -> list[Choice]:
        """Return the choices of this step: directions first, then the others in their order."""
        legal = self.world.admissible(self.agent)
        commands = self._whole_table() or legal
        keys = dict(_directions(commands, legal))
        taken = set(map(id, keys.values()))
        rows = list(keys.items())
        others = [command for command in commands if id(command) not in taken]
        spare = [*SPARE[: len(others)], *[""] * (len(others) - len(SPARE))]
        rows += zip(spare, others, strict=True)
        return [Choice(key, c, self.world.write(c), c in legal) for key, c in rows]

    def _whole_table(self) -> list[Command]:
        """Return what all indices stand for, or nothing if that depends on the state."""
        if not self._fixed:
            return []
        found = [self.world.command(self.agent, i) for i in range(self.world.num_actions)]
        table = [command for command in found if not isinstance(command, InvalidAction)]
        if len(table) < len(found) or self._table not in (None, table):
            self._fixed = False
            return []
        self._table = table
        return table


def _directions(commands: list[Command], legal: list[Command]) -> list[tuple[str, Command]]:
    """Return the arrow keys and the commands that they stand for."""
    rows = []
    for key, words in WORDS.items():
        found = [c for word in words for c in commands if _way(c) == word]
        if found:
            rows.append((key, next((c for c in found if c in legal), found[0])))
    return rows


def _way(command: Command) -> str:
    """Return the direction in which a command goes, or nothing."""
    values = list(command.parameters.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return "" if values else command.verb.removeprefix("move_").removeprefix("turn_")


def find(choices: list[Choice], key: str) -> Choice | None:
    """Return the choice that a key stands for; ``w``, ``a``, ``s``, ``d`` are arrows too."""
    key = LETTERS.get(key, key)
    return next((choice for choice in choices if choice.key == key and key), None)
