"""Self-paced learning: a distribution of tasks moves from an easy one to the target.

Klink, D'Eramo, Peters, Pajarinen: Self-Paced Deep Reinforcement Learning, NeurIPS 2020. At each
update the distribution p becomes the one that maximises ``E_p[V] - alpha KL(p || target)`` among
those with ``KL(p || old p) <= max_kl``; ``alpha`` is 0 at first and then ``zeta`` times the mean
outcome over ``KL(old p || target)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.rng import Stream
from piase_gym.curricula.directors import StepChoice, check_count, check_positive, read_weights
from piase_gym.curricula.progress import MOST, Remembered
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.tasks import TaskDirector, outcome_of
from piase_gym.errors import ConfigError, ProgressError
from piase_gym.runs.history import Episode

Array = NDArray[np.float64]
DENSITY = "log_density"
"""The key under which `StepChoice.values` has the density from which settings were drawn."""
MAIN = 0.9
"""The share that the first step has at the beginning, and the last one in the target."""


@dataclass
class PaceMemory(Remembered):
    """What self-paced learning remembers.

    Attributes:
        shares: The probability of each step, where steps are drawn.
        mean: The mean of the Gaussian, where settings are drawn.
        factor: The Cholesky factor of its covariance (lower triangle), row by row.
        places: The tasks since the last update: indices of steps, or places in the unit cube.
        outcomes: How they went.
        densities: For settings: the logarithm of the density from which each was drawn, which may
            be that of an earlier distribution.
        values: For steps: the mean outcome of each when last played; ``None`` before that.
        updates: Updates so far.
    """

    shares: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    factor: list[list[float]] = field(default_factory=list)
    places: list[list[float]] = field(default_factory=list)
    outcomes: list[float] = field(default_factory=list)
    densities: list[float] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    updates: int = 0


class SelfPaced(TaskDirector[PaceMemory]):
    """Draws tasks from a distribution that moves to the target as fast as the outcomes allow.

    Over steps it is a table with a closed-form update. Over settings it is a Gaussian in the unit
    cube, to which each range is scaled; places that are drawn outside are clipped to the cube.
    Its deviations do not fall below the smaller of those of `start` and `target`.

    Args:
        settings: Fields of the config: name -> [least, largest]. Without any, steps are drawn.
        step: The step whose settings are drawn; by default the last.
        start: For settings: name -> [mean, standard deviation], for all of them. For steps: order
            -> weight; by default the first step has nine tenths.
        target: In the same form; by default the last step has nine tenths, and settings have the
            middle of their range as mean and a quarter of it as standard deviation.
        measure: The outcome: ``success`` or ``return``.
        period: Episodes between two updates.
        max_kl: How far an update may go.
        zeta: How strongly the target attracts.
        warm_up: For how many updates it does not attract at all.
    """

    Memory: ClassVar[Any] = PaceMemory

    def __init__(
        self,
        settings: Mapping[str, Sequence[float]] | None = None,
        step: int | str | None = None,
        start: Mapping[Any, Any] | None = None,
        target: Mapping[Any, Any] | None = None,
        measure: str = "success",
        period: int = 50,
        max_kl: float = 0.1,
        zeta: float = 1.0,
        warm_up: int = 0,
    ) -> None:
        """Check the options.

        Raises:
            ConfigError: If one is not allowed.
        """
        super().__init__(settings, step)
        self.take_measure(measure)
        self.period, self.max_kl = check_count("period", period), check_positive("max_kl", max_kl)
        self.zeta, self.warm_up = check_positive("zeta", zeta), check_count("warm_up", warm_up, 0)
        self._weights: tuple[dict[int, float] | None, dict[int, float] | None] = (None, None)
        if self.ranges:
            if start is None:
                raise ConfigError(
                    "settings begin somewhere: give start={field: [mean, standard deviation]}, "
                    f"for {', '.join(self.ranges.names)}"
                )
            quarter = [[(low + high) / 2, (high - low) / 4] for low, high in self.ranges.pairs]
            middle = dict(zip(self.ranges.names, quarter, strict=True))
            self._gaussians = (
                self._gaussian("start", start),
                self._gaussian("target", middle if target is None else target),
            )
        else:
            self._weights = (
                None if start is None else read_weights(start),
                None if target is None else read_weights(target),
            )

    def _gaussian(self, name: str, given: Any) -> tuple[Array, Array]:
        """Return the mean and the standard deviations in the unit cube."""
        if not isinstance(given, Mapping) or set(given) != set(self.ranges.names):
            names = ", ".join(self.ranges.names)
            raise ConfigError(f"{name} has [mean, standard deviation] for each of: {names}")
        means, spreads = [], []
        for field_name, (low, high) in zip(self.ranges.names, self.ranges.pairs, strict=True):
            pair = given[field_name]
            try:
                mean, spread = (float(number) for number in pair)
            except (TypeError, ValueError):
                mean = spread = np.nan
            if not (low <= mean <= high and 0.0 < spread < np.inf):
                raise ConfigError(
                    f"{name}: {field_name} has [mean, standard deviation], a mean from {low} to "
                    f"{high} and a deviation above 0, not {pair!r:.80}"
                )
            means.append(mean)
            spreads.append(spread)
        return np.array(self.ranges.place(means)), np.array(spreads) / self.ranges.lengths

    def check_curriculum(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the named steps exist."""
        super().check_curriculum(curriculum)
        if not self.ranges:
            for which, name in enumerate(("start", "target")):
                self._table(curriculum, which, name)

    def _table(self, curriculum: DevelopmentalCurriculum, which: int, name: str) -> Array:
        """Return the distribution of steps at the start (0), or the target (1)."""
        orders, weights = [step.order for step in curriculum.steps], self._weights[which]
        if weights is None:
            found = np.full(len(orders), (1.0 - MAIN) / max(len(orders) - 1, 1))
            found[-which] = MAIN
            return np.asarray(found / found.sum(), np.float64)
        if set(weights) != set(orders) or not all(0.0 < w < np.inf for w in weights.values()):
            raise ConfigError(
                f"{name} has a weight above 0 for each step ({', '.join(map(str, orders))}), "
                f"not {weights!r:.80}"
            )
        found = np.array([weights[order] for order in orders])
        return np.asarray(found / found.sum(), np.float64)

    # -- what is remembered ----------------------------------------------------------------

    def state(self, agent: str) -> PaceMemory:
        """Return what is remembered about an agent, at first with the start distribution."""
        found = super().state(agent)
        if self.ranges and not found.mean:
            mean, spread = self._gaussians[0]
            found.mean, found.factor = mean.tolist(), np.diag(spread).tolist()
        elif not self.ranges and not found.shares:
            found.shares = self._table(self.curriculum(agent), 0, "start").tolist()
            found.values = [None] * len(found.shares)
        return found

    def check_memory(self, memory: PaceMemory) -> bool:
        """Return whether what was remembered is allowed."""
        size = len(self.ranges)
        right = len(memory.places) == len(memory.outcomes) < self.period
        right &= 0 <= memory.updates <= MOST and len(memory.values) == len(memory.shares)
        right &= len(memory.densities) == (len(memory.places) if size else 0)
        right &= all(len(place) == max(size, 1) for place in memory.places)
        right &= not memory.shares or (
            not size and min(memory.shares) > 0.0 and abs(sum_in_order(memory.shares) - 1.0) < 1e-6
        )
        if not size:
            right &= all(0 <= place[0] < len(memory.shares) for place in memory.places)
        if memory.mean or memory.factor:
            right &= len(memory.mean) == len(memory.factor) == size
            right &= all(len(row) == size for row in memory.factor)
            right &= all(row[n] > 0.0 for n, row in enumerate(memory.factor) if len(row) > n)
        return right

    def check_orders(self, memory: PaceMemory, curriculum: DevelopmentalCurriculum) -> None:
        """Check that there is a share for each step."""
        if memory.shares and len(memory.shares) != len(curriculum.steps):
            raise ProgressError("this progress is damaged: teacher: there is a share for each step")

    # -- drawing ---------------------------------------------------------------------------

    def weights(self, agent: str) -> Sequence[float]:
        """Return the probability of each step."""
        return self.state(agent).shares

    def propose(self, agent: str, stream: Stream) -> StepChoice:
        """Draw a task from the distribution."""
        if not self.ranges:
            return self.draw_step(agent, stream)
        state = self.state(agent)
        normal = np.array([stream.normal() for _ in state.mean])
        place = np.array(state.mean) + np.array(state.factor) @ normal
        task = self.task_at(agent, place.tolist())
        drawn = np.array([self.ranges.place(task.settings)])
        gauss = np.array(state.mean), np.array(state.factor)
        values = {**self._logged_values(state), DENSITY: float(log_density(gauss, drawn)[0])}
        return self.choose(task, values)

    def _logged_values(self, state: PaceMemory) -> dict[str, Any]:
        """Return what is logged about the Gaussian."""
        spreads = np.sqrt((np.array(state.factor) ** 2).sum(axis=1))
        rows = zip(self.ranges.names, state.mean, spreads.tolist(), strict=True)
        values = {}
        for name, mean, spread in rows:
            values[f"mean_{name}"], values[f"spread_{name}"] = round(mean, 12), round(spread, 12)
        return values

    # -- learning --------------------------------------------------------------------------

    def observe_choice(self, agent: str, choice: StepChoice, episode: Episode) -> None:
        """Note how an episode went; move the distribution if it is time."""
        state = self.state(agent)
        if self.ranges:
            place = self.ranges.place(choice.settings)
            state.densities.append(float(choice.values[DENSITY] or 0.0))
        else:
            place = [[s.order for s in self.curriculum(agent).steps].index(choice.order)]
        state.places.append([float(number) for number in place])
        state.outcomes.append(outcome_of(episode, self.measure))
        if len(state.outcomes) < self.period:
            return
        state.updates += 1
        if self.ranges:
            self._move_gaussian(state)
        else:
            self._move_table(state, self._table(self.curriculum(agent), 1, "target"))
        state.places, state.outcomes, state.densities = [], [], []

    def _alpha(self, state: PaceMemory, distance: float) -> float:
        """Return how strongly the target attracts now; `distance` is the divergence from it."""
        if state.updates <= self.warm_up:
            return 0.0
        return self.zeta * max(float(np.mean(state.outcomes)), 0.0) / max(distance, 1e-9)

    def _move_table(self, state: PaceMemory, target: Array) -> None:
        """Move the probabilities of steps."""
        places, outcomes = np.array(state.places)[:, 0], np.array(state.outcomes)
        for number in range(len(state.shares)):
            if (places == number).any():
                state.values[number] = float(outcomes[places == number].mean())
        known = [value for value in state.values if value is not None]
        middle = sum_in_order(known) / len(known)
        values = np.array([middle if value is None else value for value in state.values])
        old = np.array(state.shares)
        alpha = self._alpha(state, divergence(old, target))
        state.shares = move_table(old, target, values, alpha, self.max_kl).tolist()

    def _move_gaussian(self, state: PaceMemory) -> None:
        """Move the Gaussian of settings."""
        old = np.array(state.mean), np.array(state.factor)
        (_, first), (mean, spread) = self._gaussians
        target = mean, np.diag(spread)
        alpha = self._alpha(state, gaussian_divergence(old, target))
        samples = Samples(*map(np.array, (state.places, state.densities, state.outcomes)))
        least = np.minimum(first, spread)
        moved = move_gaussian(old, target, samples, alpha, self.max_kl, least)
        state.mean, state.factor = moved[0].tolist(), moved[1].tolist()


# -- tables --------------------------------------------------------------------------------


def divergence(one: Array, other: Array) -> float:
    """Return KL(one || other) of two tables of positive probabilities."""
    return float((one * np.log(one / other)).sum())


def move_table(old: Array, target: Array, values: Array, alpha: float, max_kl: float) -> Array:
    """Return the p near `old` that maximises ``p @ values - alpha KL(p || target)``.

    With a multiplier eta for ``KL(p || old) <= max_kl``, log p is, up to a constant,
    ``(values + alpha log target + eta log old) / (alpha + eta)``; eta is 0 where that suffices.

    Args:
        old: The table, all positive.
        target: The target, all positive.
        values: The value of each entry.
        alpha: The weight of the target.
        max_kl: The largest divergence from `old`.

    Example:
        >>> even = np.array([0.5, 0.5])
        >>> move_table(even, np.array([0.1, 0.9]), np.zeros(2), 1.0, 10.0).round(3).tolist()
        [0.1, 0.9]
    """
    # A unit for rewards: eta, which is found below, is in proportion to them.
    unit = max(1.0, float(np.abs(values).max()))
    values, alpha = values / unit, alpha / unit

    def at(eta: float) -> Array:
        logs = (values + alpha * np.log(target) + eta * np.log(old)) / (alpha + eta)
        # An entry that would be 0 could never come back.
        found = np.maximum(np.exp(logs - logsumexp(logs)), 1e-12)
        return np.asarray(found / found.sum(), np.float64)

    def excess(log_eta: float) -> float:
        return divergence(at(float(np.exp(log_eta))), old) - max_kl

    low, high = -30.0, 30.0
    if alpha > 0.0 and divergence(at(0.0), old) <= max_kl:
        return at(0.0)
    if excess(low) <= 0.0:
        return at(float(np.exp(low)))
    return at(float(np.exp(brentq(excess, low, high, xtol=1e-12))))


# -- Gaussians -----------------------------------------------------------------------------

Gauss = tuple[Array, Array]
"""A mean, and the Cholesky factor of the covariance (lower triangle)."""


def gaussian_divergence(one: Gauss, other: Gauss) -> float:
    """Return KL(one || other) of two Gaussians."""
    size = len(one[0])
    scaled = np.linalg.solve(other[1], one[1])
    apart = np.linalg.solve(other[1], other[0] - one[0])
    logs = np.log(np.diag(other[1])).sum() - np.log(np.diag(one[1])).sum()
    return float(0.5 * ((scaled**2).sum() + apart @ apart - size) + logs)


def log_density(gaussian: Gauss, places: Array) -> Array:
    """Return the logarithm of a Gaussian's density at places, up to a constant."""
    mean, factor = gaussian
    apart = np.empty((len(mean), len(places)))
    for row in range(len(mean)):  # a library's solver rounds one place otherwise than many
        before = (factor[row, :row, None] * apart[:row]).sum(axis=0)
        apart[row] = (places[:, row] - mean[row] - before) / factor[row, row]
    return np.asarray(-0.5 * (apart**2).sum(axis=0) - np.log(np.diag(factor)).sum())


class Samples(NamedTuple):
    """Places that were drawn, and what came of them.

    Attributes:
        places: The places, shape (samples, size).
        densities: The logarithm of the density from which each was drawn, as `log_density` has it.
        values: The value of each.
    """

    places: Array
    densities: Array
    values: Array


def gaussian_objective(new: Gauss, target: Gauss, samples: Samples, alpha: float) -> float:
    """Return the mean value, with the samples reweighted for `new`, less alpha KL."""
    ratio = np.exp(log_density(new, samples.places) - samples.densities)
    return float((ratio * samples.values).mean() - alpha * gaussian_divergence(new, target))


def move_gaussian(
    old: Gauss, target: Gauss, samples: Samples, alpha: float, max_kl: float, least: Array
) -> Gauss:
    """Return the Gaussian that maximises `gaussian_objective` with ``KL(new || old) <= max_kl``.

    Args:
        old: The Gaussian.
        target: The target.
        samples: What was drawn from `old`, or from Gaussians before it.
        alpha: The weight of the target.
        max_kl: The largest divergence from `old`.
        least: Below these, the diagonal of the factor does not fall: a Gaussian inside a single
            value of a setting would look best where it is, and never come out again.
    """
    # A unit for rewards: the solver stops at absolute differences.
    unit = max(float(np.abs(samples.values).max()), alpha) or 1.0
    samples, alpha = samples._replace(values=samples.values / unit), alpha / unit
    size = len(old[0])
    rows, columns = np.tril_indices(size, -1)

    def gauss(numbers: Array) -> Gauss:
        """Return the Gaussian for parameters that are 0 for `old`, in units of its spread."""
        factor = np.diag(np.exp(numbers[size : 2 * size]))
        factor[rows, columns] = numbers[2 * size :]
        return old[0] + old[1] @ numbers[:size], old[1] @ factor

    def loss(numbers: Array) -> float:
        return -gaussian_objective(gauss(numbers), target, samples, alpha)

    def room(numbers: Array) -> float:
        return max_kl - gaussian_divergence(gauss(numbers), old)

    # A parameter outside of these bounds would exceed the divergence that is allowed.
    far = float(np.sqrt(2.0 * max_kl))
    narrowest = np.clip(np.log(least / np.diag(old[1])), -max_kl - 0.5, 0.0).tolist()
    sides = [(-far, far)] * size + [(side, far) for side in narrowest] + [(-far, far)] * len(rows)
    first = np.zeros(len(sides))
    options = {"maxiter": 200, "ftol": 1e-10}
    constraint = {"type": "ineq", "fun": room}
    found = minimize(
        loss, first, method="SLSQP", bounds=sides, constraints=constraint, options=options
    )
    moved = np.asarray(found.x, np.float64)
    for _ in range(100):  # takes back what the solver overshoots
        if room(moved) >= -1e-6 * max_kl:
            return gauss(moved) if loss(moved) <= loss(first) else old
        moved *= 0.95
    return old
