"""Every level that GridWorld makes has a solution: found by a plain search in the test."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, get_args

import pytest

from piase_gym.registry import literals, task_spec
from piase_gym.worlds.grid_world import cells as codes
from piase_gym.worlds.grid_world import levels
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.world import GridWorld

Cell = tuple[int, int]
FREE = {codes.FLOOR, codes.GOAL, codes.CLOSED, codes.OPEN, codes.FRUIT, codes.BARE}
SWITCHES = {codes.SWITCH_OFF, codes.SWITCH_ON}


def near(cell: Cell) -> list[Cell]:
    """Return the four cells beside a cell."""
    x, y = cell
    return [(x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)]


def grid_of(world: GridWorld) -> dict[Cell, int]:
    """Return the objects by place."""
    flat, side = world.get_state()["cells"], world.side
    rows, columns = range(world.config.height), range(world.config.width)
    return {(x, y): flat[y * side + x] for y in rows for x in columns}


def reachable(grid: dict[Cell, int], start: Cell) -> set[Cell]:
    """Search over (cell, has key, switch turned); boxes, hazards, drones and food are walls."""
    first = (start, False, False)
    queue, seen = [first], {first}
    for cell, key, turned in queue:  # grows while it is walked through
        following = []
        for to in near(cell):
            code = grid.get(to, codes.WALL)
            if code == codes.KEY:
                following.append((cell, True, turned))
            if code in SWITCHES and grid[cell] not in (codes.GATE, codes.GATE_OPEN):
                following.append((cell, key, not turned))
            gate = codes.GATE if turned else codes.GATE_OPEN
            with_key = key and code in (codes.KEY, codes.LOCKED)
            if code in FREE or code == gate or with_key:
                following.append((to, key, turned))
        new = [state for state in following if state not in seen]
        seen.update(new)
        queue.extend(new)
    return {cell for cell, _, _ in seen}


def assert_solvable(world: GridWorld, case: object) -> None:
    """Check that every agent can do its task as if it were alone."""
    state, grid, config = world.get_state(), grid_of(world), world.config
    starts = list(zip(state["x"], state["y"], strict=True))[: config.agents]
    levels = [config.levels[a] if a < len(config.levels) else 1 for a in range(config.agents)]
    for start in starts:
        found = reachable(grid, start)
        if config.layout == "tag":
            assert set(starts) <= found, case
        elif config.clearing:
            for cell, code in grid.items():
                weight = code - codes.FOOD + 1
                sides = sum(beside in found for beside in near(cell))
                if weight > 0:
                    assert sum(sorted(levels, reverse=True)[:sides]) >= weight, case
        else:
            assert any(grid[cell] == codes.GOAL for cell in found), case


STREWN = {"boxes": 4, "hazards": 4, "movers": 3}
LAYOUTS: dict[str, dict[str, Any]] = {
    **{
        f"rooms {doors}": {"layout": "multi_room", "doors": doors}
        for doors in ("open", "closed", "locked", "gates", "mixed")
    },
    "maze": {"layout": "maze"},
    "foraging": {"layout": "foraging", "agents": 3, "food_level": 4, "levels": (1, 2, 1)},
    "tag": {"layout": "tag", "agents": 4, "taggers": 2},
    "obstacles": {"layout": "obstacles", "agents": 2},
}


@pytest.mark.parametrize("doors", ["locked", "gates", "mixed"])
@pytest.mark.parametrize(("rooms", "agents"), [(16, 9), (16, 32), (5, 32)])
def test_many_agents_in_many_rooms_find_a_way(doors: str, rooms: int, agents: int) -> None:
    """Hardly any level drawn freely has a key within everybody's reach."""
    fields = {"layout": "multi_room", "doors": doors, "rooms": rooms, "agents": agents}
    world = GridWorld(GridWorldConfig(**fields, width=40, height=36, border=True, boxes=5))
    for seed in range(6):
        world.reset(seed)
        assert_solvable(world, seed)
        cells = {
            (x, y)
            for x, y in zip(*(world.states[0][n][:agents].tolist() for n in "xy"), strict=True)
        }
        assert len(cells) == agents


@pytest.mark.parametrize("strewn", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_level_can_be_solved(name: str, strewn: bool) -> None:
    many = STREWN if strewn and name != "maze" else {"hazards": 1, "movers": 1} if strewn else {}
    kinds = set()
    for difficulty in (0.0, 0.3, 0.7, 1.0, (0.0, 1.0), None):
        fields = {"width": 13, "height": 11, "border": True, "difficulty": difficulty}
        world = GridWorld(GridWorldConfig(**{**fields, **LAYOUTS[name], **many}))
        for seed in range(25):
            world.reset(seed)
            assert_solvable(world, (difficulty, seed))
            kinds.update(grid_of(world).values())
    needed = {"rooms locked": codes.LOCKED, "rooms gates": codes.GATE, "rooms closed": codes.CLOSED}
    assert needed.get(name, codes.FLOOR) in kinds
    assert not strewn or {codes.HAZARD, codes.MOVER} <= kinds


# -- a level is a file ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(Path(levels.__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_what_is_read_of_a_level_is_what_it_says(path: Path) -> None:
    """Files are read without being imported; an import says the same."""
    said = literals(path)
    module = importlib.import_module(f"{levels.__name__}.{path.stem}".removesuffix(".__init__"))
    for name in ("TASKS", "LAYOUT", "LEAST_INSIDE", "REWARDS", "AIM", "MAY_FAIL", "PLAIN_RULES"):
        assert said.get(name) == getattr(module, name, None), name
    for task, fields in said.get("TASKS", {}).items():
        config = task_spec(f"piase/GridWorld-{task}").config
        side = fields.pop("square", None)
        assert fields.items() <= config.items()
        assert side is None or config["width"] == config["height"] == side


def test_layouts_are_numbered_from_zero() -> None:
    numbers = [levels.of_layout(name, "LAYOUT", None) for name in levels.LAYOUTS]
    assert numbers == list(range(len(numbers)))
    assert levels.LAYOUTS[0] == GridWorldConfig().layout == "empty"
    assert set(get_args(GridWorldConfig.model_fields["layout"].annotation)) == set(levels.LAYOUTS)
