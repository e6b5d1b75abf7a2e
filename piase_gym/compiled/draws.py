"""The compiled twins of `piase_gym.core.rng`: seeds, streams and draws.

Draws use the fields `keys` and `counters` of a record, which have one entry per stream.
"""

# Kernels are typed by numba, not by annotations.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from piase_gym.compiled.decorators import hot, inline
from piase_gym.core.rng import GOLDEN as _GOLDEN

GOLDEN = np.uint64(_GOLDEN)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
_1, _11, _27, _30, _31, _32 = (np.uint64(n) for n in (1, 11, 27, 30, 31, 32))


@hot
def mix64(value):
    """Compiled twin of `piase_gym.core.rng.mix64`."""
    value = (value ^ (value >> _30)) * MIX_1
    value = (value ^ (value >> _27)) * MIX_2
    return value ^ (value >> _31)


@inline
def stream_key(seed, stream):
    """Compiled twin of `piase_gym.core.rng.stream_key`; both arguments are uint64."""
    return mix64(mix64(seed + GOLDEN) + (stream + _1) * GOLDEN)


@inline
def episode_seed(seed, episode):
    """Compiled twin of `piase_gym.core.rng.episode_seed`; both arguments are uint64."""
    if episode == np.uint64(0):
        return seed
    return mix64(mix64(seed) + episode * GOLDEN) >> _1


@hot
def bits(s, stream):
    """Draw 64 bits."""
    s.counters[stream] += _1
    return mix64(s.keys[stream] + s.counters[stream] * GOLDEN)


@inline
def integer(s, stream, stop):
    """Draw an integer in ``0..stop-1``, as `Stream.integer` does."""
    return np.int64(((bits(s, stream) >> _32) * np.uint64(stop)) >> _32)


@inline
def uniform(s, stream):
    """Draw a float in ``[0, 1)``, as `Stream.uniform` does."""
    return np.float64(bits(s, stream) >> _11) * (1.0 / 9007199254740992.0)


@inline
def happens(s, stream, chance):
    """Draw whether something happens, with a chance of ``chance / 2**32``."""
    return (bits(s, stream) >> _32) < np.uint64(chance)


def in_32_bits(probability: float) -> int:
    """Return a probability as the 32-bit number that `happens` takes."""
    return min(round(probability * 2**32), 2**32 - 1)
