"""SocialDilemma's oracle: everybody does what is best for all together, with the state in view.

In a matrix game that is the social optimum, computed. In a commons it is a plan by rule: in a
harvest nobody takes an apple that its patch needs to grow back well, until the end is near; in a
cleanup as many agents clean as are needed, and the others eat. Nobody zaps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.codes import far
from piase_gym.worlds.grids.moves import move_in_frame
from piase_gym.worlds.social_dilemma.commons.codes import APPLE, CLEANING, STAYING, WASTE
from piase_gym.worlds.social_dilemma.commons.state import REACH
from piase_gym.worlds.social_dilemma.games import COOPERATE, DEFECT
from piase_gym.worlds.social_dilemma.matrix.outcomes import social_optimum
from piase_gym.worlds.social_dilemma.world import SocialDilemma

SPARED: Final = 4
"""Apples that must be left within two cells of one that is eaten."""
HURRY: Final = 12
"""From this many steps before the end, every apple is eaten."""
CLEAN_ENOUGH: Final = 0.25
"""Half of the agents clean while waste is above this share of the most at which apples grow."""
STEPS: Final = ((0, -1, 0), (1, 0, 3), (0, 1, 1), (-1, 0, 2))
"""Steps by heading: column, row, and the index of the move."""

Cell = tuple[int, int]


class SocialDilemmaOracle:
    """Plays SocialDilemma for the good of all.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: SocialDilemma[Any]) -> None:
        self.world = world
        self._optimum: tuple[Any, list[frozenset[int]]] | None = None

    def act(self, agent: int) -> int:
        """Return the index of the action for the present state."""
        if not self.world.alive[agent]:
            return self.world.commands.index(self.world.noop)
        return self._gather(agent) if self.world.config.is_commons else self._choose(agent)

    def _choose(self, agent: int) -> int:
        """Return the part of an agent in the social optimum; equal optima take turns.

        Where the coin shows tails, everybody does the opposite.
        """
        config = self.world.config
        if self._optimum is None or self._optimum[0] is not config:
            self._optimum = config, social_optimum(config)[1]
        ways = self._optimum[1]
        played = int(self.world.states[0]["played"])
        shift = played % config.agents if config.agents > 2 else 0  # in symmetric games
        cooperates = (agent + shift) % config.agents in ways[played % len(ways)]
        turned = config.coin and self.world.facts(0).coin == "tails"
        return COOPERATE if cooperates != turned else DEFECT

    # -- commons --------------------------------------------------------------------------

    def _gather(self, agent: int) -> int:
        """Return what an agent does in a commons."""
        state = self.world.states[0]
        if state["out"][agent]:
            return STAYING
        scene = _Scene(state, self.world)
        cleans = self.world.config.game == "cleanup" and agent < scene.cleaners()
        action = scene.clean(agent) if cleans else scene.eat(agent)
        return move_in_frame(action, self.world.config.frame, int(state["heading"][agent]))


class _Scene:
    """A commons as the oracle sees it in one step."""

    def __init__(self, state: Any, world: SocialDilemma[Any]) -> None:
        self.state, self.config = state, world.config
        side = int(np.sqrt(state["cells"].size))
        self.width, self.height = self.config.width, self.config.height
        cells = state["cells"].reshape(side, side)
        self.cells: NDArray[np.uint8] = cells[: self.height, : self.width]
        out, x, y = (state[name][: self.config.agents].tolist() for name in ("out", "x", "y"))
        self.places: list[Cell | None] = [
            None if gone else (a, b) for gone, a, b in zip(out, x, y, strict=True)
        ]
        self.left = self.config.length - int(state["t"])

    def cleaners(self) -> int:
        """Return how many agents should clean: half of them, or one where there is little to do."""
        share = (self.cells == WASTE).sum() / (self.config.river * self.height)
        dirty = share > CLEAN_ENOUGH * self.config.most_waste
        return (self.config.agents + 1) // 2 if dirty else int(share > 0)

    def clean(self, agent: int) -> int:
        """Clean what is ahead, or go to where waste is ahead."""
        place, heading = self.places[agent], int(self.state["heading"][agent])
        assert place is not None
        if self._faces_waste(place, heading):
            return CLEANING
        return self._first_move(agent, self._faces_waste, self._is_apple)

    def _faces_waste(self, place: Cell, heading: int) -> bool:
        """Return whether an agent that cleans there would meet waste."""
        dx, dy, _ = STEPS[heading]
        for i in range(1, self.config.clean_range + 1):
            cell = place[0] + i * dx, place[1] + i * dy
            if not self._inside(cell) or cell in self.places:
                return False
            if self.cells[cell[1], cell[0]] == WASTE:
                return True
        return False

    def eat(self, agent: int) -> int:
        """Go to the nearest apple that can be spared, around those that cannot."""
        fine = self._own_share(agent, self._spare_apples())
        return self._first_move(
            agent, lambda c, _: c in fine, lambda c: self._is_apple(c) and c not in fine
        )

    def _own_share(self, agent: int, apples: set[Cell]) -> set[Cell]:
        """Leave out apples to which somebody else is nearer, unless that leaves none."""
        here = self.places[agent]
        assert here is not None
        others = [p for a, p in enumerate(self.places) if p is not None and a != agent]
        own = {c for c in apples if all(far(here, c) <= far(other, c) for other in others)}
        return own or apples

    def _spare_apples(self) -> set[Cell]:
        """Return the apples near which enough others hang."""
        apples = np.argwhere(self.cells == APPLE)
        scarce = self.config.game == "harvest" and self.config.regrowth[0] <= 0
        if scarce and self.left > HURRY:
            apart = ((apples[:, None] - apples) ** 2).sum(axis=2)
            apples = apples[(apart <= REACH**2).sum(axis=1) > SPARED]
        return {(x, y) for y, x in apples.tolist()}

    def _is_apple(self, cell: Cell) -> bool:
        return bool(self.cells[cell[1], cell[0]] == APPLE)

    def _inside(self, cell: Cell) -> bool:
        return 0 <= cell[0] < self.width and 0 <= cell[1] < self.height

    def _first_move(
        self, agent: int, wanted: Callable[[Cell, int], bool], avoided: Callable[[Cell], bool]
    ) -> int:
        """Return the first move of a shortest way to a wanted cell; stay if there is none.

        Args:
            agent: The agent that goes.
            wanted: Whether the aim is to reach a cell with a heading.
            avoided: Whether a cell must not be entered on the way.
        """
        start = self.places[agent]
        assert start is not None
        first: dict[Cell, int] = {start: STAYING}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for heading, (dx, dy, move) in enumerate(STEPS):
                there = here[0] + dx, here[1] + dy
                if there in first or not self._inside(there) or there in self.places:
                    continue
                if wanted(there, heading):
                    return move if here == start else first[here]
                if not avoided(there):
                    first[there] = move if here == start else first[here]
                    queue.append(there)
        return STAYING
