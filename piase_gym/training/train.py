"""Trains policies: what ``piase train`` does, with Stable-Baselines3 or with our own PPO.

The latter is `piase_gym.training.batch_run`; what follows is about the former.

A run plays the dev seeds between updates, keeps the best policy, stops early if asked to, and
writes checkpoints, from which it continues exactly as if it had not stopped: with the same numbers
on the same machine and versions.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from piase_gym.agents.sb3 import Sb3Agent
from piase_gym.agents.sb3_archive import CARD
from piase_gym.agents.sb3_network import Network, require_finite
from piase_gym.core.files import write_json, write_whole
from piase_gym.core.interrupts import on_first_interrupt
from piase_gym.errors import (
    CapacityError,
    ConfigError,
    MissingExtraError,
    PolicyError,
    StorageError,
    TrainingError,
)
from piase_gym.training.batch_run import BatchRun
from piase_gym.training.checkpoints import STATE, Folder, pack, restore_state, state_of
from piase_gym.training.evaluation import look
from piase_gym.training.models import check_metadata, make_model, make_policy, make_vec, metadata_of
from piase_gym.training.schedule import whole_updates
from piase_gym.training.session import Session
from piase_gym.training.settings import (
    ALGORITHMS,
    Progress,
    TrainResult,
    TrainSettings,
    check_run_folder,
    read_settings_of,
)

try:
    import sb3_contrib  # noqa: F401  # which the models need
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import configure
except ModuleNotFoundError as error:
    raise MissingExtraError("training", "train") from error


class Run(Session):
    """One session of a run with Stable-Baselines3: the model and its environments."""

    def __init__(
        self, settings: TrainSettings, folder: Folder, report: Callable[[Progress], None]
    ) -> None:
        """Make environments and model."""
        super().__init__(settings, folder, report)
        self.vec = make_vec(settings, self.world, self.partners)
        self.twin = make_policy(settings, self.vec)
        self.model = make_model(settings, self.vec)
        update = self.model.n_steps * self.vec.num_envs
        self.total = whole_updates(settings.steps, update)
        self.model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        self.card = metadata_of(settings, self.world, self.vec)
        self._start = time.process_time()

    @property
    def steps(self) -> int:
        """Agent steps so far."""
        return int(self.model.num_timesteps)

    def resume(self) -> None:
        """Continue from the newest checkpoint.

        Raises:
            TrainingError: If it is of another task, version or format.
        """
        path, card, state = self.folder.newest()
        check_metadata(card, self.card, path)
        try:
            self.model.set_parameters(str(path), device="cpu")
            restore_state(self.model, self.vec, state)
            self.restore_kept(state["run"], state["run"]["cpu_seconds"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise TrainingError(f"{path} cannot be gone on from: {error}") from error

    def train(self) -> TrainResult:
        """Alternate between acting and learning until the end."""
        try:
            with on_first_interrupt(lambda: setattr(self, "reason", "interrupted")):
                self._learn()
        except (ValueError, RuntimeError) as error:
            self._explain_divergence(error)
            raise
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{self.folder.path} could not be written: {error}") from error
        return self.write_result(self.folder.policy, self.saved_at, card=self.card)

    def close(self) -> None:
        """Close the environments and TensorBoard's file."""
        self.model.logger.close()
        self.vec.close()
        super().close()

    def _learn(self) -> None:
        """Let Stable-Baselines3 learn; `between` is called whenever everything is at rest."""
        model, watch = self.model, UpdateCallback(self)
        left = self.total - self.steps  # of the whole updates by which the rate falls
        if left > 0 and not self.solved():
            model.learn(left, callback=watch, reset_num_timesteps=model._last_obs is None)
        if self.solved():
            self.reason = "solved"
        elif not watch.ended:
            self.reason = "finished"
            self.between(last=True)

    def _explain_divergence(self, error: Exception) -> None:
        """Raise `TrainingError` if the reason of an error is that the policy has diverged."""
        problem = "the policy has diverged: its outputs are not finite"
        try:
            require_finite(self.model.policy, "the policy")
            if "nan" not in str(error).lower():
                return
        except PolicyError as found:
            problem = str(found)
        kept = self.folder.checkpoints()
        last = f"the last checkpoint is {kept[0]}" if kept else "there is no checkpoint"
        what = f"{problem}, after {self.steps:,} steps"
        raise TrainingError(f"{what}; {last}. Try a smaller learning rate") from error

    def between(self, last: bool = False) -> None:
        """Play the dev seeds and write a checkpoint, each if it is due, and report."""
        settings = self.settings
        require_finite(self.model.policy, "the policy")
        if self.is_time(self.looked_at, settings.eval_every, last):
            self._look()
        if self.solved():
            self.reason = "solved"
        if self.is_time(self.saved_at, settings.save_every, last or self.reason != "finished"):
            self._save()
        recent = self.model.ep_success_buffer
        share = sum(recent) / len(recent) if recent else None
        self.report(Progress(self.steps, self.total, self.dev, self.best, share))

    def _look(self) -> None:
        """Play the dev seeds, and keep the policy if none was better."""
        self.twin.load_state_dict(self.model.policy.state_dict())
        agent = Sb3Agent(Network(self.twin, "the policy"))
        if self.note_look(look(agent, self.world, self.partners, self.seeds)):
            write_whole(self.folder.policy, self._pack({}))
        self.model.logger.record("dev/success", self.dev)

    def _save(self) -> None:
        """Write a checkpoint."""
        self.saved_at = self.steps
        run = {**self.kept(), "cpu_seconds": self.cpu_seconds}
        state = {**state_of(self.model, self.vec), "run": run}
        self.folder.save(self.steps, self._pack({STATE: state}))

    def _pack(self, more: dict[str, Any]) -> bytes:
        """Return the model as an archive with its card and further files."""
        buffer = io.BytesIO()
        self.model.save(buffer, exclude=["_last_obs", "_last_episode_starts", "_last_original_obs"])
        return pack(buffer.getvalue(), {CARD: self.card, **more})


class UpdateCallback(BaseCallback):
    """Calls the run between updates, and ends the learning when the run should end."""

    def __init__(self, run: Run) -> None:
        """Take the run."""
        super().__init__()
        self.run = run
        self.ended = False

    def _on_rollout_start(self) -> None:
        """Call the run before acting and after the last update, when everything is at rest."""
        self.run.between()

    def _on_step(self) -> bool:
        """Continue, unless the run should end and wrote a checkpoint when last at rest."""
        at_rest = int(self.num_timesteps) - self.training_env.num_envs
        self.ended = self.run.reason != "finished" and self.run.saved_at == at_rest
        return not self.ended


def train(
    settings: TrainSettings,
    out: str | Path,
    *,
    resume: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> TrainResult:
    """Train a policy, or continue a run that was interrupted.

    SIGINT and SIGTERM end a run after the present update, with a checkpoint; a second one ends it
    at once.

    Args:
        settings: What to train, and how.
        out: The run's folder.
        resume: Whether to continue from the newest checkpoint in it.
        report: Called with the progress after every update.

    Raises:
        ConfigError: If the folder holds a run already, or, with `resume`, another one.
        CapacityError: If this machine has no room for so many environments.
        TrainingError: If the policy diverges, or the checkpoints cannot be used.
        StorageError: If something cannot be written; earlier checkpoints are kept.
    """
    folder = Folder(out)
    check_run_folder(folder, settings, resume)
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.threads)
    try:
        run: Run | BatchRun
        if settings.algo == "batch_ppo":
            run = BatchRun(settings, folder, report)
            begun = run.checkpoint.exists()
        else:
            run = Run(settings, folder, report)
            begun = bool(folder.checkpoints())
        with contextlib.closing(run):
            if not folder.settings.exists():
                write_json(folder.settings, settings.model_dump(mode="json"))
            if resume and begun:
                run.resume()
            try:
                return run.train()
            except (CapacityError, ConfigError):  # such as too many environments for this machine
                if run.saved_at < 0:  # other settings may take the folder
                    folder.settings.unlink(missing_ok=True)
                raise
    finally:
        torch.set_num_threads(threads)


def train_to_end(settings: TrainSettings, out: str | Path) -> TrainResult:
    """Train, or continue the run in a folder, as a part of work that needs the whole training.

    Raises:
        KeyboardInterrupt: If a signal ended the training; it can be continued.
        ConfigError, TrainingError, StorageError: See `train`.
    """
    result = train(settings, out, resume=Folder(out).settings.exists())
    if result.reason == "interrupted":
        raise KeyboardInterrupt
    return result


__all__ = [
    "ALGORITHMS",
    "Progress",
    "TrainResult",
    "TrainSettings",
    "read_settings_of",
    "train",
    "train_to_end",
]
