"""How a level is made: the map of the config, the layout's walls, then what lies and stands on it.

Compiled, so that a batch can reset inside its kernel. Every draw is from the layout stream.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, inline, load64, store64, stream_key, uniform
from piase_gym.worlds.channel.kernels import open_channel
from piase_gym.worlds.grid_world.cells import (
    BOX,
    FLOOR,
    FOOD,
    FRUIT,
    GOAL,
    HAZARD,
    KEY,
    KEYS,
    MOVER,
    REACHES,
    SWITCHES,
)
from piase_gym.worlds.grid_world.levels.door_key import LAYOUT as DOOR_KEY
from piase_gym.worlds.grid_world.levels.door_key import door_wall
from piase_gym.worlds.grid_world.levels.four_rooms import LAYOUT as FOUR_ROOMS
from piase_gym.worlds.grid_world.levels.four_rooms import four_rooms
from piase_gym.worlds.grid_world.levels.free_cells import (
    LAYOUT_STREAM,
    ONE,
    draw,
    find_free,
    place_at,
    random_free,
)
from piase_gym.worlds.grid_world.levels.maze import LAYOUT as MAZE
from piase_gym.worlds.grid_world.levels.maze import maze
from piase_gym.worlds.grid_world.levels.multi_room import LAYOUT as MULTI_ROOM
from piase_gym.worlds.grid_world.levels.multi_room import multi_room
from piase_gym.worlds.grid_world.levels.obstacles import LAYOUT as OBSTACLES
from piase_gym.worlds.grid_world.levels.obstacles import scatter_walls
from piase_gym.worlds.grid_world.levels.solvable import around, solvable, sort, spread
from piase_gym.worlds.grid_world.levels.tag import LAYOUT as TAG_GAME
from piase_gym.worlds.grid_world.limits import MAX_GOALS, MAX_MOVERS, MAX_PATCHES, MAX_SIDE
from piase_gym.worlds.grid_world.rules.events import NO_FREE_CELL, NO_ROLE, NO_WAY, RUNNER, TAGGER
from piase_gym.worlds.grid_world.rules.joining import hold_back
from piase_gym.worlds.grid_world.rules.memory import forget_all
from piase_gym.worlds.grid_world.rules.tables import FULL, SEARCH
from piase_gym.worlds.grid_world.state import NUM_STREAMS
from piase_gym.worlds.grids.windows import cell_at, locate, paint_agent, paint_cells

TRIES = 200
"""How many levels are drawn with agents anywhere, and then as many with agents together."""


@inline
def begin(s, w, seed):
    """Start the episode with effective seed `seed` (uint64); `s.fault` says what failed."""
    s.seed = seed
    for stream in range(NUM_STREAMS):
        s.keys[stream] = stream_key(seed, np.uint64(stream))
        s.counters[stream] = 0
    s.t = 0
    s.width, s.height, s.agents = w.width, w.height, w.agents
    for a in range(len(s.x)):
        s.order[a] = a
        store64(s.hint, 8 * a, np.uint64(0))
    if FULL and w.remembers:
        forget_all(s, w)
    if FULL and w.mail >= 0:
        open_channel(s.cells, w, seed)
    for attempt in range(2 * TRIES if SEARCH and w.search else 1):
        generate(s, w, attempt >= TRIES)
        if SEARCH and s.fault == 0 and w.search and not solvable(s, w):
            s.fault = NO_WAY
        if s.fault == 0:
            break
    rebuild(s, w)


@helper
def rebuild(s, w):
    """Repaint the grid and the agents, with the agent of the lowest number on top."""
    paint_cells(s, w)
    for a in range(w.agents - 1, -1, -1):
        locate(s, w, a)
        if s.alive[a]:
            paint_agent(s, a)


@helper
def generate(s, w, together):
    """Build the map, then place objects, goals and agents.

    Many agents in many locked rooms hardly ever all find keys of their own. So, if `together`,
    they start where they can all walk to the same key or switch.
    """
    s.fault = 0
    for a in range(len(s.x)):
        s.x[a] = s.y[a] = 0
        s.heading[a] = s.carry[a] = s.alive[a] = s.fate[a] = s.marks[a] = s.said[a] = 0
        s.role[a] = s.level[a] = s.energy[a] = 0
    difficulty = -1.0
    if w.least_difficulty >= 0.0:
        spread = w.most_difficulty - w.least_difficulty
        difficulty = w.least_difficulty + spread * uniform(s, LAYOUT_STREAM)
    lay_plan(s, w)
    split = lay_out(s, w, difficulty)
    if split > 0:
        place(s, w, KEY, 0, split - 1)
    place_goals(s, w, split + 1 if split > 0 else 0)
    for a in range(w.agents):
        if w.starts[a, 0] >= 0:
            enter(s, w, a, fixed_start(s, w, a))
    if SEARCH and together:
        enter_together(s, w)
    else:
        enter_freely(s, w, split - 1 if split > 0 else w.width - 1)
    if FULL:
        scatter(s, w, difficulty)
    if FULL and w.latecomers:
        hold_back(s, w)


@inline
def lay_out(s, w, difficulty):
    """Draw the walls of the layout; return the column of the wall with the door, or 0."""
    if w.layout == FOUR_ROOMS:
        four_rooms(s, w)
    elif w.layout == DOOR_KEY:
        return door_wall(s, w)
    elif SEARCH and w.layout == OBSTACLES:
        density = w.density if difficulty < 0.0 else np.int64(50 + 350 * difficulty)
        scatter_walls(s, w, density)
    elif FULL and w.layout == MULTI_ROOM:
        multi_room(s, w, difficulty)
    elif SEARCH and w.layout == MAZE:
        maze(s, w, difficulty)
    elif FULL and w.layout == TAG_GAME and difficulty > 0.0:
        scatter_walls(s, w, np.int64(250 * difficulty))
    return 0


@inline
def enter_freely(s, w, last):
    """Put the agents whose start is random on free cells of the columns up to `last`."""
    for a in range(w.agents):
        if w.starts[a, 0] < 0:
            enter(s, w, a, random_free(s, w, 0, last))


@helper
def enter_together(s, w):
    """Put these agents where all can walk to the same key or switch, a random one, if any."""
    free = np.zeros(w.side, np.uint64)
    for y in range(w.side):
        free[y] = s.free[w.free + y]
    confine(s, w, free)
    enter_freely(s, w, w.width - 1)
    for y in range(w.side):
        s.free[w.free + y] = free[y]
    for a in range(w.agents):
        s.free[w.free + np.int64(s.y[a])] &= ~(ONE << np.uint64(s.x[a]))


@helper
def confine(s, w, free):
    """Keep in ``s.free`` only cells in walking reach of a random one next to a key or switch."""
    boards, region = np.zeros((REACHES, w.side), np.uint64), np.zeros(w.side, np.uint64)
    tools, scrap = np.zeros(w.side, np.uint64), np.zeros(w.side, np.uint64)
    sort(s, w, boards)
    for y in range(w.height):
        tools[y] = boards[KEYS, y] | boards[SWITCHES, y]
    for y in range(w.height):
        s.free[w.free + y] = free[y] & around(tools, w, y)
    cell = random_free(s, w, 0, w.width - 1)
    if cell >= 0:
        spread(w, cell % w.side, cell // w.side, np.int64(0), boards, scrap, region)
    for y in range(w.height):
        s.free[w.free + y] = free[y] & region[y] if cell >= 0 else free[y]


@helper
def lay_plan(s, w):
    """Copy what the config fixes into the record."""
    for y in range(w.side):
        free = np.uint64(0)
        for x in range(0, w.side, 8):
            store64(s.cells, y * w.side + x, load64(w.plan, y * MAX_SIDE + x))
        for x in range(w.side):
            if cell_at(s, w, x, y) == FLOOR:
                free |= ONE << np.uint64(x)
        s.free[w.free + y] = free
    s.num_food, s.all_food = w.num_food, w.all_food
    s.num_patches, s.num_movers = w.num_patches, w.num_movers
    for i in range(MAX_PATCHES):
        s.patches[i, 0], s.patches[i, 1] = w.patches[i, 0], w.patches[i, 1]
    for i in range(MAX_MOVERS):
        s.movers[i, 0] = s.movers[i, 1] = s.movers[i, 2] = 0
    for i in range(w.num_movers):
        s.movers[i, 0], s.movers[i, 1] = w.movers_at[i, 0], w.movers_at[i, 1]
        s.movers[i, 2] = draw(s, 4)


@helper
def place_goals(s, w, first):
    """Put the goals where the config says, or at random from column `first` on."""
    for g in range(MAX_GOALS):
        s.goals[g, 0] = s.goals[g, 1] = 0
    s.num_goals = w.num_goals if w.num_goals else w.any_goals
    for g in range(s.num_goals):
        if w.num_goals:
            s.goals[g, 0], s.goals[g, 1] = w.goals[g, 0], w.goals[g, 1]
            place_at(s, w, w.goals[g, 0], w.goals[g, 1], GOAL)
        else:
            cell = place(s, w, GOAL, first, w.width - 1)
            s.goals[g, 0], s.goals[g, 1] = cell % w.side, cell // w.side


@helper
def scatter(s, w, difficulty):
    """Put boxes, hazards, fruit, drones and food on random free cells."""
    last = w.width - 1
    for _ in range(w.boxes):
        place(s, w, BOX, 0, last)
    for _ in range(w.hazards):
        place(s, w, HAZARD, 0, last)
    for _ in range(w.fruits):
        cell = place(s, w, FRUIT, 0, last)
        s.patches[s.num_patches, 0], s.patches[s.num_patches, 1] = cell % w.side, cell // w.side
        s.num_patches += 1
    for _ in range(w.movers):
        cell = place(s, w, MOVER, 0, last)
        s.movers[s.num_movers, 0], s.movers[s.num_movers, 1] = cell % w.side, cell // w.side
        s.movers[s.num_movers, 2] = draw(s, 4)
        s.num_movers += 1
    spread = w.food_level - w.min_food_level
    if difficulty >= 0.0:
        spread = np.int64(difficulty * spread + 0.5)
    for _ in range(w.food):
        weight = w.min_food_level + draw(s, 1 + spread)
        place(s, w, FOOD + weight - 1, 0, last)
        s.num_food += 1
        s.all_food += weight


@inline
def place(s, w, code, first, last):
    """Put an object on a random free cell in a range of columns; return the cell."""
    cell = random_free(s, w, first, last)
    if cell < 0:
        s.fault = NO_FREE_CELL
        return 0
    place_at(s, w, cell % w.side, cell // w.side, code)
    return cell


@inline
def fixed_start(s, w, a):
    """Return the start that the config gives, or the first free cell, row by row; -1 for none."""
    x, y = w.starts[a, 0], w.starts[a, 1]
    cell = y * w.side + x
    untaken = w.pass_through or s.free[w.free + y] >> np.uint64(x) & ONE
    if cell_at(s, w, x, y) == FLOOR and untaken:
        return cell
    return find_free(s, w, 0)


@inline
def enter(s, w, a, cell):
    """Put agent `a`, facing east, on a cell; -1 stands for none."""
    if cell < 0:
        s.fault = NO_FREE_CELL
        return
    x, y = cell % w.side, cell // w.side
    s.x[a], s.y[a] = x, y
    s.free[w.free + y] &= ~(ONE << np.uint64(x))
    s.heading[a] = 1
    s.alive[a] = 1
    s.level[a], s.energy[a] = w.levels[a], w.energy
    s.role[a] = NO_ROLE
    if w.taggers:
        s.role[a] = TAGGER if a < w.taggers else RUNNER
