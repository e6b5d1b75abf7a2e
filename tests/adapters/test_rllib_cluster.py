"""RLlib and Tune on a cluster of two nodes, one of which is killed; ``make test-ray``.

What runs are the programs of docs/learners.md, unchanged but for what a test has to see.
"""

from __future__ import annotations

import importlib.util
import re
import time
import warnings
from typing import Any

import pytest

from tests.helpers.ray_nodes import Nodes
from tests.paths import DOCS

ray = pytest.importorskip("ray")
if importlib.util.find_spec("tensorboardX") is None:
    pytest.skip("RLlib is not installed: run make test-ray", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # ray warns of what it uses itself
PAGE = (DOCS / "learners.md").read_text("utf-8")
BUILT, TRAINED = "algorithm = config.build_algo()", "algorithm.stop()"
PROGRAMS = dict(re.findall(r"^## (RLlib.*?)\n.*?```python\n(.*?)```", PAGE, re.M | re.S))
ENOUGH = 300.0
"""Seconds in which a lost runner must be there again."""


@pytest.fixture
def joined(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let `ray.init()` join a cluster of two nodes."""
    monkeypatch.setenv("RAY_ADDRESS", nodes.whole())
    yield nodes
    ray.shutdown()


def runners(algorithm: Any) -> int:
    """Return how many runners of an algorithm are well."""
    return int(algorithm.env_runner_group.num_healthy_remote_workers())


def homes(algorithm: Any) -> set[str]:
    """Return the nodes on which environments are played."""
    found = algorithm.env_runner_group.foreach_env_runner(
        lambda _: ray.get_runtime_context().get_node_id(), local_env_runner=False
    )
    return set(found)


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
def test_learning_goes_on_when_a_node_is_killed(joined: Nodes, title: str) -> None:
    before, after = PROGRAMS[title].split(BUILT)
    program: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(before, program)
        quick = {"delay_between_env_runner_restarts_s": 1.0}
        program["config"].fault_tolerance(**quick, env_runner_health_probe_timeout_s=5.0)
        algorithm = program["algorithm"] = program["config"].build_algo()
        assert len(homes(algorithm)) == runners(algorithm) == 2
        algorithm.train()
        joined.kill_second()
        for _ in range(2):
            algorithm.train()
        assert len(homes(algorithm)) == runners(algorithm) == 1
        joined.whole()
        start = time.monotonic()
        while runners(algorithm) < 2:
            algorithm.train()
            assert time.monotonic() - start < ENOUGH
        assert len(homes(algorithm)) == 2
        exec(after, program)  # the rest of the program, with all that it asserts


def test_trials_begin_again_when_a_node_is_killed(joined: Nodes) -> None:
    from ray import tune

    class Kill(tune.Callback):
        """Kills a node as soon as trials are under way on both."""

        recovered = 0

        def on_trial_result(self, iteration: int, trials: Any, *_: Any, **__: Any) -> None:
            under_way = [one for one in trials if one.status == "RUNNING"]
            if joined.second is not None and len(under_way) == 2:
                joined.kill_second()

        def on_trial_recover(self, *_: Any, **__: Any) -> None:
            self.recovered += 1

    kill = Kill()
    [code] = re.findall(r"^## Ray Tune\n.*?```python\n(.*?)```", PAGE, re.M | re.S)
    changed = code.replace("tune.RunConfig(", "tune.RunConfig(callbacks=[kill], ")
    assert changed != code
    program: dict[str, Any] = {"kill": kill, "__name__": "program"}
    exec(changed, program)  # with all that it asserts
    assert joined.second is None
    assert kill.recovered == 1
