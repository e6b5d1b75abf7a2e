# ruff: noqa: C420  # the yardstick is written as environments are written
"""How fast worlds step, as ratios to a ParallelEnv that does nothing.

Run it with ``python -m piase_gym.benchmarks.throughput``. Every figure is agent-steps per
CPU-second of this process; all rows are measured in turn, several times over, and the median is
shown, so that ratios hold even where the machine's speed drifts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym.benchmarks import c_kernel, peers
from piase_gym.benchmarks.timing import RateTable, Row, measure, rate_table


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

    label = f"{name}, {agents} agents, view={view}{', every text read' if read else ''}"
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
        world_row("GridWorld", 4, "both", read=True, **config),
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


def c_row(num_envs: int) -> Row:
    """The same rules, written by hand in C."""
    kernel = c_kernel.CKernel(num_envs, 0)
    draws = [actions.reshape(-1) for actions in random_actions(num_envs)]

    def run(steps: int) -> None:
        for step in range(steps):
            kernel.step(draws[step % len(draws)])

    return Row(f"C, {num_envs} environments", num_envs * c_kernel.AGENTS, run)


def random_actions(num_envs: int) -> list[NDArray[np.int32]]:
    """Return some steps of random actions."""
    rng = np.random.default_rng(0)
    shape = (num_envs, c_kernel.AGENTS)
    return [rng.integers(0, c_kernel.ACTIONS, shape, np.int32) for _ in range(32)]


def tables() -> Iterator[RateTable]:
    """Measure and give the tables, one after the other."""
    title = "GridWorld's ParallelEnv, medians of interleaved rounds"
    yield rate_table(title, measure(grid_rows()))
    if c_kernel.available():
        for num_envs in (64, 1024, 4096):
            rows = [noop_row(8), c_row(num_envs), batch_row(num_envs)]
            title = f"Door-key rules on 16x16, 4 agents, {num_envs} environments"
            yield rate_table(title, measure(rows, burst=32))


def show(table: RateTable, console: Console) -> None:
    """Print a table with a column of ratios for each base."""
    bases = list(table.rates[0].ratios)
    shown = Table(title=table.title)
    shown.add_column("environment")
    shown.add_column("agent-steps per CPU-second", justify="right")
    for base in bases:
        shown.add_column("ratio to the first" if len(bases) == 1 else f"x {base}", justify="right")
    for row in table.rates:
        ratios = [f"{row.ratios[base]:.3g}" for base in bases]
        shown.add_row(row.name, f"{row.rate:,.0f}", *ratios)
    console.print(shown)


def show_peers(report: peers.PeerReport, console: Console) -> None:
    """Print how GridWorld compares with the peers that are installed, and name the others."""
    show(report.table, console)
    if report.missing:
        names = ", ".join(report.missing)
        console.print(f"Not installed, so not measured: {names}. `make peers` installs them.")


def main() -> None:
    """Measure and print the tables."""
    console = Console()
    for table in tables():
        show(table, console)
    if not c_kernel.available():
        console.print("There is no C compiler, so the batch is not compared with C.")
    show_peers(peers.compare(), console)


if __name__ == "__main__":
    main()
