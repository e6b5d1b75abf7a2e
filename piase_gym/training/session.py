"""What every session of ``piase train`` does, whatever learns: it looks, keeps and tells."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.core.files import write_json
from piase_gym.training.checkpoints import Folder
from piase_gym.training.evaluation import EvaluationResult, look_seeds, rank
from piase_gym.training.settings import Progress, TrainResult, TrainSettings, partners_of

KEPT = ("looked_at", "saved_at", "dev", "best", "best_return", "best_steps", "won", "played")
"""What a checkpoint keeps of a run besides what learns."""


class Session(ABC):
    """One session of a run.

    Args:
        settings: What to train, and how.
        folder: The run's folder.
        report: Called with the progress after every update.

    Attributes:
        learners: Number of agents that learn.
        seeds: The dev seeds.
        looked_at: Steps at the last look at the dev seeds; -1 before the first.
        saved_at: Steps at the last checkpoint; -1 before the first.
        dev: Success at the last look.
        best, best_return, best_steps, won, played: Those of the best look; see `rank`.
        reason: Why the run ends; see `TrainResult`.
    """

    def __init__(
        self, settings: TrainSettings, folder: Folder, report: Callable[[Progress], None]
    ) -> None:
        """Begin before the first look."""
        self.settings, self.folder, self.report = settings, folder, report
        self.world = settings.make_world()
        self.partners = partners_of(settings, self.world.agents)
        self.learners = len(self.world.agents) - len(self.partners)
        self.seeds = look_seeds(self.world, settings.eval_episodes)
        self.looked_at, self.saved_at = -1, -1
        self.dev, self.best, self.best_return = 0.0, -1.0, -math.inf
        self.best_steps, self.won, self.played = 0, 0, 0
        self.reason = "finished"
        self._cpu, self._start = 0.0, time.process_time()

    @property
    @abstractmethod
    def steps(self) -> int:
        """Agent steps so far."""

    def close(self) -> None:
        """Release what plays the dev seeds."""
        self.world.close()

    @property
    def cpu_seconds(self) -> float:
        """CPU-seconds of all sessions so far."""
        return self._cpu + time.process_time() - self._start

    def kept(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides what learns."""
        return {name: getattr(self, name) for name in KEPT}

    def restore_kept(self, kept: Mapping[str, Any], cpu_seconds: float) -> None:
        """Continue from what a checkpoint has kept.

        Raises:
            KeyError: If something is missing.
        """
        known = {"best_return": -math.inf, **kept}  # older checkpoints tell no return
        for name in KEPT:
            setattr(self, name, known[name])
        self._cpu = cpu_seconds

    def is_time(self, before: int, every: int, ending: bool) -> bool:
        """Return whether something last done after `before` steps (-1: never) is due again."""
        since = self.steps - before
        return before < 0 or since >= every or (ending and since > 0)

    def solved(self) -> bool:
        """Return whether the success rate to stop at has been reached."""
        wanted = self.settings.stop_at
        return wanted is not None and self.looked_at > 0 and self.dev >= wanted

    def note_look(self, found: EvaluationResult) -> bool:
        """Note a look at the dev seeds; return whether none was better, so the policy is kept."""
        standing = rank(found, self.learners)
        self.dev = standing[0]
        line = {"steps": self.steps, "dev": self.dev, "return": found.returned}
        line["cpu_seconds"] = round(self.cpu_seconds, 1)
        self.folder.note(line, after=self.looked_at)
        self.looked_at = self.steps
        best = not self.best_steps or standing >= (self.best, self.best_return)
        if best:
            (self.best, self.best_return), self.best_steps = standing, self.steps
            self.won, self.played = found.won, found.played
        return best

    def write_result(self, policy: Path, steps: int, **more: Any) -> TrainResult:
        """Write and return the result.

        Args:
            policy: The file of the best policy.
            steps: Agent steps done.
            more: Further entries of the file.
        """
        episodes = len(self.seeds)  # whose agents may win together, so agents are no trials
        interval = wilson(self.won * episodes / self.played, episodes)
        result = TrainResult(
            policy=policy,
            steps=steps,
            reason=self.reason,
            dev=self.best,
            wilson95=(interval.low, interval.high),
            best_steps=self.best_steps,
            cpu_seconds=round(self.cpu_seconds, 1),
        )
        fields = {**asdict(result), "policy": policy.name, **more}
        fields["dev_seeds"] = [self.seeds[0], self.seeds[-1] + 1]
        write_json(self.folder.result, fields)
        return result
