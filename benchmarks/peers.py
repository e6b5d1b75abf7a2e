"""GridWorld beside MiniGrid and EnvPool, on an empty room of 8x8 with one agent.

Peers are measured in processes of their own, because they may want another environment: EnvPool
pins its dependencies. The interpreter is ``PIASE_PEERS_PYTHON``, else that of ``.venv-peers``
(``make peers``), else this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import piase_gym
from piase_gym.benchmarks.timing import (
    ROUNDS,
    SECONDS,
    RateTable,
    Row,
    Timer,
    interleave,
    rate_table,
    timers_of,
)
from piase_gym.errors import ConfigError

TASK = "piase/GridWorld-Empty-8x8-v0"
TITLE = "An empty room of 8x8, one agent, windows of 7x7 that see through walls"
ENVS = (64, 1024)
PEERS = (
    ("MiniGrid, gymnasium.make", "minigrid", 1),
    *((f"EnvPool, {envs} environments", "envpool", envs) for envs in ENVS),
)


@dataclass(frozen=True)
class PeerReport:
    """What was measured, and which peers were not there."""

    table: RateTable
    missing: tuple[str, ...]


def interpreter() -> str:
    """Return the interpreter in whose environment the peers are looked for."""
    own = Path(".venv-peers", "bin", "python")
    return os.environ.get("PIASE_PEERS_PYTHON") or str(own if own.exists() else sys.executable)


@contextmanager
def peer(name: str, envs: int) -> Iterator[Timer | None]:
    """Start a peer and give a timer of it, or ``None`` where it is not installed.

    Raises:
        ConfigError: If the interpreter cannot be started.
    """
    command = [interpreter(), str(Path(__file__).with_name("peer_worker.py")), name, str(envs)]
    try:
        worker = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )
    except OSError as error:
        raise ConfigError(f"PIASE_PEERS_PYTHON: {command[0]} cannot be started: {error}") from None
    assert worker.stdin is not None
    assert worker.stdout is not None
    with worker, worker.stdin as orders, worker.stdout as answers:

        def timer(seconds: float) -> float:
            orders.write(f"{seconds}\n")
            orders.flush()
            return float(answers.readline())

        yield timer if "ready" in answers.readline() else None


def own_rows() -> list[Row]:
    """GridWorld through Gymnasium, as a vector of environments, and as a batch."""
    rows = [make_row()]
    for envs in ENVS:
        rows += [vector_row(envs), batch_row(envs)]
    return rows


def moves(envs: int, count: int) -> Any:
    """Return some steps of random moves."""
    return np.random.default_rng(0).integers(0, count, (256, envs), np.int32)


def make_row() -> Row:
    """One environment behind `gymnasium.make`."""
    env = gymnasium.make(f"piase_gym:{TASK}", see_through_walls=True)
    env.reset(seed=0)
    draws = moves(1, 4).ravel().tolist()

    def run(steps: int) -> None:
        for step in range(steps):
            *_, terminated, truncated, _ = env.step(draws[step % 256])
            if terminated or truncated:
                env.reset()

    return Row("GridWorld, gymnasium.make", 1, run)


def vector_row(envs: int) -> Row:
    """Many behind `gymnasium.make_vec`."""
    env = gymnasium.make_vec(f"piase_gym:{TASK}", num_envs=envs, see_through_walls=True)
    env.reset(seed=0)
    draws = moves(envs, 4)

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(draws[step % 256])

    return Row(f"GridWorld, make_vec, {envs} environments", envs, run)


def batch_row(envs: int) -> Row:
    """Many as arrays."""
    env = piase_gym.batch_env(TASK, num_envs=envs, see_through_walls=True)
    env.reset(seed=0)
    draws = moves(envs, 4)[..., None]

    def run(steps: int) -> None:
        for step in range(steps):
            env.step(draws[step % 256])

    return Row(f"GridWorld, batch_env, {envs} environments", envs, run)


def compare(rounds: int = ROUNDS, seconds: float = SECONDS) -> PeerReport:
    """Measure GridWorld and the peers in one run; ratios are to each peer that is there."""
    timers: dict[str, Timer] = {}
    missing = []
    with ExitStack() as stack:
        for title, name, envs in PEERS:
            timer = stack.enter_context(peer(name, envs))
            if timer is None:
                missing.append(title)
            else:
                timers[title] = timer
        bases = list(timers)
        timers |= timers_of(own_rows(), burst=32)
        rates = interleave(timers, rounds, seconds)
    return PeerReport(rate_table(TITLE, rates, bases), tuple(missing))
