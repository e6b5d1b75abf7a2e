"""Environments in threads: each is used by one call at a time, different ones by many at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym import Environment, as_parallel, parallel_env, runs
from piase_gym.core.models import ActionResult, PerceptionData
from piase_gym.wrappers import AvtLogger
from tests.helpers.needs import each, need

TASKS = (
    "GridWorld",
    "Household",
    "ObjectSearch",
    "PhysicsPlayground",
    "SocialDilemma",
    "SqlQuery",
    "TextRoom",
    "WordCraft",
)
SEEDS = range(6)
STEPS = 12


@pytest.fixture(autouse=True)
def _hasty_threads() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class Episode:
    """Plays an episode of two agents with lines, some of which cannot be read."""

    def __init__(self, task: str, seed: int, log: Path | None = None) -> None:
        self.env: Any = parallel_env(task, agents=2, actions="text")
        if log is not None:
            self.env = AvtLogger(self.env, log, level="full")
        self.draws, self.seen = random.Random(seed), [self.env.reset(seed=seed)[0]]
        self.digests: list[str] = []

    def step(self) -> None:
        """Take a step, if the episode goes on."""
        base, draws = self.env.unwrapped, self.draws
        lines = {name: base.admissible_commands(name) for name in self.env.agents}
        acts = {name: draws.choice([*found, "no idea"]) for name, found in lines.items()}
        if acts:
            self.seen.append(self.env.step(acts)[0])
            self.digests.append(base.digest())

    def story(self) -> list[Any]:
        """Return what was seen, and what the states were."""
        self.env.close()
        texts = [
            {name: (o["text"], o["vector"].tolist()) for name, o in s.items()} for s in self.seen
        ]
        return [texts, self.digests]


def played(task: str, seed: int, log: Path | None = None) -> list[Any]:
    """Return the story of an episode."""
    episode = Episode(task, seed, log)
    for _ in range(STEPS):
        episode.step()
    return episode.story()


async def played_anywhere(task: str, seed: int) -> list[Any]:
    """Return the story of an episode, each step of which is taken in any thread."""
    episode = await asyncio.to_thread(Episode, task, seed)
    for _ in range(STEPS):
        await asyncio.to_thread(episode.step)
    return episode.story()


@pytest.mark.parametrize("task", each(TASKS))
def test_environments_in_threads_play_as_alone(task: str, tmp_path: Path) -> None:
    alone = [played(task, seed) for seed in SEEDS]
    logs = [tmp_path / f"{seed}.jsonl" for seed in SEEDS]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: played(task, seed, logs[seed]), SEEDS)) == alone
    assert all(runs.replay(log).ok for log in logs)

    async def at_once() -> list[Any]:
        return list(await asyncio.gather(*(played_anywhere(task, seed) for seed in SEEDS)))

    assert asyncio.run(at_once()) == alone


class ThreadDice(Environment):
    """Throws dice, and waits for something outside each time."""

    def reset(self) -> PerceptionData:
        self.time, self.shown = 0, random.randrange(1000)
        return self.get_observation("agent_0")

    def step(self, agent_id: str, action: Any) -> ActionResult:
        self.time += 1
        time.sleep(0.001)
        self.shown = random.randrange(1000) * 1000 + int(np.random.randint(1000))  # noqa: NPY002
        return ActionResult(status="success")

    def get_observation(self, agent_id: str) -> PerceptionData:
        return PerceptionData(timestamp=0, visible_text="", sensor_data={"shown": self.shown})

    def get_state(self) -> dict[str, Any]:
        return {"shown": self.shown}

    def is_done(self, agent_id: str) -> bool:
        return self.time >= 20

    def get_action_space(self, agent_id: str | None = None) -> dict[str, Any]:
        return {"throw": {"parameters": {}}}

    def get_environment_info(self) -> dict[str, Any]:
        return {}


def thrown(seed: int) -> list[str]:
    """Return the states of an episode of dice."""
    env = as_parallel(ThreadDice())
    env.reset(seed=seed)
    states = [env.digest()]
    while env.agents:
        env.step({"agent_0": 0})
        states.append(env.digest())
    return states


def test_own_environments_in_threads_draw_what_they_draw_alone() -> None:
    alone = [thrown(seed) for seed in SEEDS]
    random.seed(5)
    state = random.getstate()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(thrown, SEEDS)) == alone
    assert random.getstate() == state


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_during_a_step_in_another_thread_can_step() -> None:
    begun, forked = threading.Event(), threading.Event()

    class Waits(ThreadDice):
        """Waits within its step."""

        def step(self, agent_id: str, action: Any) -> ActionResult:
            begun.set()
            forked.wait()
            return super().step(agent_id, action)

    env, other = as_parallel(ThreadDice()), as_parallel(Waits())
    env.reset(seed=0)
    other.reset(seed=0)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(other.step, {"agent_0": 0})
        begun.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            try:
                env.step({"agent_0": 0})
                os._exit(0)
            finally:
                os._exit(1)
        forked.set()
        assert os.waitpid(child, 0)[1] == 0


@contextlib.contextmanager
def _stdout_in(path: Path) -> Iterator[None]:
    """Write the process's standard output to a file."""
    kept = os.dup(1)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def test_snapshots_restored_in_threads_leave_the_output_where_it_was(tmp_path: Path) -> None:
    need("PhysicsPlayground")

    def restore(seed: int) -> None:
        env = parallel_env("PhysicsPlayground")
        env.reset(seed=seed)
        for _ in range(10):
            env.restore(env.snapshot())
        env.close()

    with _stdout_in(tmp_path / "out"):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(restore, range(12)))
        os.write(1, b"still here")
    assert (tmp_path / "out").read_bytes() == b"still here"
