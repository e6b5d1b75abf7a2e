"""Runs of the fast learner: what ``piase train --algo batch_ppo`` does.

The trainer is that of `piase_gym.training.ppo`. Between updates a run plays the dev seeds on the
task as it is, keeps the best policies, and writes a checkpoint, from which it continues exactly as
if it had not stopped. Both files are plain: ``torch.load(path, weights_only=True)`` reads them.
"""

from __future__ import annotations

import dataclasses
import io
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from piase_gym import __version__
from piase_gym.agents.ppo import FORMAT
from piase_gym.agents.sb3_network import require_finite
from piase_gym.agents.space_data import write_space
from piase_gym.benchmarks.evaluation.protocol import first_seed
from piase_gym.core.files import write_whole
from piase_gym.core.interrupts import on_first_interrupt
from piase_gym.errors import PolicyError, StorageError, TrainingError
from piase_gym.training import ppo
from piase_gym.training.checkpoints import Folder
from piase_gym.training.evaluation import EvaluationResult, mean_return
from piase_gym.training.networks import Policy
from piase_gym.training.schedule import whole_updates
from piase_gym.training.session import Session
from piase_gym.training.settings import Progress, TrainResult, TrainSettings, partners_of

SAME = [f.name for f in dataclasses.fields(ppo.Settings) if f.name in TrainSettings.model_fields]
"""Settings that the trainer has under the same name."""


class BatchRun(Session):
    """One session of a run with our own PPO: environments and policies."""

    def __init__(
        self, settings: TrainSettings, folder: Folder, report: Callable[[Progress], None]
    ) -> None:
        """Make environments and policies."""
        super().__init__(settings, folder, report)
        self.policy_file, self.checkpoint = folder.path / "policy.pt", folder.path / "checkpoint.pt"
        update = self.learners * settings.num_envs * settings.num_steps
        self.total = whole_updates(settings.steps, update)
        options = {name: getattr(settings, name) for name in SAME}
        ppo_settings = ppo.Settings(**options, total_steps=self.total // self.learners)
        self.config = {"partners": self.partners or None, **settings.config}
        first = first_seed(settings.seed, settings.num_envs)
        self.trainer = ppo.Trainer(settings.task, ppo_settings, first, **self.config)
        self._start = time.process_time()

    @property
    def steps(self) -> int:
        """Agent steps so far."""
        return self.trainer.steps * self.learners

    def resume(self) -> None:
        """Continue from the checkpoint.

        Raises:
            TrainingError: If it cannot be read, or belongs to something else.
        """
        try:
            state = torch.load(self.checkpoint, weights_only=True)
            self.trainer.restore(state["trainer"])
            self.restore_kept(state["kept"], state["cpu_seconds"])
        except Exception as error:  # torch raises whatever its readers raise
            raise TrainingError(
                f"{self.checkpoint} cannot be gone on from: {type(error).__name__}: {error!s:.200}"
            ) from error

    def train(self) -> TrainResult:
        """Alternate between acting and learning until the end."""

        def between(_steps: int = 0, won: float | None = None) -> bool:
            require_sound(self.trainer.policies, self.steps)
            over = self.steps >= self.total
            ending = over or self.reason == "interrupted"
            # An interruption is no reason to look: it would move all later looks.
            if self.is_time(self.looked_at, self.settings.eval_every, over):
                self._look()
            if self.reason == "finished" and self.solved():
                self.reason, ending = "solved", True
            if ending or self.steps - self.saved_at >= self.settings.save_every:
                self._save()
            self.report(Progress(self.steps, self.total, self.dev, self.best, won))
            return ending

        with on_first_interrupt(lambda: setattr(self, "reason", "interrupted")):
            try:
                if not between():
                    self.trainer.train(between)
            except StorageError:
                raise
            except OSError as error:
                raise StorageError(f"{self.folder.path} cannot be written: {error}") from error
        return self.write_result(self.policy_file, self.steps)

    def close(self) -> None:
        """Close the environments."""
        self.trainer.env.close()
        super().close()

    def _look(self) -> None:
        """Play the dev seeds on the task as it is, and keep the policies if none were better."""
        policies, task = self.trainer.policies, self.settings.task
        won, returns = ppo.play_returns(policies, task, self.seeds, **self.config)
        if self.note_look(
            EvaluationResult(int(won.sum()), won.size, mean_return(returns.sum(), won.size))
        ):
            played = playable(self.trainer, self.settings.model_dump(mode="json"))
            write_torch(self.policy_file, played)

    def _save(self) -> None:
        """Write a checkpoint."""
        self.saved_at = self.steps
        state = {"trainer": self.trainer.state(), "kept": self.kept()}
        write_torch(self.checkpoint, {**state, "cpu_seconds": self.cpu_seconds})


def require_sound(policies: Iterable[Policy], steps: int) -> None:
    """Raise `TrainingError` if one of the policies has diverged, so that none is saved then."""
    try:
        for policy in policies:
            require_finite(policy, "the policy")
    except PolicyError as error:
        message = f"{error}, after {steps:,} steps. Try a smaller learning rate"
        raise TrainingError(message) from error


def playable(trainer: ppo.Trainer, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file that ``ppo:<path>`` plays: policies, and what they are for.

    ``torch.load(path, weights_only=True)["policies"]`` are their parameters by name, one for each
    role.
    """
    env, learners = trainer.env, trainer.learners
    card = {
        "format": FORMAT,
        "piase_gym": __version__,
        "world": env.world.name,
        "version": env.world.version,
        "settings": dict(settings),
        "observation_space": write_space(env.observation_space),
        "action_space": write_space(env.action_space),
        "seats": {env.agents[a]: k for k, one in enumerate(learners) for a in one.columns},
    }
    return {"card": card, "policies": [one.policy.state_dict() for one in learners]}


def load_policies(path: str | Path) -> list[Policy]:
    """Return the policy of each agent, in the form that `ppo.play` takes.

    Raises:
        StorageError: If the file cannot be read, or its policies have other networks than this
            version makes.
    """
    try:
        found = torch.load(path, weights_only=True)
        settings = TrainSettings(**found["card"]["settings"])
    except Exception as error:  # torch raises whatever its readers raise
        raise StorageError(f"{path} holds no policies: {type(error).__name__}") from error
    options = {name: getattr(settings, name) for name in SAME}
    options |= {"num_envs": 1, "num_steps": 1, "threads": torch.get_num_threads()}
    small = ppo.Settings(**options)
    partners = partners_of(settings, settings.make_world().agents)
    with torch.random.fork_rng(devices=[]):  # the caller's draws are not ours
        trainer = ppo.Trainer(settings.task, small, 0, partners=partners or None, **settings.config)
    try:
        for learner, state in zip(trainer.learners, found["policies"], strict=True):
            learner.policy.load_state_dict(state)
    except Exception as error:  # torch raises RuntimeError, or what it meets on the way there
        raise StorageError(
            f"the policies in {path} do not fit the networks that this version of piase_gym makes "
            f"for {settings.task}; `ppo:{path}` may still play them, and training makes new ones"
        ) from error
    return trainer.policies


def write_torch(path: Path, state: dict[str, Any]) -> None:
    """Write a value with torch, whole or not at all."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_whole(path, buffer.getvalue())
