"""What follows from each act at a place, as planners are told, held to the rules by hand."""

from __future__ import annotations

import pytest

from piase_gym.worlds.grid_world import cells as kinds
from piase_gym.worlds.grid_world.config import GridWorldConfig
from piase_gym.worlds.grid_world.players.successors import Ground, Outcomes, Successors
from piase_gym.worlds.grid_world.rules import events
from piase_gym.worlds.grid_world.world import GridWorld

NORTH, EAST, SOUTH, WEST = range(4)
WIDTH = HEIGHT = 5
MIDDLE = (2, 2)


def ground(**around: int) -> Ground:
    """Return an empty map with things around its middle."""
    stride = WIDTH + 2
    cells = bytearray([kinds.OUTSIDE] * (stride * (HEIGHT + 2)))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            cells[(y + 1) * stride + x + 1] = kinds.FLOOR
    shifts = {"north": -stride, "east": 1, "south": stride, "west": -1}
    for side, code in around.items():
        cells[middle() + shifts[side]] = code
    return Ground(bytes(cells), stride)


def middle() -> int:
    """Return the place of the cell in the middle."""
    return (MIDDLE[1] + 1) * (WIDTH + 2) + MIDDLE[0] + 1


def outcomes(carry: int, **around: int) -> tuple[Ground, Outcomes]:
    """Return what follows in the middle of a map."""
    world = GridWorld(GridWorldConfig(width=WIDTH, height=HEIGHT))
    found = ground(**around)
    return found, Successors(world).of(found.cells, carry, middle())


def test_moves_lead_next_door_or_are_blocked() -> None:
    found, after = outcomes(0, north=kinds.WALL, east=kinds.GOAL, south=kinds.OPEN)
    here = middle()
    assert after.places[:4] == [here, here + 1, here + found.stride, here - 1]
    assert after.events[:4] == [events.BLOCKED, events.REACH_GOAL, events.MOVE, events.MOVE]
    assert after.places[4:] == [here] * 4
    assert after.carries == [0] * 8
    assert after.maps == [None, None, None, None, None, None, after.maps[6], None]


@pytest.mark.parametrize(
    ("carry", "code", "event", "after", "held"),
    [
        (0, kinds.KEY, events.PICK_UP, kinds.FLOOR, kinds.KEY),
        (0, kinds.LOCKED, events.NO_KEY, None, 0),
        (0, kinds.CLOSED, events.OPEN_DOOR, kinds.OPEN, 0),
        (0, kinds.OPEN, events.CLOSE_DOOR, kinds.CLOSED, 0),
        (0, kinds.FLOOR, events.ILLEGAL, None, 0),
        (kinds.KEY, kinds.LOCKED, events.UNLOCK, kinds.OPEN, kinds.KEY),
        (kinds.KEY, kinds.FLOOR, events.DROP, kinds.KEY, 0),
        (kinds.KEY, kinds.WALL, events.ILLEGAL, None, kinds.KEY),
    ],
)
@pytest.mark.parametrize("side", ["north", "east", "south", "west"])
def test_interactions_change_what_lies_ahead_and_what_is_held(
    side: str, carry: int, code: int, event: int, after: int | None, held: int
) -> None:
    found, told = outcomes(carry, **{side: code})
    act = 4 + ["north", "east", "south", "west"].index(side)
    place = middle() + found.steps[act - 4]
    assert told.events[act] == event
    assert told.carries[act] == held
    assert told.places[act] == middle()
    changed = told.maps[act]
    if after is None:
        assert changed is None
    else:
        assert changed is not None
        assert changed[place] == after
        assert [k for k, code in enumerate(changed) if code != found.cells[k]] == [place]


def test_walks_lead_where_moves_do_but_not_into_harm() -> None:
    world = GridWorld(GridWorldConfig(width=WIDTH, height=HEIGHT))
    found = ground(north=kinds.HAZARD, east=kinds.BOX, south=kinds.LOCKED)
    here = middle()
    assert Successors(world).walks(found.cells)[here] == [here, here, here, here - 1]
