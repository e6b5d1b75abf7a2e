"""The commands with which agents walk on a grid, in either frame, and what is in their way.

In the frame ``grid`` a move names a direction of the compass; in the frame ``agent`` an agent steps
ahead and turns on the spot. Both have four commands, at indices 0 to 3 of the table of commands. In
the frame ``grid`` directions may also have their old names: up, down, left, right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from piase_gym.core.commands import Command, Param, Verb
from piase_gym.worlds.channel.symbols import SAYING
from piase_gym.worlds.grids.words import COMPASS, FrameName

DIRECTIONS: Final = ("north", "south", "west", "east")
SIDES: Final = ("around", "left", "right")
FIRST_NAMES: Final = dict(zip(("up", "down", "left", "right"), DIRECTIONS, strict=True))
"""The old names of the directions, which older logs have."""
MOVES: Final[Mapping[str, tuple[Command, ...]]] = {
    "grid": tuple(Command("move", {"direction": direction}) for direction in DIRECTIONS),
    "agent": (Command("forward"), *(Command("turn", {"side": side}) for side in SIDES)),
}
"""The first four commands of each frame."""
_WALKING = ("go", "walk", "step")


def verbs_of(frame: FrameName, onto: str, message: tuple[Param, ...]) -> tuple[Verb, ...]:
    """Return the verbs for walking.

    Args:
        frame: The frame of reference.
        onto: When a step succeeds, such as ``if it is free``.
        message: The parameters of a message that is said with a command, if there are messages.
    """
    if frame == "grid":
        direction = Param("direction", choices=DIRECTIONS)
        text = f"turn that way, then step onto the next cell {onto}"
        return (Verb("move", text, (direction, *message), _WALKING),)
    ways = [f"{verb} {way}" for verb in ("move", *_WALKING) for way in ("forward", "ahead")]
    side = Param("side", choices=SIDES)
    return (
        Verb("forward", f"step onto the cell ahead {onto}", message, ("ahead", "forwards", *ways)),
        Verb("turn", "turn on the spot", (side, *message), ("rotate",)),
    )


def with_new_names(command: Command, frame: FrameName) -> Command:
    """Return a command that came as data, with an old name of a direction replaced by the new."""
    parameters = command.parameters
    if frame == "grid" and isinstance(parameters, Mapping):
        direction = parameters.get("direction")
        if isinstance(direction, str) and direction in FIRST_NAMES:
            return Command(command.verb, {**parameters, "direction": FIRST_NAMES[direction]})
    return command


_WAYS = {**{name: name for name in COMPASS}, **{name[0]: name for name in COMPASS}, **FIRST_NAMES}
_GRID = re.compile(
    rf"(?:(?:move|{'|'.join(_WALKING)}) )?(?:to the )?"
    rf"(?:({'|'.join(_WAYS)})|(forward|forwards|ahead))(?:ward|wards)?({SAYING})"
)
_AGENT = re.compile(
    r"(?:(?:turn|rotate|face) )?(?:to the |to your )?(left|right|around|back|about)"
    rf"({SAYING})"
)


def plain_line(line: str) -> str:
    """Return a line in lower case, without final punctuation and repeated spaces."""
    return " ".join(line.lower().rstrip(" .!").split())


def walking_line(line: str, frame: FrameName, heading: int) -> str | None:
    """Return the text of the command for which a line is a synonym, or ``None``.

    Args:
        line: What was said, in lower case and without punctuation.
        frame: The frame of reference.
        heading: The number of the speaker's heading.
    """
    if frame == "grid":
        if match := _GRID.fullmatch(line):
            way = _WAYS[match.group(1)] if match.group(1) else COMPASS[heading]
            return f"move {way}{match.group(3) or ''}"
    elif match := _AGENT.fullmatch(line):
        side = match.group(1) if match.group(1) in SIDES else "around"
        return f"turn {side}{match.group(2) or ''}"
    return None


def scene_manual(frame: FrameName, window: int | None, floor: str, walls: bool = False) -> str:
    """Return the part of a prompt that says what is seen, and how texts describe it.

    Args:
        frame: The frame of reference.
        window: The side of the window; ``None`` if the whole grid is seen.
        floor: What the cells are that a text does not mention.
        walls: Whether there can be walls.
    """
    seen = "You see the whole grid."
    if window is not None:
        seen = (
            f"You see {window - 1} cells ahead, {window // 2} to each side, and nothing behind "
            "you; a turn shows you other cells."
        )
    up, right = ("north", "east") if frame == "grid" else ("ahead", "right")
    line = "north or south" if frame == "grid" else "ahead"
    stands = (
        "A thing that is named within a row of walls is in place of the wall. " if walls else ""
    )
    return (
        f"{seen} Places are told from where you stand: '2 {up}, 1 {right}' is two rows and one "
        f"column away, '0 to 3 {up}' begins in your own row, 'in line' is straight {line} of you, "
        f"and 'all across' goes as far as you see. 'The grid ends 3 {up}' says that the cell there "
        f"is outside. {stands}Cells that an observation does not mention are {floor}."
    )


_HEADINGS_OF = (0, 2, 3, 1)
"""The heading number of each direction, in the order of the commands."""
_QUARTERS = (0, 3, 1, 2)
"""The commands of the frame ``agent`` by quarter turns clockwise: forward, right, around, left."""


def move_in_frame(action: int, frame: FrameName, heading: int) -> int:
    """Return the first action, in an agent's frame, towards a move of the frame ``grid``.

    Args:
        action: An action of the frame ``grid``, without a message.
        frame: The agent's frame of reference.
        heading: The number of the agent's heading.
    """
    if frame == "grid" or action >= len(_HEADINGS_OF):
        return action
    return _QUARTERS[(_HEADINGS_OF[action] - heading) % 4]


def in_the_way(name: str) -> str:
    """Say that the cell ahead could not be entered, given its name."""
    if name in ("outside", ""):
        return "The edge of the grid is in the way."
    if name == "floor":
        return "Another agent was in the way, and has moved on."
    return f"{name.split(' facing ')[0] if ' facing ' in name else f'The {name}'} is in the way."
