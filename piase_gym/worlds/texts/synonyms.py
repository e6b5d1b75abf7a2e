"""Other words for commands: a line stands for the one currently listed command that it fits.

Worlds that list their commands, and have few, need no parser: ``grab the mug``, ``put it on the
shelf`` or ``examine desk`` are compared with the commands that can be given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from piase_gym.core.commands import Command, InvalidAction, unparsable
from piase_gym.worlds.texts.wording import listing, plain, without_article

OPENINGS: Mapping[str, tuple[str, ...]] = {
    "look": ("look around", "look", "describe", "l"),
    "examine": ("look at", "look in", "look inside", "examine", "inspect", "check", "search", "x"),
    "go": ("go to", "go", "walk to", "walk", "move to", "head to", "run to", "approach", "visit"),
    "take": ("take", "pick up", "get", "grab", "collect", "fetch", "remove"),
    "put": ("put down", "put", "place", "insert", "lay", "drop", "leave", "move", "set"),
    "open": ("open",),
    "close": ("close", "shut"),
    "use": ("use", "turn on", "switch on", "toggle", "activate", "light", "press"),
    "heat": ("heat up", "heat", "warm up", "warm", "cook", "microwave"),
    "clean": ("clean", "wash", "rinse"),
    "cool": ("cool down", "cool", "chill", "refrigerate"),
    "slice": ("slice", "cut", "chop"),
    "inventory": ("inventory", "check inventory", "show inventory", "inv", "i"),
    "help": ("help", "list commands", "commands"),
}
"""How commands begin, by verb."""
_BETWEEN = re.compile(r" (?:in/on|into|inside|onto|out of|from|with|using|on|in|to|at|by|down) ")


def fitting(
    line: str, commands: Iterable[Command], as_verb: Mapping[str, str]
) -> Command | InvalidAction | None:
    """Return the one command that a line fits.

    Args:
        line: What was typed.
        commands: The commands that can be given now, with names that the agent knows.
        as_verb: A world's verb -> the corresponding verb of `OPENINGS`, if they differ.

    Returns:
        The command; a question if the line fits several; ``None`` if it fits none.
    """
    words = plain(line.strip().rstrip(".!"))
    openings = sorted(
        ((opening, verb) for verb, rows in OPENINGS.items() for opening in rows),
        key=lambda row: -len(row[0]),
    )
    for opening, verb in openings:
        if words != opening and not words.startswith(f"{opening} "):
            continue
        parts = [without_article(p) for p in _BETWEEN.split(f" {words[len(opening) :].strip()} ")]
        named = [part for part in parts if part]
        fits = [
            command
            for command in commands
            if as_verb.get(command.verb, command.verb) == verb and _names(named, command)
        ]
        if len(fits) > 1:  # a kind without a number means the first of its kind, as in texts
            first = [word if word[-1].isdigit() else f"{word} 1" for word in named]
            fits = [command for command in fits if _names(first, command)] or fits
        if len(fits) == 1:
            return fits[0]
        if fits and named:
            shown = (" ".join(map(str, command.parameters.values())) for command in fits[:6])
            return unparsable(f"which do you mean: {listing(shown)}?")
    return None


def _names(named: Sequence[str], command: Command) -> bool:
    """Return whether words name a command's parameters in order; the last may be left out."""
    names = [plain(str(value)) for value in command.parameters.values()]
    if len(named) > len(names) or (names and not named):
        return False
    pairs = zip(named, names, strict=False)
    return all(word in (name, *_POINTING) or word in name.split() for word, name in pairs)


_POINTING = ("it", "that", "this")
"""Words that can stand for anything."""
