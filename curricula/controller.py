"""The controller of a run leads agents through curricula, in any kind of environment.

It holds the progress, metrics and director of one run. It gives every episode its config, counts
episodes in the order in which they ended, lets the director decide when an attempt is over, and
posts all of it for logs.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.difficulty import Fields
from piase_gym.core.jsonable import jsonable
from piase_gym.curricula.attempts import (
    AttemptState,
    EndedEpisode,
    EpisodeCounts,
    Participation,
    decision_events,
)
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.directors import AttemptResult, StepChoice
from piase_gym.curricula.learner_feedback import LearnerFeedback
from piase_gym.curricula.manager import CurriculumManager
from piase_gym.curricula.metrics import CurriculumMetrics, EpisodeRecord, MetricInputs
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.schema import CurriculumStep
from piase_gym.curricula.setup import AgentConfigurator, ScenarioSetupModule
from piase_gym.curricula.tutors import ask_tutor, require_text
from piase_gym.curricula.validation import names_of, require_same_world
from piase_gym.curricula.window_memory import load_windows, save_windows
from piase_gym.errors import ConfigError, CurriculumError, ProgressError
from piase_gym.runs.history import SPARE

if TYPE_CHECKING:
    from piase_gym.agents.base import Agent
    from piase_gym.core.events import Events
    from piase_gym.core.world import World


UNSAVED = 200
"""How many episodes may end without a decision before progress is saved."""
OVERRIDES = "overrides"
"""The key in `AgentProgress.memory` of the fields that override those of the steps."""


class CurriculumController:
    """Leads agents through curricula: assigns configs, counts episodes, and decides.

    Its subclasses (`EnvController`, `BatchController`, `SlotController`) call `next_configs`
    before a reset, then `start_episode` and `end_episode` or `abort_episode`, and then
    `process_ended_episodes`.

    Args:
        world: The world that the agents are in.
        options: What to follow, and how.
        events: Where everything is posted.
        slots: How many environments there are.
        base: The config with the fields that no step sets; by default that of the world.

    Attributes:
        manager: Curricula and progress.
        metrics: Metrics.
        setup: The module that makes configs.
        modifier: Changes the environment by its difficulty parameters and elements.
        decisions: The decisions of this run.
        counts: For each agent, how many of its episodes have ended in this run.
        participants: For each slot, who takes part in its episode.
        step: Steps of the run so far; wrappers set it.
        attempt_listeners: Called with the agent and the data of every attempt that begins.

    Raises:
        CurriculumError, EnvelopeError: See `ScenarioSetupModule`.
        ProgressError: If the progress that is kept does not belong to these curricula.
    """

    def __init__(
        self,
        world: World[Any, Any],
        options: CurriculumOptions,
        events: Events,
        slots: int = 1,
        base: Any = None,
    ) -> None:
        """Load progress, and check everything before anything begins."""
        self.options, self.events, self.slots = options, events, slots
        self.curricula = dict(options.curricula)
        self.setup = ScenarioSetupModule(world, self.curricula, base)
        for curriculum in self.curricula.values():
            if curriculum.world is not None:
                require_same_world(curriculum.world, world.name, curriculum.source)
            else:
                curriculum.check_world(world)
        self.metrics = CurriculumMetrics(
            list(self.curricula),
            *names_of(world, self.setup.configs()),
            options.metrics,
            self.inputs,
        )
        self._check_metrics()
        self.manager = CurriculumManager()
        self._resumed = self._load_progress()
        self.set_agents(options.agents)
        self._load_overrides()
        self.director = options.director
        self.director.open(self.manager, self.metrics, options.seed, list(self.curricula))
        self.setup.check_settings(self.director)
        self._feedback = {
            agent: LearnerFeedback(slots, self.director.reads_advantages)
            for agent in self.curricula
        }
        self.modifier = EnvironmentModifierInterface(self)
        self.orders: Mapping[str, int] = {}
        self.decisions: list[Decision] = []
        self.counts = {agent: EpisodeCounts() for agent in self.curricula}
        self.participants: list[dict[str, Participation]] = [{} for _ in range(slots)]
        self._attempts: dict[str, AttemptState | None] = dict.fromkeys(self.curricula)
        self._sampled: list[dict[str, AttemptState]] = [{} for _ in range(slots)]
        self._entered: dict[str, int] = {}
        self._queue: list[EndedEpisode] = []
        self._sequence, self._unsaved = self._load_windows(), 0
        self._started = False
        self._config: Any = None
        self.attempt_listeners: list[Callable[[str, Mapping[str, Any]], None]] = []
        self._subscriptions: list[Callable[[], None]] = []
        for agent, curriculum in self.curricula.items():  # for the manifests of logs
            identity = {name: getattr(curriculum, name) for name in ("name", "version", "sha256")}
            events.origin.setdefault("curricula", {})[agent] = identity

    def _subscribe(self) -> None:
        """Listen to the environment."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the file of progress with the original when an environment is copied or pickled."""
        options = copy.copy(self.options)
        options.store = None
        return {**vars(self), "options": options, "_subscriptions": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Listen to the copy of the environment."""
        vars(self).update(state)
        self._subscribe()

    # -- state ---------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """Steps of the run so far."""
        return self.metrics.history.step

    @step.setter
    def step(self, step: int) -> None:
        self.metrics.history.step = step

    @property
    def progress(self) -> dict[str, AgentProgress]:
        """The progress of each agent."""
        return self.manager.agent_progress

    @property
    def over(self) -> bool:
        """Whether every curriculum is over."""
        return not any(progress.active for progress in self.progress.values())

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompt of the step that each agent is in, if it has one."""
        found: dict[str, str | None] = {}
        for agent, progress in self.progress.items():
            step = self.curricula[agent].find_step(progress.current_step_order)
            found[agent] = None if step is None else self.agent_configurator.prompt(agent, step)
        return found

    @property
    def inputs(self) -> MetricInputs:
        """What metrics read."""
        if self.options.metrics:
            return MetricInputs()
        needed = {need.metric for c in self.curricula.values() for need in c.needs}
        return MetricInputs.of({*needed, *self.options.director.metrics})

    def under_way(self, agent: str) -> AttemptState | None:
        """Return an agent's attempt that is under way; ``None`` where episodes are drawn."""
        return self._attempts[agent]

    def attempts(self, slot: int) -> dict[str, int]:
        """Return, for each agent in a slot's episode, the attempt for which the episode counts."""
        return {agent: part.number for agent, part in self.participants[slot].items()}

    # -- the beginning -------------------------------------------------------------------

    def _check_metrics(self) -> None:
        """Check that every metric that is read is available.

        Raises:
            CurriculumError: If one cannot.
        """
        for curriculum in self.curricula.values():
            orders = {f"reached_goal_{step.order}" for step in curriculum.steps}
            known = {*self.metrics.names(), *orders}
            for need in curriculum.needs:
                if need.metric not in known:
                    raise CurriculumError(
                        f"{curriculum.source}: nothing gives the metric {need.metric!r}; if it is "
                        f"one of your own, hand it over: metrics={{{need.metric!r}: function}}"
                    )

    def _load_progress(self) -> bool:
        """Let every agent begin or resume; return whether anybody resumes."""
        store = self.options.store
        kept = {} if store is None else store.load(self.curricula)
        for agent, curriculum in self.curricula.items():
            if agent in kept:
                self.manager.resume(kept[agent], curriculum)
            else:
                self.manager.initialize_agent_progress(agent, curriculum)
            progress = self.progress[agent]
            if self.options.director.per_slot:
                progress.hint = None  # a rule gave it for a step that may not be drawn
            anew = progress.active and progress.attempt == 0
            if anew and self.manager.enter_first_step(agent) is None:
                raise CurriculumError(
                    f"{agent} can take no step of {curriculum.name!r}: all of them need a "
                    "developmental stage, and no other step leads to it; let the first need none"
                )
        return bool(kept)

    def _load_overrides(self) -> None:
        """Override fields of the config as before the run was resumed.

        Raises:
            ProgressError: If what was noted is damaged.
        """
        memories = [progress.memory for progress in self.progress.values()]
        fields: Any = next((memory[OVERRIDES] for memory in memories if OVERRIDES in memory), {})
        if not isinstance(fields, Mapping):
            raise ProgressError(f"this progress is damaged: {OVERRIDES} are not a mapping")
        orders = {agent: progress.current_step_order for agent, progress in self.progress.items()}
        try:
            self.setup.add_overrides(dict(fields), orders)
        except ConfigError as error:
            raise ProgressError(f"this progress is damaged: {OVERRIDES}: {error}") from None

    def _load_windows(self) -> int:
        """Load the history that windows need; return the number of the last episode in it."""
        if self.director.per_slot:
            return 0
        return max(
            load_windows(self.metrics.history, progress, self.curricula[agent])
            for agent, progress in self.progress.items()
        )

    def _post_start(self) -> None:
        """Post that agents follow curricula, once."""
        self._started = True
        for agent, curriculum in self.curricula.items():
            progress = self.progress[agent]
            data = {
                "name": curriculum.name,
                "version": curriculum.version,
                "sha256": curriculum.sha256,
                "source": Path(curriculum.source).name,
                "steps": len(curriculum.steps),
                "current_step_order": progress.current_step_order,
                "resumed": self._resumed,
                "seed": self.options.seed,
                "director": type(self.director).__name__,
                "definition": curriculum.model_dump(mode="json", exclude_defaults=True),
            }
            self.post("DSE_AGENT_CURRICULUM_START", data, agent)

    def set_agents(self, agents: Mapping[str, Agent]) -> None:
        """Configure these agents from now on, when they enter a step."""
        kept = {} if self.options.store is None else self.progress
        memories = {agent: progress.memory for agent, progress in kept.items()}
        self.agent_configurator = AgentConfigurator(agents, self.curricula, memories)

    def give_hint(self, agent: str, message: str) -> None:
        """Show a hint to an agent in the middle of an episode, where that is possible."""
        raise ConfigError("hints are given through the wrapper of an environment")

    # -- configs of the next episodes ----------------------------------------------------

    def next_configs(self, slots: Iterable[int]) -> list[Any]:
        """Return the configs of the next episodes of some slots, in the order of `slots`.

        Attempts that begin now are posted. An episode that was prepared but did not begin is not
        drawn again.
        """
        if not self._started:
            self._post_start()
        if self.director.per_slot:
            return [self._sample_config(slot) for slot in slots]
        orders = {}
        for agent in self.curricula:
            choice = self.director.assign(agent)
            if choice is not None and self._attempts[agent] is None:
                self._attempts[agent] = self._start_attempt(agent, choice, None)
            orders[agent] = self.progress[agent].current_step_order
        config = self._config_for(orders, {})
        return [config for _ in slots]

    def _sample_config(self, slot: int) -> Any:
        """Return the config of a slot's next episode, for which each agent's step is drawn."""
        drawn = self._sampled[slot]
        for agent in self.curricula:
            if agent not in drawn:
                choice = self.director.assign(agent, slot)
                if choice is not None:
                    self.manager.set_current_step(agent, choice.order)
                    drawn[agent] = self._start_attempt(agent, choice, slot)
        fields: Fields = {}
        for tried in drawn.values():
            fields |= tried.choice.fields
        orders = {agent: tried.step.order for agent, tried in drawn.items()}
        return self._config_for(orders, fields)

    def next_seed(self, slot: int) -> int | None:
        """Return the seed of a slot's next episode, if a level was drawn for it."""
        seeds = (tried.choice.seed for tried in self._sampled[slot].values())
        return next((seed for seed in seeds if seed is not None), None)

    def _start_attempt(self, agent: str, choice: StepChoice, slot: int | None) -> AttemptState:
        """Begin an attempt."""
        curriculum, progress = self.curricula[agent], self.progress[agent]
        step = curriculum.step(choice.order)
        self._configure_agent(agent, step)
        drawn = self.director.per_slot
        wanted = 1 if drawn else self.director.episodes(step)
        attempt = progress.step_attempts[step.order]
        data: dict[str, Any] = {
            "curriculum": curriculum.name,
            "order": step.order,
            "name": step.name,
            "attempt": attempt,
            "episodes": wanted,
            "target_coords": step.target_coords,
        }
        if drawn and self.slots > 1:
            data["slot"] = slot
        if choice.values:
            data["drawn_by"] = dict(choice.values)
        self.post("DSE_STEP_ATTEMPT_START", data, agent)
        number = self.metrics.attempt(agent, data).number
        for listener in self.attempt_listeners:
            listener(agent, data)
        return AttemptState(step, attempt, number, wanted, choice)

    def _configure_agent(self, agent: str, step: CurriculumStep) -> None:
        """Prepare an agent that enters a step, or continues it in another process."""
        if self._entered.get(agent) == step.order:
            return
        if agent in self._entered:
            self.setup.clear_overrides()
        self._entered[agent] = step.order
        settings = self.agent_configurator.settings(agent, step)
        received = self.agent_configurator.enter(agent, step, settings)
        if settings or step.agent_state != "keep":
            data = {
                "order": step.order,
                "config": settings,
                "agent_state": step.agent_state,
                "received": received,
            }
            self.post("DSE_AGENT_RECONFIG_APPLIED", data, agent)

    def _config_for(self, orders: Mapping[str, int], drawn: Fields) -> Any:
        """Return the config of an episode, and post it if it has changed."""
        config = self.setup.config(orders, drawn)
        self.orders = dict(orders)
        if config is not self._config:
            self._config = config
            fields = {**self.setup.fields(orders), **drawn, **self.setup.overrides}
            self.post("DSE_ENV_RECONFIG_APPLIED", {"orders": dict(orders), "config": fields})
        return config

    # -- episodes ------------------------------------------------------------------------

    def start_episode(self, slot: int, playing: Sequence[str]) -> dict[str, Participation]:
        """Begin an episode; return each agent's part in it, with the hint that it should get."""
        participants = {}
        for agent in (agent for agent in self.curricula if agent in playing):
            tried = self._attempt_of(agent, slot)
            participants[agent] = self._participation(agent, tried)
            self._feedback[agent].begin(slot, self.step, tried is None or tried.choice.learn)
        self.participants[slot] = participants
        return participants

    def _participation(self, agent: str, tried: AttemptState | None) -> Participation:
        """Return an agent's part in an episode that begins."""
        self._sequence += 1
        progress = self.progress[agent]
        if tried is None:
            step = self.curricula[agent].step(progress.current_step_order)
            number = SPARE if self.metrics.history.of(agent).attempts else 0
            return Participation(agent, number, self._sequence, step, progress.attempt)
        if tried.begun >= tried.wanted:
            return Participation(agent, SPARE, self._sequence, tried.step, tried.attempt)
        tried.begun += 1
        part = Participation(agent, tried.number, self._sequence, tried.step, tried.attempt)
        return dataclasses.replace(part, hint=progress.hint, choice=tried.choice)

    def _attempt_of(self, agent: str, slot: int) -> AttemptState | None:
        """Return the attempt under way for which an agent's episode in a slot may count."""
        return self._sampled[slot].get(agent) if self.director.per_slot else self._attempts[agent]

    def spectator(self, agent: str) -> Participation:
        """Return the part of an agent that does not take part in the episode.

        Raises:
            AgentError: If it has no curriculum.
        """
        progress = self.manager.progress(agent)
        step = self.curricula[agent].step(max(progress.current_step_order, 0))
        return Participation(agent, SPARE, self._sequence, step, progress.attempt)

    def end_episode(self, slot: int, records: Mapping[str, EpisodeRecord]) -> None:
        """Queue an episode that has ended; `process_ended_episodes` counts it."""
        participants, self.participants[slot] = self.participants[slot], {}
        self._sampled[slot] = {}
        self._queue.append(EndedEpisode(self.step, slot, participants, records))

    def abort_episode(self, slot: int, records: Mapping[str, EpisodeRecord]) -> None:
        """Drop an episode that was broken off or never had a step; its attempt gets another one.

        It is still counted for agents that had finished their own episode while others went on.
        """
        played = {agent: record for agent, record in records.items() if record.episode.finished}
        participants = self.participants[slot]
        ended = {agent: part for agent, part in participants.items() if agent in played}
        for agent, participation in participants.items():
            if agent in ended:
                continue
            if participation.number > 0:
                tried = self._attempt_of(agent, slot)
                if tried is not None and tried.number == participation.number:
                    tried.begun -= 1
            if agent in records:
                self._record(participation, records[agent], slot)
        self.participants[slot] = {}
        if ended:
            self._queue.append(EndedEpisode(self.step, slot, ended, played))
        for agent in ended:
            self._sampled[slot].pop(agent, None)

    def _record(self, participation: Participation, record: EpisodeRecord, slot: int) -> None:
        """Hand an episode to the metrics."""
        record.episode.sequence = participation.sequence
        self.metrics.add_episode(record, slot if self.slots > 1 else None)

    # -- hints ---------------------------------------------------------------------------

    def hint_text(self, participation: Participation) -> str | None:
        """Return the words of the hint that an agent gets at the beginning of an episode."""
        if participation.hint is None:
            return None
        message = participation.step.hints[participation.hint].message
        tutor = self.options.tutor
        if tutor is not None:
            message = require_text(tutor.word(participation.agent, participation.hint, message))
        return message

    def record_hint(
        self,
        participation: Participation,
        message: str,
        *,
        in_episode: bool = False,
        slot: int | None = None,
    ) -> None:
        """Record and post a hint that was given, at the beginning of an episode or in it."""
        self.metrics.hint(participation.agent, message, slot)
        key = None if in_episode else participation.hint
        hint = None if key is None else participation.step.hints[key]
        data: dict[str, Any] = {
            "hint": key,
            "message": message,
            "by": "tutor" if in_episode or self.options.tutor is not None else "curriculum",
            "order": participation.step.order,
            "attempt": participation.attempt,
        }
        if hint is not None:
            data |= {"event_type": hint.event_type, "data": hint.data.model_dump(mode="json")}
        if slot is not None:
            data["slot"] = slot
        self.post("DSE_APPLY_HINT", data, participation.agent)

    # -- decisions -----------------------------------------------------------------------

    def process_ended_episodes(self, until: int | None = None) -> list[Decision]:
        """Count the ended episodes in the order (step, slot), and decide where it is time.

        Args:
            until: Only those that ended at this step or before; by default all.

        Returns:
            The decisions.
        """
        due = [e for e in self._queue if until is None or e.step <= until]
        if not due:
            return []
        self._queue = self._queue[len(due) :]
        found: list[Decision] = []
        for ended in sorted(due, key=lambda e: (e.step, e.slot)):
            for agent, participation in ended.participants.items():
                if agent in ended.records:
                    self._record(participation, ended.records[agent], ended.slot)
            for agent, participation in ended.participants.items():
                found += self._count(agent, participation, ended.records.get(agent))
        self._unsaved += len(due)
        if found or self._unsaved >= UNSAVED:
            self.save()
        return found

    def _count(
        self, agent: str, participation: Participation, record: EpisodeRecord | None
    ) -> list[Decision]:
        """Count an episode for its attempt; if the attempt is over, decide."""
        tried, drawn = self._attempts[agent], self.director.per_slot
        if drawn:
            counts = participation.number > 0
        else:
            counts = tried is not None and participation.number == tried.number
        if record is None:  # the agent did not act in it, so its attempt gets another one
            if counts and tried is not None:
                tried.begun -= 1
            return []
        self.counts[agent].steps[participation.step.order] += record.episode.length
        if not counts:
            self.counts[agent].uncounted += 1
            return []
        self.counts[agent].add(participation.step.order, record.episode.result == "won")
        choice = participation.choice or StepChoice(participation.step.order)
        self.director.observe_choice(agent, choice, record.episode)
        self._feedback[agent].ended(choice, record.episode)
        if drawn:
            self.progress[agent].count(participation.step.order, 1, record.episode.length)
        if tried is None:
            return []
        tried.ended += 1
        tried.env_steps += record.episode.length
        return [self._decide(agent, tried)] if tried.ended == tried.wanted else []

    def _decide(self, agent: str, tried: AttemptState) -> Decision:
        """Decide after an attempt, and move the agent on."""
        self._attempts[agent] = None
        over = AttemptResult(agent, tried.step, tried.attempt, tried.env_steps, tried.ended)
        decision = self.director.decide(over)
        assert decision is not None, f"{type(self.director).__name__} decides nothing"
        curriculum, stages = self.curricula[agent], self.progress[agent].stages
        decision, by = ask_tutor(self.options.tutor, decision, tried.step, curriculum, stages)
        # Episodes that are still in play will count for no attempt.
        in_play = sum(agent in participants for participants in self.participants)
        data = {**decision.as_json(), "by": by, "in_play": in_play}
        self.post("DSE_ADAPTATION_EVAL", data, agent)
        self.manager.apply(decision)
        self.decisions.append(decision)
        for event_type, data in decision_events(decision):
            self.post(event_type, data, agent)
        return decision

    # -- learners ------------------------------------------------------------------------

    def report_advantages(self, agent: str, advantages: Any) -> None:
        """Report to the director the advantages of the last steps, as the learner estimates them.

        Directors that score levels by them need this after each rollout; others do not need it.

        Args:
            agent: The agent.
            advantages: The advantages of its last steps, shape (steps, slots).

        Raises:
            AgentError: If it has no curriculum.
            ConfigError: If they are not finite numbers of this shape.
        """
        self.manager.progress(agent)
        self._feedback[agent].report(advantages, self.step, partial(self.director.score, agent))

    def learning_mask(self, agent: str, steps: int) -> NDArray[np.bool_]:
        """Return which of its last steps a learner should learn from, shape (steps, slots).

        Call it once after each rollout: what was played before the call is forgotten.

        Args:
            agent: The agent.
            steps: How many steps.

        Raises:
            AgentError: If it has no curriculum.
        """
        self.manager.progress(agent)
        return self._feedback[agent].mask(steps, self.step)

    # -- saving and logging --------------------------------------------------------------

    def save(self) -> None:
        """Write progress to its file, if there is one."""
        self._unsaved = 0
        if self.options.store is not None:
            for progress in self.progress.values():
                progress.memory.pop(OVERRIDES, None)
                if self.setup.overrides:
                    progress.memory[OVERRIDES] = jsonable(self.setup.overrides)
            if not self.director.per_slot:
                for agent, progress in self.progress.items():
                    save_windows(self.metrics.history, progress, self.curricula[agent].needs)
            self.options.store.save(self.progress)

    def close(self) -> None:
        """Unsubscribe, make the remaining decisions, and save what is not yet saved."""
        for unsubscribe in self._subscriptions:
            unsubscribe()
        self._subscriptions.clear()
        self.process_ended_episodes()
        if self._unsaved:
            self.save()

    def post(self, event_type: str, data: Mapping[str, Any], agent: str | None = None) -> None:
        """Post a line for logs."""
        if self.events.active:
            self.events.post("log", agent, event_type=event_type, data=dict(data))

    def override(self, fields: Fields) -> Fields:
        """Override fields of the config from the next reset on, for the rest of the step."""
        self.setup.add_overrides(fields, self.orders)
        data = {"orders": dict(self.orders), "config": fields, "by": "modifier"}
        self.post("DSE_ENV_RECONFIG_APPLIED", data)
        self.save()
        return fields


class EnvironmentModifierInterface:
    """Lets an engine or a tutor change the environment of a controller (the DSE document).

    Difficulty and elements apply from the next reset on, for the rest of the step: an episode keeps
    the rules under which it began. A hint applies at once.
    """

    def __init__(self, controller: CurriculumController) -> None:
        """Change the environment of `controller`."""
        self._controller = controller

    def adjust_difficulty(self, params: Mapping[str, Any]) -> Fields:
        """Turn difficulty parameters of the world, such as ``{"hazards": 3}`` or ``{"by": -0.1}``.

        Raises:
            ConfigError: If there is no such difficulty parameter, or the value is not allowed.
            EnvelopeError: If the world does not fit its envelope then.
        """
        return self._override(lambda world, config: world.adjusted(config, params))

    def introduce_element(self, element_config: Mapping[str, Any]) -> Fields:
        """Put something into the world, such as ``{"type": "wall", "position": [2, 3]}``.

        Raises:
            ConfigError: If there is no such element, or it cannot be put there.
            EnvelopeError: If the world does not fit its envelope then.
        """
        return self._override(lambda world, config: world.introduced(config, element_config))

    def provide_indirect_hint(self, agent_id: str, hint: str) -> None:
        """Show words to an agent, in its text and its vector, until the episode ends."""
        self._controller.give_hint(agent_id, hint)

    def _override(self, changes: Callable[[World[Any, Any], Any], Fields]) -> Fields:
        """Apply the fields that a world derives from a change, from the next reset on."""
        setup = self._controller.setup
        config = setup.config(self._controller.orders)
        return self._controller.override(changes(setup.world, config))


class CurriculumProperties:
    """Properties that every environment with a controller offers."""

    controller: CurriculumController

    @property
    def progress(self) -> dict[str, AgentProgress]:
        """The progress of each agent."""
        return self.controller.progress

    @property
    def decisions(self) -> list[Decision]:
        """The decisions since this environment was made, in order."""
        return self.controller.decisions

    @property
    def prompts(self) -> dict[str, str | None]:
        """The prompt of the step that each agent is in, if it has one."""
        return self.controller.prompts

    @property
    def modifier(self) -> EnvironmentModifierInterface:
        """Changes the environment by the difficulty parameters and elements of its world."""
        return self.controller.modifier
