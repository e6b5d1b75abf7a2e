"""What can be said to PhysicsPlayground: its verbs, its primitives, and what they drive."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from piase_gym.core.commands import Command, Param, Verb

WALK: Final = 0.6
"""How much of the full drive `forward` and `back` use; `push` uses all of it."""
TURNS = ("left", "right")
HANDS = ("grip", "release")
UNIT = {"minimum": -1.0, "maximum": 1.0}

GRAMMAR = (
    Verb("wait", "brake and stay", synonyms=("stay", "noop")),
    Verb("forward", "drive ahead at walking pace", synonyms=("ahead",)),
    Verb("back", "drive back at walking pace", synonyms=("backward",)),
    Verb("turn", "turn on the spot", (Param("direction", choices=TURNS),)),
    Verb("push", "drive ahead with full force", synonyms=("shove",)),
    Verb("grip", "grip the nearest thing in front of you", synonyms=("grab", "take")),
    Verb("release", "let go of what you hold", synonyms=("drop",)),
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
"""What the indices stand for."""
GRIPS, RELEASES = 6, 7
NOOP, GRIP, RELEASE = PRIMITIVES[0], PRIMITIVES[GRIPS], PRIMITIVES[RELEASES]

_DRIVES = {"forward": (WALK, 0.0), "back": (-WALK, 0.0), "push": (1.0, 0.0)}
_SPINS = {"left": 1.0, "right": -1.0}
Hand = Literal["", "grip", "release"]


class Drive(NamedTuple):
    """What an agent's body is to do in one step.

    Attributes:
        ahead: Wanted speed ahead, from -1 to 1 of the top speed.
        turn: Wanted spin to the left, from -1 to 1 of the top spin.
        hand: What the gripper does: ``grip``, ``release``, or nothing.
    """

    ahead: float = 0.0
    turn: float = 0.0
    hand: str = ""


def drive_of(command: Command) -> Drive:
    """Return what a command drives; whoever speaks brakes."""
    verb, values = command
    if verb == "drive":
        return Drive(float(values["ahead"]), float(values["turn"]), str(values.get("hand", "")))
    if verb == "turn":
        return Drive(turn=_SPINS[values["direction"]])
    if verb in HANDS:
        return Drive(hand=verb)
    return Drive(*_DRIVES.get(verb, (0.0, 0.0)))


def drive_command(ahead: float, turn: float, hand: float) -> Command:
    """Return the command of a point of the action box; `hand` beyond a half means something."""
    values: dict[str, float | str] = {"ahead": ahead, "turn": turn}
    if abs(hand) > 0.5:
        values["hand"] = HANDS[hand < 0.0]
    return Command("drive", values)
