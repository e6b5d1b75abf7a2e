"""In a kernel of Jupyter: a cell that is interrupted leaves whole steps in logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from tests.paths import ROOT

pytestmark = [
    pytest.mark.skipif(find_spec("ipykernel") is None, reason="needs make test-client-ipykernel"),
    pytest.mark.filterwarnings("ignore"),  # Jupyter's own
]

OPEN = """
import signal, threading
import piase_gym
from piase_gym.wrappers import AvtLogger

env = AvtLogger(piase_gym.parallel_env("lost_key", actions="text"), {path!r})
env.reset(seed=0)
"""
STEP = """
world, usual = env.unwrapped.world, env.unwrapped.world.digest

def interrupted():
    signal.raise_signal(signal.SIGINT)  # after the step, before its line is written
    return usual()

world.digest = interrupted
try:
    env.step(dict.fromkeys(env.agents, "look"))
finally:
    del world.digest
"""
AGAIN = """
env.step(dict.fromkeys(env.agents, "look"))
env.close()
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a new kernel."""
    from jupyter_client.manager import start_new_kernel

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(kernel: Any, code: str) -> tuple[str, str]:
    """Run a cell; return the name of its error, if any, and what it printed."""
    printed: list[str] = []

    def hear(message: Any) -> None:
        printed.append(message["content"].get("text", ""))

    reply = kernel.execute_interactive(code, timeout=300, output_hook=hear)["content"]
    return reply.get("ename", ""), "".join(printed)


def test_an_interrupted_cell_leaves_a_whole_step(kernel: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert run(kernel, OPEN.format(path=str(path))) == ("", "")
    assert run(kernel, STEP) == ("KeyboardInterrupt", "")
    assert run(kernel, AGAIN) == ("", "True\n")
    assert runs.validate(path).problems == []
    assert runs.replay(path).ok
    steps = [e for e in runs.read(path) if e["event_data"].get("kind") == "step"]
    assert len(steps) == 2
