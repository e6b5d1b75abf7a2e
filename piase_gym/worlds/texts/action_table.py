"""Commands by index: one table for all episodes of a config, with the line of each command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from piase_gym.core.commands import Command, Verb, write_command


@dataclass(frozen=True)
class ActionTable:
    """The commands that indices stand for.

    Attributes:
        commands: The command of each index, or ``None``.
        lines: The line of text of each command, or "".
        numbers: Line of text -> index.
        places: The index of each command object of this table, by its `id`.
    """

    commands: tuple[Command | None, ...]
    lines: tuple[str, ...]
    numbers: dict[str, int]
    places: dict[int, int]

    @classmethod
    def of(
        cls,
        size: int,
        rows: Iterable[tuple[int, Command]],
        verbs: Sequence[Verb],
        as_text: Callable[[Command], Command] = lambda command: command,
    ) -> Self:
        """Make a table.

        Args:
            size: How many indices it has.
            rows: The indices that stand for a command.
            verbs: The grammar.
            as_text: Returns a command with the names that its line shows.
        """
        commands: list[Command | None] = [None] * size
        for index, command in rows:
            commands[index] = command
        lines = tuple("" if row is None else write_command(as_text(row), verbs) for row in commands)
        numbers = {line: k for k, line in enumerate(lines) if line}
        places = {id(row): k for k, row in enumerate(commands) if row is not None}
        return cls(tuple(commands), lines, numbers, places)

    def __deepcopy__(self, _memo: Any) -> Self:
        """Return itself: a table never changes, and a copy would not know its own commands."""
        return self

    def place(self, command: Command) -> int | None:
        """Return the index of a command object of this table, or ``None`` for any other object."""
        index = self.places.get(id(command))
        return index if index is not None and self.commands[index] is command else None
