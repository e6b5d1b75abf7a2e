"""Steps another suite's environment in a process of its own; needs nothing of piase_gym.

Started as ``python peer_worker.py NAME ENVS`` with the interpreter of an environment where the
peer may be installed. Its first line is ``ready VERSION``, ``missing WHY`` or ``failed WHY``. After
that it answers each line with a number of CPU-seconds by a line: the agent-steps per CPU-second
that it did. All threads of the process are counted.

Actions are random and drawn beforehand, episodes that end start anew, and observations are made
but not looked at. Compiled environments of JAX do 32 steps of 1024 environments in a call, on one
thread, and give back a sum of all that they show, so that the compiler cannot leave it out.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

Runner = tuple[Callable[[int], None], int, int]
"""Takes so many steps; agent-steps in one of them; how many of them make a burst."""
SCAN = 32


def gymnasium_env(env: Any, agents: int = 1, count: int | None = None) -> Runner:
    """Step a Gymnasium environment; with `count`, only the first so many actions."""
    env.reset(seed=0)
    env.action_space.seed(0)
    drawn = [env.action_space.sample() for _ in range(256)]
    if count is not None:
        drawn = np.random.default_rng(0).integers(0, count, 256).tolist()
    draws = itertools.cycle(drawn)

    def run(steps: int) -> None:
        for _ in range(steps):
            _, _, terminated, truncated, *_ = env.step(next(draws))
            if np.all(terminated) or np.all(truncated):
                env.reset()

    return run, agents, 16


def parallel_env(env: Any) -> Runner:
    """Step a PettingZoo ParallelEnv."""
    env.reset(seed=0)
    agents = list(env.possible_agents)
    for agent in agents:
        env.action_space(agent).seed(0)
    draws = itertools.cycle([{a: env.action_space(a).sample() for a in agents} for _ in range(256)])

    def run(steps: int) -> None:
        for _ in range(steps):
            if not env.agents:
                env.reset()
            actions = next(draws)
            env.step({agent: actions[agent] for agent in env.agents})

    return run, len(agents), 16


def minigrid(_envs: int) -> Runner:
    """MiniGrid's empty room through Gymnasium; agents turn left, turn right and walk."""
    import gymnasium
    import minigrid  # noqa: F401  # registers the ids

    return gymnasium_env(gymnasium.make("MiniGrid-Empty-8x8-v0"), count=3)


def envpool(envs: int) -> Runner:
    """EnvPool's version of it, in C++ with one thread."""
    import envpool as pool

    options = {"env_type": "gymnasium", "num_envs": envs, "num_threads": 1, "seed": 0}
    env = pool.make("MiniGrid-Empty-8x8-v0", **options)
    env.reset()
    draws = itertools.cycle(np.random.default_rng(0).integers(0, 3, (256, envs), np.int32))

    def run(steps: int) -> None:
        for _ in range(steps):
            env.step(next(draws))

    return run, envs, 16


def mpe2(_envs: int) -> Runner:
    """The particle world with three agents."""
    from mpe2 import simple_spread_v3

    return parallel_env(simple_spread_v3.parallel_env(N=3))


def lbforaging(_envs: int) -> Runner:
    """Level-based foraging, two agents on 8x8."""
    import gymnasium
    import lbforaging  # noqa: F401  # registers its ids

    return gymnasium_env(gymnasium.make("Foraging-8x8-2p-1f-v3", disable_env_checker=True), 2)


def rware(_envs: int) -> Runner:
    """The multi-robot warehouse, four agents."""
    import gymnasium
    import rware  # noqa: F401  # registers its ids

    return gymnasium_env(gymnasium.make("rware-tiny-4ag-v2", disable_env_checker=True), 4)


def textworld(_envs: int) -> Runner:
    """A made-up quest of TextWorld, looking about and taking stock."""
    import atexit
    import shutil
    import tempfile

    import textworld as tw
    import textworld.gym

    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    options = tw.GameOptions()
    options.path = os.path.join(folder, "game.z8")  # noqa: PTH118  # TextWorld wants a string
    options.seeds = 0
    options.nb_rooms, options.nb_objects, options.quest_length = 5, 10, 4
    env = textworld.gym.make(textworld.gym.register_game(tw.make(options)[0], tw.EnvInfos()))
    env.reset()
    lines = ["look", "inventory", "go north", "go east", "go south", "go west"]
    turns = itertools.count(1)

    def run(steps: int) -> None:
        for turn in itertools.islice(turns, steps):
            done = env.step(lines[turn % len(lines)])[2]
            if done or turn % 100 == 0:
                env.reset()

    return run, 1, 16


def panda_gym(_envs: int) -> Runner:
    """Panda-gym's reaching arm on Bullet."""
    import gymnasium
    import panda_gym  # noqa: F401  # registers its ids

    return gymnasium_env(gymnasium.make("PandaReach-v3"))


def compiled(
    step: Callable[..., Any], state: Any, draw: Callable[[Any], Any], width: int
) -> Runner:
    """Step a batch of so many agents; `step` takes a key, the state and what `draw` drew."""
    import jax

    def once(state: Any, key: Any) -> tuple[Any, Any]:
        state, shown = step(key, state, draw(key))
        return state, sum(part.sum() for part in jax.tree_util.tree_leaves(shown))

    many = jax.jit(lambda state, key: jax.lax.scan(once, state, jax.random.split(key, SCAN)))
    held = {"state": state, "key": jax.random.PRNGKey(1)}

    def run(steps: int) -> None:
        for _ in range(0, steps, SCAN):
            held["key"], key = jax.random.split(held["key"])
            held["state"], _ = many(held["state"], key)
        jax.block_until_ready(held["state"])

    return run, width, SCAN


def jumanji(envs: int) -> Runner:
    """Jumanji's maze of 10x10."""
    import jax
    import jumanji as suite
    from jumanji.wrappers import VmapAutoResetWrapper

    env = VmapAutoResetWrapper(suite.make("Maze-v0"))
    state, _ = jax.jit(env.reset)(jax.random.split(jax.random.PRNGKey(0), envs))

    def step(_key: Any, state: Any, actions: Any) -> Any:
        state, shown = env.step(state, actions)
        return state, (shown.observation, shown.reward)

    return compiled(step, state, lambda key: jax.random.randint(key, (envs,), 0, 4), envs)


def xminigrid(envs: int) -> Runner:
    """XLand-MiniGrid's door and key of 16x16."""
    import jax
    import xminigrid as suite
    from xminigrid.wrappers import GymAutoResetWrapper

    env, params = suite.make("MiniGrid-DoorKey-16x16")
    env = GymAutoResetWrapper(env)
    first = jax.vmap(env.reset, in_axes=(None, 0))
    many = jax.vmap(env.step, in_axes=(None, 0, 0))
    state = jax.jit(first)(params, jax.random.split(jax.random.PRNGKey(0), envs))

    def step(_key: Any, state: Any, actions: Any) -> Any:
        state = many(params, state, actions)
        return state, (state.observation, state.reward)

    return compiled(step, state, lambda key: jax.random.randint(key, (envs,), 0, 6), envs)


def gymnax(envs: int) -> Runner:
    """Gymnax's four rooms."""
    import gymnax as suite
    import jax

    env, params = suite.make("FourRooms-misc")
    first, many = jax.vmap(env.reset, (0, None)), jax.vmap(env.step, (0, 0, 0, None))
    _, state = jax.jit(first)(jax.random.split(jax.random.PRNGKey(0), envs), params)

    def step(key: Any, state: Any, actions: Any) -> Any:
        shown, state, reward, *_ = many(jax.random.split(key, envs), state, actions, params)
        return state, (shown, reward)

    return compiled(step, state, lambda key: jax.random.randint(key, (envs,), 0, 4), envs)


def jaxmarl(envs: int) -> Runner:
    """JaxMARL's particle world with three agents."""
    import jax
    import jaxmarl as suite

    env = suite.make("MPE_simple_spread_v3")
    count = len(env.agents)
    first, many = jax.vmap(env.reset), jax.vmap(env.step)
    _, state = jax.jit(first)(jax.random.split(jax.random.PRNGKey(0), envs))

    def draw(key: Any) -> Any:
        drawn = jax.random.randint(key, (count, envs), 0, 5)
        return dict(zip(env.agents, drawn, strict=True))

    def step(key: Any, state: Any, actions: Any) -> Any:
        shown, state, rewards, *_ = many(jax.random.split(key, envs), state, actions)
        return state, (shown, rewards)

    return compiled(step, state, draw, count * envs)


PEERS = (envpool, gymnax, jaxmarl, jumanji, lbforaging, minigrid, mpe2, panda_gym, rware)
MAKERS: dict[str, Callable[[int], Runner]] = {
    make.__name__: make for make in (*PEERS, textworld, xminigrid)
}
"""By module: what makes it."""


def start(name: str, envs: int) -> tuple[Runner | None, str]:
    """Make a peer; return it and the first line to say."""
    if name not in MAKERS:
        return None, f"missing there is no peer {name}"
    package = name.replace("_", "-")
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        return None, f"missing {package} is not installed"
    try:
        runner = MAKERS[name](envs)
        runner[0](runner[2])  # compiles and warms up
    except Exception as error:  # somebody else's environment may fail in any way
        words = (str(error).splitlines() or [""])[0]
        return None, f"failed {type(error).__name__}: {words:.200}"
    return runner, f"ready {version}"


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no answer
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    runner, words = start(sys.argv[1], int(sys.argv[2]))
    answers.write(f"{words}\n")
    answers.flush()
    if runner is None:
        return
    run, agents, burst = runner
    for line in sys.stdin:
        seconds, steps, begin = float(line), 0, time.process_time()
        while time.process_time() - begin < seconds:
            run(burst)
            steps += burst
        answers.write(f"{steps * agents / (time.process_time() - begin)}\n")
        answers.flush()


if __name__ == "__main__":
    main()
