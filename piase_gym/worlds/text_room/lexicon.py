"""The names and indices of one config: places in the vector, and commands by index."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from piase_gym.core.commands import Command, write_command
from piase_gym.worlds.text_room import names, words
from piase_gym.worlds.text_room.config import PHRASES, TextRoomConfig, TextRoomEnvelope
from piase_gym.worlds.text_room.prompt import grammar
from piase_gym.worlds.text_room.sight import Sight
from piase_gym.worlds.text_room.state import Arrangement, Plot, RoomState
from piase_gym.worlds.text_room.story import DIRECTIONS


@dataclass(frozen=True)
class Vocabulary:
    """The names of one config, in the order of the vector's places.

    Attributes:
        agents: Names of the agents, as many as the envelope has.
        rooms: Names of the rooms.
        objects: Name of each object -> its place; those that can be taken come first.
        stats: Names of the stats.
        envelope: The envelope.
    """

    agents: tuple[str, ...]
    rooms: tuple[str, ...]
    objects: dict[str, int]
    stats: tuple[str, ...]
    envelope: TextRoomEnvelope

    def __deepcopy__(self, _memo: Any) -> Vocabulary:
        """Return itself: it never changes."""
        return self


def vocabulary(config: TextRoomConfig) -> Vocabulary:
    """Return the names of a config."""
    envelope = config.fixed_sizes()
    agents = config.names(envelope.agents)
    if config.story is None:
        lexicon = words.lexicon(config.theme, config.rooms, config.depth, config.distractors)
        rooms, items, fixtures = lexicon.rooms, lexicon.items, lexicon.fixtures
        stats: tuple[str, ...] = ()
    else:
        can = names.takeable(config.story)
        rooms = tuple(config.story.rooms)
        items = tuple(name for name in can if can[name])
        fixtures = tuple(name for name in can if not can[name])
        setups = config.story.agent_setup
        stats = tuple(dict.fromkeys(name for setup in setups for name in setup.stats))
    objects = {name: k for k, name in enumerate(items)}
    objects |= {name: envelope.items + k for k, name in enumerate(fixtures)}
    return Vocabulary(agents, rooms, objects, stats, envelope)


@dataclass(frozen=True)
class Bases:
    """Where each kind of command begins in the table; see `Table`."""

    look: int
    go: int
    inspect: int
    open: int
    close: int
    search: int
    read: int
    use: int
    take: int
    drop: int
    put: int
    use_on: int
    say: int
    tell: int
    give: int
    size: int


def bases_of(envelope: TextRoomEnvelope) -> Bases:
    """Lay out the table for an envelope."""
    objects, items, agents = envelope.objects, envelope.items, envelope.agents
    several = agents > 1
    sizes = {
        "look": 3,  # wait, look, inventory
        "go": len(DIRECTIONS),
        **dict.fromkeys(("inspect", "open", "close", "search", "read", "use"), objects),
        **dict.fromkeys(("take", "drop"), items),
        **dict.fromkeys(("put", "use_on"), items * objects),
        "say": len(PHRASES) if several else 0,
        "tell": agents * len(PHRASES) if several else 0,
        "give": items * agents if several else 0,
    }
    starts, place = {}, 0
    for name, size in sizes.items():
        starts[name] = place
        place += size
    return Bases(**starts, size=place)


@dataclass(frozen=True)
class Table:
    """The commands that indices stand for: the same in every episode of a config.

    0 waits, 1 looks around, 2 takes stock; then the directions; then for each verb a row of objects
    (`look`, `open`, `close`, `search`, `read`, `use`) or of items (`take`, `drop`); `put` and
    `use ... on` for each item and object; and with several agents `say` with each phrase, `tell`
    with each agent and phrase, `give` with each item and agent. Places without an object are
    masked.

    Attributes:
        commands: The command of each index, or ``None``.
        bases: Where each kind begins.
        words: The names.
        lines: The line of text of each command.
        numbers: Line of text -> index.
        places: Where the command objects of this table stand, by their `id`.
    """

    commands: tuple[Command | None, ...]
    bases: Bases
    words: Vocabulary
    lines: tuple[str, ...]
    numbers: dict[str, int]
    places: dict[int, int]

    def place(self, command: Command) -> int | None:
        """Return the index of a command object of this table, or ``None`` for any other object."""
        index = self.places.get(id(command))
        return index if index is not None and self.commands[index] is command else None

    def __reduce__(self) -> Any:
        """Pickle the names alone."""
        return table_of, (self.words,)

    def __deepcopy__(self, _memo: Any) -> Table:
        """Return itself: it never changes."""
        return self


def table_of(words: Vocabulary) -> Table:
    """Return the table of a config."""
    objects = tuple(words.objects.items())
    return _write(words.agents, words.rooms, objects, words.stats, words.envelope)


@functools.lru_cache(maxsize=64)
def _write(
    agents: tuple[str, ...],
    rooms: tuple[str, ...],
    objects: tuple[tuple[str, int], ...],
    stats: tuple[str, ...],
    envelope: TextRoomEnvelope,
) -> Table:
    """Write the table of a config; environments with the same names share it."""
    words = Vocabulary(agents, rooms, dict(objects), stats, envelope)
    bases = bases_of(words.envelope)
    rows: list[Command | None] = [None] * bases.size
    for index, command in _rows(bases, words):
        rows[index] = command
    verbs = grammar(words.envelope.agents > 1)
    lines = tuple("" if row is None else write_command(row, verbs) for row in rows)
    numbers = {line: k for k, line in enumerate(lines) if line}
    places = {id(row): k for k, row in enumerate(rows) if row is not None}
    return Table(tuple(rows), bases, words, lines, numbers, places)


def _rows(bases: Bases, words: Vocabulary) -> Iterator[tuple[int, Command]]:
    """Yield every index that stands for a command."""
    envelope = words.envelope
    yield from enumerate((Command("wait"), Command("look"), Command("inventory")))
    for k, direction in enumerate(DIRECTIONS):
        yield bases.go + k, Command("go", {"direction": direction})
    for name, k in words.objects.items():
        for verb in ("open", "close", "search", "read"):
            yield getattr(bases, verb) + k, Command(verb, {"target_object": name})
        yield bases.inspect + k, Command("look", {"target_object": name})
        yield bases.use + k, Command("use", {"item_name": name})
    for item, i in words.objects.items():
        if i >= envelope.items:
            continue
        yield bases.take + i, Command("take", {"item_name": item})
        yield bases.drop + i, Command("drop", {"item_name": item})
        for name, k in words.objects.items():
            both = {"item_name": item, "target_object": name}
            yield bases.put + i * envelope.objects + k, Command("put", both)
            yield bases.use_on + i * envelope.objects + k, Command("use", both)
    if envelope.agents > 1:
        yield from _spoken(bases, words)


def _spoken(bases: Bases, words: Vocabulary) -> Iterator[tuple[int, Command]]:
    """Yield what is said and given among several agents."""
    for p, phrase in enumerate(PHRASES):
        yield bases.say + p, Command("say", {"message": phrase})
        for a, agent in enumerate(words.agents):
            told = {"agent_id": agent, "message": phrase}
            yield bases.tell + a * len(PHRASES) + p, Command("tell", told)
    for item, i in words.objects.items():
        if i < words.envelope.items:
            for a, agent in enumerate(words.agents):
                given = {"item_name": item, "agent_id": agent}
                yield bases.give + i * words.envelope.agents + a, Command("give", given)


def legal_indices(
    table: Table, plot: Plot, state: RoomState | Arrangement, agent: int, sight: Sight
) -> list[int]:
    """Return the indices of an agent's legal commands, in no order."""
    if state.status[agent] != "playing":
        return []
    bases, envelope = table.bases, table.words.envelope
    objects, items, is_open = envelope.objects, plot.items, state.is_open
    ways = plot.exits[state.rooms[agent]]
    found = [0, 1, 2, *(bases.go + k for k, way in enumerate(DIRECTIONS) if way in ways)]
    here = [k for k, _ in sight.here]
    reach = [*sight.held, *here]
    shift = envelope.items - items  # fixtures stand behind all places for items
    places = [k if k < items else k + shift for k in reach]
    both = list(zip(reach, places, strict=True))
    found += [bases.inspect + place for place in places]
    found += [bases.search + place for place in places]
    found += [bases.open + p for k, p in both if not is_open[k] and (plot.opens[k] or k >= items)]
    found += [bases.close + p for k, p in both if is_open[k] and plot.opens[k]]
    found += [bases.read + place for k, place in both if plot.readable[k]]
    found += [bases.use + place for k, place in both if plot.usable[k]]
    found += [bases.take + k for k in here if k < items]
    containers = [place for k, place in both if plot.containers[k]]
    for item in sight.held:
        on, into = bases.use_on + item * objects, bases.put + item * objects
        found.append(bases.drop + item)
        found += [on + place for place in places if place != item]
        found += [into + place for place in containers if place != item]
    if envelope.agents > 1:
        found += _legal_speech(bases, state, agent, sight, envelope.agents)
    return found


def _legal_speech(
    bases: Bases, state: RoomState | Arrangement, agent: int, sight: Sight, agents: int
) -> Iterator[int]:
    """Yield what can be said and given now."""
    phrases = len(PHRASES)
    yield from range(bases.say, bases.say + phrases)
    for other, status in enumerate(state.status):
        if other != agent and status == "playing":
            start = bases.tell + other * phrases
            yield from range(start, start + phrases)
    for item in sight.held:
        for other in sight.others:
            yield bases.give + item * agents + other
