"""What agents of a commons see: the compiled writer of vectors and masks; see `facts`."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled import hot, inline, load64, store, store64
from piase_gym.compiled.stepping import Rules, compile_kernels
from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.worlds.channel.kernels import may_say, write_heard
from piase_gym.worlds.grids.codes import AGENT, UNSEEN
from piase_gym.worlds.grids.windows import blank_rim, window
from piase_gym.worlds.social_dilemma.commons.codes import MOVES, NO_HEADING, NOWHERE, STAY, STAYING
from piase_gym.worlds.social_dilemma.commons.levels import begin, rebuild
from piase_gym.worlds.social_dilemma.commons.rules import legal_act, tick
from piase_gym.worlds.social_dilemma.commons.state import SCALARS, TOLD

U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@inline
def frame(s, w, a, obs, p):
    """Write the window of agent `a`, turned to its heading, to ``obs[p:]``."""
    n = np.int64(w.frame_w)
    if s.out[a] > 0:
        for i in range(n * n):
            store(obs, p + i, UNSEEN)
    else:
        window(s, w, a, n, obs, p)
        if w.window < n:
            blank_rim(w, n, obs, p)
        store(obs, p + (n - 1) * n + n // 2, AGENT + 4 * a)


@hot
def sight(s, w, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    away = s.out[a] > 0
    q = p + np.int64(w.frame_w) * w.frame_w
    x = np.uint64(NOWHERE if away else np.int64(s.x[a]))
    y = np.uint64(NOWHERE if away else np.int64(s.y[a]))
    heading = np.uint64(NO_HEADING if away else np.int64(s.heading[a]))
    word = np.uint64(a) | np.uint64(w.cleanup) << U8
    word |= np.uint64(w.width) << U16 | np.uint64(w.height) << U24
    word |= x << U32 | y << U40 | heading << U48 | np.uint64(s.out[a]) << U56
    counts = np.uint64(s.t) | np.uint64(w.rounds) << U16
    counts |= np.uint64(s.eaten[a]) << U32 | np.uint64(s.cleaned[a]) << U48
    more = np.uint64(s.zaps[a]) | np.uint64(s.zapped[a]) << U16
    frame(s, w, a, obs, p)
    store64(obs, q, word)
    store64(obs, q + 8, counts)
    store64(obs, q + 16, more)  # the rest is written over
    store64(obs, q + 20, load64(s.hint, HINT_CODE * a))
    q += SCALARS
    if w.known:
        for b in range(w.slots):
            told = w.reputation and b != a and b < w.agents
            two_bytes(obs, q + TOLD * b, s.eaten[b] if told else 0)
            two_bytes(obs, q + TOLD * b + 2, s.cleaned[b] if told else 0)
            two_bytes(obs, q + TOLD * b + 4, s.zaps[b] if told else 0)
        q += TOLD * w.slots
    if w.mail >= 0:
        write_heard(s.mail, w, a, obs, q)
    elif w.channel:
        for b in range(w.slots):
            store(obs, q + b, s.said[b] if b != a and b < w.agents else 0)


@inline
def two_bytes(obs, q, value):
    """Write a number, its low byte first."""
    store(obs, q, np.int64(value) & 255)
    store(obs, q + 1, np.int64(value) >> 8)


@hot
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(w.actions):
        may = legal_act(s, w, a, i)
        for message in range(np.int64(w.num_actions) // w.actions):
            store(masks, m + message * w.actions + i, may and may_say(w, a, message))


KERNELS = compile_kernels(
    Rules(begin, tick, sight, legal, rebuild, present=STAY, noop=STAYING), __name__
)
assert MOVES == STAYING
