"""Errors reach other processes as they are."""

from __future__ import annotations

import pickle

import pytest

from piase_gym.errors import (
    ConfigError,
    JobError,
    MissingExtraError,
    PiaseError,
    StorageError,
    UnknownNameError,
    WindowError,
)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("no"),
        UnknownNameError("agent", "x", ["y"]),
        JobError("a job", "it failed", "a trace"),
        MissingExtraError("this", "data"),
        StorageError("the disk is full"),
        WindowError("gone", "the window is gone"),
    ],
)
def test_errors_are_pickled_whole(error: PiaseError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)
