"""Leads a batch through a curriculum: many environments, each in the steps that are given to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.events import Event
from piase_gym.curricula.attempts import Participation
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.episode_collector import BatchEpisodeCollector
from piase_gym.curricula.options import Curricula, CurriculumOptions
from piase_gym.curricula.setup import union_envelope
from piase_gym.curricula.tutors import check_words
from piase_gym.errors import ConfigError, UnsupportedError

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv

KINDS = ("batch_step", "batch_ended", "batch_begun", "batch_restore")


def ensure_envelope(
    batch: BatchEnv, given: Curricula, enlarge: Callable[[Mapping[str, int]], None]
) -> None:
    """Give a batch that was never reset the envelope that curricula need.

    Args:
        batch: The batch.
        given: The curricula.
        enlarge: Makes room for larger configs.
    """
    if not batch.ready.any():
        wanted = union_envelope(given.values(), batch.configs[0])
        now = batch.world.envelope.model_dump()
        if any(size > now[name] for name, size in wanted.items()):
            enlarge(wanted)


class BatchController:
    """Leads the environments of a batch through one controller.

    An episode that begins at a step of the batch depends on those that ended
    `CurriculumOptions.lag` steps before it or earlier, in the order (end step, slot); nothing ever
    waits.

    Args:
        batch: The batch; see `ensure_envelope`.
        plan: What to follow, and how.

    Attributes:
        course: Progress, metrics, decisions.

    Raises:
        CurriculumError, EnvelopeError, ProgressError, AgentError: See `CurriculumController`.
        UnsupportedError: If a tutor wants to watch the steps of a batch.
    """

    def __init__(self, batch: BatchEnv, plan: CurriculumOptions) -> None:
        """Take up the controller, and listen."""
        self.batch = batch
        if plan.tutor is not None and getattr(plan.tutor, "watches", True):
            raise UnsupportedError(
                "a batch is too fast to be watched: give its tutor the attribute watches = False; "
                "then it chooses and words hints"
            )
        self.course = CurriculumController(
            batch.world, plan, batch.events, batch.num_envs, batch.configs[0]
        )
        self.collector = BatchEpisodeCollector(batch, list(plan.curricula), self.course.reads)
        self.collector.step = self.course.step
        self.course.hearers.append(self.collector.aim)
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._same_step = batch.autoreset == "same_step"
        self._ended: list[int] = []
        self._leave = [batch.events.subscribe(self._hear, KINDS)]

    # -- what the wrapper calls ------------------------------------------------------------

    def before_reset(self, which: NDArray[np.bool_] | None) -> None:
        """Give the slots that are to be reset the configs of their next episodes."""
        slots = range(self.batch.num_envs) if which is None else np.flatnonzero(which).tolist()
        self._assign(list(slots))

    def after_step(self) -> None:
        """Decide what can be decided for episodes that begin with the next step or later."""
        decided = self.course.settle(self.collector.step + 1 - self.course.plan.lag)
        ended, self._ended = self._ended, []
        if ended and not self._same_step:
            self._assign(ended)
        elif decided:
            self.course.prepare([])

    def close(self) -> None:
        """Listen no longer, decide what is left, and keep the progress."""
        for leave in self._leave:
            leave()
        if self._leave:
            self._leave = []
            self.course.settle()
            self.course.finish()

    # -- configs ---------------------------------------------------------------------------

    def _assign(self, slots: Iterable[int]) -> None:
        """Let slots take the configs of the steps that they are in at their next reset."""
        chosen = list(slots)
        numbers = [self._number(config) for config in self.course.prepare(chosen)]
        self.batch.batch.states["next_config"][chosen] = numbers

    def _number(self, config: Any) -> int:
        """Return the number of a config among those of the batch."""
        known = self._numbers.get(id(config))
        if known is None or known[0] is not config:
            equal = [n for n, other in enumerate(self.batch.configs) if not other.diff(config)]
            number = equal[0] if equal else self.batch.add_config(config)
            known = self._numbers[id(config)] = (config, number)
        return known[1]

    # -- what happens ----------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        """Follow the batch."""
        if event.kind == "batch_step":
            agents = len(self.batch.world.agents)
            self.collector.take(event.data["alive"][:, :agents], event.data["over"])
        elif event.kind == "batch_ended":
            self._take_ended(event.data["slots"])
        elif event.kind == "batch_begun":
            for slot in event.data["slots"]:
                self._begin(slot, hints=True)
        else:
            for slot in self.batch.ready.nonzero()[0].tolist():
                self._begin(slot, hints=False)

    def _take_ended(self, slots: list[int]) -> None:
        """Hand over the episodes that ended; under reset in the same step, assign the next."""
        self.course.step = self.collector.step
        for slot in slots:
            passages = self.collector.fold(slot, self.course.attempts(slot))
            self.course.ended(slot, passages)
        self._ended += slots
        if self._same_step and slots:
            self._assign(slots)

    def _begin(self, slot: int, hints: bool) -> None:
        """An episode of a slot begins; one that goes on is broken off."""
        course, world = self.course, self.batch.world
        course.step = self.collector.step
        if course.seats[slot]:
            course.broken(slot, self.collector.fold(slot, course.attempts(slot)))
        self.collector.begin(slot)
        alive = self.batch.batch.states["alive"][slot, : len(world.agents)].tolist()
        playing = [name for name, here in zip(world.agents, alive, strict=True) if here]
        for seat in course.began(slot, playing).values():
            message = course.words(seat)
            if hints and message is not None:
                self._show(slot, seat, message)

    def _show(self, slot: int, seat: Participation, message: str) -> None:
        """Show words to an agent of a slot, from now on."""
        self.batch.give_hint(slot, seat.agent, check_words(message))
        self.course.hinted(seat, message, "hint", slot)


def require_batch(env: Any, kind: type) -> Any:
    """Return the batch behind an environment.

    Raises:
        ConfigError: If there is none.
    """
    face = env.unwrapped if hasattr(env, "unwrapped") else env
    if not isinstance(face, kind):
        raise ConfigError(
            f"{type(face).__name__} is not an environment of piase_gym with a batched kernel; "
            "worlds without one are led by piase_gym.curricula.ParallelCurricula"
        )
    return face
