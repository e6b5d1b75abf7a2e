"""The compiled writer of vectors and masks; `object_search.facts` says what they mean."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import hot, inline, kernel, load64, store, store64
from piase_gym.compiled.stepping import Rules, compile_kernels
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.object_search.codes import ACTIONS, DONE, ENTER, STAYING
from piase_gym.worlds.object_search.geometry import AREA
from piase_gym.worlds.object_search.levels.build import begin, rebuild
from piase_gym.worlds.object_search.rules.look import hears, look, sees
from piase_gym.worlds.object_search.rules.step import come, judge, tick
from piase_gym.worlds.object_search.state import OTHER, POSE, ROOM

NOTHING = np.uint64(0)
U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@hot
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``.

    Words that run beyond their part are overwritten by the next part; the last word ends exactly.
    """
    if w.house:
        for i in range(0, AREA, 8):
            store64(obs, p + i, load64(s.look, ROOM * a + i))
        p += AREA
    if w.channel:
        p = heard(s, w, a, obs, p)
    if w.house:
        p = others(s, w, a, obs, p)
    p = objects(s, w, a, obs, p)
    if w.shown:
        found = np.int64(s.found) if w.tells else 0
        store(obs, p, found & 255)
        store(obs, p + 1, found >> 8)
        p += 2
    word = np.uint64(a) | np.uint64(w.width) << U8 | np.uint64(w.height) << U16
    word |= np.uint64(s.x[a]) << U24 | np.uint64(s.y[a]) << U32 | np.uint64(s.z[a]) << U40
    word |= np.uint64(s.heading[a]) << U48 | np.uint64(s.pitch[a]) << U56
    more = np.uint64(s.roll[a]) | np.uint64(w.objects) << U8
    more |= np.uint64(s.t) << U16 | np.uint64(w.max_steps) << U32
    store64(obs, p, word)
    store64(obs, p + 8, more)
    store64(obs, p + 14, load64(s.hint, HINT_CODE * a))


@inline
def heard(s, w, a, obs, p):
    """Write what the others have reported."""
    length, full = POSE + AREA * np.int64(w.house), 8 * (1 + 7 * np.int64(w.house))
    for b in range(w.slots):
        told = hears(s, w, a, b)
        for i in range(0, full, 8):
            store64(obs, p + i, load64(s.told, ROOM * b + i) if told else NOTHING)
        p += length
    return p


@inline
def others(s, w, a, obs, p):
    """Write where agent `a` sees each of the others, and zeros for those that it does not see."""
    for b in range(w.slots):
        word = NOTHING
        if b != a and b < w.agents and s.alive[b] and sees(s, w, a, b):
            word = np.uint64(s.x[b] + 1) | np.uint64(s.y[b]) << U8
            word |= np.uint64(s.z[b]) << U16 | np.uint64(s.heading[b]) << U24
        store64(obs, p, word)
        p += OTHER
    return p


@inline
def objects(s, w, a, obs, p):
    """Write where agent `a` sees each object: 1 + x, and y; zeros for those it does not see."""
    seen, end = np.int64(s.seen[a]), p + 2 * np.int64(w.kinds)
    for i in range(p, end, 8):
        store64(obs, i, NOTHING)
    thing = 0
    while seen >> thing:
        if seen >> thing & 1:
            cell = np.int64(s.place[thing]) if w.house else 0
            store(obs, p + 2 * thing, cell % w.side + 1)
            store(obs, p + 2 * thing + 1, cell // w.side)
        thing += 1
    return end


@hot
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(ACTIONS):
        store(masks, m + i, 1)
    for i in range(ACTIONS, w.num_actions):
        store(masks, m + i, w.talks)


KERNELS = compile_kernels(
    Rules(begin, tick, sight, legal, rebuild, present=DONE, noop=STAYING), __name__
)


@kernel
def enter_one(one, a):
    """Let agent `a` of a batch of one enter now. Returns whether there was room for it."""
    x = one[0]
    entered = come(x.state, x.table, a)
    if entered:
        x.events[a] = ENTER
        look(x.state, x.table, a)
    return entered


@kernel
def judge_one(one):
    """End a step of a batch of one in which agents see in pictures; see `judge`."""
    x = one[0]
    flags = x.terminated[:], x.truncated[:]
    return judge(x.state, x.table, np.int64(0), x.rewards[:], *flags, x.events[:])
