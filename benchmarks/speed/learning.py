"""How many steps PPO trains on in a CPU-second, and how long it takes to solve a task.

Run it with ``python -m piase_gym.benchmarks.learning``; what is found is stored in
``benchmarks/measured/learning.json``, from which ``docs/make_pages.py`` writes a part of
docs/training.md. Steps are trained on when they were played and learned from; both are counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from piase_gym.adapters.encoders import CellEncoder
from piase_gym.benchmarks.evaluation.statistics import wilson
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import interleaved, medians
from piase_gym.training import ppo

FILE = OUT = Path(__file__).parents[1] / "measured" / "learning.json"
OPTIONS = {
    "rounds": "updates of each trainer; medians are kept",
    "seeds": "trainings that solve the task",
    "steps": "of each of them",
}
TASK = "piase/GridWorld-DoorKey-8x8-v1"
LAYERS: Mapping[str, Mapping[str, Any]] = {
    "compiled layer": {},
    "the same layer in torch, a row for every code": {"plain": True},
    "compiled layer, with a memory of 128": {"memory": 128},
    "compiled layer, with shaping": {"training_reward": "shaped"},
}


@described
def measure_all(rounds: int = 7, seeds: int = 3, steps: int = 2_500_000) -> dict[str, Any]:
    """Measure the rate of training, all trainers in turn, and train until the task is solved.

    Args:
        rounds: Updates of each trainer.
        seeds: Trainings from nothing.
        steps: Of each.

    Returns:
        JSON-able: ``rates`` (agent-steps per CPU-second), ``solved`` (a row a seed), and what it
        was measured on.
    """
    timers = {name: timer_of(**options) for name, options in LAYERS.items()}
    rates = medians(interleaved(timers, rounds))
    return {"rates": rates, "solved": [solve(seed, steps) for seed in range(seeds)]}


def timer_of(plain: bool = False, **options: Any) -> Callable[[], float]:
    """Return what trains for one update and tells the steps per CPU-second of it."""
    trainer = ppo.Trainer(TASK, ppo.Settings(**options), 0)
    if plain:
        policy, width = trainer.policy, trainer.settings.width
        layer: Any = CellEncoder(trainer.env.observation_space.high, width)
        policy.encoder = layer
        trainer.learners[0].optimizer = torch.optim.Adam(policy.parameters(), 1e-3, eps=1e-5)

    def update() -> float:
        before, start = trainer.steps, time.process_time()
        trainer.act()
        trainer.learn()
        return (trainer.steps - before) / (time.process_time() - start)

    return update


def solve(seed: int, steps: int) -> dict[str, Any]:
    """Train from nothing with small costs; return what came of it on the task as it is."""
    start = time.process_time()
    settings = ppo.Settings(total_steps=steps, training_reward="small_costs")
    trainer = ppo.Trainer(TASK, settings, seed)
    trainer.train()
    spent = time.process_time() - start
    success = ppo.evaluate(trainer.policy, TASK)
    found = {"seed": seed, "steps": trainer.steps, "cpu_seconds": round(spent, 1)}
    return {**found, "success": success, "episodes": len(ppo.HELD_OUT)}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what docs/training.md shows, by the names of its places."""
    rates = [[name, f"{rate:,.0f}"] for name, rate in found["rates"].items()]
    rows = []
    for row in found["solved"]:
        won = wilson(row["success"] * row["episodes"], row["episodes"]).words(".1%")
        rows.append([str(row["seed"]), f"{row['steps']:,}", f"{row['cpu_seconds']:.0f}", won])
    return {
        "rates": Section([Table([[f"`{TASK}`", "agent-steps per CPU-second"], *rates])]),
        "solved": Section(
            [Table([["seed", "agent steps", "CPU-seconds", "held-out levels won"], *rows])],
            [about(found)],
        ),
    }
