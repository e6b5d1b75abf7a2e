"""The controller of one environment: configs in, episodes out, hints shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.agents.base import Percept
from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.curricula.attempts import Participation
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.episode_collector import EpisodeCollector
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.setup import check_characters, ensure_envelope
from piase_gym.curricula.tutors import TutorObservation, require_text

if TYPE_CHECKING:
    from piase_gym.envs.parallel import WorldParallelEnv
    from piase_gym.envs.single import GymEnv


class EnvController(CurriculumController):
    """Lets the agents of one environment follow curricula.

    Args:
        env: The environment; one that was never reset gets the envelope that curricula need.
        options: What to follow, and how.
        fixed: Name of a wrapper that has fixed its spaces already, if there is one.

    Raises:
        CurriculumError, EnvelopeError, ProgressError, AgentError: See `CurriculumController`.
    """

    def __init__(
        self, env: WorldParallelEnv | GymEnv, options: CurriculumOptions, fixed: str | None = None
    ) -> None:
        """Make the controller, and subscribe to the events of the environment."""
        self.runner = runner = env.runner
        check_characters(options.curricula, runner.world, runner.partners)
        base = self._pending_config()
        if runner.never_reset:
            ensure_envelope(options, base, runner.world, env.grow_envelope, fixed)
            base = self._pending_config()
        super().__init__(runner.world, options, runner.events, base=base)
        self.collector = EpisodeCollector(runner, list(options.curricula), self.inputs)
        self.collector.steps_before = self.step
        self.attempt_listeners.append(self.collector.set_target)
        self._assigned: Any = None
        self._known_config = base
        self._subscribe()

    def _subscribe(self) -> None:
        """Listen for episodes that begin, and let a tutor watch."""
        events = self.runner.events
        self._subscriptions.append(events.subscribe(self._on_event, ("begun", "restore")))
        if self.options.watched:
            self._subscriptions.append(events.watch(self._watch, last=True))

    # -- episodes --------------------------------------------------------------------------

    def before_reset(self) -> None:
        """Set the next episode's config to that of the steps that agents are in."""
        self._break_off()
        self._sync_user_config()
        (config,) = self.next_configs([0])
        if config is not self._assigned or self._known_config is not self._pending_config():
            self._assigned = config
            if self._pending_config() != config:
                self.runner.set_next_config(config)
            self._known_config = self._pending_config()
        seed = self.next_seed(0)
        if seed is not None:
            self.runner.set_next_seed(seed)

    def report_advantages(self, agent: str, advantages: Any) -> None:
        """Report the advantages of the last steps to the director; see `CurriculumController`."""
        self.step = self.collector.step
        super().report_advantages(agent, advantages)

    def learning_mask(self, agent: str, steps: int) -> NDArray[np.bool_]:
        """Return which of its last steps a learner should learn from."""
        self.step = self.collector.step
        return super().learning_mask(agent, steps)

    def _pending_config(self) -> Any:
        """Return the config that would hold from the next reset on."""
        return self.runner.next_config or self.runner.world.config

    def _sync_user_config(self) -> None:
        """Keep the fields that users reconfigured, where no step sets them."""
        present = self._pending_config()
        if present is not self._known_config:
            fields = {} if present == self._known_config else self._known_config.diff(present)
            fields.pop("envelope", None)
            if fields:
                self.setup.set_base(self.setup.base.changed(fields))
            self._known_config = present

    def after_reset(self) -> None:
        """Start to record; earlier steps were taken while no agent of the caller was there."""
        self.collector.start_recording()
        self._sync_user_config()  # the options of a reset can contain a config

    def after_step(self) -> None:
        """Record a step; at the end of the episode, count it and decide."""
        if self.collector.record_step():
            self.step = self.collector.step
            self.end_episode(0, self.collector.finish_episode(self.attempts(0)))
            self.process_ended_episodes()

    def _break_off(self) -> None:
        """Break off an episode that is still in play."""
        if self.participants[0]:
            records = self.collector.finish_episode(self.attempts(0))
            self.step = self.collector.step
            self.abort_episode(0, records)
            self.process_ended_episodes()

    def _on_event(self, event: Event) -> None:
        """Begin an episode, or continue one from another state."""
        if event.kind == "restore":
            self._break_off()
            self._known_config = self._pending_config()
        self.collector.begin()
        self.step = self.collector.step
        world = self.runner.world
        playing = [name for name, here in zip(world.agents, world.alive, strict=True) if here]
        for participation in self.start_episode(0, playing).values():
            message = self.hint_text(participation)
            if message is not None and event.kind == "begun":
                self._show(participation, message, in_episode=False)

    # -- hints -----------------------------------------------------------------------------

    def _show(self, participation: Participation, message: str, in_episode: bool) -> None:
        """Show words to an agent, from now on."""
        world = self.runner.world
        world.give_hint(world.agents.index(participation.agent), message)
        shown = world.hints[world.agents.index(participation.agent)]
        self.runner.events.post("hint", participation.agent, message=shown)
        self.record_hint(participation, message, in_episode=in_episode)

    def give_hint(self, agent: str, message: str) -> None:
        """Show words to an agent in the middle of an episode."""
        self.runner.require_episode()
        self.runner.number(agent)
        self.step = self.collector.step
        participation = self.participants[0].get(agent)
        if participation is None:
            participation = self.spectator(agent)
        self._show(participation, require_text(message), in_episode=True)

    def _watch(self, _acts: Any, _result: StepResult) -> None:
        """Let the tutor look at every agent in play, and say something."""
        tutor, world = self.options.tutor, self.runner.world
        assert tutor is not None
        alive, steps = world.alive, self.runner.steps
        for agent, participation in self.participants[0].items():
            number = world.agents.index(agent)
            if alive[number]:
                percept, hint = Percept(world, number, steps), world.hints[number]
                step, attempt = participation.step, participation.attempt
                words = tutor.watch(TutorObservation(agent, step, attempt, steps, percept, hint))
                if words is not None:
                    self.step = self.collector.step
                    self._show(participation, require_text(words), in_episode=True)
