"""What a curriculum costs beside the bare environment: a step between decisions, and an episode.

Run it with ``python -m piase_gym.benchmarks.curriculum``. Times are CPU-seconds of one thread. All
environments take turns in short bursts of steps within an episode, so that a machine whose speed
drifts treats them alike; what is shown are medians of differences to the bare environment in the
same round. Four agents follow one curriculum each; what its metrics read says what is kept of a
step.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.wrappers import CurriculumWrapper

AGENTS, BURST, ROUNDS = 4, 100, 1500
CONFIG: dict[str, Any] = {"agents": AGENTS, "width": 12, "height": 12, "max_steps": 1_000_000}
READS: dict[str, str] = {
    "ends": "success_rate < 0",
    "rewards": "mean_return > 1e9",
    "outcomes": "illegal_rate > 2",
}
"""What is kept of a step -> a rule that reads it and never holds."""
LIMIT = 0.8
"""What a step may cost between decisions, in µs, where ends and rewards are read."""
console = Console()


def curriculum(rule: str, steps: int = 1) -> DevelopmentalCurriculum:
    """Return a curriculum that reads something and stays in its first step."""
    rows = [
        {
            "order": order,
            "name": f"step {order}",
            "adaptation_rules": [[rule, "FAIL_CURRICULUM"]],
            "environment_config_overrides": {"collisions": "pass" if order % 2 else "block"},
        }
        for order in range(steps)
    ]
    return DevelopmentalCurriculum(name=rule, steps=rows)


def make(rule: str | None) -> Any:
    """Return the bare environment, or one whose agents follow a curriculum."""
    env = piase_gym.parallel_env("GridWorld", view="vector", random_goals=0, **CONFIG)
    if rule is None:
        return env
    return CurriculumWrapper(env, {name: curriculum(rule) for name in env.possible_agents})


def player(env: Any) -> Callable[[int], float]:
    """Return a function that takes so many steps in one episode and says how long one takes."""
    rng = np.random.default_rng(0)
    draws = [{f"agent_{i}": int(rng.integers(6)) for i in range(AGENTS)} for _ in range(1024)]
    env.reset(seed=0)
    at = {"t": 0}

    def play(steps: int) -> float:
        step, t = env.step, at["t"]
        start = time.thread_time()
        for k in range(t, t + steps):
            step(draws[k & 1023])
        taken = time.thread_time() - start
        at["t"] = t + steps
        return taken / steps * 1e6

    return play


def show_steps(rounds: int) -> None:
    """Print what a step costs."""
    players = {name: player(make(rule)) for name, rule in {"bare": None, **READS}.items()}
    for play in players.values():
        play(5000)
    times = [{name: play(BURST) for name, play in players.items()} for _ in range(rounds)]
    bare = statistics.median(row["bare"] for row in times)
    table = Table("what is kept of a step", "µs a step", "added µs", "of the bare step")
    table.add_row("bare", f"{bare:.2f}", "-", "-")
    for name in READS:
        added = statistics.median(row[name] - row["bare"] for row in times)
        table.add_row(name, f"{bare + added:.2f}", f"{added:.2f}", f"{added / bare:.1%}")
    console.print(table)
    console.print(f"promised where ends or rewards are kept: at most {LIMIT} µs")


def episodes(env: Any, count: int) -> float:
    """Play so many episodes of two steps; return µs of one."""
    acts = dict.fromkeys(env.possible_agents, 4)
    start = time.thread_time()
    for _ in range(count):
        env.reset()
        env.step(acts)
        env.step(acts)
    return (time.thread_time() - start) / count * 1e6


class Switching:
    """The bare environment, reconfigured before each episode as a curriculum would."""

    def __init__(self, env: Any) -> None:
        self.env, self.possible_agents = env, env.possible_agents
        self.step, self.count = env.step, 0

    def reset(self, **options: Any) -> Any:
        self.count += 1
        self.env.reconfigure({"collisions": "pass" if self.count % 2 else "block"})
        return self.env.reset(**options)


def show_episodes(rounds: int) -> None:
    """Print what an episode costs: it must not depend on how many steps the curriculum has."""
    fields = {**CONFIG, "agents": 1, "max_steps": 2, "random_goals": 0}

    def bare() -> Any:
        return piase_gym.parallel_env("GridWorld", view="vector", **fields)

    envs: dict[str, Any] = {"bare": bare(), "bare, reconfigured each time": Switching(bare())}
    for steps in (1, 10, 100, 1000):
        name = f"the same step again, of {steps:,}"
        envs[name] = CurriculumWrapper(bare(), curriculum("success_rate < 0", steps))
    envs["another step each time"] = CurriculumWrapper(
        bare(), curriculum("success_rate < 0", 2), director="randomisation"
    )
    for env in envs.values():
        env.reset(seed=0)
        episodes(env, 100)
    found = [{name: episodes(env, 20) for name, env in envs.items()} for _ in range(rounds)]
    base = statistics.median(row["bare"] for row in found)
    table = Table("one agent, episodes of two steps", "µs an episode", "added µs")
    for name in envs:
        added = statistics.median(row[name] - row["bare"] for row in found)
        table.add_row(name, f"{base + added:.0f}", f"{added:.0f}" if name != "bare" else "-")
    console.print(table)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of bursts")
    options = parser.parse_args()
    show_steps(options.rounds)
    show_episodes(max(5, options.rounds // 30))


if __name__ == "__main__":
    main()
