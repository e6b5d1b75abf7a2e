"""What PhysicsPlayground costs beside Bullet itself, and what it leaves in memory.

Run it with ``python -m piase_gym.benchmarks.physics``. All rows are measured in one run, in turn,
in CPU-seconds. *Raw* is Bullet alone on the very same episode: the forces that the
world applied, one `stepSimulation`, and the same reads (pose and velocity of every movable body,
contacts and lidar of every agent) as Bullet hands them out, with nothing made of them; it ends
where the world's episode ends, bit for bit. The world's row is a whole step of the ParallelEnv:
commands, rules, rewards, views, infos.
"""

from __future__ import annotations

import functools
import gc
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.benchmarks.speed import peers
from piase_gym.benchmarks.speed.shown import Section, Table
from piase_gym.benchmarks.speed.timing import Timer, interleaved, medians

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
Cost = Callable[[], float]
"""Steps for a while; returns the CPU-microseconds of a step."""


def made(**changes: Any) -> Any:
    """Return an environment of the scene, after its first reset."""
    env = piase_gym.parallel_env("PhysicsPlayground", **{"view": "vector", **SCENE, **changes})
    env.reset(seed=0)
    return env


def world_row(steps: int = EPISODE, fresh: bool = True, **changes: Any) -> Cost:
    """Step the environment with primitives, from the same start again or through its episodes."""
    env = made(**changes)

    def run() -> float:
        if fresh:
            env.reset(seed=0)
        start = time.process_time()
        for step in range(steps):
            if not env.agents:
                env.reset()
            env.step(dict.fromkeys(env.agents, PLAN[step // 8 % len(PLAN)]))
        return (time.process_time() - start) / steps * 1e6

    return run


def raw_row(rays: bool = True) -> Cost:
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

    def run() -> float:
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
        return spent / EPISODE * 1e6

    return run


def _cost(timer: Timer) -> float:
    """Return the CPU-microseconds of a step."""
    return 1e6 / timer(0.2)


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_after(count: int) -> int:
    """Make, reset, step and close so many environments; return the memory after that."""
    for _ in range(count):
        env = made()
        env.step(dict.fromkeys(env.agents, 1))
        env.close()
    gc.collect()
    return resident()


RAW = "raw Bullet, 4 agents, 10 objects"
REACH, PANDA = "reach, 1 agent, with resets", "panda-gym's PandaReach-v3, with resets"


def measure_all(rounds: int = ROUNDS, cycles: int = 200) -> dict[str, Any]:
    """Measure every row in turn, and the memory that so many make/close cycles leave.

    Returns:
        JSON-able: ``costs`` (CPU-microseconds a step by row) and, unless `cycles` is 0, ``memory``
        (bytes after 20 cycles, and after `cycles` more).
    """
    alone = {"task": "reach", "agents": 1, "objects": None, "size": (6.0, 6.0), "max_steps": 200}
    rows = {
        RAW: raw_row(),
        "raw Bullet without lidar": raw_row(rays=False),
        "PhysicsPlayground, view=vector": world_row(),
        "PhysicsPlayground, view=both": world_row(view="both"),
        REACH: world_row(400, fresh=False, **alone),
    }
    with ExitStack() as stack:  # panda-gym's reach steps in a process of its own; see `peers`
        others = peers.OpenPeers(stack, [peer for peer in peers.FIELD if peer.key == "panda_gym"])
        for timer in others.timers.values():
            rows[PANDA] = functools.partial(_cost, timer)
        found: dict[str, Any] = {"costs": medians(interleaved(rows, rounds))}
    if cycles:
        before, after = memory_after(20), memory_after(cycles)
        found["memory"] = {"cycles": cycles, "before": before, "after": after}
    return found


def sections(found: Mapping[str, Any]) -> dict[str, Section]:
    """Return what was measured as a table and sentences."""
    base = found["costs"][RAW]
    lines: list[tuple[str, ...]] = [("row", "µs a step", "steps per CPU-second", "x raw")]
    for name, cost in found["costs"].items():
        lines.append((name, f"{cost:.0f}", f"{1e6 / cost:,.0f}", f"{cost / base:.2f}"))
    sentences = []
    if PANDA in found["costs"]:
        ratio = found["costs"][PANDA] / found["costs"][REACH]
        sentences.append(f"The task reach makes {ratio:.1f} times the steps of panda-gym's.")
    if "memory" in found:
        count, before, after = (found["memory"][name] for name in ("cycles", "before", "after"))
        sentences.append(
            f"Memory after 20 make/close cycles is {before / 2**20:.0f} MiB, after {count} more "
            f"{after / 2**20:.0f} MiB ({after / before - 1:+.1%})."
        )
    return {"physics": Section([Table(lines)], [" ".join(sentences)])}


OPTIONS = {"rounds": "of every row", "cycles": "0 leaves memory out"}
