"""Compiled kernels on disk: never stale, and not needed.

Numba itself looks only at the file of a kernel. These tests run copies of the package in processes
and with cache folders of their own, and edit one line in between.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import piase_gym
from piase_gym.compiled import cache
from piase_gym.compiled.cache import stamp
from tests.helpers.warm_python import run_python
from tests.paths import ROOT

PACKAGE = Path(piase_gym.__file__).parent

# A world's folder with a rule, a helper in another file and a table in a third; and a shared
# module of the package.
SOURCES = {
    "shared_by_worlds.py": "SHARED = 5000\n",
    "worlds/marbles/__init__.py": "",
    "worlds/marbles/table.py": "REWARD = 20\n",
    "worlds/marbles/helpers.py": (
        "from piase_gym.compiled import helper\n"
        "from piase_gym.worlds.marbles.table import REWARD\n"
        "@helper\n"
        "def worth(count):\n"
        "    'Return what marbles are worth.'\n"
        "    return count * REWARD + 300\n"
    ),
    "worlds/marbles/rules.py": (
        "from piase_gym.compiled import kernel\n"
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
STAMP = """
import json
from piase_gym.compiled.cache import stamp
from piase_gym.worlds.grid_world.rules.kernels import KERNELS
print(json.dumps(stamp(KERNELS.step)))
"""
OTHERS = """
import json
from pathlib import Path
import numba
import other
import piase_gym.worlds.marbles.rules
other.twice(3)
import another
print(json.dumps([Path(f.stats.cache_path).parts for f in (other.twice, another.twice)]))
"""
TWICE = "import numba\n@numba.njit(cache=True)\ndef twice(x):\n    return x + x\n"
NOTICE = """
import json
import logging
import numba
import numpy as np
from piase_gym.worlds.marbles import helpers, rules
lines = []
class Keep(logging.Handler):
    def emit(self, record):
        lines.append([record.levelname, record.getMessage()])
log = logging.getLogger("piase_gym")
log.setLevel("INFO")
log.addHandler(Keep())
numba.njit(lambda count: helpers.worth(count))(1.5)
rules.score(np.array([2]))
rules.score(np.array([2], np.int32))
print(json.dumps(lines))
"""
PLAY = """
import json
import numpy as np
import piase_gym
from piase_gym.worlds.grid_world.rules.kernels import PLAIN
for make in (piase_gym.parallel_env, piase_gym.batch_env):
    many = {"num_envs": 2} if make is piase_gym.batch_env else {}
    env = make("GridWorld", width=5, height=5, **many)
    env.reset(seed=0)
    env.step(np.zeros((2, 1), np.int32) if many else {"agent_0": 0})
misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in PLAIN)
print(json.dumps({"misses": misses, "kernels": len(PLAIN)}))
"""


def copy(folder: Path) -> Path:
    """Copy the package to where it can be edited."""
    unused = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "piase_gym", ignore=unused)
    for name, source in SOURCES.items():
        path = folder / "piase_gym" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source, "utf-8")
    return folder


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, with no machine code."""
    return copy(tmp_path)


@pytest.fixture(scope="module")
def once_compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, and machine code of its marbles."""
    folder = copy(tmp_path_factory.mktemp("compiled"))
    assert run(folder, MARBLES) == {"score": 5341, "hits": 0}
    return folder


@pytest.fixture
def compiled(once_compiled: Path) -> Iterator[Path]:
    """The same, put back afterwards: numba looks at the time and the place of a source too."""
    paths = [once_compiled / "piase_gym" / name for name in SOURCES]
    before = [(path, path.read_bytes(), path.stat()) for path in paths]
    cache, kept = once_compiled / "cache", once_compiled / "kept"
    shutil.copytree(cache, kept)
    yield once_compiled
    for path, source, stat in before:
        path.write_bytes(source)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    shutil.rmtree(cache)
    kept.rename(cache)


def run(folder: Path, code: str, **settings: Any) -> Any:
    """Run code in a fresh process on the copy, and return the JSON that it prints."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("NUMBA")},
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        **settings,
    }
    done = run_python("-c", code, env=environment, cwd=folder, warm="with_others")
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
    compiled: Path, file: str, old: str, new: str, score: int
) -> None:
    assert run(compiled, MARBLES) == {"score": 5341, "hits": 1}, "kernels are not cached at all"
    edit(compiled / "piase_gym" / file, old, new)
    assert run(compiled, MARBLES) == {"score": score, "hits": 0}


def test_a_docstring_elsewhere_costs_nothing(compiled: Path) -> None:
    edit(compiled / "piase_gym/worlds/marbles/helpers.py", "what marbles are", "what pebbles are")
    assert run(compiled, MARBLES) == {"score": 5341, "hits": 1}


def test_a_second_process_compiles_nothing() -> None:
    # In the cache of this checkout, so that what the first one compiles serves other tests too.
    here = {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": ""}
    assert run(ROOT, PLAY, **here)["kernels"] > 0
    assert run(ROOT, PLAY, **here)["misses"] == 0


def test_it_is_logged_once_that_rules_are_compiled_and_nothing_if_they_were(copied: Path) -> None:
    ((level, words),) = run(copied, NOTICE)
    assert level == "INFO"
    assert words.startswith("compiling piase_gym.worlds.marbles.rules, which can take a minute")
    assert run(copied, NOTICE) == []


def test_what_kernels_refer_to_is_part_of_the_stamp(copied: Path) -> None:
    before = run(copied, STAMP)
    events = copied / "piase_gym/worlds/grid_world/rules/events.py"
    edit(events, '"""What can become', '"""Whatever became')
    assert run(copied, STAMP) == before
    found = {before}
    for path, old, new in [
        ("worlds/grid_world/rules/events.py", "RUNNER: Final = 2", "RUNNER: Final = 3"),
        ("worlds/grids/windows.py", "DX = np.array([0, 1,", "DX = np.array([0, 2,"),
        ("compiled/draws.py", "0xBF58476D1CE4E5B9", "0xBF58476D1CE4E5B7"),
    ]:
        edit(copied / "piase_gym" / path, old, new)
        found.add(run(copied, STAMP))
    assert len(found) == 4


def test_others_keep_their_cache(copied: Path) -> None:
    for name in ("other", "another"):
        (copied / f"{name}.py").write_text(TWICE, "utf-8")
    for parts in run(copied, OTHERS):
        assert Path(*parts).parent == copied / "cache"


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"nonsense", None], ids=["empty", "nonsense", "cut"])
def test_a_damaged_file_of_the_cache_is_compiled_anew(
    compiled: Path, suffix: str, damage: bytes | None
) -> None:
    paths = list((compiled / "cache").rglob(f"*{suffix}"))
    assert paths
    for path in paths:
        path.write_bytes(path.read_bytes()[:-9] if damage is None else damage)
    assert run(compiled, MARBLES) == {"score": 5341, "hits": 0}
    assert run(compiled, MARBLES) == {"score": 5341, "hits": 1}


def test_a_new_version_removes_the_oldest_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(x: int) -> int:
        return 2 * x

    monkeypatch.setattr(cache, "base", lambda: tmp_path)
    folder = cache.folder_of(twice)
    assert folder is not None
    versions = [folder.parent / f"version_{number}" for number in range(cache.KEPT + 2)]
    for number, version_folder in enumerate(versions):
        (version_folder / "deep").mkdir(parents=True)
        os.utime(version_folder, (number, number))
    assert cache.folder_of(twice) == folder
    left = sorted(folder.parent.iterdir())
    assert left == sorted(versions[-(cache.KEPT - 1) :])
    folder.mkdir()
    assert cache.folder_of(twice) == folder  # it is no new version any more
    assert sorted(folder.parent.iterdir()) == sorted([*left, folder])


def test_closures_are_refused_and_so_is_what_cannot_be_hashed() -> None:
    seven = 7

    def add(x: int) -> int:
        return x + seven

    def look(x: int) -> Any:
        return x + len(os.environ)

    def late(x: int) -> Any:
        return not_there_yet(x)  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="must not be a closure"):
        stamp(add)
    with pytest.raises(TypeError, match="allowed: functions, numbers, arrays"):
        stamp(look)
    with pytest.raises(NameError, match="not_there_yet, which must come before"):
        stamp(late)


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


@pytest.mark.parametrize("given", ["", "here"])
def test_a_user_without_a_home(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "file" / "cache.py"))
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", given)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache.base.__wrapped__() == (Path(given, "piase_gym_kernels") if given else None)
    assert {path.name for path in tmp_path.iterdir()} == {"file", given} - {""}


WORDS = """
import numpy as np
from piase_gym.compiled import kernel, load64, readable, store64
from piase_gym.compiled.memory import record

@kernel
def move(records, start, to):
    s = records[0]
    store64(s.cells, to, load64(s.cells, start))

records = readable(np.zeros(1, record([("cells", "u1", 16)])))
records["cells"] = np.arange(16)
move(records, 1, 8)
found = records["cells"][0].tolist()
try:
    move(records, %d, %d)
    print("unnoticed")
except IndexError:
    print(found[8:] == list(range(1, 9)))
"""


@pytest.mark.parametrize(("start", "to"), [(9, 0), (-1, 0), (0, 9), (0, -1)])
def test_words_beyond_an_array_are_noticed_where_bounds_are_checked(start: int, to: int) -> None:
    settings = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    done = run_python("-c", WORDS % (start, to), env=settings, warm="with_others")
    assert done.stdout.strip() == "True", done.stderr


def test_numba_has_an_upper_bound_and_this_is_below_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found = [line for line in project["project"]["dependencies"] if line.startswith("numba")]
    bounds = dict(re.findall(r"([<>]=?)(\d+\.\d+)", found[0]))
    now = tuple(int(part) for part in version("numba").split(".")[:2])
    lowest, stop = (tuple(map(int, bounds[sign].split("."))) for sign in (">=", "<"))
    assert lowest <= now < stop
