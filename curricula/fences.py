"""Files that are fenced like a block of Markdown, as chats write them: one clear complaint."""

from __future__ import annotations

from pathlib import Path


def in_file(path: Path) -> str | None:
    """Return the complaint about a fenced file, or ``None``."""
    try:
        if not path.is_file():
            return None
        with path.open(encoding="utf-8", errors="replace") as stream:
            return in_text(stream.read(200), str(path))
    except (OSError, ValueError):
        return None


def in_text(text: str, source: str) -> str | None:
    """Return the complaint about a fenced text, or ``None``."""
    first = text.lstrip("\ufeff \t\r\n").split("\n")[0].strip()
    if not first.startswith(("```", "~~~")):
        return None
    line = text[: text.index(first)].count("\n") + 1
    return (
        f"{source}:{line}:1: the file is a block of Markdown ({first[:20]}), not JSON; "
        "remove the line of the fence at its start and the one at its end"
    )
