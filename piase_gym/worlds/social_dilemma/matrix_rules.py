"""The rules of the matrix games, and what agents see of them. Compiled.

A step is a round, or a step of talk before one. Everybody chooses at once; `noise` turns choices;
the table says what everybody gets. `matrix_views` says in plain Python what the vectors mean.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.kernels import ABSENT, bits, device, helper, load64, poke, store64, stream_key
from piase_gym.worlds.social_dilemma.fates import OUT_OF_TIME, PLAYED
from piase_gym.worlds.social_dilemma.games import DEFECT, UNIT
from piase_gym.worlds.social_dilemma.matrix_state import (
    CHOSE,
    DYNAMICS,
    HEAD,
    ILLEGAL,
    NOW,
    UNPARSABLE,
)
from piase_gym.worlds.stepping import NONE, Rules, compile_kernels

_0, _1, _2, _3, _4, _32 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 32))

BITS_OF_1 = np.uint64(0x3F800000)
"""The bits of 1.0 as a number of 32 bits."""
BITS_OF_NONE = np.uint64(0xBF800000BF800000)
"""The bits of -1.0 twice."""


@device
def players(w, k):
    """Return how many agents play, as a constant where it is known."""
    return 2 if k.pair else np.int64(w.agents)


@device
def happens(s, chance):
    """Draw whether something with a chance in 2**-32 happens."""
    return (bits(s.keys, s.counters, DYNAMICS) >> _32) < np.uint64(chance)


@helper
def begin(s, w, k, seed):
    """Start the episode with effective seed `seed` (uint64)."""
    s.seed, s.fault = seed, 0
    s.keys[DYNAMICS] = stream_key(seed, _1)
    s.counters[DYNAMICS] = 0
    s.t, s.played, s.talk = 0, 0, w.talk
    s.agents = w.agents
    s.left = w.agents
    for a in range(k.capacity):
        s.past[a], s.score[a], s.cooperated[a] = 0, 0, 0
        s.alive[a] = a < w.agents
        s.fate[a], s.marks[a], s.said[a], s.order[a] = 0, 0, 0, a
    for i in range(k.capacity * HINT_CODE):
        s.hint[i] = 0


@device
def heard(s, w, k, a, index):
    """Take in the command of an agent. Returns its event, and 1 if it cooperates, as uint64.

    Who gives no command that can be read defects in silence.
    """
    event, choice = CHOSE, index & 1
    if index < 0:
        event, choice = CHOSE if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index), DEFECT
    if not k.fixed:  # else there are no symbols
        symbol = max(0, index >> 1)
        if symbol > w.symbols:
            event, symbol, choice = ILLEGAL, 0, DEFECT
        s.said[a] = symbol
    return event, np.uint64(1 - choice)


@device
def tick(s, w, k, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Not 0 if an agent ended or reached a milestone for the first time.
    """
    n = players(w, k)
    chosen = _0  # a bit an agent: whether it cooperates
    for a in range(n):
        row = np.uint64(o + a)
        events[row], cooperates = heard(s, w, k, a, np.int64(acts[row]))
        chosen |= cooperates << np.uint64(a)
    ended, notable = False, 0
    if s.talk > 0:
        s.talk -= 1
        for a in range(n):
            rewards[np.uint64(o + a)] = 0.0
    else:
        notable = play_round(s, w, k, n, o, chosen, rewards)
        ended = s.played >= w.rounds if w.rounds > 0 else not happens(s, w.goes_on)
    s.t += 1
    late = s.t >= w.max_steps and not ended
    for a in range(n):
        row = np.uint64(o + a)
        terminated[row], truncated[row] = ended, late
    if ended or late:
        for a in range(n):
            s.alive[a] = 0
            s.fate[a] = PLAYED if ended else OUT_OF_TIME
        s.left = 0
        return 1
    return notable


@device
def play_round(s, w, k, n, o, chosen, rewards):
    """Play a round in which `chosen` says who means to cooperate. Returns whether it is notable.

    What is computed stays in registers: to read back what was just written would cost more than
    all the rest.
    """
    if w.noise > 0:
        for a in range(n):
            if happens(s, w.noise):
                chosen ^= _1 << np.uint64(a)
    together = _0
    for a in range(n):
        together += (chosen >> np.uint64(a)) & _1
    notable, total = 0, 0.0
    outcome = np.int64(together == np.uint64(n)) << 2 | np.int64(together == _0) << 3
    for a in range(n):
        cooperates = (chosen >> np.uint64(a)) & _1
        case = (np.uint64(2 * a + 1) - cooperates) * np.uint64(k.capacity) + together - cooperates
        reward = w.payoff[case]
        total += reward
        rewards[np.uint64(o + a)] = reward
        s.score[a] += w.units[case]
        s.past[a] = (s.past[a] << _1) | cooperates
        s.cooperated[a] += np.int64(cooperates)
        mark = outcome | np.int64(_2 - cooperates)  # bit 0: it cooperated, bit 1: it did not
        notable |= mark & ~np.int64(s.marks[a])
        s.marks[a] |= mark
    if w.shared:
        for a in range(n):
            rewards[np.uint64(o + a)] = total / n
    s.played += 1
    s.talk = w.talk
    return notable


# -- what agents see ----------------------------------------------------------------------


@device
def sizes(w, k):
    """Return the length of a vector, of history and mask; constants if known."""
    if k.fixed:
        return k.length, k.shown, k.actions
    return np.int64(w.length), np.int64(w.shown), np.int64(w.num_actions)


@device
def copy_pairs(source, start, count, obs, p):
    """Copy an even count of numbers, two at a time."""
    for i in range(0, count, 2):
        store64(obs, p + np.uint64(i), load64(source, start + i))


@device
def sight(s, w, k, n, a, all_cooperations, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``; `p` is uint64."""
    _, shown, _ = sizes(w, k)
    copy_pairs(w.heads, a * HEAD, HEAD, obs, p)
    q = p + np.uint64(HEAD)
    obs[q] = s.played
    obs[q + _1] = s.talk
    obs[q + _2] = np.float32(np.float64(s.score[a]) / UNIT)
    obs[q + _3] = s.cooperated[a]
    obs[q + _4] = all_cooperations - s.cooperated[a]
    q += np.uint64(NOW)
    if k.pair:
        look_back(s, w, a, shown, obs, q)
    else:
        look_around(s, w, n, a, obs, q)
    q += np.uint64(2 * shown)
    paid = 8 if k.pair else 2 * np.int64(w.slots) + 4
    copy_pairs(w.payoffs, a * paid, paid, obs, q)
    q += np.uint64(paid)
    if not k.fixed:
        q = recall(s, w, a, obs, q)
    if load64(s.hint, a * HINT_CODE) == _0:
        for i in range(0, HINT_CODE, 2):
            store64(obs, q + np.uint64(i), _0)
    else:
        hinted(s, a, obs, q)


@device
def look_back(s, w, a, shown, obs, q):
    """Write the last rounds of two, newest first: whether one and the other cooperated, or -1, -1.

    Each round is one word, made of the bits of two numbers.
    """
    known = min(np.int64(s.played), np.int64(w.memory))
    mine, others = s.past[a], s.past[1 - a]
    for m in range(shown):
        bit = np.uint64(m)
        word = ((mine >> bit) & _1) * BITS_OF_1 | ((others >> bit) & _1) * (BITS_OF_1 << _32)
        store64(obs, q + np.uint64(2 * m), word if m < known else BITS_OF_NONE)


@helper
def look_around(s, w, n, a, obs, q):
    """Write the last rounds of many: whether one cooperated, how many others did, or -1, -1."""
    known = min(np.int64(s.played), np.int64(w.memory))
    for m in range(np.int64(w.shown)):
        bit, together = np.uint64(m), _0
        for b in range(n):
            together += (s.past[b] >> bit) & _1
        mine = (s.past[a] >> bit) & _1
        obs[q + _2 * bit] = np.int64(mine) if m < known else -1
        obs[q + _2 * bit + _1] = np.int64(together - mine) if m < known else -1


@helper
def hinted(s, a, obs, q):
    """Write the code of a hint."""
    for i in range(HINT_CODE):
        obs[q + np.uint64(i)] = s.hint[a * HINT_CODE + i]


@helper
def recall(s, w, a, obs, q):
    """Write what envelopes can have besides: who has cooperated how often, and who said what."""
    slots = np.uint64(w.slots)
    if w.known:
        for b in range(slots):
            told = w.reputation and b != a and b < w.agents
            obs[q + b] = s.cooperated[b] if told else -1
        q += slots
    if w.channel:
        for b in range(slots):
            obs[q + b] = s.said[b] if b != a and b < w.agents else 0
        q += slots
    return q


@device
def legal(w, k, masks, m):
    """Write the mask of an agent in play: all but symbols that this config does not have."""
    if k.fixed:
        poke(masks, m, 1)
        poke(masks, m + 1, 1)
    else:
        for i in range(w.num_actions):
            poke(masks, m + i, (i >> 1) <= w.symbols)


@helper
def absent(w, obs, masks, p, m):
    """Write what an agent gets that is not in play: zeros, and a mask for defecting in silence."""
    for i in range(w.length):
        obs[p + i] = 0.0
    for i in range(w.num_actions):
        masks[m + i] = i == DEFECT


@device
def observe(s, w, k, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`."""
    n = players(w, k)
    length, _, actions = sizes(w, k)
    total = 0
    for a in range(n):
        total += s.cooperated[a]
    for a in range(n if k.pair else np.int64(w.slots)):
        p, m = (o + a) * length, (o + a) * actions
        if events[o + a] != NONE:
            sight(s, w, k, n, a, total, obs, np.uint64(p))
            legal(w, k, masks, m)
        else:
            absent(w, obs, masks, p, m)


@helper
def greet(s, w, k, o, events, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    for a in range(w.slots):
        p, m = (o + a) * w.length, (o + a) * w.num_actions
        if a < w.agents:
            sight(s, w, k, players(w, k), a, 0, obs, np.uint64(p))
            legal(w, k, masks, m)
        else:
            absent(w, obs, masks, p, m)


@helper
def rebuild(s, w, k):
    """Count who is in play; all else is in the state."""
    s.left = 0
    for a in range(w.agents):
        s.left += np.int64(s.alive[a])


KERNELS = compile_kernels(
    Rules(begin=begin, tick=tick, observe=observe, greet=greet, rebuild=rebuild, present=CHOSE),
    __file__,
)
