"""The rules of the matrix games, and what agents see of them. Compiled.

A step is a round, or a step of talk before one. Everybody chooses at once; `noise` turns choices;
the table says what everybody gets. `facts` says in plain Python what the vectors mean.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import (
    happens,
    helper,
    hot,
    inline,
    load64,
    mix64,
    store,
    store64,
    stream_key,
)
from piase_gym.compiled.draws import GOLDEN
from piase_gym.compiled.stepping import ABSENT, NONE, Rules, compile_kernels, share
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import (
    deliver,
    first_symbol,
    may_say,
    open_channel,
    post,
    write_heard,
)
from piase_gym.worlds.social_dilemma.constants import OUT_OF_TIME, PLAYED
from piase_gym.worlds.social_dilemma.games import DEFECT, UNIT
from piase_gym.worlds.social_dilemma.matrix.state import (
    CHOSE,
    COIN,
    DYNAMICS,
    HEAD,
    ILLEGAL,
    NOW,
    UNPARSABLE,
    UNREAD,
)

_0, _1, _2, _32 = (np.uint64(n) for n in (0, 1, 2, 32))

BITS_OF_1 = np.uint64(0x3F800000)
"""The bits of 1.0 as a 32-bit float."""
BITS_OF_NONE = np.uint64(0xBF800000BF800000)
"""The bits of -1.0 twice."""


@helper
def begin(s, w, seed):
    """Start the episode with effective seed `seed` (uint64)."""
    s.seed, s.fault = seed, 0
    s.keys[DYNAMICS] = stream_key(seed, _1)
    s.counters[DYNAMICS] = 0
    s.t, s.played, s.talk = 0, 0, w.talk
    s.agents = w.agents
    for a in range(len(s.past)):
        s.past[a], s.unread[a], s.score[a], s.cooperated[a] = 0, 0, 0, 0
        s.alive[a] = a < w.agents
        s.fate[a], s.marks[a], s.said[a], s.order[a] = 0, 0, 0, a
    for i in range(len(s.hint)):
        s.hint[i] = 0
    if w.mail >= 0:
        open_channel(s.mail, w, seed)


@inline
def tails(s, w):
    """Return (as uint64) whether the coin of the next round shows tails."""
    if w.coin == 0:
        return _0
    key = stream_key(np.uint64(s.seed), np.uint64(COIN))
    return mix64(key + np.uint64(np.int64(s.played) + 1) * GOLDEN) >> np.uint64(63)


@inline
def players(s, w):
    """Return how many play; for records of two it is a constant, and loops over it are unrolled."""
    return 2 if len(s.past) == 2 else np.int64(w.agents)


@inline
def heard(s, w, a, index):
    """Take in the command of an agent; return its event, and 1 if it cooperates, as uint64.

    An agent whose command cannot be read defects in silence; its event is not `CHOSE`.
    """
    event, choice = CHOSE, index & 1
    if index < 0:
        event, choice = CHOSE if index == ABSENT else UNPARSABLE + (ABSENT - 1 - index), DEFECT
    message = index >> 1 if index > 0 else 0
    if not may_say(w, a, message):
        event, message, choice = ILLEGAL, 0, DEFECT
    s.said[a] = first_symbol(w, message)
    if w.mail >= 0:
        post(s.mail, w, a, message, s.t)
    return event, np.uint64(1 - choice)


@hot
def tick(s, w, o, acts, rewards, terminated, truncated, events):
    """Advance one environment by a step; outputs start at row `o`.

    Returns:
        Nonzero if an agent ended or reached a milestone for the first time.
    """
    n = players(s, w)
    chosen, unread = _0, _0  # one bit per agent: whether it cooperates, and could not be read
    gone = False
    for a in range(n):
        row = np.uint64(o + a)
        if s.alive[a]:
            events[row], cooperates = heard(s, w, a, np.int64(acts[row]))
            chosen |= cooperates << np.uint64(a)
            unread |= np.uint64(events[row] != CHOSE) << np.uint64(a)
        else:
            events[row], s.said[a], gone = NONE, 0, True
    ended, notable = False, 0
    if s.talk > 0:
        s.talk -= 1
        for a in range(n):
            rewards[np.uint64(o + a)] = 0.0
    else:
        notable = play_round(s, w, n, o, chosen, unread, rewards)
        ended = s.played >= w.rounds if w.rounds > 0 else not happens(s, DYNAMICS, w.goes_on)
    if w.say_cost > 0.0:
        charge(s, w, n, o, rewards)
    if w.shared:
        share(w, o, rewards, events)
    if w.mail >= 0:
        deliver(s.mail, w, s.t, o, events, s.said, s.said)
    s.t += 1
    late = s.t >= w.max_steps and not ended
    for a in range(n):
        row = np.uint64(o + a)
        terminated[row], truncated[row] = ended, late
    if gone:
        leave_out(s, n, o, rewards, terminated, truncated)
    if ended or late:
        for a in range(n):
            if s.alive[a]:
                s.fate[a] = PLAYED if ended else OUT_OF_TIME
            s.alive[a] = 0
        return 1
    return notable


@helper
def leave_out(s, n, o, rewards, terminated, truncated):
    """Give nothing to agents that a script has ended; their seats go on and defect in silence."""
    for a in range(n):
        if s.alive[a] == 0:
            rewards[o + a], terminated[o + a], truncated[o + a] = 0.0, False, False


@helper
def charge(s, w, n, o, rewards):
    """Charge agents for what they have said."""
    for a in range(n):
        if s.said[a] > 0:
            rewards[o + a] -= w.say_cost


@hot
def play_round(s, w, n, o, chosen, unread, rewards):
    """Play a round; `chosen` marks who means to cooperate. Return nonzero if it is notable.

    Computed values stay in registers: reading back what was just written would cost more than
    all the rest.
    """
    if w.noise > 0:
        for a in range(n):
            if happens(s, DYNAMICS, w.noise):
                chosen ^= _1 << np.uint64(a)
    together = _0
    for a in range(n):
        together += (chosen >> np.uint64(a)) & _1
    notable, turned = 0, tails(s, w)
    counted = np.uint64(n) - together if turned else together  # what the table takes them for
    outcome = np.int64(together == np.uint64(n)) << 2 | np.int64(together == _0) << 3
    for a in range(n):
        cooperates = (chosen >> np.uint64(a)) & _1
        own = cooperates ^ turned
        case = (np.uint64(2 * a + 1) - own) * np.uint64(len(s.past)) + counted - own
        reward = w.payoff[case]
        rewards[np.uint64(o + a)] = reward
        s.score[a] += w.units[case]
        s.past[a] = (s.past[a] << _1) | cooperates
        s.unread[a] = (s.unread[a] << _1) | ((unread >> np.uint64(a)) & _1)
        s.cooperated[a] += np.int64(cooperates)
        mark = outcome | np.int64(_2 - cooperates)  # bit 0: it cooperated, bit 1: it did not
        notable |= mark & ~np.int64(s.marks[a])
        s.marks[a] |= mark
    s.played += 1
    s.talk = w.talk
    return notable


# -- what agents see ----------------------------------------------------------------------


@hot
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    n, shown = players(s, w), np.int64(w.shown)
    paid = 8 if len(s.past) == 2 else 2 * np.int64(w.slots) + 4
    others = -np.int64(s.cooperated[a])
    for b in range(n):
        others += s.cooperated[b]
    copy_pairs(w.heads, a * HEAD, HEAD, obs, p)
    q = p + HEAD
    store(obs, q, s.played)
    store(obs, q + 1, s.talk)
    store(obs, q + 2, np.float64(s.score[a]) / UNIT)
    store(obs, q + 3, s.cooperated[a])
    store(obs, q + 4, others)
    q += NOW
    if n == 2 and s.unread[0] | s.unread[1] == _0:
        look_back(s, w, a, shown, obs, q)
    else:
        look_around(s, w, a, shown, obs, q)
    q += 2 * shown
    copy_pairs(w.payoffs, a * paid, paid, obs, q)
    q += paid
    if w.known:
        for b in range(w.slots):
            told = w.reputation and b != a and b < n
            store(obs, q + b, s.cooperated[b] if told else -1)
        q += w.slots
    if w.mail >= 0:
        q = write_heard(s.mail, w, a, obs, q)
    elif w.channel:
        for b in range(w.slots):
            store(obs, q + b, s.said[b] if b != a and b < n else 0)
        q += w.slots
    if w.shows_coin:
        store(obs, q, 1 + np.int64(tails(s, w)) if w.coin and a == 0 and s.alive[a] else 0)
        q += 1
    if load64(s.hint, a * HINT_CODE) == _0:  # there is hardly ever a hint
        for i in range(HINT_CODE // 2):
            store64(obs, q + 2 * i, _0)
    else:
        for i in range(HINT_CODE):
            store(obs, q + i, s.hint[a * HINT_CODE + i])


@inline
def copy_pairs(source, start, count, obs, p):
    """Copy an even count of numbers, two at a time."""
    for i in range(count // 2):
        store64(obs, p + 2 * i, load64(source, start + 2 * i))


@inline
def look_back(s, w, a, shown, obs, q):
    """Write the last rounds of two, newest first: whether one and the other cooperated, or -1, -1.

    It is for two agents whose choices could all be read, which is nearly always so. Each round is
    one word, made of the bits of two numbers.
    """
    known = min(np.int64(s.played), np.int64(w.memory))
    mine, others = s.past[a], s.past[1 - a]
    for m in range(shown):
        bit = np.uint64(m)
        word = ((mine >> bit) & _1) * BITS_OF_1 | ((others >> bit) & _1) * (BITS_OF_1 << _32)
        store64(obs, q + 2 * m, word if m < known else BITS_OF_NONE)


@helper
def look_around(s, w, a, shown, obs, q):
    """Write the last rounds: whether one cooperated, how many others did, or -1, -1.

    `UNREAD` is added to each number for every choice in it that could not be read.
    """
    known = min(np.int64(s.played), np.int64(w.memory))
    for m in range(shown):
        bit, together, lost = np.uint64(m), _0, _0
        for b in range(w.agents):
            together += (s.past[b] >> bit) & _1
            lost += (s.unread[b] >> bit) & _1
        mine, mine_lost = (s.past[a] >> bit) & _1, (s.unread[a] >> bit) & _1
        others, others_lost = np.int64(together - mine), np.int64(lost - mine_lost)
        store(obs, q + 2 * m, np.int64(mine) + UNREAD * np.int64(mine_lost) if m < known else -1.0)
        store(obs, q + 2 * m + 1, others + UNREAD * others_lost if m < known else -1.0)


@hot
def legal(s, w, a, masks, m):
    """Write the mask of an agent in play: all but messages that this config does not have."""
    for i in range(w.num_actions):
        store(masks, m + i, may_say(w, a, i >> 1))


@inline
def rebuild(s, w):
    """Do nothing: nothing is derived from the state."""


KERNELS = compile_kernels(
    Rules(begin, tick, sight, legal, rebuild, present=CHOSE, noop=DEFECT, number=np.float32),
    __name__,
)
