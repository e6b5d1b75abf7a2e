"""What a folder of collected episodes says of itself, and rows of a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piase_gym.collection.folder import _check_kind
from piase_gym.collection.manifest import FORMAT, read_manifest, sizes_of
from piase_gym.collection.table import flat_rows
from piase_gym.errors import ConfigError, StorageError


def write(folder: Path, **changes: Any) -> None:
    """Write a manifest of one shard of three bytes."""
    told = {"format": FORMAT, "shards": [{"files": {"a.bin": {"bytes": 3}}}], **changes}
    (folder / "manifest.json").write_text(json.dumps(told), "utf-8")


def test_a_manifest_is_of_files_that_are_there(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "a.bin"
    with pytest.raises(StorageError, match=r"a\.bin has 0 bytes; its manifest says 3"):
        read_manifest(tmp_path)
    file.write_bytes(b"ab")
    with pytest.raises(StorageError, match=r"a\.bin has 2 bytes; its manifest says 3"):
        read_manifest(tmp_path)
    file.write_bytes(b"abc")
    found = read_manifest(tmp_path)
    assert found["format"] == FORMAT == 2
    assert list(sizes_of(tmp_path, found["shards"][0])) == [(file, 3, 3)]


def test_what_is_no_manifest_is_named(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    with pytest.raises(StorageError, match=r"manifest\.json cannot be read: "):
        read_manifest(tmp_path)
    for damage in ("{", "[" * 100_000):
        path.write_text(damage, "utf-8")
        with pytest.raises(StorageError, match=r"manifest\.json cannot be read: "):
            read_manifest(tmp_path)
    path.write_text("[]", "utf-8")
    with pytest.raises(StorageError, match=r"manifest\.json is no manifest of format 2"):
        read_manifest(tmp_path)
    for shards in (3, [{}], [{"files": {"a.bin": {}}}], [{"files": {"a.bin": 3}}]):
        write(tmp_path, shards=shards)
        with pytest.raises(StorageError, match=r"manifest\.json is damaged: "):
            read_manifest(tmp_path)
    write(tmp_path, format=1)
    with pytest.raises(StorageError, match=r"manifest\.json is no manifest of format 2"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("keep", "format", "told"),
    [
        ("action", "parquet", "unknown kind of episodes 'action'; did you mean 'actions'"),
        ("text", "parket", "unknown format of episodes 'parket'; did you mean 'parquet'"),
        ("text", "minari", "Minari datasets have observations; keep='text' goes with parquet"),
    ],
)
def test_what_cannot_be_kept_is_refused(keep: str, format: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _check_kind(keep, format)
    assert str(caught.value).startswith(told)


def test_rows_are_of_those_in_play() -> None:
    """Two environments of two agents, of whom one has left."""
    alive = np.array([[True, True], [False, True]])
    number = np.arange(4).reshape(2, 2)
    given = (alive, np.array([7, 8]), np.array([3, 4]), number, number / 2, number > 1, number < 1)
    rows = flat_rows(np.arange(12).reshape(2, 2, 3), *given)
    assert {name: values.tolist() for name, values in rows.items()} == {
        "env": [0, 0, 1],
        "seed": [7, 7, 8],
        "step": [3, 3, 4],
        "agent": [0, 1, 1],
        "action": [0, 1, 3],
        "reward": [0.0, 0.5, 1.5],
        "terminated": [False, False, True],
        "truncated": [True, False, False],
        "observation": [[0, 1, 2], [3, 4, 5], [9, 10, 11]],
    }
    whole = flat_rows(None, np.ones((2, 2), np.bool_), *given[1:])
    assert "observation" not in whole
    assert whole["agent"].tolist() == [0, 1, 0, 1]
    assert whole["env"].dtype == whole["step"].dtype == whole["action"].dtype == np.int32
