"""What is known of the present episode of one environment while it is logged."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from piase_gym.runs.expand import goal_id

FOLD = 4096
"""Rewards are added up after so many steps, at the episode's end at the latest."""


class Book:
    """One environment's present episode: who is in play since when, and with what success.

    Attributes:
        slot: Number of the environment in a batch, or ``None``.
        episode: Number of the episode in the run.
        seed: Its effective seed.
        begun: Whether there was a step; a reset without one is void.
        ns: The clock at the reset.
        start: Steps of the run at the reset.
        playing: Numbers of the agents in play.
        names: Their names.
        pick: Takes the entries of those in play out of a list, or ``None`` if all are in play.
        joined: Agent number -> steps of the run when it entered, for open goals.
        results: Agent -> how its episode ended.
    """

    def __init__(
        self, agents: Sequence[str], slot: int | None, episode: int, seed: int, ns: int, start: int
    ) -> None:
        """Open the book at a reset."""
        self.agents = agents
        self.slot, self.episode, self.seed = slot, episode, seed
        self.ns, self.start = ns, start
        self.begun = False
        self.playing: tuple[int, ...] = ()
        self.names: tuple[str, ...] = ()
        self.pick: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None
        self.joined: dict[int, int] = {}
        self.results: dict[str, str] = {}
        self.returns: dict[str, float] = {}
        self.lengths: dict[str, int] = {}
        self.measures: dict[str, Any] = {}
        self.rewards: list[Sequence[float]] = []
        """Rewards of the last steps, of those who were in play in them."""
        self._totals: dict[int, float] = {}

    def goal(self, agent: int) -> str:
        """Return the id of an agent's goal."""
        return goal_id(self.agents[agent], self.episode)

    def seat(self, playing: Iterable[int]) -> None:
        """Take note of who is in play from now on."""
        self.fold()
        self.playing = tuple(playing)
        self.names = tuple(self.agents[i] for i in self.playing)
        if len(self.playing) == len(self.agents):
            self.pick = None
        elif len(self.playing) > 1:
            self.pick = operator.itemgetter(*self.playing)
        else:
            alone = self.playing
            self.pick = lambda values: tuple(values[i] for i in alone)

    def fold(self) -> None:
        """Add up the rewards kept so far."""
        if self.rewards:
            for agent, values in zip(self.playing, zip(*self.rewards, strict=True), strict=True):
                self._totals[agent] = self._totals.get(agent, 0.0) + float(sum(values))
            self.rewards.clear()

    def total(self, agent: int) -> float:
        """Return what an agent has got in this episode."""
        self.fold()
        return self._totals.get(agent, 0.0)

    @property
    def over(self) -> bool:
        """Whether everybody who took part has ended."""
        return self.begun and not self.playing
