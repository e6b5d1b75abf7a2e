"""Leads one environment through its curricula: what the wrappers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from piase_gym.agents.base import Percept
from piase_gym.core.events import Event
from piase_gym.core.world import StepResult
from piase_gym.curricula.attempts import Participation
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.episode_collector import EpisodeCollector, Keep
from piase_gym.curricula.options import Curricula, CurriculumOptions
from piase_gym.curricula.setup import union_envelope
from piase_gym.curricula.tutors import TutorObservation, check_words
from piase_gym.errors import EnvelopeError

if TYPE_CHECKING:
    from piase_gym.envs.parallel import WorldParallelEnv
    from piase_gym.envs.single import GymEnv

NUDGE = "nudge"


def ensure_envelope(
    face: WorldParallelEnv | GymEnv, given: Curricula, fixed: str | None = None
) -> None:
    """Give an environment that was never reset the envelope that curricula need.

    Args:
        face: The environment.
        given: The curricula.
        fixed: Name of a wrapper that has fixed its spaces already, if there is one.

    Raises:
        EnvelopeError: If there is such a wrapper, and the spaces are too small.
    """
    runner = face.runner
    if not runner.fresh:
        return
    wanted = union_envelope(given.values(), runner.pending or runner.world.config)
    now = runner.world.envelope.model_dump()
    if all(size <= now[name] for name, size in wanted.items()):
        return
    if fixed is not None:
        raise EnvelopeError(
            f"{fixed} has fixed its spaces, which are too small for the curricula: put it around "
            "CurriculumWrapper, or make the environment with the envelope of the curricula: "
            f"parallel_env(..., envelope={wanted!r})"
        )
    face.enlarge(wanted)


class EnvController:
    """Leads one environment through a controller.

    Args:
        face: The environment; see `ensure_envelope`.
        plan: What to follow, and how.

    Attributes:
        course: Progress, metrics, decisions.
        keeps: What the wrapper hands on of each step's `StepResult`: entry and keeper.

    Raises:
        CurriculumError, EnvelopeError, ProgressError, AgentError: See `CurriculumController`.
    """

    def __init__(self, face: WorldParallelEnv | GymEnv, plan: CurriculumOptions) -> None:
        """Take up the controller, and listen."""
        self.runner = face.runner
        base = self.runner.pending or self.runner.world.config
        self.course = CurriculumController(self.runner.world, plan, self.runner.events, base=base)
        self.collector = EpisodeCollector(self.runner, list(plan.curricula), self.course.reads)
        self.collector.ran = self.course.step
        self.course.hearers.append(self.collector.aim)
        self.course.on_hint(self.give_hint)
        self.keeps: tuple[Keep, ...] = ()
        self._config: Any = None
        self._seen = base
        self._leave = [self.runner.events.subscribe(self._hear, ("begun", "restore"))]
        if plan.tutor is not None and getattr(plan.tutor, "watches", True):
            self._leave.append(self.runner.events.watch(self._watch, last=True))

    # -- episodes --------------------------------------------------------------------------

    def before_reset(self) -> None:
        """Let the next episode have the config of the steps that agents are in."""
        self._break_off()
        self._heed_user()
        (config,) = self.course.prepare([0])
        if config is not self._config or self._seen is not self._present():
            self._config = config
            if self._present() != config:
                self.runner.adopt(config)
            self._seen = self._present()

    def _present(self) -> Any:
        """Return the config that would hold from the next reset on."""
        return self.runner.pending or self.runner.world.config

    def _heed_user(self) -> None:
        """Let what was reconfigured by others hold where no step says otherwise."""
        present = self._present()
        if present is not self._seen:
            fields = {} if present == self._seen else self._seen.diff(present)
            fields.pop("envelope", None)
            if fields:
                self.course.setup.rebase(self.course.setup.base.changed(fields))
            self._seen = present

    def after_reset(self) -> None:
        """Take note of the first moment that the caller sees."""
        self.collector.settle()
        self.keeps = self.collector.keeps
        self._heed_user()  # the options of a reset can have a config

    def noted(self, tick: StepResult) -> None:
        """Take in a step in which something ended or was reached."""
        if self.collector.note(tick):
            self.course.step = self.collector.step
            self.course.ended(0, self.collector.fold(self.course.attempts(0)))
            self.course.settle()

    def _break_off(self) -> None:
        """End an episode that did not come to its own end."""
        if self.course.seats[0]:
            self.course.step = self.collector.step
            self.course.broken(0, self.collector.fold(self.course.attempts(0)))

    def _hear(self, event: Event) -> None:
        """An episode begins, or goes on from another state."""
        if event.kind == "restore":
            self._break_off()
            self._seen = self._present()
        self.collector.begin()
        self.course.step = self.collector.step
        world = self.runner.world
        playing = [name for name, here in zip(world.agents, world.alive, strict=True) if here]
        for seat in self.course.began(0, playing).values():
            message = self.course.words(seat)
            if message is not None and event.kind == "begun":
                self._show(seat, message, "hint")
        self.keeps = self.collector.keeps

    def close(self) -> None:
        """Listen no longer, and keep the progress."""
        for leave in self._leave:
            leave()
        if self._leave:
            self._leave = []
            self.course.finish()

    # -- hints -----------------------------------------------------------------------------

    def _show(self, seat: Participation, message: str, by: str) -> None:
        """Show words to an agent, from now on."""
        world = self.runner.world
        world.give_hint(world.agents.index(seat.agent), message)
        shown = world.hints[world.agents.index(seat.agent)]
        self.runner.events.post("hint", seat.agent, message=shown)
        self.course.hinted(seat, message, by)

    def give_hint(self, agent: str, message: str) -> None:
        """Show words to an agent in the midst of an episode."""
        self.runner.require_episode()
        self.runner.number(agent)
        self.course.step = self.collector.step
        seat = self.course.seats[0].get(agent)
        if seat is None:
            seat = self.course.absent(agent)
        self._show(seat, check_words(message), NUDGE)

    def _watch(self, _acts: Any, _tick: StepResult) -> None:
        """Let the tutor look at every agent in play, and say something."""
        tutor, world = self.course.plan.tutor, self.runner.world
        assert tutor is not None
        alive, steps = world.alive, self.runner.steps
        for agent, seat in self.course.seats[0].items():
            number = world.agents.index(agent)
            if alive[number]:
                percept = Percept(world, number, steps)
                hint = world.hints[number]
                words = tutor.watch(
                    TutorObservation(agent, seat.step, seat.attempt, steps, percept, hint)
                )
                if words is not None:
                    self.course.step = self.collector.step
                    self._show(seat, check_words(words), NUDGE)
