"""PhysicsPlayground's prose: facts as text, and the way back.

A text states each fact once. `parse` writes what it has read again and compares, so it takes
exactly the texts that this world can write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.mailbox import EVERYONE, Message
from piase_gym.core.text_encoding import unescape
from piase_gym.errors import TextParseError
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import (
    PLACES,
    Layout,
    PhysicsFacts,
    Sighting,
    facts_of,
    layout_of,
    touch_place,
)
from piase_gym.worlds.physics_playground.levels.items import COLOURS, KINDS
from piase_gym.worlds.texts.letters import closing_lines


def text_of(facts: PhysicsFacts, config: PhysicsPlaygroundConfig) -> str:
    """Write the facts as prose, each once."""
    x, y, z = facts.position
    ahead, left = facts.velocity
    lines = [
        f"You are {facts.agent} at x {_m(x)}, y {_m(y)}, {_m(z)} above the floor.",
        f"You face {facts.heading} degrees north of east.",
        f"Your speed is {_m(ahead)} m/s ahead and {_m(left)} m/s to the left.",
        f"You turn left by {facts.turning} degrees a second.",
        f"You hold the {facts.holding}." if facts.holding else "You hold nothing.",
        *[f"You touch {_the(name)}." for name in facts.touching],
    ]
    if facts.goal is not None:
        lines.append(f"Your goal is {_m(facts.goal[0])} m away, {_bearing(facts.goal[1])}.")
    if facts.placed[1]:
        lines.append(f"Placed: {facts.placed[0]} of {facts.placed[1]}.")
    for seen in facts.objects:
        lines.append(f"The {_sighting(seen)}; it is {seen.place}.")
    lines += [f"{_sighting(seen)}." for seen in facts.others]
    if facts.lidar:
        lines.append("Lidar, from ahead by the left: " + ", ".join(map(_m, facts.lidar)) + ".")
    return "\n".join([*lines, *closing_lines(facts)])


def _m(value: int) -> str:
    """Write hundredths with two decimals."""
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02d}"


def _the(name: str) -> str:
    """Write a name with its article, if it has one."""
    return f"the {name}" if " " in name or name in ("wall", "ramp") else name


def _bearing(degrees: int) -> str:
    """Write a bearing."""
    if degrees == 0:
        return "straight ahead"
    return f"{abs(degrees)} degrees {'left' if degrees > 0 else 'right'}"


def _sighting(seen: Sighting) -> str:
    """Write the polar part of a sighting."""
    drift = f"moving away at {_m(seen.drift)} m/s"
    if seen.drift <= 0:
        drift = f"coming nearer at {_m(-seen.drift)} m/s" if seen.drift else "keeping its distance"
    return (
        f"{seen.name} is {_m(seen.distance)} m away, {_bearing(seen.bearing)}, "
        f"{_m(seen.height)} high, {drift}"
    )


_M = r"(-?\d+\.\d\d)"
_BEARING = r"(straight ahead|\d+ degrees (?:left|right))"
_DRIFT = r"(keeping its distance|(?:moving away|coming nearer) at \d+\.\d\d m/s)"
_POLAR = rf"is {_M} m away, {_BEARING}, {_M} high, {_DRIFT}"
_HEAD = re.compile(
    rf"You are ([\w.-]+) at x {_M}, y {_M}, {_M} above the floor\.\n"
    rf"You face (-?\d+) degrees north of east\.\n"
    rf"Your speed is {_M} m/s ahead and {_M} m/s to the left\.\n"
    rf"You turn left by (-?\d+) degrees a second\.\n"
    rf"You hold (nothing|the [a-z]+ [a-z]+)\."
)
_HEAD_LINES = 5
_TOUCH = re.compile(r"You touch (?:the (wall|ramp|[a-z]+ [a-z]+)|([\w.-]+))\.")
_GOAL = re.compile(rf"Your goal is {_M} m away, {_BEARING}\.")
_PLACED = re.compile(r"Placed: (\d+) of (\d+)\.")
_OBJECT = re.compile(rf"The ([a-z]+ [a-z]+) {_POLAR}; it is ({'|'.join(PLACES)})\.")
_OTHER = re.compile(rf"([\w.-]+) {_POLAR}\.")
_LIDAR = re.compile(rf"Lidar, from ahead by the left: ({_M}(?:, {_M})*)\.")
_SAYS = re.compile(r"([\w.-]+) says: (.*)")
_HINT = re.compile(r"Hint: (.*)")


def parse(text: str, config: PhysicsPlaygroundConfig) -> PhysicsFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If the world does not write such a text under this config.
    """
    form = layout_of(config)
    lines = text.split("\n")
    head = _HEAD.fullmatch("\n".join(lines[:_HEAD_LINES]))
    if head is None:
        raise TextParseError(f"PhysicsPlayground: not the start of a text: {text[:80]!r}")
    facts = PhysicsFacts(
        agent=head.group(1), **_read_head(head), **_read_lines(lines[_HEAD_LINES:])
    )
    problem = _problem(facts, form, config)
    if problem is None and text_of(facts, config) != text:
        problem = "it is not written as this world writes"
    if problem is not None:
        raise TextParseError(f"PhysicsPlayground: cannot read this text: {problem}")
    return facts


def _read_head(head: re.Match[str]) -> dict[str, Any]:
    """Read the first lines."""
    x, y, z, heading, ahead, left, turning = (_whole(part) for part in head.groups()[1:8])
    held = head.group(9)
    return {
        "position": (x, y, z),
        "heading": heading,
        "velocity": (ahead, left),
        "turning": turning,
        "holding": None if held == "nothing" else held.removeprefix("the "),
    }


def _read_lines(lines: Sequence[str]) -> dict[str, Any]:
    """Read the other lines; their order is checked by writing them again."""
    touching: list[str] = []
    objects: list[Sighting] = []
    others: list[Sighting] = []
    messages: list[Message] = []
    found: dict[str, Any] = {"goal": None, "placed": (0, 0), "lidar": (), "hint": None}
    for line in lines:
        if match := _TOUCH.fullmatch(line):
            touching.append(match.group(1) or match.group(2))
        elif match := _GOAL.fullmatch(line):
            found["goal"] = _whole(match.group(1)), _degrees(match.group(2))
        elif match := _PLACED.fullmatch(line):
            found["placed"] = int(match.group(1)), int(match.group(2))
        elif match := _OBJECT.fullmatch(line):
            objects.append(_read_sighting(match, match.group(6)))
        elif match := _OTHER.fullmatch(line):
            others.append(_read_sighting(match, PLACES[0]))
        elif match := _LIDAR.fullmatch(line):
            found["lidar"] = tuple(_whole(part) for part in match.group(1).split(", "))
        elif match := _HINT.fullmatch(line):
            found["hint"] = _free(match.group(1))
        elif match := _SAYS.fullmatch(line):
            messages.append(Message(match.group(1), EVERYONE, _free(match.group(2))))
        else:
            raise TextParseError(f"PhysicsPlayground: cannot read the line {line[:80]!r}")
    lists: dict[str, list[Any]]
    lists = {"touching": touching, "objects": objects, "others": others, "messages": messages}
    return {**found, **{name: tuple(part) for name, part in lists.items()}}


def _read_sighting(match: re.Match[str], place: str) -> Sighting:
    """Read one sighting."""
    name, distance, bearing, height, drift = match.groups()[:5]
    speed = 0 if drift.startswith("keeping") else _whole(drift.split()[-2])
    return Sighting(
        name,
        _whole(distance),
        _degrees(bearing),
        _whole(height),
        -speed if drift.startswith("coming") else speed,
        place,
    )


def _whole(number: str) -> int:
    """Read hundredths, or a whole number."""
    return int(number.replace(".", ""))


def _degrees(bearing: str) -> int:
    """Read a bearing."""
    if bearing == "straight ahead":
        return 0
    degrees = int(bearing.split()[0])
    return degrees if bearing.endswith("left") else -degrees


def _free(text: str) -> str:
    """Undo the escapes of a free string."""
    try:
        return unescape(text)
    except (ValueError, OverflowError) as error:
        raise TextParseError(f"PhysicsPlayground: bad escape in {text[:80]!r}: {error}") from None


def _problem(facts: PhysicsFacts, form: Layout, config: PhysicsPlaygroundConfig) -> str | None:
    """Say what in facts cannot be under a config, or return ``None``."""
    seen = [item.name for item in facts.objects]
    met = [item.name for item in facts.others]
    held = [facts.holding] if facts.holding else []
    touched = [name for name in facts.touching if " " in name]
    agents = [facts.agent, *met, *(n for n in facts.touching if " " not in n)]
    agents += [letter.sender for letter in facts.messages]
    known = set(COLOURS[: form.sizes.objects])
    for name in (*seen, *held, *touched):
        colour, _, kind = name.partition(" ")
        if colour not in known or kind not in KINDS:
            return f"there is no {name!r}"
    for name in agents:
        if name not in form.names and name not in ("wall", "ramp"):
            return f"there is no agent {name!r}"
    for names in (seen, [facts.agent, *met], list(facts.touching)):
        if len(set(names)) < len(names):
            return f"something occurs twice in {names}"
    if len(seen) > form.sizes.nearest or len(facts.lidar) != form.rays:
        return "it has more objects or rays than this config"
    if [*map(form.names.index, met)] != sorted(map(form.names.index, met)):
        return "agents are not in their order"
    if _ordered(facts.touching, form) != list(facts.touching):
        return "what is touched is not in its order"
    turns = [facts.heading, *([facts.goal[1]] if facts.goal else [])]
    turns += [item.bearing for item in (*facts.objects, *facts.others)]
    if any(not -180 < turn <= 180 for turn in turns):
        return "a bearing is from -179 to 180 degrees"
    lengths = [item.distance for item in (*facts.objects, *facts.others)]
    lengths += [*facts.lidar, *([facts.goal[0]] if facts.goal else [])]
    if any(length < 0 for length in lengths) or any(ray > form.range for ray in facts.lidar):
        return "a distance is negative or out of range"
    if facts.agent in facts.touching:
        return f"{facts.agent} cannot touch itself"
    return None


def _ordered(names: Sequence[str], form: Layout) -> list[str]:
    """Return what is touched in the order of rows."""
    return sorted(names, key=lambda name: touch_place(name, form)[0])


class Kept(NamedTuple):
    """What one agent may know at one moment: a row of a table that never changes."""

    table: NDArray[np.int64]
    seat: int
    messages: tuple[Message, ...]
    hint: str | None


def write_kept(config: PhysicsPlaygroundConfig, kept: Kept, _agent: int) -> str:
    """Write the text of an agent's row."""
    row = kept.table[kept.seat].tolist()
    return text_of(facts_of(row, layout_of(config), kept.messages, kept.hint), config)
