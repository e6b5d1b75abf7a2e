"""How good learners get on every id: ``piase bench learners FOLDER``.

Each id is trained with several seeds and a stated budget, by the fast learner where a kernel steps
the world, else by the PPO of Stable-Baselines3 and then, in worlds of words, with a larger budget
by the fast learner; most passes stop early where 95 % of the dev seeds are won. `PASSES` are tried
in turn, each from scratch; some of them, such as those with a larger budget, are for what earlier
passes have not solved. Then each policy plays held-out levels, or, of a task with few levels,
held-out seeds.

Everything is kept in a folder that is not part of the package: each training in ``PASS/NAME/SEED``,
and the results of its policy in ``played.json`` there. An interrupted run continues where it
stopped. `collect` reads the folder.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from piase_gym.benchmarks.evaluation.evaluate import evaluate, why_fixed
from piase_gym.benchmarks.evaluation.results import by_run
from piase_gym.benchmarks.evaluation.rollout import make_world
from piase_gym.benchmarks.evaluation.suites import (
    TABLE,
    Problem,
    Row,
    Setting,
    Suite,
    expand,
    ids_of,
)
from piase_gym.benchmarks.references.learned import SOLVED
from piase_gym.benchmarks.references.references import BLIND
from piase_gym.core.files import write_json
from piase_gym.errors import TrainingError, UnknownNameError
from piase_gym.jobs import choose_backend, run_jobs
from piase_gym.jobs.folders import Files, OutFolder, out_folder
from piase_gym.registry import list_tasks, missing, task_spec
from piase_gym.training.checkpoints import Folder
from piase_gym.training.rewards import usual_reward
from piase_gym.training.train import TrainResult, TrainSettings, train_to_end
from piase_gym.worlds.array_world import steps_in_batches

SEEDS, EPISODES = 5, 100
PLAYED, CHECKPOINTS = "played.json", ("checkpoint.pt",)
SLOW: Mapping[str, Any] = {
    "algo": "ippo",
    "num_envs": 16,
    "num_steps": 64,
    "minibatch": 512,
    "epochs": 4,
    "width": 64,
    "layers": (64,),
    "eval_episodes": 20,
}
"""What differs from the defaults of `TrainSettings` if no kernel steps the world."""
WORDS: Mapping[str, Any] = {
    "algo": "batch_ppo",
    "num_envs": 32,
    "num_steps": 32,
    "minibatch": 256,
    "eval_every": 50_000,
    "eval_episodes": 50,
}
"""The same for our own PPO, in worlds of words."""
FAST: Mapping[str, Any] = {
    "algo": "batch_ppo",
    "num_steps": 32,
    "epochs": 2,
    "minibatch": 1024,
    "eval_episodes": 50,
}
"""What differs from them if one does: many small steps learn more from the same samples."""
BY_WORLD: Mapping[str, Mapping[str, Any]] = {
    "WordCraft": {
        "num_steps": 16,
        "learning_rate": 0.003,
        "entropy": 0.003,
        "reward_scale": 1.0,
    },
}
"""What differs further in some worlds: an episode of WordCraft has few steps."""
PAYOFFS = ("SocialDilemma",)
"""Worlds in which nothing is won."""
BEST_RESPONSE = "best_response:"
"""The prefix of anchors that are best responses to a partner."""
SLOTS = 512
"""Number of agents in all environments together, if a kernel steps them."""


@dataclass(frozen=True)
class Pass:
    """One attempt at every task.

    Attributes:
        name: Name of its folder.
        steps: Agent steps by world or by id, which goes first; what is not named is left out.
        options: Further settings of the training.
        unsolved_only: Whether only tasks that earlier passes have not solved are tried.
        slow: Whether it is for tasks that no kernel steps.
        by_seat: Whether each seat has a policy of its own; tasks in which others play some seats
            are left out.
    """

    name: str
    steps: Mapping[str, int]
    options: Mapping[str, Any]
    unsolved_only: bool = True
    slow: bool = False
    by_seat: bool = False


PASSES = (
    Pass(
        "short",
        {
            "GridWorld": 4_000_000,
            "SocialDilemma": 500_000,
            "WordCraft": 2_000_000,
            "ObjectSearch": 2_000_000,
        },
        {},
        unsolved_only=False,
    ),
    Pass(
        "costs",
        {"GridWorld": 4_000_000},
        {"training_reward": "own_costs_later", "stop_at": None},
        unsolved_only=False,
    ),
    Pass(
        "prosocial",
        {"SocialDilemma": 500_000},
        {"training_reward": "prosocial", "width": 64},
        unsolved_only=False,
        by_seat=True,
    ),
    Pass(
        "commons",
        {
            "piase/SocialDilemma-Cleanup-4p-v1": 12_000_000,
            "piase/SocialDilemma-Cleanup-8p-v1": 24_000_000,
        },
        {"training_reward": "prosocial", "num_steps": 64, "minibatch": 2048, "gamma": 0.995},
        unsolved_only=False,
    ),
    Pass("long", {"GridWorld": 16_000_000, "WordCraft": 8_000_000, "ObjectSearch": 8_000_000}, {}),
    Pass("shaped", {"GridWorld": 16_000_000}, {"training_reward": "small_costs_shaped"}),
    Pass(
        "memory",
        {"GridWorld": 16_000_000, "WordCraft": 8_000_000, "ObjectSearch": 8_000_000},
        {"memory": 128},
    ),
    Pass(
        "slow",
        {
            "TextRoom": 100_000,
            "PhysicsPlayground": 100_000,
            "Household": 50_000,
            "SqlQuery": 50_000,
            "piase/ObjectSearch-Camera-v3": 20_000,
        },
        SLOW,
        unsolved_only=False,
        slow=True,
    ),
    Pass(
        "words",
        {"TextRoom": 300_000, "Household": 300_000, "SqlQuery": 300_000},
        WORDS,
        slow=True,
    ),
    Pass(
        "words_memory",
        {"TextRoom": 500_000},
        {
            **WORDS,
            "memory": 128,
            "num_steps": 64,
            "minibatch": 512,
            "epochs": 4,
            "learning_rate": 0.0003,
        },
        slow=True,
    ),
)


def tasks(patterns: Sequence[str] = ()) -> dict[str, list[Row]]:
    """Return the rows of every shipped id, one id per row, by the name of their model.

    An id that is in no suite gets a row of its own.

    Args:
        patterns: Only ids that match one of these; by default all.
    """
    known = [task for task in list_tasks() if task.startswith("piase/") and not missing(task)]
    rows = [replace(row, task=task) for row in TABLE for task in ids_of(row) if task in known]
    rows += [Row(task=task) for task in known if task not in {row.task for row in rows}]
    found: dict[str, list[Row]] = {}
    for row in rows:
        if not patterns or any(fnmatch.fnmatch(row.task, pattern) for pattern in patterns):
            found.setdefault(setting_of(row).name, []).append(row)
    return found


def setting_of(row: Row) -> Setting:
    """Return the first setting of a row."""
    return expand(row, "held_out")[0]


def settings_for(setting: Setting, attempt: Pass, seed: int) -> TrainSettings | None:
    """Return how a task is trained in a pass, or ``None`` if that pass does not train it.

    For test tasks (``tasks=test``), the training tasks of the id are used. A setting that is
    compared with the best response to a partner is trained with that partner, unless the game
    differs when seen from the other seat, which the policy plays too.
    """
    spec = task_spec(setting.task)
    steps = attempt.steps.get(setting.task, attempt.steps.get(spec.world))
    world = make_world(setting)
    if steps is None or steps_in_batches(world) == attempt.slow:
        return None
    if attempt.by_seat and setting.focal < len(setting.agents):
        return None
    config = dict(setting.config)
    if config.get("tasks") == "test":
        config["tasks"] = "train"
    fields: dict[str, Any] = {"task": setting.task, "config": config, "steps": steps, "seed": seed}
    seats: Sequence[Any] = world.config.profiles if setting.high.startswith(BEST_RESPONSE) else ()
    if len(seats) and np.array_equal(seats[0], seats[1]):
        fields["partners"] = dict.fromkeys(setting.agents[setting.focal :], setting.partner)
    if attempt.slow:
        looks = {"eval_every": steps // 3, "save_every": steps}
        return TrainSettings(**{**fields, **looks, "stop_at": SOLVED, **attempt.options})
    reward = {"training_reward": usual_reward(spec.world)}
    fields |= {"eval_every": steps // 8, "save_every": 4_000_000, "stop_at": SOLVED}
    envs = {"num_envs": max(32, SLOTS // len(setting.agents))}
    roles = {"roles": tuple(range(len(setting.agents)))} if attempt.by_seat else {}
    own = BY_WORLD.get(spec.world, {})
    return TrainSettings(**{**fields, **FAST, **own, **envs, **reward, **roles, **attempt.options})


@dataclass(frozen=True)
class Training:
    """A job: a training, and the evaluation of its policy.

    Attributes:
        place: Its folder in the common folder: ``PASS/NAME/SEED``.
        settings: What is trained.
        rows: What the policy plays.
        out: The common folder.
    """

    place: Path
    settings: TrainSettings
    rows: tuple[Row, ...]
    out: OutFolder

    def __str__(self) -> str:
        """Name pass, task and seed."""
        return " ".join(self.place.parts)


def train_all(
    folder: Path,
    rows: Mapping[str, Sequence[Row]],
    *,
    passes: Sequence[str] = (),
    seeds: int = SEEDS,
    workers: int = 1,
    ray: str | None = None,
    report: Callable[[str, Mapping[str, Any]], None] = lambda name, played: None,
) -> list[Problem]:
    """Train what a folder lacks: pass by pass, all tasks with one seed before the next seed.

    Args:
        folder: Where trainings are kept.
        rows: What is trained; see `tasks`.
        passes: Only the passes with these names; by default all.
        seeds: Number of trainings per task.
        workers: Number of processes.
        ray: The address of a Ray cluster, which takes the place of processes.
        report: Called with the name and the result of each training.

    Returns:
        What could not be trained, and why.

    Raises:
        UnknownNameError: If there is no such pass.
    """
    known = {attempt.name: attempt for attempt in PASSES}
    for name in passes:
        if name not in known:
            raise UnknownNameError("pass", name, known)
    chosen = [attempt for name, attempt in known.items() if not passes or name in passes]
    problems: dict[str, Problem] = {}
    with out_folder(folder) as out:
        for attempt in chosen:
            left = {name: own for name, own in rows.items() if name not in problems}
            jobs = _lacking(out, left, attempt, seeds)
            backend = choose_backend(workers, ray if jobs else None)
            more = attempt is not chosen[-1]
            for outcome in run_jobs(jobs, perform, backend, name=str, more=more):
                if outcome.error is None:
                    played, files = outcome.value
                    out.take(files)
                    report(outcome.name, played)
                else:
                    what, name = outcome.error.reason, outcome.job.place.parts[1]
                    seed = outcome.job.settings.seed
                    problem = Problem(name, f"seed {seed} of {attempt.name}: {what}")
                    problems.setdefault(name, problem)
    return list(problems.values())


def _lacking(
    out: OutFolder, rows: Mapping[str, Sequence[Row]], attempt: Pass, seeds: int
) -> list[Training]:
    """Return the trainings of a pass that are not there yet."""
    plans = {
        name: settings_for(setting_of(own[0]), attempt, 0)
        for name, own in rows.items()
        if not (attempt.unsolved_only and solved(out.path, name, seeds))
    }
    places = {
        Path(attempt.name, name, str(seed)): plan.model_copy(update={"seed": seed})
        for seed in range(seeds)
        for name, plan in plans.items()
        if plan is not None
    }
    return [
        Training(place, settings, tuple(rows[place.parts[1]]), out)
        for place, settings in places.items()
        if not (out.path / place / PLAYED).exists()
    ]


def perform(job: Training) -> tuple[dict[str, Any], Files]:
    """Do a job; return its results, and its files if they have to be sent."""
    with job.out.work() as (folder, files):
        played = train_one(folder / job.place, job.settings, job.rows)
        last = f"{job.place.as_posix()}/{PLAYED}"  # where it exists, nothing is done again
        return played, dict(sorted(files().items(), key=lambda file: file[0] == last))


def train_one(place: Path, settings: TrainSettings, rows: Sequence[Row]) -> dict[str, Any]:
    """Train one policy, or continue its training; let it play, and return the results of both."""
    result = train_to_end(settings, place)
    curve = [[line["steps"], line["dev"], line.get("return")] for line in Folder(place).history()]
    found: dict[str, Any] = {
        "task": settings.task,
        "version": setting_of(rows[0]).version,
        "algo": settings.algo,
        "reward": settings.training_reward,
        "memory": settings.memory,
        "partners": settings.partners,
        "policies": len({*settings.roles}) or 1,
        "budget": settings.steps,
        "steps": result.steps,
        "reason": result.reason,
        "cpu_seconds": result.cpu_seconds,
        "policy": result.policy.name,
        "curve": curve,
        "kept": result.best_steps,
    }
    found |= play_rows(result, rows, _played_beside(place, found["version"]))
    write_json(place / PLAYED, found)
    for name in CHECKPOINTS:
        with suppress(OSError):
            (place / name).unlink()
    return found


def _played_beside(place: Path, version: int) -> Mapping[str, Any]:
    """Return what another training of the same task and version has played, if there is one."""
    for path in sorted(place.parent.glob(f"*/{PLAYED}")):
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if found["version"] == version and found.get("episodes") == EPISODES:
            return found
    return {}


def play_rows(
    result: TrainResult, rows: Sequence[Row], beside: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the split that a policy played, and the values and wins of its episodes by label.

    Args:
        result: The training.
        rows: What is played.
        beside: What another training has played, if any: blind policies do not play again.
    """
    split = "held_out" if why_fixed(setting_of(rows[0])) else "new_levels"
    known = beside["labels"] if beside.get("split") == split else {}
    players = {"trained": str(result.policy), **{name: name for name in BLIND if not known}}
    options: dict[str, Any] = {"episodes": EPISODES, "split": split, "references": {}}
    results = evaluate(players, Suite(name="played", rows=tuple(rows)), **options)
    labels: dict[str, Any] = {}
    for label in results.settings:
        labels[label] = {name: known[label][name] for name in BLIND if known}
        for name in players:
            row, records = results.row(label, name), results.of(label, name)
            if row.faults:
                raise TrainingError(f"{label}, {name}: {next(iter(row.faults))}")
            labels[label][name] = {"values": by_run(records)[0]}
            if task_spec(rows[0].task).world not in PAYOFFS:
                labels[label][name]["won"] = by_run(records, lambda record: record.won)[0]
    return {"split": split, "episodes": EPISODES, "labels": labels}


# -- results ------------------------------------------------------------------------------


def runs_of(folder: Path, name: str, attempt: str) -> list[dict[str, Any]]:
    """Return the results of the seeds of a pass, in the order of the seeds."""
    places = sorted((folder / attempt / name).glob(f"*/{PLAYED}"), key=lambda p: int(p.parent.name))
    return [{**json.loads(p.read_text("utf-8")), "folder": str(p.parent)} for p in places]


def solved(folder: Path, name: str, seeds: int) -> bool:
    """Return whether some pass has been tried with all seeds, and its median success is enough.

    Where nothing can be won, any pass that was tried with all seeds is enough.
    """
    for attempt in PASSES:
        runs = runs_of(folder, name, attempt.name)
        shares = [success_of(run) for run in runs]
        if len(runs) >= seeds and (None in shares or median(map(float, shares)) >= SOLVED):  # type: ignore[arg-type]
            return True
    return False


def success_of(run: Mapping[str, Any]) -> float | None:
    """Return the share of episodes that a run won in its first label; ``None`` without wins."""
    won = next(iter(run["labels"].values()))["trained"].get("won")
    return None if won is None else sum(won) / len(won)


def value_of(run: Mapping[str, Any]) -> float:
    """Return the mean value of a run's episodes in its first label."""
    values = next(iter(run["labels"].values()))["trained"]["values"]
    return float(sum(values) / len(values))


def best_runs(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the runs of a task's best pass: by the median of their policies on dev seeds.

    A pass that has fewer runs than another is judged by those that it has. The episodes on held-out
    levels, which are reported, have no part in this.
    """
    tried = {attempt.name: runs_of(folder, name, attempt.name) for attempt in PASSES}

    def worth(attempt: str) -> tuple[float, float]:
        looks = [kept_look(run)[1:] for run in tried[attempt]]
        return median(dev for dev, _ in looks), median(got for _, got in looks)

    best = max((name for name, runs in tried.items() if runs), key=worth, default="")
    return [{**run, "pass": best} for run in tried.get(best, [])]


def kept_look(run: Mapping[str, Any]) -> tuple[int, float, float]:
    """Return the look at which a run's policy was kept: steps, wins and return.

    Runs that do not say which it was kept the newest of those that won most, whatever they got.
    """
    looks = [(int(steps), float(dev), float(got or 0.0)) for steps, dev, got in run["curve"]]
    if "kept" in run:
        return next(look for look in looks if look[0] == run["kept"])
    return max(looks, key=lambda look: (look[1], look[0]))


def median_run(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the median run, by success and then by value; the worse if two are in the middle."""
    order = sorted(runs, key=lambda run: (success_of(run) or 0.0, value_of(run)))
    return order[(len(order) - 1) // 2]


def collect(folder: Path, rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the results in a folder as they are stored: each task's best pass, numbers rounded."""
    found: dict[str, Any] = {}
    for name in rows:
        runs = best_runs(folder, name)
        if runs:
            found[name] = _collected(runs)
    return found


def _collected(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what is stored about the runs of a task."""
    same = ("task", "version", "algo", "reward", "memory", "budget", "split", "episodes", "pass")
    labels: dict[str, Any] = {}
    for label in runs[0]["labels"]:
        own = [run["labels"][label] for run in runs]
        labels[label] = {
            key: [_rounded(one["trained"][key]) for one in own]
            for key in ("values", "won")
            if key in own[0]["trained"]
        }
        for name in BLIND:
            labels[label][name] = {k: _rounded(v) for k, v in own[0][name].items()}
    return {
        **{key: runs[0][key] for key in same},
        "partners": runs[0].get("partners", {}),
        "policies": runs[0].get("policies", 1),
        "steps": [run["steps"] for run in runs],
        "cpu_seconds": [run["cpu_seconds"] for run in runs],
        "curves": [run["curve"] for run in runs],
        "kept": [kept_look(run)[0] for run in runs],
        "labels": labels,
    }


def _rounded(values: Sequence[float]) -> list[float]:
    """Return numbers rounded to three decimals."""
    return [round(value, 3) for value in values]
