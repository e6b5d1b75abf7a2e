"""The statistics of benchmarks, against closed forms, definitions and simulation."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    successes = data.draw(st.integers(0, trials))
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
    assert sure == s.wilson(100, 100)
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


def test_with_five_runs_it_holds_what_the_page_says() -> None:
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    (told,) = re.findall(r"with five runs a 95 % interval holds\s+about (\d+) %", page)
    every = np.array(list(itertools.product(range(5), repeat=5)))  # each sample that can be drawn
    runs = np.random.default_rng(0).normal(size=(4000, 5))
    tail = stats.norm.cdf(math.sqrt(5 / 4) * stats.t.ppf(0.025, 4))
    low, high = np.quantile(runs[:, every].mean(axis=2), [tail, 1 - tail], axis=1)
    assert np.mean((low <= 0.0) & (high >= 0.0)) == pytest.approx(int(told) / 100, abs=0.02)


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
        lambda: s.improvement_interval([[1.0]], []),
        lambda: s.aggregate([]),
    ],
)
def test_nonsense_is_refused(call: object) -> None:
    with pytest.raises(ConfigError):
        call()  # type: ignore[operator]


def test_the_draws_of_an_improvement_stay_those_of_their_seed() -> None:
    x = [[[1.0, 2, 3], [2, 2, 4], [0, 1, 5]], [[3, 3, 1], [2, 5, 4], [9, 1, 5]]]
    y = [[[1.0, 2, 2], [2, 1, 3], [4, 1, 5]], [[3, 2, 1], [6, 5, 3], [2, 1, 5]]]
    found = s.improvement_interval(x, y, resamples=50, seed=3)
    assert found.estimate == pytest.approx(11 / 18)
    assert found.low == pytest.approx(0.20069444444444448)
    assert found.high == pytest.approx(0.7652777777777776)


def test_the_draws_of_means_and_profiles_stay_those_of_their_seed() -> None:
    runs = [[1.0, 2.0, 4.0], [3.0, 3.0, 8.0], [0.0, 5.0]]
    tasks = [runs, [[2.0, 9.0], [1.0, 1.0]]]
    found = s.mean_interval(runs, resamples=50, seed=3)
    assert found == pytest.approx((19 / 6, 0.3333348216565701, 5.222221105979795))
    found = s.aggregate(tasks, resamples=50, seed=3)
    assert found == pytest.approx((19 / 6, 0.766666666666667, 4.9319444444444445))
    middle, low, high = s.profile_band(tasks, [2.0, 4.0], resamples=50, seed=3)
    assert (middle.tolist(), low.tolist()) == ([0.8, 0.4], [0.2, 0.0])
    assert high == pytest.approx([0.955, 0.755])


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
        ]
        _, low, high = s.profile_band([runs], [0.5], level)
        return [one.high - one.low for one in found] + [float((high - low)[0])]

    for loose, sure in zip(widths(0.5), widths(0.99), strict=True):
        assert 0.0 <= loose < sure
    for level in (0.0, 1.0, -0.5, 95):
        with pytest.raises(ConfigError, match="a confidence level lies between 0 and 1, not"):
            s.wilson(1, 2, level)


def test_shares_within_an_episode_have_no_interval_of_wilsons() -> None:
    runs = [[0.5, 1.0], [1.0, 1.0]]
    assert s.share_interval(runs) == s.mean_interval(runs)
    with pytest.raises(ConfigError, match="at least one"):
        s.share_interval([])


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
