"""What a curriculum costs beside the bare environment: a step between decisions, and an episode.

Run it with ``python -m piase_gym.benchmarks.curriculum``; ``--out`` stores what is found, and
`docs/following_curricula.md` shows what is in `FILE`. Times are CPU-seconds of one thread. All
environments take turns in short bursts of steps within an episode, so that a machine whose speed
drifts treats them alike; what is shown are medians of differences to the bare environment in the
same round. Four agents follow one curriculum each; what its metrics read says what is kept of a
step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.speed.measure import machine
from piase_gym.core.files import write_json
from piase_gym.curricula import DevelopmentalCurriculum
from piase_gym.wrappers import CurriculumWrapper

FILE = Path(__file__).parents[1] / "measured" / "curriculum.json"
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


def measure_steps(rounds: int) -> list[dict[str, Any]]:
    """Return what a step costs, and what of it is more than the bare one, in µs."""
    players = {name: player(make(rule)) for name, rule in {"bare": None, **READS}.items()}
    for play in players.values():
        play(5000)
    return compared([{name: play(BURST) for name, play in players.items()} for _ in range(rounds)])


def compared(rounds: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return medians of what was measured in turns: all of a row, and what is more than bare."""
    bare = statistics.median(row["bare"] for row in rounds)
    found = []
    for name in rounds[0]:
        added = statistics.median(row[name] - row["bare"] for row in rounds)
        found.append({"name": name, "us": round(bare + added, 3), "added": round(added, 3)})
    return found


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


def measure_episodes(rounds: int) -> list[dict[str, Any]]:
    """Return what an episode costs: it must not depend on how many steps the curriculum has."""
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
    return compared(
        [{name: episodes(env, 20) for name, env in envs.items()} for _ in range(rounds)]
    )


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure steps in so many rounds of bursts, and episodes in a thirtieth; JSON-able."""
    found: dict[str, Any] = {"machine": machine(), "versions": versions(), "rounds": rounds}
    load = os.getloadavg()[0]
    found["steps"] = measure_steps(rounds)
    found["episodes"] = measure_episodes(max(5, rounds // 30))
    return {**found, "load": [load, os.getloadavg()[0]]}


# -- the page -----------------------------------------------------------------------------


def tables_of(found: Mapping[str, Any]) -> list[list[list[str]]]:
    """Return what was measured as two tables of words, heads first."""
    steps = [["what is kept of a step", "µs a step", "added µs"]]
    steps += [[row["name"], f"{row['us']:.2f}", f"{row['added']:.2f}"] for row in found["steps"]]
    plays = [["one agent, episodes of two steps", "µs an episode", "added µs"]]
    plays += [[row["name"], f"{row['us']:.0f}", f"{row['added']:.0f}"] for row in found["episodes"]]
    for table in (steps, plays):
        table[1][2] = "–"
    return [steps, plays]


def stored_sections() -> dict[str, str]:
    """Return what the page shows, by the name of its place."""
    found = json.loads(FILE.read_text("utf-8"))
    shown = "\n".join(markdown(table[0], table[1:]) for table in tables_of(found))
    load = " and ".join(f"{value:.1f}" for value in found["load"])
    return {"curriculum": f"{shown}\nMeasured on {found['machine']}, with a load of {load}.\n"}


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of bursts")
    parser.add_argument("--out", type=Path, help="a JSON file for what is found")
    options = parser.parse_args()
    found = measure(options.rounds)
    for head, *rows in tables_of(found):
        table = Table(*head)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(f"promised where ends or rewards are kept: at most {LIMIT} µs")
    if options.out is not None:
        write_json(options.out, found)


if __name__ == "__main__":
    main()
