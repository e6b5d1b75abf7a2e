"""Trains what the second plan of the evidence on curricula asks for: `plan`.

    python -m piase_gym.benchmarks.studies.evidence.study --out FILE

does the calibration first, then the trainings, seed by seed: each finished seed is a fair part of
the whole. Every training is a line of the file and is not repeated, so the command may be
interrupted and given again at any time. ``docs/evidence_teachers.md`` reports the results.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import APART
from piase_gym.benchmarks.studies.evidence import plan
from piase_gym.benchmarks.studies.evidence.plan import ARMS, TARGETS
from piase_gym.benchmarks.studies.jobs import add_backend, do_all, read_lines, report_errors
from piase_gym.core.digest import digest_json
from piase_gym.curricula.attempts import EpisodeCounts
from piase_gym.curricula.controller import CurriculumController
from piase_gym.curricula.progress import AgentProgress
from piase_gym.training.curriculum_env import controller_of, make_curriculum_env
from piase_gym.training.curriculum_evaluation import LastStepEvaluator
from piase_gym.training.curriculum_settings import import_ppo
from piase_gym.training.rewards import training_config

OUT = Path(__file__).parents[1] / "measured" / "evidence_teachers.jsonl"
"""The shipped results."""


@dataclass(frozen=True)
class Job:
    """One training: an arm on a target with a seed and a budget.

    Attributes:
        arm: The arm.
        target: The target.
        seed: The seed.
        steps: The budget, in environment steps; 0 for the untrained policy.
        tests: Number of held-out levels at the end.
        looks: Number of levels at each mark.
        marks: Number of marks.
    """

    arm: str
    target: str
    seed: int
    steps: int
    tests: int = plan.TESTS
    looks: int = plan.LOOKS
    marks: int = plan.MARKS

    @property
    def key(self) -> str:
        """What identifies it: everything that its result depends on."""
        target, arm = TARGETS[self.target], ARMS[self.arm]
        curriculum = plan.curriculum(self.target, arm.rules)
        parts = [
            plan.PLAN,
            vars(self),
            curriculum.sha256,
            dict(target.learner),
            target.rewards,
        ]
        return digest_json([*parts, {name: list(ends) for name, ends in target.settings.items()}])


# -- one training --------------------------------------------------------------------------------


def perform(job: Job) -> dict[str, Any]:
    """Train and test once; return a JSON-able line."""
    ppo, target = import_ppo(), TARGETS[job.target]
    curriculum, director = ARMS[job.arm].make(target)
    assert curriculum.world is not None
    env = make_curriculum_env(
        curriculum,
        num_envs=target.learner["num_envs"],
        config=training_config(curriculum.world, {}, target.rewards),
        director=director,
        seed=job.seed,
        part="train",
    )
    controller = controller_of(env)
    (agent,) = controller.curricula
    looks = LastStepEvaluator(env, "dev", job.looks)
    settings = ppo.Settings(**target.learner, total_steps=job.steps)
    started = time.process_time()
    trainer = ppo.Trainer(env, settings, APART * job.seed)
    marks = Measurements(job, controller, agent, looks, trainer)

    def tell_director(rollout: Any) -> None:
        shape = settings.num_steps, settings.num_envs, -1
        if controller.director.reads_advantages:
            advantages = rollout.advantages.view(shape)[:, :, 0].numpy()
            controller.report_advantages(agent, advantages)
        learn = controller.learning_mask(agent, settings.num_steps)
        rollout.alive.view(shape)[~learn] = False

    trainer.after_rollout = tell_director
    trainer.train(marks.mark)
    trained = time.process_time() - started - marks.seconds
    tests = LastStepEvaluator(env, "held_out", job.tests)
    won, returns = tests.evaluate(trainer.policy)
    progress, counts = controller.progress[agent], controller.counts[agent]
    env.close()
    return {
        "plan": plan.PLAN,
        "key": job.key,
        **vars(job),
        "trained": trainer.steps,
        "director": type(director).__name__,
        "curriculum": {"name": curriculum.name, "sha256": curriculum.sha256},
        "settings": settings.stored_fields(),
        "levels": digest_json(tests.seeds),
        "won": "".join("1" if one else "0" for one in won),
        "returns": [round(float(one), 2) for one in returns],
        "curve": marks.curve,
        **_way(progress, counts),
        "cpu_seconds": {"training": round(trained, 1), "looks": round(marks.seconds, 1)},
        "versions": versions(),
    }


@dataclass
class Measurements:
    """The measurements in the course of a training.

    Attributes:
        job: What is trained.
        controller: The controller of its curriculum.
        agent: The agent that learns.
        looks: Plays the dev levels.
        trainer: What trains the policy.
        curve: What was measured at each mark.
        seconds: CPU-seconds that the measurements took.
    """

    job: Job
    controller: CurriculumController
    agent: str
    looks: LastStepEvaluator
    trainer: Any
    curve: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def mark(self, steps: int, trained_on: float) -> None:
        """Measure the policy if it is due, after `steps`, with this share of episodes won."""
        if steps < (len(self.curve) + 1) * self.job.steps / self.job.marks:
            return
        began = time.process_time()
        won, returns = self.looks.evaluate(self.trainer.policy)
        self.curve.append(
            {
                "steps": steps,
                "won": round(float(won.mean()), 4),
                "return": round(float(returns.mean()), 4),
                "training_won": round(trained_on, 4),
                "step": self.controller.progress[self.agent].current_step_order,
                "steps_by_step": _by_order(self.controller.counts[self.agent].steps),
            }
        )
        self.seconds += time.process_time() - began


def _way(progress: AgentProgress, counts: EpisodeCounts) -> dict[str, Any]:
    """Return how an agent went through the curriculum."""
    return {
        "outcome": progress.outcome,
        "current_step": progress.current_step_order,
        "completed": list(progress.completed_steps),
        "attempts": _by_order(progress.step_attempts),
        "episodes": _by_order(counts.counted),
        "steps_by_step": _by_order(counts.steps),
        "decisions": [
            [made.step, made.attempt, made.decision, made.values.get("success_rate")]
            for made in progress.decisions
        ],
    }


def _by_order(counts: Mapping[int, int]) -> dict[str, int]:
    """Return counts by order of a step, in a form for JSON."""
    return {str(order): int(count) for order, count in sorted(counts.items())}


# -- all of them ---------------------------------------------------------------------------------


def finished(out: Path) -> list[dict[str, Any]]:
    """Return the lines of a file, the first for each training."""
    found: dict[str, dict[str, Any]] = {}
    for line in read_lines(out):
        found.setdefault(line["key"], line)
    return list(found.values())


def shares(lines: Sequence[Mapping[str, Any]], target: str) -> dict[int, list[float]]:
    """Return what the calibration of a target has won so far, by budget."""
    found: dict[int, list[float]] = {}
    for line in lines:
        if line.get("seed") not in plan.TRIED or line.get("target") != target:
            continue
        tests = plan.TESTS if line["steps"] else plan.UNTRAINED_TESTS
        if line["key"] == Job("target_only", target, line["seed"], line["steps"], tests).key:
            won = fmean(int(sign) for sign in line["won"])
            found.setdefault(line["steps"], []).append(won)
    return found


def calibration(out: Path) -> Iterator[Job]:
    """Yield the trainings that determine the budgets, one by one, as earlier ones require them."""
    for name, target in TARGETS.items():
        for steps, seed in product((0, *target.budgets), plan.TRIED):
            if plan.budget(target, shares(finished(out), name)) is None:
                tests = plan.TESTS if steps else plan.UNTRAINED_TESTS
                yield Job("target_only", name, seed, steps, tests)


def budgets(out: Path) -> dict[str, int]:
    """Return the budgets by the calibration in a file; targets without one are left out."""
    lines = finished(out)
    found = {name: plan.budget(target, shares(lines, name)) for name, target in TARGETS.items()}
    return {name: steps for name, steps in found.items() if steps is not None}


def jobs(steps: Mapping[str, int], arms: Sequence[str] = tuple(ARMS)) -> list[Job]:
    """Return the trainings, seed by seed, so that a part of them is a fair part."""
    return [
        Job(arm, target, seed, steps[target])
        for seed, target, arm in product(plan.SEEDS, TARGETS, ARMS)
        if target in steps and arm in arms
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and do what is not done yet."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="the file of results")
    add_backend(parser)
    parser.add_argument("--calibration", action="store_true", help="nothing but the calibration")
    options = parser.parse_args(arguments)
    who = options.workers, options.ray
    with report_errors(parser):
        for job in calibration(options.out):
            do_all([job], perform, options.out, result_words, *who)
        if not options.calibration:
            every = jobs(budgets(options.out), plan.available())
            do_all(every, perform, options.out, result_words, *who)


def result_words(line: Mapping[str, Any]) -> str:
    """Return the result of a training in words."""
    won = fmean(int(sign) for sign in line["won"])
    cost = f"{line['trained']:,} steps, {line['cpu_seconds']['training']:.0f} CPU-seconds"
    return f"{line['arm']} on {line['target']}, seed {line['seed']}: {won:.1%} held out, {cost}"


if __name__ == "__main__":
    main()
