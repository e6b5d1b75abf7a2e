"""Other suites, measured beside ours in one run: GridWorld on the same task, and the field.

Peers step in processes of their own (`peer_worker`), because they want other packages than we do.
A peer is looked for in the interpreters of ``PIASE_PEERS_PYTHON`` (several are parted as in
``PATH``), else in those that ``make peers`` makes, and in this one. What is not installed is named,
and so is what is installed and fails.
"""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

import piase_gym
from piase_gym.benchmarks.speed.timing import (
    ROUNDS,
    SECONDS,
    Row,
    Run,
    Timer,
    batch_draws,
    batch_steps,
    interleave,
    rate_table,
    steps_of,
    timers_of,
)
from piase_gym.errors import ConfigError

TASK = "piase/GridWorld-Empty-8x8-v1"
TITLE = "An empty room of 8x8, one agent, windows of 7x7 that see through walls"
ENVS = (64, 1024)
MOVES = 4
"""The actions that are used: the first ones, which move."""
MADE = (".venv-peers", ".venv-peers-jax")
"""The environments that ``make peers`` makes."""
WORKER = Path(__file__).with_name("peer_worker.py")


@dataclass(frozen=True)
class Peer:
    """An environment of another package.

    Attributes:
        name: What the package is called.
        key: What `peer_worker` calls it.
        row: What its row is called.
        envs: How many environments are stepped at once.
        worker: The script that steps it.
    """

    name: str
    key: str
    row: str
    envs: int = 1
    worker: Path = WORKER


SAME_TASK = (
    Peer("MiniGrid", "minigrid", "MiniGrid, gymnasium.make"),
    *(Peer("EnvPool", "envpool", f"EnvPool, {envs} environments", envs) for envs in ENVS),
)
"""Peers that have the room of `TASK`."""
FIELD = (
    Peer("mpe2", "mpe2", "mpe2 simple_spread, 3 agents"),
    Peer("LBF", "lbforaging", "LBF Foraging-8x8-2p-1f"),
    Peer("RWARE", "rware", "RWARE tiny, 4 agents"),
    Peer("TextWorld", "textworld", "TextWorld, 5 rooms"),
    Peer("panda-gym", "panda_gym", "panda-gym PandaReach"),
    Peer("gymnax", "gymnax", "gymnax FourRooms (JAX), 1024 environments", 1024),
    Peer("Jumanji", "jumanji", "Jumanji Maze (JAX), 1024 environments", 1024),
    Peer(
        "XLand-MiniGrid", "xminigrid", "XLand-MiniGrid DoorKey-16x16 (JAX), 1024 environments", 1024
    ),
    Peer("JaxMARL", "jaxmarl", "JaxMARL simple_spread (JAX), 1024 environments", 1024),
)
"""Peers that play other games, so that their figures tell orders of magnitude. One is one row."""


def interpreters() -> tuple[str, ...]:
    """Return the interpreters in whose environments peers are looked for."""
    given = os.environ.get("PIASE_PEERS_PYTHON")
    if given:
        return tuple(part for part in given.split(os.pathsep) if part)
    own = [Path(folder, "bin", "python") for folder in MADE]
    return (*(str(path) for path in own if path.exists()), sys.executable)


@dataclass(frozen=True)
class PeerStatus:
    """A peer in one interpreter: ``ready`` (then with a timer), ``missing`` or ``failed``."""

    state: str
    words: str
    timer: Timer | None = None


@contextmanager
def open_in(python: str, peer: Peer) -> Iterator[PeerStatus]:
    """Start a peer in one interpreter.

    Raises:
        ConfigError: If the interpreter cannot be started.
    """
    command = [python, "-I", str(peer.worker), peer.key, str(peer.envs)]
    pipe = subprocess.PIPE
    try:
        worker = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
    except OSError as error:
        raise ConfigError(f"PIASE_PEERS_PYTHON: {python} cannot be started: {error}") from None
    assert worker.stdin is not None
    assert worker.stdout is not None
    orders, answers = worker.stdin, worker.stdout

    def timer(seconds: float) -> float:
        try:
            orders.write(f"{seconds}\n")
            orders.flush()
            return float(answers.readline())
        except (OSError, ValueError):
            return math.nan  # it has died

    try:
        state, _, words = answers.readline().strip().partition(" ")
        if state == "ready":
            yield PeerStatus(state, words, timer)
        else:
            yield PeerStatus(state or "failed", words or "it ended without a word")
    finally:
        for end in (orders, answers):
            with contextlib.suppress(OSError):
                end.close()
        try:
            worker.wait(timeout=10)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


class OpenPeers:
    """The peers of one measurement, open until the stack closes."""

    def __init__(self, stack: ExitStack, peers: Sequence[Peer]) -> None:
        """Start every peer that is installed in one of the interpreters."""
        self.timers: dict[str, Timer] = {}
        self.versions: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self.missing: list[str] = []
        for peer in peers:
            troubles = []
            for python in interpreters():
                with ExitStack() as tried:
                    found = tried.enter_context(open_in(python, peer))
                    if found.timer is not None:
                        stack.enter_context(tried.pop_all())
                        self.timers[peer.row] = found.timer
                        self.versions[peer.row] = f"{peer.name} {found.words}"
                        break
                    troubles += [found.words] if found.state == "failed" else []
            else:
                if troubles:
                    self.failed[peer.row] = troubles[0]
                elif peer.name not in self.missing:
                    self.missing.append(peer.name)

    def report(
        self, title: str, rates: Mapping[str, float], bases: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return what was measured, JSON-able; a peer that died on the way has failed.

        Returns:
            ``table`` (see `rate_table`), ``missing`` (names of peers that are not installed),
            ``failed`` (why others could not be measured, by their rows) and ``peers`` (the versions
            of those that were, by their rows).
        """
        dead = [name for name, rate in rates.items() if math.isnan(rate)]
        whole = {name: rate for name, rate in rates.items() if name not in dead}
        table = rate_table(title, whole, [name for name in bases if name not in dead])
        failed = {**self.failed, **dict.fromkeys(dead, "it died while it was measured")}
        return {"table": table, "missing": self.missing, "failed": failed, "peers": self.versions}


def compare(
    rounds: int = ROUNDS, seconds: float = SECONDS, peers: Sequence[Peer] = SAME_TASK
) -> dict[str, Any]:
    """Measure GridWorld and the peers that have its task; ratios are to each peer there is."""
    with ExitStack() as stack:
        found = OpenPeers(stack, peers)
        rates = interleave({**found.timers, **timers_of(own_rows(), burst=32)}, rounds, seconds)
    return found.report(TITLE, rates, list(found.timers))


# -- ours on the same task ----------------------------------------------------------------


def own_rows() -> list[Row]:
    """GridWorld through Gymnasium, as a vector of environments, and as a batch; all move only."""
    rows = [Row("GridWorld, gymnasium.make", 1, _single_steps())]
    for envs in ENVS:
        vector = gymnasium.make_vec(f"piase_gym:{TASK}", num_envs=envs, see_through_walls=True)
        vector.reset(seed=0)
        run = steps_of(vector.step, [draw[:, 0] for draw in batch_draws(envs, 1, MOVES)])
        rows.append(Row(f"GridWorld, make_vec, {envs} environments", envs, run))
        batch = piase_gym.batch_env(TASK, num_envs=envs, see_through_walls=True)
        run = batch_steps(batch, MOVES)
        rows.append(Row(f"GridWorld, batch_env, {envs} environments", envs, run))
    return rows


def _single_steps() -> Run:
    """Return what steps one environment behind `gymnasium.make`."""
    env = gymnasium.make(f"piase_gym:{TASK}", see_through_walls=True)
    env.reset(seed=0)
    draws = batch_draws(256, 1, MOVES)[0][:, 0].tolist()

    def run(steps: int) -> None:
        for step in range(steps):
            *_, terminated, truncated, _ = env.step(draws[step % 256])
            if terminated or truncated:
                env.reset()

    return run
