"""Training through a curriculum, with the PPO of `piase_gym.training.ppo`.

One policy plays all agents. A run lives in a folder: ``settings.json``, ``curriculum.json`` (a
copy), ``progress.json`` (the agents' progress), ``path.jsonl`` (a row for each update),
``actions.bin`` (what was played), ``policy.pt`` (a checkpoint, which ``ppo:...`` plays), and a log,
if one is asked for. A run that was interrupted, at whatever moment, continues from its last
checkpoint, and ends as if it had not been interrupted.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.protocol import first_seed
from piase_gym.core.files import write_json, write_whole
from piase_gym.core.interrupts import on_first_interrupt
from piase_gym.core.jsonable import jsonable
from piase_gym.curricula import ProgressStore, load
from piase_gym.curricula.attempts import EpisodeCounts
from piase_gym.curricula.directors import director_name
from piase_gym.curricula.export import dumps
from piase_gym.curricula.learning_path import PATH, PROGRESS, read_rows
from piase_gym.errors import ConfigError, StorageError, TrainingError
from piase_gym.training import ppo_settings
from piase_gym.training.action_recording import (
    ACTIONS,
    ADVANTAGES,
    RecordingEnv,
    RepeatedStore,
    UpdateFile,
    no_repeat,
)
from piase_gym.training.curriculum_env import controller_of, make_curriculum_env
from piase_gym.training.curriculum_settings import (
    CURRICULUM,
    LOG,
    POLICY,
    PPO,
    SETTINGS,
    CurriculumTrainingSettings,
    TrainingStatus,
    import_ppo,
    load_policy,
    read_settings_of,
)

SAVED = 20.0
"""Seconds between two checkpoints."""


class CurriculumTraining:
    """A training through a curriculum, in a folder.

    Args:
        settings: What to train.
        folder: Where everything is kept.
        resume: Whether to continue the run in the folder.

    Attributes:
        curriculum: The curriculum.
        agent: The agent that follows it.
        trainer: The PPO trainer.
        interrupted: Whether the training was stopped by a signal.

    Raises:
        ConfigError: If a setting is not allowed.
        StorageError: If there is a run in the folder and `resume` is false, or vice versa.
        ProgressError: If the progress in the folder does not belong to the curriculum.
        TrainingError: If the run does not repeat itself, so that it cannot continue.
    """

    def __init__(
        self, settings: CurriculumTrainingSettings, folder: str | Path, resume: bool = False
    ) -> None:
        """Make environments and policy, or restore them."""
        settings.check()
        self.settings, self.folder = settings, Path(folder)
        self.curriculum = load(settings.curriculum)
        settings.check_names(self.curriculum)
        self._check_folder()
        self.interrupted = False
        if resume:
            settings.check_goes_on(folder)
        elif (self.folder / SETTINGS).exists():
            raise StorageError(f"there is a run in {self.folder}; --resume goes on with it")
        ppo_settings = self._ppo_settings()
        ppo = import_ppo()  # torch takes seconds, so what can be checked without it comes first
        self._threads = ppo.torch.get_num_threads()
        kept = load_policy(self.folder) if resume else None
        path = self.folder / PROGRESS
        repeated = RepeatedStore(path) if resume else None
        env = make_curriculum_env(
            self.curriculum,
            num_envs=settings.num_envs,
            world=settings.world,
            config=settings.config,
            director=settings.director,
            seed=settings.seed,
            progress=repeated or ProgressStore(path),
            log=self._log_path() if settings.log else None,
        )
        self.env = RecordingEnv(env, self.folder / ACTIONS, settings.num_steps)
        try:
            self._begin_or_resume(ppo, ppo_settings, kept, repeated)
        except BaseException:
            self.close()
            raise

    def _begin_or_resume(
        self, ppo: Any, ppo_settings: ppo_settings.Settings, kept: Any, repeated: Any
    ) -> None:
        """Make the trainer, and begin, or go on from a checkpoint and what was played before it."""
        settings = self.settings
        self.controller = controller_of(self.env.env)
        (self.agent,) = self.controller.curricula
        self._starts: list[int] = []
        self.controller.attempt_listeners.append(self._hear)
        first = first_seed(settings.seed, settings.num_envs)
        self.trainer = ppo.Trainer(self.env, ppo_settings, first)
        self.trainer.after_rollout = self._tell_director
        shape = settings.num_steps, settings.num_envs
        self._advantages = UpdateFile(self.folder / ADVANTAGES, shape, np.float32)
        self._decided = self._updates = 0
        self._counts = EpisodeCounts()
        self._saved = time.monotonic()
        if kept is not None and repeated is not None:
            rows = self._repeat(kept)
            self._take_up(kept)
            repeated.release(self.controller.progress)
            self._forget_after(rows)
        else:
            self._begin()

    def _check_folder(self) -> None:
        """Check that the folder is a folder, or can be made.

        Raises:
            StorageError: If it cannot.
        """
        place = self.folder
        try:
            while not place.exists():
                place = place.parent
            right = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
        except (OSError, ValueError) as error:
            message = getattr(error, "strerror", None) or str(error)
            raise StorageError(f"{str(self.folder)!r:.200} cannot be a folder: {message}") from None
        if not right:
            message = "nothing may be written there" if place.is_dir() else "it is no folder"
            raise StorageError(f"{self.folder} cannot be the folder of a run: {place}: {message}")

    def _ppo_settings(self) -> ppo_settings.Settings:
        """Return the settings of the trainer.

        Raises:
            ConfigError: If the trainer does not know one of them, or it is not allowed.
        """
        settings = self.settings
        of_run = {"num_envs": settings.num_envs, "num_steps": settings.num_steps}
        of_run["total_steps"] = settings.steps
        known = {field.name for field in dataclasses.fields(ppo_settings.Settings)}
        allowed = known - {*ppo_settings.OPTIONS, *of_run}
        if strange := set(settings.ppo) - allowed:
            raise ConfigError(
                f"unknown setting {min(strange)!r}; allowed: {', '.join(sorted(allowed))}"
            )
        return ppo_settings.Settings(**{**of_run, **PPO, **settings.ppo})

    def _begin(self) -> None:
        """Write the first files, then the settings, without which there is no run."""
        self._save()
        for name in (ACTIONS, ADVANTAGES, PATH) if self._scored else (ACTIONS, PATH):
            write_whole(self.folder / name, b"")
        write_whole(self.folder / CURRICULUM, dumps(self.curriculum).encode())
        write_json(self.folder / SETTINGS, dataclasses.asdict(self.settings))
        self.controller.save()

    # -- training ----------------------------------------------------------------------------

    def train(self, report: Callable[[TrainingStatus], None] = lambda look: None) -> TrainingStatus:
        """Train until the budget is used up or the curriculum is over; return the last status.

        The first SIGINT or SIGTERM ends the training after the present update.

        Raises:
            TrainingError: If the policy diverges; the last checkpoint is kept.
        """
        from piase_gym.training.batch_run import require_sound

        look = self._look(EpisodeCounts())

        def after(_steps: int, _ended: float) -> bool:
            nonlocal look
            require_sound(self.trainer.policies, self.trainer.steps)
            self._updates += 1
            self.env.write()
            row, look = self._row()
            self._note(row)
            if time.monotonic() - self._saved > SAVED:
                self._save()
            report(look)
            over = look.outcome != "running" and not self.settings.whole
            return over or self.interrupted

        with on_first_interrupt(lambda: setattr(self, "interrupted", True)):
            if look.outcome == "running" or self.settings.whole:
                self.trainer.train(after)
                self._save()
        self.controller.save()
        return look

    @property
    def _scored(self) -> bool:
        """Whether the director scores episodes by advantages."""
        return bool(self.controller.director.reads_advantages)

    def _tell_director(self, rollout: Any) -> None:
        """Tell the director the advantages of a rollout; learn only from the steps it allows."""
        shape = self.settings.num_steps, self.settings.num_envs, -1
        place = list(self.env.agents).index(self.agent)
        if self._scored:
            advantages = rollout.advantages.view(shape)[:, :, place].numpy()
            self._advantages.write(advantages)
            self.controller.report_advantages(self.agent, advantages)
        learn = self.controller.learning_mask(self.agent, self.settings.num_steps)
        rollout.alive.view(shape)[~learn] = False

    def close(self) -> None:
        """Close the environments, and give torch back the threads that it had before."""
        import torch

        torch.set_num_threads(self._threads)
        self.env.close()

    def _look(self, played: EpisodeCounts) -> TrainingStatus:
        """Return the status of the training after these episodes."""
        progress = self.controller.progress[self.agent]
        step = self.curriculum.step(progress.current_step_order)
        tried = self.controller.under_way(self.agent)
        episodes = sum(played.counted.values())
        return TrainingStatus(
            steps=self.trainer.steps,
            episodes=episodes,
            won=sum(played.won.values()) / max(1, episodes),
            order=step.order,
            name=step.name,
            attempt=progress.attempt,
            ended=0 if tried is None else tried.ended,
            wanted=step.episodes_per_attempt if tried is None else tried.wanted,
            outcome=progress.outcome,
            decided=progress.decisions[-1] if progress.decisions else None,
        )

    def _row(self) -> tuple[dict[str, Any], TrainingStatus]:
        """Return the path's row of the last update, what it played and decided, and the status."""
        counts = self.controller.counts[self.agent]
        played, self._counts = counts.since(self._counts), counts.copy()
        look, tried = self._look(played), self.controller.under_way(self.agent)
        decided = len(self.controller.progress[self.agent].decisions)
        entry = {
            "order": look.order,
            "attempt": look.attempt,
            "outcome": look.outcome,
            "decided_at": self._times(decided - self._decided, look.steps),
            "episodes": {str(order): [n, played.won[order]] for order, n in played.counted.items()},
            "uncounted": played.uncounted,
            "under_way": None if tried is None else tried.as_json(),
            "names": {str(step.order): step.name for step in self.curriculum.steps},
            "director": director_name(self.settings.director, self.curriculum),
        }
        self._decided = decided
        row = {"steps": look.steps, "won": round(look.won, 6), "agents": {self.agent: entry}}
        return row, look

    def _note(self, row: Mapping[str, Any]) -> None:
        """Add a row to the path."""
        try:
            with (self.folder / PATH).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise StorageError(f"{self.folder / PATH}: {error.strerror}") from error

    def _hear(self, _agent: str, _data: Mapping[str, Any]) -> None:
        """Note when an attempt begins, which is when the previous one was decided on."""
        self._starts.append(self.controller.step * self.settings.num_envs)

    def _times(self, decisions: int, steps: int) -> list[int]:
        """Return the number of steps after which each of the newest decisions was made."""
        starts, self._starts = self._starts, []
        found = (starts[-decisions:] if decisions else []) + [steps] * decisions
        return [min(at, steps) for at in found[:decisions]]

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
        """Write a checkpoint of the policy, which ``ppo:<path>`` plays."""
        import torch

        from piase_gym.training.batch_run import playable, write_torch

        trainer = self.trainer
        state = {"policy": trainer.policy.state_dict(), "optimizer": trainer.optimizer.state_dict()}
        more = {"steps": trainer.steps, "updates": self._updates, "random": torch.get_rng_state()}
        played = playable(trainer, jsonable(dataclasses.asdict(self.settings)))
        write_torch(self.folder / POLICY, {**state, **more, **played})
        self._saved = time.monotonic()

    def _repeat(self, kept: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Play once more what was played up to a checkpoint, and return its rows of the path.

        Raises:
            StorageError: If the record of what was played is incomplete.
            TrainingError: If the result differs from the path.
        """
        updates, path, trainer = kept["updates"], self.folder / PATH, self.trainer
        rows = list(read_rows(path))[:updates]
        if len(rows) != updates:
            raise StorageError(f"{path} does not reach to the checkpoint: this run cannot go on")
        recorded = (
            self._advantages.read(updates) if self._scored else itertools.repeat(None, updates)
        )
        for actions, row, advantages in zip(self.env.read(updates), rows, recorded, strict=True):
            for acts in actions:
                trainer.shown, _, _, _, trainer.infos = self.env.env.step(acts)
            if advantages is not None:
                self.controller.report_advantages(self.agent, advantages)
            self.controller.learning_mask(self.agent, self.settings.num_steps)
            trainer.steps = row["steps"]
            if json.loads(json.dumps(self._row()[0])) != row:
                raise no_repeat(path)
        self._updates = updates
        return rows

    def _forget_after(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Remove what was played after these rows, once the run is certain to go on."""
        self.env.cut(len(rows))
        if self._scored:
            self._advantages.cut(len(rows))
        lines = (json.dumps(row).encode() + b"\n" for row in rows)
        write_whole(self.folder / PATH, b"".join(lines))

    def _take_up(self, kept: Mapping[str, Any]) -> None:
        """Restore the trainer from a checkpoint."""
        import torch

        try:
            self.trainer.policy.load_state_dict(kept["policy"])
            self.trainer.optimizer.load_state_dict(kept["optimizer"])
            torch.set_rng_state(kept["random"])
        except RuntimeError as error:
            raise TrainingError(
                f"the policy in {self.folder} has other spaces than the curriculum needs now"
            ) from error
        except Exception as error:  # torch raises whatever its readers raise
            raise StorageError(
                f"{self.folder / POLICY} is damaged: {type(error).__name__}: {error!s:.200}"
            ) from error
        self.trainer.steps = kept["steps"]


__all__ = [
    "CurriculumTraining",
    "CurriculumTrainingSettings",
    "TrainingStatus",
    "make_curriculum_env",
    "read_settings_of",
]
