"""What the tests of PhysicsPlayground share, and what other processes are asked to do."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import piase_gym
from piase_gym.core.digest import digest_bytes
from piase_gym.core.rng import Stream
from piase_gym.errors import SnapshotError
from tests.helpers.warm_python import run_python
from tests.paths import ROOT

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
    from piase_gym.worlds.physics_playground.players.oracle import PhysicsPlaygroundOracle

    controller = PhysicsPlaygroundOracle(env.world)
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


def elsewhere(call: str, *args: Any, warm: str = "with_piase_gym", **variables: str) -> Any:
    """Return what a function of this module returns in another process, which hashes otherwise.

    Args:
        call: Its name.
        args: Its arguments.
        warm: What is imported there already; see `run_python`.
        variables: Further environment variables.
    """
    code = (
        "import json, sys\nfrom tests.worlds.physics_playground import helpers\n"
        "call, args = json.load(sys.stdin)\n"
        "print('\\n' + json.dumps(getattr(helpers, call)(*args)))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    told = json.dumps([call, args]).encode()
    done = run_python("-c", code, stdin=told, timeout=300, cwd=ROOT, env=env, warm=warm)
    assert done.returncode == 0, done.stderr
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


def tampered(state: Any, dice: Stream) -> Any:
    """Return a state of which something was changed at random; Bullet's bytes are sealed again."""
    state = copy.deepcopy(state)
    bullet = state["bullet"]
    if dice.integer(2):
        data = bytearray(zlib.decompress(base64.b64decode(bullet["file"])))
        for _ in range(1 + dice.integer(8)):
            at, way = dice.integer(len(data)), dice.integer(5)
            if way == 0:
                data[at] = dice.integer(256)
            elif way == 1:
                data[at : at + 8] = struct.pack("<q", dice.bits() - 2**63)
            elif way == 2:
                data[at : at + 8] = struct.pack("<d", ODD[dice.integer(len(ODD))])
            elif way == 3:
                data[at : at + 4] = struct.pack("<i", dice.integer(2**31) - 2**30)
            else:
                del data[at : at + 1 + dice.integer(300)]
        packed = base64.b64encode(zlib.compress(bytes(data))).decode("ascii")
        bullet |= {"file": packed, "sum": digest_bytes(bytes(data))}
        return state
    place: Any = {"state": state}
    while True:
        key = (sorted(place) if isinstance(place, dict) else range(len(place)))[
            dice.integer(len(place))
        ]
        if not isinstance(place[key], dict | list) or not place[key] or dice.integer(8) == 0:
            break
        place = place[key]
    values: tuple[Any, ...] = (
        *ODD,
        None,
        "x",
        [],
        {},
        True,
        -1,
        3,
        2**31,
        2**64,
        [[]],
        1e3,
        "agent_0",
        [0.0] * 99,
    )
    place[key] = values[dice.integer(len(values))]
    return state


ODD = (0.0, -1.0, 1e-300, 1e6, 1e30, 1e300, float("inf"), float("-inf"), float("nan"))


def attacked(task: str, seed: int, count: int) -> dict[str, int]:
    """Let an environment take up damaged states. Returns how many it refused and took.

    What is refused must change nothing; with what is taken one must be able to go on.
    """
    config = {**FULL[task], "messages": True}
    env, other, dice = make(task, **config), make(task, **config), Stream(seed, 98)
    found = {"refused": 0, "taken": 0}
    env.reset(seed=seed)
    act = oracle(env)
    for number in range(count):
        if number % 20 == 0 and env.agents:
            env.step(act())
            good, twin = env.snapshot(), json.dumps(env.snapshot())
        bad = {**good, "state": tampered(good["state"], dice)}
        try:
            other.restore(bad)
            for _ in range(2):
                if other.agents:
                    other.step(dict.fromkeys(other.agents, dice.integer(6)))
            found["taken"] += 1
        except SnapshotError:
            found["refused"] += 1
        with contextlib.suppress(SnapshotError):
            env.restore(bad)
            env.restore(json.loads(twin))
        assert json.dumps(env.snapshot()) == twin, bad
    return found


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
