"""A team as one environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from piase_gym.envs.team import TeamEnv
from piase_gym.errors import (
    ActionError,
    ResetNeededError,
)
from piase_gym.registry import TEAM
from piase_gym.worlds.grid_world.config import GridWorldConfig
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


TASKS = ["GridWorld", GridWorldConfig(agents=2), "piase/TextRoom-LostKey-v3"]


@pytest.mark.parametrize("task", TASKS)
def test_max_episode_steps_is_the_limit_of_a_teams_world(task: Any) -> None:
    env: Any = gymnasium.make(TEAM, task=task, max_episode_steps=3)
    assert env.unwrapped.config.max_steps == env.spec.max_episode_steps == 3
    _, info = env.reset(seed=0)
    for _ in range(3):
        _, _, *ends, info = env.step([int(mask.argmax()) for mask in info["action_mask"]])
    assert ends == [False, True]
    seats = range(env.unwrapped.n_agents)
    assert {env.unwrapped.runner.world.result(seat) for seat in seats} == {"lost"}
    assert gymnasium.make(env.spec).unwrapped.config == env.unwrapped.config
    usual: Any = gymnasium.make(TEAM, task=task)
    assert gymnasium.make(usual.spec).unwrapped.config == usual.unwrapped.config
    unlimited: Any = gymnasium.make(TEAM, task=task, max_episode_steps=-1)
    assert unlimited.unwrapped.config == usual.unwrapped.config
