"""What is known of the present episode of one environment while it is logged."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.runs.expand import goal_id


class EpisodeRecord:
    """One environment's present episode: who is in play since when, and with what success.

    Attributes:
        slot: Number of the environment in a batch, or ``None``.
        where: What lines say of that: an entry ``slot``, or nothing.
        episode: Number of the episode in the run.
        seed: Its effective seed.
        begun: Whether there was a step; a reset without one is void.
        ns: The clock at the reset.
        start: Steps of the run at the reset.
        playing: Numbers of the agents in play.
        names: Their names.
        everybody: Whether all agents are in play.
        pick: Takes the entries of those in play out of a list.
        joined: Agent number -> steps of the run when it entered, for open goals.
        results: Agent -> how its episode ended.
        totals: Agent number -> sum of its rewards so far, float64.
        prefix: What the ids of the run's goals begin with.
    """

    def __init__(
        self,
        agents: Sequence[str],
        slot: int | None,
        episode: int,
        seed: int,
        ns: int,
        start: int,
        totals: NDArray[np.float64] | None = None,
        prefix: str = "",
    ) -> None:
        """Open the record at a reset; `totals` is where sums are kept, a new array if None."""
        self.agents, self.prefix = agents, prefix
        self.slot, self.episode, self.seed = slot, episode, seed
        self.where = {} if slot is None else {"slot": slot}
        self.ns, self.start = ns, start
        self.begun = False
        self.playing: tuple[int, ...] = ()
        self.names: tuple[str, ...] = ()
        self.everybody = False
        self.pick: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple
        self.joined: dict[int, int] = {}
        self.results: dict[str, str] = {}
        self.returns: dict[str, float] = {}
        self.lengths: dict[str, int] = {}
        self.measures: dict[str, Any] = {}
        self.totals = np.empty(len(agents)) if totals is None else totals
        self.totals[:] = 0.0

    def goal(self, agent: int) -> str:
        """Return the id of an agent's goal."""
        return goal_id(self.agents[agent], self.episode, self.prefix)

    def seat(self, playing: Iterable[int]) -> None:
        """Take note of who is in play from now on."""
        self.playing = tuple(playing)
        self.names = tuple(self.agents[i] for i in self.playing)
        self.everybody = len(self.playing) == len(self.agents)
        self.pick = picker(self.playing, len(self.agents))

    def add(self, rewards: Sequence[float]) -> None:
        """Add the rewards of one step, of those who are in play."""
        for agent, reward in zip(self.playing, rewards, strict=True):
            self.totals[agent] = float(self.totals[agent]) + reward

    def total(self, agent: int) -> float:
        """Return what an agent has got in this episode."""
        return float(self.totals[agent])

    @property
    def over(self) -> bool:
        """Whether everybody who took part has ended."""
        return self.begun and not self.playing


def add_up(rewards: NDArray[np.float64], totals: NDArray[np.float64]) -> None:
    """Add rewards one after the other, so that sums do not depend on how steps are grouped.

    Args:
        rewards: Shape (steps, agents), at least one step.
        totals: Sums so far, to be changed, shape (agents,).
    """
    rows = rewards.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # as sums of Python's floats
        rows[0] += totals
        totals[:] = np.add.accumulate(rows, axis=0, out=rows)[-1]


def picker(playing: tuple[int, ...], count: int) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return what takes the entries of those in play out of a list of all agents."""
    if len(playing) == count:
        return tuple
    if len(playing) > 1:
        return operator.itemgetter(*playing)
    return lambda values: tuple(values[i] for i in playing)
