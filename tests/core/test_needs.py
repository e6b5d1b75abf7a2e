"""A world that needs an optional part is skipped, with the reason, where that is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from piase_gym.benchmarks import evaluate
from piase_gym.benchmarks.evaluation.suites import Suite, smoke, standard
from piase_gym.cli.check import check
from piase_gym.errors import SuiteError
from piase_gym.registry import world_spec
from tests.paths import ROOT

PHYSICS, ROOM = "piase/PhysicsPlayground-v2", "piase/TextRoom-LostKey-v3"
REASON = "PhysicsPlayground needs an optional part: pip install 'piase-gym[physics]'"


@pytest.fixture(autouse=True)
def _no_pybullet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)


def test_the_row_of_a_world_knows_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert world_spec("PhysicsPlayground").missing == REASON
    assert world_spec("TextRoom").missing is None
    monkeypatch.setitem(sys.modules, "pybullet", pytest)  # anything that is there
    assert world_spec("PhysicsPlayground").missing is None


@pytest.mark.parametrize("suite", [smoke(), standard()], ids=lambda suite: suite.name)
def test_suites_are_played_without_it(suite: Suite) -> None:
    settings, problems = suite.settings()
    assert problems == []
    assert settings
    wanted = {row.task for row in suite.rows if "Physics" in row.task or "Camera" in row.task}
    assert not wanted & {setting.task for setting in settings}
    told = {problem.where: problem.what for problem in suite.missing()}
    assert told.keys() == wanted
    camera = {
        task: f"{task} needs an optional part: {REASON.partition(': ')[2]}" for task in wanted
    }
    assert all(what in (REASON, camera[task]) for task, what in told.items())


def test_an_evaluation_says_what_was_not_played() -> None:
    results = evaluate("noop", [PHYSICS, ROOM], episodes=1)
    assert [row.setting for row in results.rows] == [ROOM]
    assert [(p.where, p.what) for p in results.skipped] == [(PHYSICS, REASON)]
    assert results.problems == ()
    with pytest.raises(SuiteError, match="PhysicsPlayground needs an optional part"):
        evaluate("noop", PHYSICS, episodes=1)


def test_check_goes_on_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    check([PHYSICS, ROOM], ids=True, only=["names_are_listed"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{PHYSICS}  skipped: {REASON}"
    assert lines[1].startswith(f"{ROOM}  1 passed")
    assert lines[-1] == "1 of 1 ids keep the contract; 1 skipped"


LIST = """
import sys
sys.modules["pybullet"] = None
from piase_gym import parallel_env, scenarios
from piase_gym.cli import main
from piase_gym.errors import MissingExtraError
print(*scenarios.load("side_by_side").warnings, sep="\\n")
try:
    parallel_env("side_by_side")
except MissingExtraError as error:
    print(error)
sys.argv = ["piase", "scenario", "list"]
main()
"""


def test_scenarios_are_read_and_listed_without_their_world() -> None:
    """Goals and events are what the world would be asked about; whoever makes it is told so."""
    done = subprocess.run([sys.executable, "-c", LIST], cwd=ROOT, capture_output=True, text=True)
    warning, refusal, *listed = done.stdout.splitlines()
    assert warning.endswith(f"goals and events are not checked against the world: {REASON}")
    assert refusal == REASON
    assert any("side_by_side" in line for line in listed)
    assert done.returncode == 0
