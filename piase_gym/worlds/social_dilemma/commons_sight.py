"""What agents of a commons see: the compiled writer of vectors and masks; see `commons_views`."""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

import numpy as np

from piase_gym.core.text_encoding import HINT_CODE
from piase_gym.kernels import device, helper, load64, poke, store64
from piase_gym.worlds.cell_codes import AGENT, UNSEEN
from piase_gym.worlds.painted_map import shorten, window, window_7
from piase_gym.worlds.social_dilemma.commons_codes import (
    MOVES,
    NO_HEADING,
    NOWHERE,
    STAY,
    STAYING,
)
from piase_gym.worlds.social_dilemma.commons_levels import begin, rebuild
from piase_gym.worlds.social_dilemma.commons_rules import legal_act, tick
from piase_gym.worlds.social_dilemma.commons_state import SCALARS, TOLD
from piase_gym.worlds.stepping import NONE, Rules, compile_kernels

U8, U16, U24, U32, U40, U48, U56 = (np.uint64(8 * i) for i in range(1, 8))


@device
def frame(s, w, k, a, side, obs, p):
    """Copy the window of agent `a`, turned to its heading, to ``obs[p:]``."""
    if s.out[a] > 0:
        for i in range(side * side):
            poke(obs, p + i, UNSEEN)
        return
    if k.frame:
        window_7(s, w, k, a, obs, p, UNSEEN)
    else:
        window(s, w, k, a, side, obs, p)
    if not k.frame and w.window < w.frame_w:
        shorten(w, obs, p)
    poke(obs, p + (side - 1) * side + side // 2, AGENT + 4 * a)


@device
def sight(s, w, k, a, obs, p):
    """Write the vector of agent `a` to ``obs[p:p + w.length]``."""
    side = k.frame if k.frame else np.int64(w.frame_w)
    away = s.out[a] > 0
    q = p + side * side
    x = np.uint64(NOWHERE if away else np.int64(s.x[a]))
    y = np.uint64(NOWHERE if away else np.int64(s.y[a]))
    heading = np.uint64(NO_HEADING if away else np.int64(s.heading[a]))
    word = np.uint64(a) | np.uint64(w.cleanup) << U8
    word |= np.uint64(w.width) << U16 | np.uint64(w.height) << U24
    word |= x << U32 | y << U40 | heading << U48 | np.uint64(s.out[a]) << U56
    counts = np.uint64(s.t) | np.uint64(w.rounds) << U16
    counts |= np.uint64(s.eaten[a]) << U32 | np.uint64(s.cleaned[a]) << U48
    more = np.uint64(s.zaps[a]) | np.uint64(s.zapped[a]) << U16
    frame(s, w, k, a, side, obs, p)
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
    if w.channel:
        for b in range(w.slots):
            poke(obs, q + b, s.said[b] if b != a and b < w.agents else 0)


@device
def two_bytes(obs, q, value):
    """Write a number, its low byte first."""
    poke(obs, q, np.int64(value) & 255)
    poke(obs, q + 1, np.int64(value) >> 8)


@device
def legal(s, w, a, masks, m):
    """Write the mask of agent `a` to ``masks[m:m + w.num_actions]``."""
    for i in range(w.actions):
        may = legal_act(s, w, a, i)
        for symbol in range(np.int64(w.num_actions) // w.actions):
            poke(masks, m + symbol * w.actions + i, may and symbol <= w.symbols)


@helper
def absent(w, obs, masks, p, m):
    """Write what an agent gets that is not in play: zeros, and a mask for staying."""
    for i in range(w.length):
        obs[p + i] = 0
    for i in range(w.num_actions):
        masks[m + i] = i == STAYING


@device
def observe(s, w, k, o, events, obs, masks):
    """Write vectors and masks of all agents of one environment, whose rows start at `o`."""
    for a in range(w.slots):
        p, m = (o + a) * np.int64(w.length), (o + a) * np.int64(w.num_actions)
        if events[o + a] != NONE:
            sight(s, w, k, a, obs, p)
            legal(s, w, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


@helper
def greet(s, w, k, o, events, obs, masks):
    """Write the first observations of an episode; the events stay those of the last step."""
    for a in range(w.slots):
        p, m = (o + a) * np.int64(w.length), (o + a) * np.int64(w.num_actions)
        if a < w.agents:
            sight(s, w, k, a, obs, p)
            legal(s, w, a, masks, m)
        else:
            absent(w, obs, masks, p, m)


KERNELS = compile_kernels(
    Rules(begin=begin, tick=tick, observe=observe, greet=greet, rebuild=rebuild, present=STAY),
    __file__,
)
assert MOVES == STAYING
