"""Training through a curriculum, with the PPO of `examples/ppo_batch.py`.

One policy plays all agents. A run lives in a folder: ``settings.json``, ``progress.json`` (the
agents' progress), ``path.jsonl`` (a row for each update), ``policy.pt`` (a checkpoint), and a log,
if one is asked for. An interrupted run goes on from its last checkpoint, with fresh
episodes; the steps since then are spent.
"""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.benchmarks.checkpoints import write_whole
from piase_gym.benchmarks.interrupts import first_interrupt
from piase_gym.benchmarks.slot_batch import SlotBatch
from piase_gym.curricula import ProgressStore, load
from piase_gym.curricula.journeys import PATH, PROGRESS, read_rows
from piase_gym.curricula.schema import DevelopmentalCurriculum
from piase_gym.curricula.simulated import agent_of, base_fields, world_of
from piase_gym.errors import ConfigError, MissingExtraError, StorageError, TrainingError
from piase_gym.faces.seeds import check_seed
from piase_gym.rng import mix64

SETTINGS, POLICY, LOG = "settings.json", "policy.pt", "log.jsonl"
PPO: Mapping[str, Any] = {"minibatch": 512, "epochs": 3}
"""Where these trainings differ from the defaults of the example: many updates, each a small one."""
SAVED = 20.0
"""Seconds between two checkpoints."""
APART = 1000
"""Training seeds are so far apart, so that no two runs begin with the same levels."""


@dataclass(frozen=True, kw_only=True)
class CourseSettings:
    """What a training through a curriculum can be told.

    Attributes:
        curriculum: A name or a path.
        world: The world, if the curriculum names none.
        config: Fields of the world's config, under those of the steps.
        director: What says which step comes next; see `piase_gym.curricula.automatic.DIRECTORS`.
        steps: The budget of environment steps.
        seed: Of everything.
        num_envs: Environments side by side.
        num_steps: Steps in each between two updates.
        whole: Whether the budget is used up even after every curriculum is over.
        log: Whether everything is logged.
        ppo: Other settings of the PPO.
    """

    curriculum: str
    world: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    director: str = "scripted"
    steps: int = 1_000_000
    seed: int = 0
    num_envs: int = 64
    num_steps: int = 64
    whole: bool = False
    log: bool = False
    ppo: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: If one is not allowed.
        """
        check_seed(self.seed)
        for name in ("steps", "num_envs", "num_steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name} is a positive number, not {value!r}")


@dataclass(frozen=True)
class Look:
    """Where a training is after an update.

    Attributes:
        steps: Environment steps so far.
        won: The share of the learner's episodes since the last update that were won.
        order: Order of the step that the learner is in, or tried last.
        name: Name of that step.
        attempt: Number of the attempt at it.
        outcome: ``running``, ``finished`` or ``failed``.
        values: What the last decision has read.
    """

    steps: int
    won: float
    order: int
    name: str
    attempt: int
    outcome: str
    values: Mapping[str, Any] = field(default_factory=dict)


def import_ppo() -> Any:
    """Return the module of the PPO.

    Raises:
        MissingExtraError: If torch or Stable-Baselines3 is not installed.
    """
    try:
        from piase_gym.examples import ppo_batch
    except ModuleNotFoundError as error:
        raise MissingExtraError("training through a curriculum", "train") from error
    return ppo_batch


def make_course(
    curriculum: DevelopmentalCurriculum,
    *,
    num_envs: int,
    world: str | None = None,
    config: Mapping[str, Any] | None = None,
    director: Any = None,
    seed: int = 0,
    progress: Path | ProgressStore | None = None,
    log: Path | None = None,
) -> Any:
    """Return environments that follow a curriculum and step as a batch with same-step autoreset.

    Array worlds are stepped by their kernel, others slot by slot.

    Args:
        curriculum: The curriculum.
        num_envs: How many environments.
        world: The world, if the curriculum names none.
        config: Fields of the world's config.
        director: A director or its name.
        seed: Of the director's draws.
        progress: Where progress is kept.
        log: Where everything is logged.

    Raises:
        ConfigError: If there is no world, or something is not allowed in it.
    """
    from piase_gym.curricula.parallel import ParallelCurricula
    from piase_gym.registry import find
    from piase_gym.registry import load as load_part
    from piase_gym.worlds.array_world import ArrayWorld
    from piase_gym.wrappers.avt_log import AvtLogger
    from piase_gym.wrappers.curriculum import CurriculumWrapper

    name, fields = world_of(curriculum, world), base_fields(curriculum, config)
    spec = find(name)[0]
    options = {"director": director, "seed": seed, "progress": progress}
    if not issubclass(load_part(spec.world, spec), ArrayWorld):
        if log is not None:
            raise ConfigError(f"{spec.name} is played in slots, whose steps are not logged")
        seats: dict[str, Any] = {} if curriculum.agent is None else {"agent": curriculum.agent}
        if curriculum.partners:
            seats["partners"] = dict(curriculum.partners)
        slots = ParallelCurricula(
            name, curriculum, slots=num_envs, workers=0, **options, **seats, **fields
        )
        return SlotBatch(slots, slots.run.agent)
    batch = piase_gym.batch_env(
        name,
        num_envs=num_envs,
        autoreset="same_step",
        partners=dict(curriculum.partners) or None,
        **fields,
    )
    agent = agent_of(curriculum, batch.agents)
    inner = batch if log is None else AvtLogger(batch, log, level="actions")
    return CurriculumWrapper(inner, {agent: curriculum}, **options)


def course_of(env: Any) -> Any:
    """Return the course that environments of `make_course` follow."""
    return env.env.course if isinstance(env, SlotBatch) else env.course


class CourseRun:
    """A training through a curriculum, in a folder.

    Args:
        settings: What to train.
        folder: Where everything is kept.
        resume: Whether to go on with what is there.

    Attributes:
        curriculum: The curriculum.
        agent: The agent that follows it.
        trainer: The PPO.
        interrupted: Whether it was stopped by a signal.

    Raises:
        ConfigError: If a setting is not allowed.
        StorageError: If there is a run in the folder and it is not resumed, or the other way round.
        ProgressError: If the progress in the folder does not belong to the curriculum.
    """

    def __init__(self, settings: CourseSettings, folder: str | Path, resume: bool = False) -> None:
        """Make environments and policy, or take them up again."""
        settings.check()
        ppo = import_ppo()
        self.settings, self.folder = settings, Path(folder)
        self.curriculum = load(settings.curriculum)
        self.interrupted = False
        known = (self.folder / SETTINGS).exists()
        if known and not resume:
            raise StorageError(f"there is a run in {self.folder}; --resume goes on with it")
        if resume and not known:
            raise StorageError(f"there is no run in {self.folder} to go on with")
        kept = self._kept() if resume else None
        self.env = make_course(
            self.curriculum,
            num_envs=settings.num_envs,
            world=settings.world,
            config=settings.config,
            director=settings.director,
            seed=settings.seed,
            progress=self.folder / PROGRESS,
            log=self._log_path() if settings.log else None,
        )
        self.course = course_of(self.env)
        (self.agent,) = self.course.curricula
        own = {f.name for f in dataclasses.fields(ppo.Settings)}
        given = {"num_envs": settings.num_envs, "num_steps": settings.num_steps}
        given |= {"total_steps": settings.steps, **PPO, **settings.ppo}
        if strange := set(given) - own:
            raise ConfigError(
                f"unknown setting {min(strange)!r}; allowed: {', '.join(sorted(own))}"
            )
        begun = self._base = 0 if kept is None else self._spent(kept)
        self.trainer = ppo.Trainer(self.env, ppo.Settings(**given), seed_at(settings.seed, begun))
        self.course.hearers.append(self._hear)
        self._seen = self._decided = 0
        self._starts: list[int] = []
        self._saved = time.monotonic()
        if kept is not None:
            self._take_up(kept)
        else:
            self._begin()

    def _begin(self) -> None:
        """Write down the settings; only now is there a run."""
        told = json.dumps(dataclasses.asdict(self.settings), indent=2) + "\n"
        write_whole(self.folder / SETTINGS, told.encode())
        self.course.save()
        self._save()

    # -- training ----------------------------------------------------------------------------

    def train(self, report: Callable[[Look], None] = lambda look: None) -> Look:
        """Train until the budget is used up or the curriculum is over; returns the last look.

        The first SIGINT or SIGTERM ends it after the present update.
        """
        look = self._look({})

        def after(_steps: int, _ended: float) -> bool:
            nonlocal look
            played = self._episodes()
            look = self._look(played)
            self._note(look, played)
            if time.monotonic() - self._saved > SAVED:
                self._save()
            report(look)
            over = look.outcome != "running" and not self.settings.whole
            return over or self.interrupted

        with first_interrupt(self._interrupt):
            if look.outcome == "running" or self.settings.whole:
                try:
                    self.trainer.train(after)
                finally:
                    self._save()
        self.course.save()
        return look

    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    def _look(self, played: Mapping[str, Sequence[int]]) -> Look:
        """Return where the training is, after these episodes; see `_episodes`."""
        progress = self.course.progress[self.agent]
        step = self.curriculum.step(progress.current_step_order)
        count = sum(episodes for episodes, _ in played.values())
        return Look(
            self.trainer.steps,
            sum(won for _, won in played.values()) / max(1, count),
            step.order,
            step.name,
            progress.attempt,
            progress.outcome,
            progress.decisions[-1].values if progress.decisions else {},
        )

    def _note(self, look: Look, played: Mapping[str, Sequence[int]]) -> None:
        """Add a row to the path: what was played and decided since the last."""
        decided = len(self.course.progress[self.agent].decisions)
        entry = {
            "order": look.order,
            "attempt": look.attempt,
            "outcome": look.outcome,
            "decided_at": self._times(decided - self._decided, look.steps),
            "episodes": played,
            "names": {str(step.order): step.name for step in self.curriculum.steps},
            "director": self.settings.director,
        }
        self._decided = decided
        row = {"steps": look.steps, "won": round(look.won, 6), "agents": {self.agent: entry}}
        try:
            with (self.folder / PATH).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise StorageError(f"{self.folder / PATH}: {error.strerror}") from error

    def _hear(self, _agent: str, _data: Mapping[str, Any]) -> None:
        """Take note of when an attempt begins, which is when the one before it was decided on."""
        self._starts.append(self._base + self.course.step * self.settings.num_envs)

    def _times(self, decisions: int, steps: int) -> list[int]:
        """Return after how many steps each of the newest decisions fell."""
        starts, self._starts = self._starts, []
        found = (starts[-decisions:] if decisions else []) + [steps] * decisions
        return [min(at, steps) for at in found[:decisions]]

    def _episodes(self) -> dict[str, list[int]]:
        """Return order -> [episodes, won] of the episodes that were counted since the last call."""
        history = self.course.meter.history.of(self.agent)
        found: dict[str, list[int]] = {}
        for row in history.episodes[self._seen :]:
            if row.attempt > 0 and row.finished:
                counts = found.setdefault(str(history.attempts[row.attempt - 1].order), [0, 0])
                counts[0] += 1
                counts[1] += row.result == "won"
        self._seen = len(history.episodes)
        return found

    # -- the folder --------------------------------------------------------------------------

    def _log_path(self) -> Path:
        """Return a file for the log; every session has its own."""
        number, path = 1, self.folder / LOG
        while path.exists():
            number += 1
            path = self.folder / f"log-{number}.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        return path

    def _save(self) -> None:
        """Write a checkpoint of the policy."""
        import torch

        trainer, buffer = self.trainer, io.BytesIO()
        state = {"policy": trainer.policy.state_dict(), "optimizer": trainer.optimizer.state_dict()}
        more = {"steps": trainer.steps, "random": torch.get_rng_state()}
        torch.save({**state, **more}, buffer)
        write_whole(self.folder / POLICY, buffer.getvalue())
        self._saved = time.monotonic()

    def _spent(self, kept: Mapping[str, Any]) -> int:
        """Return the environment steps so far, learnt from or not."""
        rows = read_rows(self.folder / PATH)
        return max([int(kept["steps"]), *(int(row["steps"]) for row in rows)])

    def _kept(self) -> Any:
        """Return the checkpoint.

        Raises:
            StorageError: If it is missing or damaged.
        """
        return load_policy(self.folder)

    def _take_up(self, kept: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        import torch

        try:
            self.trainer.policy.load_state_dict(kept["policy"])
        except RuntimeError as error:
            raise TrainingError(
                f"the policy in {self.folder} has other spaces than the curriculum needs now"
            ) from error
        self.trainer.optimizer.load_state_dict(kept["optimizer"])
        self.trainer.steps = self._base
        self._decided = len(self.course.progress[self.agent].decisions)
        torch.set_rng_state(kept["random"])

    def _interrupt(self) -> None:
        """Let the run end after the present update."""
        self.interrupted = True


def seed_at(seed: int, steps: int) -> int:
    """Return the seed of the environments: of a beginning, or of a training that goes on."""
    return APART * seed if steps == 0 else mix64(mix64(seed) + steps) >> 1


def load_policy(folder: Path) -> Any:
    """Return the checkpoint in a folder.

    Raises:
        StorageError: If it is missing or damaged.
    """
    import torch

    path = Path(folder) / POLICY
    try:
        return torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise StorageError(f"{path} is missing") from None
    except Exception as error:  # torch raises whatever its readers raise
        raise StorageError(f"{path} is damaged: {type(error).__name__}") from error


def read_settings_of(folder: str | Path) -> CourseSettings:
    """Return the settings of the run in a folder.

    Raises:
        StorageError: If there is none, or it is damaged.
    """
    path = Path(folder) / SETTINGS
    try:
        return CourseSettings(**json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise StorageError(f"there is no run in {folder} to go on with") from None
    except (TypeError, ValueError) as error:
        raise StorageError(f"{path} is damaged: {error}") from None


__all__ = ["CourseRun", "CourseSettings", "Look", "make_course", "read_settings_of"]
