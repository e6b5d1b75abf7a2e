"""ObjectSearch's oracle: it sees where everything lies.

A lone agent gets a shortest plan if the house is small and the objects are few. Otherwise the
objects are shared out, each to the agent with the least to do in all once it has seen it, and every
agent goes to the nearest of its own.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.object_search.codes import HEIGHT, LEVELS, STAYING
from piase_gym.worlds.object_search.players.scripted import BACKWARD, FORWARD, Atlas, head_for
from piase_gym.worlds.object_search.players.survey import shortest, steps_to_see
from piase_gym.worlds.object_search.world import ObjectSearch

LARGEST: Final = 4_000_000
"""The most states, of the agent and of what it has seen, that are searched for a shortest plan."""
HASTE: Final = 1e-6
"""The patience of an agent that knows where to go; see `next_look`."""


class ObjectSearchOracle:
    """Plays ObjectSearch with the whole state in view.

    Args:
        world: The world to read; it is never changed.
    """

    def __init__(self, world: ObjectSearch) -> None:
        self.world = world
        self._key: tuple[int, int] | None = None
        self._plan: list[int] = []
        self._actions: list[int] = []
        self._vain: tuple[Any, dict[int, set[tuple[int, ...]]]] = (None, {})

    def certificate(self, agent: int) -> int | None:
        """Return in how many steps a lone agent can find the rest, or ``None`` if not known."""
        world, record = self.world, self.world.states[0]
        if world.config.wandering or np.flatnonzero(record["alive"]).tolist() != [agent]:
            return None
        if world.config.delay is not None:
            return max(0, world.config.delay + 1 - int(record["t"])) + 1
        if not world.config.in_house:
            return self._along_the_line(agent)
        plan = self._shortest(agent)
        return None if plan is None else len(plan)

    def act(self, agent: int) -> int:
        """Return the index of an agent's next action."""
        record = self.world.states[0]
        key = int(record["seed"]), int(record["t"])
        if key != self._key:
            follows = self._key is not None and key == (self._key[0], self._key[1] + 1)
            self._key = key
            self._actions = self._decide(follows and bool(self._plan))
        return self._actions[agent]

    def _decide(self, goes_on: bool) -> list[int]:
        """Return everybody's next action."""
        world, record = self.world, self.world.states[0]
        alive = np.flatnonzero(record["alive"]).tolist()
        actions = [STAYING] * world.config.agents
        if not world.config.in_house:
            return [self._step_on_line(a) if a in alive else STAYING for a in range(len(actions))]
        if len(alive) == 1 and not world.config.wandering:
            if not goes_on:
                self._plan = self._shortest(alive[0]) or []
            if self._plan:
                actions[alive[0]] = self._plan.pop(0)
                return actions
        self._plan = []
        return self._share_out(alive, actions)

    # -- a house --------------------------------------------------------------------------

    def _map(self) -> tuple[Atlas, list[int]]:
        """Return the map, and the columns with objects that nobody has found."""
        world, record = self.world, self.world.states[0]
        config, side = world.config, world.side
        atlas = Atlas((config.width, config.height), config.sight, config.in_pictures)
        cells = record["cells"].reshape(side, side)[: config.height, : config.width]
        atlas.heights[...] = HEIGHT[cells]
        hidden = int(record["goal"]) & ~int(record["found"])
        places = [at for i, at in enumerate(record["place"].tolist()) if hidden >> i & 1]
        return atlas, [at // side * config.width + at % side for at in places]

    def _pose(self, agent: int, *names: str) -> tuple[int, ...]:
        """Return x, y, level, heading, pitch and the other fields that are asked for."""
        record = self.world.states[0]
        return tuple(int(record[n][agent]) for n in ("x", "y", "z", "heading", "pitch", *names))

    def _occupied(self, agent: int, heights: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which cells others are in."""
        taken = np.zeros((*heights.shape, LEVELS), np.bool_)
        for b in np.flatnonzero(self.world.states[0]["alive"]).tolist():
            if b != agent:
                x, y, z, *_ = self._pose(b)
                taken[y, x, z] = True
        return taken

    def _shortest(self, agent: int) -> list[int] | None:
        """Return a shortest plan of a lone agent; none for pictures, as they follow no rule."""
        atlas, things = self._map()
        if not things:
            return []
        if atlas.strict or atlas.heights.size * LEVELS * 36 * 2 ** len(things) > LARGEST:
            return None
        plan = np.zeros(10_000, np.int8)
        pose = self._pose(agent, "roll")
        taken = self._occupied(agent, atlas.heights)
        count = shortest(atlas.heights, np.array(things), taken, pose, atlas.sight, plan)
        return None if count < 0 else [int(action) for action in plan[:count]]

    def _share_out(self, alive: list[int], actions: list[int]) -> list[int]:
        """Share out the objects, and send every agent to the nearest of its own."""
        atlas, things = self._map()
        if not things or not alive:
            return actions
        steps = np.zeros((len(alive), *atlas.heights.shape), np.int32)
        for i, agent in enumerate(alive):
            taken = self._occupied(agent, atlas.heights)
            pose = self._pose(agent)
            steps_to_see(atlas.heights, taken, pose, atlas.sight, atlas.strict, steps[i])
        far = steps.reshape(len(alive), -1)[:, things].astype(np.int64)
        far[far < 0] = 2**30
        load, owner = np.zeros(len(alive), np.int64), np.full(len(things), -1)
        while (owner < 0).any():
            cost = np.where(owner < 0, load[:, None] + far, 2**40)
            i, k = divmod(int(cost.argmin()), len(things))
            owner[k], load[i] = i, cost[i, k]
        for i, agent in enumerate(alive):
            weights = np.zeros(atlas.heights.shape)
            weights.ravel()[[things[k] for k in np.flatnonzero(owner == i)]] = 1.0
            if weights.any():
                taken, pose = self._occupied(agent, atlas.heights), self._pose(agent)
                if atlas.strict:
                    self._note_vain(atlas, agent, things, pose)
                actions[agent], _ = head_for(atlas, weights, taken, pose, HASTE)
        return actions

    def _note_vain(
        self, atlas: Atlas, agent: int, things: list[int], pose: tuple[int, ...]
    ) -> None:
        """Mark the cells from which an agent has looked in vain since something was found.

        An object at the edge of a picture, or half hidden, may not show although it could.
        """
        since = int(self.world.states[0]["seed"]), things
        if self._vain[0] != since:
            self._vain = since, {}
        cells = self._vain[1].setdefault(agent, set())
        if not {*things}.isdisjoint(atlas.seen(atlas.heights, pose).tolist()):
            x, y, z, *_ = pose
            cells.add((y, x, z))
        atlas.blind[:] = False
        for cell in cells:
            atlas.blind[cell] = True

    # -- a line ---------------------------------------------------------------------------

    def _left(self) -> list[list[int]]:
        """Return the positions of each object that nobody has found."""
        record = self.world.states[0]
        hidden, shelf = int(record["goal"]) & ~int(record["found"]), record["shelf"].tolist()
        names = range(len(self.world.config.object_names))
        return [
            [x for x, here in enumerate(shelf) if here >> i & 1] for i in names if hidden >> i & 1
        ]

    def _along_the_line(self, agent: int) -> int | None:
        """Return the fewest steps on a line; ``None`` if an object lies at several positions."""
        left, x = self._left(), int(self.world.states[0]["x"][agent])
        if any(len(places) > 1 for places in left):
            return None
        places = [place for (place,) in left]
        below, above = max([0, *(x - p for p in places)]), max([0, *(p - x for p in places)])
        return below + above + min(below, above)

    def _step_on_line(self, agent: int) -> int:
        """Walk to the nearer end of what is left first."""
        recall = self.world.config.delay
        if recall is not None and int(self.world.states[0]["t"]) <= recall:
            return STAYING
        places = [place for here in self._left() for place in here]
        x = int(self.world.states[0]["x"][agent])
        below, above = max([0, *(x - p for p in places)]), max([0, *(p - x for p in places)])
        if not below and not above:
            return STAYING
        return FORWARD if above and (not below or above <= below) else BACKWARD
