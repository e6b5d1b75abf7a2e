"""What trainings through a curriculum came to, in a few numbers each.

    python -m piase_gym.benchmarks.studies.curriculum_summary speak_up --steps 500000 --seeds 0 1 \
        --out FILE

trains once for each seed, as `piase curriculum run` does and in the same folders (an existing run
is continued), and tests what was learnt: the last policy plays every step on held-out seeds, whose
levels training may have met, with sampled actions and without hints. Each finished training is a
line of the file and is not repeated. For each step the line says after how many environment steps
of the whole training the step was completed, in how many attempts, with which metrics in the last
attempt, and how many test episodes were won.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import SEEDS
from piase_gym.benchmarks.studies.jobs import add_backend, do_all, report_errors
from piase_gym.core.digest import digest_json
from piase_gym.curricula import load
from piase_gym.curricula.learning_path import PATH, SUCCESS, read_paths, read_rows
from piase_gym.errors import ConfigError
from piase_gym.training.curriculum_env import SlotBatch, controller_of, make_curriculum_env
from piase_gym.training.curriculum_evaluation import play_slots
from piase_gym.training.curriculum_run import CurriculumTraining
from piase_gym.training.curriculum_settings import (
    PPO,
    SETTINGS,
    CurriculumTrainingSettings,
    import_ppo,
    load_policy,
    read_settings_of,
)


@dataclass(frozen=True)
class Job:
    """One training and its test.

    Attributes:
        settings: Settings of the training.
        folder: Where the training is kept.
        episodes: Number of test episodes for each step.
    """

    settings: CurriculumTrainingSettings
    folder: Path
    episodes: int

    @property
    def key(self) -> str:
        """What identifies it: everything that its result depends on."""
        curriculum = load(self.settings.curriculum)
        director = self.settings.director or curriculum.director or "scripted"
        settings = dataclasses.asdict(self.settings) | {"curriculum": None, "log": None}
        settings |= {"director": director}
        sha256 = curriculum.sha256
        return digest_json([sha256, settings, dict(PPO), self.episodes])


def perform(job: Job) -> dict[str, Any]:
    """Train, or continue a training, and test; return a JSON-able line.

    Raises:
        ConfigError: If there is a run with other settings in the folder.
        StorageError, ProgressError: If the run in the folder is damaged.
        KeyboardInterrupt: If a signal ended the training; it can be continued.
    """
    if not is_over(job.folder, job.settings):
        known = (job.folder / SETTINGS).exists()
        run = CurriculumTraining(job.settings, job.folder, resume=known)
        run.train()
        run.close()
        if run.interrupted:
            raise KeyboardInterrupt
    found = summary(job.folder)
    won = examine(job.folder, SEEDS["held_out"][: job.episodes])
    for row in found["steps"]:
        row["tested"] = {"episodes": job.episodes, "won": won[row["order"]]} if won else None
    return {"key": job.key, **found}


def is_over(folder: Path, settings: CurriculumTrainingSettings) -> bool:
    """Return whether there is a run in a folder that needs no more training.

    Raises:
        ConfigError: If it has other settings.
    """
    if not (folder / SETTINGS).exists():
        return False
    if read_settings_of(folder) != settings:
        raise ConfigError(f"the run in {folder} has other settings; name another --folder")
    (path,) = read_paths(folder)
    steps = _steps_of(folder)
    saved = int(load_policy(folder).get("steps", -1)) == steps
    return saved and (path.outcome != "running" or steps >= settings.steps)


def _steps_of(folder: Path) -> int:
    """Return how many environment steps a run has."""
    return max((int(row["steps"]) for row in read_rows(folder / PATH)), default=0)


def summary(folder: Path) -> dict[str, Any]:
    """Return the results of a run, JSON-able.

    Raises:
        StorageError, ProgressError: If there is no run in the folder, or it is damaged.
    """
    settings = read_settings_of(folder)
    (path,) = read_paths(folder)
    curriculum, steps = load(settings.curriculum), []
    for step in curriculum.steps:
        moves = [move for move in path.moves if move.decision.step == step.order]
        done = [move.at for move in moves if move.decision.completed]
        values = dict(moves[-1].decision.values) if moves else {}
        steps.append(
            {
                "order": step.order,
                "name": step.name,
                "attempts": len(moves),
                "last": {k: v for k, v in values.items() if isinstance(v, int | float)},
                "completed_at": done[0] if done else None,
            }
        )
    return {
        "curriculum": {"name": curriculum.name, "sha256": curriculum.sha256},
        "settings": dataclasses.asdict(settings),
        "agent": path.agent,
        "outcome": path.outcome,
        "env_steps": _steps_of(folder),
        "steps": steps,
        "versions": versions(),
    }


def examine(folder: Path, seeds: range) -> dict[int, int] | None:
    """Return how many episodes of each step the last policy of a run wins, one for each seed.

    ``None`` if steps are not judged by winning, or if others play besides the learner.

    Raises:
        StorageError: If there is no policy, or it is damaged.
    """
    settings, (path,) = read_settings_of(folder), read_paths(folder)
    curriculum, ppo = load(settings.curriculum), import_ppo()
    if path.judged_by != SUCCESS or curriculum.partners:
        return None
    env = make_curriculum_env(curriculum, num_envs=1, world=settings.world, config=settings.config)
    width = ppo.Settings(**{**PPO, **settings.ppo}).width
    policy = ppo.Policy(env.observation_space, int(env.action_space.n), width)
    policy.load_state_dict(load_policy(folder)["policy"])
    found = {
        step.order: int(_won(policy, env, path.agent, step.order, seeds).sum())
        for step in curriculum.steps
    }
    env.close()
    return found


def _won(policy: Any, env: Any, agent: str, order: int, seeds: range) -> NDArray[np.bool_]:
    """Return which episodes of a step an agent wins, one for each seed, with sampled actions."""
    config = controller_of(env).setup.config({agent: order})
    if isinstance(env, SlotBatch):
        return play_slots(policy, config, seeds)[0]
    won: NDArray[np.bool_] = import_ppo().play(policy, config, seeds)
    return won[:, list(env.agents).index(agent)]


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line; the result has the jobs to do as `jobs`."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("curriculum", help="a name or a path")
    usual = CurriculumTrainingSettings
    parser.add_argument("--steps", type=int, default=usual.steps, help="of environments")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--world", help="if the curriculum names none")
    parser.add_argument("--num-envs", type=int, default=usual.num_envs)
    parser.add_argument("--episodes", type=int, default=200, help="that test each step")
    parser.add_argument("--folder", type=Path, default=Path("runs", "curriculum"), help="of runs")
    add_backend(parser)
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl file of results")
    given = parser.parse_args(arguments)
    if not 1 <= given.episodes <= len(SEEDS["held_out"]):
        parser.error(f"--episodes is 1 to {len(SEEDS['held_out'])}")
    stem = Path(given.curriculum).name.split(".")[0]
    given.parser, given.jobs = parser, []
    for seed in given.seeds:
        settings = CurriculumTrainingSettings(
            curriculum=given.curriculum,
            world=given.world,
            steps=given.steps,
            seed=seed,
            num_envs=given.num_envs,
        )
        folder = given.folder / f"{stem}-{settings.director or 'scripted'}-{seed}"
        given.jobs.append(Job(settings, folder, given.episodes))
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and do what is not done yet."""
    given = parsed(arguments)
    with report_errors(given.parser):
        do_all(given.jobs, perform, given.out, result_words, given.workers, given.ray)


def result_words(line: Mapping[str, Any]) -> str:
    """Return the result of a training in words."""
    completed = sum(row["completed_at"] is not None for row in line["steps"])
    spent = f"{line['env_steps']:,} environment steps"
    done = f"{completed} of {len(line['steps'])} steps completed in {spent}"
    return f"seed {line['settings']['seed']}: {done}"


if __name__ == "__main__":
    main()
