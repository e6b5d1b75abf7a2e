"""How a level is made: the map of the config, the layout's walls, then what lies and stands on it.

Compiled, so that a batch can reset inside its kernel. Every draw is from the layout stream.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.kernels import helper, load64, peek, scratch, store64, stream_key, uniform
from piase_gym.worlds.grid_world.cells import (
    AGENT,
    BOX,
    FLOOR,
    FOOD,
    FRUIT,
    GOAL,
    HAZARD,
    KEY,
    MOVER,
)
from piase_gym.worlds.grid_world.events import NO_FREE_CELL, NO_ROLE, NO_WAY, RUNNER, TAGGER
from piase_gym.worlds.grid_world.free import LAYOUT_STREAM, draw, find_free, place_at, random_free
from piase_gym.worlds.grid_world.joining import hold_back
from piase_gym.worlds.grid_world.layouts import build
from piase_gym.worlds.grid_world.limits import MAX_GOALS, MAX_MOVERS, MAX_PATCHES, MAX_SIDE
from piase_gym.worlds.grid_world.solvable import (
    KEYS,
    KINDS,
    SWITCHES,
    around,
    solvable,
    sort,
    spread,
)
from piase_gym.worlds.grid_world.state import NUM_STREAMS
from piase_gym.worlds.painted_map import locate, paint_agent, repaint, top

TRIES = 200
"""Levels drawn with agents anywhere, and again as many with agents together."""


@helper
def reset(s, w, k, seed):
    """Start the episode with effective seed `seed` (uint64); `s.fault` says what failed."""
    s.seed = seed
    for stream in range(NUM_STREAMS):
        s.keys[stream] = stream_key(seed, np.uint64(stream))
        s.counters[stream] = 0
    s.t = 0
    s.width, s.height, s.agents = w.width, w.height, w.agents
    for a in range(k.capacity):
        s.order[a] = a
        store64(s.hint, 8 * a, np.uint64(0))
    for attempt in range(2 * TRIES if w.search else 1):
        generate(s, w, k, attempt >= TRIES)
        if s.fault == 0 and w.search and not solvable(s, w, k):
            s.fault = NO_WAY
        if s.fault == 0:
            break


@helper
def generate(s, w, k, together):
    """Build the map, then place objects, goals and agents.

    Many agents in many locked rooms hardly ever all find a key of their own. So, if `together`,
    they start where they can walk to the same key or switch.
    """
    s.fault = 0
    for a in range(k.capacity):
        s.x[a] = s.y[a] = 0
        s.heading[a] = s.carry[a] = s.alive[a] = s.fate[a] = s.marks[a] = s.said[a] = 0
        s.role[a] = s.level[a] = s.energy[a] = 0
    difficulty = -1.0
    if w.least_difficulty >= 0.0:
        spread = w.most_difficulty - w.least_difficulty
        difficulty = w.least_difficulty + spread * uniform(s.keys, s.counters, LAYOUT_STREAM)
    lay_plan(s, w, k)
    split = build(s, w, k, difficulty)
    if split > 0:
        place(s, w, k, KEY, 0, split - 1)
    place_goals(s, w, k, split + 1 if split > 0 else 0)
    for a in range(w.agents):
        if w.starts[a, 0] >= 0:
            enter(s, w, k, a, fixed_start(s, w, k, a))
    if together:
        enter_together(s, w, k)
    else:
        enter_freely(s, w, k, split - 1 if split > 0 else w.width - 1)
    if k.full:
        scatter(s, w, k, difficulty)
    s.left = w.agents
    if k.full and w.latecomers:
        hold_back(s, w, k)


@helper
def enter_freely(s, w, k, last):
    """Put the agents whose start is random on free cells of the columns up to `last`."""
    for a in range(w.agents):
        if w.starts[a, 0] < 0:
            enter(s, w, k, a, random_free(s, w, k, 0, last))


@scratch
def enter_together(s, w, k):
    """Put them where all can walk to one key or switch, drawn at random, if there is any."""
    free = np.zeros(k.side, np.uint64)
    for y in range(k.side):
        free[y] = s.free[y]
    confine(s, w, k, free)
    enter_freely(s, w, k, w.width - 1)
    for y in range(k.side):
        s.free[y] = free[y]
    for a in range(w.agents):
        s.free[np.int64(s.y[a])] &= ~(np.uint64(1) << np.uint64(s.x[a]))


@scratch
def confine(s, w, k, free):
    """Leave in ``s.free`` what can be walked to from a random free cell beside a key or switch."""
    boards, region = np.zeros((KINDS, k.side), np.uint64), np.zeros(k.side, np.uint64)
    tools, scrap = np.zeros(k.side, np.uint64), np.zeros(k.side, np.uint64)
    sort(s, w, k, boards)
    for y in range(w.height):
        tools[y] = boards[KEYS, y] | boards[SWITCHES, y]
    for y in range(w.height):
        s.free[y] = free[y] & around(tools, w, y)
    cell = random_free(s, w, k, 0, w.width - 1)
    if cell >= 0:
        spread(w, cell % k.side, cell // k.side, 0, boards, scrap, region)
    for y in range(w.height):
        s.free[y] = free[y] & region[y] if cell >= 0 else free[y]


@helper
def lay_plan(s, w, k):
    """Take over what the config fixes."""
    for y in range(k.side):
        free = np.uint64(0)
        for x in range(0, k.side, 8):
            store64(s.cells, y * k.side + x, load64(w.plan, y * MAX_SIDE + x))
        for x in range(k.side):
            if peek(s.cells, y * k.side + x) == FLOOR:
                free |= np.uint64(1) << np.uint64(x)
        s.free[y] = free
    repaint(s, k)
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
def place_goals(s, w, k, first):
    """Put the goals where the config says, or at random from column `first` on."""
    for g in range(MAX_GOALS):
        s.goals[g, 0] = s.goals[g, 1] = 0
    s.num_goals = w.num_goals if w.num_goals else w.any_goals
    for g in range(s.num_goals):
        if w.num_goals:
            s.goals[g, 0], s.goals[g, 1] = w.goals[g, 0], w.goals[g, 1]
            place_at(s, k, w.goals[g, 0], w.goals[g, 1], GOAL)
        else:
            cell = place(s, w, k, GOAL, first, w.width - 1)
            s.goals[g, 0], s.goals[g, 1] = cell % k.side, cell // k.side


@helper
def scatter(s, w, k, difficulty):
    """Put boxes, hazards, fruit, drones and food on random free cells."""
    last = w.width - 1
    for _ in range(w.boxes):
        place(s, w, k, BOX, 0, last)
    for _ in range(w.hazards):
        place(s, w, k, HAZARD, 0, last)
    for _ in range(w.fruits):
        cell = place(s, w, k, FRUIT, 0, last)
        s.patches[s.num_patches, 0], s.patches[s.num_patches, 1] = cell % k.side, cell // k.side
        s.num_patches += 1
    for _ in range(w.movers):
        cell = place(s, w, k, MOVER, 0, last)
        s.movers[s.num_movers, 0], s.movers[s.num_movers, 1] = cell % k.side, cell // k.side
        s.movers[s.num_movers, 2] = draw(s, 4)
        s.num_movers += 1
    spread = w.food_level - w.min_food_level
    if difficulty >= 0.0:
        spread = np.int64(difficulty * spread + 0.5)
    for _ in range(w.food):
        weight = w.min_food_level + draw(s, 1 + spread)
        place(s, w, k, FOOD + weight - 1, 0, last)
        s.num_food += 1
        s.all_food += weight


@helper
def place(s, w, k, code, first, last):
    """Put an object on a random free cell in a range of columns. Returns the cell."""
    cell = random_free(s, w, k, first, last)
    if cell < 0:
        s.fault = NO_FREE_CELL
        return 0
    place_at(s, k, cell % k.side, cell // k.side, code)
    return cell


@helper
def fixed_start(s, w, k, a):
    """Return the start that the config gives, or the first free cell, row by row; -1 for none."""
    x, y = w.starts[a, 0], w.starts[a, 1]
    cell = y * k.side + x
    if peek(s.cells, cell) == FLOOR and (w.pass_through or top(s, k, x, y) < AGENT):
        return cell
    return find_free(s, w, k, 0)


@helper
def enter(s, w, k, a, cell):
    """Put agent `a`, facing right, on a cell; -1 stands for none."""
    if cell < 0:
        s.fault = NO_FREE_CELL
        return
    x, y = cell % k.side, cell // k.side
    s.x[a], s.y[a] = x, y
    s.free[y] &= ~(np.uint64(1) << np.uint64(x))
    s.heading[a] = 1
    s.alive[a] = 1
    s.level[a], s.energy[a] = w.levels[a], w.energy
    s.role[a] = NO_ROLE
    if w.taggers:
        s.role[a] = TAGGER if a < w.taggers else RUNNER
    locate(s, k, a)
    paint_agent(s, k, a)
