"""A person as an agent: reads what the world shows as text, and types commands as lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from piase_gym.agents.base import Action, Agent, Feedback, Percept
from piase_gym.core.commands import Command, InvalidAction, merged_lines
from piase_gym.errors import ConfigError, UnsupportedError

HELP = ("?", "help")
SHOWN = 24
"""How many legal commands are listed."""


class HumanAgent(Agent):
    """Asks a person in the terminal.

    ``?`` shows the world's rules and what is possible now. A line that cannot be understood, or is
    not possible now, gets an explanation and costs no step. An empty line is the world's no-op.
    The end of the input (Ctrl-D) stops the simulation, as Ctrl-C does.

    Args:
        agent_id: Its name.
        read: Returns the next line that the person types, and raises `EOFError` (or
            `StopIteration`, as an iterator does) at the end; by default it reads standard input.
        out: Where to write; by default standard output.

    Raises:
        ConfigError: If `read` is no function.
    """

    def __init__(
        self,
        agent_id: str = "agent_0",
        read: Callable[[str], str] | None = None,
        out: TextIO | None = None,
    ) -> None:
        """Set where to read and write."""
        super().__init__(agent_id)
        if read is not None and not callable(read):
            raise ConfigError(f"read is a function that returns the next line, not {read!r:.60}")
        self._read = read or input
        self._out = out
        self._told = False

    def reset(self, seed: int) -> None:
        """Show the opening line again at the first step of the episode."""
        self._told = False

    def act(self) -> Action:
        """Show the observation, and ask until a line is a command that is possible now.

        Raises:
            KeyboardInterrupt: At the end of the input; a simulation then stops cleanly.
            ConfigError: If what was read is no line.
        """
        percept = self.percept
        if not isinstance(percept, Percept):
            raise UnsupportedError("a person acts on a Percept; call perceive first")
        if not self._told:
            self._told = True
            self._write_line(f"Type commands for {percept.agent}; ? tells the rules.")
        self._write_line(f"\n{percept.text}")
        while True:
            command = self._answer(percept)
            if command is not None:
                return command

    def _answer(self, percept: Percept) -> Command | None:
        """Read one line; ``None`` if it was no command that is possible now."""
        try:
            line = self._read(f"{percept.agent}> ")
        except (EOFError, StopIteration):
            raise KeyboardInterrupt from None
        if not isinstance(line, str):
            raise ConfigError(f"a person types a line, and read returned {line!r:.60}")
        line = line.strip()
        world = percept.world
        if line in HELP:
            self._write_line(f"{percept.instructions}\n\nPossible now: {self._possible(percept)}")
            return None
        plan = world.decode(percept.index, world.read(percept.index, line) if line else world.noop)
        if isinstance(plan, InvalidAction):
            self._write_line(plan.message)
            return None
        return plan

    def _possible(self, percept: Percept) -> str:
        """List the legal commands."""
        lines = merged_lines(percept.commands, percept.world.write)
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        return "; ".join(lines[:SHOWN]) + more

    def learn(self, feedback: Feedback) -> None:
        """Show the outcome of the command and the reward."""
        self._write_line(f"({feedback.outcome}, reward {feedback.reward:g})")

    def _write_line(self, text: str) -> None:
        """Write a line."""
        out = self._out or sys.stdout
        out.write(text + "\n")
        out.flush()
