"""The evidence on curricula: five ways to spend one budget, on three targets, ten seeds each.

``python -m piase_gym.benchmarks.studies.evidence.train --workers 2`` does what
`docs/evidence_curricula.md` says. Every finished run is a line in
``benchmarks/studies/measured/evidence_curricula.jsonl`` and is not repeated, so the command may be
interrupted and given again at any time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import APART, SEEDS
from piase_gym.benchmarks.studies.evidence.plan import curriculum
from piase_gym.benchmarks.studies.jobs import add_backend, do_all, errors_told
from piase_gym.core.digest import digest_json
from piase_gym.curricula.directors import (
    Director,
    LearningProgress,
    Randomisation,
    ScriptedDirector,
    Threshold,
)
from piase_gym.errors import ConfigError, suggest
from piase_gym.training.curriculum_env import SlotBatch, controller_of, make_curriculum_env
from piase_gym.training.curriculum_evaluation import play_slots
from piase_gym.training.curriculum_settings import PPO, import_ppo

PLAN = 1
"""Version of the plan; lines of another version are not counted."""
OUT = Path(__file__).parents[1] / "measured" / "evidence_curricula.jsonl"
"""The shipped results."""
TARGETS: Mapping[str, str] = {"door_key": "door_key", "rooms": "rooms", "quest": "text_quest"}
"""Target -> the curriculum with that last step, as it was when the plan was written."""
ARMS: Mapping[str, Callable[[int], Director]] = {
    "target_only": lambda target: Randomisation({target: 1.0}),
    "uniform": lambda _target: Randomisation(),
    "sequential": lambda _target: Threshold(0.8),
    "learning_progress": lambda _target: LearningProgress(),
    "dse": lambda _target: ScriptedDirector(),
}
"""Arm -> the function that makes its director, given the order of the target."""


@dataclass(frozen=True)
class Scale:
    """How much is done.

    Attributes:
        steps: Environment steps of each training.
        num_envs: Number of environments side by side.
        num_steps: Steps in each environment between two updates.
        seeds: Number of trainings of each arm on each target.
        held_out: The seeds of the tests.
    """

    steps: int = 600_000
    num_envs: int = 64
    num_steps: int = 64
    seeds: int = 10
    held_out: range = SEEDS["held_out"][:200]


SMOKE = Scale(steps=256, num_envs=4, num_steps=16, seeds=1, held_out=SEEDS["held_out"][:4])
"""Enough to see that everything runs, and no more."""


@dataclass(frozen=True)
class Job:
    """One training: an arm on a target with a seed."""

    arm: str
    target: str
    seed: int
    scale: Scale

    @property
    def key(self) -> str:
        """What identifies it: everything that its result depends on."""
        sha256 = curriculum(TARGETS[self.target]).sha256
        scale = {**vars(self.scale), "held_out": list(self.scale.held_out)[:1], "seeds": None}
        scale["tests"] = len(self.scale.held_out)
        parts = [PLAN, self.arm, self.target, self.seed, sha256, scale, dict(PPO)]
        return digest_json(parts)


def jobs(scale: Scale, only: Sequence[str] = ()) -> list[Job]:
    """Return all trainings, seed by seed, so that a part of them is a fair part.

    Args:
        scale: How much is done.
        only: ``ARM/TARGET``, each of which may be ``*``; by default everything.

    Raises:
        ConfigError: If there is no such arm or target.
    """
    chosen = [choice(words) for words in only] or [("*", "*")]
    return [
        Job(arm, target, seed, scale)
        for seed, target, arm in product(range(scale.seeds), TARGETS, ARMS)
        if any(a in ("*", arm) and t in ("*", target) for a, t in chosen)
    ]


def choice(words: str) -> tuple[str, str]:
    """Read ``ARM/TARGET``.

    Raises:
        ConfigError: If there is no such arm or target.
    """
    arm, slash, target = words.partition("/")
    if not slash:
        raise ConfigError(
            f"{words!r} is no choice; write ARM/TARGET, such as dse/door_key or */rooms"
        )
    for name, known in ((arm, ARMS), (target, TARGETS)):
        if name != "*" and name not in known:
            raise ConfigError(f"there is no {name!r}; {suggest(name, known)}")
    return arm, target


# -- one training --------------------------------------------------------------------------------


def perform(job: Job) -> dict[str, Any]:
    """Train and test once; return a JSON-able line."""
    ppo, stages = import_ppo(), curriculum(TARGETS[job.target])
    scale, target = job.scale, stages.steps[-1].order
    started = time.process_time()
    director = ARMS[job.arm](target)
    env = make_curriculum_env(stages, num_envs=scale.num_envs, director=director, seed=job.seed)
    sizes = {"num_envs": scale.num_envs, "num_steps": scale.num_steps}
    settings = ppo.Settings(**sizes, total_steps=scale.steps, **PPO)
    trainer = ppo.Trainer(env, settings, APART * job.seed)
    trainer.train()
    controller = controller_of(env)
    (agent,) = controller.curricula
    trained = time.process_time() - started
    won = examine(trainer.policy, env, controller, agent, target, scale.held_out)
    tested = time.process_time() - started - trained
    progress, counted = controller.progress[agent], controller.counts[agent].counted
    env.close()
    return {
        "plan": PLAN,
        "key": job.key,
        "arm": job.arm,
        "target": job.target,
        "seed": job.seed,
        "curriculum": {"name": stages.name, "sha256": stages.sha256},
        "settings": settings.told(),
        "steps": trainer.steps,
        "held_out": [scale.held_out.start, scale.held_out.stop],
        "won": "".join("1" if one else "0" for one in won),
        "success": round(float(np.mean(won)), 6),
        "outcome": progress.outcome,
        "current_step": progress.current_step_order,
        "completed": list(progress.completed_steps),
        "episodes": {str(step.order): counted.get(step.order, 0) for step in stages.steps},
        "hints": sum(decision.hint is not None for decision in progress.decisions),
        "cpu_seconds": {"training": round(trained, 1), "test": round(tested, 1)},
        "versions": versions(),
    }


def examine(
    policy: Any, env: Any, controller: Any, agent: str, order: int, seeds: range
) -> NDArray[np.bool_]:
    """Return which episodes of a step an agent wins, one for each seed, with sampled actions."""
    config = controller.setup.config({agent: order})
    if isinstance(env, SlotBatch):
        return play_slots(policy, config, seeds)[0]
    won: NDArray[np.bool_] = import_ppo().play(policy, config, seeds)
    return won[:, list(env.agents).index(agent)]


# -- all of them ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and do what is not done yet."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="the file of results")
    add_backend(parser)
    parser.add_argument("--only", action="append", default=[], metavar="ARM/TARGET")
    parser.add_argument("--smoke", action="store_true", help="tiny trainings, to see that it runs")
    options = parser.parse_args(arguments)
    if options.smoke and options.out == OUT:
        parser.error("--smoke makes no results; name another file with --out")
    with errors_told(parser):
        every = jobs(SMOKE if options.smoke else Scale(), options.only)
        do_all(every, perform, options.out, told, options.workers, options.ray)


def told(line: Mapping[str, Any]) -> str:
    """Return the result of a training in words."""
    name = f"{line['arm']} on {line['target']}, seed {line['seed']}"
    cost = f"{line['steps']:,} steps, {line['cpu_seconds']['training']:.0f} CPU-seconds"
    return f"{name}: {line['success']:.1%} on held-out seeds, {cost}"


if __name__ == "__main__":
    main()
