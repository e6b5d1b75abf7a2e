"""The compiled writer of vectors and masks; `object_search.facts` says what they mean."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import helper, hot, inline, kernel, load64, store, store64
from piase_gym.compiled.stepping import Rules, compile_kernels
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.object_search.codes import ACTIONS, DONE, ENTER, STAYING
from piase_gym.worlds.object_search.geometry import AREA
from piase_gym.worlds.object_search.levels.build import begin, rebuild
from piase_gym.worlds.object_search.rules.look import look, sees
from piase_gym.worlds.object_search.rules.step import come, judge, tick
from piase_gym.worlds.object_search.state import OTHER, POSE, ROOM, SCALARS

U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@hot
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    if w.house:
        for i in range(0, AREA, 8):  # what runs beyond the window is written over
            store64(obs, p + i, load64(s.look, ROOM * a + i))
        p += AREA
    word = np.uint64(a) | np.uint64(w.width) << U8 | np.uint64(w.height) << U16
    word |= np.uint64(s.x[a]) << U24 | np.uint64(s.y[a]) << U32 | np.uint64(s.z[a]) << U40
    word |= np.uint64(s.heading[a]) << U48 | np.uint64(s.pitch[a]) << U56
    more = np.uint64(s.roll[a]) | np.uint64(w.objects) << U8
    more |= np.uint64(s.t) << U16 | np.uint64(w.max_steps) << U32
    store64(obs, p, word)
    store64(obs, p + 8, more)  # its end is written over
    store64(obs, p + 14, load64(s.hint, HINT_CODE * a))
    q = objects(s, w, a, obs, p + SCALARS)
    if w.shown:
        found = np.int64(s.found) if w.tells else 0
        store(obs, q, found & 255)
        store(obs, q + 1, found >> 8)
        q += 2
    if w.house:
        q = others(s, w, a, obs, q)
    if w.channel:
        heard(s, w, a, obs, q)


@inline
def objects(s, w, a, obs, q):
    """Write where agent `a` sees each object: 1 + x, and y; zeros for those it does not see."""
    seen = np.int64(s.seen[a])
    for thing in range(w.kinds):
        x, y = 0, 0
        if seen >> thing & 1:
            cell = np.int64(s.place[thing]) if w.house else 0
            x, y = cell % w.side + 1, cell // w.side
        store(obs, q + 2 * thing, x)
        store(obs, q + 2 * thing + 1, y)
    return q + 2 * w.kinds


@helper
def others(s, w, a, obs, q):
    """Write where agent `a` sees each of the others, and zeros for those that it does not see."""
    for b in range(w.slots):
        shown = b != a and b < w.agents and s.alive[b] and sees(s, w, a, b)
        store(obs, q, s.x[b] + 1 if shown else 0)
        store(obs, q + 1, s.y[b] if shown else 0)
        store(obs, q + 2, s.z[b] if shown else 0)
        store(obs, q + 3, s.heading[b] if shown else 0)
        q += OTHER
    return q


@helper
def heard(s, w, a, obs, q):
    """Write what the others have reported."""
    length = POSE + AREA * np.int64(w.house)
    for b in range(w.slots):
        told = b != a and b < w.agents and s.told[ROOM * b]
        for i in range(length):
            store(obs, q + i, s.told[ROOM * b + i] if told else 0)
        q += length


@hot
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(w.num_actions):
        store(masks, m + i, i < ACTIONS or w.talks)


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
    """End a step of a batch of one whose agents see in pictures; see `judge`."""
    x = one[0]
    flags = x.terminated[:], x.truncated[:]
    return judge(x.state, x.table, np.int64(0), x.rewards[:], *flags, x.events[:])
