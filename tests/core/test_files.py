"""Files are written whole or not at all; what a command is to write is checked before it works."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piase_gym import runs
from piase_gym.core.files import replacing, require_folder, write_json, write_whole
from piase_gym.errors import LogWriteError, StorageError
from piase_gym.simulation.simulation import Simulation
from piase_gym.wrappers import AvtLogger
from tests.helpers.cli_runner import ROOT, environment, piase
from tests.helpers.warm_python import run_python

WRITERS: dict[str, Callable[..., Any]] = {
    "render.gif": runs.render,
    "render.png": runs.render,
    "plot.png": runs.plot,
    "export.csv": runs.export,
    "export.jsonl": runs.export,
    "export.sqlite": runs.export,
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a whole episode."""
    path = tmp_path_factory.mktemp("log") / "run.jsonl"
    Simulation("lost_key", "oracle", seed=0, wrap=(lambda env: AvtLogger(env, path),)).run()
    return path


def names(folder: Path) -> list[str]:
    """Return what is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"before")
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from piase_gym.core.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    write_whole(Path(sys.argv[1]), bytes(5000))\n"
        "except OSError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    words = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith(f"StorageError {path} could not be written: "), done.stderr
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["file"]


def test_what_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"

    def fail() -> None:
        with replacing(path) as new:
            new.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names(tmp_path / "a") == []
    with replacing(path) as new:
        assert new.suffix == ".txt"
        new.write_text("whole")
    assert names(tmp_path / "a") == ["b.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 250}.csv"
    write_whole(path, b"kept")
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("folder", "folder is a folder; name a file"),
        ("file/x", "file is a file"),
        ("/dev/full", "is no file; name a file"),
        ("x" * 300, "could not be written: File name too long"),
        (f"{'x' * 300}/file", "could not be written: File name too long"),
        ("a\0b", "could not be written: .*embedded null"),
        ("\ud800", "could not be written: .*surrogates not allowed"),
    ],
)
def test_what_cannot_be_a_file_is_named(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageError, match=why), replacing(tmp_path / place):
        pass
    assert (tmp_path / "file").read_text() == "kept"
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file", "is a file; name a folder"),
        ("file/x/y", "file is a file"),
        ("x" * 300, "cannot be written to: File name too long"),
        ("a\0b", "cannot be written to: .*embedded null"),
    ],
)
def test_what_cannot_be_a_folder_is_named(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(StorageError, match=why):
        require_folder(tmp_path / place)
    require_folder(tmp_path / "new" / "folder")
    assert names(tmp_path) == ["file", "new"]
    assert names(tmp_path / "new" / "folder") == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_have_the_rights_that_the_umask_leaves(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        for _ in range(2):
            write_whole(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask


def test_json_is_written_whole_with_sorted_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"b": 1.5, "a": (1, None)})
    assert path.read_text() == '{\n  "a": [\n    1,\n    null\n  ],\n  "b": 1.5\n}\n'
    with pytest.raises(TypeError):
        write_json(path, {"b": object()})
    assert path.read_text().startswith('{\n  "a"')
    assert names(tmp_path) == ["x.json"]


def test_one_module_replaces_files() -> None:
    """Whatever is to be there whole or not at all is written by `piase_gym.core.files`."""
    own = re.compile(r"mkstemp\(|os\.(replace|rename|fsync)\(")
    tops = (ROOT / name for name in ("piase_gym", "curricula", "wrappers", "benchmarks"))
    files = {path.resolve() for top in tops for path in top.rglob("*.py")}
    found = [path.name for path in files if own.search(path.read_text("utf-8"))]
    assert found == ["files.py"]


FULL = """
import resource, signal, sys
from piase_gym import runs
from piase_gym.errors import LogWriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    runs.export(sys.argv[1], sys.argv[2])
except LogWriteError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["export.sqlite", "export.hdf5"])
def test_an_export_for_which_there_is_no_room(name: str, log: Path, tmp_path: Path) -> None:
    if name.endswith("hdf5"):
        pytest.importorskip("h5py")
    words = [sys.executable, "-c", FULL, str(log), str(tmp_path / name)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.startswith(f"{tmp_path / name} could not be written: "), done.stderr
    assert (done.returncode, done.stderr, names(tmp_path)) == (0, "", [])


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_exists_is_replaced_by_a_whole_one_or_kept(
    name: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_file: int) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    if name.startswith("plot"):
        pytest.importorskip("matplotlib")
    write, out = WRITERS[name], tmp_path / name
    out.write_text("mine")
    with pytest.raises(LogWriteError, match="exists; give another name"):
        write(log, out)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(LogWriteError, match="could not be written: the disk is full"):
            write(log, out, overwrite=True)
    assert out.read_text() == "mine"
    assert names(tmp_path) == [name]
    write(log, out, overwrite=True)
    assert out.read_bytes() != b"mine"
    folder = tmp_path / f"folder.{name}"
    folder.mkdir()
    with pytest.raises(LogWriteError, match="is a folder; name a file"):
        write(log, folder, overwrite=True)
    assert names(tmp_path) == sorted([folder.name, name])


@pytest.mark.parametrize(
    "words",
    [
        "bench smoke --out FILE",
        "bench throughput --out FILE/x",
        "bench references --journal FILE",
        "bench report --out FILE",
        "demo --out FILE",
        "train GridWorld --out FILE",
        "run lost_key --save FILE",
        "render LOG --out FILE/x.gif",
        "plot LOG --out FILE.png",
        "export LOG FILE/x.csv",
    ],
)
def test_a_command_that_cannot_store_says_so_at_once(words: str, log: Path, tmp_path: Path) -> None:
    for name in ("file", "file.png"):
        (tmp_path / name).write_text("kept")
    given = words.replace("FILE", "file").replace("LOG", str(log)).split()
    done = piase(*given, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: file")
    assert {(tmp_path / name).read_text() for name in ("file", "file.png")} == {"kept"}
    assert names(tmp_path) == ["file", "file.png"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train GridWorl", "did you mean 'GridWorld'"),
        ("train GridWorld --algo pppo", "unknown algorithm 'pppo'"),
        ("train GridWorld --set stepz=3", "unknown setting 'stepz'"),
        ("train GridWorld -c agentz=3", "unknown key 'agentz'"),
        ("train GridWorld --partner agent_9=random", "no agent 'agent_9'"),
        ("train GridWorld -c agents=2 --partner agent_1=orcle", "unknown policy 'orcle'"),
        ("train GridWorld -c agents=2 --partner agent_1=sb3:no.zip", "no model 'no.zip'"),
        ("train GridWorld --resume --out nowhere", "holds no run"),
        ("run GridWorld --agent sb3:no.zip", "no model 'no.zip'"),
        ("run GridWorld --agent population:random,sb3:no.zip", "no model 'no.zip'"),
        ("play GridWorld --partners sb3-greedy:no.zip", "no model 'no.zip'"),
        ("bench suite piase/GridWorld-v1 -p no.zip", "no model 'no.zip'"),
        ("demo --out file", "file is a file"),
    ],
)
def test_mistakes_are_told_before_torch_is_loaded(words: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    code = (
        "import sys\nfrom piase_gym.cli.app import main\n"
        "try:\n    main()\nfinally:\n    print(sorted({'torch'} & set(sys.modules)))"
    )
    done = run_python("-c", code, *words.split(), cwd=tmp_path, env=environment())
    assert (done.returncode, done.stdout.strip()) == (2, "[]"), done.stdout + done.stderr
    assert told in done.stderr
    assert names(tmp_path) == ["file"]
