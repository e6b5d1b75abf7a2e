"""PointProbe's views: facts as a vector and as prose, and the way back from the prose.

Facts are rounded to thousandths. ``round(x, 3)`` is the float nearest to a number of three
decimals, so writing three decimals and reading them gives it back exactly, and since no number
exceeds 2, rounding its float32 gives it back too.

The vector (float32): own x, y, vx, vy, goal x, y; for each agent a flag (2 the viewer, 1 in play,
0 not) with x, y of the others in play; 8 hashed words of the hint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.text_encoding import HINT_CODE, hash_text, one_line, unescape
from piase_gym.core.world import HINT_TEXT, Facts
from piase_gym.errors import TextParseError
from tests.probes.point_config import MAX_SPEED, PointProbeConfig

PRECISION = 3
Pair = tuple[float, float]
TEXT_LENGTH = 800 + HINT_TEXT


@dataclass(frozen=True, kw_only=True)
class PointFacts(Facts):
    """What one agent of PointProbe may know, in thousandths.

    Attributes:
        position: Own (x, y).
        velocity: Own velocity.
        goal: Where the goal is.
        others: Name and (x, y) of every other agent in play.
    """

    position: Pair
    velocity: Pair
    goal: Pair
    others: tuple[tuple[str, Pair], ...]


def pair(values: list[float]) -> Pair:
    """Round two numbers to the precision of facts (without a negative zero)."""
    return round(values[0], PRECISION) + 0.0, round(values[1], PRECISION) + 0.0


def vector_box(slots: int) -> Box:
    """Return the space of the vectors."""
    low = [-1, -1, -MAX_SPEED, -MAX_SPEED, -1, -1, *([0, -1, -1] * slots), *([0] * HINT_CODE)]
    high = [1, 1, MAX_SPEED, MAX_SPEED, 1, 1, *([2, 1, 1] * slots), *([255] * HINT_CODE)]
    return Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)


def vector_of(facts: PointFacts, names: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the vector of the facts."""
    slots = np.zeros((len(names), 3), np.float32)
    slots[names.index(facts.agent), 0] = 2
    for name, (x, y) in facts.others:
        slots[names.index(name)] = 1, x, y
    own = np.array([*facts.position, *facts.velocity, *facts.goal], np.float32)
    return np.concatenate([own, slots.ravel(), hash_text(facts.hint).astype(np.float32)])


def facts_of(
    vector: NDArray[np.float32], names: tuple[str, ...], hint: str | None = None
) -> PointFacts:
    """Read a vector back; `hint` is given because its code in the vector is lossy."""
    values = [round(float(value), PRECISION) for value in vector]
    slots = [values[6 + 3 * i : 9 + 3 * i] for i in range(len(names))]
    flags = [slot[0] for slot in slots]
    return PointFacts(
        agent=names[flags.index(2.0)],
        hint=hint,
        position=(values[0], values[1]),
        velocity=(values[2], values[3]),
        goal=(values[4], values[5]),
        others=tuple((names[i], (s[1], s[2])) for i, s in enumerate(slots) if s[0] == 1.0),
    )


def text_of(facts: PointFacts) -> str:
    """Write the facts as prose, each number once."""
    lines = [
        f"You are {facts.agent} at {_pair(facts.position)}.",
        f"You move by {_pair(facts.velocity)} a second.",
        f"Your goal is at {_pair(facts.goal)}.",
        *(f"{name} is at {_pair(where)}." for name, where in facts.others),
    ]
    if facts.hint is not None:
        lines.append("Hint: " + one_line(facts.hint))
    return "\n".join(lines)


def _pair(values: Pair) -> str:
    """Write two numbers with three decimals."""
    return f"x {values[0]:.{PRECISION}f}, y {values[1]:.{PRECISION}f}"


_NUMBER = r"(-?\d\.\d{3})"
_XY = rf"x {_NUMBER}, y {_NUMBER}"
_HEAD = re.compile(
    rf"You are ([\w.-]+) at {_XY}\.\nYou move by {_XY} a second\.\nYour goal is at {_XY}\."
)
_OTHER = re.compile(rf"([\w.-]+) is at {_XY}\.")
_HINT = re.compile(r"Hint: (.*)")


def parse(text: str, config: PointProbeConfig) -> PointFacts:
    """Read a canonical text back into the facts it was written from.

    Raises:
        TextParseError: If a line is not one that `text_of` writes.
    """
    names = config.names(config.fixed_envelope().agents)
    lines = text.split("\n")
    head = _HEAD.fullmatch("\n".join(lines[:3]))
    if head is None:
        raise TextParseError(f"PointProbe: not the start of an observation: {text[:80]!r}")
    others, hint = [], None
    for line in lines[3:]:
        if found := _OTHER.fullmatch(line):
            others.append((found.group(1), _read(found, 2)))
        elif (found := _HINT.fullmatch(line)) and hint is None:
            hint = _unescape(found.group(1))
        else:
            raise TextParseError(f"PointProbe: cannot read the line {line[:80]!r}")
    strange = [name for name in (head.group(1), *(o[0] for o in others)) if name not in names]
    if strange:
        raise TextParseError(f"PointProbe: no agent {strange[0]!r}; there are {', '.join(names)}")
    return PointFacts(
        agent=head.group(1),
        hint=hint,
        position=_read(head, 2),
        velocity=_read(head, 4),
        goal=_read(head, 6),
        others=tuple(others),
    )


def _read(match: re.Match[str], group: int) -> Pair:
    """Read two numbers, without a negative zero."""
    return float(match.group(group)) + 0.0, float(match.group(group + 1)) + 0.0


def _unescape(text: str) -> str:
    """Undo the escapes of a free string."""
    try:
        return unescape(text)
    except (ValueError, OverflowError) as error:
        raise TextParseError(f"PointProbe: bad escape in {text[:80]!r}: {error}") from None
