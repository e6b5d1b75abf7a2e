"""Throughput of our worlds and of installed peers, and what more agents, map and batch cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.protocol import PROTOCOL
from piase_gym.benchmarks.evaluation.results import read_sections
from piase_gym.benchmarks.speed.peers import FIELD, OpenPeers, Peer, compare
from piase_gym.benchmarks.speed.throughput import noop_row, task_row
from piase_gym.benchmarks.speed.timing import Row, interleave, measure, parallel_steps, timers_of
from piase_gym.core.files import write_json
from piase_gym.registry import load, world_spec

SCALES: dict[str, tuple[int, ...]] = {
    "agents": (1, 4, 16, 32),
    "side": (8, 16, 32, 64),
    "batch": (1, 4, 16, 64, 256, 1024, 4096),
}
"""What grows, and the sizes."""
TITLES = {
    "agents": "GridWorld, 64 environments of 16x16: agents grow",
    "side": "GridWorld, 64 environments of 4 agents: the map grows",
    "batch": "GridWorld of 16x16 with 4 agents: the batch grows",
}
BURST = 16


def throughput(
    *, rounds: int = 5, seconds: float = 0.2, field: Sequence[Peer] = FIELD
) -> dict[str, Any]:
    """Measure everything in one run.

    Args:
        rounds: How often each row is measured; medians are kept.
        seconds: CPU-seconds of each measurement.
        field: Which environments of other packages.

    Returns:
        ``environments`` (rows with name, rate, version, own), ``missing`` and ``failed`` ones,
        ``peers`` (GridWorld beside MiniGrid and EnvPool on the same task), ``scaling`` by what
        grows, and versions.
    """
    rows = [noop_row(8), *(row for world in shipped_worlds() for row in world_rows(world))]
    with ExitStack() as stack:
        others = OpenPeers(stack, field)
        timers = {**timers_of(rows, BURST), **others.timers}
        found = others.report("", interleave(timers, rounds, seconds))
    matched = compare(rounds, seconds)
    own = dict.fromkeys([row.name for row in rows[1:]], f"piase_gym {piase_gym.__version__}")
    version = {rows[0].name: "", **own, **found["peers"]}
    return {
        "environments": [
            {"name": name, "rate": rate, "version": version[name], "own": name in own}
            for name, rate in ((row["name"], row["rate"]) for row in found["table"]["rates"])
        ],
        "missing": list(dict.fromkeys((*matched["missing"], *found["missing"]))),
        "peers": matched["table"],
        "failed": {**matched["failed"], **found["failed"]},
        "scaling": scaling(rounds, seconds),
        "versions": versions(),
    }


def shipped_worlds() -> list[str]:
    """Return the worlds of this package that can be made here."""
    specs = [world_spec(world) for world in piase_gym.list_worlds()]
    own = [spec for spec in specs if spec.world.startswith("piase_gym.")]
    return [spec.name for spec in own if not spec.missing]


def world_rows(world: str) -> list[Row]:
    """Return the rows of one of our worlds: each environment under its own baseline."""
    rows, spec = [], world_spec(world)
    powers = load(spec.world, spec).capabilities
    actions = "discrete" if powers.discrete else "continuous"
    for view in ("vector", "both"):
        env = piase_gym.parallel_env(world, view=view, actions=actions)
        text = ", every text read" if view == "both" else ""
        run = parallel_steps(env, read=view == "both")
        label = f"{world} parallel_env, view={view}{text}"
        rows.append(Row(label, len(env.possible_agents), run))
    if powers.batched:
        rows.append(task_row(f"{world} batch_env, 1024 environments", world, 1024))
    return rows


def scaling(rounds: int, seconds: float) -> dict[str, Any]:
    """Return how GridWorld's rate changes as agents, map and batch grow."""
    found = {}
    for axis, sizes in SCALES.items():
        rows = [_scaled(axis, size) for size in sizes]
        rates = measure(rows, rounds, seconds, BURST)
        points = [{axis: s, "rate": rates[r.name]} for s, r in zip(sizes, rows, strict=True)]
        found[axis] = {"axis": axis, "title": TITLES[axis], "points": points}
    return found


def _scaled(axis: str, size: int) -> Row:
    """Return GridWorld with one size changed."""
    sizes = {"agents": 4, "side": 16, "batch": 64, axis: size}
    config = {"width": sizes["side"], "height": sizes["side"], "border": True, "max_steps": 1000}
    label = f"{axis} {size}"
    return task_row(label, "GridWorld", sizes["batch"], agents=sizes["agents"], **config)


def store_throughput(found: dict[str, Any], out: Path) -> None:
    """Put a throughput into ``timings.json``; what else is in it is kept."""
    path = out / "timings.json"
    write_json(path, {"protocol": PROTOCOL, **read_sections(path), "throughput": found})
