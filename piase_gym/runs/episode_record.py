"""What is known of the present episode of one environment while it is logged."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from piase_gym.runs.agent_lines import goal_id
from piase_gym.runs.full import Observer


@dataclass(eq=False)
class EpisodeRecord:
    """One environment's present episode: who has been in play since when, and with what success.

    Attributes:
        slot: Number of the environment in a batch, or ``None``.
        where: How lines give the slot: an entry ``slot``, or nothing.
        episode: Number of the episode in the run.
        seed: Its effective seed.
        begun: Whether there has been a step; a reset without one is void.
        ns: The clock at the reset.
        start: Steps of the run at the reset.
        playing: Numbers of the agents in play.
        names: Their names.
        nobody: For each of them ``False``, as in a step in which nobody ends.
        no_rewards: For each of them 0.0, as in a step without rewards.
        pick: Selects the entries of the agents in play from those of all agents.
        joined: Agent number -> steps of the run when it entered, for open goals.
        results: Agent -> how its episode ended.
        totals: Agent number -> sum of its rewards so far.
        prefix: The prefix of the ids of the run's goals.
        submitted: The entry of the step line on agents that submitted their command with a
            ``sequence_id`` or an ``execution_priority``.
        observer: The observer for the lines of level ``full``, if they are wanted.
    """

    agents: Sequence[str]
    slot: int | None
    episode: int
    seed: int
    ns: int
    start: int
    prefix: str = ""
    begun: bool = False
    playing: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    nobody: dict[str, bool] = field(default_factory=dict)
    no_rewards: dict[str, float] = field(default_factory=dict)
    pick: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple
    joined: dict[int, int] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    returns: dict[str, float] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    measures: dict[str, Any] = field(default_factory=dict)
    submitted: Mapping[str, Any] = field(default_factory=dict)
    observer: Observer | None = None

    def __post_init__(self) -> None:
        """Open the record at a reset."""
        self.where = {} if self.slot is None else {"slot": self.slot}
        self.totals = [0.0] * len(self.agents)

    def goal(self, agent: int) -> str:
        """Return the id of an agent's goal."""
        return goal_id(self.agents[agent], self.episode, self.prefix)

    def seat(self, playing: Iterable[int]) -> None:
        """Take note of who is in play from now on."""
        self.playing = tuple(playing)
        self.names = tuple(self.agents[i] for i in self.playing)
        self.nobody = dict.fromkeys(self.names, False)
        self.no_rewards = dict.fromkeys(self.names, 0.0)
        if len(self.playing) == len(self.agents):
            self.pick = tuple
        elif len(self.playing) > 1:
            self.pick = operator.itemgetter(*self.playing)
        else:
            self.pick = lambda values: tuple(values[i] for i in self.playing)

    def add(self, rewards: Sequence[float]) -> None:
        """Add the rewards of one step to the totals of the agents in play."""
        if any(rewards):
            for agent in self.playing:
                self.totals[agent] += float(rewards[agent])
