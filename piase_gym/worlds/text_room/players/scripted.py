"""An explorer: it knows only what its agent has seen, and tries what a curious player would.

It takes keys and what the goal names, opens, unlocks, searches and reads what is here, and walks to
the nearest place where something of that kind is left to do. Only then does it play with what it
found: it takes everything, uses each thing, alone and on others, and puts things into each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from piase_gym.core.commands import Command
from piase_gym.worlds.text_room.facts import KnownExit, TextRoomFacts
from piase_gym.worlds.text_room.world import TextRoom
from piase_gym.worlds.texts.wording import spaced

SHUT = ("closed", "unlocked", "locked")
PLAYFUL = ("take", "use", "put")
"""The verbs to try when nothing else is left, in this order."""


class AgentNotes:
    """What one agent has seen and tried in this episode."""

    def __init__(self) -> None:
        self.ways: dict[str, dict[str, KnownExit]] = {}
        """For each room that it was in, the ways out by their directions."""
        self.states: dict[str, dict[str, str]] = {}
        """For each room, what was last seen there, with its state."""
        self.tried: set[tuple[str, str]] = set()
        """The rooms and lines that were tried; each is tried once."""
        self.keys: dict[str, set[str]] = {}
        """For each thing, what was carried at attempts to unlock it."""
        self.left: dict[str, frozenset[str]] = {}
        """For each room, what was carried when nothing was left to play with there."""
        self._before = ("", "")

    def note(self, facts: TextRoomFacts) -> None:
        """Remember what is seen, and where the last way led."""
        room, line = self._before
        direction = line.removeprefix("go ")
        if facts.room != room and direction in self.ways.get(room, ()):
            ways = self.ways[room]
            ways[direction] = ways[direction]._replace(to=facts.room)
        self.ways[facts.room] = {way.direction: way for way in facts.exits}
        self.states[facts.room] = {seen.name: seen.state for seen in facts.objects}

    def choose(self, facts: TextRoomFacts, line: str) -> None:
        """Remember what is tried now."""
        self._before = facts.room, line
        self.tried.add(self._before)
        if line.startswith("unlock "):
            self.keys.setdefault(line.removeprefix("unlock "), set()).update(carried(facts))

    def new(self, room: str, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines not yet tried in a room, and those that unlock: they are for new keys."""
        for line in lines:
            if line.startswith("unlock ") or (room, line) not in self.tried:
                yield line

    def may_unlock(self, thing: str, facts: TextRoomFacts) -> bool:
        """Return whether something is carried that was not yet tried on a lock."""
        return bool(carried(facts) - self.keys.get(spaced(thing), set()))

    def is_shut(self, room: str, way: KnownExit) -> bool:
        """Return whether the door of a way was shut when it was last seen."""
        return self.states[room].get(way.door) in SHUT

    def unknown_ways(self, room: str) -> list[str]:
        """Return the lines that lead from a room to where this agent has not been."""
        unknown = [
            f"go {direction}"
            for direction, way in self.ways[room].items()
            if way.to not in self.ways and not self.is_shut(room, way)
        ]
        return list(self.new(room, unknown))

    def rooms_by_distance(self, start: str) -> Iterator[tuple[str, str]]:
        """Yield every other room that can be walked to, with the line of the first step."""
        reached = {start: ""}
        queue = deque([start])
        while queue:
            room = queue.popleft()
            for direction, way in self.ways[room].items():
                if way.to in self.ways and way.to not in reached and not self.is_shut(room, way):
                    reached[way.to] = reached[room] or f"go {direction}"
                    yield way.to, reached[way.to]
                    queue.append(way.to)


def carried(facts: TextRoomFacts) -> frozenset[str]:
    """Return the names of what is carried."""
    return frozenset(held.name for held in facts.inventory)


class TextRoomScript:
    """Plays TextRoom by its facts alone.

    Args:
        world: The world, from which only the facts and the commands of the agent are read.
    """

    def __init__(self, world: TextRoom) -> None:
        self.world = world
        self._minds: dict[int, AgentNotes] = {}

    def act(self, agent: int) -> Command:
        """Return the next command."""
        world, facts = self.world, self.world.facts(agent)
        mind = self._minds.setdefault(agent, AgentNotes())
        mind.note(facts)
        lines = {world.write(command): command for command in world.admissible(agent)}
        for line in self._ideas(facts, mind, lines):
            command = lines.get(line) or world.read(agent, line)
            if isinstance(command, Command) and world.legal(agent, command):
                mind.choose(facts, line)
                return command
        mind.tried.clear()  # things that had no use may have one now
        mind.left.clear()
        return world.noop

    def _ideas(
        self, facts: TextRoomFacts, mind: AgentNotes, lines: dict[str, Command]
    ) -> Iterator[str]:
        """Yield lines that could be next, the best first; the caller skips what is impossible."""
        yield from mind.new(facts.room, self._fetching(facts, lines))
        yield from mind.new(facts.room, self._here(facts, mind, lines))
        yield from mind.unknown_ways(facts.room)
        for room, step in mind.rooms_by_distance(facts.room):
            locked = (name for name, state in mind.states[room].items() if state == "locked")
            if mind.unknown_ways(room) or any(mind.may_unlock(name, facts) for name in locked):
                yield step
        play = [line for verb in PLAYFUL for line in lines if line.startswith(f"{verb} ")]
        yield from mind.new(facts.room, play)
        mind.left[facts.room] = carried(facts)
        for room, step in mind.rooms_by_distance(facts.room):
            if mind.left.get(room) != carried(facts):
                yield step

    def _fetching(self, facts: TextRoomFacts, lines: dict[str, Command]) -> Iterator[str]:
        """Yield lines that take what the goal names, or drop it in the room that the goal names."""
        goal = facts.goal.lower()
        there = spaced(facts.room).lower() in goal
        if there:
            held = [spaced(held.name) for held in facts.inventory]
            yield from (f"drop {name}" for name in held if name.lower() in goal)
        for name in (spaced(seen.name) for seen in facts.objects):
            if name.lower() in goal and not there and f"take {name}" in lines:
                yield f"take {name}"

    def _here(
        self, facts: TextRoomFacts, mind: AgentNotes, lines: dict[str, Command]
    ) -> Iterator[str]:
        """Yield what can be found out and opened where the agent is.

        Things that have a word in their names in common with something seen elsewhere come first:
        a green casket, if there was a green lantern.
        """
        elsewhere = {
            word
            for room, states in mind.states.items()
            if room != facts.room
            for name in states
            for word in spaced(name).split()
        }
        things = [(spaced(seen.name), seen.state) for seen in facts.objects]
        for name, _ in things:
            if "key" in name.split() and f"take {name}" in lines:
                yield f"take {name}"
        things.sort(key=lambda thing: not elsewhere & {*thing[0].split()})
        for name, state in things:
            if state in ("closed", "unlocked"):
                yield f"open {name}"
            elif state == "locked" and mind.may_unlock(name, facts):
                yield f"unlock {name}"
            elif state == "not searched":
                yield f"search {name}"
        yield from (line for line in lines if line.startswith("read "))
