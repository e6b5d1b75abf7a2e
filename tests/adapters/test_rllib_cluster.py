"""RLlib and Tune on a cluster of two nodes, one of which is killed; ``make test-ray``.

What runs are the programs of docs/learners.md, unchanged but for what a test has to see.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.ray_nodes import Nodes
from tests.paths import DOCS

pytest.importorskip("ray")
if importlib.util.find_spec("tensorboardX") is None:
    pytest.skip("RLlib is not installed: run make test-ray", allow_module_level=True)

PAGE = (DOCS / "learners.md").read_text("utf-8")
BUILT, TRAINED = "algorithm = config.build_algo()", "algorithm.stop()"
PROGRAMS = dict(re.findall(r"^## (RLlib.*?)\n.*?```python\n(.*?)```", PAGE, re.M | re.S))
WATCHED = """
import time

def homes():
    found = algorithm.env_runner_group.foreach_env_runner(
        lambda _: ray.get_runtime_context().get_node_id(), local_env_runner=False
    )
    return len(set(found))

config.fault_tolerance(
    delay_between_env_runner_restarts_s=1.0, env_runner_health_probe_timeout_s=5.0
)
algorithm = config.build_algo()
assert homes() == 2
algorithm.train()
print("KILL", flush=True)
input()
for _ in range(2):
    algorithm.train()
assert homes() == algorithm.env_runner_group.num_healthy_remote_workers() == 1
print("ADD", flush=True)
input()
start = time.monotonic()
while algorithm.env_runner_group.num_healthy_remote_workers() < 2:
    algorithm.train()
    assert time.monotonic() - start < 300.0
assert homes() == 2
"""
"""What stands in the place of `BUILT`: a node dies and another one comes, done by the test."""


def test_the_page_has_all_four_ways_to_learn() -> None:
    assert list(PROGRAMS) == [
        "RLlib",
        "RLlib with a policy a role",
        "RLlib with past selves",
        "RLlib through a curriculum",
    ]
    for code in PROGRAMS.values():
        assert code.count(BUILT) == code.count(TRAINED) == 1


@pytest.mark.parametrize("title", PROGRAMS)
def test_learning_goes_on_when_a_node_is_killed(nodes: Nodes, title: str) -> None:
    answer(nodes, PROGRAMS[title].replace(BUILT, WATCHED), {"KILL", "ADD"})


def test_trials_begin_again_when_a_node_is_killed(nodes: Nodes) -> None:
    [code] = re.findall(r"^## Ray Tune\n.*?```python\n(.*?)```", PAGE, re.M | re.S)
    changed = code.replace("tune.RunConfig(", "tune.RunConfig(callbacks=[kill], ")
    assert changed != code
    assert changed.count("4096") == 2
    changed = changed.replace("4096", str(1 << 20))  # so long that the node dies in their midst
    answer(nodes, KILLER + changed + "\nassert kill.recovered == 1, kill.recovered\n", {"KILL"})


KILLER = """
from ray import tune

class Kill(tune.Callback):
    asked, recovered = False, 0

    def on_trial_result(self, iteration, trials, *_, **__):
        if not self.asked and sum(one.status == "RUNNING" for one in trials) == 2:
            self.asked = True
            print("KILL", flush=True)
            input()

    def on_trial_recover(self, *_, **__):
        self.recovered += 1

kill = Kill()
"""
"""Has a node killed as soon as trials are under way on both."""


def answer(nodes: Nodes, code: str, asked: set[str]) -> None:
    """Run a program, all of whose assertions must hold, and do to the cluster what it asks for."""
    where = {**os.environ, "RAY_ADDRESS": nodes.whole(), "PYTHONPATH": os.pathsep.join(sys.path)}
    do = {"KILL": nodes.kill_second, "ADD": nodes.whole}
    done = set()
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-c", code]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes, stderr=errors, text=True, env=where) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            for line in program.stdout:
                if (word := line.strip()) in do:
                    do[word]()
                    done.add(word)
                    program.stdin.write("\n")
                    program.stdin.flush()
        errors.seek(0)
        assert program.returncode == 0, errors.read()[-3000:]
    assert done == asked


def test_an_example_of_rllibs_own_runs_with_only_the_environment_changed(tmp_path: Path) -> None:
    folder = files("ray.rllib.examples.multi_agent")
    code = folder.joinpath("pettingzoo_parameter_sharing.py").read_text("utf-8")
    imported, made = "from pettingzoo.sisl import waterworld_v4", "waterworld_v4.env()"
    assert code.count(imported) == code.count(made) == 1
    ours = 'piase_gym.aec_env("SocialDilemma", view="vector", dtype="float32", rounds=20)'
    program = tmp_path / "example.py"
    program.write_text(code.replace(imported, "import piase_gym").replace(made, ours), "utf-8")
    options = "--num-agents 2 --stop-iters 1 --no-tune --num-env-runners 0".split()
    command = [sys.executable, "-W", "ignore", str(program), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "iter=0" in done.stdout
