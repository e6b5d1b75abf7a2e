# ruff: noqa: C420  # the baseline is written as environments are written
"""How fast worlds step, as ratios to a ParallelEnv that does nothing.

Run it with ``python -m piase_gym.benchmarks.speed.throughput``. Every figure is agent-steps per
CPU-second of this process; all rows are measured in turn, several times over, and the median is
shown, so that ratios hold even where the machine's speed drifts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

import piase_gym
from piase_gym.benchmarks.speed import c_kernel, peers
from piase_gym.benchmarks.speed.commands import run
from piase_gym.benchmarks.speed.shown import Section, Table
from piase_gym.benchmarks.speed.timing import (
    ROUNDS,
    SECONDS,
    Row,
    batch_draws,
    batch_steps,
    measure,
    parallel_steps,
    rate_table,
    steps_of,
)
from piase_gym.compiled.stepping import NEXT_STEP

BATCHES = (64, 1024, 4096)
EVERYTHING = "piase/GridWorld-Everything-16x16-4p-v1"
"""The task in which every rule is in use."""


class NoopParallelEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo is untyped here
    """A ParallelEnv that does nothing: the baseline of this page.

    Like every real environment it returns a new observation to each agent at each step, because
    agents keep what they are given. With ``fresh=False`` it hands out the same array for ever.
    """

    metadata = {"name": "noop"}

    def __init__(self, agents: int, fresh: bool = True) -> None:
        self.fresh = fresh
        self.possible_agents = [f"agent_{i}" for i in range(agents)]
        self.agents = list(self.possible_agents)
        self._zero = np.zeros(1, np.float32)
        self._space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return dict.fromkeys(self.agents, self._zero), {a: {} for a in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        names = self.agents
        return (
            {a: self._zero.copy() for a in names} if self.fresh else {a: self._zero for a in names},
            {a: 0.0 for a in names},
            {a: False for a in names},
            {a: False for a in names},
            {a: {} for a in names},
        )


def noop_row(agents: int, fresh: bool = True) -> Row:
    """The baseline."""
    env = NoopParallelEnv(agents, fresh)
    env.reset()
    actions = dict.fromkeys(env.agents, 0)

    def run(steps: int) -> None:
        for _ in range(steps):
            env.step(actions)

    label = f"no-op ParallelEnv, {agents} agents{'' if fresh else ', one array for ever'}"
    return Row(label, agents, run)


def world_row(name: str, agents: int, view: str, read: bool = False, **config: Any) -> Row:
    """A world's ParallelEnv under random actions; `read` reads every text."""
    env = piase_gym.parallel_env(name, agents=agents, view=view, **config)
    texts = f", texts={config['texts']}" if "texts" in config else ""
    label = f"{name}, {agents} agents, view={view}{texts}{', every text read' if read else ''}"
    return Row(label, agents, parallel_steps(env, read))


def grid_rows() -> list[Row]:
    """The rows that the contract promises ratios for."""
    config = {**c_kernel.CONFIG, "max_steps": 1000}
    del config["agents"]
    lazy: dict[str, Any] = {"texts": "lazy"}
    ways: tuple[tuple[str, dict[str, Any]], ...]
    ways = ("vector", {}), ("both", {}), ("both", lazy), ("both", {**lazy, "read": True})
    rows = [world_row("GridWorld", 4, view, **more, **config) for view, more in ways]
    return [noop_row(8), noop_row(8, fresh=False), *rows]


def task_row(label: str, task: str, num_envs: int, **config: Any) -> Row:
    """Any task through `batch_env`."""
    env = piase_gym.batch_env(task, num_envs=num_envs, copy=False, **config)
    return Row(label, num_envs * len(env.agents), batch_steps(env))


def kernel_row(num_envs: int) -> Row:
    """The task that the C kernel knows, without the environment: arrays in, arrays out."""
    env = piase_gym.batch_env("GridWorld", num_envs=num_envs, copy=False, **c_kernel.CONFIG)
    env.reset(seed=0)
    step = functools.partial(env.world.step_batch, env.batch, NEXT_STEP, -1)
    return _flat_row(f"GridWorld's kernel, {num_envs} environments", num_envs, step)


def c_row(num_envs: int) -> Row:
    """The same rules, written by hand in C."""
    step = c_kernel.CKernel(num_envs, 0).step
    return _flat_row(f"C, {num_envs} environments", num_envs, step)


def _flat_row(label: str, num_envs: int, step: Callable[[Any], object]) -> Row:
    """Return what calls a kernel with random actions."""
    drawn = batch_draws(num_envs, c_kernel.AGENTS, c_kernel.ACTIONS)
    run = steps_of(step, [actions.reshape(-1) for actions in drawn])
    return Row(label, num_envs * c_kernel.AGENTS, run)


def tables(rounds: int = ROUNDS, seconds: float = SECONDS) -> Iterator[dict[str, Any]]:
    """Measure and give the tables, one after the other."""

    def table(title: str, rows: list[Row], bases: Sequence[str] = (), burst: int = 32) -> Any:
        return rate_table(title, measure(rows, rounds, seconds, burst), bases)

    yield table("GridWorld's ParallelEnv, medians of interleaved rounds", grid_rows(), burst=200)
    for num_envs in BATCHES:
        label = f"batch_env, {num_envs} environments"
        rows = [noop_row(8), *([c_row(num_envs)] if c_kernel.available() else [])]
        bases = [row.name for row in rows]
        rows += [kernel_row(num_envs), task_row(label, "GridWorld", num_envs, **c_kernel.CONFIG)]
        yield table(f"Door-key rules on 16x16, 4 agents, {num_envs} environments", rows, bases)
    plain = task_row("batch_env, door-key rules", "GridWorld", 1024, **c_kernel.CONFIG)
    whole = task_row(f"batch_env, {EVERYTHING}", EVERYTHING, 1024)
    title = "All rules at once: 16x16, 4 agents, 1024 environments"
    yield table(title, [noop_row(8), plain, whole])
    fields: dict[str, Any] = {"width": 32, "height": 32, "agents": 8}
    games = {"prisoners_dilemma": (4096, {}), "harvest": (256, fields), "cleanup": (256, fields)}
    rows = [
        task_row(f"batch_env, {game}", "SocialDilemma", envs, game=game, **more)
        for game, (envs, more) in games.items()
    ]
    title = "SocialDilemma: 4096 games of 2 agents; 256 commons of 32x32, 8 agents, 7x7 seen"
    yield table(title, [noop_row(8), *rows])


# -- a run, as a file and as words --------------------------------------------------------


def measure_all(rounds: int = ROUNDS, seconds: float = SECONDS) -> dict[str, Any]:
    """Measure all tables and the peers with GridWorld's task.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.

    Returns:
        JSON-able: ``tables`` (see `rate_table`), and what `peers.compare` says of peers.
    """
    found = list(tables(rounds, seconds))
    report = peers.compare(rounds, seconds)
    return {"tables": [*found, report.pop("table")], **report}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured in words."""
    tables = [Table(rate_cells(table), table["title"]) for table in found["tables"]]
    return {"grid_world": Section(tables, [peer_words(found)])}


def rate_cells(table: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table of rates as words: the head, then a row an environment."""
    bases = list(table["rates"][0]["ratios"])
    heads = ["ratio to the first"] if len(bases) == 1 else [f"x {base}" for base in bases]
    lines = [("environment", "agent-steps per CPU-second", *heads)]
    for row in table["rates"]:
        found = (row["ratios"][base] for base in bases)
        ratios = (f"{ratio:,.0f}" if ratio >= 1000 else f"{ratio:.3g}" for ratio in found)
        lines.append((row["name"], f"{row['rate']:,.0f}", *ratios))
    return lines


def peer_words(found: Mapping[str, Any]) -> str:
    """Say which peers were not measured, and which versions were."""
    words = [", ".join(dict.fromkeys(found["peers"].values())) or "No peer"]
    words[0] += " took part."
    if found["missing"]:
        words.append(f"Not installed, so not measured: {', '.join(found['missing'])}.")
    words += [f"{name} failed: {why}." for name, why in found["failed"].items()]
    return " ".join(words)


OPTIONS = {"rounds": "of every row", "seconds": "CPU-seconds of each"}

if __name__ == "__main__":
    run("throughput")
