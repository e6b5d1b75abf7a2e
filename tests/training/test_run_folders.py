"""Folders of training runs: one is free, another holds a run, and some cannot hold any."""

from __future__ import annotations

from pathlib import Path

import pytest

from piase_gym.errors import ConfigError, StorageError, TrainingError

pytest.importorskip("stable_baselines3")

from piase_gym.training.checkpoints import Folder
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
