"""Steps another suite's environment in a process of its own; needs nothing of piase_gym.

Started as ``python peer_worker.py NAME ENVS`` with the interpreter of an environment where the
peer is installed. For each line with a number of CPU-seconds it answers with a line: the steps
per CPU-second that it did. All threads of the process are counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

TASK = "MiniGrid-Empty-8x8-v0"
MOVES = 3  # turn left, turn right, walk


def minigrid(_envs: int) -> Callable[[Any], None]:
    """MiniGrid itself, through Gymnasium."""
    import gymnasium
    import minigrid  # noqa: F401  # registers the ids

    env = gymnasium.make(TASK)
    env.reset(seed=0)

    def step(actions: Any) -> None:
        *_, terminated, truncated, _ = env.step(int(actions[0]))
        if terminated or truncated:
            env.reset()

    return step


def envpool(envs: int) -> Callable[[Any], None]:
    """EnvPool's version of it, in C++ with one thread."""
    import envpool as pool

    env = pool.make(TASK, env_type="gymnasium", num_envs=envs, num_threads=1, seed=0)
    env.reset()

    def step(actions: Any) -> None:
        env.step(actions)

    return step


def main() -> None:
    """Answer until the input ends."""
    name, envs = sys.argv[1], int(sys.argv[2])
    step = {"minigrid": minigrid, "envpool": envpool}[name](envs)
    draws = np.random.default_rng(0).integers(0, MOVES, (256, envs), np.int32)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        seconds, steps, start = float(line), 0, time.process_time()
        while time.process_time() - start < seconds:
            step(draws[steps % 256])
            steps += 1
        sys.stdout.write(f"{steps * envs / (time.process_time() - start)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
