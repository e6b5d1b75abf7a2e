"""ObjectSearch's rule-based explorers, which know only their facts: frontier exploration.

An explorer draws a map of what it sees, and goes where, relative to the steps that it takes, the
most columns come into sight that it has not looked at, known or not: the next best view (Yamauchi
1997, with the utility of Burgard et al. 2005). With a channel, explorers report what is new, and
where they are. They draw what others report into their maps, and leave to another agent what is
nearer to it than to themselves. When nothing is left, they start again, as objects may have moved.
On a line they walk to its end and back.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.grids.codes import HEADINGS, on_map
from piase_gym.worlds.grids.windows import DX, DY
from piase_gym.worlds.object_search import codes
from piase_gym.worlds.object_search.config import RECALL_NAMES
from piase_gym.worlds.object_search.facts import ObjectSearchFacts, Spoken
from piase_gym.worlds.object_search.form import Cells, Form, Place, Pose, Report, form_of
from piase_gym.worlds.object_search.geometry import SIDE, WEDGE
from piase_gym.worlds.object_search.observe.reports import read_report
from piase_gym.worlds.object_search.players.survey import next_look, seen_from
from piase_gym.worlds.object_search.rules.step import RISING, STEPS, TURN_OF
from piase_gym.worlds.object_search.world import ObjectSearch

PATIENCE: Final = 1.0
"""See `next_look`."""
LEFT_TO_OTHERS: Final = 0.4
"""What a column is worth to an explorer when another one is nearer to it."""
FAITH: Final = 1.2
"""By which factor columns are worth more if an agent is already on the way to look at them."""
CAUTION: Final = 2
"""For how many steps a cell counts as taken if an agent could not move into it; one more for each
agent with a lower number, so that two agents that meet do not both wait."""
SILENCE: Final = 2
"""An explorer reports when it has seen something new, and otherwise after this number of steps, so
that the others know where it is."""
FORWARD, BACKWARD = codes.VERBS.index("forward"), codes.VERBS.index("backward")
read = functools.lru_cache(maxsize=1024)(read_report)


class Atlas:
    """The map of a house that a player draws.

    Args:
        size: Columns and rows.
        sight: How far agents see, in columns.
        strict: Whether they see pictures, which show less; see `survey.shows`.

    Attributes:
        heights: The height of each column; -1 where it is not known.
        left: Which columns nobody has looked at, as far as is known.
        blind: Which cells not to look from, shape (rows, columns, levels).
    """

    def __init__(self, size: Place, sight: int, strict: bool = False) -> None:
        wide, high = size
        self.sight, self.strict = sight, strict
        self.heights = np.full((high, wide), -1, np.int64)
        self.left = np.ones((high, wide), np.bool_)
        self.blind = np.zeros((high, wide, codes.LEVELS), np.bool_)
        self._seen = np.zeros(len(WEDGE), np.int64)

    def draw(self, pose: Pose, cells: Cells) -> int:
        """Draw what an agent sees. Returns how many columns it is the first to look at."""
        x, y, _ = pose.place
        high, wide = self.heights.shape
        for row, names in enumerate(cells):
            for column, name in enumerate(names):
                if name != "unseen":
                    px, py = on_map((SIDE, SIDE), (row, column), (x, y), pose.heading)
                    if 0 <= px < wide and 0 <= py < high:
                        self.heights[py, px] = height = codes.HEIGHT[codes.TABLE.codes[name]]
                        if height == codes.LEVELS:
                            self.left[py, px] = False
        if pose.roll != "upright":
            return 0
        # What is unknown may be a wall.
        known = np.where(self.heights < 0, codes.LEVELS, self.heights)
        return self.look(known, numbers(pose))

    def look(self, heights: NDArray[np.int64], pose: tuple[int, ...]) -> int:
        """Tick off the columns seen from a pose. Returns how many of them were left."""
        seen = self.seen(heights, pose)
        new = int(np.count_nonzero(self.left.ravel()[seen]))
        self.left.ravel()[seen] = False
        return new

    def seen(self, heights: NDArray[np.int64], pose: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the columns that are seen from a pose; valid until the next call."""
        return self._seen[: seen_from(heights, pose, self.sight, self.strict, self._seen)]


def numbers(pose: Pose) -> tuple[int, ...]:
    """Return x, y, level, heading and pitch of a pose."""
    return (*pose.place, HEADINGS.index(pose.heading), codes.PITCHES.index(pose.pitch))


def place_after(pose: tuple[int, ...], action: int) -> Place | None:
    """Return the cell into which a move leads; ``None`` for other actions."""
    if action >= codes.LOOK_LEFT:
        return None
    way = (pose[3] + int(TURN_OF[action])) % 4
    steps = int(STEPS[action])
    x, y = pose[0] + steps * int(DX[way]), pose[1] + steps * int(DY[way])
    return x, y, pose[2] + int(RISING[action])


def head_for(
    atlas: Atlas,
    weights: NDArray[np.float64],
    taken: NDArray[np.bool_],
    pose: tuple[int, ...],
    patience: float = PATIENCE,
) -> tuple[int, NDArray[np.int64]]:
    """Return the next action towards the best place to look, and what will be seen there."""
    target = np.full(len(WEDGE), -1, np.int64)
    for pitched in (pose[4] != codes.LEVEL, True):
        action, worth = next_look(
            atlas.heights,
            weights,
            taken,
            atlas.blind,
            pose,
            atlas.sight,
            atlas.strict,
            pitched,
            patience,
            target,
        )
        if worth > 0.0:
            return int(action), target[target >= 0]
    return codes.STAYING, target[:0]


class ObjectSearchScript:
    """Plays one agent of ObjectSearch from its facts.

    Args:
        world: The world to ask for facts; of its config, only what the prompt says is read.
        talks: Whether it reports and draws what others report; by default if there is a channel.
    """

    def __init__(self, world: ObjectSearch, talks: bool | None = None) -> None:
        self.world = world
        channel = world.config.channel
        self.talks = channel if talks is None else talks and channel
        self._atlas: Atlas | None = None
        self._others: dict[str, Place] = {}
        self._aim = np.zeros(0, np.int64)
        self._bumps: dict[Place, int] = {}
        self._hope: Place | None = None
        self._told = 0
        self._way = FORWARD

    def act(self, agent: int) -> int:
        """Return the index of the next action."""
        facts = self.world.facts(agent)
        pose = facts.pose
        return self._search(facts, pose, agent) if isinstance(pose, Pose) else self._walk(facts)

    def _walk(self, facts: ObjectSearchFacts) -> int:
        """Walk along the line; if there is a choice to make, go where the sign said."""
        recall = self.world.config.delay
        if recall is not None:
            if facts.steps == 0:
                self._way = FORWARD if facts.objects[0].name == RECALL_NAMES[0] else BACKWARD
            return self._way if facts.steps > recall else codes.STAYING
        if facts.position[0] == facts.size[0] - 1:
            self._way = BACKWARD
        elif facts.position[0] == 0:
            self._way = FORWARD
        return self._way + codes.ACTIONS * (self.talks and bool(facts.objects))

    def _search(self, facts: ObjectSearchFacts, pose: Pose, agent: int) -> int:
        """Go where the most is new, and report what is new."""
        if self._atlas is None:
            config = self.world.config
            self._atlas = Atlas(facts.size, config.sight, config.in_pictures)
        atlas = self._atlas
        if self.talks:
            self._listen(facts, atlas, form_of(self.world.config))
        new = atlas.draw(pose, facts.cells)
        taken = np.zeros((*atlas.heights.shape, codes.LEVELS), np.bool_)
        for other in facts.others:
            x, y, z = other.position
            taken[y, x, z] = True
            if self.talks:
                self._others[other.name] = other.position
        if self._hope is not None and self._hope != pose.place:
            self._bumps[self._hope] = facts.steps + CAUTION + agent
        for (x, y, z), until in self._bumps.items():
            taken[y, x, z] |= facts.steps < until
        weights = self._worth(atlas, pose)
        weights.ravel()[self._aim] *= FAITH
        action, self._aim = head_for(atlas, weights, taken, numbers(pose))
        if action == codes.STAYING:
            atlas.left[...] = atlas.heights < codes.LEVELS
        self._hope = place_after(numbers(pose), action)
        if self.talks and (new or facts.steps >= self._told + SILENCE):
            self._told = facts.steps
            action += codes.ACTIONS
        return action

    def _listen(self, facts: ObjectSearchFacts, atlas: Atlas, form: Form) -> None:
        """Draw what the others report; what they say in words is no report."""
        for letter in facts.messages:
            if isinstance(letter, Spoken):
                continue
            report: Report = read(letter.message, form)
            if isinstance(report.pose, Pose):
                atlas.draw(report.pose, report.cells)
                self._others[letter.sender] = report.pose.place

    def _worth(self, atlas: Atlas, pose: Pose) -> NDArray[np.float64]:
        """Return what columns are worth to this agent."""
        weights = atlas.left.astype(np.float64)
        rows, columns = np.indices(weights.shape)
        own = abs(columns - pose.place[0]) + abs(rows - pose.place[1])
        for x, y, _ in self._others.values():
            weights[abs(columns - x) + abs(rows - y) < own] *= LEFT_TO_OTHERS
        return weights
