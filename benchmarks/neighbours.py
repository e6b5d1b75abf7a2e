"""Environments of the field, measured beside ours: those that are installed, and which are not.

They play other games, so their figures tell orders of magnitude; `peers` compares like with like.
Each row of `NEIGHBOURS` names a module and a function that makes something to step. All are stepped
through their own API, with random actions drawn beforehand, in this process and on one core;
batched ones and ours count every environment's agents. Observations are made but not looked at.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from piase_gym.benchmarks.timing import Row

Run = Callable[[int], None]


@dataclass(frozen=True)
class Neighbour:
    """A package that may be installed.

    Attributes:
        name: What it is called.
        module: What is imported.
        package: What is installed, for the version.
        make: Yields a `Row` for each environment that is measured.
    """

    name: str
    module: str
    package: str
    make: Callable[[], Iterator[Row]]

    @property
    def installed(self) -> bool:
        """Whether it can be imported."""
        return importlib.util.find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The installed version."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "?"


def gymnasium_row(label: str, env: Any, agents: int = 1) -> Row:
    """Step a Gymnasium environment, resetting it where an episode ends."""
    env.reset(seed=0)
    env.action_space.seed(0)
    draws = [env.action_space.sample() for _ in range(256)]
    state = {"t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            state["t"] += 1
            _, _, terminated, truncated, *_ = env.step(draws[state["t"] & 255])
            if np.all(terminated) or np.all(truncated):
                env.reset()

    return Row(label, agents, run)


def parallel_row(label: str, env: Any) -> Row:
    """Step a PettingZoo ParallelEnv; the cost is shared by the agents of a full table."""
    env.reset(seed=0)
    agents = list(env.possible_agents)
    for agent in agents:
        env.action_space(agent).seed(0)
    draws = [{a: env.action_space(a).sample() for a in agents} for _ in range(256)]
    state = {"t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            if not env.agents:
                env.reset()
            state["t"] += 1
            actions = draws[state["t"] & 255]
            env.step({agent: actions[agent] for agent in env.agents})

    return Row(label, len(agents), run)


def mpe2() -> Iterator[Row]:
    """The particle world with three agents."""
    from mpe2 import simple_spread_v3

    yield parallel_row("mpe2 simple_spread, 3 agents", simple_spread_v3.parallel_env(N=3))


def foraging() -> Iterator[Row]:
    """Level-based foraging, two agents on 8x8."""
    import gymnasium
    import lbforaging  # noqa: F401  # registers its ids

    env = gymnasium.make("Foraging-8x8-2p-1f-v3", disable_env_checker=True)
    yield gymnasium_row("LBF Foraging-8x8-2p-1f", env, agents=2)


def warehouse() -> Iterator[Row]:
    """The multi-robot warehouse, four agents."""
    import gymnasium
    import rware  # noqa: F401  # registers its ids

    env = gymnasium.make("rware-tiny-4ag-v2", disable_env_checker=True)
    yield gymnasium_row("RWARE tiny, 4 agents", env, agents=4)


def textworld() -> Iterator[Row]:
    """A made-up quest of TextWorld, looking about and taking stock."""
    import tempfile
    from pathlib import Path

    import textworld as tw
    import textworld.gym

    options = tw.GameOptions()
    options.path = str(Path(tempfile.mkdtemp()) / "game.z8")
    options.seeds = 0
    options.nb_rooms, options.nb_objects, options.quest_length = 5, 10, 4
    env = textworld.gym.make(textworld.gym.register_game(tw.make(options)[0], tw.EnvInfos()))
    env.reset()
    lines = ["look", "inventory", "go north", "go east", "go south", "go west"]
    state = {"t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            state["t"] += 1
            done = env.step(lines[state["t"] % len(lines)])[2]
            if done or state["t"] % 100 == 0:
                env.reset()

    yield Row("TextWorld, 5 rooms", 1, run)


def panda() -> Iterator[Row]:
    """Panda-gym's reaching arm on Bullet."""
    import gymnasium
    import panda_gym  # noqa: F401  # registers its ids

    yield gymnasium_row("panda-gym PandaReach", gymnasium.make("PandaReach-v3"))


def jumanji() -> Iterator[Row]:
    """Jumanji's maze, 1024 environments in one compiled function."""
    import jax
    import jumanji as suite

    env, count = suite.make("Maze-v0"), 1024
    reset = jax.jit(jax.vmap(env.reset))
    state, _ = reset(jax.random.split(jax.random.PRNGKey(0), count))
    step = jax.jit(jax.vmap(env.step))
    draws = jax.random.randint(jax.random.PRNGKey(1), (64, count), 0, 4)
    held = {"state": step(state, draws[0])[0], "t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            held["t"] += 1
            held["state"], _ = step(held["state"], draws[held["t"] & 63])
        jax.block_until_ready(held["state"])

    yield Row(f"Jumanji Maze (JAX, without resets), {count} environments", count, run)


def xland() -> Iterator[Row]:
    """XLand-MiniGrid's door and key, 1024 environments in one compiled function."""
    import jax
    import xminigrid

    count = 1024
    env, params = xminigrid.make("MiniGrid-DoorKey-16x16")
    reset = jax.jit(jax.vmap(env.reset, in_axes=(None, 0)))
    step = jax.jit(jax.vmap(env.step, in_axes=(None, 0, 0)))
    draws = jax.random.randint(jax.random.PRNGKey(1), (64, count), 0, 6)
    first = reset(params, jax.random.split(jax.random.PRNGKey(0), count))
    held = {"step": step(params, first, draws[0]), "t": 0}

    def run(steps: int) -> None:
        for _ in range(steps):
            held["t"] += 1
            held["step"] = step(params, held["step"], draws[held["t"] & 63])
        jax.block_until_ready(held["step"])

    label = f"XLand-MiniGrid DoorKey-16x16 (JAX, without resets), {count} environments"
    yield Row(label, count, run)


NEIGHBOURS = (
    Neighbour("mpe2", "mpe2", "mpe2", mpe2),
    Neighbour("LBF", "lbforaging", "lbforaging", foraging),
    Neighbour("RWARE", "rware", "rware", warehouse),
    Neighbour("TextWorld", "textworld", "textworld", textworld),
    Neighbour("panda-gym", "panda_gym", "panda-gym", panda),
    Neighbour("Jumanji", "jumanji", "jumanji", jumanji),
    Neighbour("XLand-MiniGrid", "xminigrid", "xminigrid", xland),
)
"""The packages. Another one is one row."""
