"""What agents of a GridWorld can say and do: the grammar, and the command of every index."""

from __future__ import annotations

import functools

from piase_gym.core.commands import Command, Param, Verb

DIRECTIONS = ("up", "down", "left", "right")


def grammar_of(symbols: int) -> tuple[Verb, ...]:
    """Return the verbs, each with a message if there is a channel."""
    saying = Param(
        "symbol", kind="integer", before="saying", minimum=1, maximum=symbols, optional=True
    )
    message = (saying,) if symbols else ()
    return (
        Verb(
            "move",
            "turn that way and step if the cell is free",
            (Param("direction", choices=DIRECTIONS), *message),
            ("go", "walk"),
        ),
        Verb("stay", "do nothing", message, ("wait", "noop")),
        Verb(
            "interact",
            "pick up, drop, open, close, unlock, switch or lift what is ahead",
            message,
            ("use", "toggle"),
        ),
    )


@functools.cache
def commands_of(symbols: int) -> tuple[Command, ...]:
    """Return the command of every index: symbol * 6 + action."""
    silent = [
        *(Command("move", {"direction": direction}) for direction in DIRECTIONS),
        Command("stay"),
        Command("interact"),
    ]
    said = [{}, *({"symbol": symbol} for symbol in range(1, symbols + 1))]
    return tuple(Command(verb, {**values, **more}) for more in said for verb, values in silent)
