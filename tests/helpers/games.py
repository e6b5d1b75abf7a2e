"""Games of `piase play` that are simple."""

from __future__ import annotations

from typing import Any

import piase_gym
from piase_gym.core.commands import Command
from piase_gym.envs.single import GymEnv
from piase_gym.play.session import CommandResult, Game

LANE: dict[str, Any] = {"start_pos": (0, 0), "goal_pos": (3, 1), "width": 5, "height": 4}
"""Four steps to the goal: three to the right, one down."""
BEST = ("move right", "move right", "move right", "move down")


def make(task: str) -> GymEnv:
    """Return a lane for a person."""
    return piase_gym.gym_env(task, view="text", actions="text", **LANE)


def do(game: Game, *lines: str) -> CommandResult:
    """Do what lines say; return what came of the last."""
    for line in lines:
        command = game.read(line)
        assert isinstance(command, Command)
        turn = game.act(command)
    return turn
