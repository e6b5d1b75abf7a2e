"""The commands of PhysicsPlayground: its verbs, its primitives, and the drives they stand for."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from typing import Final, NamedTuple

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.channel.config import ChannelEnvelope
from piase_gym.worlds.channel.symbols import message_params, said_with
from piase_gym.worlds.physics_playground.config import PhysicsEnvelope

WALK: Final = 0.6
"""The share of the full drive that `forward` and `back` use; `push` uses all of it."""
TURNS = ("left", "right")
HANDS = ("grip", "release")
UNIT = {"minimum": -1.0, "maximum": 1.0}

METRES = Param("metres", "number", optional=True, minimum=0.0, maximum=30.0)

GRAMMAR = (
    Verb(
        "wait",
        "brake and stay",
        (Param("seconds", "number", optional=True, minimum=0.0, maximum=60.0),),
        synonyms=("stay", "noop", "brake", "stop"),
    ),
    Verb(
        "forward",
        "drive ahead at walking pace",
        (METRES,),
        synonyms=("ahead", "move forward", "go forward", "drive forward", "move ahead"),
    ),
    Verb(
        "back",
        "drive back at walking pace",
        (METRES,),
        synonyms=("backward", "backwards", "move back", "move backward", "go back", "back up"),
    ),
    Verb(
        "turn",
        "turn on the spot",
        (
            Param("direction", choices=TURNS),
            Param("degrees", "number", optional=True, minimum=0.0, maximum=360.0),
        ),
        synonyms=("rotate", "spin"),
    ),
    Verb("push", "drive ahead with full force", (METRES,), synonyms=("shove", "ram")),
    Verb(
        "face",
        "turn until you face a thing, an agent, the goal, or a place as x and y",
        (Param("what"),),
        synonyms=("turn to", "turn towards", "turn toward", "look at"),
    ),
    Verb(
        "go to",
        "drive straight to one of these; it goes around nothing",
        (Param("what"),),
        synonyms=("goto", "drive to", "move to", "go", "approach"),
    ),
    Verb("grip", "grip the nearest thing in front of you", synonyms=("grab", "take", "pick up")),
    Verb("release", "let go of what you hold", synonyms=("drop", "let go", "put down")),
    Verb(
        "drive",
        "set the speed ahead and the spin to the left, and what the gripper does",
        (
            Param("ahead", "number", **UNIT),  # type: ignore[arg-type]
            Param("turn", "number", **UNIT),  # type: ignore[arg-type]
            Param("hand", choices=HANDS, optional=True),
        ),
    ),
)
SAY = Verb("say", "say something to all others", (Param("message", "text"),))


def tell_verb(agents: tuple[str, ...]) -> Verb:
    """Return the verb that says something to one of `agents`."""
    words = Param("message", "text")
    return Verb("tell", "say something to one agent", (Param("agent_id", choices=agents), words))


@functools.lru_cache(maxsize=64)
def grammar_of(envelope: PhysicsEnvelope, agents: tuple[str, ...]) -> tuple[Verb, ...]:
    """Return the verbs with parameters for symbols, then `say` and `tell` if there is room."""
    said = message_params(envelope, agents)
    verbs = tuple(replace(verb, params=(*verb.params, *said)) for verb in GRAMMAR)
    return (*verbs, SAY, tell_verb(agents)) if envelope.messages else verbs


@functools.lru_cache(maxsize=64)
def table_of(
    indices: str, envelope: ChannelEnvelope, agents: tuple[str, ...]
) -> tuple[Command, ...]:
    """Return the commands of the indices: the primitives, then the same ones with each message."""
    return said_with(TABLES[indices], envelope, agents)


def silent(command: Command) -> Command:
    """Return a command without the symbols that are said with it."""
    kept = {k: v for k, v in command.parameters.items() if not k.startswith("symbol")}
    return Command(command.verb, {k: v for k, v in kept.items() if k != "agent_id"})


def symbols_of(command: Command) -> str:
    """Return the symbols that are said with a command, with spaces between them."""
    said = [str(v) for k, v in command.parameters.items() if k.startswith("symbol")]
    return " ".join(said)


PRIMITIVES = (
    Command("wait"),
    Command("forward"),
    Command("back"),
    Command("turn", {"direction": "left"}),
    Command("turn", {"direction": "right"}),
    Command("push"),
    Command("grip"),
    Command("release"),
)
"""The commands of the indices with ``indices="steps"``."""
STRIDES = (
    Command("wait", {"seconds": 0.5}),
    Command("forward", {"metres": 0.5}),
    Command("back", {"metres": 0.5}),
    Command("turn", {"direction": "left", "degrees": 30.0}),
    Command("turn", {"direction": "right", "degrees": 30.0}),
    Command("push", {"metres": 0.5}),
    *PRIMITIVES[6:],
)
"""The commands of the indices with ``indices="strides"``."""
TABLES = {"steps": PRIMITIVES, "strides": STRIDES}
GRIPS, RELEASES = 6, 7
NOOP, GRIP, RELEASE = PRIMITIVES[0], PRIMITIVES[GRIPS], PRIMITIVES[RELEASES]

_DRIVES = {"forward": (WALK, 0.0), "back": (-WALK, 0.0), "push": (1.0, 0.0)}
_SPINS = {"left": 1.0, "right": -1.0}


class Drive(NamedTuple):
    """What an agent's body should do in one step.

    Attributes:
        ahead: Wanted speed ahead as a share of the top speed, from -1 to 1.
        turn: Wanted spin to the left as a share of the top spin, from -1 to 1.
        hand: What the gripper does: ``grip``, ``release``, or nothing (an empty string).
    """

    ahead: float = 0.0
    turn: float = 0.0
    hand: str = ""


_UNITS = re.compile(
    r"(?<=[\d.])\s*(?:degrees?|deg|°|met(?:re|er)s?|m|seconds?|s)(?=[\s,.)]|$)", re.IGNORECASE
)
_FILLERS = re.compile(r"\b(?:by|for|x|y)\b|[(),=]", re.IGNORECASE)


def without_units(line: str) -> str:
    """Return a line without units, brackets and fillers: ``turn left by 45 degrees``.

    Example:
        >>> without_units("go to (x 1.2 m, y -0.5 m)")
        'go to 1.2 -0.5'
    """
    return " ".join(_FILLERS.sub(" ", _UNITS.sub("", line)).split())


def place_of(what: str) -> tuple[float, float] | None:
    """Read a place given as x and y; return ``None`` if the text is not a place."""
    try:
        x, y = map(float, what.split())
    except ValueError:
        return None
    return (x, y) if math.isfinite(x) and math.isfinite(y) else None


def drive_of(command: Command) -> Drive:
    """Return the drive of a command; an agent that speaks brakes."""
    verb, values = command
    if verb == "drive":
        return Drive(float(values["ahead"]), float(values["turn"]), str(values.get("hand", "")))
    if verb == "turn":
        return Drive(turn=_SPINS[values["direction"]])
    if verb in HANDS:
        return Drive(hand=verb)
    return Drive(*_DRIVES.get(verb, (0.0, 0.0)))


def drive_command(ahead: float, turn: float, hand: float) -> Command:
    """Return the command for a point of the action box; `hand` counts if its size exceeds 0.5."""
    values: dict[str, float | str] = {"ahead": ahead, "turn": turn}
    if abs(hand) > 0.5:
        values["hand"] = HANDS[hand < 0.0]
    return Command("drive", values)
