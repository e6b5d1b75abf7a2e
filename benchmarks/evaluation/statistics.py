"""Statistics of benchmarks: what to report besides a mean.

Scores are nested sequences, with tasks or runs outside and episodes inside; a run with a single
value may be given as a number. Intervals resample training runs, because two episodes of one run
say less than two runs, and seeds. All runs of a policy play the same seeds, so a resample draws
seeds once for all runs: more runs tell no more about other levels (Owen 2007, "The pigeonhole
bootstrap"). Where runs have seeds of their own, intervals are wider than they need be. Runs with
different numbers of episodes share no draws.

Aggregates are those of Agarwal et al. (2021, "Deep reinforcement learning at the edge of the
statistical precipice"), and ``make test-rliable`` compares them with their package `rliable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from piase_gym.errors import ConfigError

RESAMPLES = 2000
Runs = Sequence[float | Sequence[float]]
"""The episodes' values by training run, in one order of seeds, or one value per run."""
AT_ONCE = 1 << 20
"""How many episodes are drawn at a time; this bounds the memory."""
LEAST_SPAN = 1.0
"""The smallest distance, in points, between the resampled ends of a scale."""


class Interval(NamedTuple):
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float

    def words(self, form: str) -> str:
        """Return it as ``0.50 (0.41 to 0.59)``, with the form of its numbers, such as ``.2f``."""
        middle, low, high = (format(part, form) for part in self)
        return f"{middle} ({low} to {high})"


class Anchors(NamedTuple):
    """How uncertain the ends of a scale are: they are means of episodes too.

    Attributes:
        low: Variance of the mean that 0 points stand for, in squared points.
        high: Variance of the mean that 100 points stand for.
        both: Covariance of the two, which were played on the same seeds.
    """

    low: float
    high: float
    both: float

    def rescale(self, points: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """Return points, one row per resample, each row on a scale with resampled ends."""
        spread = [[self.low, self.both], [self.both, self.high]]
        rng = np.random.default_rng([seed, 1])
        ends = rng.multivariate_normal([0.0, 100.0], spread, len(points), method="eigh")
        low, high = ends.T.reshape(2, -1, *[1] * (points.ndim - 1))
        drawn: NDArray[np.float64] = 100.0 * (points - low) / np.maximum(high - low, LEAST_SPAN)
        return drawn


def _values(values: ArrayLike, what: str = "values") -> NDArray[np.float64]:
    """Return values as a flat array, or raise `ConfigError` if there are none."""
    message = f"{what} must be finite numbers, at least one"
    try:
        array = np.asarray(values, np.float64).ravel()
    except (TypeError, ValueError):
        raise ConfigError(message) from None
    if array.size == 0 or not np.isfinite(array).all():
        raise ConfigError(message)
    return array


def _arrays(runs: Runs) -> list[NDArray[np.float64]]:
    """Return the episodes of each run; of a table of pandas, which iterates over names, each row.

    Raises:
        ConfigError: If there are no runs, or no sequence of them.
    """
    rows = runs if isinstance(runs, Sequence) else np.asarray(runs)
    if isinstance(rows, np.ndarray) and rows.ndim == 0:
        raise ConfigError(f"runs are a sequence, not {type(runs).__name__}")
    arrays = [_values(run, "episodes of a run") for run in rows]
    if not arrays:
        raise ConfigError("there must be at least one run")
    return arrays


def iqm(values: ArrayLike, axis: int | None = None) -> Any:
    """Return the interquartile mean: the mean without the lowest and highest quarter.

    A quarter is rounded down to whole values. With an axis, the mean is taken along that axis.
    """
    if axis is None:
        return float(scipy.stats.trim_mean(_values(values), 0.25))
    return scipy.stats.trim_mean(values, 0.25, axis=axis)


def wilson(successes: float, trials: int, level: float = 0.95) -> Interval:
    """Return a share with Wilson's score interval (Wilson 1927, without continuity correction).

    Trials are independent, such as episodes. A part of a success, such as a share of the agents of
    an episode, counts as that part; the interval is then wide enough for agents that win together.
    """
    quantile = float(scipy.stats.norm.ppf(_tails(level)[1]))
    if trials < 1 or not 0 <= successes <= trials:
        raise ConfigError(f"{successes} successes in {trials} trials make no share")
    share, room = successes / trials, quantile * quantile / trials
    middle = (share + room / 2.0) / (1.0 + room)
    reach = math.sqrt(room * (share * (1.0 - share) + room / 4.0)) / (1.0 + room)
    low = max(middle - reach, 0.0) if successes > 0 else 0.0
    return Interval(share, low, min(middle + reach, 1.0) if successes < trials else 1.0)


def share_difference(one: Interval, other: Interval) -> Interval:
    """Return the difference of two independent shares, given their intervals.

    The interval is the hybrid score interval of Newcombe (1998, "Interval estimation for the
    difference between independent proportions", method 10).

    Example:
        >>> difference = share_difference(wilson(56, 70), wilson(48, 80))
        >>> [round(part, 4) for part in difference]
        [0.2, 0.0524, 0.3339]
    """
    difference = one.estimate - other.estimate
    below = math.hypot(one.estimate - one.low, other.high - other.estimate)
    above = math.hypot(one.high - one.estimate, other.estimate - other.low)
    return Interval(difference, difference - below, difference + above)


def mean_interval(
    runs: Runs,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    anchors: Anchors | None = None,
) -> Interval:
    """Return the mean of the runs' means with an interval for other runs on other seeds.

    Bootstrap percentiles of few episodes are too narrow. They are taken further out (Hesterberg
    2015, "What teachers should know about the bootstrap"), as far as Student's quantile is from the
    normal one. Of few runs they cannot lead beyond the extreme ones, so the interval of several
    runs reaches at least as far as Student's over the runs, Student's over the seeds and that of
    the scale in quadrature. With one run, it shows how episodes vary, not how training does.

    Args:
        runs: The runs of one task.
        level: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.
        anchors: How uncertain the scale is, if the values are points.
    """
    drawn = _resample_runs(runs, resamples, seed).mean(axis=1)
    drawn = drawn if anchors is None else anchors.rescale(drawn, seed)
    arrays = _arrays(runs)
    means = np.array([run.mean() for run in arrays])
    mean, shared = float(means.mean()), _equally_long(arrays)
    count = arrays[0].size if shared else len(arrays)
    found = _interval(mean, drawn, _expanded(level, count))
    if len(arrays) == 1:
        return found
    seeds = np.mean(arrays, axis=0) if shared else means[:1]
    reach = math.hypot(_reach(level, means), _reach(level, seeds))
    scale = Interval(mean, mean, mean)
    if anchors is not None:
        scale = _interval(mean, anchors.rescale(np.full(resamples, mean), seed), level)
    low = mean - math.hypot(reach, mean - scale.low)
    high = mean + math.hypot(reach, scale.high - mean)
    return Interval(mean, min(found.low, low), max(found.high, high))


def _equally_long(arrays: Sequence[NDArray[np.float64]]) -> bool:
    """Return whether all runs have as many episodes, which are then taken for the same seeds."""
    return len({run.size for run in arrays}) == 1


def _expanded(level: float, count: int) -> float:
    """Return the level of the percentiles that cover the mean of `count` values at `level`."""
    upper = _tails(level)[1]
    if count < 2:
        return level
    reach = math.sqrt(count / (count - 1)) * scipy.stats.t.ppf(upper, count - 1)
    return min(1.0 - 2.0 * float(scipy.stats.norm.sf(reach)), 1.0 - 1e-9)


def share_interval(
    runs: Runs, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return the mean of the runs' shares of wins, with an interval.

    One run gets Wilson's interval. Several get that of `mean_interval`, within 0 and 1, but never
    narrower than Wilson's over all episodes together, as it would be if every run had the same
    share; or over the episodes of one run, if all runs won the same ones, for then the others tell
    nothing new about levels.

    Args:
        runs: For each run, 1 for an episode that was won and 0 for others; shares if several
            agents of one episode count. Their wins depend on each other, so Wilson's is not used.
        level: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Raises:
        ConfigError: If they are no shares.
    """
    arrays = _arrays(runs)
    if not all(run.min() >= 0.0 and run.max() <= 1.0 for run in arrays):
        raise ConfigError("shares of wins lie between 0 and 1")
    alike = all(np.array_equal(run, arrays[0]) for run in arrays)
    won = arrays[0] if alike else np.concatenate(arrays)
    whole = bool(np.isin(won, (0.0, 1.0)).all())
    least = wilson(float(won.sum()), won.size, level) if whole else None
    if least and len(arrays) == 1:
        return least
    share, low, high = mean_interval(runs, level, resamples, seed)
    if least:
        low, high = min(low, least.low), max(high, least.high)
    return Interval(share, max(low, 0.0), min(high, 1.0))


def _interval(estimate: float, drawn: NDArray[np.float64], level: float) -> Interval:
    """Return an estimate with the middle `level` of its bootstrap values."""
    low, high = np.quantile(drawn, _tails(level))
    return Interval(estimate, float(low), float(high))


def _reach(level: float, *groups: NDArray[np.float64]) -> float:
    """Return how far Student's interval of a mean, or Welch's of a difference of two, reaches.

    A group of a single value counts as exact.
    """
    upper = _tails(level)[1]
    several = [group for group in groups if group.size > 1]
    parts = np.array([group.var(ddof=1) / group.size for group in several])
    variance = float(parts.sum())
    if variance == 0.0:
        return 0.0
    per_freedom = (parts / variance) ** 2 / [group.size - 1 for group in several]
    return math.sqrt(variance) * float(scipy.stats.t.ppf(upper, 1.0 / per_freedom.sum()))


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
    anchors: Sequence[Anchors | None] = (),
) -> Interval:
    """Return a statistic over the scores of all runs of all tasks, with its interval.

    Each task's runs are resampled separately (a stratified bootstrap).

    Args:
        tasks: For each task, its runs; a run's score is the mean of its episodes.
        statistic: A function of an array of scores and an ``axis``, like NumPy's.
        level: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.
        anchors: For each task, how uncertain its scale is; empty if the scales are exact.
    """
    estimate = float(statistic(_run_means(tasks), axis=-1))
    drawn = _resample_tasks(tasks, resamples, seed, anchors)
    return _interval(estimate, statistic(drawn, axis=-1), level)


def _run_means(tasks: Sequence[Runs]) -> NDArray[np.float64]:
    """Return the score of every run of all tasks."""
    if not tasks:
        raise ConfigError("there must be at least one task")
    return np.array([float(run.mean()) for runs in tasks for run in _arrays(runs)])


def _resample_tasks(
    tasks: Sequence[Runs], resamples: int, seed: int, anchors: Sequence[Anchors | None] = ()
) -> NDArray[np.float64]:
    """Return the resampled scores of all runs of all tasks, shape (resamples, runs)."""
    scales = anchors or [None] * len(tasks)
    drawn = []
    for number, (runs, scale) in enumerate(zip(tasks, scales, strict=True)):
        points = _resample_runs(runs, resamples, seed + number)
        drawn.append(points if scale is None else scale.rescale(points, seed + number))
    return np.concatenate(drawn, axis=1)


def _resample_runs(
    runs: Runs, resamples: int, seed: int, shared: int | None = None
) -> NDArray[np.float64]:
    """Return the means of the runs drawn in every resample, shape (resamples, runs).

    Args:
        runs: The runs of one task.
        resamples: Number of resamples.
        seed: Seed of the draws.
        shared: Seed of the draws of episodes, if those of other runs shall be the same.
    """
    if not isinstance(resamples, int | np.integer) or resamples < 1:
        raise ConfigError(f"resamples are a positive integer, not {resamples!r:.60}")
    rng, arrays = np.random.default_rng(seed), _arrays(runs)
    chosen = rng.integers(len(arrays), size=(resamples, len(arrays)))
    if _equally_long(arrays):
        table = np.stack(arrays)
        if shared is not None:
            rng = np.random.default_rng([shared, table.shape[1]])
        found = _resample_episodes(table, resamples, rng)
        return np.take_along_axis(found, chosen, axis=1)
    means = np.empty(chosen.shape)
    for number, run in enumerate(arrays):
        where = chosen == number
        means[where] = _resample_episodes(run[None], int(where.sum()), rng)[:, 0]
    return means


def _resample_episodes(
    table: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the means of runs (runs, episodes) over common draws, shape (resamples, runs)."""
    runs, episodes = table.shape
    means = np.empty((resamples, runs))
    step = max(1, AT_ONCE // episodes)
    for start in range(0, resamples, step):
        part = means[start : start + step]
        draws = rng.integers(episodes, size=(len(part), episodes))
        for number, run in enumerate(table):
            part[:, number] = run[draws].mean(axis=1)
    return means


def performance_profile(tasks: Sequence[Runs], thresholds: ArrayLike) -> NDArray[np.float64]:
    """Return for each threshold the share of runs that score above it (Dolan and Moré's profile).

    It is the score distribution of Agarwal et al. over all runs of all tasks.
    """
    return np.asarray(_above(_run_means(tasks)[None], thresholds)[0])


def _above(scores: NDArray[np.float64], thresholds: ArrayLike) -> NDArray[np.float64]:
    """Return the share of each row's scores that is above each threshold."""
    taus = np.atleast_1d(np.asarray(thresholds, np.float64))
    return np.stack([(scores > tau).mean(axis=1) for tau in taus], axis=1)


def profile_band(
    tasks: Sequence[Runs],
    thresholds: ArrayLike,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    anchors: Sequence[Anchors | None] = (),
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return a performance profile and a pointwise band: profile, low, high.

    The arguments are those of `aggregate`; runs are resampled within their tasks.
    """
    shares = _above(_resample_tasks(tasks, resamples, seed, anchors), thresholds)
    low, high = np.quantile(shares, _tails(level), axis=0)
    return performance_profile(tasks, thresholds), low, high


def probability_of_improvement(x: Runs, y: Runs) -> float:
    """Return the probability that a run of x scores higher than one of y, ties counting half.

    It is the Mann–Whitney statistic U divided by the number of pairs.
    """
    return float(_improvement(_run_means([x]), _run_means([y])))


def _improvement(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of improvement for the scores in each row."""
    found = scipy.stats.mannwhitneyu(x, y, method="asymptotic", axis=-1).statistic
    return np.asarray(found / (x.shape[-1] * y.shape[-1]))


def improvement_interval(
    x: Sequence[Runs],
    y: Sequence[Runs],
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean over tasks of the probability of improvement, with a bootstrap interval.

    Runs are resampled within their tasks, separately for x and y; episodes are the same for both
    where both have as many. How a task's points are scaled does not matter here: both have the same
    scale.

    Args:
        x: Runs by task.
        y: The other's runs by the same tasks; there may be more or fewer of them.
        level: Confidence level.
        resamples: Number of resamples.
        seed: Seed of the resampling.
    """
    if len(x) != len(y) or not x:
        raise ConfigError(f"{len(x)} and {len(y)} tasks cannot be compared; give the same tasks")
    pairs = list(zip(x, y, strict=True))
    estimate = float(np.mean([probability_of_improvement(a, b) for a, b in pairs]))
    drawn = [
        _improvement(
            _resample_runs(mine, resamples, seed + 2 * n, seed + 2 * n),
            _resample_runs(theirs, resamples, seed + 2 * n + 1, seed + 2 * n),
        )
        for n, (mine, theirs) in enumerate(pairs)
    ]
    return _interval(estimate, np.mean(drawn, axis=0), level)


def paired_difference(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> Interval:
    """Return the mean of x - y on common seeds with Student's interval.

    Args:
        x: One value per seed.
        y: The other's values, in the same order of seeds.
        level: Confidence level.

    Raises:
        ConfigError: If there are fewer than two pairs, or x and y differ in length.
    """
    mine, theirs = _values(x), _values(y)
    if mine.size != theirs.size or mine.size < 2:
        raise ConfigError(f"{mine.size} and {theirs.size} values make no pairs; two at least")
    differences = mine - theirs
    mean, reach = float(differences.mean()), _reach(level, differences)
    return Interval(mean, mean - reach, mean + reach)


def difference_interval(x: Runs, y: Runs, level: float = 0.95) -> Interval:
    """Return the mean of x - y over runs that all play the same seeds, with its interval.

    It reaches as far as Student's interval of the differences by seed and Welch's of the runs'
    means, or Student's if one side has several runs, in quadrature. A single run counts as if
    another training gave the same; with one run on both sides this is `paired_difference`.

    Args:
        x: The values by run, in one order of seeds.
        y: The other's, on the same seeds; there may be more or fewer runs.
        level: Confidence level.

    Raises:
        ConfigError: If there are fewer than two seeds, or runs differ in length.
    """
    mine, theirs = _arrays(x), _arrays(y)
    sizes = {run.size for run in (*mine, *theirs)}
    if len(sizes) > 1:
        raise ConfigError("differences need runs on the same seeds, at least one run on each side")
    mean, low, _ = paired_difference(np.mean(mine, axis=0), np.mean(theirs, axis=0), level)
    means = [np.array([run.mean() for run in runs]) for runs in (mine, theirs)]
    reach = math.hypot(mean - low, _reach(level, *means))
    return Interval(mean, mean - reach, mean + reach)
