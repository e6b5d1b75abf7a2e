"""The consoles that every command prints to: results to one, errors and progress to the other."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def print_error(message: object) -> None:
    """Print a mistake of the user's in plain words."""
    line = Text.assemble(("error: ", "bold red"), str(message))
    errors.print(line, soft_wrap=True)
