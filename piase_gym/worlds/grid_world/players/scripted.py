"""GridWorld's script: an honest rule-based player that knows only what its facts have told so far.

It draws a map of what it has seen. It goes to a goal it knows the way to, lifts food (first what
it can lift alone), eats when it gets hungry, chases runners or keeps away from taggers; else it
fetches a key for a locked door, turns a switch for a closed gate, or walks to the nearest place
that it has not seen yet. While there is food left, it remembers where the others stood when it saw
them last.
"""

from __future__ import annotations

import heapq
from typing import Final

import numpy as np

from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.facts import GridWorldFacts
from piase_gym.worlds.grid_world.players.successors import INTERACT, STAY, Successors
from piase_gym.worlds.grid_world.world import GridWorld
from piase_gym.worlds.grids.codes import on_map
from piase_gym.worlds.grids.moves import move_in_frame
from piase_gym.worlds.grids.nouns import YOU

Cell = tuple[int, int]
MOVES: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
ACTIONS: Final = {name: index for index, name in enumerate(MOVES)}
FREE: Final = frozenset(kinds.NAMES[code] for code in kinds.SAFE)
FLIPPED: Final = {"closed gate": "open gate", "open gate": "closed gate"}
"""What a switch does to every gate, as the rules say."""
SWITCHES: Final = ("switch that is off", "switch that is on")
HUNGRY: Final = 20
"""Energy below which fruit comes before anything else."""
BUMP: Final = 10
"""What walking against something costs in moves, as in the reward table."""


class GridWorldScript:
    """Plays one agent of GridWorld from its facts.

    Args:
        world: The world to ask for facts; nothing else of it is read.
    """

    def __init__(self, world: GridWorld) -> None:
        self.world = world
        self._rules = Successors(world)
        self._map: dict[Cell, str] = {}
        self._others: dict[Cell, str] = {}
        """The names of other agents and drones, by where it sees or remembers them."""
        self._turned: dict[Cell, int] = {}
        """How often each switch was turned."""
        self._waited = 0

    def act(self, agent: int) -> int:
        """Return the index of the next action."""
        facts = self.world.facts(agent)
        heading = kinds.HEADINGS.index(facts.heading)
        return move_in_frame(self._act(facts), self.world.config.frame, heading)

    def _act(self, facts: GridWorldFacts) -> int:
        """Return the next action in the frame of the grid."""
        self._look(facts)
        if facts.status is not None and facts.status.role == "runner":
            return self._flee(facts)
        for wanted in filter(None, self._wishes(facts)):
            action = self._towards(facts, wanted)
            if action is not None:
                return self._note(facts, self._patiently(facts, action))
        return STAY

    def _look(self, facts: GridWorldFacts) -> None:
        """Draw what is in sight into the map."""
        meeting = facts.status is not None and facts.status.food > 0
        self._others = {c: name for c, name in self._others.items() if meeting and name != "drone"}
        for row, names in enumerate(facts.cells):
            for column, name in enumerate(names):
                if name in ("unseen", "outside"):
                    continue
                cell = self._place(facts, row, column)
                self._others.pop(cell, None)
                if " facing " in name or name == "drone":
                    who = name.partition(" ")[0]
                    self._others = {
                        c: n for c, n in self._others.items() if n != who or who == "drone"
                    }
                    self._others[cell] = who
                    self._map.setdefault(cell, "floor")
                elif name == YOU or cell == facts.position:
                    here = self._map.get(cell, "floor")
                    self._map[cell] = "bare bush" if here == "fruit" else here
                else:
                    self._map[cell] = name

    def _place(self, facts: GridWorldFacts, row: int, column: int) -> Cell:
        """Return the cell of the grid that a cell of the view shows."""
        if self.world.config.observe == "grid":
            return column, row
        size = len(facts.cells), len(facts.cells[0])
        return on_map(size, (row, column), facts.position, facts.heading)

    def _wishes(self, facts: GridWorldFacts) -> list[set[Cell]]:
        """Return the cells to go to or act upon, the most wanted first."""
        known: dict[str, set[Cell]] = {}
        for cell, name in self._map.items():
            known.setdefault(name, set()).add(cell)
        edge, status = self._edge(facts), facts.status
        doors = known.get("locked door", set()) if facts.carrying == "key" else set()
        keys = set() if facts.carrying else known.get("key", set())
        fruit = known.get("fruit", set())
        hungry = status is not None and 0 < status.energy < HUNGRY
        wishes = [fruit, known.get("bare bush", set())] if hungry else []
        wishes += [known.get("goal", set()), self._runners(facts)]
        strength = status.level if status else 1
        food = [known.get(kinds.NAMES[code], set()) for code in kinds.FOODS]
        wishes += [*food[:strength][::-1], doors, known.get("closed door", set())]
        if known.get("locked door") or not edge:
            wishes.append(keys)
        switches = self._least_turned(known) if known.get("closed gate") else set()
        heavy = {cell for cells in food[strength:] for cell in cells}
        meet = {min(heavy)} if heavy else set()  # so all that know the same food go to the same one
        return [*wishes, edge, switches, meet, fruit, keys]

    def _runners(self, facts: GridWorldFacts) -> set[Cell]:
        """Return where runners are, for a tagger."""
        if facts.status is None or facts.status.role != "tagger":
            return set()
        taggers = self._taggers()
        return {
            cell for cell, name in self._others.items() if name != "drone" and name not in taggers
        }

    def _taggers(self) -> tuple[str, ...]:
        """Return the names of the taggers: the first of the agents, as the config says."""
        config = self.world.config
        return config.names()[: config.num_taggers]

    def _flee(self, facts: GridWorldFacts) -> int:
        """Return the move that leads furthest from all taggers in sight, or stay."""
        taggers = [cell for cell, name in self._others.items() if name in self._taggers()]
        x, y = facts.position

        def safety(cell: Cell) -> tuple[int, int]:
            ways = sum(self._free((cell[0] + dx, cell[1] + dy)) for dx, dy in MOVES.values())
            near = [abs(cell[0] - a) + abs(cell[1] - b) for a, b in taggers]
            return min(near), ways

        moves = {ACTIONS[name]: (x + dx, y + dy) for name, (dx, dy) in MOVES.items()}
        free = {action: cell for action, cell in moves.items() if self._free(cell)}
        if not taggers or not free:
            return STAY
        best = max(free, key=lambda action: safety(free[action]))
        return best if safety(free[best]) > safety((x, y)) else STAY

    def _least_turned(self, known: dict[str, set[Cell]]) -> set[Cell]:
        """Return the switches that were turned least often."""
        switches = {cell for name in SWITCHES for cell in known.get(name, set())}
        least = min((self._turned.get(cell, 0) for cell in switches), default=0)
        return {cell for cell in switches if self._turned.get(cell, 0) == least}

    def _note(self, facts: GridWorldFacts, action: int) -> int:
        """Note which switch an action turns; return the action."""
        dx, dy = MOVES[facts.heading]
        ahead = facts.position[0] + dx, facts.position[1] + dy
        if action == INTERACT and self._map.get(ahead) in SWITCHES:
            self._turned[ahead] = self._turned.get(ahead, 0) + 1
            self._map = {cell: FLIPPED.get(name, name) for cell, name in self._map.items()}
        return action

    def _edge(self, facts: GridWorldFacts) -> set[Cell]:
        """Return unknown cells next to free ones."""
        width, height = facts.size
        return {
            (x + dx, y + dy)
            for (x, y), name in self._map.items()
            if name in FREE
            for dx, dy in MOVES.values()
            if 0 <= x + dx < width and 0 <= y + dy < height and (x + dx, y + dy) not in self._map
        }

    def _towards(self, facts: GridWorldFacts, wanted: set[Cell]) -> int | None:
        """Return the first action of a cheapest way to one of some cells, or None without one.

        The last action is a step onto the cell, or an interaction with what stands there.
        """
        start, walks = (facts.position, facts.heading), self._walks(facts, wanted)
        stride = facts.size[0] + 2
        queue: list[tuple[int, Cell, str, int | None]] = [(0, *start, None)]
        seen: set[tuple[Cell, str]] = set()
        while queue:
            cost, cell, heading, first = heapq.heappop(queue)
            if (cell, heading) in seen:
                continue
            seen.add((cell, heading))
            if cell in wanted and first is not None:
                return first
            dx, dy = MOVES[heading]
            ahead = (cell[0] + dx, cell[1] + dy)
            if ahead in wanted and not self._free(ahead) and not self._enters(ahead):
                return INTERACT if first is None else first
            here = (cell[1] + 1) * stride + cell[0] + 1
            for name, (dx, dy) in MOVES.items():
                to = walks[here][kinds.HEADINGS.index(name)]
                action = ACTIONS[name] if first is None else first
                if to != here:
                    there = to % stride - 1, to // stride - 1
                    if (there, name) not in seen:
                        heapq.heappush(queue, (cost + 1, there, name, action))
                elif (cell[0] + dx, cell[1] + dy) in wanted:  # turn to it
                    heapq.heappush(queue, (cost + BUMP, cell, name, action))
        return None

    def _walks(self, facts: GridWorldFacts, wanted: set[Cell]) -> list[list[int]]:
        """Return where moves lead on the map as far as it is known; wanted cells can be entered.

        Others are in the way, and boxes stay where they are.
        """
        width, height = facts.size
        cells = np.full((height + 2, width + 2), kinds.OUTSIDE, np.uint8)
        for (x, y), name in self._map.items():
            cells[y + 1, x + 1] = (
                kinds.WALL if name == "box" or (x, y) in self._others else kinds.CODES[name]
            )
        for x, y in wanted:
            if self._enters((x, y)):
                cells[y + 1, x + 1] = kinds.FLOOR
        return self._rules.walks(cells.tobytes())

    def _enters(self, cell: Cell) -> bool:
        """Return whether a wanted cell is walked into: it is unknown, or a runner stands there."""
        return cell not in self._map or cell in self._others

    def _free(self, cell: Cell) -> bool:
        """Return whether a cell can be walked on, as far as is known."""
        return self._map.get(cell) in FREE and cell not in self._others

    def _patiently(self, facts: GridWorldFacts, action: int) -> int:
        """Wait a step now and then next to others, so that two agents do not keep dodging."""
        x, y = facts.position
        crowded = any(abs(x - a) + abs(y - b) == 1 for a, b in self._others)
        self._waited = self._waited + 1 if crowded else 0
        return STAY if crowded and self._waited % 3 == len(facts.agent) % 3 else action
