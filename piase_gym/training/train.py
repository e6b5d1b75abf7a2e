"""Trains policies: what ``piase train`` does, with Stable-Baselines3 or with our own PPO.

The latter is `piase_gym.training.batch_run`; what follows is about the former.

A run plays the dev seeds between updates, keeps the best policy, stops early if asked to, and
writes checkpoints, from which it continues exactly as if it had not stopped: with the same numbers
on the same machine and versions.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from piase_gym.agents.sb3 import Sb3Agent
from piase_gym.agents.sb3_archive import CARD
from piase_gym.agents.sb3_network import Network, require_finite
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.files import write_json, write_whole
from piase_gym.core.interrupts import on_first_interrupt
from piase_gym.errors import MissingExtraError, PolicyError, StorageError, TrainingError
from piase_gym.training.batch_run import BatchRun
from piase_gym.training.checkpoints import STATE, Folder, pack, restore_state, state_of
from piase_gym.training.evaluation import look, look_seeds, rank
from piase_gym.training.models import check_metadata, make_model, make_policy, make_vec, metadata_of
from piase_gym.training.schedule import whole_updates
from piase_gym.training.settings import (
    ALGORITHMS,
    Progress,
    TrainResult,
    TrainSettings,
    check_run_folder,
    partners_of,
    read_settings_of,
)

try:
    import sb3_contrib  # noqa: F401  # which the models need
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import configure
except ModuleNotFoundError as error:
    raise MissingExtraError("training", "train") from error


KEPT = ("looked_at", "saved_at", "dev", "best", "best_return", "best_steps", "won", "played")
"""What a checkpoint keeps of a run besides the model."""


class Run:
    """One session of a run: the model, its environments, and what happens between updates."""

    def __init__(
        self, settings: TrainSettings, folder: Folder, report: Callable[[Progress], None]
    ) -> None:
        """Make environments and model."""
        self.settings, self.folder, self.report = settings, folder, report
        self.world = settings.make_world()
        self.partners = partners_of(settings, self.world.agents)
        self.seeds = look_seeds(self.world, settings.eval_episodes)
        self.vec = make_vec(settings, self.world, self.partners)
        self.twin = make_policy(settings, self.vec)
        self.model = make_model(settings, self.vec)
        update = self.model.n_steps * self.vec.num_envs
        self.total = whole_updates(settings.steps, update)
        self.model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        self.card = metadata_of(settings, self.world, self.vec)
        self.looked_at, self.saved_at = -1, -1
        self.dev, self.best, self.best_return = 0.0, -1.0, -math.inf
        self.best_steps, self.won, self.played = 0, 0, 0
        self.reason = "finished"
        self._cpu, self._start = 0.0, time.process_time()

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
            run = {"best_return": -math.inf, **state["run"]}  # older checkpoints tell no return
            for name in KEPT:
                setattr(self, name, run[name])
            self._cpu = run["cpu_seconds"]
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
        finally:
            self.model.logger.close()
            self.vec.close()
        return self._finish()

    def _learn(self) -> None:
        """Let Stable-Baselines3 learn; `between` is called whenever everything is at rest."""
        model, watch = self.model, UpdateCallback(self)
        left = self.total - model.num_timesteps  # of the whole updates by which the rate falls
        if left > 0 and not self._solved():
            model.learn(left, callback=watch, reset_num_timesteps=model._last_obs is None)
        if self._solved():
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
        what = f"{problem}, after {self.model.num_timesteps:,} steps"
        raise TrainingError(f"{what}; {last}. Try a smaller learning rate") from error

    def between(self, last: bool = False) -> None:
        """Play the dev seeds and write a checkpoint, each if it is due, and report."""
        steps, settings = self.model.num_timesteps, self.settings
        require_finite(self.model.policy, "the policy")
        if self._is_time(self.looked_at, settings.eval_every, last):
            self._look(steps)
        if self._solved():
            self.reason = "solved"
        if self._is_time(self.saved_at, settings.save_every, last or self.reason != "finished"):
            self._save(steps)
        recent = self.model.ep_success_buffer
        share = sum(recent) / len(recent) if recent else None
        self.report(Progress(steps, self.total, self.dev, self.best, share))

    def _is_time(self, before: int, every: int, ending: bool) -> bool:
        """Return whether something last done after `before` steps (-1: never) is due again."""
        since = self.model.num_timesteps - before
        return before < 0 or since >= every or (ending and since > 0)

    def _solved(self) -> bool:
        """Return whether the success rate to stop at has been reached."""
        wanted = self.settings.stop_at
        return wanted is not None and self.looked_at > 0 and self.dev >= wanted

    def _look(self, steps: int) -> None:
        """Play the dev seeds, and keep the policy if none was better."""
        self.twin.load_state_dict(self.model.policy.state_dict())
        agent = Sb3Agent(Network(self.twin, "the policy"))
        found = look(agent, self.world, self.partners, self.seeds)
        standing = rank(found, len(self.world.agents) - len(self.partners))
        self.dev = standing[0]
        line = {"steps": steps, "dev": self.dev, "return": found.returned}
        line["cpu_seconds"] = round(self.cpu_seconds, 1)
        self.folder.note(line, after=self.looked_at)
        if not self.best_steps or standing >= (self.best, self.best_return):
            (self.best, self.best_return), self.best_steps = standing, steps
            self.won, self.played = found.won, found.played
            write_whole(self.folder.policy, self._pack({}))
        self.model.logger.record("dev/success", self.dev)
        self.looked_at = steps

    def _save(self, steps: int) -> None:
        """Write a checkpoint."""
        self.saved_at = steps
        run = {**{name: getattr(self, name) for name in KEPT}, "cpu_seconds": self.cpu_seconds}
        state = {**state_of(self.model, self.vec), "run": run}
        self.folder.save(steps, self._pack({STATE: state}))

    def _pack(self, more: dict[str, Any]) -> bytes:
        """Return the model as an archive with its card and further files."""
        buffer = io.BytesIO()
        self.model.save(buffer, exclude=["_last_obs", "_last_episode_starts", "_last_original_obs"])
        return pack(buffer.getvalue(), {CARD: self.card, **more})

    @property
    def cpu_seconds(self) -> float:
        """CPU-seconds of all sessions so far."""
        return self._cpu + time.process_time() - self._start

    def _finish(self) -> TrainResult:
        """Write and return the result."""
        episodes = len(self.seeds)  # whose agents may win together, so agents are no trials
        interval = wilson(self.won * episodes / self.played, episodes)
        result = TrainResult(
            policy=self.folder.policy,
            steps=self.saved_at,
            reason=self.reason,
            dev=self.best,
            wilson95=(interval.low, interval.high),
            best_steps=self.best_steps,
            cpu_seconds=round(self.cpu_seconds, 1),
        )
        told = {**asdict(result), "policy": self.folder.policy.name, "card": self.card}
        told |= {"dev_seeds": [self.seeds[0], self.seeds[-1] + 1]}
        write_json(self.folder.result, told)
        return result


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
        if not folder.settings.exists():
            write_json(folder.settings, settings.model_dump(mode="json"))
        if resume and begun:
            run.resume()
        return run.train()
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
