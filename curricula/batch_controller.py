"""The controller of a batch: one for many environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.events import Event
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.episode_collector import BatchEpisodeCollector
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.setup import check_characters, ensure_envelope
from piase_gym.errors import UnsupportedError

if TYPE_CHECKING:
    from piase_gym.envs.batch import BatchEnv

KINDS = ("batch_step", "batch_ended", "batch_begun", "batch_restore")


class BatchController(CurriculumController):
    """Lets the agents of a batch follow curricula, all slots with one controller.

    An episode that begins at a step of the batch depends on the episodes that ended
    `CurriculumOptions.lag` steps before it or earlier, in the order (end step, slot); nothing ever
    waits.

    Args:
        batch: The batch; one that was never reset gets the envelope that curricula need.
        options: What to follow, and how.
        grow_envelope: Makes room for larger configs.

    Raises:
        CurriculumError, EnvelopeError, ProgressError, AgentError: See `CurriculumController`.
        UnsupportedError: If a tutor wants to watch the steps of a batch.
    """

    def __init__(
        self,
        batch: BatchEnv,
        options: CurriculumOptions,
        grow_envelope: Callable[[Mapping[str, int]], object],
    ) -> None:
        """Make the controller, and subscribe to the events of the batch."""
        self.batch = batch
        if options.watched:
            raise UnsupportedError(
                "a batch is too fast to be watched: give its tutor the attribute watches = False; "
                "then it chooses and words hints"
            )
        check_characters(options.curricula, batch.world, batch.partners)
        if not batch.ready.any():
            ensure_envelope(options, batch.configs[0], batch.world, grow_envelope)
        super().__init__(batch.world, options, batch.events, batch.num_envs, batch.configs[0])
        self.collector = BatchEpisodeCollector(batch, list(options.curricula), self.inputs)
        self.collector.step = self.step
        self.attempt_listeners.append(self.collector.set_target)
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._same_step = batch.autoreset == "same_step"
        self._ended: list[int] = []
        self._subscribe()

    def _subscribe(self) -> None:
        """Listen to the batch."""
        self._subscriptions.append(self.batch.events.subscribe(self._on_event, KINDS))

    # -- what the wrapper calls ------------------------------------------------------------

    def before_reset(self, which: NDArray[np.bool_] | None) -> None:
        """Give the slots that will be reset the configs of their next episodes."""
        slots = range(self.batch.num_envs) if which is None else np.flatnonzero(which).tolist()
        self._assign(list(slots))

    def after_step(self) -> None:
        """Make the decisions that are due for episodes that begin with the next step or later."""
        decided = self.process_ended_episodes(self.collector.step + 1 - self.options.lag)
        ended, self._ended = self._ended, []
        if ended and not self._same_step:
            self._assign(ended)
        elif decided:
            self.next_configs([])

    # -- configs ---------------------------------------------------------------------------

    def _assign(self, slots: Iterable[int]) -> None:
        """Set the configs that slots take at their next reset."""
        chosen = list(slots)
        numbers = [self._number(config) for config in self.next_configs(chosen)]
        self.batch.batch.states["next_config"][chosen] = numbers
        for slot in chosen:
            seed = self.next_seed(slot)
            if seed is not None:
                self.batch.set_next_seed(slot, seed)

    def _number(self, config: Any) -> int:
        """Return the number of a config among the batch's configs."""
        known = self._numbers.get(id(config))
        if known is None or known[0] is not config:
            known = self._numbers[id(config)] = (config, self.batch.number_of(config))
        return known[1]

    # -- what happens ----------------------------------------------------------------------

    def _on_event(self, event: Event) -> None:
        """Follow the batch."""
        if event.kind == "batch_step":
            agents = len(self.batch.world.agents)
            self.collector.record_step(event.data["alive"][:, :agents], event.data["over"])
        elif event.kind == "batch_ended":
            self._on_ended(event.data["slots"])
        elif event.kind == "batch_begun":
            for slot in event.data["slots"]:
                self._begin_episode(slot, hints=True)
        else:
            for slot in self.batch.ready.nonzero()[0].tolist():
                self._begin_episode(slot, hints=False)

    def _on_ended(self, slots: list[int]) -> None:
        """Hand over the episodes that ended; under reset in the same step, assign the next."""
        self.step = self.collector.step
        for slot in slots:
            records = self.collector.finish_episode(slot, self.attempts(slot))
            self.end_episode(slot, records)
        self._ended += slots
        if self._same_step and slots:
            self._assign(slots)

    def _begin_episode(self, slot: int, hints: bool) -> None:
        """Begin an episode in a slot; one that is still in play is broken off."""
        world = self.batch.world
        self.step = self.collector.step
        if self.participants[slot]:
            self.abort_episode(slot, self.collector.finish_episode(slot, self.attempts(slot)))
        self.collector.begin(slot)
        alive = self.batch.batch.states["alive"][slot, : len(world.agents)].tolist()
        playing = [name for name, here in zip(world.agents, alive, strict=True) if here]
        for participation in self.start_episode(slot, playing).values():
            message = self.hint_text(participation)
            if hints and message is not None:
                self.batch.give_hint(slot, participation.agent, message)
                self.record_hint(participation, message, slot=slot)
