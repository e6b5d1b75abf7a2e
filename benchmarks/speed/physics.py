"""What PhysicsPlayground costs beside Bullet itself, and what it leaves in memory.

Run it with ``python -m piase_gym.benchmarks.physics``. All rows are measured in one run, in turn,
in CPU-seconds. *Raw* is Bullet alone on the very same episode: the forces that the
world applied, one `stepSimulation`, and the same reads (pose and velocity of every movable body,
contacts and lidar of every agent) as Bullet hands them out, with nothing made of them; it ends
where the world's episode ends, bit for bit. The world's row is a whole step of the ParallelEnv:
commands, rules, rewards, views, infos.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

import piase_gym
from piase_gym.benchmarks.speed.peers import FIELD, Table

ROUNDS = 15
SCENE: dict[str, Any] = {
    "task": "gather",
    "agents": 4,
    "objects": [{"kind": kind} for kind in ("box", "ball", "cylinder", "box", "ball") * 2],
    "size": (8.0, 8.0),
    "max_steps": 1_000_000,
    "nearest": 4,
    "rays": 8,
}
PLAN = (1, 1, 1, 3, 1, 5, 4, 2)
"""Primitives that the agents go through, eight steps each."""
EPISODE = 8 * len(PLAN)
Run = Callable[[], tuple[float, float]]
"""Runs for a while; returns the CPU-seconds and the steps."""


def made(**changes: Any) -> Any:
    """Return an environment of the scene, after its first reset."""
    env = piase_gym.parallel_env("PhysicsPlayground", **{"view": "vector", **SCENE, **changes})
    env.reset(seed=0)
    return env


def world_row(**changes: Any) -> Run:
    """Step the environment with primitives through one episode, again and again."""
    env = made(**changes)

    def run() -> tuple[float, float]:
        env.reset(seed=0)
        start = time.process_time()
        for step in range(EPISODE):
            env.step(dict.fromkeys(env.agents, PLAN[step // 8]))
        return time.process_time() - start, EPISODE

    return run


def episodes_row(**changes: Any) -> Run:
    """Step the environment through random episodes, resets included."""
    env = made(**changes)

    def run() -> tuple[float, float]:
        start = time.process_time()
        for step in range(400):
            if not env.agents:
                env.reset()
            env.step(dict.fromkeys(env.agents, PLAN[step // 8 % len(PLAN)]))
        return time.process_time() - start, 400

    return run


def raw_row(rays: bool = True) -> Run:
    """Step Bullet alone through the very same episode: the forces of the world, recorded."""
    import pybullet as p

    from piase_gym.worlds.physics_playground.observe.sensors import rays_of

    env = made()
    world, sim = env.world, env.world.sim
    client, play, config = sim.client, world.play, world.config
    starts, ends = rays_of(config)
    forces: list[list[Any]] = [[]]
    push = sim.push

    def noted(*given: Any) -> None:
        forces[-1].append(given)
        push(*given)

    setattr(sim, "push", noted)  # noqa: B010  # mypy refuses the assignment
    for step in range(EPISODE):
        env.step(dict.fromkeys(env.agents, PLAN[step // 8]))
        forces.append([])
    delattr(sim, "push")
    last = world.reading.raw

    def run() -> tuple[float, float]:
        sim.build(play, config.size, config.substeps)
        start = time.process_time()
        for row in forces[:EPISODE]:
            for agent, place, force, torque in row:
                body = sim.agents[agent]
                p.applyExternalForce(body, -1, force, place, p.WORLD_FRAME, client)
                p.applyExternalTorque(body, -1, torque, p.WORLD_FRAME, client)
            p.stepSimulation(client)
            for number in sim.bodies:
                p.getBasePositionAndOrientation(number, client)
                p.getBaseVelocity(number, client)
            for body in sim.agents:
                p.getContactPoints(bodyA=body, physicsClientId=client)
                if rays:
                    p.rayTestBatch(
                        starts,
                        ends,
                        parentObjectUniqueId=body,
                        parentLinkIndex=-1,
                        physicsClientId=client,
                    )
        spent = time.process_time() - start
        if sim.read().raw != last:
            raise RuntimeError("Bullet alone has not come to where the world came")
        return spent, EPISODE

    return run


def panda_row(stack: ExitStack) -> Run | None:
    """Step panda-gym's reach in a process of its own, where it is installed; see `peers`."""
    timers = list(Table(stack, [peer for peer in FIELD if peer.key == "panda_gym"]).timers.values())
    if not timers:
        return None
    return lambda: (1.0, timers[0](0.2))


def measure(rows: dict[str, Run], rounds: int) -> dict[str, float]:
    """Return CPU-microseconds a step: medians over interleaved rounds."""
    found: dict[str, list[float]] = {name: [] for name in rows}
    for number in range(rounds + 1):
        for name, run in rows.items():
            spent, steps = run()
            if number:  # the first round warms up
                found[name].append(spent / steps * 1e6)
    return {name: statistics.median(values) for name, values in found.items()}


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cycles(count: int) -> int:
    """Make, reset, step and close so many environments; return the memory after that."""
    for _ in range(count):
        env = made()
        env.step(dict.fromkeys(env.agents, 1))
        env.close()
    gc.collect()
    return resident()


RAW = "raw Bullet, 4 agents, 10 objects"
REACH, PANDA = "reach, 1 agent, with resets", "panda-gym's PandaReach-v3, with resets"


def measure_all(rounds: int = ROUNDS, count: int = 200) -> dict[str, Any]:
    """Measure every row in turn, and the memory that so many make/close cycles leave.

    Returns:
        JSON-able: ``costs`` (CPU-microseconds a step by row) and, unless `count` is 0, ``memory``
        (bytes after 20 cycles, and after `count` more).
    """
    alone = {"task": "reach", "agents": 1, "objects": None, "size": (6.0, 6.0), "max_steps": 200}
    rows = {
        RAW: raw_row(),
        "raw Bullet without lidar": raw_row(rays=False),
        "PhysicsPlayground, view=vector": world_row(),
        "PhysicsPlayground, view=both": world_row(view="both"),
        REACH: episodes_row(**alone),
    }
    with ExitStack() as stack:
        panda = panda_row(stack)
        if panda is not None:
            rows[PANDA] = panda
        found: dict[str, Any] = {"costs": measure(rows, rounds)}
    if count:
        found["memory"] = {"cycles": count, "before": cycles(20), "after": cycles(count)}
    return found


def words_of(found: dict[str, Any]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return what was measured as a table, head first, and as sentences."""
    base = found["costs"][RAW]
    lines: list[tuple[str, ...]] = [("row", "µs a step", "steps per CPU-second", "x raw")]
    for name, cost in found["costs"].items():
        lines.append((name, f"{cost:.0f}", f"{1e6 / cost:,.0f}", f"{cost / base:.2f}"))
    told = []
    if PANDA in found["costs"]:
        ratio = found["costs"][PANDA] / found["costs"][REACH]
        told.append(f"The task reach makes {ratio:.1f} times the steps of panda-gym's.")
    if "memory" in found:
        count, before, after = (found["memory"][name] for name in ("cycles", "before", "after"))
        told.append(
            f"Memory after 20 make/close cycles is {before / 2**20:.0f} MiB, after {count} more "
            f"{after / 2**20:.0f} MiB ({after / before - 1:+.1%})."
        )
    return lines, told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cycles", type=int, default=200, help="0 leaves memory out")
    given = parser.parse_args()
    (head, *rows), told = words_of(measure_all(given.rounds, given.cycles))
    table = RichTable(title="PhysicsPlayground beside Bullet")
    for column in head:
        table.add_column(column, justify="left" if column == "row" else "right")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    for words in told:
        console.print(words)


if __name__ == "__main__":
    main()
