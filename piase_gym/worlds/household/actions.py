"""Household's commands: verbs, their two wordings, and the commands of one home."""

from __future__ import annotations

import functools
import re
from typing import Final, Literal

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.channel.config import speaking_verbs
from piase_gym.worlds.household.levels.game import Entry, Game
from piase_gym.worlds.household.state import NOTHING

Grammar = Literal["2.1.1", "2.1.3", "both"]
PHRASES: Final = ("hello", "yes", "no", "I am searching.", "I have it.", "Come here.", "Done.")
"""What can be said by index; text actions can say anything."""

_OBJECT = Param("object", description="name of an object, such as mug 1")
_PLACE = Param("receptacle", description="name of a receptacle, such as desk 2")


def _with(name: str, does: str) -> Verb:
    place = Param("receptacle", before="with", description="name of a receptacle")
    return Verb(name, does, (_OBJECT, place))


_GO = Verb(
    "go",
    "walk to a receptacle",
    (Param("receptacle", before="to", description="name of a receptacle"),),
)
_MOVE = Verb(
    "move",
    "place an object in or on a receptacle",
    (_OBJECT, Param("receptacle", before="to", description="where to")),
)
_PUT = Verb(
    "put",
    "place an object in or on a receptacle",
    (_OBJECT, Param("receptacle", before="in/on", description="where to")),
)
_TAKE = Verb(
    "take",
    "take an object from a receptacle",
    (_OBJECT, Param("receptacle", before="from", description="where from")),
)
_ALONE = (
    Verb("examine", "look closely", (Param("target", description="a receptacle or an object"),)),
    Verb("use", "switch on a lamp", (_OBJECT,)),
    _with("heat", "heat an object with a microwave"),
    _with("clean", "clean an object with a sink"),
    _with("cool", "cool an object with a fridge"),
    Verb(
        "slice",
        "slice an object with a knife",
        (_OBJECT, Param("tool", before="with", description="the knife in hand")),
    ),
    Verb("look", "look around"),
    Verb("inventory", "see what you carry"),
)
_HELP = Verb("help", "list the commands")


def verbs(grammar: Grammar, agents: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs of a wording, with or without those for several agents."""
    placing = {"2.1.1": (_PUT,), "2.1.3": (_MOVE,), "both": (_MOVE, _PUT)}[grammar]
    doors = tuple(Verb(name, f"{name} a receptacle", (_PLACE,)) for name in ("open", "close"))
    asking = () if grammar == "2.1.1" else (_HELP,)
    speaking = speaking_verbs(agents) if len(agents) > 1 else ()
    return (_GO, *doors, _TAKE, *placing, *_ALONE, *asking, *speaking)


VERBS: Final = tuple(verb.name for verb in verbs("both", ("agent_0", "agent_1")))
"""The names of all verbs, in the order of vectors."""
HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""
"""The answer to ``help``, as the games word it."""


@functools.cache
def _form(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the line of a verb's commands, with a place for each name, and the parameters."""
    params = next(verb.params for verb in verbs("both", ()) if verb.name == name)
    places = [f"{param.before} {{}}".strip() for param in params]
    return " ".join([name, *places]), tuple(param.name for param in params)


_OF_RECEPTACLES = frozenset(("go", "open", "close", "examine receptacle"))


def entry(game: Game, verb: str, one: int = NOTHING, two: int = NOTHING) -> Entry:
    """Return a command of a home, always the same object."""
    found = game.entries.get((verb, one, two))
    if found is None:
        found = game.entries[verb, one, two] = _new_entry(game, verb, one, two)
        game.by_line.setdefault(found.line, found)
        game.by_command[id(found.command)] = found
    return found


def _new_entry(game: Game, verb: str, one: int, two: int) -> Entry:
    """Make a command of a home."""
    name, names = verb.partition(" ")[0], list[str]()
    if one != NOTHING:
        names.append((game.receptacles if verb in _OF_RECEPTACLES else game.objects)[one])
    if two != NOTHING:
        names.append((game.objects if verb == "slice" else game.receptacles)[two])
    line, parameters = _form(name)
    command = Command(name, dict(zip(parameters, names, strict=True)))
    return Entry(line.format(*names), command, verb, one, two)


def speech(agents: tuple[str, ...], speaker: int) -> list[Entry]:
    """Return what an agent can say by index, sorted."""
    rows = [Entry(f"say {p}", Command("say", {"message": p}), "say", k, -1) for k, p in _numbered()]
    for other, name in enumerate(agents):
        if other != speaker:
            rows += [
                Entry(
                    f"tell {name} {p}",
                    Command("tell", {"agent_id": name, "message": p}),
                    "tell",
                    k,
                    other,
                )
                for k, p in _numbered()
            ]
    return rows


def _numbered() -> enumerate[str]:
    return enumerate(PHRASES)


_PLACING = re.compile(r"(?:move (?P<a>.+) to (?P<b>.+)|put (?P<c>.+) in/on (?P<d>.+))")


def reworded(line: str) -> str | None:
    """Return a command of either wording in the other, if the wordings differ for it."""
    match = _PLACING.fullmatch(line)
    if match is None:
        return None
    if match["a"]:
        return f"put {match['a']} in/on {match['b']}"
    return f"move {match['c']} to {match['d']}"
