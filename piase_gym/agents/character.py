"""Plays a character of a scenario: its routine, its needs, its dialogue. Nothing is random."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from piase_gym.agents.base import Action, Agent, Percept
from piase_gym.core.commands import Command
from piase_gym.scenarios.characters import START, Character

PATIENCE = 4
"""How many steps it waits for an answer from somebody near it."""
Spot = Any
"""Where somebody is: a room's number, or (x, y)."""


class CharacterAgent(Agent):
    """A character in TextRoom or GridWorld.

    Args:
        character: Who it is.
    """

    of_scenario = True

    def __init__(self, character: Character) -> None:
        """Begin before the first episode."""
        super().__init__(character.agent_id)
        self.character = character
        self.reset(0)

    def policy_id(self) -> str:
        """Return the name of its policy."""
        return f"character:{self.character.agent_id}"

    def reset(self, seed: int) -> None:
        """Begin an episode; the seed changes nothing."""
        self._stop, self._stayed = 0, 0
        self._needs = {name: need.start for name, need in self.character.needs.items()}
        self._nodes: dict[str, str] = {}
        self._to_say: list[list[str]] = []
        self._letters: list[list[str]] = []
        self._seeing_to: str | None = None
        self._waits = 0

    def get_state(self) -> dict[str, Any]:
        """Return its stop, its needs and its conversations."""
        return {
            "stop": self._stop,
            "stayed": self._stayed,
            "needs": dict(self._needs),
            "nodes": dict(self._nodes),
            "to_say": [list(entry) for entry in self._to_say],
            "letters": [list(entry) for entry in self._letters],
            "seeing_to": self._seeing_to,
            "waits": self._waits,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self._stop, self._stayed = int(state["stop"]), int(state["stayed"])
        self._needs = {name: float(state["needs"][name]) for name in self.character.needs}
        self._nodes = {str(name): str(node) for name, node in state["nodes"].items()}
        self._to_say = [[str(part) for part in entry] for entry in state["to_say"]]
        self._letters = [[str(part) for part in entry] for entry in state["letters"]]
        self._seeing_to, self._waits = state["seeing_to"], int(state["waits"])

    def internal_state(self) -> dict[str, Any]:
        """Return its needs, the need that it is seeing to, and its stop."""
        return {"needs": dict(self._needs), "seeing_to": self._seeing_to, "stop": self._stop}

    def spoken(self) -> Sequence[Sequence[str]]:
        """Return and forget what it has said to whom, in worlds where speaking is not a command."""
        said, self._letters = self._letters, []
        return said

    # -- a step -----------------------------------------------------------------------------

    def act(self) -> Action:
        """Speak if there is something to say, else go where it should be."""
        assert isinstance(self.percept, Percept)
        place = _PLACES[self.percept.world.name](self.percept.world, self.percept.index)
        self._listen(place)
        goal = self._goal(place)
        if self._to_say:
            name, words = self._to_say.pop(0)
            self._waits = PATIENCE if self.character.dialogue[self._nodes[name]].answers else 0
            if place.speaks:
                return Command("tell", {"agent_id": name, "message": words})
            self._letters.append([name, words])
        self._waits = max(0, self._waits - 1) if place.near() else 0
        if self._waits:
            return place.noop
        return place.noop if goal is None else place.towards(goal)

    def _goal(self, place: _TextPlace | _GridPlace) -> Spot | None:
        """Let needs grow, and return where it should be now."""
        here, needs = place.here, self.character.needs
        for name, need in needs.items():
            self._needs[name] += need.per_step
            if place.spot(need.place) == here and self._seeing_to == name:
                self._needs[name] = max(0.0, self._needs[name] - need.relief)
        if self._seeing_to is not None and self._needs[self._seeing_to] <= 0:
            self._seeing_to = None
        if self._seeing_to is None:
            pressing = [name for name, need in needs.items() if self._needs[name] >= need.limit]
            self._seeing_to = pressing[0] if pressing else None
        if self._seeing_to is not None:
            return place.spot(needs[self._seeing_to].place)
        if not self.character.routine:
            return None
        stop = self.character.routine[self._stop]
        if place.spot(stop.place) == here:
            self._stayed += 1
            if self._stayed > stop.stay:
                self._stop, self._stayed = (self._stop + 1) % len(self.character.routine), 0
                stop = self.character.routine[self._stop]
        return place.spot(stop.place)

    def _listen(self, place: _TextPlace | _GridPlace) -> None:
        """Greet those who have come near, and answer those who speak."""
        nodes = self.character.dialogue
        if not nodes:
            return
        for name in place.near():
            if name not in self._nodes:
                self._say(name, START)
        for name, heard in place.heard():
            if name not in self._nodes:
                self._say(name, START)
                continue
            for answer in nodes[self._nodes[name]].answers:
                if answer.hears is None or _fits(answer.hears, heard):
                    self._say(name, answer.to)
                    break

    def _say(self, name: str, node: str) -> None:
        self._nodes[name] = node
        self._to_say.append([name, self.character.dialogue[node].says])


def _fits(wanted: str | int, heard: str | int) -> bool:
    """Return whether a word is part of what was said, or a symbol is the one that was said."""
    if isinstance(wanted, int) or isinstance(heard, int):
        return wanted == heard
    return wanted.casefold() in heard.casefold()


class _TextPlace:
    """Where a character of TextRoom is, and what it can do there."""

    speaks = True

    def __init__(self, world: Any, agent: int) -> None:
        self.world, self.agent = world, agent
        self.here: Spot = world.state_of.rooms[agent]
        self.noop: Action = world.noop

    def spot(self, place: Any) -> Spot:
        """Return the number of a room."""
        return self.world.plot.room_of[place]

    def near(self) -> list[str]:
        """Return who is in the same room."""
        rooms = self.world.state_of.rooms
        return [
            name
            for k, (name, alive) in enumerate(zip(self.world.agents, self.world.alive, strict=True))
            if alive and k != self.agent and rooms[k] == self.here
        ]

    def heard(self) -> Iterator[tuple[str, str]]:
        """Yield what was said to it in the same room."""
        near = self.near()
        for message in self.world.facts(self.agent).messages:
            if message.sender in near:
                yield message.sender, str(message.message)

    def towards(self, goal: Spot) -> Action:
        """Return the first step of the shortest path through open doors."""
        plot, state = self.world.plot, self.world.state_of
        ways: deque[tuple[int, str]] = deque([(self.here, "")])
        seen = {self.here}
        while ways:
            room, first = ways.popleft()
            if room == goal:
                return Command("go", {"direction": first}) if first else self.noop
            for direction, (after, door) in plot.exits[room].items():
                if after not in seen and (door < 0 or state.is_open[door]):
                    seen.add(after)
                    ways.append((after, first or direction))
        return self.noop


_STEPS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class _GridPlace:
    """Where a character of GridWorld is, and what it can do there."""

    speaks = False

    def __init__(self, world: Any, agent: int) -> None:
        self.world, self.agent = world, agent
        self.here: Spot = tuple(world.position(agent))
        self.noop: Action = world.noop

    def spot(self, place: Any) -> Spot:
        """Return a place."""
        return tuple(place)

    def _others(self) -> dict[str, tuple[int, int]]:
        """Return where the others in play stand."""
        alive = self.world.alive
        return {
            name: tuple(self.world.position(k))
            for k, name in enumerate(self.world.agents)
            if alive[k] and k != self.agent
        }

    def near(self) -> list[str]:
        """Return who stands on an adjacent cell."""
        x, y = self.here
        return [n for n, (a, b) in self._others().items() if abs(a - x) + abs(b - y) == 1]

    def heard(self) -> Iterator[tuple[str, int]]:
        """Yield the symbols that were said on adjacent cells."""
        said = self.world.states["said"][0].tolist()
        for name in self.near():
            if symbol := said[self.world.agents.index(name)]:
                yield name, symbol

    def towards(self, goal: Spot) -> Action:
        """Return the first step of the shortest path over free floor."""
        from piase_gym.worlds.grid_world.cells import FLOOR, OPEN

        width, height = self.world.config.width, self.world.config.height
        cells, side = self.world.states["cells"][0], self.world.side
        taken = set(self._others().values())
        ways: deque[tuple[tuple[int, int], str]] = deque([(self.here, "")])
        seen = {self.here}
        while ways:
            (x, y), first = ways.popleft()
            if (x, y) == goal:
                return Command("move", {"direction": first}) if first else self.noop
            for direction, (dx, dy) in _STEPS.items():
                a, b = x + dx, y + dy
                inside = 0 <= a < width and 0 <= b < height and (a, b) not in seen
                if inside and cells[b * side + a] in (FLOOR, OPEN) and (a, b) not in taken:
                    seen.add((a, b))
                    ways.append(((a, b), first or direction))
        return self.noop


_PLACES: dict[str, type[_TextPlace] | type[_GridPlace]] = {
    "TextRoom": _TextPlace,
    "GridWorld": _GridPlace,
}
