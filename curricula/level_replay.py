"""Prioritised level replay (PLR): levels that taught the learner much are played again.

Jiang, Grefenstette, Rocktäschel: Prioritized Level Replay, ICML 2021; and for `robust`, Jiang,
Dennis and others: Replay-Guided Adversarial Environment Design, NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.rng import MAX_SEED, Stream
from piase_gym.curricula.directors import (
    StepChoice,
    check_count,
    check_flag,
    check_positive,
    check_share,
    check_word,
    sample_index,
)
from piase_gym.curricula.progress import MOST, Remembered
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.tasks import Task, TaskDirector, require_orders, sample_index_evenly
from piase_gym.errors import ConfigError
from piase_gym.runs.history import Episode

SCORES = ("gae", "positive", "return")
PRIORITIES = ("rank", "proportional")


@dataclass
class KnownTask(Remembered):
    """A task that has a score.

    Attributes:
        task: The task.
        score: Its score.
        last: The number of the last draw that chose it.
    """

    task: Task
    score: float
    last: int


@dataclass
class ReplayMemory(Remembered):
    """What prioritised level replay remembers.

    Attributes:
        count: Draws so far.
        known: The tasks that have a score.
        returns: Order of a step -> mean of its returns so far, and how many there were.
    """

    count: int = 0
    known: list[KnownTask] = field(default_factory=list)
    returns: dict[str, tuple[float, int]] = field(default_factory=dict)


class ScoreTable:
    """Known tasks, indexed by task, with arrays of the values that every draw needs.

    Attributes:
        known: The tasks, as they are remembered.
        places: Task -> its index in `known`.
    """

    def __init__(self, known: list[KnownTask]) -> None:
        """Index the tasks that are remembered."""
        self.known = known
        self.places = {one.task: place for place, one in enumerate(known)}
        self._scores = np.array([one.score for one in known], np.float64)
        self._last = np.array([one.last for one in known], np.int64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each task."""
        return self._scores[: len(self.places)]

    def ages(self, count: int) -> NDArray[np.float64]:
        """Return how many draws ago each task was last drawn, after `count` draws."""
        return (count - self._last[: len(self.places)]).astype(np.float64)

    def add(self, new: KnownTask) -> None:
        """Remember one more task."""
        place = len(self.places)
        if place == len(self._scores):
            self._scores = np.concatenate([self._scores, np.zeros(place + 64)])
            self._last = np.concatenate([self._last, np.zeros(place + 64, np.int64)])
        self.known.append(new)
        self._note(place)

    def replace(self, place: int, new: KnownTask) -> None:
        """Remember a task in place of another."""
        del self.places[self.known[place].task]
        self.known[place] = new
        self._note(place)

    def change(self, place: int, *, score: float | None = None, last: int | None = None) -> None:
        """Change the score of a task, or the number of the draw that chose it last."""
        known = self.known[place]
        known.score = known.score if score is None else score
        known.last = known.last if last is None else last
        self._note(place)

    def _note(self, place: int) -> None:
        known = self.known[place]
        self.places[known.task] = place
        self._scores[place], self._last[place] = known.score, known.last


class PrioritisedLevelReplay(TaskDirector[ReplayMemory]):
    """Replays, with probability `replay`, a task that has a score, and else draws a new one.

    Replayed tasks are drawn by ``(1 - staleness) P_S + staleness P_C``. `P_S` is proportional to
    ``h ** (1 / temperature)``, where h is one over the rank of the score, or the score itself;
    `P_C` is proportional to the number of draws since a task was last drawn. A score is the mean
    over an episode's steps of the absolute value of the generalised advantage, which the learner
    reports (`CurriculumController.report_advantages`).

    Args:
        over: ``levels``: tasks are levels (seeds), with `settings` if there are any; or ``steps``:
            tasks are the steps of the curriculum.
        replay: The probability of replay. Over steps, all is replay once every step has a score.
        warm_up: How many tasks need a score before any is replayed; over steps, at most all.
        temperature: Above 0; the smaller it is, the more the tasks with high scores are preferred.
        staleness: The share of `P_C`.
        priority: ``rank`` or ``proportional``.
        score: ``gae``; ``positive``: the mean of advantages with those below 0 counted as 0; or
            ``return``: the distance of the return from the mean of the earlier returns at that
            step, which needs no learner.
        rate: The share by which a task's score moves towards that of its last episode.
        robust: Whether learners should learn from replayed tasks alone.
        buffer: How many tasks are remembered. When there is no room, a new task replaces the
            least probable one, unless its score is lower than that one's.
        step: The step of new levels; by default it is drawn uniformly from all steps.
        settings: Fields of the config, drawn uniformly for a new level: name -> [least, largest].
    """

    Memory: ClassVar[Any] = ReplayMemory

    def __init__(
        self,
        over: str = "levels",
        replay: float = 0.5,
        warm_up: int = 50,
        temperature: float = 0.1,
        staleness: float = 0.1,
        priority: str = "rank",
        score: str = "gae",
        rate: float = 1.0,
        robust: bool = False,
        buffer: int = 1000,
        step: int | str | None = None,
        settings: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Check the options.

        Raises:
            ConfigError: If one is not allowed.
        """
        super().__init__(settings, step, check_word("over", over, ("levels", "steps")))
        self.replay, self.warm_up = check_share("replay", replay), check_count("warm_up", warm_up)
        self.temperature = check_positive("temperature", temperature)
        self.staleness = check_share("staleness", staleness)
        self.priority = check_word("priority", priority, PRIORITIES)
        self.score_by = check_word("score", score, SCORES)
        self.rate = check_share("rate", rate, above=True)
        self.robust, self.buffer = check_flag("robust", robust), check_count("buffer", buffer)
        if self.levels and self.warm_up > self.buffer:
            raise ConfigError(f"warm_up is {warm_up}, and the buffer has room for {buffer} levels")
        if self.robust and self.replay == 0.0:
            raise ConfigError("robust learns from replayed levels alone, so replay is above 0")
        self._tables: dict[str, ScoreTable] = {}
        self.metrics = ("mean_return",) if self.score_by == "return" else ()
        self.reads_advantages = self.score_by != "return"

    def check_memory(self, memory: ReplayMemory) -> bool:
        """Return whether what was remembered is allowed."""
        right = 0 <= memory.count <= MOST
        for known in memory.known:
            right &= known.score >= 0.0 and 0 <= known.last <= memory.count
            right &= len(known.task.settings) == len(self.ranges)
            right &= (known.task.seed is not None) == self.levels
            right &= 0 <= (known.task.seed or 0) <= MAX_SEED
        tasks = [known.task for known in memory.known]
        right &= len(set(tasks)) == len(tasks) <= self.buffer
        right &= all(0 <= count <= MOST for _, count in memory.returns.values())
        return right

    def check_orders(self, memory: ReplayMemory, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the steps of known tasks are there."""
        require_orders((known.task.order for known in memory.known), curriculum)

    # -- drawing ---------------------------------------------------------------------------

    def propose(self, agent: str, stream: Stream) -> StepChoice:
        """Draw a known task or a new one."""
        state, again = self.state(agent), stream.uniform()
        state.count += 1
        unseen = self._unseen(agent)
        steps = len(self.curriculum(agent).steps)
        enough = len(state.known) >= (self.warm_up if self.levels else min(self.warm_up, steps))
        if state.known and enough and (unseen == [] or again < self.replay):
            weights = self.task_weights(agent)
            place = sample_index(weights.tolist(), stream.uniform())
            self._table(agent).change(place, last=state.count)
            values = {
                "replayed": True,
                "draw": state.count,
                "probability": round(float(weights[place]), 12),
            }
            return self.choose(state.known[place].task, values)
        task = self.new_task(agent, stream)
        if unseen:
            task = Task(unseen[sample_index_evenly(len(unseen), stream)])
        values = {"replayed": False, "draw": state.count}
        return self.choose(task, values, learn=not self.robust)

    def _unseen(self, agent: str) -> list[int] | None:
        """Return the steps that have no score yet; ``None`` for levels, which never run out."""
        if self.levels:
            return None
        seen = {known.task.order for known in self.state(agent).known}
        return [step.order for step in self.curriculum(agent).steps if step.order not in seen]

    def task_weights(self, agent: str) -> NDArray[np.float64]:
        """Return the probability of each known task in a replay."""
        table, count = self._table(agent), self.state(agent).count
        scores, ages = table.scores, table.ages(count)
        return replay_weights(scores, ages, self.temperature, self.staleness, self.priority)

    def _table(self, agent: str) -> ScoreTable:
        """Return the table of what is remembered about an agent."""
        known, table = self.state(agent).known, self._tables.get(agent)
        if table is None or table.known is not known:
            table = self._tables[agent] = ScoreTable(known)
        return table

    # -- scores ----------------------------------------------------------------------------

    def observe_choice(self, agent: str, choice: StepChoice, episode: Episode) -> None:
        """Score an episode by its return, if scores are based on returns."""
        if self.score_by == "return":
            returns, order = self.state(agent).returns, str(choice.order)
            mean, count = returns.get(order, (episode.total, 0))
            self.take_score(agent, choice, episode, abs(episode.total - mean))
            returns[order] = mean + (episode.total - mean) / (count + 1), count + 1

    def score(
        self, agent: str, choice: StepChoice, episode: Episode, advantages: NDArray[Any]
    ) -> None:
        """Score an episode by the advantages of its steps."""
        given = np.asarray(advantages, np.float64)
        parts = np.maximum(given, 0.0) if self.score_by == "positive" else np.abs(given)
        self.take_score(agent, choice, episode, float(parts.mean()))

    def take_score(self, agent: str, choice: StepChoice, episode: Episode, score: float) -> None:
        """Remember the score of a task; if there is no room, the rule of `buffer` applies."""
        state, table = self.state(agent), self._table(agent)
        task = self.task_of(choice, episode)
        place = table.places.get(task)
        if place is not None:
            before = state.known[place].score
            table.change(place, score=before + self.rate * (score - before))
            return
        drawn = choice.values.get("draw")
        new = KnownTask(task, score, drawn if isinstance(drawn, int) else state.count)
        if len(state.known) < self.buffer:
            table.add(new)
            return
        least = int(np.argmin(self.task_weights(agent)))
        if score >= state.known[least].score:
            table.replace(least, new)

    def check_curriculum(self, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the buffer has room for all steps, and that the named step exists."""
        super().check_curriculum(curriculum)
        if not self.levels and len(curriculum.steps) > self.buffer:
            raise ConfigError(f"buffer is {self.buffer}; there are {len(curriculum.steps)} steps")


def replay_weights(
    scores: NDArray[np.float64],
    ages: NDArray[np.float64],
    temperature: float,
    staleness: float,
    priority: str = "rank",
) -> NDArray[np.float64]:
    """Return the probabilities of tasks in a replay.

    Args:
        scores: At least 0; of equal scores the first ranks higher.
        ages: How many draws ago each was last drawn.
        temperature: The temperature of the scores.
        staleness: The share of the probability that depends on the ages.
        priority: ``rank`` or ``proportional``.

    Example:
        >>> scores, ages = np.array([0.2, 0.8, 0.4]), np.array([1.0, 0.0, 3.0])
        >>> replay_weights(scores, ages, 1.0, 0.0).round(3).tolist()
        [0.182, 0.545, 0.273]
        >>> replay_weights(scores, ages, 1.0, 1.0).round(3).tolist()
        [0.25, 0.0, 0.75]
    """
    if priority == "rank":
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        values = 1.0 / ranks
    else:
        most = scores.max()
        values = scores / most if most > 0.0 else np.ones(len(scores))
    by_score = values ** (1.0 / temperature)
    by_score /= by_score.sum()
    total = ages.sum()
    if total <= 0.0:
        return by_score
    found: NDArray[np.float64] = (1.0 - staleness) * by_score + staleness * ages / total
    return found
