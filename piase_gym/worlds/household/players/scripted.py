"""A searcher: it knows only what its agent has seen, and looks where one would look first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from piase_gym.core.commands import Command
from piase_gym.worlds.household.facts import HouseholdFacts, KnownReceptacle
from piase_gym.worlds.household.levels.words import (
    LAMPS,
    OBJECT_WORDS,
    OBJECTS,
    RECEPTACLE_WORDS,
    RECEPTACLES,
)
from piase_gym.worlds.household.world import Household

_TOOLS = {"clean": "sinkbasin", "hot": "microwave", "cool": "fridge"}
_VERBS = {"clean": "clean", "hot": "heat", "cool": "cool"}
_SAYS = {
    "clean": ("clean", "cleaned", "wash", "washed", "rinse", "rinsed"),
    "hot": ("hot", "heat", "heated", "warm", "warmed", "microwaved"),
    "cool": ("cool", "cooled", "cold", "chill", "chilled"),
}
_LAMPS = frozenset(lamp.lower() for lamp in LAMPS)
_PROPER = {name.lower(): name for name in (*OBJECTS, *RECEPTACLES)}
_SENTENCE = re.compile(
    r"(?:put|find|look at|examine|heat|cool|clean)"
    r"(?: the| an?| some| two)?(?: hot| cool| clean)? (\w+)"
    r"(?:.* (?:in|on|under|with)(?: the| an?)? (\w+))?"
)


class UnderstoodTask(NamedTuple):
    """A task as it was understood.

    Attributes:
        target: The kind of object.
        place: The kind of receptacle that it goes into, or of lamp that it is looked at with.
        look: ``clean``, ``hot``, ``cool``, or "".
        number: How many of them.
    """

    target: str
    place: str
    look: str
    number: int

    @property
    def lamp(self) -> bool:
        """Whether the task is to look at something in the light of a lamp."""
        return self.place in _LAMPS


def understand(goal: str) -> UnderstoodTask:
    """Return what a task asks for, as far as its words say it."""
    words = re.findall(r"[a-z]+", goal.lower())
    things = [word for word in words if word in OBJECT_WORDS]
    lamps = [word for word in things if word in _LAMPS]
    targets = [word for word in things if word not in _LAMPS]
    places = [word for word in words if word in RECEPTACLE_WORDS]
    sentence = _SENTENCE.match(goal.lower())
    first, last = (sentence[1], sentence[2] or "") if sentence else ("", "")
    look = next((look for look, said in _SAYS.items() if {*said} & {*words}), "")
    place = lamps[-1] if lamps and not places else places[-1] if places else last
    count = 2 if "two" in words or "both" in words else 1
    return UnderstoodTask(targets[0] if targets else first, place, look, count)


def kind_of(name: str) -> str:
    """Return the kind of thing that a name such as ``mug 2`` names."""
    return name.partition(" ")[0]


class HouseholdScript:
    """Plays Household by its facts alone.

    Args:
        world: The world, from which only the agent's facts and commands, and the step, are read.
    """

    def __init__(self, world: Household) -> None:
        self.world = world
        self._refused: set[str] = set()
        self._chosen = ""
        self._before: tuple[str, str] = ("", "")

    def act(self, agent: int) -> Command:
        """Return the next command."""
        world = self.world
        facts = world.facts(agent)
        lines = {world.write(command): command for command in world.admissible(agent)}
        errand = understand(facts.goal)
        for line in self._ideas(facts, errand, lines):
            if line in lines:
                return lines[line]
        return lines.get("look", world.noop)

    def _ideas(
        self, facts: HouseholdFacts, errand: UnderstoodTask, lines: dict[str, Command]
    ) -> Iterator[str]:
        """Yield lines that could be next, the best first; the caller skips what is impossible."""
        if facts.holding:
            held = facts.holding[0]
            if kind_of(held.name) != errand.target:
                yield from self._drop(facts, held.name, lines)
            elif errand.lamp:
                yield from self._to_lamp(facts, errand)
            elif errand.look and errand.look not in held.looks:
                yield from self._change(facts, errand, held.name)
            else:
                yield from self._deliver(facts, errand, held.name, lines)
        else:
            yield from self._fetch(facts, errand)
        yield from self._explore(facts, errand)

    def _drop(self, facts: HouseholdFacts, name: str, lines: dict[str, Command]) -> Iterator[str]:
        """Put down what is of no use."""
        starts = (f"move {name} to ", f"put {name} in/on ")
        yield from (line for line in lines if line.startswith(starts))
        for place in facts.places:
            if place.state == "closed" and place.here:
                yield f"open {place.name}"
        yield from (f"go to {place.name}" for place in facts.places if place.state == "plain")

    def _to_lamp(self, facts: HouseholdFacts, errand: UnderstoodTask) -> Iterator[str]:
        """Go to a lamp that was seen, and use it."""
        for place in facts.places:
            for thing in place.things or ():
                if kind_of(thing) == errand.place:
                    yield f"use {thing}" if place.here else f"go to {place.name}"

    def _change(self, facts: HouseholdFacts, errand: UnderstoodTask, name: str) -> Iterator[str]:
        """Clean, heat or cool what is in hand."""
        for place in facts.places:
            if kind_of(place.name) == _TOOLS[errand.look]:
                yield f"{_VERBS[errand.look]} {name} with {place.name}"
                yield f"go to {place.name}"

    def _deliver(
        self, facts: HouseholdFacts, errand: UnderstoodTask, name: str, lines: dict[str, Command]
    ) -> Iterator[str]:
        """Put what is in hand where it belongs."""
        goals = [place for place in facts.places if kind_of(place.name) == errand.place]
        for place in [place for place in goals if place.here]:
            if place.state == "closed":
                yield f"open {place.name}"
            ways = (f"move {name} to {place.name}", f"put {name} in/on {place.name}")
            for line in ways:
                if line in lines:
                    self._chosen = place.name
                    yield line
            self._refused.add(place.name)
        goals.sort(key=lambda place: self._merit(place, errand))
        yield from (f"go to {p.name}" for p in goals if p.name not in self._refused)
        self._refused.clear()

    def _merit(self, place: KnownReceptacle, errand: UnderstoodTask) -> tuple[bool, int, bool]:
        """Return a sort key: chosen before, holding most of the objects, needing no opening."""
        inside = sum(kind_of(thing) == errand.target for thing in place.things or ())
        closed = place.state == "closed" or _opens(place)
        return place.name != self._chosen, -inside, closed and place.state != "open"

    def _fetch(self, facts: HouseholdFacts, errand: UnderstoodTask) -> Iterator[str]:
        """Take an object that was seen and is of use."""
        goals = [p for p in facts.places if kind_of(p.name) == errand.place]
        final = min(goals, key=lambda place: self._merit(place, errand), default=None)
        done = errand.number > 1 or not errand.look
        for place in sorted(facts.places, key=lambda place: (not place.here, _opens(place))):
            if done and final is not None and place.name == final.name:
                continue
            if self._chosen and place.name == self._chosen and errand.number > 1:
                continue
            for thing in place.things or ():
                if kind_of(thing) == errand.target:
                    yield f"take {thing} from {place.name}"
                    yield f"open {place.name}" if place.here else f"go to {place.name}"

    def _explore(self, facts: HouseholdFacts, errand: UnderstoodTask) -> Iterator[str]:
        """Look where the agent has not looked, the likeliest receptacles first."""
        for place in facts.places:
            if place.here and place.things is None:
                yield f"open {place.name}"
        sought = errand.target
        if errand.lamp and facts.holding:
            sought = errand.place
        counts: dict[str, int] = {}
        for place in facts.places:
            counts[kind_of(place.name)] = counts.get(kind_of(place.name), 0) + 1
        unknown = [place for place in facts.places if place.things is None]
        unknown.sort(key=lambda place: -_likely(place, sought, counts))
        yield from (f"go to {place.name}" for place in unknown)
        stale = [place for place in facts.places if not place.here]
        step = self.world.state_of.t % max(1, len(stale))
        yield from (f"go to {place.name}" for place in stale[step:])


def _opens(place: KnownReceptacle) -> bool:
    """Return whether a receptacle opens, as its kind shows."""
    kind = RECEPTACLES.get(_PROPER.get(kind_of(place.name), ""))
    return kind is not None and kind.opens


def _likely(place: KnownReceptacle, sought: str, counts: dict[str, int]) -> float:
    """Return how promising it is to look into a receptacle for a kind of object."""
    kind = kind_of(place.name)
    usual = OBJECTS.get(_PROPER.get(sought, ""))
    names = [name.lower() for name in usual.places] if usual else []
    share = 1.0 / (1 + 0.15 * names.index(kind)) if kind in names else 0.05 if usual else 0.3
    many = math.sqrt(counts[kind])
    return share / many / (2.0 if _opens(place) else 1.0)
