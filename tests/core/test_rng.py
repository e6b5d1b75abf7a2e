"""Random streams against SplitMix64 as published, and the compiled twins against Python's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piase_gym.compiled import bits, integer, kernel, readable, uniform
from piase_gym.compiled import stream_key as compiled_key
from piase_gym.compiled.memory import record
from piase_gym.core.rng import (
    GOLDEN,
    MAX_SEED,
    Stream,
    StreamId,
    episode_seed,
    fresh_seed,
    mix64,
    mix64_array,
    spread_seeds,
    stream_key,
    stream_keys,
)
from piase_gym.errors import ConfigError

WORD = 2**64
SEEDS = st.integers(0, MAX_SEED)
BIG_SEEDS = (0, 1, 12345, 2**32, MAX_SEED)


def splitmix64(state: int) -> Iterator[int]:
    """Yield the numbers of SplitMix64, written from the published algorithm."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % WORD
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
        yield z ^ (z >> 31)


# The first numbers that implementations in other languages give for these seeds.
PUBLISHED = {
    0: (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC),
    1234567: (
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
    ),
}

# The first three draws of Stream(seed, stream), computed once with `splitmix64` above.
GOLDEN_DRAWS = {
    (0, 0): (0x238275BC38FCBE91, 0xF89A2566B5822C54, 0x47200E1D9780FA44),
    (0, 1): (0x2F101FE21496EA20, 0xA00624088F65D5B6, 0x74963FA799894AB9),
    (1, 0): (0xB18A02F46D8D86C3, 0xF8C5B62C83F707E8, 0x6D339D1740130EDD),
    (42, 16): (0x20345C8F0DC02F13, 0x6C3A52433FFEF487, 0x9B24477C02F5A3D6),
    (MAX_SEED, 2): (0x12D6802A1CFD980D, 0xEC39DA6F59A72FDB, 0x2258014BF95EDA3B),
}


@pytest.mark.parametrize("seed", PUBLISHED)
def test_mix64_is_the_finaliser_of_splitmix64(seed: int) -> None:
    expected = PUBLISHED[seed]
    assert tuple(islice(splitmix64(seed), 4)) == expected
    assert tuple(mix64(seed + (n + 1) * GOLDEN) for n in range(4)) == expected


@pytest.mark.parametrize(("seed", "stream"), GOLDEN_DRAWS)
def test_golden_draws(seed: int, stream: int) -> None:
    drawn = Stream(seed, stream)
    assert tuple(drawn.bits() for _ in range(3)) == GOLDEN_DRAWS[seed, stream]


@given(SEEDS, st.integers(0, 2**32))
def test_a_stream_is_splitmix64_started_at_its_key(seed: int, number: int) -> None:
    # The key is what SplitMix64 draws at distance `number` from the scrambled seed.
    first = next(splitmix64(seed))
    key = next(splitmix64((first + number * GOLDEN) % WORD))
    assert stream_key(seed, number) == key
    stream = Stream(seed, number)
    assert [stream.bits() for _ in range(5)] == list(islice(splitmix64(key), 5))


@given(SEEDS, st.integers(1, 2**31))
def test_integers_and_floats_follow_from_the_bits(seed: int, stop: int) -> None:
    stream, bits = Stream(seed), Stream(seed)
    assert stream.integer(stop) == (bits.bits() >> 32) * stop // 2**32
    assert stream.uniform() == math.ldexp(bits.bits() >> 11, -53)


@given(SEEDS, st.integers(1, 2**31))
def test_draws_stay_in_their_bounds(seed: int, stop: int) -> None:
    stream = Stream(seed)
    assert 0 <= stream.integer(stop) < stop
    assert 0.0 <= stream.uniform() < 1.0
    assert stream.counter == 2


def test_the_largest_draws_stay_in_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "bits", lambda self: WORD - 1)
    assert Stream(0).integer(2**31) == 2**31 - 1
    assert Stream(0).integer(1) == 0
    assert Stream(0).uniform() < 1.0


@given(st.lists(SEEDS, max_size=20), st.integers(0, 2**32))
def test_keys_of_many_seeds_are_the_keys_of_each(seeds: list[int], number: int) -> None:
    keys = stream_keys(np.array(seeds, np.uint64), number)
    assert keys.dtype == np.uint64
    assert keys.tolist() == [stream_key(seed, number) for seed in seeds]


@given(st.lists(st.integers(0, WORD - 1), min_size=1, max_size=20))
def test_mix64_of_arrays_is_mix64(values: list[int]) -> None:
    assert mix64_array(np.array(values, np.uint64)).tolist() == [mix64(v) for v in values]


# -- the compiled twins -------------------------------------------------------------------


@kernel
def draw_compiled(records, seed, stream, stop, raw, whole, unit):  # type: ignore[no-untyped-def]
    """Fill three arrays with draws of each kind from one stream."""
    s = records[0]
    s.keys[stream] = compiled_key(seed, np.uint64(stream))
    for i in range(raw.shape[0]):
        raw[i] = bits(s, stream)
        whole[i] = integer(s, stream, stop)
        unit[i] = uniform(s, stream)


@pytest.mark.parametrize("stop", [1, 2, 6, 1000, 2**31 - 1, 2**31])
@pytest.mark.parametrize("seed", BIG_SEEDS)
@pytest.mark.parametrize("stream", [StreamId.LAYOUT, StreamId.CHANNEL, StreamId.PARTNER + 3])
def test_compiled_draws_equal_python_draws(seed: int, stream: int, stop: int) -> None:
    count = 50
    records = np.zeros(1, record([("keys", "<u8", 32), ("counters", "<u8", 32)]))
    keys, counters = records["keys"][0], records["counters"][0]
    raw, whole = np.zeros(count, np.uint64), np.zeros(count, np.int64)
    unit = np.zeros(count)
    draw_compiled(readable(records), np.uint64(seed), int(stream), stop, raw, whole, unit)

    python = Stream(seed, stream)
    for i in range(count):
        expected = (python.bits(), python.integer(stop), python.uniform())
        assert (int(raw[i]), int(whole[i]), float(unit[i])) == expected
    assert [int(keys[stream]), int(counters[stream])] == python.get_state()
    assert counters.sum() == 3 * count, "a draw moved another stream"


# -- how the numbers are spread -----------------------------------------------------------


@pytest.mark.parametrize("cells", [2, 6, 64])
@pytest.mark.parametrize("seed", [0, 1, MAX_SEED])
def test_integers_are_roughly_uniform(seed: int, cells: int) -> None:
    draws = 20_000
    stream = Stream(seed)
    counts = np.bincount([stream.integer(cells) for _ in range(draws)], minlength=cells)
    chi_square = float(((counts - draws / cells) ** 2 / (draws / cells)).sum())
    freedom = cells - 1
    # Mean `freedom`, variance `2 * freedom`: eight deviations are far beyond chance.
    assert chi_square < freedom + 8 * math.sqrt(2 * freedom)
    assert len(counts) == cells


def test_floats_are_roughly_uniform() -> None:
    stream = Stream(3)
    drawn = np.array([stream.uniform() for _ in range(20_000)])
    assert abs(drawn.mean() - 1 / 2) < 0.02
    assert abs(drawn.var() - 1 / 12) < 0.01


@given(SEEDS, st.lists(st.integers()))
def test_shuffle_is_a_permutation(seed: int, items: list[int]) -> None:
    shuffled = items.copy()
    Stream(seed).shuffle(shuffled)
    assert sorted(shuffled) == sorted(items)


def test_shuffle_reaches_every_order_about_equally() -> None:
    stream = Stream(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(6000):
        items = [0, 1, 2]
        stream.shuffle(items)
        counts[tuple(items)] = counts.get(tuple(items), 0) + 1
    assert len(counts) == 6
    assert all(800 < count < 1200 for count in counts.values())


# -- seeds and streams --------------------------------------------------------------------


@given(SEEDS)
def test_episode_zero_has_the_seed_itself(seed: int) -> None:
    assert episode_seed(seed, 0) == seed


@given(SEEDS, st.integers(1, 2**40))
def test_episode_seeds_are_allowed_as_seeds(seed: int, episode: int) -> None:
    assert 0 <= episode_seed(seed, episode) <= MAX_SEED


@given(SEEDS, st.integers(1, 2**70))
def test_episode_seeds_are_the_mix_that_is_documented(seed: int, episode: int) -> None:
    assert episode_seed(seed, episode) == mix64(mix64(seed) + episode * GOLDEN) >> 1


def test_episode_seeds_differ() -> None:
    drawn = {episode_seed(seed, n) for seed in range(50) for n in range(1, 200)}
    assert len(drawn) == 50 * 199
    assert drawn.isdisjoint(range(1000))


def test_fresh_seeds_are_allowed_and_differ() -> None:
    drawn = {fresh_seed() for _ in range(100)}
    assert len(drawn) == 100
    assert all(0 <= seed <= MAX_SEED for seed in drawn)


def test_streams_do_not_disturb_each_other() -> None:
    alone = Stream(7, StreamId.DYNAMICS)
    expected = [alone.bits() for _ in range(20)]
    layout, dynamics = Stream(7, StreamId.LAYOUT), Stream(7, StreamId.DYNAMICS)
    mixed = []
    for _ in range(20):
        layout.bits()
        mixed.append(dynamics.bits())
    assert mixed == expected


def test_streams_and_neighbouring_seeds_share_no_numbers() -> None:
    drawn: set[int] = set()
    for seed in range(20):
        for number in (*range(3), *range(16, 48)):
            stream = Stream(seed, number)
            drawn.update(stream.bits() for _ in range(20))
    assert len(drawn) == 20 * 35 * 20


def test_streams_are_not_correlated() -> None:
    left, right = Stream(5, 0), Stream(5, 1)
    same = sum((left.bits() ^ right.bits()).bit_count() for _ in range(1000))
    assert abs(same - 32_000) < 1000  # 64,000 coin tosses; one deviation is 126


@given(SEEDS, st.integers(0, 100))
def test_the_state_of_a_stream_is_two_integers(seed: int, draws: int) -> None:
    stream, other = Stream(seed, 1), Stream(0)
    for _ in range(draws):
        stream.bits()
    other.set_state(stream.get_state())
    assert [other.bits() for _ in range(3)] == [stream.bits() for _ in range(3)]


def test_a_seed_is_spread_over_a_batch_whatever_holds_it() -> None:
    """An array without a shape is one seed, as it is everywhere else."""
    for seed in (3, np.int64(3), np.array(3)):
        assert spread_seeds(seed, 2) == [3, 4]
    assert spread_seeds([3, None], 2) == [3, None]
    for wrong in (np.array(3.0), [[1], 2]):
        with pytest.raises(ConfigError, match="is not allowed; seeds are integers"):
            spread_seeds(wrong, 2)
