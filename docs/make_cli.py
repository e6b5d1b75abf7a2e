"""Writes the reference of the command line in `cli.md` from the commands themselves.

Run it with ``python docs/make_cli.py``; a test keeps the page fresh. What stands above the mark is
written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from piase_gym.cli import app

PAGE = Path(__file__).with_name("cli.md")
MARK = "<!-- Below this line: python docs/make_cli.py -->"


def commands(command: Any, path: str = "piase") -> Iterator[tuple[str, Any]]:
    """Yield every command with the words that call it."""
    for name, inner in getattr(command, "commands", {}).items():
        words = f"{path} {name}"
        if hasattr(inner, "commands"):
            yield from commands(inner, words)
        else:
            yield words, inner


def section(words: str, command: Any) -> str:
    """Return what one command does and takes."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join([words, "[OPTIONS]", *(a.metavar or a.name.upper() for a in arguments)])
    rows = [(f"`{option_words(o)}`", meaning(o)) for o in options if not o.hidden]
    table = ["| option | meaning |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
    parts = [f"### `{words}`", f"```text\n{usage}\n```", plain(command.help)]
    return "\n\n".join([*parts, "\n".join(table)] if rows else parts)


def option_words(option: Any) -> str:
    """Return the words of an option, such as ``--config, -c KEY=VALUE``."""
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return (names + value).replace("|", "\\|")


def meaning(option: Any) -> str:
    """Return what an option means, with its default."""
    words = plain(option.help)
    default = option.default
    if callable(default) or default in (None, False, "", [], ()):
        return words
    return f"{words} Default: `{default}`."


def plain(text: str | None) -> str:
    """Return a help text in one line, its first paragraph."""
    return " ".join((text or "").split("\n\n")[0].split())


def reference() -> str:
    """Return the sections of all commands."""
    found = commands(typer.main.get_command(app))
    return "\n\n".join(section(words, command) for words, command in found) + "\n"


def page() -> str:
    """Return the whole page, with the part below the mark written anew."""
    by_hand = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    return f"{by_hand}{MARK}\n\n{reference()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
