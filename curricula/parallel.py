"""Curricula in many environments at once, hosted by as many processes as one likes.

The number of slots is part of a run; workers only host them. What an episode depends on is said in
steps of the whole vector, so a fixed policy gets the same curriculum from 0, 1, 2 or 8 workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from piase_gym.core.rng import spread_seeds
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.decisions import Decision
from piase_gym.curricula.metrics import EpisodeRecord
from piase_gym.curricula.options import CurriculumOptions
from piase_gym.curricula.progress import AgentProgress
from piase_gym.curricula.setup import union_envelope
from piase_gym.curricula.slot_workers import EnvSpec, SlotCommand, SlotResult, WorkerPool
from piase_gym.curricula.tutors import require_text
from piase_gym.envs.single import GymEnv
from piase_gym.errors import ConfigError, ResetNeededError, UnsupportedError

CURRICULUM_OPTIONS = ("director", "tutor", "progress", "seed", "metrics", "lag")
"""Options that are the curriculum's; all others are the environment's."""


class SlotRun:
    """What runs in slots have in common: a controller, workers, and what goes between them.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are.
        workers: How many processes host them; 0 hosts all in this process.
        context: How processes are started; see `multiprocessing.get_context`.
        options: `director`, `tutor`, `progress`, `seed`, `metrics` and `lag`, as
            `CurriculumWrapper` takes them, and arguments of `GymEnv`.

    Attributes:
        course: Progress, metrics, decisions.
        events: The bus on which the controller posts.

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
        workers: int,
        context: str,
        options: dict[str, Any],
    ) -> None:
        """Make the environment of each slot."""
        for name, value, least in (("slots", slots, 1), ("workers", workers, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name} is a number from {least} on, not {value!r}")
        course = {name: options.pop(name) for name in CURRICULUM_OPTIONS if name in options}
        self.model = GymEnv(world, **options)
        plan = CurriculumOptions.of(curriculum, (self.model.agent,), **course)
        if plan.tutor is not None and getattr(plan.tutor, "watches", True):
            raise UnsupportedError(
                "slots are not watched: give their tutor the attribute watches = False; then it "
                "chooses and words hints"
            )
        envelope = union_envelope(plan.curricula.values(), self.model.config)
        self.model.enlarge(envelope)
        self.events = self.model.events
        self.course = CurriculumController(self.model.world, plan, self.events, slots)
        self.agent, self.slots = self.model.agent, slots
        spec = EnvSpec(world, {**options, "envelope": envelope}, self.course.inputs)
        self.workers = WorkerPool(spec, slots, min(workers, slots), context)
        self.configs: list[Any] = [None] * slots
        self._sent_configs: list[Any] = [None] * slots
        self._attempt_data: dict[int | None, Any] = {}
        self._sent_attempts: list[Any] = [None] * slots
        self._start = [0] * slots
        self.course.attempt_listeners.append(self._on_attempt)

    def _on_attempt(self, _agent: str, data: Any) -> None:
        """Take note of where the learner is to go."""
        self._attempt_data[data.get("slot")] = data

    def assign(self, slots: Sequence[int]) -> None:
        """Fix the configs of the next episodes of some slots."""
        for slot, config in zip(slots, self.course.next_configs(slots), strict=True):
            self.configs[slot] = config

    def reset_command(self, slot: int, seed: int | None, step: int) -> SlotCommand:
        """Let an episode begin, and return what its slot is to be told."""
        course = self.course
        participation = course.start_episode(slot, [self.agent])[self.agent]
        words = course.hint_text(participation)
        if words is not None:
            course.record_hint(participation, require_text(words), "hint", slot)
        config = None if self.configs[slot] is self._sent_configs[slot] else self.configs[slot]
        attempt = self._attempt_data.get(
            slot if course.director.per_slot and self.slots > 1 else None
        )
        attempt = None if attempt is self._sent_attempts[slot] else attempt
        self._sent_configs[slot], self._start[slot] = self.configs[slot], step
        if attempt is not None:
            self._sent_attempts[slot] = attempt
        return SlotCommand(slot, reset=True, seed=seed, config=config, hint=words, attempt=attempt)

    def abort_episode(self, slot: int) -> None:
        """Take note that an episode was broken off before its end."""
        if self.course.participants[slot]:
            self.course.abort_episode(slot, {})

    def end_episode(self, result: SlotResult, step: int) -> None:
        """Take in an episode that has ended at a step of the run."""
        assert result.record is not None
        number = self.course.attempts(result.slot).get(self.agent, 0)
        moved = shift_to_run(result.record, result.slot, number, self._start[result.slot])
        self.course.step = step
        self.course.end_episode(result.slot, {self.agent: moved})

    def close(self) -> None:
        """Decide what is left, keep the progress, and stop the workers."""
        self.course.process_ended_episodes()
        self.course.finish()
        self.workers.close()
        self.model.close()


def shift_to_run(record: EpisodeRecord, slot: int, attempt: int, start: int) -> EpisodeRecord:
    """Return what an episode left behind, as one of a slot that began after so many steps."""
    episode = record.episode
    by = start - episode.start
    episode.slot, episode.attempt = slot, attempt
    episode.start, episode.end = start, episode.end + by
    episode.milestones = {name: at + by for name, at in episode.milestones.items()}
    episode.arrived = episode.arrived + by if episode.arrived else 0
    steps = [s._replace(step=s.step + by, slot=slot, attempt=attempt) for s in record.steps]
    return EpisodeRecord(episode, steps)


class ParallelCurricula(VectorEnv[Any, Any, Any]):
    """A Gymnasium VectorEnv of one learner that follows a curriculum in many slots.

    For worlds without a batched kernel, whose steps take long: array worlds are faster as a batch.
    An episode ends with the learner's; the next step begins another (``NEXT_STEP``), in the config
    of the step that the learner is in then. An episode that begins at a step of the vector depends
    on those that ended `lag` steps before it or earlier, in the order (end step, slot); nothing
    ever waits.

    Args:
        world: An id, a world or a config.
        curriculum: A curriculum, its name or its path.
        slots: How many environments there are; part of the run.
        workers: How many processes host them; 0 hosts all in this process. It changes nothing in
            what is decided.
        context: How processes are started: ``forkserver``, ``spawn`` or ``fork``.
        options: `director`, `tutor`, `progress`, `seed`, `metrics` and `lag`, as
            `CurriculumWrapper` takes them, and arguments of `GymEnv`: `agent`, `view`, `partners`,
            fields of the config.

    Attributes:
        course: Progress, metrics, decisions.
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

    def __init__(
        self,
        world: Any,
        curriculum: Any,
        *,
        slots: int,
        workers: int = 1,
        context: str = "forkserver",
        **options: Any,
    ) -> None:
        """Make the slots."""
        self.run = SlotRun(
            world, curriculum, slots=slots, workers=workers, context=context, options=options
        )
        self.course, self.events = self.run.course, self.run.events
        self.num_envs = slots
        self.render_mode = None
        self.single_observation_space = self.run.model.observation_space
        self.single_action_space = self.run.model.action_space
        self.observation_space = batch_space(self.single_observation_space, slots)
        self.action_space = batch_space(self.single_action_space, slots)
        self._over: NDArray[np.bool_] | None = None
        self._step = self.course.step

    @property
    def progress(self) -> dict[str, AgentProgress]:
        """How far the learner has come."""
        return self.course.progress

    @property
    def decisions(self) -> list[Decision]:
        """What was decided, in order."""
        return self.course.decisions

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Any = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every slot; see `BatchVectorEnv.reset`."""
        seeds = spread_seeds(seed, self.num_envs)
        everyone = list(range(self.num_envs))
        for slot in everyone:
            self.run.abort_episode(slot)
        self.run.assign(everyone)
        commands = [self.run.reset_command(slot, seeds[slot], self._step) for slot in everyone]
        self.run.workers.send(commands)
        results = self.run.workers.gather(self.num_envs)
        self._over = np.zeros(self.num_envs, np.bool_)
        infos = {"seed": np.array([result.info["seed"] for result in results], np.int64)}
        return self._stack(results), {**infos, **self._masks(results)}

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Let the learner act once in every slot whose episode goes on; begin one in the others."""
        if self._over is None:
            raise ResetNeededError("call reset() before the first step")
        self._step += 1
        given = list(iterate(self.action_space, actions))
        commands = []
        for slot in range(self.num_envs):
            if self._over[slot]:
                commands.append(self.run.reset_command(slot, None, self._step))
            else:
                commands.append(SlotCommand(slot, given[slot]))
        self.run.workers.send(commands)
        results = self.run.workers.gather(self.num_envs)
        ended = [result for result in results if result.terminated or result.truncated]
        for result in ended:
            self.run.end_episode(result, self._step)
        self.course.step = self._step
        self.course.process_ended_episodes(self._step + 1 - self.course.options.lag)
        self.run.assign([result.slot for result in ended])
        terminated = np.array([result.terminated for result in results], np.bool_)
        truncated = np.array([result.truncated for result in results], np.bool_)
        self._over = terminated | truncated
        rewards = np.array([result.reward for result in results])
        infos = {"result": np.array([r.info.get("result") for r in results], object)}
        return (
            self._stack(results),
            rewards,
            terminated,
            truncated,
            {**infos, **self._masks(results)},
        )

    def _stack(self, results: Sequence[SlotResult]) -> Any:
        """Put the observations together."""
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, [result.observation for result in results], empty)

    def _masks(self, results: Sequence[SlotResult]) -> dict[str, Any]:
        """Put the masks together, where there are masks."""
        if "action_mask" not in results[0].info:
            return {}
        return {"action_mask": np.stack([result.info["action_mask"] for result in results])}

    def render(self) -> tuple[Any, ...]:
        """Draw every environment."""
        return tuple(self.run.workers.picture(slot) for slot in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Decide what is left, keep the progress, and stop the workers."""
        self.run.close()


__all__ = ["ParallelCurricula", "SlotRun"]
