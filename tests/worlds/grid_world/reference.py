"""GridWorld written a second time, slowly and plainly, for tests to hold the kernels against.

It follows the specification, not the package's code: only the cell codes, the config and the
random stream are shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from piase_gym.core.rng import Stream
from piase_gym.worlds.grid_world import cells as codes
from piase_gym.worlds.grid_world.config import GridWorldConfig

Cell = tuple[int, int]
STEPS: tuple[Cell, ...] = ((0, -1), (1, 0), (0, 1), (-1, 0))
"""One step up, right, down, left: indexed by heading."""
MOVES = {0: 0, 1: 2, 2: 3, 3: 1}
"""The heading of each move."""
STAY, INTERACT, ACTIONS = 4, 5, 6
TRIES, HINT = 200, 8
GROUND = {
    codes.FLOOR,
    codes.GOAL,
    codes.OPEN,
    codes.GATE_OPEN,
    codes.HAZARD,
    codes.FRUIT,
    codes.BARE,
}
"""What can be walked on."""


@dataclass
class Agent:
    """One agent. `alive`: stands on the grid; `playing`: acts; `played`: acted in the last step."""

    number: int
    x: int
    y: int
    heading: int = 1
    carrying: int = 0
    alive: bool = True
    playing: bool = True
    played: bool = True
    marks: set[str] = field(default_factory=set)

    def at(self, ahead: int, right: int) -> Cell:
        """Return the cell so many steps ahead and to the right of the agent."""
        (fx, fy), (rx, ry) = STEPS[self.heading], STEPS[(self.heading + 1) % 4]
        return self.x + ahead * fx + right * rx, self.y + ahead * fy + right * ry


@dataclass
class StepOut:
    """What a step gave, an entry an agent."""

    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    outcomes: list[str]


class ReferenceGridWorld:
    """The world: `reset`, then `step`, and `vector` and `mask` of any agent in between."""

    def __init__(self, config: GridWorldConfig) -> None:
        """Take the config; there is no level before `reset`."""
        self.config = config
        self.cells: dict[Cell, int] = {}
        self.agents: list[Agent] = []
        self.goals: list[Cell] = []
        self.t = 0
        self._stream = Stream(0, 0)

    def reset(self, seed: int) -> None:
        """Generate the level of `seed`."""
        self._stream = Stream(seed, 0)
        self.t = 0
        config = self.config
        fixed = bool(config.goals or config.starts) and config.layout != "empty"
        again = config.layout == "obstacles" or len(config.walls) > 0 or fixed
        for _ in range(TRIES if again else 1):
            self._generate()
            if all(self._reaches_goal(agent) for agent in self.agents):
                return
        raise ValueError("no level in which every agent can reach a goal")

    def _generate(self) -> None:
        config = self.config
        self.agents = []
        self.cells = dict.fromkeys(self._positions(), codes.FLOOR)
        for x, y in self.cells:
            on_ring = x in (0, config.width - 1) or y in (0, config.height - 1)
            if (x, y) in config.walls or (config.border and on_ring):
                self.cells[x, y] = codes.WALL
        split: int | None = None
        if config.layout == "obstacles":
            self._scatter_obstacles()
        elif config.layout == "four_rooms":
            self._build_four_rooms()
        elif config.layout == "door_key":
            split = self._build_door_key()
        self._place_goals(0 if split is None else split + 1)
        self._place_agents(config.width - 1 if split is None else split - 1)

    def _positions(self) -> Iterator[Cell]:
        """All cells of the grid, row by row."""
        for y in range(self.config.height):
            for x in range(self.config.width):
                yield x, y

    def _free_cells(self, first: int, last: int) -> list[Cell]:
        return [
            (x, y)
            for x, y in self._positions()
            if first <= x <= last
            and self.cells[x, y] == codes.FLOOR
            and self._stander((x, y)) is None
        ]

    def _random_free_cell(self, first: int, last: int) -> Cell:
        free = self._free_cells(first, last)
        if not free:
            raise ValueError(f"no free cell in columns {first}..{last}")
        return free[self._stream.integer(len(free))]

    def _bounds(self) -> tuple[int, int, int, int]:
        """Return x0, y0, x1, y1: the corners of what lies inside the border."""
        rim = int(self.config.border)
        return rim, rim, self.config.width - 1 - rim, self.config.height - 1 - rim

    def _scatter_obstacles(self) -> None:
        config = self.config
        free = sum(code == codes.FLOOR for code in self.cells.values())
        for _ in range(free * round(1000 * config.obstacle_density) // 1000):
            if not self._free_cells(0, config.width - 1):
                return
            cell = self._random_free_cell(0, config.width - 1)
            if cell not in config.goals and cell not in config.starts:
                self.cells[cell] = codes.WALL

    def _build_four_rooms(self) -> None:
        x0, y0, x1, y1 = self._bounds()
        mx, my = (x0 + x1 + 1) // 2, (y0 + y1 + 1) // 2
        self.cells.update({(x, my): codes.WALL for x in range(x0, x1 + 1)})
        self.cells.update({(mx, y): codes.WALL for y in range(y0, y1 + 1)})
        draw = self._stream.integer
        self.cells[mx, y0 + draw(my - y0)] = codes.FLOOR
        self.cells[mx, my + 1 + draw(y1 - my)] = codes.FLOOR
        self.cells[x0 + draw(mx - x0), my] = codes.FLOOR
        self.cells[mx + 1 + draw(x1 - mx), my] = codes.FLOOR

    def _build_door_key(self) -> int:
        """Build the wall with the door, lay out the key, and return the wall's column."""
        x0, y0, x1, y1 = self._bounds()
        rows = y1 - y0 + 1
        first = x0 + (self.config.agents + rows) // rows
        if x1 - first < 1:
            raise ValueError("door_key: no column is left for the wall")
        split = first + self._stream.integer(x1 - first)
        self.cells.update({(split, y): codes.WALL for y in range(y0, y1 + 1)})
        self.cells[split, y0 + self._stream.integer(rows)] = codes.LOCKED
        self.cells[self._random_free_cell(0, split - 1)] = codes.KEY
        return split

    def _place_goals(self, first: int) -> None:
        self.goals = list(self.config.goals)
        if not self.goals:
            self.goals = [self._random_free_cell(first, self.config.width - 1)]
        for cell in self.goals:
            self.cells[cell] = codes.GOAL

    def _place_agents(self, last: int) -> None:
        starts = self.config.starts
        for number in range(self.config.agents):
            if number < len(starts):
                x, y = self._fixed_start(starts[number])
            else:
                x, y = self._random_free_cell(0, last)
            self.agents.append(Agent(number, x, y))

    def _fixed_start(self, cell: Cell) -> Cell:
        shared = self.config.collisions == "pass"
        if self.cells[cell] == codes.FLOOR and (shared or self._stander(cell) is None):
            return cell
        free = self._free_cells(0, self.config.width - 1)
        if not free:
            raise ValueError(f"the start {cell} is taken and no other cell is free")
        return free[0]

    def _reaches_goal(self, agent: Agent) -> bool:
        """Whether a goal can be reached alone; a key in reach opens the doors in reach."""
        has_key = agent.carrying == codes.KEY
        while True:
            reached = self._within_reach(agent, has_key)
            if any(self.cells[cell] == codes.GOAL for cell in reached):
                return True
            beside = {(x + dx, y + dy) for x, y in reached for dx, dy in STEPS}
            if has_key or not any(self.cells.get(cell) == codes.KEY for cell in beside):
                return False
            has_key = True

    def _within_reach(self, agent: Agent, has_key: bool) -> list[Cell]:
        walkable = {codes.FLOOR, codes.GOAL, codes.CLOSED, codes.OPEN}
        if has_key:
            walkable |= {codes.KEY, codes.LOCKED}
        queue = [(agent.x, agent.y)]
        for x, y in queue:  # grows while it is walked through
            near = [(x + dx, y + dy) for dx, dy in STEPS]
            queue += [c for c in near if c not in queue and self.cells.get(c) in walkable]
        return queue

    def step(self, acts: Sequence[int]) -> StepOut:
        """Let every agent act in order, by the index of its action (negative: no command)."""
        n = len(self.agents)
        out = StepOut([0.0] * n, [False] * n, [False] * n, ["ok"] * n)
        self._could = [self._may_interact(agent) for agent in self.agents]
        for i, (agent, act) in enumerate(zip(self.agents, acts, strict=True)):
            agent.played = agent.playing
            if agent.played:
                out.rewards[i], out.outcomes[i] = self._act(agent, int(act))
                out.terminated[i] = not agent.playing
        self.t += 1
        for agent in self.agents:
            if self.t >= self.config.max_steps and agent.playing:
                agent.playing = False
                out.truncated[agent.number] = True
        if self.config.shared_reward:
            self._share(out.rewards)
        return out

    def _share(self, rewards: list[float]) -> None:
        """Give all that played the mean of their rewards (added up in order)."""
        team = [agent.number for agent in self.agents if agent.played]
        total = 0.0
        for number in team:
            total += rewards[number]
        for number in team:
            rewards[number] = total / len(team)

    def _act(self, agent: Agent, act: int) -> tuple[float, str]:
        """Carry out one action; return its reward and outcome."""
        if act < 0 or act == STAY:
            return self.config.rewards.stay, "ok"
        if act == INTERACT:
            return self._interact(agent)
        agent.heading = MOVES[act]
        return self._walk(agent)

    def _walk(self, agent: Agent) -> tuple[float, str]:
        rewards, ahead = self.config.rewards, agent.at(1, 0)
        room = self.config.collisions == "pass" or self._stander(ahead) is None
        if self.cells.get(ahead, codes.OUTSIDE) not in GROUND or not room:
            return rewards.blocked, "failed"
        agent.x, agent.y = ahead
        if self.cells[ahead] != codes.GOAL:
            return rewards.move, "ok"
        agent.marks.add("goal_reached")
        agent.alive = agent.playing = False
        return rewards.goal, "ok"

    def _interact(self, agent: Agent) -> tuple[float, str]:
        rewards = self.config.rewards
        if not self._could[agent.number]:
            return rewards.illegal, "illegal"
        if not self._may_interact(agent):
            return rewards.interact, "failed"  # somebody was faster
        ahead = agent.at(1, 0)
        found = self.cells[ahead]
        if found == codes.LOCKED and agent.carrying != codes.KEY:
            return rewards.locked, "failed"
        if found == codes.KEY:
            self.cells[ahead], agent.carrying = codes.FLOOR, codes.KEY
            agent.marks.add("key_found")
        elif found in (codes.LOCKED, codes.CLOSED):
            self.cells[ahead] = codes.OPEN
            agent.marks.add("door_opened")
        elif found == codes.OPEN:
            self.cells[ahead] = codes.CLOSED
        else:
            self.cells[ahead], agent.carrying = agent.carrying, 0
        return rewards.interact, "ok"

    def _may_interact(self, agent: Agent) -> bool:
        """Whether `interact` would not be illegal now (failing at a locked door is legal)."""
        ahead = agent.at(1, 0)
        if self._stander(ahead) is not None:
            return False
        found = self.cells.get(ahead, codes.OUTSIDE)
        if found == codes.KEY:
            return agent.carrying == 0
        if found == codes.FLOOR:
            return agent.carrying != 0
        return found in (codes.LOCKED, codes.CLOSED, codes.OPEN)

    def _stander(self, cell: Cell) -> Agent | None:
        """Return the first living agent on a cell."""
        for agent in self.agents:
            if agent.alive and (agent.x, agent.y) == cell:
                return agent
        return None

    def mask(self, agent: int) -> npt.NDArray[np.int8]:
        """Return which of the six actions are legal for an agent."""
        me = self.agents[agent]
        mask = np.ones(ACTIONS, np.int8)
        if me.played:
            mask[INTERACT] = self._may_interact(me)
        else:
            mask[:] = 0
            mask[STAY] = 1
        return mask

    def vector(self, agent: int) -> npt.NDArray[np.uint8]:
        """Return an agent's observation: the frame row by row, then the scalars."""
        me, config = self.agents[agent], self.config
        window = config.observe == "window"
        places = self._window_places(me) if window else self._grid_places()
        turn = me.heading if window else 0
        seen = {cell: self._shown(cell, turn) for row in places for cell in row}
        if window and not config.see_through_walls:
            hide_covered(places, seen)
        goal = self._goal_bytes(me, seen)
        seen[me.x, me.y] = codes.AGENT + 4 * me.number + (me.heading - turn)
        scalars = [config.width, config.height, me.x, me.y, me.heading, me.carrying, *goal]
        values = [*(seen[cell] for row in places for cell in row), *scalars, *([0] * HINT)]
        return np.array(values if me.played else [0] * len(values), np.uint8)

    def _window_places(self, me: Agent) -> list[list[Cell]]:
        k = self.config.window
        return [[me.at(k - 1 - r, c - k // 2) for c in range(k)] for r in range(k)]

    def _grid_places(self) -> list[list[Cell]]:
        return [[(x, y) for x in range(self.config.width)] for y in range(self.config.height)]

    def _shown(self, cell: Cell, turn: int) -> int:
        """Return the code of what is on top of a cell, for a frame that is turned by `turn`."""
        top = self._stander(cell)
        if top is None:
            return self.cells.get(cell, codes.OUTSIDE)
        return codes.AGENT + 4 * top.number + (top.heading - turn) % 4

    def _goal_bytes(self, me: Agent, seen: dict[Cell, int]) -> Cell:
        """Return the two bytes of the nearest visible goal."""
        visible = [goal for goal in self.goals if seen.get(goal) == codes.GOAL]
        if not visible:
            return 0, 0
        x, y = min(visible, key=lambda goal: abs(goal[0] - me.x) + abs(goal[1] - me.y))
        dx, dy = x - me.x, y - me.y
        if self.config.observe == "grid":
            return dy + 64, dx + 64
        (fx, fy), (rx, ry) = STEPS[me.heading], STEPS[(me.heading + 1) % 4]
        return dx * fx + dy * fy + 1, dx * rx + dy * ry + self.config.window // 2 + 1


def hide_covered(places: list[list[Cell]], seen: dict[Cell, int]) -> None:
    """Make UNSEEN, in a square window, all that walls and doors cover."""
    k = len(places)
    visible = {(k - 1, k // 2)}
    for r in range(k - 1, -1, -1):
        for columns, side in ((range(k - 1), 1), (range(k - 1, 0, -1), -1)):
            for c in columns:
                if (r, c) in visible and seen[places[r][c]] not in codes.OPAQUE:
                    visible |= {(r, c + side), (r - 1, c), (r - 1, c + side)}
    for r, row in enumerate(places):
        for c, cell in enumerate(row):
            if (r, c) not in visible:
                seen[cell] = codes.UNSEEN
