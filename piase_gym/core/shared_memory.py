"""The shared memory of the explorer document: what all agents of a world together know.

`SharedKnowledge` notes what any agent sees and where every agent is. No agent observes it unless
the config says ``shared_memory=True``: then the facts, texts and vectors of a world end with a
`SharedView`, in the same way for every world; see `piase_gym.core.additions`. In the text it is

    Shared memory, objects: chair; lamp
    Shared memory, positions: agent_0 at (2, 1); agent_1 at (0, 0)
    Shared memory, letters waiting: agent_0 0; agent_1 1
    Shared memory, said: agent_0 to all: I found chair

and in the vector 64 numbers for the objects (hashed words), 4 for each agent's position (1 and its
coordinates, or the hashed name of a place), 1 for its waiting letters, and 10 for each of the last
five letters (sender and recipient from 1, hashed words).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.additions import KeptPerceptions, PerceivedWorld, split_text
from piase_gym.core.commands import MAX_LINE
from piase_gym.core.facts import SharedView
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import EVERYONE, Mailbox, Message
from piase_gym.core.models import SharedMemory
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.text_encoding import HINT_CODE, hash_text, one_line, unescape
from piase_gym.errors import SnapshotError, TextParseError

MOST_OBJECTS, LONGEST_NAME, LETTERS = 64, 60, 5
"""How many objects and letters are shown, and how many characters of a name."""
OBJECT_CODE, PLACE_CODE, LETTER_CODE = 64, 4, 2 + HINT_CODE


class SharedKnowledge:
    """What any agent has seen in an episode, in order of discovery, and where every agent is."""

    def __init__(self) -> None:
        """Know nothing."""
        self.found: dict[str, None] = {}  # a dict keeps the order of discovery
        self.positions: dict[str, Any] = {}

    def clear(self) -> None:
        """Forget everything, as at a reset."""
        self.found.clear()
        self.positions.clear()

    def note(self, agent: str, around: Surroundings) -> None:
        """Take note of what an agent perceives."""
        self.found.update((thing.name, None) for thing in around.objects)
        self.positions[agent] = jsonable(around.position)

    def as_document(self, mail: Mailbox | None) -> SharedMemory:
        """Return it with the mailboxes, in the form of the explorer document."""
        boxes = {} if mail is None else mail.boxes
        return SharedMemory(
            objects=set(self.found),
            agent_positions=dict(self.positions),
            message_mailboxes={n: [m.as_dict() for m in box] for n, box in boxes.items()},
            message_history=[] if mail is None else [*mail.history],
        )

    def view(self, mail: Mailbox | None) -> SharedView:
        """Return what is shown of it."""
        boxes = {} if mail is None else mail.boxes
        last = [] if mail is None else mail.history[-LETTERS:]
        names = sorted({name[:LONGEST_NAME] for name in self.found if name})
        return SharedView(
            objects=tuple(names[:MOST_OBJECTS]),
            positions=tuple((name, place_of(at)) for name, at in self.positions.items()),
            waiting=tuple((name, len(box)) for name, box in boxes.items()),
            said=tuple(Message(**letter) for letter in last),
        )

    def get_state(self) -> dict[str, Any]:
        """Return it as a JSON-able value."""
        return {"found": list(self.found), "positions": dict(self.positions)}

    def set_state(self, state: Any, agents: Sequence[str]) -> None:
        """Restore what `get_state` returned.

        Raises:
            SnapshotError: If it is damaged.
        """
        found = state.get("found") if isinstance(state, Mapping) else None
        positions = state.get("positions") if isinstance(state, Mapping) else None
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise SnapshotError("the shared memory of this snapshot lacks a list of names, 'found'")
        if not isinstance(positions, Mapping) or not set(positions) <= set(agents):
            raise SnapshotError("the 'positions' of this shared memory are not of these agents")
        self.found = dict.fromkeys(found)
        self.positions = {name: positions[name] for name in agents if name in positions}


def place_of(position: Any) -> Any:
    """Return a position as it is shown: a number, a tuple of them, or a name."""
    if position is None:
        return None
    numbers = position if isinstance(position, list) else [position]
    if numbers and all(type(x) in (int, float) and math.isfinite(x) for x in numbers):
        rounded = tuple(round(x, 3) for x in numbers)
        return rounded if isinstance(position, list) else rounded[0]
    return str(position)[:LONGEST_NAME] or None


# -- text ---------------------------------------------------------------------------------

_START = "Shared memory, "
_OBJECTS = re.compile(_START + "objects: (.*)")
_POSITIONS = re.compile(_START + "positions: (.*)")
_WAITING = re.compile(_START + "letters waiting: (.*)")
_SAID = re.compile(_START + r"said: (\S+) to (\S+): (.*)")
_AT = re.compile(r"(\S+) (?:nowhere|at (.+))")
_COUNT = re.compile(r"(\S+) (\d{1,9})")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_NUMBERS = re.compile(rf"\(({_NUMBER}(?:, {_NUMBER})*)\)|({_NUMBER})")
NOTHING = "nothing"


def name_text(name: str) -> str:
    """Write a name so that it differs from other names, from numbers and from "nothing"."""
    word = one_line(name).replace(";", "\\u{3b}")
    plain = word and word != NOTHING and word.strip() == word and not _NUMBERS.fullmatch(word)
    return word if plain else "".join(f"\\u{{{ord(char):x}}}" for char in name)


def place_text(place: Any) -> str:
    """Write where something is."""
    if place is None:
        return "nowhere"
    if isinstance(place, str):
        return f"at {name_text(place)}"
    numbers = place if isinstance(place, tuple) else (place,)
    text = ", ".join(map(str, numbers))
    return f"at ({text})" if isinstance(place, tuple) else f"at {text}"


def shared_lines(view: SharedView) -> list[str]:
    """Write what is shown of the shared memory."""
    objects = "; ".join(map(name_text, view.objects))
    places = "; ".join(f"{name} {place_text(place)}" for name, place in view.positions)
    waiting = "; ".join(f"{name} {count}" for name, count in view.waiting)
    return [
        f"{_START}objects: {objects or NOTHING}",
        f"{_START}positions: {places or NOTHING}",
        *([f"{_START}letters waiting: {waiting}"] if view.waiting else []),
        *(f"{_START}said: {m.sender} to {m.recipient}: {one_line(m.message)}" for m in view.said),
    ]


def parse_shared(text: str, config: Any, parse: Callable[[str, Any], Any]) -> Any:
    """Read a text that ends with the shared memory.

    Args:
        text: The text.
        config: The config under which it was shown.
        parse: The function that reads the world's text without it.

    Raises:
        TextParseError: If it ends otherwise, or the world does not write the rest.
    """
    own, lines = split_text(text, _OBJECTS)
    return replace(parse(own, config), shared_memory=_read_view(lines, config))


def _read_view(lines: list[str], config: Any) -> SharedView:
    agents = config.names(config.fixed_envelope().agents)
    left = [*lines, ""]
    objects = _need(_OBJECTS, left)[0]
    positions = _need(_POSITIONS, left)[0]
    waiting = _need(_WAITING, left)[0] if _WAITING.fullmatch(left[0]) else ""
    said = [_need(_SAID, left) for _ in range(len(left) - 1)]
    names = tuple(unescape(name) for name in items_of(objects))
    if list(names) != sorted(set(names)) or len(names) > MOST_OBJECTS:
        raise _unread(objects)
    if len(said) > LETTERS:
        raise _unread(lines[-1])
    places = [_need(_AT, [item]) for item in items_of(positions)]
    counts = [_need(_COUNT, [item]) for item in items_of(waiting)]
    for listed in (places, counts):
        known = [agents.index(name) if name in agents else -1 for name, _ in listed]
        if -1 in known or known != sorted(set(known)):
            raise _unread(positions if listed is places else waiting)
    return SharedView(
        objects=names,
        positions=tuple((name, read_place(words)) for name, words in places),
        waiting=tuple((name, int(count)) for name, count in counts),
        said=tuple(Message(sender, to, unescape(words)) for sender, to, words in said),
    )


def items_of(words: str) -> list[str]:
    """Return the items of a list."""
    return [] if words in ("", NOTHING) else words.split("; ")


def _need(pattern: re.Pattern[str], lines: list[str]) -> tuple[Any, ...]:
    """Return the groups of the next line and take it away."""
    line = lines.pop(0)
    match = pattern.fullmatch(line)
    if match is None:
        raise _unread(line)
    return match.groups()


def _unread(line: str) -> TextParseError:
    return TextParseError(f"cannot read {line[:80]!r} of the shared memory")


def read_place(words: str | None) -> Any:
    """Read the numbers, or the name, of a place."""
    if words is None:
        return None
    match = _NUMBERS.fullmatch(words)
    if match is None:
        return unescape(words)
    listed, single = match.groups()
    if single is not None:
        return _read_number(single)
    return tuple(_read_number(number) for number in listed.split(", "))


def _read_number(word: str) -> int | float:
    return float(word) if set(word) & set(".e") else int(word)


# -- vectors ------------------------------------------------------------------------------


def place_code(place: Any) -> NDArray[np.float64]:
    """Return the numbers of a place: 1 and its coordinates, or its hashed name."""
    row = np.zeros(PLACE_CODE)
    if isinstance(place, str):
        row[:] = hash_text(place, PLACE_CODE)
    elif place is not None:
        numbers = (place if isinstance(place, tuple) else (place,))[: PLACE_CODE - 1]
        row[: 1 + len(numbers)] = 1, *numbers
    return row


class SharedMemoryAddition(KeptPerceptions):
    """The shared memory, as every agent is shown it."""

    field: ClassVar[str] = "shared_memory"
    setting: ClassVar[str] = "shared_memory=False"
    of_all: ClassVar[bool] = True
    prompt: ClassVar[str] = (
        "Lines that begin with 'Shared memory' tell what all agents together know."
    )
    lines = staticmethod(shared_lines)

    def __init__(self, agents: Sequence[str]) -> None:
        """Know nothing."""
        super().__init__(agents)
        self.knowledge = SharedKnowledge()

    @property
    def length(self) -> int:
        """How many numbers of a vector it takes up."""
        return OBJECT_CODE + len(self.agents) * (PLACE_CODE + 1) + LETTERS * LETTER_CODE

    @property
    def text_length(self) -> int:
        """How many characters of a text it takes up at most."""
        longest, word = max(map(len, self.agents)), 10 * LONGEST_NAME + 2
        each, letter = 2 * longest + word + 50, 2 * longest + 10 * MAX_LINE + 50
        return MOST_OBJECTS * word + len(self.agents) * each + LETTERS * letter + 200

    def clear(self) -> None:
        """Forget everything."""
        self.knowledge.clear()

    def note(self, world: PerceivedWorld, agent: int, facts: Any) -> None:
        """Take note of what an agent perceives."""
        self.knowledge.note(self.agents[agent], world.surroundings(facts))

    def shown(self, world: PerceivedWorld, agent: int) -> SharedView:
        """Return what is shown now, the same to all agents."""
        known = self.knowledge
        known.positions = {n: known.positions[n] for n in self.agents if n in known.positions}
        return known.view(world.mailboxes)

    def code(self, view: SharedView) -> NDArray[np.float64]:
        """Return what is shown as the numbers of a vector."""
        agents, waiting = self.agents, dict(view.waiting)
        places = np.zeros((len(agents), PLACE_CODE))
        for name, place in view.positions:
            places[agents.index(name)] = place_code(place)
        letters = np.zeros((LETTERS, LETTER_CODE))
        numbers_of = {name: number for number, name in enumerate((*agents, EVERYONE), 1)}
        for row, letter in zip(letters, view.said, strict=False):
            other = len(numbers_of) + 1
            row[:2] = numbers_of.get(letter.sender, other), numbers_of.get(letter.recipient, other)
            row[2:] = hash_text(letter.message)
        objects = hash_text(" ".join(view.objects), OBJECT_CODE)
        counts = [waiting.get(name, 0) for name in agents]
        return np.concatenate([objects, places.ravel(), counts, letters.ravel()])

    def get_state(self) -> Any:
        """Return it as a JSON-able value."""
        return self.knowledge.get_state()

    def set_state(self, state: Any) -> None:
        """Restore what `get_state` returned."""
        self.knowledge.set_state(state, self.agents)
