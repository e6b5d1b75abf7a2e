"""Settings of the test-suite."""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from piase_gym import registry
from tests.helpers.ray_nodes import Nodes
from tests.paths import ROOT

# Timing never decides a test.
settings.register_profile("piase_gym", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("piase_gym")

COMPILE = """
import contextlib
import json
import sys
import numpy as np
import piase_gym
from piase_gym.errors import MissingExtraError, UnsupportedError
for name, config in json.loads(sys.argv[1]):
    with contextlib.suppress(MissingExtraError, UnsupportedError):
        env = piase_gym.parallel_env(name, **config)
        env.reset(seed=0)
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        batch = piase_gym.batch_env(name, num_envs=2, **config)
        batch.reset(seed=0)
        batch.step(np.zeros((2, len(batch.world.agents)), np.int64))
"""
WORLDS: Final = (
    [("GridWorld", {"see_through_walls": False}), ("GridWorld", {}), ("WordCraft", {})],
    [
        ("PhysicsPlayground", {}),
        ("SocialDilemma", {}),
        ("SocialDilemma", {"game": "harvest"}),
        ("ObjectSearch", {}),
        ("GridWorld", {"layout": "maze"}),
    ],
)
"""Configs that between them need all kernels, in two parts that take about as long."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile every world once, before several processes would each do it for themselves."""
    if not getattr(session.config.option, "numprocesses", None):
        return
    command = [sys.executable, "-c", COMPILE]
    jobs = [subprocess.Popen([*command, json.dumps(worlds)], cwd=ROOT) for worlds in WORLDS]
    codes = [job.wait() for job in jobs]
    if any(codes):
        raise pytest.UsageError(f"a world could not be compiled: {WORLDS}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the garbage collector a look at thousands of tests, now and later."""
    atexit.register(gc.unfreeze)  # some libraries complain of leaks otherwise
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def old_objects() -> None:
    """Spare the collector what earlier modules have left, which would cost it half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def spare_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register things that are gone afterwards."""
    monkeypatch.setattr(registry, "_worlds", dict(registry._worlds))
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A cluster for the tests of a module, under ``make test-ray``."""
    if "PIASE_RAY" not in os.environ:
        pytest.skip("clusters are started by `make test-ray`")
    import ray

    found = Nodes()
    yield found
    ray.shutdown()
    found.cluster.shutdown()
