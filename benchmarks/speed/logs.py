"""What logging costs beside the bare environment, and how fast logs are read, counted and replayed.

Run it with ``python -m piase_gym.benchmarks.logging [--events N]``; what is found is stored in
``benchmarks/measured/logging.json``, from which ``docs/make_pages.py`` writes a part of
docs/runs.md. Times are CPU-seconds of all threads. The bare and the logged environment take turns
in short bursts, so that a machine whose speed drifts treats both alike; medians are kept.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym import runs
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import (
    Run,
    added,
    batch_steps,
    in_turns,
    medians,
    microseconds,
    parallel_steps,
)
from piase_gym.wrappers import AvtLogger

FILE = OUT = Path(__file__).parents[1] / "measured" / "logging.json"
CONFIG: dict[str, Any] = {"agents": 4, "width": 12, "height": 12, "max_steps": 200}
BURST, ROUNDS = 300, 1000
BATCHES = (16, 256, 4096)
COLUMNS = (64, 1024)
EVENTS = 1_000_000


def make() -> Any:
    """Make the environment that is measured."""
    return piase_gym.parallel_env("GridWorld", view="vector", **CONFIG)


def compared(bare: Run, other: Run, rounds: int, steps: int, warm: int = 2000) -> dict[str, float]:
    """Return the µs of a bare step, and what another one adds; both take turns."""
    bare(warm)
    other(warm)
    found = in_turns({"bare": bare, "added": other}, steps, rounds)
    return {"bare": medians(found)["bare"], "added": added(found, "bare")["added"]}


def measure_level(level: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Return the µs of a bare step, what a level adds to it, and its lines a step."""
    logged = AvtLogger(make(), folder / f"{level}.jsonl", level=level)
    found = compared(parallel_steps(make()), parallel_steps(logged), rounds, BURST)
    logged.recorder.flush()
    lines = logged.recorder.out.count / logged.recorder.step
    logged.close()
    return {"level": level, **found, "lines": lines}


def measure_live(rounds: int) -> dict[str, float]:
    """Return the µs of a bare step, and what live metrics add to it."""
    followed = make()
    metrics = runs.Metrics(followed)
    found = compared(parallel_steps(make()), parallel_steps(followed), rounds, BURST)
    metrics.close()
    return found


def measure_batch(count: int, folder: Path, rounds: int, kind: str = "jsonl") -> dict[str, float]:
    """Return the µs of a slot's bare step in a batch, what a log adds to it, and its bytes."""
    path, columns = folder / f"batch{count}.{kind}", kind == "arrow"
    bare, inner = (piase_gym.batch_env("GridWorld", num_envs=count, **CONFIG) for _ in range(2))
    logged = AvtLogger(inner, path)
    drawn, steps = (BURST, BURST) if columns else (32, max(4, 2048 // count))
    one, other = (batch_steps(env, drawn=drawn) for env in (bare, logged))
    found = compared(one, other, rounds, steps, steps)
    taken = logged.recorder.step * count
    logged.close()
    size = {"bytes": path.stat().st_size / taken} if columns else {}
    path.unlink()
    return {"slots": count, **{name: value / count for name, value in found.items()}, **size}


def measure_replay(folder: Path, rounds: int) -> dict[str, Any]:
    """Return the µs of a replayed step and of a bare one, and whether all was equal."""
    start = time.thread_time()
    report = runs.replay(folder / "actions.jsonl")
    again = (time.thread_time() - start) / report.steps * 1e6
    steps = parallel_steps(make())
    bare = statistics.median(microseconds(steps, BURST) for _ in range(rounds))
    return {"us": again, "bare": bare, "steps": report.steps, "equal": report.ok}


def measure_reading(folder: Path, events: int) -> dict[str, float]:
    """Return how fast a large log is counted and read, and by how many bytes memory grew."""
    path, body = folder / "large.jsonl", (folder / "events.jsonl").read_bytes()
    with path.open("wb") as file:
        for _ in range(-(-events // body.count(b"\n"))):  # one log again and again
            file.write(body)
    size = path.stat().st_size
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


@described
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
    few = max(1, rounds // 10)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "levels": [measure_level(level, folder, rounds) for level in runs.LEVELS],
            "live": measure_live(rounds),
            "batches": [measure_batch(count, folder, few) for count in BATCHES],
            "columns": [measure_batch(count, folder, few, "arrow") for count in COLUMNS],
            "replay": measure_replay(folder, few),
            "reading": measure_reading(folder, events),
        }


# -- the page -----------------------------------------------------------------------------


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what docs/runs.md shows of a measurement, by the names of its places."""
    levels: list[tuple[str, ...]]
    levels = [("level", "bare step, µs", "added µs a step", "lines a step", "added µs a line")]
    for row in found["levels"]:
        each = f"{row['added'] / row['lines']:.2f}" if row["lines"] > 0.5 else ""
        cells = (f"{row[key]:.2f}" for key in ("bare", "added", "lines"))
        levels.append((f"`{row['level']}`", *cells, each))
    batches: list[tuple[str, ...]]
    batches = [("environments", "bare step of one, µs", "added µs a line")]
    for row in found["batches"]:
        batches.append((f"{row['slots']:,}", f"{row['bare']:.2f}", f"{row['added']:.2f}"))
    columns: list[tuple[str, ...]]
    columns = [("environments", "bare step of one, µs", "added, µs", "share", "bytes a step")]
    for row in found["columns"]:
        cells = (f"{row[key]:.3f}" for key in ("bare", "added"))
        share = f"{row['added'] / row['bare']:.2f}"
        columns.append((f"{row['slots']:,}", *cells, share, f"{row['bytes']:.2f}"))
    replay, reading, live = found["replay"], found["reading"], found["live"]
    text = (
        f"`runs.Metrics` over a live environment adds {live['added']:.2f} µs a step. A replay runs "
        f"at {replay['bare'] / replay['us']:.2f} of the speed of stepping. `runs.stats` counts "
        f"{reading['events']:,} events ({reading['bytes'] / 1e9:.2f} GB) in "
        f"{reading['counted']:.1f} s and `runs.read` yields them in {reading['read']:.1f} s; "
        f"memory grows by {reading['grown'] / 1e6:.0f} MB."
    )
    tables = {"levels": levels, "batches": batches, "columns": columns}
    shown = {name: Section([Table(lines)]) for name, lines in tables.items()}
    return {**shown, "others": Section(words=[text, about(found)])}


OPTIONS = {"events": "lines of the large log", "rounds": "of bursts"}
