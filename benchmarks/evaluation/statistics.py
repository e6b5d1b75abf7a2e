"""Statistics of benchmarks: what to report beside a mean.

Scores come as nested sequences, tasks or runs outside and episodes inside. Intervals are percentile
bootstraps that resample training runs first and episodes second, because two episodes of one
training run say less than two runs. Aggregates are those of Agarwal et al. (2021, "Deep
reinforcement learning at the edge of the statistical precipice").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from piase_gym.errors import ConfigError

RESAMPLES = 2000
Runs = Sequence[Sequence[float]]
"""Episodes' values by training run."""


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float


def _values(values: ArrayLike, what: str = "values") -> NDArray[np.float64]:
    """Return values as a flat array, or say that there are none."""
    array = np.asarray(values, np.float64).ravel()
    if array.size == 0 or not np.isfinite(array).all():
        raise ConfigError(f"{what} must be finite numbers, at least one")
    return array


def iqm(values: ArrayLike, axis: int | None = None) -> Any:
    """Return the interquartile mean: the mean without the lowest and highest quarter.

    A quarter is rounded down to whole values. With an axis it is taken along that axis.
    """
    if axis is None:
        return float(stats.trim_mean(_values(values), 0.25))
    return stats.trim_mean(values, 0.25, axis=axis)


def wilson(successes: float, trials: int, level: float = 0.95) -> Interval:
    """Return a share with Wilson's score interval (Wilson 1927, without continuity correction)."""
    _tails(level)  # refuses what is no level
    if trials < 1 or not 0 <= successes <= trials:
        raise ConfigError(f"{successes} successes in {trials} trials make no share")
    ends = stats.binomtest(round(successes), trials).proportion_ci(level, method="wilson")
    return Interval(successes / trials, float(ends.low), float(ends.high))


def mean_interval(
    runs: Runs, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the mean of the runs' means with a hierarchical bootstrap interval.

    With one run the interval tells how episodes vary, not how training does. With few runs it is
    too narrow, as percentile intervals are: with 5 runs of a normal, 95 % hold 84 %.
    """
    drawn = _resample_runs(runs, resamples, seed).mean(axis=1)
    estimate = float(np.mean([_values(run).mean() for run in runs]))
    return _interval(estimate, drawn, level)


def _interval(estimate: float, drawn: NDArray[np.float64], level: float) -> Interval:
    """Return an estimate with the middle `level` of its bootstrap values."""
    low, high = np.quantile(drawn, _tails(level))
    return Interval(estimate, float(low), float(high))


def _tails(level: float) -> list[float]:
    """Return the two ends of the middle `level`, as quantiles."""
    if not 0.0 < level < 1.0:
        raise ConfigError(f"a confidence level lies between 0 and 1, not {level!r}")
    tail = (1 - level) / 2
    return [tail, 1 - tail]


def aggregate(
    tasks: Sequence[Runs],
    statistic: Callable[..., Any] = iqm,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a statistic over the scores of all runs of all tasks, with its interval.

    Each task's runs are drawn for themselves (a stratified bootstrap).

    Args:
        tasks: For each task, its runs; a run's score is the mean of its episodes.
        statistic: Of an array of scores along an ``axis``, as NumPy's functions take it.
        level: Of confidence.
        resamples: How many.
        seed: Of the draws.
    """
    if not tasks:
        raise ConfigError("there must be at least one task")
    scores = [float(np.mean(_values(run))) for runs in tasks for run in runs]
    drawn = [_resample_runs(runs, resamples, seed + n) for n, runs in enumerate(tasks)]
    estimate = float(statistic(np.array(scores), axis=-1))
    return _interval(estimate, statistic(np.concatenate(drawn, axis=1), axis=-1), level)


def _resample_runs(runs: Runs, resamples: int, seed: int) -> NDArray[np.float64]:
    """Return the drawn runs' means of every resample, shape (resamples, runs)."""
    rng = np.random.default_rng(seed)
    arrays = [_values(run, "episodes of a run") for run in runs]
    if not arrays:
        raise ConfigError("there must be at least one run")
    chosen = rng.integers(len(arrays), size=(resamples, len(arrays)))
    means = np.empty(chosen.shape)
    for number, run in enumerate(arrays):
        where = chosen == number
        draws = rng.integers(run.size, size=(int(where.sum()), run.size))
        means[where] = run[draws].mean(axis=1)
    return means


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> NDArray[np.float64]:
    """Return for each threshold the share of scores above it (Dolan and Moré's profile)."""
    array = np.sort(_values(scores))
    above = array.size - np.searchsorted(array, np.asarray(thresholds, np.float64), side="right")
    return np.asarray(above / array.size, np.float64)


def profile_band(
    scores: ArrayLike,
    thresholds: ArrayLike,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a performance profile and a pointwise bootstrap band: profile, low, high."""
    array = _values(scores)
    rng = np.random.default_rng(seed)
    taus = np.asarray(thresholds, np.float64)
    drawn = array[rng.integers(array.size, size=(resamples, array.size))]
    shares = np.stack([(drawn > tau).mean(axis=1) for tau in taus], axis=1)
    low, high = np.quantile(shares, _tails(level), axis=0)
    return performance_profile(array, taus), low, high


def probability_of_improvement(x: ArrayLike, y: ArrayLike) -> float:
    """Return the probability that a draw of x is higher than one of y, ties counting half.

    It is the Mann–Whitney statistic U divided by the number of pairs.
    """
    return float(_improvement(_values(x), _values(y)))


def _improvement(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of improvement of the draws in each row."""
    found = stats.mannwhitneyu(x, y, method="asymptotic", axis=-1).statistic
    return np.asarray(found / (x.shape[-1] * y.shape[-1]))


def improvement_interval(
    x: Sequence[Sequence[float]],
    y: Sequence[Sequence[float]],
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean over tasks of the probability of improvement, with a bootstrap interval.

    Args:
        x: Scores by task.
        y: Scores of the other by the same tasks.
        level: Of confidence.
        resamples: How many.
        seed: Of the draws.
    """
    if len(x) != len(y) or not x:
        raise ConfigError(f"{len(x)} and {len(y)} tasks cannot be compared; give the same tasks")
    rng = np.random.default_rng(seed)
    pairs = [(_values(a), _values(b)) for a, b in zip(x, y, strict=True)]
    estimate = float(np.mean([probability_of_improvement(a, b) for a, b in pairs]))
    drawn = [
        _improvement(*(v[rng.integers(v.size, size=(resamples, v.size))] for v in pair))
        for pair in pairs
    ]
    return _interval(estimate, np.mean(drawn, axis=0), level)


def paired_difference(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of x - y on common seeds with Student's interval.

    Args:
        x: A value a seed.
        y: The other's values, in the same order of seeds.
        level: Of confidence.

    Raises:
        ConfigError: If there are fewer than two pairs, or not as many values in both.
    """
    mine, theirs = _values(x), _values(y)
    if mine.size != theirs.size or mine.size < 2:
        raise ConfigError(f"{mine.size} and {theirs.size} values make no pairs; two at least")
    differences = mine - theirs
    mean = float(differences.mean())
    upper = 1 - _tails(level)[0]
    reach = float(stats.sem(differences) * stats.t.ppf(upper, differences.size - 1))
    return Interval(mean, mean - reach, mean + reach)
