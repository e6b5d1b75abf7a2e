"""What logging costs beside the bare environment, and how fast logs are read, counted and replayed.

Run it with ``python -m piase_gym.benchmarks.logging [--events N]``; what is found is stored in
``benchmarks/measured/logging.json``, from which ``docs/make_pages.py`` writes a part of
docs/runs.md. Times are CPU-seconds of one thread, and with columns of the whole process. The bare
and the logged environment take turns in short bursts, so that a machine whose speed drifts treats
both alike; medians are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import piase_gym
from piase_gym import runs
from piase_gym.benchmarks.evaluation.evaluate import versions
from piase_gym.benchmarks.evaluation.journal import write_json
from piase_gym.benchmarks.evaluation.tables import markdown
from piase_gym.benchmarks.speed.measure import about, machine
from piase_gym.wrappers import AvtLogger

FILE = Path(__file__).parents[1] / "measured" / "logging.json"
CONFIG: dict[str, Any] = {"agents": 4, "width": 12, "height": 12, "max_steps": 200}
BURST, ROUNDS = 300, 1000
BATCHES = (16, 256, 4096)
COLUMNS = (64, 1024)
EVENTS = 1_000_000


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


def taken(bare: Callable[[int], float], other: Callable[[int], float], rounds: int) -> Any:
    """Return the µs of a bare step, and what another one adds, of two players in turns."""
    bare(2000)
    other(2000)
    pairs = [(bare(BURST), other(BURST)) for _ in range(rounds)]
    return _medians(pairs)


def _medians(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the median of the first, and of what the second is more."""
    added = statistics.median(two - one for one, two in pairs)
    return {"bare": statistics.median(one for one, _ in pairs), "added": added}


def measure_level(level: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Return the µs of a bare step, what a level adds to it, and its lines a step."""
    logged = AvtLogger(make(), folder / f"{level}.jsonl", level=level)
    found = taken(player(make()), player(logged), rounds)
    logged.recorder.flush()
    lines = logged.recorder.out.count / logged.recorder.step
    logged.close()
    return {"level": level, **found, "lines": lines}


def measure_live(rounds: int) -> dict[str, float]:
    """Return the µs of a bare step, and what live metrics add to it."""
    followed = make()
    metrics = runs.Metrics(followed)
    found: dict[str, float] = taken(player(make()), player(followed), rounds)
    metrics.close()
    return found


def batch_player(
    env: Any, count: int, clock: Callable[[], float] = time.thread_time
) -> Callable[[int], float]:
    """Return a function that says how long a step of one slot takes, in µs."""
    rng = np.random.default_rng(0)
    draws = [rng.integers(6, size=(count, 4), dtype=np.int32) for _ in range(BURST)]
    env.reset(seed=0)

    def play(steps: int) -> float:
        start = clock()
        for step in range(steps):
            env.step(draws[step % BURST])
        return (clock() - start) / steps / count * 1e6

    return play


def measure_batch(count: int, folder: Path, rounds: int) -> dict[str, float]:
    """Return the µs of a slot's bare step in a batch, and what its line adds."""
    path = folder / f"batch{count}.jsonl"
    bare, inner = (piase_gym.batch_env("GridWorld", num_envs=count, **CONFIG) for _ in range(2))
    logged = AvtLogger(inner, path)
    one, other = batch_player(bare, count), batch_player(logged, count)
    steps = max(4, 2048 // count)
    one(steps)
    other(steps)
    pairs = [(one(steps), other(steps)) for _ in range(rounds)]
    logged.close()
    path.unlink()
    return {"slots": count, **_medians(pairs)}


def measure_columns(count: int, folder: Path, rounds: int) -> dict[str, float]:
    """Return the µs of a slot's bare step, what columns add to it, and how many bytes they take."""
    path = folder / f"batch{count}.arrow"
    bare, inner = (piase_gym.batch_env("GridWorld", num_envs=count, **CONFIG) for _ in range(2))
    logged = AvtLogger(inner, path)
    one, other = (batch_player(env, count, time.process_time) for env in (bare, logged))
    one(BURST)
    other(BURST)
    pairs = [(one(BURST), other(BURST)) for _ in range(rounds)]
    steps = logged.recorder.step * count
    logged.close()
    size = path.stat().st_size
    path.unlink()
    return {"slots": count, **_medians(pairs), "bytes": size / steps}


def measure_replay(folder: Path, rounds: int) -> dict[str, Any]:
    """Return the µs of a replayed step and of a bare one, and whether all was equal."""
    start = time.thread_time()
    report = runs.replay(folder / "actions.jsonl")
    again = (time.thread_time() - start) / report.steps * 1e6
    play = player(make())
    bare = statistics.median(play(BURST) for _ in range(rounds))
    return {"us": again, "bare": bare, "steps": report.steps, "equal": report.ok}


def enlarge(path: Path, events: int, out: Path) -> int:
    """Write a log of so many lines by repeating one; return its size in bytes."""
    body = path.read_bytes()
    count, written = body.count(b"\n"), 0
    with out.open("wb") as file:
        while written < events:
            file.write(body)
            written += count
    return out.stat().st_size


def measure_reading(folder: Path, events: int) -> dict[str, float]:
    """Return how fast a large log is counted and read, and by how many bytes memory grew."""
    path = folder / "large.jsonl"
    size = enlarge(folder / "events.jsonl", events, path)
    before, start = _memory(), time.process_time()
    found = runs.stats(path)
    counted, start = time.process_time() - start, time.process_time()
    lines = sum(1 for _ in runs.read(path))
    read = time.process_time() - start
    path.unlink()
    more = {"counted": counted, "read": read, "grown": _memory() - before}
    return {"events": found.lines, "lines": lines, "bytes": size, **more}


def _memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_all(events: int = EVENTS, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure everything.

    Args:
        events: Lines of the large log.
        rounds: Bursts of each environment; of batches a tenth.

    Returns:
        JSON-able, times in µs or, of reading, seconds: ``machine``, ``versions``, ``load`` (at the
        start and at the end), ``levels``, ``live``, ``batches``, ``columns``, ``replay`` and
        ``reading``.
    """
    found: dict[str, Any] = {"machine": machine(), "versions": versions()}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["levels"] = [measure_level(level, folder, rounds) for level in runs.LEVELS]
        found["live"] = measure_live(rounds)
        few = max(1, rounds // 10)
        found["batches"] = [measure_batch(count, folder, few) for count in BATCHES]
        found["columns"] = [measure_columns(count, folder, few) for count in COLUMNS]
        found["replay"] = measure_replay(folder, few)
        found["reading"] = measure_reading(folder, events)
    return {**found, "load": [load, os.getloadavg()[0]]}


# -- the page -----------------------------------------------------------------------------


def sections(found: Mapping[str, Any]) -> dict[str, str]:
    """Return what docs/runs.md shows of a measurement, by the names of its places."""
    head = ("level", "bare step, µs", "added µs a step", "lines a step", "added µs a line")
    levels = [
        (
            f"`{row['level']}`",
            *(f"{row[key]:.2f}" for key in ("bare", "added", "lines")),
            f"{row['added'] / row['lines']:.2f}" if row["lines"] > 0.5 else "",
        )
        for row in found["levels"]
    ]
    batches = [
        (f"{row['slots']:,}", f"{row['bare']:.2f}", f"{row['added']:.2f}")
        for row in found["batches"]
    ]
    slots = ("environments", "bare step of one, µs", "added µs a line")
    columns = [
        (
            f"{row['slots']:,}",
            *(f"{row[key]:.3f}" for key in ("bare", "added")),
            f"{row['added'] / row['bare']:.2f}",
            f"{row['bytes']:.2f}",
        )
        for row in found["columns"]
    ]
    head_of_columns = ("environments", "bare step of one, µs", "added, µs", "share", "bytes a step")
    replay, reading, live = found["replay"], found["reading"], found["live"]
    told = (
        f"`runs.Metrics` over a live environment adds {live['added']:.2f} µs a step. A replay runs "
        f"at {replay['bare'] / replay['us']:.2f} of the speed of stepping. `runs.stats` counts "
        f"{reading['events']:,} events ({reading['bytes'] / 1e9:.2f} GB) in "
        f"{reading['counted']:.1f} s and `runs.read` yields them in {reading['read']:.1f} s; "
        f"memory grows by {reading['grown'] / 1e6:.0f} MB.\n"
    )
    return {
        "levels": markdown(head, levels),
        "batches": markdown(slots, batches),
        "columns": markdown(head_of_columns, columns),
        "others": f"{told}\n{about(found)}",
    }


def stored_sections() -> dict[str, str]:
    """Return what docs/runs.md shows, from the stored measurements."""
    return sections(json.loads(FILE.read_text("utf-8")))


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--events", type=int, default=EVENTS, help="lines of the large log")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    found = measure_all(given.events, given.rounds)
    write_json(given.out, found)
    console = Console(soft_wrap=True)
    for text in sections(found).values():
        console.print(text, markup=False)
    console.print(f"stored in {given.out}")


if __name__ == "__main__":
    main()
