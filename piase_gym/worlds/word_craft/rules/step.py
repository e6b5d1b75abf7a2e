"""The rules of WordCraft, and what agents see of them. Compiled.

An agent picks things from a table; the second one that it picks is combined with the first. What
the pair makes is put on the table, and nothing is used up.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment, operator, call-overload"

from __future__ import annotations

from typing import Final

import numpy as np

from piase_gym.compiled import helper, hot, inline, load, load64, store, store64, stream_key
from piase_gym.compiled.draws import GOLDEN, integer, mix64
from piase_gym.compiled.memory import array_at
from piase_gym.compiled.stepping import ABSENT, NONE, Rules, compile_kernels, share
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.word_craft.levels.tasks import (
    A_RECIPE_IN_TEST,
    DRAWN_TEST,
    DRAWN_TRAIN,
    INDEXED,
    RECIPES_IN_TRAIN,
)
from piase_gym.worlds.word_craft.state import (
    GAVE,
    HEAD,
    ILLEGAL,
    IN_PLAY,
    LAYOUT,
    MADE,
    NOTHING,
    OLD,
    OUT_OF_TIME,
    PICKED,
    UNPARSABLE,
    WAITED,
    WON,
    pair_key,
    slot_of,
)

MISREADS: Final = 4
"""How many kinds of unreadable commands there are; their codes are the next below `ABSENT`."""
PAIRS: Final = ABSENT - 1 - MISREADS
"""``PAIRS`` is a pair that is not on the table; ``PAIRS - 1 - (i * width + j)`` one that is."""
NO_TASK: Final = 1
"""The fault of a book from which no task of this depth could be drawn."""
TRIES: Final = 4096

look_up = inline(slot_of)
key_of = inline(pair_key)


# -- tasks --------------------------------------------------------------------------------


@helper
def begin(s, w, seed):
    """Start the episode with effective seed `seed` (uint64)."""
    s.seed, s.fault = seed, 0
    s.keys[LAYOUT] = stream_key(seed, np.uint64(LAYOUT))
    s.counters[LAYOUT] = 0
    s.t, s.agents, s.made = 0, w.agents, 0
    for a in range(len(s.hand)):
        s.hand[a], s.one[a], s.other[a], s.used[a] = 0, 0, 0, 0
        s.alive[a] = a < w.agents
        s.fate[a], s.marks[a], s.order[a] = IN_PLAY, 0, a
    for b in range(w.tables):
        for i in range(w.width):
            s.tables[b * w.room + i] = 0
    for i in range(len(s.hint)):
        s.hint[i] = 0
    s.depth = w.least + integer(s, LAYOUT, w.depth - w.least + 1)
    for _ in range(TRIES):
        if draw_task(s, w):
            lay_out(s, w)
            return
    s.fault = NO_TASK


@helper
def draw_task(s, w):
    """Draw a task of depth ``s.depth``; return whether it meets all conditions."""
    for k in range(len(s.chain)):
        s.chain[k], s.first[k], s.second[k] = 0, 0, 0
    known = min(np.int64(s.depth), INDEXED)
    start = w.starts[known - 1]
    deep = s.depth > INDEXED
    count = w.starts[known] - start if deep else w.counts[known - 1]
    if count == 0:
        return False
    tasks = array_at(w.at_tasks, w.starts[INDEXED] * INDEXED, np.int32)
    row = (start + integer(s, LAYOUT, count)) * INDEXED
    held, mark = False, np.uint64(0)
    for k in range(s.depth):
        recipe = np.int64(tasks[row + k]) if k < known else grown(s, w, k)
        if recipe < 0:
            return False
        recipe_at(s, w, k, recipe)
        if deep:
            held |= array_at(w.at_held, recipe + 1, np.uint8)[recipe] != 0
            mark += mix64((np.uint64(recipe) + np.uint64(1)) * GOLDEN + w.mark_key)
    if not deep:
        return True
    if w.rule == RECIPES_IN_TRAIN:
        return not held
    if w.rule == A_RECIPE_IN_TEST:
        return held
    if w.rule == DRAWN_TRAIN:
        return mix64(mark) < w.threshold
    if w.rule == DRAWN_TEST:
        return mix64(mark) >= w.threshold
    return True


@inline
def recipe_at(s, w, k, recipe):
    """Put a recipe in a place of the task."""
    rows = array_at(w.at_rows, 3 * recipe + 3, np.int32)
    s.chain[k] = rows[3 * recipe]
    s.first[k], s.second[k] = rows[3 * recipe + 1], rows[3 * recipe + 2]


@inline
def is_made(s, thing):
    """Return the place in the task of a thing that it makes, or -1."""
    for k in range(s.depth):
        if s.chain[k] == thing:
            return k
    return -1


@helper
def grown(s, w, k):
    """Draw a recipe for one of the things that a task of k recipes needs and does not make.

    Returns:
        Its number, or -1 if the recipe drawn closes a circle, or nothing can be made.
    """
    start = array_at(w.at_start, w.entities + 1, np.int32)
    thing, seen = 0, 0
    for i in range(2 * k):
        part = s.first[i // 2] if i % 2 == 0 else s.second[i // 2]
        again = False
        for j in range(i):
            again |= part == (s.first[j // 2] if j % 2 == 0 else s.second[j // 2])
        if again or is_made(s, part) >= 0 or start[part] == start[part - 1]:
            continue
        seen += 1
        if integer(s, LAYOUT, seen) == 0:
            thing = part
    if thing == 0:
        return -1
    recipe = np.int64(start[thing - 1]) + integer(s, LAYOUT, start[thing] - start[thing - 1])
    rows = array_at(w.at_rows, 3 * recipe + 3, np.int32)
    if is_made(s, rows[3 * recipe + 1]) >= 0 or is_made(s, rows[3 * recipe + 2]) >= 0:
        return -1
    return recipe


@helper
def lay_out(s, w):
    """Put what the task needs on the tables, with distractors, shuffled."""
    count = 0
    for k in range(s.depth):
        for part in (s.first[k], s.second[k]):
            if is_made(s, part) < 0 and place_of(s, 0, count, part) < 0:
                s.tables[count] = part
                count += 1
    tickets = array_at(w.at_tickets, w.ticket_count, np.int32)
    wanted = count + w.distractors
    while count < wanted:
        which = integer(s, LAYOUT, w.entities if w.uniform else w.ticket_count)
        thing = tickets[which]
        if is_made(s, thing) < 0 and place_of(s, 0, count, thing) < 0:
            s.tables[count] = thing
            count += 1
    for i in range(count - 1, 0, -1):
        j = integer(s, LAYOUT, i + 1)
        s.tables[i], s.tables[j] = s.tables[j], s.tables[i]
    if w.trade:
        for i in range(1, count):  # thing i goes to a place from which no thing is still to move
            thing = s.tables[i]
            s.tables[i] = 0
            s.tables[(i % w.agents) * w.room + i // w.agents] = thing


# -- a step -------------------------------------------------------------------------------


@inline
def place_of(s, first, count, thing):
    """Return where a thing lies among `count` places from `first` on, or -1."""
    for i in range(count):
        if s.tables[first + i] == thing:
            return i
    return -1


@inline
def table_of(s, w, a):
    """Return where the table of an agent begins."""
    return a * np.int64(w.room) if w.trade else 0


@inline
def add(s, w, first, thing):
    """Put a thing on a table, where it lies at most once; return whether it is new."""
    free = -1
    for i in range(w.width):
        there = s.tables[first + i]
        if there == thing:
            return False
        if there == 0 and free < 0:
            free = i
    if free >= 0:
        s.tables[first + free] = thing
    return free >= 0


@helper
def combine(s, w, a, one, other):
    """Combine two things; return the event, the reward, and the marks that it earns."""
    s.hand[a], s.one[a], s.other[a] = 0, one, other
    s.used[a] += 1
    waste = 0.0 if w.evaluation else w.worth_useless
    key = key_of(np.int64(min(one, other)), np.int64(max(one, other)))
    keys = array_at(w.at_keys, w.slots_of_keys, np.int32)
    place = look_up(key, np.int64(w.slots_of_keys))
    while load(keys, place) != key:
        if load(keys, place) == 0:
            return NOTHING, waste, 0
        place = (place + 1) & (np.int64(w.slots_of_keys) - 1)
    pair = np.int64(array_at(w.at_pairs, w.slots_of_keys, np.int32)[place])
    ends = array_at(w.at_ends, pair + 2, np.int32)
    products = array_at(w.at_products, ends[pair + 1], np.int32)
    table, event, reward, marks = table_of(s, w, a), OLD, waste, 0
    paid, needed = w.subgoal_rewards and not w.evaluation, False
    for p in range(ends[pair], ends[pair + 1]):
        if add(s, w, table, products[p]):
            event, marks = MADE, marks | 1
        k = is_made(s, products[p])
        if k < 0:
            continue
        worth = 0.0
        if not (s.made >> k) & 1:
            s.made |= 1 << k
            marks |= 4 if k == 0 else 2
            worth = w.worth_needed if paid and k > 0 else 0.0
        reward = max(reward, worth) if needed else worth
        needed = True
    return event, reward, marks


@helper
def decode(s, w, a, index):
    """Find out what a command is about, from the state before any agent acts.

    ``s.plan`` becomes the planned event: `PICKED`, `MADE` and `GAVE` are then carried out on
    ``s.aim`` and ``s.also``; the others are final.
    """
    width, table = np.int64(w.width), table_of(s, w, a)
    s.plan[a], s.aim[a], s.also[a] = ILLEGAL, 0, 0
    if index == ABSENT or index == w.num_actions - 1:
        s.plan[a] = WAITED
    elif index < ABSENT and index > PAIRS:
        s.plan[a] = UNPARSABLE + (ABSENT - 1 - index)
    elif index >= width:
        other, place = (index - width) // width, (index - width) % width
        s.aim[a], s.also[a] = s.tables[table + place], other
        if can_give(s, w, a, other, s.aim[a]):
            s.plan[a] = GAVE
    elif s.used[a] < w.mixes and index >= 0:
        s.aim[a] = s.tables[np.uint64(table + index)]
        if s.aim[a] != 0:
            s.plan[a] = PICKED
    elif s.used[a] < w.mixes and index < PAIRS:
        code = PAIRS - 1 - index
        s.aim[a], s.also[a] = s.tables[table + code // width], s.tables[table + code % width]
        if s.aim[a] != 0 and s.also[a] != 0:
            s.plan[a] = MADE


@helper
def act(s, w, a):
    """Carry out the command of an agent; return the event, the reward, and marks."""
    plan, thing = np.int64(s.plan[a]), s.aim[a]
    if plan == PICKED:
        if s.hand[a] != 0:
            return combine(s, w, a, s.hand[a], thing)
        s.hand[a] = thing
    elif plan == MADE:
        return combine(s, w, a, thing, s.also[a])
    elif plan == GAVE:
        return give(s, w, a, np.int64(s.also[a]), thing)
    return plan, 0.0, 0


@helper
def give(s, w, a, other, thing):
    """Let an agent give a thing to another; return the event, the reward, and marks."""
    table = table_of(s, w, a)
    s.tables[table + place_of(s, table, w.width, thing)] = 0
    if s.hand[a] == thing:
        s.hand[a] = 0
    add(s, w, table_of(s, w, other), thing)
    return np.int64(GAVE), 0.0, 8


@inline
def can_give(s, w, a, other, thing):
    """Return whether an agent can give a thing to another."""
    return w.trade and thing != 0 and other != a and other < w.agents and s.alive[other] != 0


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Nonzero if an agent ended or reached a milestone for the first time.
    """
    notable, n = 0, np.int64(w.agents)
    for a in range(n):
        if s.alive[a]:
            decode(s, w, a, np.int64(acts[np.uint64(o + a)]))
    for place in range(n):
        a = np.int64(s.order[place])
        row = np.uint64(o + a)
        if not s.alive[a]:
            events[row], rewards[row] = NONE, 0.0
            continue
        event, reward, marks = act(s, w, a)
        notable |= marks & ~np.int64(s.marks[a])
        s.marks[a] |= marks
        events[row], rewards[row] = event, reward
    if w.shared:
        share(w, o, rewards, events)
    s.t += 1
    won = s.made & 1
    able = False
    for a in range(n):
        able |= s.alive[a] != 0 and s.used[a] < w.mixes
    late = not won and (s.t >= w.max_steps or not able)
    for a in range(n):
        row = np.uint64(o + a)
        if s.alive[a] == 0:
            continue
        if won:
            rewards[row] += w.worth_goal
        terminated[row], truncated[row] = won, late
        if won or late:
            s.alive[a], s.fate[a] = 0, WON if won else OUT_OF_TIME
    for a in range(n, w.slots):
        events[np.uint64(o + a)], rewards[np.uint64(o + a)] = NONE, 0.0
    return 1 if won or late else notable


# -- what agents see ----------------------------------------------------------------------


@inline
def show_thing(w, obs, q, thing):
    """Write the features of a thing from ``obs[q]`` on; zeros stand for nothing."""
    size = np.int64(w.features)
    if w.one_hot == 0:
        store(obs, q, 0.0 if thing == 0 else place_number(w, thing))
        for i in range(1, size):
            store(obs, q + i, 0.0)
        return
    if w.one_hot == 2 and thing != 0:
        own = np.int64(w.own_features)
        row = np.int64(place_number(w, thing) - 1) * own
        features = array_at(w.at_features, row + own, np.float32)
        for i in range(size):
            store(obs, q + i, load(features, row + i) if i < own else 0.0)
        return
    for i in range(size):
        store(obs, q + i, 0.0)
    if thing != 0:
        store(obs, q + place_number(w, thing) - 1, 1.0)


@inline
def place_number(w, thing):
    """Return the number, from 1, that stands for a thing in vectors."""
    return array_at(w.at_places, thing, np.int32)[np.uint64(thing - 1)] + 1


@hot
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    store(obs, p, a)
    store(obs, p + 1, w.agents)
    store(obs, p + 2, w.mixes - s.used[a])
    store(obs, p + 3, w.max_steps - s.t)
    q = p + HEAD
    q = show_numbers(s, w, a, obs, q) if w.plain else show_features(s, w, a, obs, q)
    if load64(s.hint, a * HINT_CODE) == np.uint64(0):  # there is hardly ever a hint
        for i in range(HINT_CODE // 2):
            store64(obs, q + 2 * i, np.uint64(0))
    else:
        for i in range(HINT_CODE):
            store(obs, q + i, s.hint[a * HINT_CODE + i])


@inline
def show_numbers(s, w, a, obs, q):
    """Write things as their numbers, which are those of the state; return where they end."""
    store(obs, q, s.chain[0])
    store(obs, q + 1, s.one[a])
    store(obs, q + 2, s.other[a])
    q += 3
    for b in range(min(np.int64(w.slots), len(s.hand))):
        store(obs, q + b, s.hand[b])
    q += w.slots
    width, room = np.int64(w.width), np.int64(w.room)
    for b in range(w.tables):
        for i in range(width):
            store(obs, q + i, s.tables[np.uint64(b * room + i)])
        q += width
    return q


@helper
def show_features(s, w, a, obs, q):
    """Write the features of all that the agent sees; return where they end."""
    size = np.int64(w.features)
    for thing in (s.chain[0], s.one[a], s.other[a]):
        show_thing(w, obs, q, thing)
        q += size
    for b in range(w.slots):
        show_thing(w, obs, q, s.hand[b] if b < len(s.hand) else 0)
        q += size
    for b in range(w.tables):
        for i in range(w.width):
            show_thing(w, obs, q, s.tables[b * w.room + i])
            q += size
    return q


@hot
def legal(s, w, a, masks, m):
    """Write the mask of an agent in play: things that are there, gifts, and waiting."""
    width, table = np.int64(w.width), table_of(s, w, a)
    if s.used[a] < w.mixes:
        for i in range(width):
            store(masks, m + i, s.tables[np.uint64(table + i)] != 0)
    else:
        for i in range(width):
            store(masks, m + i, 0)
    m += width
    if w.num_actions > width + 1:
        for other in range(w.slots):
            for i in range(width):
                store(masks, m + i, can_give(s, w, a, other, s.tables[table + i]))
            m += width
    store(masks, m, 1)


@inline
def rebuild(s, w):
    """Do nothing: nothing is derived from the state."""


KERNELS = compile_kernels(
    Rules(begin, tick, sight, legal, rebuild, present=WAITED, noop=-1, number=np.float32),
    __name__,
)
