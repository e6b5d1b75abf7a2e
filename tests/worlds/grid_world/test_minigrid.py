"""GridWorld beside MiniGrid: the same level, the same commands, the same view at every step."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import piase_gym
from piase_gym.worlds.grid_world import cells as kinds

STEPS = 150
LIKE = kinds.WALL, kinds.KEY, kinds.GOAL, kinds.HAZARD
MAP = ["#####.G", "#'k.L.~", "#+#@###", "..#..k#", "..+.~.."]
LEVELS: dict[str, dict[str, Any]] = {
    "map": {"map": MAP},
    "door and key": {"layout": "door_key", "border": True},
    "rooms": {"layout": "multi_room", "width": 13, "height": 12},
    "locks": {"layout": "multi_room", "width": 13, "height": 12, "doors": "locked", "rooms": 3},
    "maze": {"layout": "maze", "width": 11, "height": 9},
    "obstacles": {"layout": "obstacles", "hazards": 3},
}


def twin(env: Any, window: int) -> Any:
    """Return MiniGrid's environment with the level of ours, in a frame of walls."""
    from minigrid.core.grid import Grid
    from minigrid.core.mission import MissionSpace
    from minigrid.core.world_object import Door, Goal, Key, Lava, Wall
    from minigrid.minigrid_env import MiniGridEnv

    state, side = env.world.states[0], env.world.side
    cells = state["cells"][: side * side].reshape(side, side)
    width, height = int(state["width"]), int(state["height"])
    make: dict[int, Any] = {
        kinds.WALL: Wall,
        kinds.GOAL: Goal,
        kinds.KEY: lambda: Key("blue"),
        kinds.LOCKED: lambda: Door("blue", is_locked=True),
        kinds.CLOSED: lambda: Door("blue"),
        kinds.OPEN: lambda: Door("blue", is_open=True),
        kinds.HAZARD: Lava,
    }

    class Twin(MiniGridEnv):  # type: ignore[misc]
        def _gen_grid(self, _width: int, _height: int) -> None:
            self.grid = Grid(width + 2, height + 2)
            self.grid.wall_rect(0, 0, width + 2, height + 2)
            for y, x in np.argwhere(cells[:height, :width] != kinds.FLOOR).tolist():
                self.grid.set(x + 1, y + 1, make[int(cells[y, x])]())
            self.agent_pos = int(state["x"][0]) + 1, int(state["y"][0]) + 1
            self.agent_dir = (int(state["heading"][0]) - 1) % 4
            self.mission = ""

    sizes = {"width": width + 2, "height": height + 2, "agent_view_size": window}
    see = env.config.see_through_walls
    return Twin(MissionSpace(lambda: ""), max_steps=10**6, see_through_walls=see, **sizes)


def seen(image: Any) -> Any:
    """Return MiniGrid's view in our codes, row by row."""
    codes = dict(zip((0, 1, 2, 5, 8, 9), (kinds.UNSEEN, kinds.FLOOR, *LIKE), strict=True))
    doors = kinds.OPEN, kinds.CLOSED, kinds.LOCKED
    view = [
        [doors[state] if kind == 4 else codes[kind] for kind, _, state in column]
        for column in image.tolist()
    ]
    return np.transpose(view).ravel()


def step_twin(other: Any, act: int, frame: str) -> Any:
    """Do with MiniGrid's actions what ours does."""
    actions, ahead = other.actions, other.grid.get(*other.front_pos)
    todo = [actions.done]
    if act < 4:
        turns = (0, 2, 3, 1)[act] if frame == "agent" else ((3, 1, 2, 0)[act] - other.agent_dir) % 4
        steps = frame == "grid" or act == 0
        todo = [actions.right] * turns + [actions.forward] * steps
    elif act == 5:
        on_floor = actions.drop if ahead is None else actions.pickup
        todo = [on_floor if ahead is None or ahead.type == "key" else actions.toggle]
    return [other.step(action) for action in todo][-1]


@pytest.mark.skipif(find_spec("minigrid") is None, reason="needs minigrid: make test-originals")
@pytest.mark.parametrize("level", LEVELS)
def test_both_play_alike(level: str) -> None:
    for window, frame, see in itertools.product((3, 7, 9), ("grid", "agent"), (False, True)):
        compare(LEVELS[level], window=window, frame=frame, see_through_walls=see)


def compare(level: dict[str, Any], window: int, frame: str, see_through_walls: bool) -> None:
    """Play a few levels in both at random, and compare what is seen and what comes of it."""
    fields = {"window": window, "frame": frame, "see_through_walls": see_through_walls}
    env = piase_gym.parallel_env("GridWorld", view="vector", **fields, **level)
    dice, own = np.random.default_rng(window), window**2 - 1 - window // 2
    for seed in range(4):
        ours, other = env.reset(seed=seed)[0], twin(env, window)
        theirs = other.reset()[0]
        for _ in range(STEPS):
            view, wanted = ours["agent_0"][: window**2].copy(), seen(theirs["image"])
            view[view == kinds.OUTSIDE] = kinds.WALL
            view[own] = wanted[own]  # the agent here, what it carries there
            np.testing.assert_array_equal(view, wanted)
            act = int(dice.choice(6, p=(0.25, 0.15, 0.15, 0.15, 0.05, 0.25)))
            theirs, reward, over, *_ = step_twin(other, act, frame)
            ours, _, terminated, _, infos = env.step({"agent_0": act})
            state = env.world.states[0]
            found = [int(state[name][0]) for name in ("x", "y", "heading", "carry")]
            carried = 0 if other.carrying is None else kinds.KEY
            x, y = other.agent_pos
            assert found == [x - 1, y - 1, (other.agent_dir + 1) % 4, carried]
            assert terminated["agent_0"] == over
            if over:
                assert (infos["agent_0"]["result"] == "won") == (reward > 0)
                break
