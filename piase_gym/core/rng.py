"""Counter-based random streams: the same numbers in Python, in kernels and on every platform.

A draw is ``mix64(key + counter * GOLDEN)``, the finaliser of SplitMix64 (Steele, Lea and Flood,
2014, "Fast splittable pseudorandom number generators") on a counter. A stream is keyed by the
effective seed of the episode and the stream's number, so streams never disturb each other, the
whole random state is two integers, and nothing depends on the size of a batch. Integers, floats
and shuffles use integer arithmetic only; `piase_gym.compiled` holds the compiled twins.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import MutableSequence, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.errors import ConfigError, whole_number

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
MAX_SEED = (1 << 63) - 1


class StreamId(IntEnum):
    """The named streams of a world; partner i draws from ``PARTNER + i``."""

    LAYOUT = 0
    DYNAMICS = 1
    CHANNEL = 2
    PARTNER = 16


def mix64(value: int) -> int:
    """Scramble 64 bits (a bijection)."""
    value &= MASK
    value = ((value ^ (value >> 30)) * _MIX_1) & MASK
    value = ((value ^ (value >> 27)) * _MIX_2) & MASK
    return value ^ (value >> 31)


def stream_key(seed: int, stream: int) -> int:
    """Return the key of one stream of the episode with effective seed `seed`."""
    return mix64(mix64(seed + GOLDEN) + (stream + 1) * GOLDEN)


def partner_seed(seed: int, number: int) -> int:
    """Return the reset seed of partner `number` in the episode with effective seed `seed`."""
    return stream_key(seed, StreamId.PARTNER + number)


def mix64_array(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply `mix64` to each entry of an array."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_MIX_1)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_MIX_2)
    return values ^ (values >> np.uint64(31))


def stream_keys(seeds: NDArray[np.uint64], stream: int) -> NDArray[np.uint64]:
    """Return the key of one stream for each of many effective seeds, as `stream_key` does."""
    step = np.uint64((stream + 1) * GOLDEN & MASK)
    with np.errstate(over="ignore"):  # wrapping is meant; NumPy warns about it for scalars
        return mix64_array(mix64_array(seeds.astype(np.uint64) + np.uint64(GOLDEN)) + step)


def partner_seeds(seeds: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    """Return the seed of one partner for each of many effective seeds, as `partner_seed` does."""
    return stream_keys(seeds, StreamId.PARTNER + number)


def episode_seed(seed: int, episode: int) -> int:
    """Return the effective seed of an episode: `seed` itself for episode 0, else a mix.

    Args:
        seed: What ``reset(seed=...)`` was given, in ``0..2**63-1``.
        episode: How many resets without a seed followed it.

    Returns:
        A non-negative integer below ``2**63``.
    """
    if episode == 0:
        return seed
    block, place = divmod(episode & MASK, _BLOCK)
    return _episode_seeds(seed, block)[place]


_BLOCK = 64


@functools.lru_cache(maxsize=1024)
def _episode_seeds(seed: int, block: int) -> list[int]:
    """Return the seeds of a block of episodes, which together cost little more than one."""
    episodes: NDArray[np.uint64] = np.arange(_BLOCK, dtype=np.uint64)
    episodes += np.uint64(block * _BLOCK)
    mixed = mix64_array(np.uint64(mix64(seed)) + episodes * np.uint64(GOLDEN))
    seeds: list[int] = (mixed >> np.uint64(1)).tolist()
    return seeds


def fresh_seed() -> int:
    """Draw a seed from the operating system, for an environment that was never seeded."""
    return secrets.randbits(63)


class Stream:
    """One random stream. Its whole state is (`key`, `counter`).

    Example:
        >>> a, b = Stream(7, 0), Stream(7, 0)
        >>> [a.integer(6) for _ in range(5)] == [b.integer(6) for _ in range(5)]
        True
    """

    __slots__ = ("counter", "key")

    def __init__(self, seed: int, stream: int = 0, counter: int = 0) -> None:
        """Open stream number `stream` of the episode with effective seed `seed`."""
        self.key = stream_key(seed, stream)
        self.counter = counter

    def bits(self) -> int:
        """Draw 64 random bits."""
        self.counter += 1
        return mix64(self.key + self.counter * GOLDEN)

    def integer(self, stop: int) -> int:
        """Draw an integer in ``0..stop-1``, `stop` at most ``2**31`` (bias: below ``2**-31``)."""
        return ((self.bits() >> 32) * stop) >> 32

    def uniform(self) -> float:
        """Draw a float in ``[0, 1)`` with 53 random bits."""
        return (self.bits() >> 11) * (1.0 / (1 << 53))

    def normal(self) -> float:
        """Draw a nearly normal float: the sum of twelve uniforms minus six.

        Mean 0, variance 1, tails end at 6. Unlike functions of logarithms and cosines, it is
        exact on every platform.
        """
        return sum_in_order(self.uniform() for _ in range(12)) - 6.0

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle `items` in place (Fisher and Yates, from the end)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.integer(last + 1)
            items[last], items[other] = items[other], items[last]

    def get_state(self) -> list[int]:
        """Return ``[key, counter]``."""
        return [self.key, self.counter]

    def set_state(self, state: list[int]) -> None:
        """Restore the state that `get_state` returned."""
        if len(state) != 2 or not all(type(n) is int and 0 <= n < 2**64 for n in state):
            raise ValueError(f"{state!r:.60} is no state of a random stream")
        self.key, self.counter = state


def check_seed(seed: Any) -> int:
    """Return a seed as an int.

    Raises:
        ConfigError: If it is not an integer in ``0..2**63-1``.
    """
    value = whole_number(seed)
    if value is None or not 0 <= value <= MAX_SEED:
        raise ConfigError(f"seed {seed!r} is not allowed; seeds are integers from 0 to {MAX_SEED}")
    return value


def spread_seeds(seed: Any, num_envs: int) -> Sequence[int | None]:
    """Return one seed, or ``None``, for every environment of a batch.

    Args:
        seed: ``None``, an integer (environment i gets ``seed + i``), or one entry for each.
        num_envs: The number of environments.

    Raises:
        ConfigError: If a seed is not allowed, or there are too few or too many.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, list | tuple | np.ndarray) and getattr(seed, "ndim", 1) > 0:
        if len(seed) != num_envs:
            raise ConfigError(f"{len(seed)} seeds for {num_envs} environments")
        return [None if item is None else check_seed(item) for item in seed]
    first = check_seed(seed)
    check_seed(first + num_envs - 1)
    return [first + slot for slot in range(num_envs)]
