"""PhysicsPlayground's prose: facts as text, and the way back.

A text states each fact once. `parse` writes what it has read again and compares, so it accepts
exactly the texts that this world can write.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.mailbox import Message
from piase_gym.core.text_encoding import unescape
from piase_gym.errors import TextParseError
from piase_gym.worlds.channel.heard import EarlierMessage, Heard, heard_lines
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.facts import (
    PLACES,
    Layout,
    PhysicsPlaygroundFacts,
    Sighting,
    fields_of,
    layout_of,
    touch_place,
)
from piase_gym.worlds.physics_playground.levels.bodies import ROVER, SPHERE
from piase_gym.worlds.physics_playground.levels.items import COLOURS, CRATE, KINDS
from piase_gym.worlds.texts.wording import counted


def text_of(facts: PhysicsPlaygroundFacts, config: PhysicsPlaygroundConfig) -> str:
    """Write the facts as prose, each once; places follow from distances and bearings."""
    return _text_of(facts, config, layout_of(config))


def _text_of(facts: Any, config: PhysicsPlaygroundConfig, form: Layout) -> str:
    """Write the text of any object with the fields of facts, under a config with this layout."""
    (x, y, z), (ahead, left) = facts.position, facts.velocity
    body = "" if z == RESTING[config.body] else f", {_m(z)} m up"
    lines = [
        f"You are {facts.agent} at {_m(x)}, {_m(y)}{body}, "
        f"facing {counted(facts.heading % 360, 'degree')}"
        f"{_motion(ahead, left, facts.turning)}.",
    ]
    if facts.holding or facts.touching:
        hands = [f"hold the {facts.holding}"] if facts.holding else []
        hands += [f"touch {', '.join(map(_the, facts.touching))}"] if facts.touching else []
        lines.append(f"You {' and '.join(hands)}.")
    if facts.goal is not None:
        name = "Zone" if config.row.zone else "Goal"
        lines.append(f"{name}: {_polar(facts, *facts.goal)}.")
    if facts.placed[1]:
        lines.append(f"Placed: {facts.placed[0]} of {facts.placed[1]}.")
    for seen in facts.objects:
        name, resting = _thing(form, seen.name)
        place = "" if seen.place == PLACES[0] else f", {seen.place}"
        lines.append(f"{name}: {_sighting(facts, seen, resting)}{place}.")
    for seen in facts.others:
        lines.append(f"{seen.name}: {_sighting(facts, seen, RESTING[config.body])}.")
    if facts.lidar:
        far = form.range
        rays = ["-" if reading == far else _m(reading) for reading in facts.lidar]
        lines.append(f"Lidar: {' '.join(rays)}.")
    return "\n".join([*lines, *heard_lines(facts.messages, facts.earlier, facts.hint)])


RESTING = {body: round(100 * half) for body, half in (("rover", ROVER[2]), ("sphere", SPHERE))}
"""The height of agents' centres above the floor when they stand on it, in centimetres."""


@functools.lru_cache(maxsize=1024)
def _thing(form: Layout, name: str) -> tuple[str, int]:
    """Return an object's name at the start of a line, and how high it lies on the floor."""
    number, things = COLOURS.index(name.split()[0]), form.things
    known = number < len(things) and not name.endswith("crate")
    return name.capitalize(), round(100 * (things[number].radius if known else CRATE[2]))


@functools.lru_cache(maxsize=8192)
def _m(value: int) -> str:
    """Write hundredths with two decimals."""
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02d}"


def _the(name: str) -> str:
    """Write a name with its article, if it has one."""
    return f"the {name}" if " " in name or name in ("wall", "ramp") else name


def _motion(ahead: int, left: int, turning: int) -> str:
    """Write how the agent moves."""
    if not (ahead or left or turning):
        return ", at rest"
    parts = [
        f"{'driving' if ahead > 0 else 'backing'} {_m(abs(ahead))} m/s" if ahead else "",
        f"drifting {_m(abs(left))} m/s {_side(left)}" if left else "",
        f"turning {counted(abs(turning), 'degree')}/s {_side(turning)}" if turning else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _side(number: int) -> str:
    """Write a direction to the side."""
    return "left" if number > 0 else "right"


COS = [math.cos(math.radians(degrees)) for degrees in range(360)]
"""The cosine of every degree."""


def place_of(facts: PhysicsPlaygroundFacts, distance: int, bearing: int) -> tuple[float, float]:
    """Return where something is on the floor, in metres."""
    x, y = _on_floor(facts, distance, bearing)
    return x / 100, y / 100


def _on_floor(facts: PhysicsPlaygroundFacts, distance: int, bearing: int) -> tuple[int, int]:
    """Return where something is on the floor, in centimetres."""
    turn = (facts.heading + bearing) % 360
    x = facts.position[0] + round(distance * COS[turn])
    return x, facts.position[1] + round(distance * COS[turn - 90])


def _polar(facts: PhysicsPlaygroundFacts, distance: int, bearing: int) -> str:
    """Write where something is: on the floor, then as the agent sees it."""
    x, y = _on_floor(facts, distance, bearing)
    side = f"{abs(bearing)} {_side(bearing)}" if bearing else "ahead"
    return f"{_m(x)}, {_m(y)}; {_m(distance)} m, {side}"


def _sighting(facts: PhysicsPlaygroundFacts, seen: Sighting, resting: int) -> str:
    """Write where something is, its height if it is not the usual one, and its drift if any."""
    height = "" if seen.height == resting else f", {_m(seen.height)} m up"
    drift = f", {'+' if seen.drift > 0 else ''}{_m(seen.drift)}"
    return f"{_polar(facts, seen.distance, seen.bearing)}{height}{drift if seen.drift else ''}"


_M = r"(-?\d+\.\d\d)"
_PLACE = rf"{_M}, {_M}"
_UP = rf"(?:, {_M} m up)?"
_SIDE = r"(ahead|\d+ (?:left|right))"
_POLAR = rf"{_PLACE}; {_M} m, {_SIDE}"
_SIGHT = rf"{_POLAR}{_UP}(?:, ([+-]\d+\.\d\d))?"
_HEAD = re.compile(
    rf"You are ([\w.-]+) at {_PLACE}{_UP}, facing (\d+) degrees?"
    rf"(?:, at rest)?(?:, (driving|backing) {_M} m/s)?(?:, drifting {_M} m/s (left|right))?"
    rf"(?:, turning (\d+) degrees?/s (left|right))?\."
)
_HANDS = re.compile(r"You (?:hold the ([a-z]+ [a-z]+))?(?: and )?(?:touch (.+))?\.")
_GOAL = re.compile(rf"(?:Zone|Goal): {_POLAR}\.")
_PLACED = re.compile(r"Placed: (\d+) of (\d+)\.")
_OBJECT = re.compile(rf"([A-Z][a-z]+ [a-z]+): {_SIGHT}(?:, ({'|'.join(PLACES[1:])}))?\.")
_OTHER = re.compile(rf"([\w.-]+): {_SIGHT}\.")
_LIDAR = re.compile(r"Lidar: ((?:-|\d+\.\d\d)(?: (?:-|\d+\.\d\d))*)\.")
_HINT = re.compile(r"Hint: (.*)")


def parse(text: str, config: PhysicsPlaygroundConfig) -> PhysicsPlaygroundFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If the world does not write such a text under this config.
    """
    form = layout_of(config)
    lines = text.split("\n")
    head = _HEAD.fullmatch(lines[0])
    if head is None:
        raise TextParseError(f"PhysicsPlayground: not the start of a text: {text[:80]!r}")
    facts = PhysicsPlaygroundFacts(
        agent=head.group(1),
        **_read_head(head, config),
        **_read_lines(lines[1:], head.group(1), config),
    )
    problem = _problem(facts, form, config)
    if problem is None and text_of(facts, config) != text:
        problem = "it is not written as this world writes"
    if problem is not None:
        raise TextParseError(f"PhysicsPlayground: cannot read this text: {problem}")
    return facts


def _read_head(head: re.Match[str], config: PhysicsPlaygroundConfig) -> dict[str, Any]:
    """Read the first lines."""
    x, y, up, heading, way, pace, drift, side, spin, spin_side = head.groups()[1:]
    degrees = int(heading)
    signs = {"driving": 1, "left": 1, "backing": -1, "right": -1, None: 0}
    return {
        "position": (_whole(x), _whole(y), RESTING[config.body] if up is None else _whole(up)),
        "heading": degrees - 360 if degrees > 180 else degrees,
        "velocity": (signs[way] * _whole(pace or "0"), signs[side] * _whole(drift or "0")),
        "turning": signs[spin_side] * int(spin or 0),
    }


def _read_lines(
    lines: Sequence[str], agent: str, config: PhysicsPlaygroundConfig
) -> dict[str, Any]:
    """Read the other lines; their order is checked by writing them again."""
    objects: list[Sighting] = []
    others: list[Sighting] = []
    heard = Heard(())
    found: dict[str, Any] = {"goal": None, "placed": (0, 0), "lidar": (), "hint": None}
    found |= {"holding": None, "touching": ()}
    far = round(100 * config.range)
    for line in lines:
        if match := _GOAL.fullmatch(line):
            found["goal"] = _whole(match.group(3)), _degrees(match.group(4))
        elif match := _PLACED.fullmatch(line):
            found["placed"] = int(match.group(1)), int(match.group(2))
        elif match := _LIDAR.fullmatch(line):
            rays = match.group(1).split()
            found["lidar"] = tuple(far if ray == "-" else _whole(ray) for ray in rays)
        elif match := _HANDS.fullmatch(line):
            names = (match.group(2) or "").split(", ")
            found["holding"] = match.group(1)
            found["touching"] = tuple(name.removeprefix("the ") for name in names if name)
        elif match := _HINT.fullmatch(line):
            found["hint"] = _free(match.group(1))
        elif match := _OBJECT.fullmatch(line):
            colour, _, kind = match.group(1).lower().partition(" ")
            if colour not in COLOURS or kind not in KINDS:
                raise TextParseError(f"PhysicsPlayground: there is no {match.group(1)[:40]!r}")
            name = f"{colour} {kind}"
            objects.append(
                _read_sighting(match, name, _thing(layout_of(config), name)[1], match.group(8))
            )
        elif match := _OTHER.fullmatch(line):
            others.append(_read_sighting(match, match.group(1), RESTING[config.body], None))
        elif more := _hear(line, agent, heard, config):
            heard = more
        else:
            raise TextParseError(f"PhysicsPlayground: cannot read the line {line[:80]!r}")
    seen = {"objects": tuple(objects), "others": tuple(others)}
    return {**found, **seen, "messages": heard.messages, "earlier": heard.earlier}


def _hear(line: str, agent: str, heard: Heard, config: PhysicsPlaygroundConfig) -> Heard | None:
    """Read a line of what was heard, or return ``None``."""

    def require(fits: bool, line: str, allowed: str) -> None:
        if not fits:
            raise TextParseError(f"PhysicsPlayground: {line[:80]!r}: {allowed}")

    try:
        return layout_of(config).channel.take(line, agent, heard, require)
    except (ValueError, OverflowError) as error:
        raise TextParseError(f"PhysicsPlayground: bad escape in {line[:80]!r}: {error}") from None


def _read_sighting(match: re.Match[str], name: str, resting: int, place: str | None) -> Sighting:
    """Read one sighting."""
    distance, side, up, drift = match.groups()[3:7]
    return Sighting(
        name,
        _whole(distance),
        _degrees(side),
        resting if up is None else _whole(up),
        _whole(drift or "0"),
        place or PLACES[0],
    )


def _whole(number: str) -> int:
    """Read hundredths, or a whole number."""
    return int(number.replace(".", ""))


def _degrees(bearing: str) -> int:
    """Read a bearing."""
    if bearing == "ahead":
        return 0
    degrees = int(bearing.split()[0])
    return degrees if bearing.endswith("left") else -degrees


def _free(text: str) -> str:
    """Undo the escapes of a free string."""
    try:
        return unescape(text)
    except (ValueError, OverflowError) as error:
        raise TextParseError(f"PhysicsPlayground: bad escape in {text[:80]!r}: {error}") from None


def _problem(
    facts: PhysicsPlaygroundFacts, form: Layout, config: PhysicsPlaygroundConfig
) -> str | None:
    """Say what in the facts is impossible under a config, or return ``None``."""
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
    """Return the names of what is touched in the order of the columns of a row."""
    return sorted(names, key=lambda name: touch_place(name, form)[0])


class CapturedRow(NamedTuple):
    """What one agent may know at one moment: a row of a table that never changes."""

    table: NDArray[np.int64]
    seat: int
    messages: tuple[Message, ...]
    hint: str | None
    earlier: tuple[EarlierMessage, ...] = ()


def write_kept(
    config: PhysicsPlaygroundConfig, form: Layout, kept: CapturedRow, _agent: int
) -> str:
    """Write the text of an agent's row."""
    row = kept.table[kept.seat].tolist()
    fields = fields_of(row, form, kept.messages, kept.hint, kept.earlier)
    return _text_of(SimpleNamespace(**fields), config, form)
