"""What happened to each agent, gathered from the events of a run, live or from a file."""

from __future__ import annotations

import bisect
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from piase_gym.runs.agent_lines import goal_prefix
from piase_gym.runs.lines import Line
from piase_gym.runs.manifest import check_manifest, noted_names
from piase_gym.runs.recent_events import Recent, Step
from piase_gym.runs.schema import (
    ATTEMPT,
    REBUILD,
    SCHEMA_VERSION,
    Event,
    looks_derived,
    played_out,
)

SPARE = -1
"""The attempt of episodes that count for none, because theirs already had all its episodes."""
_DERIVED = frozenset(
    "AGENT_ACTION_SENT_TO_ENV AGENT_ACTION_EXECUTED_IN_ENV REWARD_SIGNAL_ISSUED "
    "PERCEPTION_INPUT_RECEIVED".split()
)
"""Lines that repeat what a step line says."""
_MORE = frozenset({"messages", "milestones", "targets", "results"})
"""The rarer entries of a step line."""


@dataclass
class Episode:
    """One agent's episode, finished or not.

    Attributes:
        agent: The agent.
        episode: Number of the episode in the run.
        slot: The environment in a batch, or 0.
        attempt: Number of the attempt that was under way at its reset, 0 for none, or `SPARE`.
        seed: The effective seed.
        start: Steps of the run before its first step.
        end: Steps of the run after its last one so far.
        length: Steps in it.
        total: Sum of rewards.
        result: ``won``, ``lost``, ``drawn``, ``ended``; ``abandoned`` if it was broken off; empty
            while it is in progress.
        outcomes: How often each outcome occurred.
        milestones: Milestone -> the step of the run at which it was reached.
        arrived: The step of the run at which the agent first stood on the target of its curriculum
            step, or 0.
        messages: Messages sent.
        hints: Hints received.
        measures: What the world measured at the end.
        sequence: Number of the event with which it began.
    """

    agent: str
    episode: int
    slot: int
    attempt: int
    seed: int | None
    start: int
    end: int = 0
    length: int = 0
    total: float = 0.0
    result: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    milestones: dict[str, int] = field(default_factory=dict)
    arrived: int = 0
    messages: int = 0
    hints: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    sequence: int = 0

    @property
    def finished(self) -> bool:
        """Whether the episode ended by itself."""
        return played_out(self.result)


begun = operator.attrgetter("sequence")
"""Returns by what episodes are ordered: when they began."""


@dataclass(frozen=True)
class Attempt:
    """An attempt at a step of a curriculum.

    Attributes:
        number: Which of the agent's attempts in this run it is, from 1.
        order: The `order` of the curriculum step, if the line says it.
        slot: The environment of a batch in which it takes place; ``None`` for all.
        aimed: Whether it has a target to stand on.
        step: Steps of the run before it.
        sequence: Number of the event with which it began.
        episodes: How many episodes count for it, as they begin; ``None`` if the line does not say.
    """

    number: int
    order: int | None
    slot: int | None
    aimed: bool
    step: int
    sequence: int
    episodes: int | None = None


@dataclass
class AgentHistory:
    """What is remembered of one agent.

    Attributes:
        episodes: Its episodes, in the order in which they began; see `add`.
        by_attempt: The same by the number of their attempt.
        by_slot: The same by slot; in one slot, each begins when the one before it has ended.
        hints: For each hint: the step, the attempt and the slot in which it came.
        attempts: Its attempts, in the order in which they began; see `begin`.
        latest: The number of its last attempt by slot; ``None`` stands for attempts in all slots.
        steps: Its last steps, where whole episodes are handed over instead of events.
    """

    episodes: list[Episode] = field(default_factory=list)
    by_attempt: dict[int, list[Episode]] = field(default_factory=dict)
    by_slot: dict[int, list[Episode]] = field(default_factory=dict)
    hints: list[tuple[int, int, int]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    latest: dict[int | None, int] = field(default_factory=dict)
    steps: deque[Step] = field(default_factory=deque)

    def add(self, episode: Episode) -> None:
        """Add an episode, which may have begun before others that are here."""
        same_attempt = self.by_attempt.setdefault(episode.attempt, [])
        same_slot = self.by_slot.setdefault(episode.slot, [])
        for rows in (self.episodes, same_attempt, same_slot):
            bisect.insort(rows, episode, key=begun)

    def begin(self, attempt: Attempt) -> None:
        """Add the next attempt."""
        self.attempts.append(attempt)
        self.latest[attempt.slot] = attempt.number

    def attempt_in(self, slot: int) -> int:
        """Return the number of the attempt that is under way in a slot, or 0."""
        return max(self.latest.get(None, 0), self.latest.get(slot, 0))


class History:
    """Follows the events of a run.

    Args:
        retain: How many steps and other events are remembered one by one; all episodes are.

    Attributes:
        agents: Agent -> what is remembered of it.
        step: Steps of the run so far.
        recent: The last events.
        manifest: The manifest, once it has been seen.
        milestones: The names of the milestones of the world, and of the scenarios so far.
        measures: The names of its measures, and of theirs.
    """

    def __init__(self, retain: int = 100_000) -> None:
        """Start with nothing."""
        self.agents: dict[str, AgentHistory] = {}
        self.step = 0
        self.recent = Recent(retain)
        self.manifest: Mapping[str, Any] = {}
        self.milestones: dict[str, None] = {}
        self.measures: dict[str, None] = {}
        self._open: defaultdict[int, dict[str, Episode]] = defaultdict(dict)
        """The episodes in progress, by slot and agent."""
        self._seeds: dict[int, int | None] = {}
        self._hints: dict[tuple[int, str], int] = {}
        self._seats: defaultdict[int, dict[str, int]] = defaultdict(dict)
        """The attempts of the episodes in progress, by slot and agent."""
        self._begun: dict[tuple[str, int], int] = {}
        """How many episodes of an attempt have begun, by agent and number."""

    @property
    def sequence(self) -> int:
        """Events so far."""
        return self.recent.count

    def of(self, agent: str) -> AgentHistory:
        """Return what is remembered of an agent, which is nothing at first."""
        if agent not in self.agents:
            self.agents[agent] = AgentHistory(steps=deque(maxlen=self.recent.retain))
        return self.agents[agent]

    def feed(self, event: Event) -> None:
        """Take in the next event of a log."""
        if event["event_type"] == "SIMULATION_CONTROL":
            version = event["event_data"].get("schema_version", SCHEMA_VERSION)
            self.recent.prefix = goal_prefix(event["simulation_run_id"], version)
        if event["event_type"] not in _DERIVED:
            self.step = event["step"]
            self.recent.add(event)
            self._hear(
                event["event_type"], event["agent_id"], event["episode"], event["event_data"]
            )

    def take(self, line: Line) -> None:
        """Take in the next event of a live run."""
        self.step = line.step
        self.recent.add(line)
        self._hear(line.event_type, line.agent, line.episode, line.data)

    def learn_names(self, milestones: Iterable[str], measures: Iterable[str]) -> None:
        """Take in names of milestones and measures that there are from now on."""
        self.milestones |= dict.fromkeys(milestones)
        self.measures |= dict.fromkeys(measures)

    def _hear(self, kind: str, agent: str, episode: int, data: Mapping[str, Any]) -> None:
        """Take in what an event means."""
        if kind == "ENVIRONMENT_EVENT_OCCURRED":
            if data.get("kind") == "step":
                self._take_step(episode, data)
            elif data.get("kind") == "reset":
                self._begin(data)
            elif data.get("kind") == "hint" and data.get("agent") is not None:
                self._take_hint(data)
        elif kind == "ENVIRONMENT_STATE_CHANGED":
            self._take_change(data)
        elif kind == ATTEMPT:
            self._take_attempt(agent, data)
        elif kind == "LEARNING_EPISODE_END" and looks_derived(kind, data):
            self._end(episode, data)
        elif kind == "SIMULATION_CONTROL" and data.get("control") in ("start", REBUILD):
            check_manifest(data)
            self.manifest = data
            self.learn_names(data.get("milestones", ()), data.get("measures", ()))
            self.learn_names(*noted_names(data["config"]))
            self.recent.table = data.get("actions", ())
            for name in data.get("agents", ()):
                self.of(name)

    def _take_change(self, data: Mapping[str, Any]) -> None:
        """Take in another config or another state."""
        if data.get("kind") in ("reconfigure", "modify"):
            self.learn_names(*noted_names(data["changes"]))
        elif data.get("kind") == "restore":
            self.learn_names(*noted_names(data.get("snapshot", {}).get("config", {})))
            self._begin(data)

    def _take_attempt(self, agent: str, data: Mapping[str, Any]) -> None:
        """Take in the beginning of an attempt."""
        known, aimed = self.of(agent), data.get("target_coords") is not None
        number, order, slot = len(known.attempts) + 1, data.get("order"), data.get("slot")
        episodes = data.get("episodes")
        known.begin(Attempt(number, order, slot, aimed, self.step, self.sequence, episodes))

    def _begin(self, data: Mapping[str, Any]) -> None:
        """Begin another episode; what is in progress in the slot is broken off."""
        slot = data.get("slot", 0)
        self._abandon(slot)
        self._seeds[slot] = data.get("seed")
        for agent in data.get("agents", ()):
            self._seat(slot, agent)

    def _seat(self, slot: int, agent: str) -> None:
        """Count an episode for the attempt under way, unless that already has all its episodes."""
        known = self.of(agent)
        number = known.attempt_in(slot)
        most = known.attempts[number - 1].episodes if number else None
        if most is not None:
            begun = self._begun.get((agent, number), 0)
            if begun < most:
                self._begun[agent, number] = begun + 1
            else:
                number = SPARE
        self._seats[slot][agent] = number

    def _abandon(self, slot: int) -> None:
        """Break off what is in progress in a slot; it no longer counts for its attempts."""
        for row in self._open.pop(slot, {}).values():
            row.result = "abandoned"
        for attempt in self._seats.pop(slot, {}).items():
            if attempt in self._begun:
                self._begun[attempt] -= 1

    def _take_step(self, number: int, data: Mapping[str, Any]) -> None:
        """Take in a step line."""
        slot, step = data.get("slot", 0), self.step
        rewards, outcomes = data["rewards"], data["outcomes"]
        plain, in_progress = _MORE.isdisjoint(data), self._open[slot]
        for agent in data["commands"]:
            row = in_progress.get(agent) or self._new_row(agent, slot, number, step)
            row.end = step
            row.length += 1
            row.total += rewards[agent] or 0.0
            row.outcomes[outcomes[agent]] += 1
            if not plain:
                self._take_more(row, data)

    def _take_more(self, row: Episode, data: Mapping[str, Any]) -> None:
        """Take in the rarer entries of a step line, as far as they concern an agent."""
        agent = row.agent
        row.messages += sum(letter["sender"] == agent for letter in data.get("messages", ()))
        for name in data.get("milestones", {}).get(agent, ()):
            row.milestones.setdefault(name, row.end)
        if agent in data.get("targets", ()):
            row.arrived = row.arrived or row.end
        if agent in data.get("results", {}):
            row.result = data["results"][agent]
            del self._open[row.slot][agent]
            self._seats[row.slot].pop(agent, None)

    def _new_row(self, agent: str, slot: int, number: int, step: int) -> Episode:
        """Open an agent's episode in its first step."""
        history = self.of(agent)
        attempt = self._seats[slot].get(agent)
        if attempt is None:  # it entered after the reset
            attempt = history.attempt_in(slot)
        seed = self._seeds.get(slot)
        row = Episode(agent, number, slot, attempt, seed, step - 1, sequence=self.sequence)
        row.hints = self._hints.pop((slot, agent), 0)
        self._open[slot][agent] = row
        history.add(row)
        return row

    def _take_hint(self, data: Mapping[str, Any]) -> None:
        """Take in a hint; one that comes before an episode's first step counts for it too."""
        agent = data["agent"]
        history = self.of(agent)
        slot = data.get("slot", 0)
        history.hints.append((self.step, history.attempt_in(slot), slot))
        row = self._open[slot].get(agent)
        if row is not None:
            row.hints += 1
        else:
            self._hints[slot, agent] = self._hints.get((slot, agent), 0) + 1

    def _end(self, episode: int, data: Mapping[str, Any]) -> None:
        """Take in the report of an episode: what was broken off, what was measured."""
        slot = data.get("slot", 0)
        self._abandon(slot)
        for agent, measures in data.get("measures", {}).items():
            rows = self.of(agent).by_slot.get(slot)
            if rows and rows[-1].episode == episode:
                rows[-1].measures = dict(measures)
