"""Learnability: tasks that are won now and then, where there is something to learn.

With success probability p the learnability is p (1 - p). For steps it is that of Tzannetos and
others: Proximal Curriculum for Reinforcement Learning Agents, TMLR 2023; they draw by a softmax of
it, steps are drawn here in proportion to it. For levels: Rutherford and others: No Regrets:
Investigating and Improving Regret Approximations for Curriculum Discovery (Sampling for
Learnability, SFL), NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from piase_gym.core.arithmetic import sum_in_order
from piase_gym.core.rng import MAX_SEED, Stream
from piase_gym.curricula.directors import (
    StepChoice,
    check_count,
    check_share,
    check_word,
    mix_evenly,
)
from piase_gym.curricula.progress import MOST, Remembered
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.tasks import Task, TaskDirector, require_orders, sample_index_evenly
from piase_gym.errors import ConfigError
from piase_gym.runs.history import Episode


@dataclass
class Candidate(Remembered):
    """A level that is being tried.

    Attributes:
        task: The level.
        begun: How often it was drawn.
        ended: How many of its episodes have ended.
        won: How many of those were won.
    """

    task: Task
    begun: int = 0
    ended: int = 0
    won: int = 0


@dataclass
class LearnabilityMemory(Remembered):
    """What learnability sampling remembers.

    Attributes:
        results: Order of a step -> whether its last episodes were won.
        candidates: The levels that are being tried.
        best: The most learnable of the levels that were tried before.
        played: Episodes since `best` was chosen.
    """

    results: dict[str, list[bool]] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    best: list[Task] = field(default_factory=list)
    played: int = 0


class Learnability(TaskDirector[LearnabilityMemory]):
    """Draws tasks by p (1 - p), where p is the share of their episodes that were won.

    Over steps, a step is drawn in proportion to it; a step without episodes has p = 1/2. Over
    levels, `candidates` new levels are tried `tries` times each, and learners should not learn from
    these episodes; then, for `period` episodes, levels are drawn uniformly from the `best` of them,
    except for a share of new levels.

    Args:
        over: ``steps`` or ``levels`` (seeds), with `settings` if there are any.
        explore: The share of draws that are uniform over all steps, or the share of new levels.
        window: For steps: how many of the last episodes determine p.
        candidates: How many levels are tried.
        tries: How often each is tried.
        best: How many of them are kept.
        period: For how many episodes they are kept.
        step: The step of levels; by default it is drawn uniformly from all steps.
        settings: Fields of the config, drawn uniformly for a new level: name -> [least, largest].
    """

    Memory: ClassVar[Any] = LearnabilityMemory

    def __init__(
        self,
        over: str = "steps",
        explore: float = 0.1,
        window: int = 50,
        candidates: int = 200,
        tries: int = 5,
        best: int = 20,
        period: int = 1000,
        step: int | str | None = None,
        settings: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Check the options.

        Raises:
            ConfigError: If one is not allowed.
        """
        super().__init__(settings, step, check_word("over", over, ("steps", "levels")))
        self.explore, self.window = check_share("explore", explore), check_count("window", window)
        self.candidates = check_count("candidates", candidates)
        self.tries, self.best = check_count("tries", tries), check_count("best", best)
        if self.best > self.candidates:
            raise ConfigError(f"best ({best}) is at most candidates ({candidates})")
        self.period = check_count("period", period)

    def check_memory(self, memory: LearnabilityMemory) -> bool:
        """Return whether what was remembered is allowed."""
        tried = memory.candidates
        right = all(len(results) <= self.window for results in memory.results.values())
        right &= len(tried) <= self.candidates and len(memory.best) <= self.best
        right &= all(0 <= c.won <= c.ended <= c.begun <= MOST for c in tried)
        for task in (*memory.best, *(c.task for c in tried)):
            right &= self.levels and len(task.settings) == len(self.ranges)
            right &= task.seed is not None and 0 <= task.seed <= MAX_SEED
        return right and 0 <= memory.played <= self.period

    def check_orders(self, memory: LearnabilityMemory, curriculum: DevelopmentalCurriculum) -> None:
        """Check that the steps of levels exist."""
        tasks = [*memory.best, *(candidate.task for candidate in memory.candidates)]
        require_orders((task.order for task in tasks), curriculum)

    # -- drawing ---------------------------------------------------------------------------

    def weights(self, agent: str) -> Sequence[float]:
        """Return the weight of each step."""
        known = self.state(agent).results
        orders = [str(step.order) for step in self.curriculum(agent).steps]
        shares = [
            sum_in_order(known[order]) / len(known[order]) if known.get(order) else 0.5
            for order in orders
        ]
        return learnability_weights(shares, self.explore)

    def propose(self, agent: str, stream: Stream) -> StepChoice:
        """Draw a task."""
        if not self.levels:
            return self.draw_step(agent, stream)
        state = self.state(agent)
        if not state.best:
            tried = self._next_candidate(agent, stream)
            tried.begun += 1
            return self.choose(tried.task, {"candidate": True}, learn=False)
        if stream.uniform() < self.explore:
            return self.choose(self.new_task(agent, stream), {"candidate": False, "best": False})
        task = state.best[sample_index_evenly(len(state.best), stream)]
        return self.choose(task, {"candidate": False, "best": True})

    def _next_candidate(self, agent: str, stream: Stream) -> Candidate:
        """Return a level to try: one begun too rarely, a new one, or the one that ended least."""
        tried = self.state(agent).candidates
        for candidate in tried:
            if candidate.begun < self.tries:
                return candidate
        if len(tried) < self.candidates:
            tried.append(Candidate(self.new_task(agent, stream)))
            return tried[-1]
        return min(tried, key=lambda c: (c.ended, c.begun))

    # -- learning --------------------------------------------------------------------------

    def learn(self, agent: str, task: Task, episode: Episode) -> None:
        """Learn from whether an episode was won."""
        state, won = self.state(agent), episode.result == "won"
        if not self.levels:
            results = state.results.setdefault(str(task.order), [])
            results.append(won)
            del results[: -self.window]
        elif state.best:
            state.played += 1
            if state.played >= self.period:
                state.best, state.played = [], 0
        else:
            self._count(state, task, won)

    def _count(self, state: LearnabilityMemory, task: Task, won: bool) -> None:
        """Count an episode of a candidate; choose the best once all were tried."""
        for candidate in state.candidates:
            if candidate.task == task:
                candidate.ended += 1
                candidate.won += won
        whole = len(state.candidates) == self.candidates
        if whole and all(c.ended >= self.tries for c in state.candidates):
            shares = [c.won / c.ended for c in state.candidates]
            chosen = most_learnable(shares, self.best)
            state.best = [state.candidates[place].task for place in chosen]
            state.candidates, state.played = [], 0


def learnability_weights(shares: Sequence[float], explore: float) -> list[float]:
    """Return the probability of each task, given the shares of episodes that were won.

    Example:
        >>> [round(weight, 3) for weight in learnability_weights([0.0, 0.5, 0.9], 0.0)]
        [0.0, 0.735, 0.265]
    """
    return mix_evenly([p * (1.0 - p) for p in shares], explore)


def most_learnable(shares: Sequence[float], count: int) -> list[int]:
    """Return the indices of the tasks with the largest p (1 - p); ties go to the first."""
    values = np.array(shares) * (1.0 - np.array(shares))
    return [int(place) for place in np.argsort(-values, kind="stable")[:count]]
