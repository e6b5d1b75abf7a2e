"""What it takes to go past one machine: jobs side by side, collecting, starting, and memory.

Run it with ``python -m piase_gym.benchmarks.scale [--only jobs,collect,peaks,start,memory]``; what
is found is stored in ``benchmarks/measured/scale.json``, from which ``docs/make_pages.py`` writes a
part of docs/scale.md. Jobs side by side are told in wall time, so nothing else may run meanwhile;
everything else is in CPU-seconds or bytes. A part that is not measured is kept as it was stored.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import piase_gym
from piase_gym.benchmarks.speed.logs import measure_batch
from piase_gym.benchmarks.speed.shown import Section, Table, about, described
from piase_gym.benchmarks.speed.timing import batch_draws, interleaved, medians
from piase_gym.collection.table import PARQUET, StepTable, flat_rows
from piase_gym.errors import ConfigError, need, suggest
from piase_gym.jobs import Backend, Processes, RayCluster, run_jobs
from piase_gym.registry import world_spec

FILE = OUT = Path(__file__).parents[1] / "measured" / "scale.json"
SECONDS = 5.0
"""CPU-seconds of a job."""
SIDE_BY_SIDE, EMPTY = 4, 100
"""Jobs whose time is taken together, and jobs that do nothing."""
BATCH: dict[str, Any] = {"agents": 4, "width": 12, "height": 12, "max_steps": 200}
NUM_ENVS = 1024
OPEN = 1000
MOST_MEMORY = 8 * 2**30
NEEDS_A_WINDOW = "ScreenSearch"
OPTIONS = {
    "only": "parts to be measured: jobs, collect, peaks, start, memory",
    "rounds": "of everything that is repeated",
}


# -- jobs side by side --------------------------------------------------------------------


def spin(seconds: float) -> float:
    """Use up CPU-seconds."""
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return seconds


def wall(backend: Backend, jobs: list[float]) -> float:
    """Return the seconds that jobs take, from the first on that a worker is ready."""
    start = time.perf_counter()
    found = [outcome.error for outcome in run_jobs(jobs, spin, backend)]
    if any(found):
        raise RuntimeError(str(found))
    return time.perf_counter() - start


def side_by_side(make: Callable[[int], Backend], rounds: int) -> dict[str, float]:
    """Return how much faster two workers are than one, and the milliseconds that a job costs."""
    jobs = [SECONDS] * SIDE_BY_SIDE
    walls = {str(n): functools.partial(lambda n: wall(make(n), jobs), n) for n in (1, 2)}
    found = interleaved(walls, rounds, warm=0)
    ratios = [one / two for one, two in zip(found["1"], found["2"], strict=True)]
    few, many = (wall(make(1), [0.0] * count) for count in (1, EMPTY + 1))
    return {"ratio": statistics.median(ratios), "overhead_ms": 1000 * (many - few) / EMPTY}


@contextlib.contextmanager
def small_cluster() -> Iterator[Any]:
    """Start a Ray cluster with two CPUs on this machine; gives what makes a backend of n workers.

    Raises:
        MissingExtraError: If Ray is not installed.
    """
    ray = need("ray", "measuring Ray", "ray")
    ray.init("local", num_cpus=2, log_to_driver=False, logging_level="ERROR")
    try:
        yield lambda workers: RayCluster("auto", num_cpus=2 / workers)
    finally:
        ray.shutdown()


def measure_jobs(rounds: int) -> dict[str, Any]:
    """Measure jobs in processes, and on Ray if it is there."""
    found: dict[str, Any] = {"processes": side_by_side(Processes, rounds)}
    try:
        with small_cluster() as make:
            found["ray"] = side_by_side(make, rounds)
    except ImportError as error:
        found["without"] = str(error)
    return found


# -- collecting ---------------------------------------------------------------------------


def measure_collecting(rounds: int) -> dict[str, Any]:
    """Measure what is left of the speed of stepping when actions, or observations, are kept."""
    with tempfile.TemporaryDirectory() as name:
        columns = measure_batch(NUM_ENVS, Path(name), 20 * rounds, "arrow")
        table = measure_table(Path(name), rounds)
    kept = columns["bare"] / (columns["bare"] + columns["added"])
    return {"actions": {**columns, "share": kept}, "observations": table}


def measure_peaks() -> dict[str, Any]:
    """Measure how much memory collecting takes, by what is kept: the most bytes, and the steps."""
    return {
        name: [[steps, peak_memory(steps, kind)] for steps in (most // 10, most)]
        for name, (kind, most) in COLLECTED_AS.items()
    }


COLLECTED_AS: dict[str, tuple[dict[str, str], int]] = {
    "actions": ({"keep": "actions"}, 100_000_000),
    "observations": ({"keep": "observations"}, 10_000_000),
    "datasets": ({"format": "minari"}, 1_000_000),
}
"""What is collected, and after how many steps of agents its memory is told, and after a tenth."""
COLLECTED = """
import tempfile
from piase_gym.collection import collect, table
from piase_gym.runs.minari_episodes import Datasets
table.ROW_GROUP = {waiting} or table.ROW_GROUP
Datasets.WAITING = {waiting} // 8 or Datasets.WAITING
with tempfile.TemporaryDirectory() as folder:
    collect("piase/GridWorld-v1", folder, **{call})
with open("/proc/self/status") as file:
    print(*(line.split()[1] for line in file if line.startswith("VmHWM")))
"""


def peak_memory(
    steps: int, kind: Mapping[str, str], waiting: int = 0, num_envs: int = NUM_ENVS
) -> int:
    """Return the most bytes that a fresh process has in memory which collects episodes.

    Args:
        steps: Steps of agents.
        kind: Arguments of `piase_gym.collection.collect`.
        waiting: Bytes of observations that wait to be written; 0 leaves what is usual.
        num_envs: Environments.
    """
    call = {"steps": steps // BATCH["agents"], "num_envs": num_envs, "config": BATCH, **kind}
    return 1024 * int(in_process(COLLECTED.format(waiting=waiting, call=call))[0])


def measure_table(folder: Path, rounds: int, steps: int = 40) -> dict[str, float]:
    """Return how fast steps are written as a table, and how fast pyarrow alone writes that table.

    Returns:
        CPU-microseconds of an agent's step for stepping and writing (``ours``) and for writing
        alone (``alone``), their ratio as ``share``, and the ``bytes`` of a row.
    """
    parquet, path = need("pyarrow.parquet", "a table of steps"), folder / "table.parquet"
    env = piase_gym.batch_env("GridWorld", num_envs=NUM_ENVS, autoreset="same_step", **BATCH)
    draws = batch_draws(NUM_ENVS, len(env.agents), int(env.action_space.n))
    rows = steps * NUM_ENVS * len(env.agents)
    clock = np.zeros(NUM_ENVS, np.int64)

    def ours() -> float:
        shown, infos = env.reset(seed=0)
        alive, start = infos["alive"], time.process_time()
        with StepTable(path, env.agents, width=shown.shape[-1], dtype=shown.dtype) as out:
            for step in range(steps):
                acts, seen = draws[step % len(draws)], shown
                shown, rewards, terminated, truncated, infos = env.step(acts)
                ends = terminated, truncated
                out.add(flat_rows(seen, alive, env.seeds(), clock, acts, rewards, *ends))
                alive = env.alive()
        return (time.process_time() - start) / rows * 1e6

    ours()
    table = parquet.read_table(path)
    size = path.stat().st_size / table.num_rows

    def alone() -> float:
        start = time.process_time()
        parquet.write_table(table, path, **PARQUET)
        return float((time.process_time() - start) / table.num_rows * 1e6)

    found = medians(interleaved({"ours": ours, "alone": alone}, rounds))
    return {**found, "share": found["alone"] / found["ours"], "bytes": size}


# -- starting, and memory -----------------------------------------------------------------

FIRST_STEP = """
import piase_gym
env = piase_gym.parallel_env({task!r}, view="{view}")
observations, infos = env.reset(seed=0)
env.step({{agent: env.action_space(agent).sample() for agent in env.agents}})
"""
OPENED = """
import json, os, resource, sys
os.environ["PIASE_BULLET_CLIENTS"] = "{most}0"
import piase_gym
def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
def opened():
    env = piase_gym.parallel_env({task!r}, view="{view}")
    env.reset(seed=len(envs))
    return env
envs, error = [], None
envs.append(opened())
before = used()
try:
    while len(envs) <= {most} and used() < {memory}:
        envs.append(opened())
except Exception as wrong:
    error = f"{{type(wrong).__name__}}: {{wrong}}"
count = len(envs) - 1
print(json.dumps({{"open": count, "bytes": (used() - before) / max(1, count), "error": error}}))
sys.stdout.flush()
for env in envs:
    env.close()
"""


def worlds() -> dict[str, tuple[str, str]]:
    """Return the default task of every world that is there, and the view that is measured."""
    found = {}
    for name in piase_gym.list_worlds():
        default = re.compile(rf"piase/{name}-v\d+")
        tasks = [task for task in piase_gym.list_tasks(name) if default.fullmatch(task)]
        ours = world_spec(name).world.startswith("piase_gym.")
        if tasks and ours and name != NEEDS_A_WINDOW:
            text = name in ("TextRoom", "Household", "SqlQuery")
            found[name] = tasks[0], "text" if text else "vector"
    return found


def in_process(code: str, **environment: str) -> tuple[str, float]:
    """Run code in a fresh process; returns what it printed, and its CPU-seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().split("\n")[-1])
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, spent


def measure_start(rounds: int) -> dict[str, Any]:
    """Return the CPU-seconds to the first step in a fresh process, imports included.

    By world: the ``first`` time, when rules are compiled, and the median of ``later`` times; or why
    there are none.
    """
    found: dict[str, Any] = {}
    for name, (task, view) in worlds().items():
        code = FIRST_STEP.format(task=task, view=view)
        with tempfile.TemporaryDirectory() as folder:
            try:
                first, *later = (
                    in_process(code, NUMBA_CACHE_DIR=folder)[1] for _ in range(1 + rounds)
                )
            except RuntimeError as error:
                found[name] = str(error)
            else:
                found[name] = {"first": first, "later": statistics.median(later)}
    return found


def measure_memory() -> dict[str, Any]:
    """Return how many environments of each world were open at once, and the bytes of one."""
    found: dict[str, Any] = {}
    for name, (task, view) in worlds().items():
        code = OPENED.format(task=task, view=view, most=OPEN, memory=MOST_MEMORY)
        try:
            found[name] = json.loads(in_process(code)[0].splitlines()[-1])
        except RuntimeError as error:
            found[name] = {"open": 0, "bytes": 0.0, "error": str(error)}
    return found


# -- all of it ----------------------------------------------------------------------------


@described
def measure_all(only: str = "jobs,collect,peaks,start,memory", rounds: int = 5) -> dict[str, Any]:
    """Measure the parts that are asked for; the others are those that are stored.

    Raises:
        ConfigError: If there is no such part.
    """
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "jobs": lambda: measure_jobs(rounds),
        "collect": lambda: measure_collecting(rounds),
        "start": lambda: measure_start(rounds),
        "peaks": measure_peaks,
        "memory": measure_memory,
    }
    chosen = only.split(",")
    for part in chosen:
        if part not in parts:
            raise ConfigError(f"there is no part {part!r}; {suggest(part, parts)}")
    stored = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    loads = dict(stored.get("loads", {}))
    found = {name: stored[name] for name in parts if name in stored}
    for name in chosen:
        loads[name] = os.getloadavg()[0]
        found[name] = parts[name]()
    return {**found, "loads": loads}


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as tables, and what follows from it for a cluster."""
    shown: dict[str, Section] = {}
    rows: list[tuple[str, ...]]
    if "jobs" in found:
        rows = [("who", "two workers, times one", "overhead, ms a job")]
        for name in ("processes", "ray"):
            if name in found["jobs"]:
                one = found["jobs"][name]
                rows.append((name, f"{one['ratio']:.2f}", f"{one['overhead_ms']:.1f}"))
        load = f"The load of the machine was {found['loads']['jobs']:.1f} when this began."
        shown["jobs"] = Section([Table(rows)], [load])
    if "collect" in found:
        actions, table = found["collect"]["actions"], found["collect"]["observations"]
        rows = [("what is kept", "share of the speed", "beside", "bytes")]
        size = f"{actions['bytes']:.2f} a step of an environment"
        rows.append(("actions", f"{actions['share']:.2f}", "unlogged stepping", size))
        size = f"{table['bytes']:.1f} a row"
        alone = "pyarrow alone writing the same table"
        rows.append(("observations", f"{table['share']:.2f}", alone, size))
        shown["collect"] = Section([Table(rows)])
        shown["plan"] = Section([Table(plan(found["collect"]))])
    if "peaks" in found:
        rows = [("what is kept", "steps of agents", "most memory, MiB")]
        rows += [
            (name, f"{steps:,}", f"{size / 2**20:,.0f}")
            for name, peaks in found["peaks"].items()
            for steps, size in peaks
        ]
        shown["peaks"] = Section([Table(rows)])
    first = "CPU-seconds to the first step"
    starts = f"{first}, rules to compile", f"{first}, rules on disk"
    rows = [("world", *starts, "open at once", "KiB each", "in a GiB")]
    for name in found.get("memory", {}):
        start, held = found.get("start", {}).get(name), found["memory"][name]
        known = isinstance(start, Mapping)
        took = (f"{start['first']:.1f}", f"{start['later']:.2f}") if known else ("", str(start))
        each = max(1.0, held["bytes"])
        many = (f"{held['open']:,}", f"{each / 1024:,.0f}", f"{2**30 / each:,.0f}")
        rows.append((name, *took, *many))
    errors = [f"{n}: {m['error']}" for n, m in found.get("memory", {}).items() if m["error"]]
    most = f"{OPEN:,} environments, or {MOST_MEMORY // 2**30} GiB in the process"
    ended = f"No more were opened than {most}."
    shown["worlds"] = Section([Table(rows)], [*errors, ended, about(found)])
    return shown


def plan(collected: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return what a billion logged steps a minute take, by what is kept."""
    actions, table, agents = collected["actions"], collected["observations"], BATCH["agents"]
    each = (actions["bare"] + actions["added"]) / agents
    rows: list[tuple[str, ...]]
    rows = [("what is kept", "agent-steps a minute and core", "cores", "MB a second", "TB a day")]
    for name, cost, size in (
        ("actions", each, actions["bytes"] / agents),
        ("observations", table["ours"], table["bytes"]),
    ):
        rate, flow = 60e6 / cost, 1e9 / 60 * size
        day = flow * 86_400 / 1e12
        cores = f"{1e9 / rate:.1f}"
        rows.append((name, f"{rate / 1e6:,.0f} million", cores, f"{flow / 1e6:,.0f}", f"{day:.2f}"))
    return rows
