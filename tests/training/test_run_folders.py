"""Folders of training runs: one is free, another holds a run, and some cannot hold any."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from piase_gym.errors import ConfigError, StorageError, TrainingError

pytest.importorskip("stable_baselines3")

from piase_gym.agents.sb3_archive import CARD
from piase_gym.training.checkpoints import STATE, Folder, pack
from piase_gym.training.settings import TrainSettings, check_run_folder

SETTINGS = TrainSettings(task="GridWorld")


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "new" / "run")
    check_run_folder(folder, SETTINGS, resume=False)
    assert folder.path.is_dir()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(StorageError):
        check_run_folder(Folder(tmp_path / "run"), SETTINGS, resume=False)


def test_without_a_run_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="holds no run that could go on"):
        check_run_folder(Folder(tmp_path), SETTINGS, resume=True)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.settings.write_text("{}")
    with pytest.raises(ConfigError, match="holds a run already; resume it"):
        check_run_folder(folder, SETTINGS, resume=False)


# -- checkpoints --------------------------------------------------------------------------


def checkpoint(number: int) -> bytes:
    """Return a checkpoint whose state is a number."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("weights", bytes(range(100)))
    return pack(buffer.getvalue(), {CARD: {"card": number}, STATE: {"state": number}})


def test_the_newest_two_checkpoints_are_kept_and_other_files_are_none(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    for name in (
        "copy of 000000000900.zip",
        "900.zip",
        "000000000900.zip.kept",
        "0000000000900.zip",
    ):
        (tmp_path / "checkpoints" / name).write_bytes(checkpoint(900))
    saved = [folder.save(steps, checkpoint(steps)) for steps in (100, 20, 300)]
    assert folder.checkpoints() == [saved[2], saved[0]]
    assert folder.newest() == (saved[2], {"card": 300}, {"state": 300})
    assert len(list((tmp_path / "checkpoints").iterdir())) == 6


def test_a_checkpoint_with_one_wrong_bit_gives_way_to_the_one_before(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    older, newest = (folder.save(steps, checkpoint(steps)) for steps in (1, 2))
    weights = bytes(range(100))
    content = newest.read_bytes()
    newest.write_bytes(content.replace(weights, weights[:-1] + b"\x00"))
    assert folder.newest() == (older, {"card": 1}, {"state": 1})
    older.write_bytes(older.read_bytes().replace(weights, weights[:-1] + b"\x00"))
    with pytest.raises(TrainingError, match=r"only damaged checkpoints: 0+2\.zip \(weights is"):
        folder.newest()


def test_no_byte_of_a_checkpoint_can_be_damaged_so_that_a_run_does_not_go_on(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    content = checkpoint(2)
    older, newest = (folder.save(steps, content) for steps in (1, 2))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        newest.write_bytes(damaged)
        path, card, state = folder.newest()
        assert (path in (older, newest), card, state) == (True, {"card": 2}, {"state": 2})


def test_a_run_without_a_checkpoint_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="holds no checkpoint; begin anew in another folder"):
        Folder(tmp_path).newest()


def test_progress_forgets_what_came_after_an_interruption(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.history() == []
    for steps, after in ((0, -1), (10, 0), (20, 10), (30, 20), (25, 20)):
        folder.note({"steps": steps, "dev": steps / 100}, after)
    assert [row["steps"] for row in folder.history()] == [0, 10, 20, 25]
    text = folder.progress.read_text("utf-8")
    assert [json.loads(line) for line in text.splitlines()] == folder.history()
    assert text.endswith("\n")


@pytest.mark.parametrize("content", [b"x\n", b'{"steps": 1}\n{"st', b"\xff\n", b"5\n", b"{}\n"])
def test_progress_that_is_damaged_is_told(tmp_path: Path, content: bytes) -> None:
    folder = Folder(tmp_path)
    folder.progress.write_bytes(content)
    with pytest.raises(TrainingError, match=r"progress\.jsonl is damaged: .*; remove it"):
        folder.note({"steps": 2}, 1)
