"""Collects what happens in environments into whole episodes for the metrics.

`EpisodeCollector` follows one environment, `BatchEpisodeCollector` a batch. Only those values of a
step that some metric reads are kept, and often none at all, so that following costs next to
nothing. The rest is read when an agent's episode ends, the world's measures only if some metric
reads them.
"""

from __future__ import annotations

import functools
import operator
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.commands import OUTCOMES as ALL_OUTCOMES
from piase_gym.core.commands import RESULTS
from piase_gym.core.world import StepResult
from piase_gym.curricula.metrics import EpisodeRecord, MetricInputs
from piase_gym.runs.history import Episode
from piase_gym.runs.recent_events import Step
from piase_gym.runs.schema import ATTEMPT
from piase_gym.runs.targets import Targets

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv
    from piase_gym.envs.runner import EpisodeRunner


StepHook = tuple[int, Callable[[Any], object]]
"""The index of the `StepResult` entry to keep from each step, and the function that keeps it."""
REWARDS, OUTCOMES, ENDED = 0, 3, 4
"""The indices of these entries."""
OUTCOME_NAMES = [str(outcome) for outcome in ALL_OUTCOMES]
"""The outcome of each code in a batch."""


class EpisodeCollector:
    """Follows the caller's agents in one environment.

    Args:
        runner: The episode runner of the environment.
        agents: The agents to follow.
        inputs: What metrics read.

    Attributes:
        steps_before: Steps of all episodes before this one.
    """

    def __init__(self, runner: EpisodeRunner, agents: Sequence[str], inputs: MetricInputs) -> None:
        """Follow `agents`; the first episode starts with `begin`."""
        self.runner, self.agents, self.inputs = runner, tuple(agents), inputs
        self.targets = Targets()
        self.step_hooks: tuple[StepHook, ...] = ()
        self.steps_before = 0
        self._number = 0
        """How many episodes there were before this one, broken off or not."""
        self._targets: dict[str, Any] = {}
        self._messages: list[tuple[int, str]] = []
        self._rewards, self._outcomes = array("d"), list[str]()
        self._clear()
        self._subscribe()

    def _subscribe(self) -> None:
        """Listen for messages, if any metric reads them."""
        if self.inputs.steps and self.runner.world.mailboxes is not None:
            self.runner.events.subscribe(self._on_message, ("message",))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Follow the copy of the environment when one is copied or pickled."""
        vars(self).update(state)
        self._subscribe()
        self._set_hooks()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the hooks, which belong to the original."""
        return {**vars(self), "step_hooks": ()}

    def _clear(self) -> None:
        """Forget the episode."""
        self._start = self._skip = self._recorded = 0
        self._episodes: dict[str, Episode] = {}
        """The episodes of the agents that have entered; `Episode.end` is 0 until one has ended."""
        self._messages.clear()
        self._outcomes.clear()
        del self._rewards[:]

    # -- an episode -----------------------------------------------------------------------

    @property
    def taken(self) -> int:
        """Steps of the current episode, as far as it was followed."""
        return self.runner.steps - self._start

    @property
    def step(self) -> int:
        """Steps of the run so far."""
        return self.steps_before + self.taken

    def set_target(self, agent: str, data: Mapping[str, Any]) -> None:
        """Record where an agent should go; `data` is that of its attempt's line."""
        self.targets.hear(ATTEMPT, agent, data)
        self._targets[agent] = data.get("target_coords")

    def begin(self) -> None:
        """Begin an episode, or continue one from a restored state."""
        self._clear()
        self._start = self.runner.steps
        self.targets.again()
        self._record_entries()
        self._set_hooks()

    def _set_hooks(self) -> None:
        """Set what is kept of each step."""
        world = self.runner.world
        hooks: list[StepHook] = []
        if self.inputs.rewards or self.inputs.steps:
            hooks.append((REWARDS, self._rewards.extend))
        if self.inputs.steps:
            hooks.append((OUTCOMES, self._outcomes.extend))
        targets = [t for t in self._targets.values() if t is not None and not world.ends_at(t)]
        if targets:
            hooks.append((ENDED, self._record_arrivals))
        if world.awaiting_agents:
            hooks.append((ENDED, self._record_entries))
        self.step_hooks = tuple(hooks)

    def start_recording(self) -> None:
        """Record every step from now on; earlier steps were taken before anybody entered."""
        self._skip = self._recorded = self.taken
        self._record_entries()

    def _record_entries(self, _ended: object = None) -> None:
        """Record who has entered."""
        world = self.runner.world
        for agent in self.agents:
            if agent not in self._episodes and world.alive[world.agents.index(agent)]:
                episode = Episode(agent, self._number, 0, 0, self.runner.seed, self.step)
                self._episodes[agent] = episode

    def _record_arrivals(self, _ended: object = None) -> None:
        """Record who stands on its target."""
        names = self.runner.world.agents
        now, own = self.step, self._episodes.values()
        playing = [names.index(e.agent) for e in own if e.end in (0, now) and now > e.start]
        for name in self.targets.reached(self.runner.world, playing):
            self._episodes[name].arrived = self._episodes[name].arrived or now

    def _on_message(self, event: Any) -> None:
        """Record a message."""
        self._messages.append((self.taken, event.agent))

    def record_step(self) -> bool:
        """Record the step that was just taken.

        Returns:
            Whether the episode is over for all of the caller's agents.
        """
        result: Any = self.runner.last_step
        self._recorded = self.taken
        for place, keep in self.step_hooks:
            keep(result[place])
        return bool(result.ended or result.notes) and self._record_events(result)

    def _record_events(self, result: StepResult) -> bool:
        """Record what ended or was reached in a step; return whether the episode is over."""
        world = self.runner.world
        for number, notes in result.notes.items():
            episode = self._episodes.get(world.agents[number])
            if episode is not None:
                for name in notes.get("milestones", ()):
                    episode.milestones.setdefault(name, self.step)
        if not result.ended:
            return False
        for episode in self._episodes.values():
            number = world.agents.index(episode.agent)
            if (result.terminated[number] or result.truncated[number]) and not episode.end:
                episode.end = self.step
                episode.result = str(world.result(number))
                if self.inputs.measures:
                    episode.measures = dict(world.measured(number))
        if self.targets.given:
            self._record_arrivals()
        return not self.runner.live

    # -- its end --------------------------------------------------------------------------

    def finish_episode(self, attempts: Mapping[str, int]) -> dict[str, EpisodeRecord]:
        """Return what the episode leaves behind; agents that have not ended were broken off.

        Agents that took no step leave nothing.

        Args:
            attempts: For each agent, the number of the attempt for which the episode counts.
        """
        # Where another state was restored, the runner counts the steps of that one.
        found, now = {}, self.steps_before + self._recorded
        for agent in (agent for agent in self.agents if agent in self._episodes):
            episode = self._episodes[agent]
            episode.end = episode.end or now
            episode.length = episode.end - episode.start
            if episode.length > 0:
                episode.attempt = attempts.get(agent, 0)
                episode.result = episode.result or "abandoned"
                found[agent] = EpisodeRecord(episode, self._finish_steps(episode))
        self.steps_before = now
        self._number += 1
        self._clear()
        self._start = self.runner.steps
        return found

    def _finish_steps(self, episode: Episode) -> list[Step]:
        """Add up rewards, and return the steps, as far as they are read."""
        world = self.runner.world
        start, end = episode.start - self.steps_before, episode.end - self.steps_before
        count, number = len(world.agents), world.agents.index(episode.agent)
        place = slice((start - self._skip) * count + number, (end - self._skip) * count, count)
        rewards = self._rewards[place] if self.inputs.rewards or self.inputs.steps else ()
        episode.total = functools.reduce(operator.add, rewards, 0.0)
        if not self.inputs.steps:
            return []
        sent = Counter(at for at, sender in self._messages if sender == episode.agent)
        outcomes = [str(outcome) for outcome in self._outcomes[place]]
        episode.outcomes = Counter(outcomes)
        episode.messages = sum(sent[at] for at in range(start + 1, end + 1))
        base = episode.start + 1
        return [
            Step(
                base + k, episode.episode, 0, episode.attempt, outcome, reward, sent[start + 1 + k]
            )
            for k, (outcome, reward) in enumerate(zip(outcomes, rewards, strict=True))
        ]


class BatchEpisodeCollector:
    """Follows the caller's agents in all environments of a batch.

    Args:
        batch: The batch.
        agents: The agents to follow.
        inputs: What metrics read.

    Attributes:
        step: Steps of the whole batch so far.
    """

    def __init__(self, batch: BatchEnv, agents: Sequence[str], inputs: MetricInputs) -> None:
        """Follow `agents`."""
        self.batch, self.agents, self.inputs = batch, tuple(agents), inputs
        self.numbers = {agent: batch.world.agents.index(agent) for agent in agents}
        self.targets = Targets()
        self.step = 0
        shape = (batch.num_envs, len(batch.world.agents))
        self._totals = np.zeros(shape)
        self._lengths = np.zeros(shape, np.int64)
        self._start = np.zeros(batch.num_envs, np.int64)
        self._number = [0] * batch.num_envs
        """How many episodes of a slot there were before the current one."""
        self._episodes: list[dict[str, Episode]] = [{} for _ in range(batch.num_envs)]
        self._marks = np.zeros(shape, np.uint8)
        self._codes: list[tuple[int, NDArray[Any], NDArray[Any]]] = []
        self._found: list[dict[str, dict[str, int]]] = [{} for _ in range(batch.num_envs)]
        self._arrived: list[dict[str, int]] = [{} for _ in range(batch.num_envs)]

    # -- an episode and its steps --------------------------------------------------------

    def set_target(self, agent: str, data: Mapping[str, Any]) -> None:
        """Record where an agent should go; `data` is that of its attempt's line."""
        self.targets.hear(ATTEMPT, agent, data)

    def begin(self, slot: int) -> None:
        """Begin an episode in a slot."""
        self._totals[slot] = 0.0
        self._lengths[slot] = 0
        self._start[slot] = self.step
        self._number[slot] += 1
        self._episodes[slot], self._found[slot], self._arrived[slot] = {}, {}, {}
        self._marks[slot] = 0
        if self.batch.world.milestones:
            marks = self.batch.batch.states["marks"]
            self._marks[slot] = marks[slot, : self._marks.shape[1]]
        self.targets.again(slot)

    def record_step(self, alive: NDArray[np.bool_], over: NDArray[np.bool_]) -> None:
        """Process a step of all slots.

        Args:
            alive: Who was in play, shape (envs, agents).
            over: Which slots began an episode instead, or did nothing.
        """
        batch = self.batch.batch
        self.step += 1
        acting = alive & ~over[:, None]
        self._lengths += acting
        self._totals += np.where(acting, batch.rewards, 0.0)
        if self.inputs.steps:
            self._codes.append((self.step, batch.outcomes.copy(), batch.rewards.copy()))
        if self.batch.world.milestones:
            self._record_milestones(~over)
        if self.batch.scripts is not None:
            for name, who in self.batch.scripts.reached.items():
                self._add_milestone(name, who)
        if self.targets.given:
            self._record_arrivals(acting)
        ended = acting & (batch.terminated | batch.truncated)
        for slot in np.flatnonzero(ended.any(axis=1)).tolist():
            self._record_ends(slot, ended[slot])

    def _record_milestones(self, stepping: NDArray[np.bool_]) -> None:
        """Record milestones that were reached for the first time."""
        marks = self.batch.batch.states["marks"][:, : self._marks.shape[1]]
        new = marks & ~self._marks
        new[~stepping] = 0
        self._marks[stepping] = marks[stepping]
        for bit, name in enumerate(self.batch.world.milestones if new.any() else ()):
            self._add_milestone(name, new >> bit & 1)

    def _add_milestone(self, name: str, reached: NDArray[Any]) -> None:
        """Record a milestone that some agents reached, shape (envs, agents)."""
        for slot, number in zip(*(axis.tolist() for axis in reached.nonzero()), strict=True):
            agent = self.batch.world.agents[number]
            self._found[slot].setdefault(agent, {}).setdefault(name, self.step)

    def _record_arrivals(self, acting: NDArray[np.bool_]) -> None:
        """Record who stands on its target for the first time in its episode."""
        agents = self.batch.world.agents
        places = self.batch.world.positions(self.batch.batch.states)
        for slot in np.flatnonzero(acting.any(axis=1)).tolist():
            playing = np.flatnonzero(acting[slot]).tolist()
            if not self.targets.wanted(playing, agents, slot):
                continue
            if places is None:
                world: Any = self.batch.at(slot)
            else:  # looking at a slot as a world is slow
                world = SimpleNamespace(agents=agents, position=places[slot].tolist().__getitem__)
            for agent in self.targets.reached(world, playing, slot):
                self._arrived[slot].setdefault(agent, self.step)

    def _record_ends(self, slot: int, ended: NDArray[np.bool_]) -> None:
        """Record how agents of a slot ended."""
        batch = self.batch
        for agent, number in self.numbers.items():
            if ended[number]:
                episode = self._episode(slot, agent)
                episode.result = str(RESULTS[batch.results[slot, number]])
                # Looking at a slot as a world is slow, so it is done if there is something to see.
                if self.inputs.measures and (batch.world.measures or batch.scripts):
                    episode.measures = dict(batch.at(slot).measured(number))
                episode.end = self.step
                self._episodes[slot][agent] = episode

    def _episode(self, slot: int, agent: str) -> Episode:
        """Return the episode of an agent, with what is known before its end."""
        seed = int(self.batch.batch.states["seed"][slot])
        start = self.step - int(self._lengths[slot, self.numbers[agent]])  # when it entered
        return Episode(agent, self._number[slot], slot, 0, seed, start)

    # -- the end of an episode ------------------------------------------------------------

    def finish_episode(self, slot: int, attempts: Mapping[str, int]) -> dict[str, EpisodeRecord]:
        """Return what a slot's episode leaves behind; agents that have not ended were broken off.

        Agents that took no step leave nothing.

        Args:
            slot: The slot.
            attempts: For each agent, the number of the attempt for which the episode counts.
        """
        found = {}
        for agent, number in self.numbers.items():
            length = int(self._lengths[slot, number])
            if not length:
                continue
            episode = self._episodes[slot].get(agent) or self._episode(slot, agent)
            episode.length, episode.end = length, episode.end or episode.start + length
            episode.attempt = attempts.get(agent, 0)
            episode.result = episode.result or "abandoned"
            episode.milestones = self._found[slot].get(agent, {})
            episode.arrived = self._arrived[slot].get(agent, 0)
            episode.total = float(self._totals[slot, number])
            found[agent] = EpisodeRecord(episode, self._steps(episode, number))
        if self.inputs.steps:
            self._forget_steps(slot)
        self._lengths[slot] = 0
        return found

    def _steps(self, episode: Episode, number: int) -> list[Step]:
        """Return the steps of an episode, if any metric reads them."""
        if not self.inputs.steps:
            return []
        slot, attempt, steps = episode.slot, episode.attempt, []
        for at, codes, rewards in self._codes:
            if episode.start < at <= episode.end:
                outcome = OUTCOME_NAMES[codes[slot, number]]
                reward = float(rewards[slot, number])
                steps.append(Step(at, episode.episode, slot, attempt, outcome, reward, 0))
        episode.outcomes = Counter(step.outcome for step in steps)
        return steps

    def _forget_steps(self, slot: int) -> None:
        """Forget steps that no episode of another slot still needs."""
        going_on = np.flatnonzero(self._lengths.any(axis=1))
        others = going_on[going_on != slot]
        oldest = int(self._start[others].min()) if others.size else self.step
        self._codes = [entry for entry in self._codes if entry[0] > oldest]
