"""Prioritised level replay with one's own training loop: tell advantages, learn from replays.

    python examples/level_replay.py
    python examples/level_replay.py --steps 500000 --seed 1

It trains a policy on mazes of three sizes. A level from which much was learnt comes again, and the
policy learns from those alone (robust PLR).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

import piase_gym
from piase_gym import curricula
from piase_gym.training.ppo import Rollout, Settings, Trainer
from piase_gym.wrappers import CurriculumWrapper

AGENT = "agent_0"
DIRECTOR = {"name": "plr", "robust": True, "replay": 0.8, "warm_up": 100}


def room(order: int, size: int) -> dict[str, Any]:
    """Return a step of the curriculum: rooms with obstacles."""
    fields = {"width": size, "height": size, "layout": "obstacles", "obstacle_density": 0.2}
    config = {"environment_config_overrides": fields, "max_interactions": 40}
    return {"order": order, "name": f"{size} by {size}", **config}


def train(steps: int, seed: int) -> Any:
    """Train; return the environments, whose controller has what was learnt of levels."""
    sizes = enumerate((5, 6, 8), start=1)
    plan = curricula.load({"name": "Rooms", "steps": [room(order, size) for order, size in sizes]})
    settings = Settings(num_envs=64, num_steps=64, total_steps=steps, minibatch=512, epochs=3)
    batch = piase_gym.batch_env("GridWorld", num_envs=64, autoreset="same_step")
    env = CurriculumWrapper(batch, plan, director=DIRECTOR, seed=seed)
    trainer = Trainer(env, settings, 1000 * seed)

    def tell(rollout: Rollout) -> None:
        env.controller.report_advantages(AGENT, rollout.advantages.numpy())
        rollout.alive &= rollout.alive.new_tensor(env.controller.learning_mask(AGENT, 64))

    trainer.after_rollout = tell
    trainer.train()
    return env


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and show which levels are worth playing again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    env, console = train(given.steps, given.seed), Console()
    known = sorted(env.progress[AGENT].memory["teacher"].known, key=lambda level: -level.score)
    for order, count in sorted(Counter(level.task.order for level in known[:100]).items()):
        console.print(f"{count} of the 100 levels with the highest scores are of step {order}")
    for level in known[:5]:
        console.print(f"seed {level.task.seed}, step {level.task.order}: score {level.score:.3f}")
    env.close()


if __name__ == "__main__":
    main()
