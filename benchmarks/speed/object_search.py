"""How well ObjectSearch's explorers do with and without reports, and how fast houses are.

Run it with ``python -m piase_gym.benchmarks.object_search``; what is found is stored in
``benchmarks/measured/object_search.json``, from which ``docs/make_pages.py`` writes a part of
docs/exploring.md. Times are CPU-seconds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import piase_gym
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.throughput import noop_row, task_row, world_row
from piase_gym.benchmarks.speed.timing import ROUNDS, SECONDS, measure, milliseconds
from piase_gym.worlds.object_search.config import ObjectSearchConfig
from piase_gym.worlds.object_search.players.coverage import CoveragePlanner
from piase_gym.worlds.object_search.players.oracle import ObjectSearchOracle
from piase_gym.worlds.object_search.players.scripted import ObjectSearchScript
from piase_gym.worlds.object_search.world import ObjectSearch

FILE = OUT = Path(__file__).parents[1] / "measured" / "object_search.json"
OPTIONS = {
    "houses": "that the players explore",
    "rounds": "of every row",
    "seconds": "CPU-seconds of each measurement",
}
AGENTS, HOUSES, STEPS = 4, 200, 400
PLAYERS = ("explorers with reports", "explorers without", "coverage planner", "oracle")


def play(player: str, seed: int) -> dict[str, float]:
    """Let a team find everything in a house; return how many steps it took, and the measures."""
    world = ObjectSearch(ObjectSearchConfig(agents=AGENTS, max_steps=STEPS))
    world.reset(seed)
    players: list[Any]
    if player.startswith("explorers"):
        players = [ObjectSearchScript(world, talks="with " in player) for _ in range(AGENTS)]
    else:
        one = (CoveragePlanner if player == "coverage planner" else ObjectSearchOracle)(world)
        players = [one] * AGENTS
    while any(world.alive):
        acts = [players[a].act(a) if world.alive[a] else None for a in range(AGENTS)]
        world.step(acts)
    return {"steps": float(world.states["t"][0]), **world.measure(0)}


def interval(values: Any) -> list[float]:
    """Return the mean and half the width of its 95 % interval."""
    spread = 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return [float(np.mean(values)), spread]


@described
def measure_all(
    houses: int = HOUSES, rounds: int = ROUNDS, seconds: float = SECONDS
) -> dict[str, Any]:
    """Measure everything that the page of ObjectSearch tells.

    Args:
        houses: How many houses each team explores.
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
    """
    return {**_players(houses), "house_ms": _house(), **_rates(rounds, seconds)}


def _players(houses: int) -> dict[str, Any]:
    """Let all teams explore the same houses."""
    played = {p: [play(p, 10_000 + seed) for seed in range(houses)] for p in PLAYERS}
    talking, silent, planner = (np.array([row["steps"] for row in played[p]]) for p in PLAYERS[:3])
    draws = np.random.default_rng(0).integers(0, houses, (2000, houses))
    ratios = talking[draws].mean(1) / planner[draws].mean(1)
    ends = [float(end) for end in np.quantile(ratios, (0.025, 0.975))]
    return {
        "houses": houses,
        "players": {
            p: {name: interval([row[name] for row in rows]) for name in rows[0]}
            for p, rows in played.items()
        },
        "ratio": [float(talking.mean() / planner.mean()), *ends],
        "gain": interval(silent - talking),
    }


def _house() -> float:
    """Return the CPU-milliseconds that one house takes, of a batch of resets."""
    env = piase_gym.batch_env("ObjectSearch", num_envs=1024, agents=AGENTS, copy=False)
    return milliseconds(lambda seed: env.reset(seed=seed), range(10)) / 1024


def _rates(rounds: int, seconds: float) -> dict[str, Any]:
    """Return agent-steps in a CPU-second, with resets, medians of interleaved rounds."""
    houses = functools.partial(task_row, task="ObjectSearch", num_envs=1024, agents=AGENTS)
    rows = [
        noop_row(8),
        houses("batch of 1,024 houses"),
        houses("the same without a channel", channel=False),
        houses("batch of 1,024 lines", backend="mock"),
        world_row("ObjectSearch", AGENTS, "vector")._replace(name=VECTORS),
        world_row("ObjectSearch", AGENTS, "both", read=True)._replace(name=f"{VECTORS} {TEXTS}"),
    ]
    return {"rates": measure(rows, rounds, seconds, 100)}


NOOP = "no-op ParallelEnv, 8 agents"
VECTORS, TEXTS = "ParallelEnv of a house, vectors", "and texts, every text read"
SHOWN = (("steps", 1), ("coverage", 2), ("duplicate_work", 2), ("reports_sent", 1))
"""Which means are shown, with how many digits."""


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables."""
    rates, ratio, gain = found["rates"], found["ratio"], found["gain"]
    lines = [("four agents", "steps", "columns seen", "duplicate work", "reports of an agent")]
    for player, row in found["players"].items():
        shown = [f"{row[n][0]:.{digits}f} ± {row[n][1]:.{digits}f}" for n, digits in SHOWN]
        lines.append((player, shown[0], shown[1], shown[2], shown[3]))
    speeds = [("random actions, resets included", "M agent-steps per CPU-second", "of the no-op")]
    speeds += [
        (name, f"{rate / 1e6:.2f}", f"{rate / rates[NOOP]:.2f}") for name, rate in rates.items()
    ]
    words = (
        f"Means of {found['houses']} houses of 16 by 16 with 8 objects, and their 95 % intervals. "
        f"Explorers with reports take {ratio[0]:.2f} times the steps of the coverage planner "
        f"({ratio[1]:.2f} to {ratio[2]:.2f}), and {gain[0]:.1f} ± {gain[1]:.1f} fewer than those "
        "without, in the same houses."
    )
    house = f"A house is made in {found['house_ms']:.3f} CPU-ms."
    return {
        "players": Section([Table(lines)], [words]),
        "speed": Section([Table(speeds)], [house, about(found)]),
    }
