"""A team as one environment."""

from __future__ import annotations

import numpy as np
import pytest

from piase_gym.envs.team import TeamEnv
from piase_gym.errors import (
    ActionError,
    ResetNeededError,
)
from tests import probes

probes.register()


def test_a_team_ends_with_its_last_agent() -> None:
    """Two points run out of their three steps together: a limit has ended the episode."""
    env = TeamEnv("PointProbe", agents=2, max_steps=3, arrival=0.001)
    with pytest.raises(ResetNeededError):
        env.step([4, 4])
    shown, info = env.reset(seed=1)
    assert [entry.dtype for entry in shown] == [np.float32] * 2
    assert info["action_mask"].tolist() == [[1] * 5] * 2
    for wrong in ([4], [4, 4, 4], 4):
        with pytest.raises(ActionError, match="a team's action has 2 entries"):
            env.step(wrong)  # type: ignore[arg-type]
    ends = [env.step([4, 4])[1:4] for _ in range(3)]
    assert [end[1:] for end in ends] == [(False, False), (False, False), (False, True)]
    assert all(len(end[0]) == 2 and max(end[0]) < 0 for end in ends)
    with pytest.raises(ResetNeededError, match="the episode is over"):
        env.step([4, 4])
    env.reset(seed=2)
    assert env.step([4, 4])[2:4] == (False, False)
    won = TeamEnv("PointProbe", agents=1, arrival=2.0)
    won.reset(seed=0)
    assert won.step([4])[2:4] == (True, False)
