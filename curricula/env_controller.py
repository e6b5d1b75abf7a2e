"""Connects one environment with a `CurriculumController`: configs in, episodes out, hints shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from piase_gym.agents.base import Percept
from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.curricula.attempts import Participation
from piase_gym.curricula.controller import IN_EPISODE, CurriculumController
from piase_gym.curricula.episode_collector import EpisodeCollector, StepHook
from piase_gym.curricula.options import Curricula, CurriculumOptions
from piase_gym.curricula.setup import union_envelope
from piase_gym.curricula.tutors import TutorObservation, require_text
from piase_gym.errors import EnvelopeError

if TYPE_CHECKING:
    from piase_gym.envs.parallel import WorldParallelEnv
    from piase_gym.envs.single import GymEnv


def ensure_envelope(
    env: WorldParallelEnv | GymEnv, given: Curricula, fixed: str | None = None
) -> None:
    """Give an environment that was never reset the envelope that curricula need.

    Args:
        env: The environment.
        given: The curricula.
        fixed: Name of a wrapper that has fixed its spaces already, if there is one.

    Raises:
        EnvelopeError: If there is such a wrapper, and the spaces are too small.
    """
    runner = env.runner
    if not runner.never_reset:
        return
    wanted = union_envelope(given.values(), runner.next_config or runner.world.config)
    now = runner.world.envelope.model_dump()
    if all(size <= now[name] for name, size in wanted.items()):
        return
    if fixed is not None:
        raise EnvelopeError(
            f"{fixed} has fixed its spaces, which are too small for the curricula: put it around "
            "CurriculumWrapper, or make the environment with the envelope of the curricula: "
            f"parallel_env(..., envelope={wanted!r})"
        )
    env.enlarge(wanted)


class EnvController:
    """Lets the agents of one environment follow curricula.

    Args:
        env: The environment; see `ensure_envelope`.
        options: What to follow, and how.

    Attributes:
        course: Progress, metrics, decisions.
        step_hooks: What the wrapper hands on of each step's `StepResult`: entry and callback.

    Raises:
        CurriculumError, EnvelopeError, ProgressError, AgentError: See `CurriculumController`.
    """

    def __init__(self, env: WorldParallelEnv | GymEnv, options: CurriculumOptions) -> None:
        """Make the controller, and subscribe to the events of the environment."""
        self.runner = env.runner
        base = self.runner.next_config or self.runner.world.config
        self.course = CurriculumController(
            self.runner.world, options, self.runner.events, base=base
        )
        self.collector = EpisodeCollector(self.runner, list(options.curricula), self.course.inputs)
        self.collector.steps_before = self.course.step
        self.course.attempt_listeners.append(self.collector.set_target)
        self.course.on_hint(self.give_hint)
        self.step_hooks: tuple[StepHook, ...] = ()
        self._config: Any = None
        self._known_config = base
        self._subscriptions = [self.runner.events.subscribe(self._on_event, ("begun", "restore"))]
        if options.tutor is not None and getattr(options.tutor, "watches", True):
            self._subscriptions.append(self.runner.events.watch(self._watch, last=True))

    # -- episodes --------------------------------------------------------------------------

    def before_reset(self) -> None:
        """Let the next episode have the config of the steps that agents are in."""
        self._abort_episode()
        self._sync_user_config()
        (config,) = self.course.next_configs([0])
        if config is not self._config or self._known_config is not self._pending_config():
            self._config = config
            if self._pending_config() != config:
                self.runner.adopt(config)
            self._known_config = self._pending_config()

    def _pending_config(self) -> Any:
        """Return the config that would hold from the next reset on."""
        return self.runner.next_config or self.runner.world.config

    def _sync_user_config(self) -> None:
        """Let what users reconfigured hold where no step says otherwise."""
        present = self._pending_config()
        if present is not self._known_config:
            fields = {} if present == self._known_config else self._known_config.diff(present)
            fields.pop("envelope", None)
            if fields:
                self.course.setup.set_base(self.course.setup.base.changed(fields))
            self._known_config = present

    def after_reset(self) -> None:
        """Start to record; steps before were taken while no agent of the caller was there."""
        self.collector.start_recording()
        self.step_hooks = self.collector.step_hooks
        self._sync_user_config()  # the options of a reset can have a config

    def on_step_events(self, tick: StepResult) -> None:
        """Take in a step in which something ended or was reached."""
        if self.collector.on_step_events(tick):
            self.course.step = self.collector.step
            self.course.end_episode(0, self.collector.finish_episode(self.course.attempts(0)))
            self.course.process_ended_episodes()

    def _abort_episode(self) -> None:
        """End an episode that did not come to its own end."""
        if self.course.participants[0]:
            self.course.step = self.collector.step
            self.course.abort_episode(0, self.collector.finish_episode(self.course.attempts(0)))

    def _on_event(self, event: Event) -> None:
        """An episode begins, or goes on from another state."""
        if event.kind == "restore":
            self._abort_episode()
            self._known_config = self._pending_config()
        self.collector.begin()
        self.course.step = self.collector.step
        world = self.runner.world
        playing = [name for name, here in zip(world.agents, world.alive, strict=True) if here]
        for participation in self.course.start_episode(0, playing).values():
            message = self.course.hint_text(participation)
            if message is not None and event.kind == "begun":
                self._show(participation, message, "hint")
        self.step_hooks = self.collector.step_hooks

    def close(self) -> None:
        """Unsubscribe, and save the progress."""
        for unsubscribe in self._subscriptions:
            unsubscribe()
        if self._subscriptions:
            self._subscriptions = []
            self.course.finish()

    # -- hints -----------------------------------------------------------------------------

    def _show(self, participation: Participation, message: str, by: str) -> None:
        """Show words to an agent, from now on."""
        world = self.runner.world
        world.give_hint(world.agents.index(participation.agent), message)
        shown = world.hints[world.agents.index(participation.agent)]
        self.runner.events.post("hint", participation.agent, message=shown)
        self.course.record_hint(participation, message, by)

    def give_hint(self, agent: str, message: str) -> None:
        """Show words to an agent in the midst of an episode."""
        self.runner.require_episode()
        self.runner.number(agent)
        self.course.step = self.collector.step
        participation = self.course.participants[0].get(agent)
        if participation is None:
            participation = self.course.spectator(agent)
        self._show(participation, require_text(message), IN_EPISODE)

    def _watch(self, _acts: Any, _tick: StepResult) -> None:
        """Let the tutor look at every agent in play, and say something."""
        tutor, world = self.course.options.tutor, self.runner.world
        assert tutor is not None
        alive, steps = world.alive, self.runner.steps
        for agent, participation in self.course.participants[0].items():
            number = world.agents.index(agent)
            if alive[number]:
                percept = Percept(world, number, steps)
                hint = world.hints[number]
                words = tutor.watch(
                    TutorObservation(
                        agent, participation.step, participation.attempt, steps, percept, hint
                    )
                )
                if words is not None:
                    self.course.step = self.collector.step
                    self._show(participation, require_text(words), IN_EPISODE)
