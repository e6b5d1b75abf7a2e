"""Curricula in many environments at once, hosted by any number of processes.

The number of slots is part of a run; workers only host them. What an episode depends on is defined
in steps of the whole vector, so a fixed policy gets the same curriculum from 0, 1, 2 or 8 workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from piase_gym.core.interrupts import uninterrupted
from piase_gym.core.rng import spread_seeds
from piase_gym.curricula.controller import CurriculumController, CurriculumProperties
from piase_gym.curricula.metrics import EpisodeRecord
from piase_gym.curricula.options import CURRICULUM_OPTIONS, CurriculumOptions
from piase_gym.curricula.setup import check_characters, union_envelope
from piase_gym.curricula.slot_workers import (
    CONTEXT,
    EnvSpec,
    SlotCommand,
    SlotResult,
    WorkerPool,
)
from piase_gym.envs.single import GymEnv
from piase_gym.errors import (
    ActionError,
    ConfigError,
    ResetNeededError,
    UnsupportedError,
    require_count,
)


class SlotController(CurriculumController):
    """The controller of slots that workers host, and its exchange with the workers.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are.
        workers: How many processes host them; 0 hosts all in this process.
        context: How processes are started; see `multiprocessing.get_context`.
        options: `director`, `tutor`, `progress`, `seed`, `metrics` and `lag`, as
            `CurriculumWrapper` takes them, and arguments of `GymEnv`.

    Attributes:
        model: An environment like those of the slots.
        agent: The learner.
        workers: The pool of workers that host the slots.

    Raises:
        ConfigError: If a number is not allowed.
        CurriculumError, ProgressError: See `CurriculumWrapper`.
    """

    def __init__(
        self,
        world: Any,
        curriculum: Any,
        *,
        slots: int,
        workers: int = 1,
        context: str = CONTEXT,
        **options: Any,
    ) -> None:
        """Make the environment of each slot."""
        slots = require_count("slots is a number from 1 on", slots)
        workers = require_count("workers is a number from 0 on", workers, 0)
        own = {name: options.pop(name) for name in CURRICULUM_OPTIONS if name in options}
        self.model = GymEnv(world, **options)
        self.agent = self.model.agent
        plan = CurriculumOptions(curriculum, (self.agent,), **own)
        if plan.watched:
            raise UnsupportedError(
                "slots are not watched: give their tutor the attribute watches = False; then it "
                "chooses and words hints"
            )
        check_characters(plan.curricula, self.model.world, self.model.runner.partners)
        envelope = union_envelope(plan.curricula.values(), self.model.config, plan.director)
        self.model.grow_envelope(envelope)
        super().__init__(self.model.world, plan, self.model.events, slots)
        spec = EnvSpec(world, {**options, "envelope": envelope}, self.inputs)
        self.workers = WorkerPool(spec, slots, min(workers, slots), context)
        self._configs: list[Any] = [None] * slots
        self._sent_configs: list[Any] = [None] * slots
        self._attempt_data: dict[int | None, Any] = {}
        self._start = [0] * slots
        self._arrived: list[list[int]] = [[] for _ in range(slots)]
        """When the answers of each slot's episode arrived, in steps of the run."""
        self.attempt_listeners.append(self._on_attempt)

    def _on_attempt(self, _agent: str, data: Any) -> None:
        """Note where the learner should go."""
        self._attempt_data[data.get("slot")] = data

    def assign(self, slots: Sequence[int]) -> None:
        """Fix the configs of the next episodes of some slots."""
        for slot, config in zip(slots, self.next_configs(slots), strict=True):
            self._configs[slot] = config

    def forget_config(self, slot: int) -> None:
        """Have a slot's config sent again, because its environment is a new one."""
        self._sent_configs[slot] = None

    def reset_commands(self, seed: Any, step: int) -> list[SlotCommand]:
        """Begin an episode in every slot; episodes in play are broken off."""
        seeds, everyone = spread_seeds(seed, self.slots), range(self.slots)
        for slot in everyone:
            if self.participants[slot]:
                self.abort_episode(slot, {})
        self.assign(everyone)
        return [self.reset_command(slot, seeds[slot], step) for slot in everyone]

    def reset_command(self, slot: int, seed: int | None, step: int) -> SlotCommand:
        """Begin an episode, and return the command for its slot."""
        participation = self.start_episode(slot, [self.agent])[self.agent]
        words = self.hint_text(participation)
        if words is not None:
            self.record_hint(participation, words, slot=slot)
        config = None if self._configs[slot] is self._sent_configs[slot] else self._configs[slot]
        own = self.director.per_slot and self.slots > 1
        attempt = self._attempt_data.get(slot if own else None)
        self._sent_configs[slot], self._start[slot] = self._configs[slot], step
        self._arrived[slot] = []
        seed = self.next_seed(slot) if seed is None else seed
        return SlotCommand(slot, reset=True, seed=seed, config=config, hint=words, attempt=attempt)

    def process(self, results: Sequence[SlotResult], step: int) -> None:
        """Process the answers of slots at a step of the run: count, decide, assign."""
        ended = [result for result in results if result.terminated or result.truncated]
        self.step = step
        for result in results:
            self._arrived[result.slot].append(step)
        for slot, record in ((result.slot, result.record) for result in ended):
            assert record is not None
            number = self.attempts(slot).get(self.agent, 0)
            moved = date_in_run(record, slot, number, self._start[slot], self._arrived[slot])
            self.end_episode(slot, {self.agent: moved})
        self.process_ended_episodes(step + 1 - self.options.lag)
        self.assign([result.slot for result in ended])

    def close(self) -> None:
        """Make the remaining decisions, save the progress, and stop the workers."""
        try:
            super().close()
        finally:
            self.workers.close()
            self.model.close()


def date_in_run(
    record: EpisodeRecord, slot: int, attempt: int, start: int, arrived: Sequence[int]
) -> EpisodeRecord:
    """Return a slot's record with the run's steps instead of those of its environment.

    Args:
        record: The record.
        slot: The slot.
        attempt: Number of the attempt for which the episode counts.
        start: Steps of the run when the episode began.
        arrived: Steps of the run when each answer had arrived. Where only the last one is known,
            the steps of the episode are those just before it.
    """
    episode, end = record.episode, arrived[-1]
    known = [*arrived[-episode.length :]]
    dates: list[int] = [*range(end - episode.length + 1, end - len(known) + 1), *known]
    first = episode.start + 1

    def date(step: int) -> int:
        return dates[min(max(step - first, 0), len(dates) - 1)]

    episode.slot, episode.attempt = slot, attempt
    episode.start, episode.end = start, end
    episode.milestones = {name: date(at) for name, at in episode.milestones.items()}
    episode.arrived = date(episode.arrived) if episode.arrived else 0
    steps = [s._replace(step=date(s.step), slot=slot, attempt=attempt) for s in record.steps]
    return EpisodeRecord(episode, steps)


class _Slots(CurriculumProperties):
    """What environments of one learner in many slots have in common."""

    controller: SlotController

    def __init__(self, world: Any, curriculum: Any, *, slots: int, **options: Any) -> None:
        """Make the slots."""
        self.controller = SlotController(world, curriculum, slots=slots, **options)
        self.events, self.num_envs = self.controller.events, self.controller.slots
        self.single_observation_space = self.controller.model.observation_space
        self.single_action_space = self.controller.model.action_space


class ParallelCurricula(_Slots, VectorEnv[Any, Any, Any]):
    """A Gymnasium VectorEnv of one learner that follows a curriculum in many slots.

    For worlds without a batched kernel and with slow steps: array worlds are faster as a batch.
    An episode ends when the learner's does; the next step begins another (``NEXT_STEP``), in the
    config of the curriculum step that the learner is in by then. An episode that begins at a step
    of the vector depends on those that ended `lag` steps before it or earlier, in the order (end
    step, slot); nothing ever waits.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are; part of the run.
        workers: How many processes host them; 0 hosts all in this process. It does not
            change what is decided.
        context: How processes are started: ``forkserver`` (the default on Linux), ``spawn`` (the
            default elsewhere) or ``fork``.
        options: `director`, `tutor`, `progress`, `seed`, `metrics` and `lag`, as
            `CurriculumWrapper` takes them, and arguments of `GymEnv`: `agent`, `view`, `partners`,
            fields of the config.

    Attributes:
        controller: Progress, metrics, decisions.
        events: The bus on which the controller posts.

    Raises:
        ConfigError, CurriculumError, ProgressError: See `CurriculumWrapper`.

    Example:
        >>> from piase_gym.curricula import DevelopmentalCurriculum
        >>> plan = DevelopmentalCurriculum(name="c", steps=[{"order": 1, "name": "a"}])
        >>> env = ParallelCurricula("GridWorld", plan, slots=3, workers=0)
        >>> observations, infos = env.reset(seed=0)
        >>> observations.shape[0], infos["seed"].tolist()
        (3, [0, 1, 2])
        >>> env.close()
    """

    metadata: dict[str, Any] = {  # as Gymnasium declares it
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, world: Any, curriculum: Any, *, slots: int, **options: Any) -> None:
        """Make the slots."""
        self.closed = True  # until there is something to close: Gymnasium 1.2 closes what it frees
        super().__init__(world, curriculum, slots=slots, **options)
        self.closed = False
        self.render_mode = None
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over: NDArray[np.bool_] | None = None
        self._step = self.controller.step

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every slot; see `BatchVectorEnv.reset`."""
        with uninterrupted.watched(), uninterrupted:  # or answers would be left behind
            results = self._send_commands(self.controller.reset_commands(seed, self._step))
            self._over = np.zeros(self.num_envs, np.bool_)
        infos = {"seed": np.array([result.info["seed"] for result in results], np.int64)}
        return self._stack(results), {**infos, **self._masks(results)}

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Let the learner act in every slot with an episode in play; begin one in the others.

        Raises:
            ActionError: If there is not one action for each slot; nothing has happened then.
        """
        if self._over is None:
            raise ResetNeededError("call reset() before the first step")
        given = _one_each(self.action_space, actions, len(self._over))
        with uninterrupted.watched(), uninterrupted:
            self._step += 1
            commands = [
                self.controller.reset_command(slot, None, self._step)
                if self._over[slot]
                else SlotCommand(slot, action)
                for slot, action in enumerate(given)
            ]
            results = self._send_commands(commands)
            self.controller.process(results, self._step)
            terminated = np.array([result.terminated for result in results], np.bool_)
            truncated = np.array([result.truncated for result in results], np.bool_)
            self._over = terminated | truncated
        rewards = np.array([result.reward for result in results])
        infos = {"result": np.array([r.info.get("result") for r in results], object)}
        infos |= self._masks(results)
        return self._stack(results), rewards, terminated, truncated, infos

    def _send_commands(self, commands: list[SlotCommand]) -> list[SlotResult]:
        """Send commands to slots, and wait for the results."""
        self.controller.workers.send(commands)
        return self.controller.workers.gather(len(commands))

    def _stack(self, results: Sequence[SlotResult]) -> Any:
        """Stack the observations."""
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, [result.observation for result in results], empty)

    def _masks(self, results: Sequence[SlotResult]) -> dict[str, Any]:
        """Stack the masks, if there are any."""
        if "action_mask" not in results[0].info:
            return {}
        return {"action_mask": np.stack([result.info["action_mask"] for result in results])}

    def render(self) -> tuple[Any, ...]:
        """Draw every environment."""
        return tuple(self.controller.workers.picture(slot) for slot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Make the remaining decisions, save the progress, and stop the workers."""
        self.controller.close()


def _one_each(space: Any, actions: Any, slots: int) -> list[Any]:
    """Return the action of each slot.

    Raises:
        ActionError: If there is not one for each.
    """
    try:
        given = list(iterate(space, actions))
    except (TypeError, ValueError):
        given = []
    if len(given) != slots:
        raise ActionError(f"there is one action for each of the {slots} slots, not {actions!r:.60}")
    return given


class AsyncStep(NamedTuple):
    """The answer of a slot.

    Attributes:
        slot: The slot.
        observation: What the learner observes.
        reward: Its reward; 0.0 at the beginning of an episode.
        terminated: Whether its episode ended by the rules.
        truncated: Whether it ended by a limit.
        info: The environment's info.
    """

    slot: int
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class AsyncCurricula(_Slots):
    """One learner that follows a curriculum in many slots, which answer when they are ready.

    After an episode's end the next `send` to that slot begins another one; its action is ignored.
    The clock of the run counts arrivals: an episode that begins after n of them depends on those
    that ended with arrival ``n + 1 - lag`` or before. Directors that draw a step for each episode
    draw it when the slot's last episode has ended.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are.
        workers: How many processes host them; 0 hosts all in this process.
        arrivals: The order of arrivals of another run, which is followed as far as it goes.
        context: How processes are started.
        options: See `piase_gym.curricula.parallel.ParallelCurricula`.

    Attributes:
        controller: Progress, metrics, decisions.
        arrivals: The slots in the order in which they have answered.

    Example:
        >>> from piase_gym.curricula import DevelopmentalCurriculum
        >>> plan = DevelopmentalCurriculum(name="c", steps=[{"order": 1, "name": "a"}])
        >>> env = AsyncCurricula("GridWorld", plan, slots=2, workers=0)
        >>> env.reset(seed=0)
        >>> first = env.recv()
        >>> env.send(first.slot, 4)
        >>> env.close()
    """

    def __init__(
        self,
        world: Any,
        curriculum: Any,
        *,
        slots: int,
        arrivals: Iterable[int] = (),
        **options: Any,
    ) -> None:
        """Make the slots."""
        super().__init__(world, curriculum, slots=slots, **options)
        self.arrivals: list[int] = []
        self._before = self.controller.step
        self._script = deque(arrivals)
        self._here: deque[SlotResult] = deque()
        self._busy: set[int] = set()
        self._over: set[int] = set()
        self._begun = False

    def reset(self, *, seed: Any = None) -> None:
        """Begin an episode in every slot; `recv` returns what the learner observes.

        Raises:
            ConfigError: If a slot is still busy.
        """
        if self._busy:
            raise ConfigError(f"slots {sorted(self._busy)} are busy; recv their answers first")
        self._send(self.controller.reset_commands(seed, self._clock))
        self._over.clear()
        self._begun = True

    def send(self, slot: int, action: Any) -> None:
        """Let the learner act in a slot, or begin another episode there if the last one is over.

        Raises:
            ResetNeededError: Before the first reset.
            ConfigError: If there is no such slot, or it is busy.
        """
        if not self._begun:
            raise ResetNeededError("call reset() before the first step")
        if slot not in range(self.num_envs) or slot in self._busy:
            free = [s for s in range(self.num_envs) if s not in self._busy]
            raise ConfigError(f"slot {slot!r} cannot be told anything now; free slots are {free}")
        if slot in self._over:
            self._over.discard(slot)
            self.controller.assign([slot])  # decisions may have been made since its last episode
            self._send([self.controller.reset_command(slot, None, self._clock)])
        else:
            self._send([SlotCommand(slot, action)])

    def recv(self) -> AsyncStep:
        """Wait for the next answer: of any slot, or of the one whose turn it is in `arrivals`.

        Raises:
            ConfigError: If nobody is busy, or the slot whose turn it is is not.
            PiaseError: What went wrong in a slot, such as an action that is not allowed; the slot
                is free again.
        """
        result = self._next_result()
        self._busy.discard(result.slot)
        if result.error is not None:
            raise result.error
        self.arrivals.append(result.slot)
        if result.terminated or result.truncated:
            self._over.add(result.slot)
        self.controller.process([result], self._clock)
        return AsyncStep._make(result[: len(AsyncStep._fields)])

    @property
    def _clock(self) -> int:
        """The time: how many answers have arrived."""
        return self._before + len(self.arrivals)

    def _send(self, commands: list[SlotCommand]) -> None:
        """Send commands to slots."""
        self._busy |= {command.slot for command in commands}
        self.controller.workers.send(commands)

    def _next_result(self) -> SlotResult:
        """Wait for the result that is next in order."""
        wanted = self._script.popleft() if self._script else None
        if not self._busy or (wanted is not None and wanted not in self._busy):
            whose = "nobody" if wanted is None else f"slot {wanted}, whose turn it is,"
            raise ConfigError(f"{whose} is busy; send an action first")
        while True:
            for result in self._here:
                if wanted in (None, result.slot):
                    self._here.remove(result)
                    return result
            self._here += self.controller.workers.receive()

    def close(self) -> None:
        """Wait for busy slots, make the remaining decisions, and stop the workers."""
        waiting = len(self._busy) - len(self._here)
        try:
            if waiting > 0:
                self.controller.workers.gather(waiting)
        finally:
            self.controller.close()
