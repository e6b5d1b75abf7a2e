"""What logging costs beside the bare environment, and how fast logs are read, counted and replayed.

Run it with ``python -m piase_gym.benchmarks.logging [--events N]``. Times are
CPU-seconds of one thread. The bare and the logged environment take turns in short bursts, so that
a machine whose speed drifts treats both alike; medians are shown.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import piase_gym
from piase_gym import runs
from piase_gym.wrappers import AvtLogger

CONFIG: dict[str, Any] = {"agents": 4, "width": 12, "height": 12, "max_steps": 200}
BURST, ROUNDS = 300, 150
BATCHES = (16, 256, 4096)
console = Console()


def player(env: Any) -> Callable[[int], float]:
    """Return a function that plays so many steps at random and says how long one takes, in µs."""
    rng = np.random.default_rng(0)
    draws = [{f"agent_{i}": int(rng.integers(6)) for i in range(4)} for _ in range(1024)]
    env.reset(seed=0)
    state = {"t": 0}

    def play(steps: int) -> float:
        start = time.thread_time()
        for _ in range(steps):
            if not env.agents:
                env.reset()
            actions = draws[state["t"] & 1023]
            state["t"] += 1
            if len(env.agents) < 4:
                actions = {name: actions[name] for name in env.agents}
            env.step(actions)
        return (time.thread_time() - start) / steps * 1e6

    return play


def make() -> Any:
    """Make the environment that is measured."""
    return piase_gym.parallel_env("GridWorld", view="vector", **CONFIG)


def cost(level: str, folder: Path) -> tuple[float, float, float]:
    """Return the µs of a bare step, what a level adds to it, and its lines a step."""
    logged = AvtLogger(make(), folder / f"{level}.jsonl", level=level)
    bare, other = player(make()), player(logged)
    bare(2000)
    other(2000)
    pairs = [(bare(BURST), other(BURST)) for _ in range(ROUNDS)]
    step = statistics.median(one for one, _ in pairs)
    added = statistics.median(two - one for one, two in pairs)
    steps = logged.recorder.step
    logged.recorder.flush()
    lines = logged.recorder.writer.encoder.count
    logged.close()
    return step, added, lines / steps


def show_costs(folder: Path) -> None:
    """Print what each level costs."""
    table = Table("level", "bare step µs", "added µs a step", "lines a step", "added µs a line")
    for level in runs.LEVELS:
        step, added, lines = cost(level, folder)
        shown = f"{added / lines:.2f}" if lines > 0.5 else "-"
        table.add_row(level, f"{step:.2f}", f"{added:.2f}", f"{lines:.2f}", shown)
    console.print(table)


def show_live() -> None:
    """Print what live metrics cost."""
    followed = make()
    metrics = runs.Metrics(followed)
    bare, other = player(make()), player(followed)
    bare(2000)
    other(2000)
    added = statistics.median(-(bare(BURST) - other(BURST)) for _ in range(ROUNDS))
    console.print(f"runs.Metrics over a live environment: {added:.2f} µs a step")
    metrics.close()


def batch_player(env: Any, count: int) -> Callable[[int], float]:
    """Return a function that says how long a step of one slot takes, in µs."""
    rng = np.random.default_rng(0)
    draws = [rng.integers(6, size=(count, 4)) for _ in range(16)]
    env.reset(seed=0)

    def play(steps: int) -> float:
        start = time.thread_time()
        for step in range(steps):
            env.step(draws[step & 15])
        return (time.thread_time() - start) / steps / count * 1e6

    return play


def show_batches(folder: Path) -> None:
    """Print what the level ``actions`` costs in batches: a line a slot and step."""
    table = Table("slots", "bare µs a slot and step", "added µs a line")
    for count in BATCHES:
        path = folder / f"batch{count}.jsonl"
        bare, inner = (piase_gym.batch_env("GridWorld", num_envs=count, **CONFIG) for _ in range(2))
        logged = AvtLogger(inner, path)
        one, other = batch_player(bare, count), batch_player(logged, count)
        steps = max(4, 2048 // count)
        one(steps)
        other(steps)
        pairs = [(one(steps), other(steps)) for _ in range(15)]
        added = statistics.median(two - one for one, two in pairs)
        table.add_row(str(count), f"{statistics.median(p[0] for p in pairs):.2f}", f"{added:.2f}")
        logged.close()
        path.unlink()
    console.print(table)


def show_replay(folder: Path) -> None:
    """Print how fast a run is replayed, beside stepping the environment."""
    path = folder / "actions.jsonl"
    start = time.thread_time()
    report = runs.replay(path)
    again = (time.thread_time() - start) / report.steps * 1e6
    bare = statistics.median(player(make())(BURST) for _ in range(20))
    console.print(
        f"replay: {again:.2f} µs a step ({bare / again:.2f} of the speed of stepping), {report}"
    )


def enlarge(path: Path, events: int, out: Path) -> int:
    """Write a log of so many lines by repeating one; return its size in bytes."""
    body = path.read_bytes()
    count, written = body.count(b"\n"), 0
    with out.open("wb") as file:
        while written < events:
            file.write(body)
            written += count
    return out.stat().st_size


def show_reading(folder: Path, events: int, label: str) -> None:
    """Print how fast a large log is counted and read, and how much memory that takes."""
    size = enlarge(folder / "events.jsonl", events, folder / "large.jsonl")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    found = runs.stats(folder / "large.jsonl")
    counted = time.process_time() - start
    console.print(
        f"{label}: stats over {found.lines:,} events, {size / 1e9:.2f} GB: {counted:.1f} s"
    )
    start = time.process_time()
    lines = sum(1 for _ in runs.read(folder / "large.jsonl"))
    taken = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    console.print(f"{label}: {lines:,} events read in {taken:.1f} s; memory grew by {grown:.0f} MB")
    (folder / "large.jsonl").unlink()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="lines of the large log")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show_costs(folder)
        show_live()
        show_batches(folder)
        show_replay(folder)
        show_reading(folder, options.events, "large log")


if __name__ == "__main__":
    main()
