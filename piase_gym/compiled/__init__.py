"""Compiled code: the means to write a world's rules in Python that runs at the speed of C.

A world keeps each environment in one record (a row of a structured array) and each config in
another, its table. Rules are Python functions of a record `s` and a table `w`. `helper`, `hot` and
`inline` mark functions that other compiled functions call, `kernel` those that Python calls;
`with_constants` makes such functions once more, without what some configs never use.

Only numba's public API is used: `njit` with its options, and `numba.extending.intrinsic` for loads
and stores of eight bytes at any address and for arrays at an address. Under
``NUMBA_DISABLE_JIT=1`` the same rules run as plain Python; under ``NUMBA_BOUNDSCHECK=1`` every
index is checked.

Constants of unsigned arithmetic are `np.uint64` throughout: numba turns ``uint64 op int64`` into a
float.
"""

from piase_gym.compiled.decorators import JIT, helper, hot, inline, kernel, with_constants
from piase_gym.compiled.draws import (
    bits,
    episode_seed,
    happens,
    integer,
    mix64,
    stream_key,
    uniform,
)
from piase_gym.compiled.memory import load, load64, readable, store, store64

__all__ = [
    "JIT",
    "bits",
    "episode_seed",
    "happens",
    "helper",
    "hot",
    "inline",
    "integer",
    "kernel",
    "load",
    "load64",
    "mix64",
    "readable",
    "store",
    "store64",
    "stream_key",
    "uniform",
    "with_constants",
]
