"""What a curriculum costs beside the bare environment: a step between decisions, and an episode.

Run it with ``python -m piase_gym.benchmarks.curriculum``; ``--out`` stores what is found, and
`docs/following_curricula.md` shows what is in `FILE`. Times are CPU-seconds of one thread. All
environments take turns in short bursts of steps within an episode, so that a machine whose speed
drifts treats them alike; what is shown are medians of differences to the bare environment in the
same round. Four agents follow one curriculum each; what its metrics read says what is kept of a
step.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.benchmarks.speed.shown import Section, Table, described
from piase_gym.benchmarks.speed.timing import Run, added, in_turns, medians, parallel_steps
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


def measure_steps(rounds: int) -> list[dict[str, Any]]:
    """Return what a step costs, and what of it is more than the bare one, in µs."""
    runs = {name: parallel_steps(make(rule)) for name, rule in {"bare": None, **READS}.items()}
    for run in runs.values():
        run(5000)
    return compared(in_turns(runs, BURST, rounds))


def compared(found: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """Return medians of what was measured in turns: all of a row, and what is more than bare."""
    bare = medians(found)["bare"]
    return [
        {"name": name, "us": round(bare + more, 3), "added": round(more, 3)}
        for name, more in added(found, "bare").items()
    ]


def episodes(env: Any) -> Run:
    """Return what plays episodes of two steps."""
    acts = dict.fromkeys(env.possible_agents, 4)

    def run(count: int) -> None:
        for _ in range(count):
            env.reset()
            env.step(acts)
            env.step(acts)

    return run


class Switching:
    """The bare environment, reconfigured before each episode as a curriculum would."""

    def __init__(self, env: Any) -> None:
        self.env, self.possible_agents, self.step = env, env.possible_agents, env.step
        self.collisions = itertools.cycle(("pass", "block"))

    def reset(self, **options: Any) -> Any:
        self.env.reconfigure({"collisions": next(self.collisions)})
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
    runs = {name: episodes(env) for name, env in envs.items()}
    for name, run in runs.items():
        envs[name].reset(seed=0)
        run(100)
    return compared(in_turns(runs, 20, rounds))


@described
def measure_all(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure steps in so many rounds of bursts, and episodes in a thirtieth; JSON-able."""
    episodes = measure_episodes(max(5, rounds // 30))
    return {"rounds": rounds, "steps": measure_steps(rounds), "episodes": episodes}


# -- the page -----------------------------------------------------------------------------


def tables_of(found: Mapping[str, Any]) -> list[list[list[str]]]:
    """Return what was measured as two tables of words, heads first."""
    tables = []
    for key, what, each, digits in (
        ("steps", "what is kept of a step", "µs a step", 2),
        ("episodes", "one agent, episodes of two steps", "µs an episode", 0),
    ):
        lines = [[what, each, "added µs"]]
        for row in found[key]:
            lines.append([row["name"], f"{row['us']:.{digits}f}", f"{row['added']:.{digits}f}"])
        lines[1][2] = "–"
        tables.append(lines)
    return tables


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what the page shows, by the name of its place."""
    load = " and ".join(f"{value:.1f}" for value in found["load"])
    words = f"Measured on {found['machine']}, with a load of {load}."
    return {"curriculum": Section([Table(lines) for lines in tables_of(found)], [words])}


OPTIONS = {"rounds": "of bursts"}
