"""ALP-GMM: a mixture of Gaussians finds where in a space of tasks success is changing.

Portelas, Colas, Hofmann, Oudeyer: Teacher algorithms for curriculum learning of Deep RL in
continuously parameterized environments, CoRL 2019. The mixture is scikit-learn's.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from piase_gym.core.rng import MASK, Stream, mix64
from piase_gym.curricula.directors import (
    StepChoice,
    check_count,
    check_share,
    mix_evenly,
    sample_index,
)
from piase_gym.curricula.progress import MOST, Remembered
from piase_gym.curricula.tasks import Task, TaskDirector, outcome_of
from piase_gym.errors import ConfigError, MissingExtraError
from piase_gym.runs.history import Episode


@dataclass
class Gaussian(Remembered):
    """A component of a mixture over places and their learning progress, which comes last.

    Attributes:
        mean: Its mean.
        covariance: Its covariance, row by row.
    """

    mean: list[float]
    covariance: list[list[float]]


@dataclass
class ProgressMemory(Remembered):
    """What ALP-GMM remembers.

    Attributes:
        places: Where the tasks of the last episodes were.
        outcomes: How they went.
        progress: The absolute learning progress of each.
        count: Episodes so far.
        mixture: The mixture, once one was fitted.
    """

    places: list[list[float]] = field(default_factory=list)
    outcomes: list[float] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)
    count: int = 0
    mixture: list[Gaussian] = field(default_factory=list)


class Places:
    """The places of a memory as rows of an array: looking for the nearest copies nothing.

    Attributes:
        memory: The memory that the places belong to.
        end: How many rows are in use.
    """

    def __init__(self, memory: ProgressMemory, size: int) -> None:
        """Copy the remembered places, of `size` numbers each."""
        self.memory = memory
        self.end = len(memory.places)
        self._rows = np.array(memory.places, dtype=np.float64).reshape(self.end, size)

    def last(self, most: int) -> NDArray[np.float64]:
        """Return up to `most` of the newest places, the oldest first."""
        return self._rows[max(self.end - most, 0) : self.end]

    def add(self, place: Sequence[float], most: int) -> None:
        """Add a place; only the newest `most` have to be kept."""
        if self.end == len(self._rows):
            kept = self.last(most)
            self._rows = np.concatenate([kept, np.empty_like(kept), np.empty((64, len(place)))])
            self.end = len(kept)
        self._rows[self.end] = place
        self.end += 1


class ALPGMM(TaskDirector[ProgressMemory]):
    """Draws settings where the outcome differs most from earlier outcomes.

    The absolute learning progress (ALP) of an episode is the distance of its outcome from that of
    the nearest earlier task. Every `period` episodes mixtures of Gaussians are fitted to the last
    `period` tasks with their ALP, and the one with the least AIC is kept. A Gaussian is drawn in
    proportion to its mean ALP, and a task from that Gaussian. Distances are measured in the unit
    cube, to which each range is scaled.

    Args:
        settings: Fields of the config: name -> [least, largest]. Without any, the place of a step
            in the curriculum is drawn.
        step: The step whose settings are drawn; by default the last.
        measure: The outcome: ``return`` or ``success``.
        period: Episodes between two fits; before the first fit all draws are uniform.
        components: The least and the largest number of Gaussians.
        random: The share of draws that are uniform.
        history: How many past episodes are searched for the nearest task.
    """

    Memory: ClassVar[Any] = ProgressMemory

    def __init__(
        self,
        settings: Mapping[str, Sequence[float]] | None = None,
        step: int | str | None = None,
        measure: str = "return",
        period: int = 250,
        components: Sequence[int] = (2, 10),
        random: float = 0.2,
        history: int = 10_000,
    ) -> None:
        """Check the options.

        Raises:
            ConfigError: If one is not allowed.
            MissingExtraError: If scikit-learn is not installed.
        """
        if importlib.util.find_spec("sklearn") is None:
            raise MissingExtraError("the director alp_gmm", "teachers")
        super().__init__(settings, step)
        self.take_measure(measure)
        self.period, self.random = check_count("period", period), check_share("random", random)
        if not isinstance(components, Sequence) or len(components) != 2:
            raise ConfigError(f"components are [least, largest], not {components!r:.80}")
        self.fewest, self.most = (check_count("components", number) for number in components)
        if not self.fewest <= self.most <= self.period:
            raise ConfigError(
                f"components are [least, largest], at most period ({period}), not {components!r}"
            )
        self.history = check_count("history", history)
        if self.history < self.period:
            raise ConfigError(f"history ({history}) is at least period ({period})")
        self._places: dict[str, Places] = {}

    def check_memory(self, memory: ProgressMemory) -> bool:
        """Return whether what was remembered is allowed."""
        size, length = max(len(self.ranges), 1), len(memory.places)
        right = length == len(memory.outcomes) == len(memory.progress) <= self.history
        right &= length <= memory.count <= MOST and all(len(p) == size for p in memory.places)
        right &= all(-1e300 < x < 1e300 for place in memory.places for x in place)
        right &= all(-1e300 < x < 1e300 for x in (*memory.outcomes, *memory.progress))
        for part in memory.mixture:
            rows = [part.mean, *part.covariance]
            square = len(rows) == size + 2 and all(len(row) == size + 1 for row in rows)
            right &= square and _is_covariance(part.covariance)
        return right

    # -- drawing ---------------------------------------------------------------------------

    def propose(self, agent: str, stream: Stream) -> StepChoice:
        """Draw a task, uniformly or from a Gaussian."""
        state, evenly = self.state(agent), stream.uniform()
        size = max(len(self.ranges), 1)
        if not state.mixture or evenly < self.random:
            place = [stream.uniform() for _ in range(size)]
            return self.choose(self._task(agent, place), {"random": True})
        weights = component_weights([part.mean[-1] for part in state.mixture])
        number = sample_index(weights, stream.uniform())
        part = state.mixture[number]
        normal = np.array([stream.normal() for _ in range(size)])
        covariance = np.array(part.covariance)[:size, :size]
        drawn = np.array(part.mean)[:size] + np.linalg.cholesky(covariance) @ normal
        values = {"random": False, "component": number, "probability": round(weights[number], 12)}
        return self.choose(self._task(agent, drawn.tolist()), values)

    def _task(self, agent: str, place: Sequence[float]) -> Task:
        """Return the task at a place, which is clipped to the unit cube."""
        if self.ranges:
            return self.task_at(agent, place)
        steps = self.curriculum(agent).steps
        number = min(int(min(max(place[0], 0.0), 1.0) * len(steps)), len(steps) - 1)
        return Task(steps[number].order)

    def place_of(self, agent: str, task: Task) -> list[float]:
        """Return the place of a task in the unit cube."""
        if self.ranges:
            return self.ranges.place(task.settings)
        orders = [step.order for step in self.curriculum(agent).steps]
        return [(orders.index(task.order) + 0.5) / len(orders)]

    # -- learning --------------------------------------------------------------------------

    def learn(self, agent: str, task: Task, episode: Episode) -> None:
        """Note the learning progress of an episode; fit the mixture if it is time."""
        if self.random >= 1.0:  # no draw would use it
            return
        state = self.state(agent)
        place, outcome = self.place_of(agent, task), outcome_of(episode, self.measure)
        places = self._places.get(agent)
        if places is None or places.memory is not state:
            places = self._places[agent] = Places(state, len(place))
        known = places.last(self.history)
        state.progress.append(learning_progress(known, state.outcomes, place, outcome))
        places.add(place, self.history)
        state.places.append(place)
        state.outcomes.append(outcome)
        state.count += 1
        for kept in (state.places, state.outcomes, state.progress):
            del kept[: -self.history]
        if state.count % self.period == 0:
            rows = np.column_stack([state.places, state.progress])[-self.period :]
            seed = mix64((mix64(self.seed) + state.count) & MASK) >> 33
            state.mixture = fit_mixture(rows, self.fewest, self.most, seed)


def learning_progress(
    places: ArrayLike, outcomes: Sequence[float], place: Sequence[float], outcome: float
) -> float:
    """Return the distance of an outcome from that at the nearest place; ties go to the newest.

    Example:
        >>> learning_progress([[0.1], [0.9]], [0.0, 1.0], [0.8], 0.25)
        0.75
    """
    if not outcomes:
        return 0.0
    distances = ((np.asarray(places) - np.asarray(place)) ** 2).sum(axis=1)
    nearest = len(outcomes) - 1 - int(np.argmin(distances[::-1]))
    return abs(outcome - outcomes[nearest])


def component_weights(means: Sequence[float]) -> list[float]:
    """Return the probability of each Gaussian, by its mean progress; uniform if none has any."""
    return mix_evenly([max(mean, 0.0) for mean in means], 0.0)


def fit_mixture(rows: NDArray[np.float64], fewest: int, most: int, seed: int) -> list[Gaussian]:
    """Return the mixture with the least AIC.

    Args:
        rows: Places with their progress.
        fewest: The least number of Gaussians.
        most: The largest number.
        seed: The seed of scikit-learn's draws.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    fitted = []
    # More threads only wait for each other here. Warnings are about fewer rows than Gaussians.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for number in range(fewest, most + 1):
            mixture = GaussianMixture(number, covariance_type="full", random_state=seed).fit(rows)
            fitted.append((float(mixture.aic(rows)), number, mixture))
    best = min(fitted, key=lambda entry: entry[:2])[2]
    return [
        Gaussian(mean.tolist(), covariance.tolist())
        for mean, covariance in zip(best.means_, best.covariances_, strict=True)
    ]


def _is_covariance(rows: Sequence[Sequence[float]]) -> bool:
    """Return whether a matrix has a Cholesky factor."""
    matrix = np.array(rows)
    if not np.allclose(matrix, matrix.T):
        return False
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
