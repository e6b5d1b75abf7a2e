"""The rules of the commons: agents walk and eat, beams fly, and the commons grows. Compiled.

In a step agents walk one after the other, in the order of `order`; then all beams fly at once, so
two can zap each other; then time-outs run off, and last what grows grows.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import happens, helper, hot, inline, integer
from piase_gym.compiled.stepping import ABSENT, NONE, share
from piase_gym.worlds.channel.kernels import deliver, first_symbol, may_say, post
from piase_gym.worlds.grids.codes import AGENT, FLOOR, OUTSIDE
from piase_gym.worlds.grids.windows import (
    advance,
    ahead,
    cell_at,
    locate,
    paint_agent,
    paint_at,
    put,
    seen_ahead,
    top,
)
from piase_gym.worlds.social_dilemma.commons.codes import (
    APPLE,
    ATE,
    BLOCKED,
    CLEANED,
    CLEANING,
    EAT,
    HAS_CLEANED,
    HIT,
    ILLEGAL,
    MISSED,
    MOVE,
    MOVES,
    NOTHING_TO_CLEAN,
    STAY,
    STAYING,
    UNPARSABLE,
    WAS_ZAPPED,
    WASTE,
    WATER,
    ZAPPED,
    ZAPPING,
)
from piase_gym.worlds.social_dilemma.commons.state import DYNAMICS
from piase_gym.worlds.social_dilemma.constants import OUT_OF_TIME, PLAYED

_1 = np.uint64(1)


@helper
def popcount(word):
    """Return how many of a few bits are set."""
    count = 0
    while word != np.uint64(0):
        word &= word - _1
        count += 1
    return count


@helper
def lowest(word):
    """Return the place of the lowest bit that is set."""
    place = 0
    step = 32
    while step:
        if word & ((_1 << np.uint64(step)) - _1) == np.uint64(0):
            word >>= np.uint64(step)
            place += step
        step >>= 1
    return place


@helper
def ripe_in(s, w, y, x, reach):
    """Return where apples hang from column ``x - reach`` to ``x + reach`` of a row, as bits."""
    if y < 0 or y >= w.height:
        return np.uint64(0)
    word = s.ripe[w.ripe + y]
    shifted = word << np.uint64(reach - x) if x < reach else word >> np.uint64(x - reach)
    return shifted & ((_1 << np.uint64(2 * reach + 1)) - _1)


@helper
def apples_near(s, w, x, y):
    """Return how many apples hang within two cells of (x, y), by Euclid's distance."""
    count = popcount(ripe_in(s, w, y, x, 2))
    count += popcount(ripe_in(s, w, y - 1, x, 1)) + popcount(ripe_in(s, w, y + 1, x, 1))
    return count + popcount(ripe_in(s, w, y - 2, x, 0) | ripe_in(s, w, y + 2, x, 0) << _1)


@helper
def regrow(s, w):
    """Let apples grow, the more likely the more hang near: all at once, drawn row by row."""
    for y in range(w.height):
        grown = np.uint64(0)
        empty = s.spots[w.spots + y] & ~s.ripe[w.ripe + y]
        while empty != np.uint64(0):
            x = lowest(empty)
            empty &= empty - _1
            chance = w.regrowth[min(3, apples_near(s, w, x, y))]
            if chance > 0 and happens(s, DYNAMICS, chance) and top(s, w, x, y) == FLOOR:
                grown |= _1 << np.uint64(x)
        s.grown[w.grown + y] = grown
    hang(s, w)


@helper
def bear(s, w):
    """Let apples grow in the orchard, the more likely the less waste there is."""
    share = 1.0 - s.waste / w.most_waste
    if share <= 0.0 or w.apple_chance <= 0.0:
        return
    chance = np.int64(w.apple_chance * share * 4294967296.0)
    for y in range(w.height):
        grown = np.uint64(0)
        empty = s.spots[w.spots + y] & ~s.ripe[w.ripe + y]
        while empty != np.uint64(0):
            x = lowest(empty)
            empty &= empty - _1
            if happens(s, DYNAMICS, chance) and top(s, w, x, y) == FLOOR:
                grown |= _1 << np.uint64(x)
        s.grown[w.grown + y] = grown
    hang(s, w)


@helper
def hang(s, w):
    """Hang the apples that have grown."""
    for y in range(w.height):
        grown = s.grown[w.grown + y]
        s.ripe[w.ripe + y] |= grown
        while grown != np.uint64(0):
            put(s, w, lowest(grown), y, APPLE)
            grown &= grown - _1


@helper
def pollute(s, w):
    """Turn a random cell of water to waste, by chance, while there is little of it."""
    if s.waste >= w.most_waste or not happens(s, DYNAMICS, w.waste_chance):
        return
    foul(s, w, DYNAMICS)


@helper
def foul(s, w, stream):
    """Turn a random cell of water, on which nobody stands, to waste."""
    cell = random_cell(s, w, stream, w.river, WATER)
    if cell >= 0:
        put(s, w, cell % w.side, cell // w.side, WASTE)
        s.waste += 1


@helper
def random_cell(s, w, stream, width, code):
    """Draw a cell of the first columns whose top is `code`, as y * side + x; -1 if none is."""
    count = 0
    for y in range(w.height):
        for x in range(width):
            count += top(s, w, x, y) == code
    if count == 0:
        return -1
    left = integer(s, stream, count)
    for y in range(w.height):
        for x in range(width):
            if top(s, w, x, y) == code:
                if left == 0:
                    return y * w.side + x
                left -= 1
    return -1


ZAP_BEAM, CLEANING_BEAM = 1, 2


@inline
def mark(s, a, bit):
    """Note a milestone; return nonzero if agent `a` reached it for the first time."""
    marks = np.int64(s.marks[a])
    s.marks[a] = marks | bit
    return bit & ~marks


@helper
def fire(s, w, o, rewards, events):
    """Let all beams fly from where agents now stand; return nonzero if that is notable."""
    notable = 0
    for a in range(w.agents):
        s.struck[a] = 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        if s.beam[a] == CLEANING_BEAM and clean(s, w, a):
            events[o + a] = CLEANED
            s.cleaned[a] += 1
            notable |= mark(s, a, HAS_CLEANED)
        elif s.beam[a] == ZAP_BEAM:
            s.zaps[a] += 1
            rewards[o + a] -= w.zap_cost
            b = target(s, w, a)
            if b >= 0:
                events[o + a] = HIT
                s.struck[b] = 1
                notable |= mark(s, a, ZAPPED)
    for b in range(w.agents):
        if s.struck[b]:
            rewards[o + b] -= w.zap_fine
            s.zapped[b] += 1
            notable |= mark(s, b, WAS_ZAPPED)
            paint_at(s, b, cell_at(s, w, s.x[b], s.y[b]))
            s.out[b] = w.timeout + 1  # this step does not count
    return notable


@helper
def target(s, w, a):
    """Return the first agent ahead of agent `a`, within reach of a zap, or -1."""
    for i in range(1, w.zap_range + 1):
        seen = np.int64(seen_ahead(s, w, a, i))
        if seen >= AGENT:
            return (seen - AGENT) >> 2
        if seen == OUTSIDE:
            break
    return -1


@helper
def clean(s, w, a):
    """Turn the first waste ahead of agent `a` to water if within reach; return whether it did."""
    for i in range(1, w.clean_range + 1):
        seen = seen_ahead(s, w, a, i)
        if seen == WASTE:
            x, y = ahead(s, a, i)
            put(s, w, x, y, WATER)
            s.waste -= 1
            return True
        if seen == OUTSIDE or seen >= AGENT:
            break
    return False


@helper
def wait(s, w, a):
    """Let an agent in time-out wait; at its end it comes back at a random free cell, facing up."""
    s.out[a] -= 1
    if s.out[a] == w.timeout:  # it was hit in this very step
        return
    s.away[a] += 1
    if s.out[a] > 0:
        return
    cell = random_cell(s, w, DYNAMICS, w.width, FLOOR)
    if cell < 0:
        s.out[a] = 1  # it has to wait for room
        return
    appear_at(s, w, a, cell)


@helper
def appear_at(s, w, a, cell):
    """Put agent `a` on a cell, facing up."""
    s.x[a], s.y[a], s.heading[a] = cell % w.side, cell // w.side, 0
    locate(s, w, a)
    paint_agent(s, a)


TURN_OF = np.array([0, 2, 3, 1])  # forward, turn around, left, right as quarters
HEADING_OF = np.array([0, 2, 3, 1])  # up, down, left, right as headings


@hot
def walk(s, w, a, heading):
    """Turn agent `a` and let it try to step ahead; return the event."""
    s.heading[a] = heading
    ground = seen_ahead(s, w, a, 1)
    if ground >= AGENT or ground == OUTSIDE:
        paint_agent(s, a)
        return BLOCKED
    paint_at(s, a, cell_at(s, w, s.x[a], s.y[a]))
    advance(s, w, a)
    event = MOVE
    if ground == APPLE:
        put(s, w, s.x[a], s.y[a], FLOOR)
        s.ripe[w.ripe + s.y[a]] &= ~(_1 << np.uint64(s.x[a]))
        s.eaten[a] += 1
        s.when[a] += s.t + 1
        event = EAT
    paint_agent(s, a)
    return event


@helper
def stride(s, w, a, action):
    """Let agent `a` step ahead, or turn on the spot; return the event."""
    heading = (np.int64(s.heading[a]) + TURN_OF[action]) & 3
    if action == 0:
        return walk(s, w, a, heading)
    s.heading[a] = heading
    paint_agent(s, a)
    return MOVE


@inline
def legal_act(s, w, a, action):
    """Return whether agent `a` may do an action (without a message) now."""
    if s.out[a] > 0:
        return action == STAYING
    if action == ZAPPING:
        return w.timeout > 0
    return action != CLEANING or w.cleanup > 0


@inline
def act(s, w, a, index):
    """Let agent `a` walk, or note that it fires; return the event so far."""
    s.beam[a] = 0
    s.said[a] = 0
    if s.alive[a] == 0:  # a script has ended it before the others
        return NONE
    if index < 0:
        return STAY if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index)
    message = index // np.int64(w.actions)
    action = index - message * w.actions
    if not may_say(w, a, message) or not legal_act(s, w, a, action):
        return ILLEGAL
    s.said[a] = first_symbol(w, message)
    if w.mail >= 0:
        post(s.mail, w, a, message, s.t)
    if action < MOVES and not w.agent_frame:
        return walk(s, w, a, HEADING_OF[action])
    if action < MOVES:
        return stride(s, w, a, action)
    if action == ZAPPING:
        s.beam[a] = ZAP_BEAM
        return MISSED
    if action == CLEANING:
        s.beam[a] = CLEANING_BEAM
        return NOTHING_TO_CLEAN
    return STAY


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Nonzero if an agent ended or reached a milestone for the first time.
    """
    firing, notable = 0, 0
    for i in range(w.agents):
        a = np.int64(s.order[i])
        row = np.uint64(o + a)  # unsigned: no need to check for a negative index
        event = act(s, w, a, np.int64(acts[row]))
        events[row] = event
        rewards[row] = w.apple if event == EAT else 0.0
        if s.said[a] > 0 and w.say_cost > 0.0:
            rewards[row] -= w.say_cost
        firing |= np.int64(s.beam[a])
        if event == EAT:
            notable |= mark(s, a, ATE)
    if firing:
        notable |= fire(s, w, o, rewards, events)
    for a in range(w.agents):
        if s.out[a] > 0 and s.alive[a]:
            wait(s, w, a)
    if w.cleanup:
        pollute(s, w)
        bear(s, w)
    else:
        regrow(s, w)
    if w.shared:
        share(w, o, rewards, events)
    if w.mail >= 0:
        deliver(s.mail, w, s.t, o, events, s.x, s.y)
    s.t += 1
    return finish(s, w, o, rewards, terminated, truncated) | notable


@helper
def finish(s, w, o, rewards, terminated, truncated):
    """Write which agents have ended; return whether all have. Those that were out get nothing."""
    ended = s.t >= w.rounds
    late = s.t >= w.max_steps and not ended
    for a in range(w.agents):
        terminated[o + a], truncated[o + a] = ended, late
        if s.alive[a] == 0:
            rewards[o + a], terminated[o + a], truncated[o + a] = 0.0, False, False
    if ended or late:
        for a in range(w.agents):
            if s.alive[a]:
                s.fate[a] = PLAYED if ended else OUT_OF_TIME
            s.alive[a] = 0
    return 1 if ended or late else 0
