"""What the tests of PhysicsPlayground share, and what other processes are asked to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.rng import Stream

ROOT = Path(__file__).parents[1]
TASKS = ("reach", "push", "stack", "gather", "keep_away", "carry")
FULL: dict[str, dict[str, Any]] = {
    "reach": {"agents": 3, "body": "sphere", "ramps": [{"position": [1.0, 1.0]}]},
    "push": {"agents": 2, "objects": [{"kind": "box"}, {"kind": "ball"}, {"kind": "cylinder"}]},
    "stack": {"agents": 2, "body": "sphere"},
    "gather": {"agents": 2, "walls": [{"position": [0.0, 0.5], "length": 1.5, "angle": 30.0}]},
    "keep_away": {"agents": 3},
    "carry": {"agents": 2},
}
"""A config with something special for each task."""


def make(task: str, **config: Any) -> Any:
    """Return an environment of a task."""
    return piase_gym.parallel_env("PhysicsPlayground", task=task, **{"view": "vector", **config})


def oracle(env: Any) -> Callable[[], dict[str, Any]]:
    """Return a function that says what the scripted controllers do now."""
    from piase_gym.worlds.physics_playground.oracle import PhysicsOracle

    controller = PhysicsOracle(env.world)
    names = env.world.agents
    return lambda: {name: controller.act(names.index(name)) for name in env.agents}


def episode(task: str, seed: int, steps: int = 60) -> list[str]:
    """Return the digests of an episode under random primitives and drives."""
    env = make(task, **FULL[task], max_steps=steps)
    env.reset(seed=seed)
    dice, found = Stream(seed, 99), [env.digest()]
    while env.agents:
        acts = {}
        for name in env.agents:
            commands = env.commands(name)
            acts[name] = commands[dice.integer(len(commands))]
        env.step(acts)
        found.append(env.digest())
    env.close()
    return found


def go_on(env: Any, steps: int) -> list[str]:
    """Return the digests of what follows, under the scripted controllers."""
    act, found = oracle(env), [env.digest()]
    for _ in range(steps):
        if not env.agents:
            break
        env.step(act())
        found.append(env.digest())
    return found


def elsewhere(call: str, *args: Any, **variables: str) -> Any:
    """Return what a function of this module returns in another process.

    Args:
        call: Its name.
        args: Its arguments.
        variables: Further environment variables.
    """
    code = (
        "import json, sys\nfrom tests import physics\n"
        "call, args = json.load(sys.stdin)\n"
        "print('\\n' + json.dumps(getattr(physics, call)(*args)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([call, args]),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT), **variables},
    )
    return json.loads(done.stdout.strip().split("\n")[-1])


def seen_in(task: str, seed: int, steps: int = 40) -> list[Any]:
    """Return states, rows and masks of an episode under the scripted controllers."""
    env = make(task, **FULL[task], max_steps=steps)
    env.reset(seed=seed)
    act, found = oracle(env), []
    while env.agents:
        masks = [mask.tolist() for mask in env.world.masks()]
        found.append([env.digest(), env.world.rows.tolist(), masks])
        env.step(act())
    env.close()
    return found


def continued(task: str, snapshot: dict[str, Any], steps: int) -> list[str]:
    """Return the digests of what follows a snapshot."""
    env = make(task, **FULL[task])
    env.restore(snapshot)
    return go_on(env, steps)


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_of_cycles(warm: int, cycles: int) -> list[int]:
    """Return the memory after some make/close cycles, and after more of them."""
    found = []
    for count in (warm, cycles):
        for seed in range(count):
            env = make("gather")
            env.reset(seed=seed)
            env.step({"agent_0": 1})
            env.close()
        found.append(resident())
    return found
