"""What an agent has perceived in an episode and does not perceive now: ``recall="map"``.

Worlds whose agents perceive a part at a time say what that is (`World.perceived`): names, each with
where it is or what is known of it. With ``recall="map"`` an agent's facts, text and vector end with
the latest of what it perceived before; each agent has its own memory, which a reset empties. In the
text it is

    Remembered, 3 steps ago: lamp at (4, 2); agent_1 at (3, 3, 0)
    Remembered, 7 steps ago: desk 2

and in the vector, for each of the 16 seen last, latest first: 1 + how many steps ago (at most 255),
8 numbers for the name (hashed words) and 4 for the place (1 and its coordinates, or hashed words).
Of things that occur many times, such as apples, each place is remembered separately until it is in
view again (`UnnamedThings`). GridWorld and TextRoom remember whole maps, in forms of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.additions import KeptPerceptions, PerceivedWorld, split_text
from piase_gym.core.facts import Remembered
from piase_gym.core.jsonable import jsonable
from piase_gym.core.shared_memory import (
    PLACE_CODE,
    items_of,
    name_text,
    place_code,
    place_of,
    place_text,
    read_place,
)
from piase_gym.core.text_encoding import HINT_CODE, hash_text, one_line, unescape
from piase_gym.errors import SnapshotError, TextParseError

MOST, LONGEST = 16, 60
"""How many memories are shown, and how many characters of a name and of what is known of it."""
OLDEST = 254
"""The greatest age in steps that is shown; older memories are shown as this old."""
CODE = 1 + HINT_CODE + PLACE_CODE
_START = re.compile(r"Remembered, ([1-9]\d{0,2}) steps? ago: (.+)")
_AT = re.compile(r"([^:]+?)(?: at (\(.+\)|-?[\d.e+-]+)|: (.+))?")


class UnnamedThings(NamedTuple):
    """The places of things of one kind that have no names of their own.

    Attributes:
        places: Where some are perceived.
        in_view: Where one would be perceived if it were there; elsewhere they are remembered.
    """

    places: Sequence[Any]
    in_view: Collection[Any]


class Recall(KeptPerceptions):
    """What each agent remembers."""

    field: ClassVar[str] = "remembered"
    setting: ClassVar[str] = "recall=None"
    prompt: ClassVar[str] = (
        "Lines that begin with 'Remembered' tell what you perceived before and do not perceive "
        "now, as it was then."
    )

    def __init__(self, agents: Sequence[str]) -> None:
        """Remember nothing."""
        super().__init__(agents)
        self.clear()

    @property
    def length(self) -> int:
        """How many numbers of a vector it takes up."""
        return MOST * CODE

    @property
    def text_length(self) -> int:
        """How many characters of a text it takes up at most."""
        return MOST * (2 * 10 * LONGEST + 60)

    def clear(self) -> None:
        """Forget everything."""
        self.steps = 0
        self.known: list[dict[str, dict[Any, int]]] = [{} for _ in self.agents]

    def note(self, world: PerceivedWorld, agent: int, facts: Any) -> None:
        """Take note of what an agent perceives."""
        known = self.known[agent]
        for name, place in world.perceived(facts).items():
            if isinstance(place, UnnamedThings):
                in_view = set(map(_place, place.in_view))
                old = known.get(name, {}).items()
                kept = {where: seen for where, seen in old if where not in in_view}
                found = kept | dict.fromkeys(map(_place, place.places), self.steps)
                known.pop(name, None)
                if found:
                    known[name] = dict(sorted(found.items()))
            else:
                known[name[:LONGEST]] = {_place(place): self.steps}

    def pass_step(self) -> None:
        """Age what was perceived by one step."""
        self.steps += 1

    def shown(self, world: PerceivedWorld, agent: int) -> tuple[Remembered, ...]:
        """Return what an agent remembers, the latest first."""
        found = [
            Remembered(name, place, min(OLDEST, self.steps - seen))
            for name, place, seen in _flat(self.known[agent])
            if seen < self.steps
        ]
        return tuple(sorted(found, key=_order)[:MOST])

    @staticmethod
    def lines(view: Sequence[Remembered]) -> list[str]:
        """Write what is remembered, each moment on a line of its own."""
        moments: dict[int, list[str]] = {}
        for name, place, ago in view:
            moments.setdefault(ago, []).append(_item(name, place))
        return [
            f"Remembered, {ago} step{'s' * (ago != 1)} ago: {'; '.join(items)}."
            for ago, items in moments.items()
        ]

    def code(self, view: Sequence[Remembered]) -> NDArray[np.float64]:
        """Return what is remembered as the numbers of a vector."""
        rows = np.zeros((MOST, CODE))
        for row, (name, place, ago) in zip(rows, view, strict=False):
            row[0] = 1 + ago
            row[1 : 1 + HINT_CODE] = hash_text(name)
            row[1 + HINT_CODE :] = place_code(place)
        return rows.ravel()

    def get_state(self) -> Any:
        """Return the number of steps, and what each agent has perceived and when."""
        known = [list(map(list, _flat(mine))) for mine in self.known]
        return jsonable({"steps": self.steps, "known": known})

    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned."""
        try:
            steps, known = state["steps"], state["known"]
            found: list[dict[str, dict[Any, int]]] = [{} for _ in known]
            for mine, memories in zip(found, known, strict=True):
                for name, place, seen in memories:
                    mine.setdefault(name, {})[place_of(place)] = seen
            whole = [steps, *(seen for mine in found for *_, seen in _flat(mine))]
            fits = len(found) == len(self.agents) and all(type(n) is int for n in whole)
            fits = fits and all(0 <= n <= steps for n in whole)
            if not fits or not all(isinstance(name, str) and name for m in found for name in m):
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise SnapshotError("what agents remember is damaged in this snapshot") from None
        self.steps, self.known = steps, found


def _place(place: Any) -> Any:
    """Return a place as it is shown."""
    if type(place) is tuple and place and all(type(number) is int for number in place):
        return place  # most are columns and rows, thousands of them in a step
    return place_of(jsonable(place))


def _flat(known: Mapping[str, Mapping[Any, int]]) -> Iterator[tuple[str, Any, int]]:
    """Yield names, places, and when they were perceived."""
    for name, places in known.items():
        for place, seen in places.items():
            yield name, place, seen


def _order(memory: Remembered) -> tuple[int, str]:
    return memory.ago, memory.name


def _item(name: str, place: Any) -> str:
    """Write one memory."""
    shown = name_text(name).replace(":", "\\u{3a}")
    if place is None:
        return shown
    if isinstance(place, str):
        return f"{shown}: " + one_line(place).replace(";", "\\u{3b}")
    return f"{shown} {place_text(place)}"


def parse_remembered(text: str, config: Any, parse: Callable[[str, Any], Any]) -> Any:
    """Read a text that ends with what its agent remembers.

    Args:
        text: The text.
        config: The config under which it was shown.
        parse: The function that reads the world's text without it.

    Raises:
        TextParseError: If it ends otherwise, or the world does not write the rest.
    """
    own, lines = split_text(text, _START)
    found: list[Remembered] = []
    for line in lines:
        match = _START.fullmatch(line.removesuffix("."))
        if match is None or not line.endswith(".") or int(match[1]) > OLDEST:
            raise TextParseError(f"cannot read {line[:80]!r} of what is remembered")
        found += [_read_item(item, int(match[1]), line) for item in items_of(match[2])]
    if found != sorted(found, key=_order) or len(found) > MOST:
        raise TextParseError(f"{lines[0][:80]!r}: memories stand in order, {MOST} at most")
    return replace(parse(own, config), remembered=tuple(found))


def _read_item(item: str, ago: int, line: str) -> Remembered:
    """Read one memory."""
    match = _AT.fullmatch(item)
    name, numbers, words = match.groups() if match else ("", None, None)
    place = unescape(words) if words is not None else read_place(numbers)
    if not name or (numbers is not None and isinstance(place, str)):
        raise TextParseError(f"cannot read {item[:60]!r} in {line[:80]!r}")
    return Remembered(unescape(name), place, ago)
