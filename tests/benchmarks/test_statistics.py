"""The statistics of benchmarks, against closed forms, definitions and simulation."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from piase_gym.benchmarks.evaluation import statistics as s
from piase_gym.errors import ConfigError
from tests.paths import DOCS

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@given(NUMBERS)
def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end(values: list[float]) -> None:
    cut = len(values) // 4
    middle = sorted(values)[cut : len(values) - cut]
    assert s.iqm(values) == pytest.approx(np.mean(middle), rel=1e-9, abs=1e-6)


def test_the_interquartile_mean_of_a_known_list() -> None:
    assert s.iqm([100.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -100.0]) == 3.5


@given(st.integers(1, 200), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_solves_the_score_equation(trials: int, data: st.DataObject, level: float) -> None:
    successes = data.draw(st.integers(0, 4 * trials)) / 4  # four agents an episode
    found = s.wilson(successes, trials, level)
    assert found.estimate == successes / trials
    for end in (found.low, found.high):
        if 0.0 < end < 1.0:  # the share is z standard errors of the end away
            score = abs(found.estimate - end) / math.sqrt(end * (1 - end) / trials)
            assert score == pytest.approx(stats.norm.ppf(0.5 + level / 2), abs=1e-6)


def test_wilson_covers_the_truth_as_often_as_it_says() -> None:
    found = [s.wilson(won, 40) for won in range(41)]
    for truth in (0.1, 0.5, 0.9):
        inside = [interval.low <= truth <= interval.high for interval in found]
        covered = float(stats.binom.pmf(range(41), 40, truth) @ inside)
        assert 0.93 <= covered <= 0.97


@given(NUMBERS, NUMBERS)
def test_probability_of_improvement_counts_pairs(x: list[float], y: list[float]) -> None:
    pairs = [(a > b) + 0.5 * (a == b) for a, b in itertools.product(x, y)]
    wanted = np.mean(pairs)
    assert s.probability_of_improvement(x, y) == pytest.approx(wanted, abs=1e-12)


def test_probability_of_improvement_of_two_normals_has_a_closed_form() -> None:
    truth, inside, estimates = stats.norm.cdf(1.0 / math.sqrt(1.0 + 4.0)), [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(1.0, 1.0, 80), rng.normal(0.0, 2.0, 80)
        found = s.improvement_interval([x.tolist()], [y.tolist()], resamples=200, seed=seed)
        inside.append(found.low <= truth <= found.high)
        estimates.append(found.estimate)
    assert 0.88 <= np.mean(inside) <= 1.0
    assert np.mean(estimates) == pytest.approx(truth, abs=0.015)


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=2, max_size=30))
def test_paired_differences_are_students(pairs: list[tuple[float, float]]) -> None:
    x, y = zip(*pairs, strict=True)
    differences = np.subtract(x, y)
    found = s.paired_difference(x, y)
    assert found.estimate == pytest.approx(differences.mean(), abs=1e-9)
    if differences.std() > 1e-6:
        wanted = stats.ttest_rel(x, y).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-6)


def test_common_seeds_make_differences_sharper() -> None:
    rng = np.random.default_rng(3)
    levels = rng.normal(0.0, 10.0, 50)
    x, y = levels + rng.normal(1.0, 0.5, 50), levels
    paired = s.paired_difference(x, y)
    loose = stats.ttest_ind(x, y).confidence_interval(0.95)
    assert paired.low > 0.0 > loose.low


def test_a_profile_is_the_survival_function() -> None:
    scores, taus = [0.0, 10.0, 10.0, 50.0], [-1.0, 0.0, 9.0, 10.0, 49.0, 50.0]
    assert s.performance_profile([scores], taus).tolist() == [1.0, 0.75, 0.75, 0.25, 0.25, 0.0]
    ecdf = stats.ecdf(scores)
    assert s.performance_profile([scores], taus) == pytest.approx(ecdf.sf.evaluate(taus))


def test_a_profile_band_holds_the_truth() -> None:
    taus, inside = [-1.0, 0.0, 1.0], []
    for seed in range(100):
        scores = np.random.default_rng(seed).normal(size=60).tolist()
        _, low, high = s.profile_band([scores], taus, resamples=300, seed=seed)
        inside.append((low <= stats.norm.sf(taus)) & (stats.norm.sf(taus) <= high))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05)


def coverage(flat: bool) -> float:
    """How often an interval holds the mean 0, when runs differ more than episodes do."""
    inside = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        runs = [(rng.normal(0.0, 1.0) + rng.normal(0.0, 0.5, 20)).tolist() for _ in range(12)]
        nested = [[value for run in runs for value in run]] if flat else runs
        found = s.mean_interval(nested, resamples=400, seed=10_000 + seed)
        inside.append(found.low <= 0.0 <= found.high)
    return float(np.mean(inside))


def test_the_hierarchical_bootstrap_covers_and_the_flat_one_does_not() -> None:
    assert 0.9 <= coverage(flat=False) <= 0.98
    assert coverage(flat=True) <= 0.5


def test_shares_of_several_runs_are_not_those_of_pooled_episodes() -> None:
    inside = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        runs = [(rng.random(50) < rng.beta(4.0, 1.0)).astype(float).tolist() for _ in range(6)]
        found = s.share_interval(runs, resamples=400, seed=seed)
        inside.append(found.low <= 0.8 <= found.high)
        pooled = s.wilson(sum(map(sum, runs)), 300)
        assert found.low <= pooled.low
        assert found.high >= pooled.high
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_shares_of_one_run_are_wilsons_and_sure_runs_are_not_certain() -> None:
    assert s.share_interval([[1.0, 0.0, 1.0]]) == s.wilson(2, 3)
    sure = s.share_interval([[1.0] * 20] * 5)
    assert sure == s.wilson(20, 20)  # of the same twenty levels
    halves = s.share_interval([[0.5, 1.0, 0.0, 0.5]])  # teams, whose wins depend on each other
    assert halves == s.mean_interval([[0.5, 1.0, 0.0, 0.5]])


def test_drawn_anchors_widen_scores_as_the_delta_method_says() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(50.0, 20.0, 400)
    spread = np.array([[4.0, 1.0], [1.0, 9.0]])
    share = values.mean() / 100.0
    slopes = np.array([share - 1.0, -share])  # of 100 (x - low) / (high - low) at 0 and 100
    variance = values.var() / 400 + slopes @ spread @ slopes
    found = s.mean_interval([values.tolist()], anchors=s.Anchors(4.0, 9.0, 1.0), resamples=20_000)
    assert found.estimate == values.mean()
    assert found.high - found.low == pytest.approx(2 * 1.96 * math.sqrt(variance), rel=0.03)
    fixed = s.aggregate([[50.0, 50.0]], np.mean, anchors=[None])
    assert fixed == (50.0, 50.0, 50.0)
    loose = s.aggregate([[50.0, 50.0]], np.mean, anchors=[s.Anchors(4.0, 4.0, 0.0)])
    assert loose.high - loose.low == pytest.approx(2 * 1.96 * math.sqrt(2.0), rel=0.08)


def played(seed: int, runs: int, spread: tuple[Any, float, float]) -> NDArray[np.float64]:
    """Values around 0, shape (runs, 30): runs differ, levels that they share, and luck."""
    rng = np.random.default_rng([seed, runs])
    by_run, by_level, luck = spread
    own, level = by_run * rng.normal(size=(runs, 1)), by_level * rng.normal(size=30)
    found: NDArray[np.float64] = own + level + luck * rng.normal(size=(runs, 30))
    return found


LEVELS, TRAINING, BOTH = (0.05, 1.0, 0.2), (1.0, 0.0, 1.0), (0.3, 1.0, 0.3)
"""What differs most, with the spreads of runs, levels and luck."""


def test_with_few_runs_it_holds_what_the_page_says() -> None:
    page = " ".join((DOCS / "benchmarks.md").read_text("utf-8").split())
    (told,) = re.findall(r"a 95 % interval holds the truth at least (\d+) % of the time", page)
    for runs, spread in itertools.product((2, 3, 5), (LEVELS, TRAINING, BOTH)):
        inside = []
        for seed in range(250):
            found = s.mean_interval(played(seed, runs, spread).tolist(), resamples=150, seed=seed)
            inside.append(found.low <= 0.0 <= found.high)
        assert np.mean(inside) >= int(told) / 100, (runs, spread)


def test_levels_that_all_runs_share_make_no_interval_too_wide() -> None:
    for runs in (3, 5, 10):
        found = s.mean_interval(played(0, runs, LEVELS).tolist())
        levels = s.mean_interval([played(0, runs, LEVELS).mean(axis=0).tolist()])
        assert 1.0 <= (found.high - found.low) / (levels.high - levels.low) < 1.3


@pytest.mark.parametrize(("solvable", "flips"), [(0.8, 0.03), (0.98, 0.0)])
def test_shares_of_runs_on_the_same_levels_cover(solvable: float, flips: float) -> None:
    truth, inside = solvable * (1.0 - flips) + (1.0 - solvable) * flips, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        won = (rng.random(50) < solvable) ^ (rng.random((5, 50)) < flips)
        found = s.share_interval(won.astype(float).tolist(), resamples=200, seed=seed)
        assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
        inside.append(found.low <= truth <= found.high)
    assert np.mean(inside) >= 0.93


@pytest.mark.parametrize("runs", [(5, 5), (2, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("spread", [LEVELS, (0.5, 1.0, 1.0)])
def test_differences_of_equal_methods_hold_nothing(
    runs: tuple[int, int], spread: tuple[float, float, float]
) -> None:
    inside = []  # a single run is taken for what another training would give
    by_run = np.repeat([spread[0] if count > 1 else 0.0 for count in runs], runs)[:, None]
    for seed in range(300):
        values = played(seed, sum(runs), (by_run, *spread[1:])).tolist()
        found = s.difference_interval(values[: runs[0]], values[runs[0] :])
        inside.append(found.low <= 0.0 <= found.high)
    assert np.mean(inside) >= 0.94


@pytest.mark.parametrize("runs", [(1, 1), (4, 1), (1, 3), (3, 2)])
def test_a_difference_reaches_as_far_as_seeds_and_runs_in_quadrature(runs: tuple[int, int]) -> None:
    x, y = (played(8, count, (0.4, 1.0, 0.5)) for count in runs)
    found = s.difference_interval((x + 0.5).tolist(), y.tolist(), 0.9)
    seeds = stats.ttest_rel(x.mean(axis=0), y.mean(axis=0)).confidence_interval(0.9)
    means, others, ends = x.mean(axis=1), y.mean(axis=1), None
    if min(runs) > 1:
        ends = stats.ttest_ind(means, others, equal_var=False).confidence_interval(0.9)
    elif max(runs) > 1:
        several = means if len(means) > 1 else others
        ends = stats.ttest_1samp(several, 0.0).confidence_interval(0.9)
    reach = math.hypot(seeds.high - seeds.low, 0.0 if ends is None else ends.high - ends.low) / 2
    middle = 0.5 + float(x.mean() - y.mean())
    assert found == pytest.approx((middle, middle - reach, middle + reach))
    if runs == (1, 1):
        assert found == s.paired_difference(x[0] + 0.5, y[0], 0.9)
    mirrored = s.difference_interval(y.tolist(), (x + 0.5).tolist(), 0.9)
    assert mirrored == pytest.approx((-found.estimate, -found.high, -found.low))


def test_a_mean_reaches_at_least_as_far_as_runs_and_seeds_in_quadrature() -> None:
    runs = [[0.0, 1.0, 5.0], [2.0, 4.0, 6.0]]
    middle = stats.t.interval(0.95, 1, loc=3.0, scale=1.0)  # the runs' means are 2 and 4
    seeds = stats.ttest_1samp([1.0, 2.5, 5.5], 0.0).confidence_interval(0.95)
    reach = math.hypot(middle[1] - 3.0, (seeds.high - seeds.low) / 2)
    assert s.mean_interval(runs) == pytest.approx((3.0, 3.0 - reach, 3.0 + reach))
    assert s.mean_interval([2.0, 4.0]) == pytest.approx((3.0, *middle))
    ragged = s.mean_interval([[0.0, 1.0, 5.0], [4.0]])
    assert ragged == pytest.approx((3.0, *middle))
    scale = s.Anchors(4.0, 4.0, 4.0)  # both ends move together, by 2 points
    moved = s.mean_interval([2.0, 4.0], anchors=scale, resamples=20_000)
    assert moved.high - 3.0 == pytest.approx(math.hypot(middle[1] - 3.0, 1.96 * 2.0), rel=0.01)
    assert 3.0 - moved.low == pytest.approx(math.hypot(middle[1] - 3.0, 1.96 * 2.0), rel=0.01)


def test_a_resample_draws_seeds_once_for_all_runs() -> None:
    runs = np.array([[0.0, 1.0, 5.0], [2.5, 4.25, 7.0]])
    every = [  # each sample that can be drawn, all equally likely
        np.mean([runs[run, list(seeds)].mean() for run in chosen])
        for chosen in itertools.product(range(2), repeat=2)
        for seeds in itertools.product(range(3), repeat=3)
    ]
    for level in (0.5, 0.8, 0.95):
        found = s.aggregate([runs.tolist()], np.mean, level=level, resamples=40_000)
        wanted = np.quantile(every, [(1 - level) / 2, (1 + level) / 2])
        assert found[1:] == pytest.approx(tuple(wanted), abs=0.15)
    drawn = s._resample_runs(runs.tolist(), 40_000, 0).mean(axis=1)
    assert {*drawn.round(9)} == {*np.round(every, 9)}
    assert drawn.mean() == pytest.approx(np.mean(every), abs=0.02)
    assert drawn.var() == pytest.approx(np.var(every), rel=0.03)


def test_the_draws_do_not_depend_on_how_many_are_held_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = [s.mean_interval(played(1, runs, BOTH).tolist(), resamples=50) for runs in (1, 3)]
    monkeypatch.setattr(s, "AT_ONCE", 70)
    parts = [s.mean_interval(played(1, runs, BOTH).tolist(), resamples=50) for runs in (1, 3)]
    assert parts == whole


def test_levels_do_not_blur_who_is_better_on_all_of_them() -> None:
    levels = 10.0 * np.random.default_rng(0).normal(size=20)
    x, y = [(levels + 1.0).tolist()] * 3, [levels.tolist()] * 2
    assert s.improvement_interval([x], [y], resamples=200) == (1.0, 1.0, 1.0)
    assert s.improvement_interval([y], [x], resamples=200) == (0.0, 0.0, 0.0)
    fewer = [run[:-1] for run in y]
    assert s.improvement_interval([x], [fewer], resamples=200).low == 0.0  # not the same seeds


def test_runs_that_won_the_same_levels_count_once() -> None:
    won = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    alone, three = s.share_interval([won]), s.share_interval([won] * 3)
    assert three.low <= alone.low
    assert alone.high <= three.high
    assert s.share_interval([[1.0] * 8, [1.0] * 8]) == s.wilson(8, 8)
    assert s.share_interval([[0.0] * 8, [0.0] * 8]) == s.wilson(0, 8)


def test_shares_stay_between_0_and_1() -> None:
    found = s.share_interval([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    assert (found.low, found.high) == (0.0, 1.0)
    assert s.mean_interval([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]).high > 1.0


def test_the_bootstrap_of_one_run_agrees_with_the_normal_approximation() -> None:
    values = np.random.default_rng(5).exponential(size=400)
    found = s.mean_interval([values.tolist()], resamples=4000)
    reach = 1.96 * values.std() / 20
    assert found.low == pytest.approx(values.mean() - reach, abs=0.02)
    assert found.high == pytest.approx(values.mean() + reach, abs=0.02)


def test_runs_weigh_the_same_however_long_they_are() -> None:
    assert s.mean_interval([[0.0] * 99, [1.0]]).estimate == 0.5


def test_an_aggregate_over_tasks_is_stratified() -> None:
    tasks = [[[0.0, 0.0]] * 5, [[100.0, 100.0]] * 5]
    found = s.aggregate(tasks, statistic=np.mean)
    assert found == (50.0, 50.0, 50.0)  # no task is left out of a resample


def test_bootstraps_are_deterministic() -> None:
    runs = np.random.default_rng(0).normal(size=(12, 9)).tolist()
    assert s.mean_interval(runs) == s.mean_interval(runs)
    assert s.mean_interval(runs, seed=1) != s.mean_interval(runs, seed=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: s.iqm([]),
        lambda: s.iqm([math.nan]),
        lambda: s.wilson(3, 2),
        lambda: s.wilson(0, 0),
        lambda: s.wilson(1, 2, level=1.0),
        lambda: s.mean_interval([]),
        lambda: s.mean_interval([[1.0], []]),
        lambda: s.paired_difference([1.0], [1.0]),
        lambda: s.paired_difference([1.0, 2.0], [1.0]),
        lambda: s.difference_interval([], [[1.0, 2.0]]),
        lambda: s.difference_interval([[1.0, 2.0]], []),
        lambda: s.difference_interval([[1.0], [2.0]], [[1.0]]),
        lambda: s.difference_interval([[1.0, 2.0], [1.0]], [[1.0, 2.0]]),
        lambda: s.difference_interval([[1.0, 2.0]], [[1.0, 2.0, 3.0]]),
        lambda: s.improvement_interval([[1.0]], []),
        lambda: s.aggregate([]),
    ],
)
def test_nonsense_is_refused(call: object) -> None:
    with pytest.raises(ConfigError):
        call()  # type: ignore[operator]


def redrawn(runs: list[list[float]], seed: int, shared: int | None = None) -> list[list[float]]:
    """The scores of 50 resamples, one number after the other."""
    rng, episodes = np.random.default_rng(seed), len(runs[0])
    chosen = rng.integers(len(runs), size=(50, len(runs)))
    rng = rng if shared is None else np.random.default_rng([shared, episodes])
    draws = rng.integers(episodes, size=(50, episodes))
    return [
        [math.fsum(runs[run][seed] for seed in seeds) / episodes for run in some]
        for some, seeds in zip(chosen, draws, strict=True)
    ]


def test_the_draws_of_an_improvement_stay_those_of_their_seed() -> None:
    x = [[[1.0, 2, 3], [2, 2, 4], [0, 1, 5]], [[3, 3, 1], [2, 5, 4], [9, 1, 5]]]
    y = [[[1.0, 2, 2], [2, 1, 3], [4, 1, 5]], [[3, 2, 1], [6, 5, 3], [2, 1, 5]]]
    found = s.improvement_interval(x, y, resamples=50, seed=3)
    assert found.estimate == pytest.approx(11 / 18)
    better = [
        [
            np.mean([(a > b) + 0.5 * (a == b) for a, b in itertools.product(mine, theirs)])
            for mine, theirs in zip(redrawn(x[n], k, k), redrawn(y[n], k + 1, k), strict=True)
        ]
        for n, k in enumerate((3, 5))
    ]
    wanted = np.quantile(np.mean(better, axis=0), [0.025, 0.975])
    assert found[1:] == pytest.approx(tuple(wanted))


def test_the_draws_of_means_and_profiles_stay_those_of_their_seed() -> None:
    ragged = [[1.0, 2.0, 4.0], [3.0, 3.0, 8.0], [0.0, 5.0]]
    found = s.aggregate([ragged], np.mean, resamples=50, seed=3)
    assert found == pytest.approx((19 / 6, 0.9402777777777784, 4.888888888888889))
    found = s.mean_interval(ragged[:1], resamples=50, seed=3)
    assert found == pytest.approx((7 / 3, 1.0000011162424276, 3.999997767515145))
    tasks = [ragged[:2], [[2.0, 9.0], [1.0, 1.0]]]
    scores = np.hstack([redrawn(runs, 3 + n) for n, runs in enumerate(tasks)])
    found = s.aggregate(tasks, np.mean, resamples=50, seed=3)
    wanted = np.quantile(scores.mean(axis=1), [0.025, 0.975])
    assert found == pytest.approx((np.mean([7 / 3, 14 / 3, 5.5, 1.0]), *wanted))
    middle, low, high = s.profile_band(tasks, [2.0, 4.0], resamples=50, seed=3)
    assert middle.tolist() == [0.75, 0.5]
    for number, tau in enumerate((2.0, 4.0)):
        wanted = np.quantile((scores > tau).mean(axis=1), [0.025, 0.975])
        assert (low[number], high[number]) == pytest.approx(tuple(wanted))


def test_one_value_is_certain_and_runs_may_be_numbers() -> None:
    assert s.mean_interval([[3.0]]) == s.mean_interval([3.0]) == (3.0, 3.0, 3.0)
    assert s.mean_interval([1.0, 2.0]) == s.mean_interval([[1.0], [2.0]])


def test_the_level_of_confidence_reaches_every_interval() -> None:
    runs, other = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [[0.5], [0.2], [0.9]]

    def widths(level: float) -> list[float]:
        found = [
            s.mean_interval(runs, level),
            s.share_interval(runs, level),
            s.share_interval(runs[:1], level),
            s.aggregate([runs], level=level),
            s.improvement_interval([runs], [other], level),
            s.paired_difference([1.0, 2.0], [0.0, 3.0], level),
            s.difference_interval(runs, runs[:1], level),
        ]
        _, low, high = s.profile_band([runs], [0.5], level)
        return [one.high - one.low for one in found] + [float((high - low)[0])]

    for loose, sure in zip(widths(0.5), widths(0.99), strict=True):
        assert 0.0 <= loose < sure
    for level in (0.0, 1.0, -0.5, 95):
        with pytest.raises(ConfigError, match="a confidence level lies between 0 and 1, not"):
            s.wilson(1, 2, level)


def test_shares_within_an_episode_have_no_interval_of_wilsons() -> None:
    runs = [[0.5, 0.25], [0.5, 0.25]]
    assert s.share_interval(runs).estimate == 0.375
    assert s.share_interval(runs)[1:] == (0.0, 1.0) != s.wilson(1.5, 4)[1:]
    assert s.share_interval(runs[:1]) == s.mean_interval(runs[:1])
    with pytest.raises(ConfigError, match="at least one"):
        s.share_interval([])


def test_runs_are_the_rows_of_any_table() -> None:
    pandas = pytest.importorskip("pandas")
    runs = [[1.0, 2.0, 3.0], [2.0, 3.0, 7.0]]
    for table in (np.array(runs), tuple(map(tuple, runs)), pandas.DataFrame(runs)):
        assert s.mean_interval(table) == s.mean_interval(runs)
        assert s.aggregate([table]) == s.aggregate([runs])
        assert s.difference_interval(table, runs) == s.difference_interval(runs, runs)
        assert s.probability_of_improvement(table, runs) == 0.5
    assert s.performance_profile([runs], 3.0).tolist() == [0.5]


@pytest.mark.parametrize("runs", [{0: [1.0], 1: [2.0]}, iter([[1]]), 3.0, "ab", [["a"]], [{1: 2}]])
def test_what_are_no_runs_is_refused(runs: Any) -> None:
    for statistic in (s.mean_interval, s.share_interval):
        with pytest.raises(ConfigError, match=r"runs are a sequence|must be finite numbers"):
            statistic(runs)
    with pytest.raises(ConfigError, match=r"runs are a sequence|must be finite numbers"):
        s.aggregate([runs])


def test_shares_and_resamples_are_checked() -> None:
    for runs in ([[2.0, 0.0]], [[0.5, -0.5], [0.0, 0.0]]):
        with pytest.raises(ConfigError, match="shares of wins lie between 0 and 1"):
            s.share_interval(runs)
    for resamples in (0, -1, 1.5, "9"):
        with pytest.raises(ConfigError, match="resamples are a positive integer"):
            s.mean_interval([[1.0, 2.0]], resamples=resamples)  # type: ignore[arg-type]


def test_the_interquartile_mean_can_be_taken_along_an_axis() -> None:
    rows = [[0.0, 1.0, 2.0, 100.0], [4.0, 4.0, 4.0, 4.0]]
    assert s.iqm(rows, axis=1).tolist() == [1.5, 4.0]
    assert s.iqm(rows, axis=0).tolist() == [2.0, 2.5, 3.0, 52.0]
    assert s.iqm(rows) == 3.5


def test_ends_that_could_be_anywhere_make_no_scale_the_other_way_round() -> None:
    drawn = s.Anchors(1e6, 1e6, 0.0).rescale(np.full((200, 1), 1e9), 0)
    assert drawn.shape == (200, 1)
    assert 0.0 < drawn.min() < 0.9e11
    assert drawn.max() == pytest.approx(1e11, rel=1e-4)  # one point is the least that they span


def test_scales_are_given_for_every_task_or_for_none() -> None:
    with pytest.raises(ValueError, match="shorter"):
        s.aggregate([[1.0], [2.0]], anchors=[None])
