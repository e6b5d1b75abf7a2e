"""Spaces are written as data and read back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from gymnasium import spaces

from piase_gym.agents.space_data import (
    MAX_SYMBOLS,
    action_spaces,
    misfit,
    read_space,
    symbol_starts,
    write_space,
)
from piase_gym.errors import (
    ConfigError,
)
from tests import probes
from tests.helpers.percepts import percept_of

probes.register()


def test_spaces_are_written_and_read() -> None:
    box = spaces.Box(np.array([[0, 1]], np.int16), np.array([[5, 9]], np.int16), dtype=np.int16)
    assert write_space(box) == {
        "dtype": "int16",
        "shape": [1, 2],
        "low": [[0, 1]],
        "high": [[5, 9]],
    }
    for space in (box, spaces.Discrete(7), spaces.Box(-1.1, 2.3, (2,), np.float32)):
        assert read_space(json.loads(json.dumps(write_space(space)))) == space
    assert action_spaces(percept_of("PointProbe").world) == [
        spaces.Discrete(5),
        spaces.Box(-1.0, 1.0, (2,), np.float32),
    ]
    assert action_spaces(percept_of("GridWorld").world) == [spaces.Discrete(6)]
    told = str(misfit("it", spaces.Discrete(2), spaces.Discrete(3), "that"))
    assert told == (
        "it was trained for observations Discrete(2) and actions Discrete(3), not for that"
    )


def test_symbols_are_counted_on() -> None:
    """Places with two, three and one values begin at 0, 2 and 5; there are six symbols."""
    assert symbol_starts([[1], [2], [0]]).tolist() == [0, 2, 5, 6]
    assert symbol_starts(np.array([255, 1], np.uint8)).tolist() == [0, 256, 258]
    assert symbol_starts([MAX_SYMBOLS - 1])[-1] == MAX_SYMBOLS
    with pytest.raises(ConfigError, match="with 262,145 different values are no symbols"):
        symbol_starts([MAX_SYMBOLS])
