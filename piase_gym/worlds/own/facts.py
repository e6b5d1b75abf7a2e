"""What an agent may know about an environment of one's own, and its two views."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.facts import Facts
from piase_gym.core.mailbox import Message
from piase_gym.core.text_encoding import HINT_CODE, escape, hash_text
from piase_gym.errors import UnsupportedError
from piase_gym.worlds.own.config import OwnConfig
from piase_gym.worlds.own.faults import FaultyError, Reason
from piase_gym.worlds.texts.letters import closing_lines

TEXT_CODE = 32
"""How many numbers of a vector stand for the text: counts of hashed words."""
MOST_TEXT = 8000
"""The longest text in characters; the rest is cut off."""
MOST_NUMBERS = 200_000
"""How many numbers an observation may have at most."""


class Shown(NamedTuple):
    """What an environment shows one agent.

    Attributes:
        text: The scene in words.
        data: The observation as data, arrays included.
        messages: The messages that have arrived for the agent since the last look.
        available: The lines of the available commands, if the environment says which they are.
        terminated: Whether the agent's episode is over by the rules.
        truncated: Whether the agent's episode is over by a limit.
    """

    text: str
    data: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    available: tuple[str, ...] | None = None
    terminated: bool = False
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class OwnFacts(Facts):
    """What an agent may know.

    Attributes:
        text: The scene in words, as the environment says it.
        data: The observation as JSON-able data.
    """

    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def to_text(facts: OwnFacts, config: OwnConfig) -> str:
    """Return the environment's own words, then letters and the hint."""
    closing = "".join("\n" + line for line in closing_lines(facts))
    return (escape(facts.text)[:MOST_TEXT] + closing)[: 2 * MOST_TEXT]


def parse(_text: str, config: OwnConfig) -> NoReturn:
    """Raise an error: texts of other people's environments cannot be read back."""
    raise UnsupportedError(f"{config.world} writes its own texts, which cannot be read back")


# -- vectors ---------------------------------------------------------------------------------------

Way = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Where the numbers of an observation stand in the vector.

    Attributes:
        shapes: The path to each number or array of the first observation -> its shape.
        fixed: The paths to arrays, whose shapes may not change; lists are padded or cut.
    """

    shapes: Mapping[Way, tuple[int, ...]]
    fixed: frozenset[Way]

    @classmethod
    def of(cls, observations: list[Mapping[str, Any]]) -> Self:
        """Return the layout of the first observations of all agents."""
        shapes: dict[Way, tuple[int, ...]] = {}
        fixed: set[Way] = set()
        for observation in observations:
            for way, value in _numbers(observation):
                shapes.setdefault(way, np.shape(value))
                if isinstance(value, np.ndarray):
                    fixed.add(way)
        found = cls(dict(sorted(shapes.items())), frozenset(fixed))
        if found.length > MOST_NUMBERS:
            raise FaultyError(
                Reason.WRONG_SHAPE,
                f"an observation has {found.length} numbers; at most {MOST_NUMBERS} are taken",
            )
        return found

    @property
    def length(self) -> int:
        """How many numbers there are."""
        return sum(map(math.prod, self.shapes.values()))

    def check(self, data: Mapping[str, Any]) -> None:
        """Raise if a later observation does not fit the first.

        What it lacks counts as zeros; what it has in addition is not in the vector.
        """
        numbers = dict(_numbers(data))
        for way, shape in self.shapes.items():
            value = at(data, way)
            if value is None:
                continue
            found = np.shape(numbers[way]) if way in numbers else None
            empty = isinstance(value, list | tuple) and not len(value)
            if found is None and not empty:
                raise FaultyError(
                    Reason.WRONG_SHAPE,
                    f"{'.'.join(way)} of the observation was a number or array of shape {shape}, "
                    f"now it is {value!r:.60}",
                )
            rigid = way in self.fixed or shape == () or found == ()
            if found is not None and rigid and found != shape:
                raise FaultyError(
                    Reason.WRONG_SHAPE,
                    f"{'.'.join(way)} of the observation had the shape {shape}, now it has {found}",
                )

    def vector(self, facts: OwnFacts) -> NDArray[np.float32]:
        """Return the numbers, then counts of hashed words of the text and of the hint."""
        numbers, start = np.zeros(self.length), 0
        for way, shape in self.shapes.items():
            value, size = at(facts.data, way), math.prod(shape)
            if isinstance(value, int | float):
                numbers[start] = value
            elif value is not None:
                given = np.asarray(value, np.float64).ravel()[:size]
                numbers[start : start + given.size] = given
            start += size
        words = hash_text(facts.text, TEXT_CODE), hash_text(facts.hint)
        largest = float(np.finfo(np.float32).max)
        numbers = np.concatenate([numbers, *words])
        numbers = np.nan_to_num(numbers, posinf=largest, neginf=-largest)
        vector: NDArray[np.float32] = np.clip(numbers, -largest, largest).astype(np.float32)
        return vector

    @property
    def size(self) -> int:
        """The length of a vector."""
        return self.length + TEXT_CODE + HINT_CODE


def _numbers(data: Mapping[str, Any], way: Way = ()) -> list[tuple[Way, Any]]:
    """Return the numbers and regular arrays of numbers in nested mappings."""
    found: list[tuple[Way, Any]] = []
    for key, value in data.items():
        here = (*way, str(key))
        if isinstance(value, Mapping):
            found += _numbers(value, here)
        elif _is_number(value) or (
            isinstance(value, np.ndarray | list | tuple) and _is_numeric(value)
        ):
            found.append((here, value))
    return found


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that a vector can hold."""
    if isinstance(value, int):
        return abs(value) <= sys.float_info.max
    return isinstance(value, float | np.integer | np.floating | np.bool_)


def _is_numeric(value: Any) -> bool:
    """Return whether a list or array is a regular array of numbers, and not empty."""
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return bool(array.size) and array.dtype.kind in "biuf"


def at(data: Any, way: Sequence[str]) -> Any:
    """Return the value at the end of a path of keys, or ``None``."""
    for key in way:
        if not isinstance(data, Mapping) or key not in data:
            return None
        data = data[key]
    return data
