"""SocialDilemma's script: an honest player by rule that uses only its facts, for its own good.

In a matrix game it plays the best reply to what the others did in the rounds that it looks back on
(fictitious play, Brown 1951), and before the first round what is best in the worst case. In a
commons it draws a map of what it has seen, eats the nearest apple that it knows of, whatever that
does to the patch, and looks where it has not looked for longest. In a cleanup it works for the
good of all only where it knows of nothing to eat. It never zaps, and says nothing.
"""

from __future__ import annotations

from typing import Any, Final

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.worlds.grids.codes import HEADINGS, far, on_map
from piase_gym.worlds.grids.moves import move_in_frame
from piase_gym.worlds.social_dilemma.commons.codes import CLEANING, STAYING
from piase_gym.worlds.social_dilemma.commons.facts import CommonsFacts
from piase_gym.worlds.social_dilemma.games import COOPERATE, DEFECT
from piase_gym.worlds.social_dilemma.matrix.facts import MatrixFacts
from piase_gym.worlds.social_dilemma.world import SocialDilemma

Cell = tuple[int, int]
MOVES: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Steps by heading, in the order of the actions."""
NEVER: Final = -1000
"""When a cell was last seen, for cells that never were."""


class SocialDilemmaScript:
    """Plays one agent of SocialDilemma from its facts.

    Args:
        world: The world to ask for facts; of its config only `clean_range` and `frame` are read.
    """

    def __init__(self, world: SocialDilemma[Any]) -> None:
        self.world = world
        self._known: dict[Cell, str] = {}
        """What the agent saw in each cell when it last looked: apples and waste only."""
        self._seen: dict[Cell, int] = {}
        """When it last looked at each cell."""
        self._lookout: Cell | None = None

    def act(self, agent: int) -> int:
        """Return the index of the next action."""
        facts = self.world.facts(agent)
        if isinstance(facts, MatrixFacts):
            return reply(facts)
        if facts.position is None:
            return STAYING
        heading = HEADINGS.index(str(facts.heading))
        action = self._gather(facts, facts.position)
        return move_in_frame(action, self.world.config.frame, heading)

    def _gather(self, facts: CommonsFacts, place: Cell) -> int:
        """Eat, else clean, else look around."""
        taken = self._look(facts, place)
        apples = [cell for cell, name in self._known.items() if name == "apple"]
        if apples:
            self._lookout = None
            return _towards(place, _nearest(place, apples), taken, facts.size)
        waste = [cell for cell, name in self._known.items() if name == "waste"]
        if waste:
            if _faces_waste(facts, self.world.config.clean_range):
                return CLEANING
            return _towards(place, _nearest(place, waste), taken, facts.size)
        return _towards(place, self._unseen(facts, place), taken, facts.size)

    def _look(self, facts: CommonsFacts, place: Cell) -> set[Cell]:
        """Draw what is in sight into the map, and return where others stand."""
        taken = set()
        size = len(facts.cells), len(facts.cells[0])
        for spot in ((row, column) for row in range(size[0]) for column in range(size[1])):
            name = facts.cells[spot[0]][spot[1]]
            if name in ("unseen", "outside"):
                continue
            cell = on_map(size, spot, place, str(facts.heading))
            self._seen[cell] = facts.steps
            self._known.pop(cell, None)
            if name in ("apple", "waste"):
                self._known[cell] = name
            elif " facing " in name:
                taken.add(cell)
        return taken

    def _unseen(self, facts: CommonsFacts, place: Cell) -> Cell:
        """Return a near cell that has not been seen for long; the same one until it is seen."""
        if self._lookout is None or self._seen.get(self._lookout) == facts.steps:
            width, height = facts.size
            cells = [(x, y) for y in range(height) for x in range(width)]
            self._lookout = max(
                cells,
                key=lambda cell: (
                    facts.steps - self._seen.get(cell, NEVER) - 2 * far(place, cell),
                    cell,
                ),
            )
        return self._lookout


def reply(facts: MatrixFacts) -> int:
    """Return the best reply to what the others did in the rounds that are remembered.

    Before the first round it is the choice whose worst payoff is best, with ties settled in favour
    of cooperating; later ties are settled by the last choice.
    """
    if not facts.history:
        worst = [min(row) for row in facts.payoffs]
        return DEFECT if worst[DEFECT] > worst[COOPERATE] else COOPERATE
    paid = [sum_in_order(row[others] for _, others in facts.history) for row in facts.payoffs]
    if paid[COOPERATE] == paid[DEFECT]:
        return COOPERATE if facts.history[0][0] else DEFECT
    return DEFECT if paid[DEFECT] > paid[COOPERATE] else COOPERATE


def _faces_waste(facts: CommonsFacts, reach: int) -> bool:
    """Return whether cleaning now meets waste."""
    middle = len(facts.cells[0]) // 2
    for row in facts.cells[-2 : -2 - reach : -1]:
        if row[middle] == "waste":
            return True
        if row[middle] in ("outside", "unseen") or " facing " in row[middle]:
            return False
    return False


def _towards(place: Cell, aim: Cell, taken: set[Cell], size: Cell) -> int:
    """Return the move that comes nearest to a cell, around those that are taken; else stay."""
    ways = []
    for index, (dx, dy) in enumerate(MOVES.values()):
        cell = place[0] + dx, place[1] + dy
        inside = 0 <= cell[0] < size[0] and 0 <= cell[1] < size[1]
        if inside and cell not in taken:
            wide = max(abs(aim[0] - cell[0]), abs(aim[1] - cell[1]))
            ways.append((far(cell, aim), wide, index))
    return min(ways)[2] if ways else STAYING


def _nearest(place: Cell, cells: list[Cell]) -> Cell:
    """Return the nearest of some cells."""
    return min(cells, key=lambda cell: (far(place, cell), cell))
