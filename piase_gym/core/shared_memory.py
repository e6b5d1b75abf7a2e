"""The shared memory of the explorer document: what all agents of a world together know.

`SharedKnowledge` takes note of what anybody sees and where everybody is. No agent observes it,
unless the config says ``shared_memory=True``: then a world is of the class that `showing` makes,
whose facts, texts and vectors end with a `SharedView`, for every world alike. In the text it is

    Shared memory, objects: chair; lamp
    Shared memory, positions: agent_0 at (2, 1); agent_1 at (0, 0)
    Shared memory, letters waiting: agent_0 0; agent_1 1
    Shared memory, said: agent_0 to all: I found chair

and in the vector 64 numbers for the objects (hashed words), 4 for each agent's position (1 and its
coordinates, or the hashed name of a place), 1 for its waiting letters, and 10 for each of the last
five letters (sender and recipient from 1, hashed words).
"""

# `ShowsSharedMemory` is mixed into worlds, which have what is abstract in `World`.
# mypy: disable-error-code="safe-super"

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from piase_gym.core.commands import MAX_LINE
from piase_gym.core.digest import digest_json
from piase_gym.core.facts import Act, Facts, Manual, SharedView, StepResult
from piase_gym.core.jsonable import jsonable
from piase_gym.core.mailbox import EVERYONE, Mailbox, Message
from piase_gym.core.models import SharedMemory
from piase_gym.core.surroundings import Surroundings
from piase_gym.core.text_encoding import HINT_CODE, hash_text, one_line, unescape
from piase_gym.core.world import World
from piase_gym.errors import SnapshotError, TextParseError, UnsupportedError

MOST_OBJECTS, LONGEST_NAME, LETTERS = 64, 60, 5
"""How many objects and letters are shown, and how much of a name."""
OBJECT_CODE, PLACE_CODE, LETTER_CODE = 64, 4, 2 + HINT_CODE


class SharedKnowledge:
    """What anybody has seen in an episode, in the order of discovery, and where everybody is."""

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
        """Return it with the mailboxes, as the explorer document has it."""
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
            positions=tuple((name, _place(at)) for name, at in self.positions.items()),
            waiting=tuple((name, len(box)) for name, box in boxes.items()),
            said=tuple(Message(**letter) for letter in last),
        )

    def get_state(self) -> dict[str, Any]:
        """Return it as a JSON-able value."""
        return {"found": list(self.found), "positions": dict(self.positions)}

    def set_state(self, state: Any, agents: Sequence[str]) -> None:
        """Take up what `get_state` returned.

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


def _place(position: Any) -> Any:
    """Return a position as it is shown: a number, a tuple of them, or a name."""
    if position is None:
        return None
    numbers = position if isinstance(position, list) else [position]
    if numbers and all(type(x) in (int, float) and math.isfinite(x) for x in numbers):
        rounded = tuple(round(x, 3) for x in numbers)
        return rounded if isinstance(position, list) else rounded[0]
    return str(position)[:LONGEST_NAME]


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


def _word(name: str) -> str:
    """Write a name so that it stands apart from others, from numbers and from nothing."""
    word = one_line(name).replace(";", "\\u{3b}")
    plain = word and word != NOTHING and word.strip() == word and not _NUMBERS.fullmatch(word)
    return word if plain else "".join(f"\\u{{{ord(char):x}}}" for char in name)


def _where(place: Any) -> str:
    if place is None:
        return "nowhere"
    if isinstance(place, str):
        return f"at {_word(place)}"
    numbers = place if isinstance(place, tuple) else (place,)
    told = ", ".join(map(str, numbers))
    return f"at ({told})" if isinstance(place, tuple) else f"at {told}"


def shared_lines(view: SharedView) -> list[str]:
    """Write what is shown of the shared memory."""
    objects = "; ".join(map(_word, view.objects))
    places = "; ".join(f"{name} {_where(place)}" for name, place in view.positions)
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
        parse: What reads the text of the world without it.

    Raises:
        TextParseError: If it ends otherwise, or the world does not write the rest.
    """
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if _OBJECTS.fullmatch(line)), len(lines))
    facts = parse("\n".join(lines[:first]), config)
    return replace(facts, shared_memory=_read_view(lines[first:], config))


def _read_view(lines: list[str], config: Any) -> SharedView:
    agents = config.names(config.fixed_envelope().agents)
    left = [*lines, ""]
    objects = _need(_OBJECTS, left)[0]
    positions = _need(_POSITIONS, left)[0]
    waiting = _need(_WAITING, left)[0] if _WAITING.fullmatch(left[0]) else ""
    said = [_need(_SAID, left) for _ in range(len(left) - 1)]
    names = tuple(unescape(name) for name in _items(objects))
    if list(names) != sorted(set(names)) or len(names) > MOST_OBJECTS:
        raise _unread(objects)
    if len(said) > LETTERS:
        raise _unread(lines[-1])
    places = [_need(_AT, [item]) for item in _items(positions)]
    counts = [_need(_COUNT, [item]) for item in _items(waiting)]
    for listed in (places, counts):
        known = [agents.index(name) if name in agents else -1 for name, _ in listed]
        if -1 in known or known != sorted(set(known)):
            raise _unread(positions if listed is places else waiting)
    return SharedView(
        objects=names,
        positions=tuple((name, _read_place(words)) for name, words in places),
        waiting=tuple((name, int(count)) for name, count in counts),
        said=tuple(Message(sender, to, unescape(words)) for sender, to, words in said),
    )


def _items(words: str) -> list[str]:
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


def _read_place(words: str | None) -> Any:
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


def shared_length(agents: int) -> int:
    """Return how many numbers of a vector the shared memory takes."""
    return OBJECT_CODE + agents * (PLACE_CODE + 1) + LETTERS * LETTER_CODE


def shared_code(view: SharedView, agents: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers of the shared memory."""
    places = np.zeros((len(agents), PLACE_CODE))
    for name, place in view.positions:
        row = places[agents.index(name)]
        if isinstance(place, str):
            row[:] = hash_text(place, PLACE_CODE)
        elif place is not None:
            numbers = (place if isinstance(place, tuple) else (place,))[: PLACE_CODE - 1]
            row[: 1 + len(numbers)] = 1, *numbers
    waiting = dict(view.waiting)
    letters = np.zeros((LETTERS, LETTER_CODE))
    numbers_of = {name: number for number, name in enumerate((*agents, EVERYONE), 1)}
    for row, letter in zip(letters, view.said, strict=False):
        other = len(numbers_of) + 1
        row[:2] = numbers_of.get(letter.sender, other), numbers_of.get(letter.recipient, other)
        row[2:] = hash_text(letter.message)
    objects = hash_text(" ".join(view.objects), OBJECT_CODE)
    counts = [waiting.get(name, 0) for name in agents]
    return np.concatenate([objects, places.ravel(), counts, letters.ravel()])


# -- worlds -------------------------------------------------------------------------------


class Kept(NamedTuple):
    """What `World.capture` kept, and what was shown of the shared memory then."""

    own: Any
    view: SharedView


@dataclass(frozen=True)
class SharedTextWriter:
    """Writes the texts of a world, and after them the shared memory."""

    own: Callable[[Any, int], str]

    def __call__(self, kept: Kept, agent: int) -> str:
        """Write the text of the moment in which it was kept."""
        return "\n".join([self.own(kept.own, agent), *shared_lines(kept.view)])


class ShowsSharedMemory(World[Any, Any]):
    """A world that shows the shared memory to every agent; mixed into its class by `showing`."""

    def __init__(self, config: Any) -> None:
        """Make the world with an empty shared memory."""
        self.shared_knowledge, self._shared_noted = SharedKnowledge(), False
        self._shared_with: set[int] = set()
        self._shares = True
        self._own_text_length = World.text_length
        super().__init__(config)

    @property
    def text_length(self) -> int:
        """The world's own, and room for the lines of the shared memory."""
        longest, word = max(map(len, self.agents)), 10 * LONGEST_NAME + 2
        each, letter = 2 * longest + word + 50, 2 * longest + 10 * MAX_LINE + 50
        more = MOST_OBJECTS * word + len(self.agents) * each + LETTERS * letter
        return self._own_text_length + more + 200

    @text_length.setter
    def text_length(self, length: int) -> None:
        self._own_text_length = length

    def reset(self, seed: int) -> None:
        """Start an episode in which nobody has seen anything."""
        super().reset(seed)
        self.shared_knowledge.clear()
        self._shared_with, self._shared_noted = set(), False

    def step(self, acts: Sequence[Act]) -> StepResult:
        """Advance by one step; whoever takes part in it is looked at when it is over."""
        self._keep_up()
        alive = self.alive
        tick = super().step(acts)
        self._shared_with, self._shared_noted = {i for i, plays in enumerate(alive) if plays}, False
        return tick

    def enter(self, agent: int) -> None:
        """Let an agent enter, which is looked at, too."""
        self._keep_up()
        super().enter(agent)
        self._shared_noted = False

    def _keep_up(self) -> None:
        """Take note of what everybody perceives, once a step."""
        if self._shared_noted:
            return
        self._shared_noted = True
        alive = self.alive
        for number, name in enumerate(self.agents):
            if alive[number] or number in self._shared_with:
                self.shared_knowledge.note(name, self.surroundings(super().facts(number)))
        self._shared_with = set()

    def shared_view(self) -> SharedView:
        """Return what is shown now."""
        self._keep_up()
        known = self.shared_knowledge
        known.positions = {n: known.positions[n] for n in self.agents if n in known.positions}
        return known.view(self.mailboxes)

    # -- views ----------------------------------------------------------------------------

    @property
    def vector_space(self) -> Box:
        """The world's own Box, longer by the shared memory."""
        own, more = super().vector_space, shared_length(len(self.agents))
        low, high = _bounds(own.dtype)
        return Box(
            np.concatenate([own.low, np.full(more, low, own.dtype)]),
            np.concatenate([own.high, np.full(more, high, own.dtype)]),
            dtype=own.dtype,
        )

    def facts(self, agent: int) -> Any:
        """Return what the agent may know now."""
        facts = super().facts(agent)
        return replace(facts, shared_memory=self.shared_view()) if self._shares else facts

    def vector(self, facts: Facts) -> NDArray[Any]:
        """Return the vector of the facts; those that `capture` keeps lack the shared memory."""
        own = super().vector(facts)
        return own if facts.shared_memory is None else self._with_shared(own, facts.shared_memory)

    def _with_shared(self, own: NDArray[Any], view: SharedView) -> NDArray[Any]:
        """Return a vector with the shared memory at its end."""
        code = np.clip(shared_code(view, self.agents), *_bounds(own.dtype))
        return np.concatenate([own, code.astype(own.dtype)])

    def capture(self) -> Sequence[Any]:
        """Keep what the world keeps, and what is shown of the shared memory."""
        view = self.shared_view()
        self._shares = False
        try:
            return [Kept(own, view) for own in super().capture()]
        finally:
            self._shares = True

    def vectors(self, kept: Sequence[Any] | None = None) -> Sequence[NDArray[Any]]:
        """Return the vector of every agent."""
        kept = self.capture() if kept is None else kept
        rows = super().vectors([entry.own for entry in kept])
        return [self._with_shared(own, entry.view) for own, entry in zip(rows, kept, strict=True)]

    def text_writer(self) -> Callable[[Any, int], str]:
        """Return what writes texts of what `capture` returned."""
        return SharedTextWriter(super().text_writer())

    def text(self, facts: Any) -> str:
        """Return the text of the facts."""
        return self.to_text(facts, self.config)

    def native_text(self, agent: int) -> str:
        """Return the second dialect, and the shared memory in the first."""
        return "\n".join([super().native_text(agent), *shared_lines(self.shared_view())])

    @property
    def manual(self) -> Manual:
        """The words of the prompt, with a sentence about the shared memory."""
        own = super().manual
        told = "Lines that begin with 'Shared memory' tell what all agents together know."
        return replace(own, rules=f"{own.rules} {told}")

    # -- the state is a value -------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return the state of the world with the shared memory."""
        self._keep_up()
        return {**super().get_state(), "shared_memory": self.shared_knowledge.get_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `get_state` returned."""
        if not isinstance(state, Mapping) or "shared_memory" not in state:
            raise SnapshotError(f"{self.name}: the state lacks 'shared_memory'")
        known = SharedKnowledge()
        known.set_state(state["shared_memory"], self.agents)
        super().set_state({k: v for k, v in state.items() if k != "shared_memory"})
        self.shared_knowledge, self._shared_noted = known, True

    def digest(self) -> str:
        """Hash the shared memory with the rest."""
        self._keep_up()
        return digest_json([super().digest(), self.shared_knowledge.get_state()])

    def twin(self, agent: int) -> Any:
        """Return a copy in which the others have hints: what they find, everybody is shown."""
        return World.twin(self, agent)

    def new_batch(self, count: int, configs: Sequence[Any]) -> Any:
        """Say that kernels do not know it."""
        raise UnsupportedError(
            f"{self.name}: batches do not show the shared memory; use parallel_env, "
            "gymnasium.make or make_vec, or shared_memory=False"
        )


def _bounds(kind: Any) -> tuple[float, float]:
    """Return the range of the numbers of a vector."""
    if np.issubdtype(kind, np.integer):
        return np.iinfo(kind).min, np.iinfo(kind).max
    return -np.inf, np.inf


@functools.cache
def showing(kind: type[World[Any, Any]]) -> type[World[Any, Any]]:
    """Return a class of worlds that show the shared memory."""
    claimed = replace(kind.capabilities, batched=False)

    def to_text(facts: Any, config: Any) -> str:
        text, view = kind.to_text(facts, config), facts.shared_memory
        return text if view is None else "\n".join([text, *shared_lines(view)])

    @functools.wraps(kind.facts)
    def facts(self: ShowsSharedMemory, agent: int) -> Any:
        return ShowsSharedMemory.facts(self, agent)

    members: dict[str, Any] = {
        "facts": facts,
        "capabilities": claimed,
        "to_text": staticmethod(to_text),
    }
    members["made_of"] = kind.made_of or kind
    members |= {name: getattr(kind, name) for name in ("__doc__", "__module__", "__qualname__")}
    return type(kind.__name__, (ShowsSharedMemory, kind), members)
