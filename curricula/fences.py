"""Detects JSON files that were left in the block of Markdown that they came in."""

from __future__ import annotations

from pathlib import Path

from piase_gym.core.files import open_regular


def fence_problem_in_file(path: Path) -> str | None:
    """Return the error message for a fenced file, or ``None``."""
    try:
        with open_regular(path) as stream:
            return fence_problem_in_text(stream.read(200).decode("utf-8", "replace"), str(path))
    except (OSError, ValueError):
        return None


def fence_problem_in_text(text: str, source: str) -> str | None:
    """Return the error message for a fenced text, or ``None``."""
    first = text.lstrip("\ufeff \t\r\n").split("\n")[0].strip()
    if not first.startswith(("```", "~~~")):
        return None
    line = text[: text.index(first)].count("\n") + 1
    return (
        f"{source}:{line}:1: the file is a block of Markdown ({first[:20]}), not JSON; "
        "remove the line of the fence at its start and the one at its end"
    )
