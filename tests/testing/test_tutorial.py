"""The tutorials of worlds: the code of each page is a world that conforms."""

from __future__ import annotations

import os
import re
from itertools import chain, combinations, product
from pathlib import Path

import pytest

from tests.helpers.cli_runner import ROOT, environment, piase
from tests.helpers.warm_python import run_python

PAGE = (ROOT / "docs" / "tutorial_world.md").read_text("utf-8")
FILES = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, re.S))
COMMANDS = [
    line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.split("\n")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page."""
    top = tmp_path_factory.mktemp("third_party")
    for name, code in FILES.items():
        path = top / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    return top


def python(folder: Path, code: str) -> str:
    """Run code in the folder of the page's files."""
    path = os.pathsep.join([str(folder), environment()["PYTHONPATH"]])
    env = environment(PYTHONPATH=path)
    done = run_python("-W", "error", "-c", code, cwd=folder, env=env, warm="with_others")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_all_files() -> None:
    parts = ("__init__", "config", "rules", "views", "world", "oracle")
    assert list(FILES) == [*(f"lamplight/{part}.py" for part in parts), "use_it.py"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("piase check")])
def test_it_passes_the_full_kit(folder: Path, command: str) -> None:
    done = piase(*command.split()[1:], cwd=folder, columns=150)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", [line for line in COMMANDS if line and "check" not in line])
def test_its_commands_run(folder: Path, command: str) -> None:
    done = piase(*command.split()[1:], cwd=folder, stdin="0\nq\n")
    assert done.returncode == 0, done.stderr
    assert "press" in done.stdout


def test_it_is_used_as_the_page_says(folder: Path) -> None:
    assert "put out all lamps" in python(folder, FILES["use_it.py"])


SMALL = (ROOT / "docs" / "tutorial_small_world.md").read_text("utf-8")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the page on a world in one file."""
    top = tmp_path_factory.mktemp("small")
    for name, code in re.findall(r"```python\n# (\S+)\n(.*?)```", SMALL, re.S):
        (top / name).write_text(code, encoding="utf-8")
    return top


@pytest.mark.slow
def test_the_small_world_passes_the_kit(small: Path) -> None:
    assert "piase check Corridor -m corridor\n" in SMALL
    done = piase("check", "Corridor", "-m", "corridor", cwd=small, columns=150)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d passed, \d+ skipped", done.stdout.splitlines()[-1])


def test_the_small_world_is_used_as_its_page_says(small: Path) -> None:
    assert "won" in python(small, (small / "walk.py").read_text("utf-8"))


def fewest_presses(lit: frozenset[tuple[int, int]], side: int) -> int:
    """Return the fewest presses by trying all sets of them, written from the rule alone."""
    cells = list(product(range(side), repeat=2))
    sets = chain.from_iterable(combinations(cells, n) for n in range(len(cells) + 1))
    for pressed in sets:
        near = [c for c in cells for p in pressed if abs(c[0] - p[0]) + abs(c[1] - p[1]) <= 1]
        if {c for c in cells if near.count(c) % 2} == lit:
            return len(pressed)
    raise AssertionError("it cannot be put out")


def test_the_certificate_is_the_fewest_presses(folder: Path) -> None:
    code = """
import lamplight, piase_gym
from lamplight.oracle import LamplightOracle
for seed in range(12):
    env = piase_gym.parallel_env("Lamplight", side=2 + seed % 2, presses=1 + seed % 4)
    env.reset(seed=seed)
    oracle = LamplightOracle(env.world)
    lit = [(y, x) for y, row in enumerate(env.world.now.lamps) for x, on in enumerate(row) if on]
    par, steps = oracle.certificate(0), 0
    while env.agents:
        env.step({"agent_0": env.world._table.index(oracle.act(0))})
        steps += 1
    print(2 + seed % 2, par, steps, lit, sep=";")
"""
    for line in python(folder, code).splitlines():
        side, par, steps, lit = line.split(";")
        wanted = fewest_presses(frozenset(eval(lit)), int(side))
        assert int(par) == int(steps) == wanted
