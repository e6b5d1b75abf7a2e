"""Compiled kernels on disk: never stale, and not needed.

Numba itself looks only at the file of a kernel. These tests run copies of the package in processes
and with cache folders of their own, and edit one line in between.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import piase_gym

PACKAGE = Path(piase_gym.__file__).parent

# A world's folder with a rule, a helper in another file and a table in a third; and a shared
# module of the package.
SOURCES = {
    "shared_by_worlds.py": "SHARED = 5000\n",
    "worlds/marbles/__init__.py": "",
    "worlds/marbles/table.py": "REWARD = 20\n",
    "worlds/marbles/helpers.py": (
        "from piase_gym.kernels import device\n"
        "from piase_gym.worlds.marbles.table import REWARD\n"
        "@device\n"
        "def worth(count):\n"
        "    return count * REWARD + 300\n"
    ),
    "worlds/marbles/rules.py": (
        "from piase_gym.kernels import kernel\n"
        "from piase_gym.shared_by_worlds import SHARED\n"
        "from piase_gym.worlds.marbles.helpers import worth\n"
        "@kernel\n"
        "def score(out):\n"
        "    out[0] = worth(out[0]) + SHARED + 1\n"
    ),
}
MARBLES = """
import json
import numpy as np
from piase_gym.worlds.marbles.rules import score
out = np.array([2])
score(out)
hits = sum(score.stats.cache_hits.values())
print(json.dumps({"score": int(out[0]), "hits": hits}))
"""
WALK = """
import json
import piase_gym
env = piase_gym.parallel_env("GridWorld", start_pos=(3, 3), goal_pos=(7, 7))
env.reset(seed=0)
env.step({"agent_0": 3})
facts = env.facts("agent_0")
print(json.dumps({"text": env.world.text(facts)}))
"""


STAMP = """
import json
from piase_gym.kernels import source_stamp
from piase_gym.worlds import grid_world
print(json.dumps(source_stamp(list(grid_world.__path__)[0])))
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that can be edited."""
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "piase_gym", ignore=unused)
    for name, source in SOURCES.items():
        path = tmp_path / "piase_gym" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, "utf-8")
    return tmp_path


def run(folder: Path, code: str, **settings: Any) -> Any:
    """Run code in a fresh process on the copy, and return the JSON that it prints."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("NUMBA")},
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        **settings,
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def edit(path: Path, old: str, new: str) -> None:
    """Replace what stands once in a file, without a trace in its size or time."""
    source = path.read_text("utf-8")
    assert source.count(old) == 1, f"{path.name} has no single {old!r}; edit another line"
    assert len(old) == len(new)
    before = path.stat()
    path.write_text(source.replace(old, new), "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("file", "old", "new", "score"),
    [
        ("worlds/marbles/rules.py", "+ 1", "+ 2", 5342),
        ("worlds/marbles/rules.py", "+ SHARED", "- SHARED", -4659),
        ("worlds/marbles/helpers.py", "300", "400", 5441),
        ("worlds/marbles/table.py", "20", "30", 5361),
        ("shared_by_worlds.py", "5000", "6000", 6341),
    ],
)
def test_an_edited_rule_or_table_is_never_served_stale(
    copied: Path, file: str, old: str, new: str, score: int
) -> None:
    assert run(copied, MARBLES) == {"score": 5341, "hits": 0}
    assert run(copied, MARBLES) == {"score": 5341, "hits": 1}, "kernels are not cached at all"
    edit(copied / "piase_gym" / file, old, new)
    assert run(copied, MARBLES) == {"score": score, "hits": 0}
    edit(copied / "piase_gym" / file, new, old)
    assert run(copied, MARBLES)["score"] == 5341


@pytest.mark.slow
def test_an_edited_rule_of_grid_world_is_never_served_stale(copied: Path) -> None:
    assert "column 4, row 3" in run(copied, WALK)["text"]
    rules = copied / "piase_gym" / "worlds" / "grid_world" / "ticks.py"
    edit(rules, "0, 0, -1, 0, 1, 0, 0, 0, 0]", "0, 0, -2, 0, 2, 0, 0, 0, 0]")
    assert "column 5, row 3" in run(copied, WALK)["text"]


def test_what_grids_share_is_part_of_the_stamp(copied: Path) -> None:
    before = run(copied, STAMP)
    shared = copied / "piase_gym" / "worlds" / "painted_map.py"
    edit(shared, "DX = np.array([0, 1, 0, -1])", "DX = np.array([0, 2, 0, -2])")
    assert run(copied, STAMP) != before


def test_a_machine_where_nothing_can_be_written(copied: Path) -> None:
    # Files where folders would have to be made stop root too, whom no permission stops.
    blocked = copied / "blocked"
    blocked.write_text("a file", "utf-8")
    for folder in (copied / "piase_gym").rglob("*.py"):
        (folder.parent / "__pycache__").write_text("a file", "utf-8")
    nowhere = str(blocked / "x")
    settings = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": nowhere}
    before = sorted(path for path in copied.rglob("*"))
    for _ in range(2):
        assert run(copied, MARBLES, **settings) == {"score": 5341, "hits": 0}
    assert sorted(path for path in copied.rglob("*")) == before
