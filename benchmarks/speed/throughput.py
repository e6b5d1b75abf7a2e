# ruff: noqa: C420  # the yardstick is written as environments are written
"""How fast worlds step, as ratios to a ParallelEnv that does nothing.

Run it with ``python -m piase_gym.benchmarks.speed.throughput``. Every figure is agent-steps per
CPU-second of this process; all rows are measured in turn, several times over, and the median is
shown, so that ratios hold even where the machine's speed drifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.benchmarks.speed import c_kernel, peers
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS, RateTable, Row, measure, rate_table
from piase_gym.envs.batch import AUTORESET

BATCHES = (64, 1024, 4096)
EVERYTHING = "piase/GridWorld-Everything-16x16-4p-v0"
"""The task in which every rule is in use."""


class NoopParallelEnv(ParallelEnv):  # type: ignore[misc]  # PettingZoo is untyped here
    """A ParallelEnv that does nothing: the yardstick of this page.

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
    """The yardstick."""
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
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    count = env.world.num_actions
    draws = [{a: int(rng.integers(count)) for a in env.possible_agents} for _ in range(1024)]
    state = {"t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            if not env.agents:
                env.reset()
            actions = draws[state["t"] & 1023]
            state["t"] += 1
            if len(env.agents) < agents:
                actions = {a: actions[a] for a in env.agents}
            observations = env.step(actions)[0]
            if read:
                for observation in observations.values():
                    observation["text"]

    texts = f", texts={config['texts']}" if "texts" in config else ""
    label = f"{name}, {agents} agents, view={view}{texts}{', every text read' if read else ''}"
    return Row(label, agents, run)


def grid_rows() -> list[Row]:
    """The rows that the contract promises ratios for."""
    config: dict[str, Any] = {
        "layout": "door_key",
        "width": 16,
        "height": 16,
        "border": True,
        "max_steps": 1000,
    }
    return [
        noop_row(8),
        noop_row(8, fresh=False),
        world_row("GridWorld", 4, "vector", **config),
        world_row("GridWorld", 4, "both", **config),
        world_row("GridWorld", 4, "both", texts="lazy", **config),
        world_row("GridWorld", 4, "both", read=True, texts="lazy", **config),
    ]


def batch_row(num_envs: int) -> Row:
    """GridWorld's kernel through `batch_env`, on the task that the C kernel knows."""
    env = piase_gym.batch_env("GridWorld", num_envs=num_envs, copy=False, **c_kernel.CONFIG)
    env.reset(seed=0)
    draws = random_actions(num_envs)

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(draws[step % len(draws)])

    return Row(f"batch_env, {num_envs} environments", num_envs * c_kernel.AGENTS, run)


def kernel_row(num_envs: int) -> Row:
    """The same without the environment: arrays into the compiled step, arrays out."""
    env = piase_gym.batch_env("GridWorld", num_envs=num_envs, copy=False, **c_kernel.CONFIG)
    env.reset(seed=0)
    draws = [actions.reshape(-1) for actions in random_actions(num_envs)]
    step_batch, batch, mode = env.world.step_batch, env.batch, AUTORESET["next_step"]

    def run(steps: int) -> None:
        for step in range(steps):
            step_batch(batch, mode, -1, draws[step % len(draws)])

    return Row(f"GridWorld's kernel, {num_envs} environments", num_envs * c_kernel.AGENTS, run)


def c_row(num_envs: int) -> Row:
    """The same rules, written by hand in C."""
    kernel = c_kernel.CKernel(num_envs, 0)
    draws = [actions.reshape(-1) for actions in random_actions(num_envs)]

    def run(steps: int) -> None:
        for step in range(steps):
            kernel.step(draws[step % len(draws)])

    return Row(f"C, {num_envs} environments", num_envs * c_kernel.AGENTS, run)


def task_row(label: str, task: str, num_envs: int, **config: Any) -> Row:
    """Any task through `batch_env`."""
    env = piase_gym.batch_env(task, num_envs=num_envs, copy=False, **config)
    env.reset(seed=0)
    shape, rng = (num_envs, len(env.agents)), np.random.default_rng(0)
    draws = [rng.integers(0, env.action_space.n, shape, np.int32) for _ in range(32)]

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(draws[step % len(draws)])

    return Row(label, num_envs * len(env.agents), run)


def random_actions(num_envs: int) -> list[NDArray[np.int32]]:
    """Return some steps of random actions."""
    rng = np.random.default_rng(0)
    shape = (num_envs, c_kernel.AGENTS)
    return [rng.integers(0, c_kernel.ACTIONS, shape, np.int32) for _ in range(32)]


def tables(rounds: int = ROUNDS, seconds: float = SECONDS) -> Iterator[RateTable]:
    """Measure and give the tables, one after the other."""
    title = "GridWorld's ParallelEnv, medians of interleaved rounds"
    yield rate_table(title, measure(grid_rows(), rounds, seconds))
    for num_envs in BATCHES:
        rows = [noop_row(8), kernel_row(num_envs), batch_row(num_envs)]
        bases = [rows[0].name]
        if c_kernel.available():
            rows.insert(1, c_row(num_envs))
            bases.append(rows[1].name)
        title = f"Door-key rules on 16x16, 4 agents, {num_envs} environments"
        yield rate_table(title, measure(rows, rounds, seconds, burst=32), bases)
    yield rate_table(
        "All rules at once: 16x16, 4 agents, 1024 environments",
        measure(feature_rows(), rounds, seconds, burst=32),
    )
    yield rate_table(
        "SocialDilemma: 4096 games of 2 agents; 256 commons of 32x32, 8 agents, 7x7 seen",
        measure(dilemma_rows(), rounds, seconds, burst=32),
    )


def dilemma_rows() -> list[Row]:
    """The yardstick, a matrix game and both commons."""
    fields: dict[str, Any] = {"width": 32, "height": 32, "agents": 8}
    pair, world = "prisoners_dilemma", "SocialDilemma"
    return [
        noop_row(8),
        task_row(f"batch_env, {pair}", world, 4096, game=pair),
        *(
            task_row(f"batch_env, {g}", world, 256, game=g, **fields)
            for g in ("harvest", "cleanup")
        ),
    ]


def feature_rows() -> list[Row]:
    """The yardstick, the plain rules, and a task in which every rule is in use."""
    plain = task_row("batch_env, door-key rules", "GridWorld", 1024, **c_kernel.CONFIG)
    whole = task_row(f"batch_env, {EVERYTHING}", EVERYTHING, 1024)
    return [noop_row(8), plain, whole]


# -- a run, on the screen and as a file ---------------------------------------------------


def measure_all(
    rounds: int = ROUNDS,
    seconds: float = SECONDS,
    shown: Callable[[RateTable], None] = lambda table: None,
) -> dict[str, Any]:
    """Measure all tables and the peers with GridWorld's task.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
        shown: Called with each table as it comes.

    Returns:
        JSON-able: ``tables`` (`RateTable`s), ``missing`` and ``failed`` peers, versions.
    """
    found = []
    for table in tables(rounds, seconds):
        shown(table)
        found.append(table)
    report = peers.compare(rounds, seconds)
    shown(report.table)
    return {
        "tables": [asdict(table) for table in (*found, report.table)],
        "missing": list(report.missing),
        "failed": dict(report.failed),
        "peers": dict(report.versions),
    }


def show(table: RateTable, console: Console) -> None:
    """Print a table with a column of ratios for each base."""
    head, *rows = rate_cells(asdict(table))
    shown = Table(title=table.title)
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number else "left")
    for row in rows:
        shown.add_row(*row)
    console.print(shown)


def rate_cells(table: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a table of rates as words: the head, then a row an environment."""
    bases = list(table["rates"][0]["ratios"])
    told = ["ratio to the first"] if len(bases) == 1 else [f"x {base}" for base in bases]
    lines = [("environment", "agent-steps per CPU-second", *told)]
    for row in table["rates"]:
        ratios = (f"{row['ratios'][base]:.3g}" for base in bases)
        lines.append((row["name"], f"{row['rate']:,.0f}", *ratios))
    return lines


def tell_missing(found: Mapping[str, Any], console: Console) -> None:
    """Name the peers that were not measured."""
    if found["missing"]:
        names = ", ".join(found["missing"])
        console.print(f"Not installed, so not measured: {names}. `make peers` installs them.")
    for name, why in found["failed"].items():
        console.print(f"{name} failed: {why}")
    if not c_kernel.available():
        console.print("There is no C compiler, so the batch is not compared with C.")


def main() -> None:
    """Measure and print the tables."""
    console = Console()
    tell_missing(measure_all(shown=lambda table: show(table, console)), console)


if __name__ == "__main__":
    main()
