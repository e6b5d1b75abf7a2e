"""What PhysicsPlayground's script does for what it is told, one case at a time."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pybullet")

from piase_gym.worlds.physics_playground.actions import GRIP, NOOP, RELEASE
from piase_gym.worlds.physics_playground.bullet.client import SLOW_GRIP
from piase_gym.worlds.physics_playground.facts import PhysicsPlaygroundFacts, Sighting
from piase_gym.worlds.physics_playground.players.scripted import PATIENCE, PhysicsPlaygroundScript

AHEAD, LEFT, RIGHT = (1.0, 0.0), (0.0, 1.0), (0.0, -1.0)


def seen(
    name: str, distance: int, bearing: int = 0, height: int = 20, place: str = "free"
) -> Sighting:
    """Return something in sight, in centimetres and degrees."""
    return Sighting(name, distance, bearing, height, 0, place)


def told(*objects: Sighting, **more: Any) -> PhysicsPlaygroundFacts:
    """Return the facts of an agent that faces east, away from the middle of the floor."""
    facts: dict[str, Any] = {
        "agent": "agent_0",
        "messages": (),
        "hint": None,
        "position": (150, -90, 10),
        "heading": 0,
        "velocity": (0, 0),
        "turning": 0,
        "holding": None,
        "touching": (),
        "goal": None,
        "placed": (0, 2),
        "objects": objects,
        "others": (),
        "lidar": (),
    }
    return PhysicsPlaygroundFacts(**{**facts, **more})


def player(task: str, facts: PhysicsPlaygroundFacts, grips: bool = True) -> PhysicsPlaygroundScript:
    """Return a script that is told the same in every step."""
    world: Any = SimpleNamespace(
        config=SimpleNamespace(task=task, body="rover", range=3.0, zone=0.8),
        facts=lambda _: facts,
        legal=lambda _, command: grips and command == GRIP,
        agents=tuple(f"agent_{k}" for k in range(4)),
    )
    return PhysicsPlaygroundScript(world)


def does(
    task: str, facts: PhysicsPlaygroundFacts, agent: int = 0, grips: bool = True, step: int = 1
) -> Any:
    """Return what the script does in a step: how it drives, ahead and to the left, or a command."""
    script = player(task, facts, grips)
    for _ in range(step):
        command = script.act(agent)
    if command.verb != "drive" or "hand" in command.parameters:
        return command
    values = command.parameters
    return round(values["ahead"], 3), round(values["turn"], 3)


@pytest.mark.parametrize(
    ("goal", "drive"),
    [
        ((300, 0), AHEAD),
        ((300, 90), LEFT),
        ((300, -90), RIGHT),
        ((20, 0), (0.45, 0.0)),  # slowly, for it is near
        ((300, 12), (0.651, 0.524)),
        ((300, -12), (0.651, -0.524)),
    ],
)
def test_it_turns_to_its_target_and_goes_there(
    goal: tuple[int, int], drive: tuple[float, float]
) -> None:
    assert does("reach", told(goal=goal)) == drive
    turned = told(goal=goal, position=(-70, 20, 10), heading=135)
    assert does("reach", turned) == drive  # bearings are from where it stands and faces


@pytest.mark.parametrize(
    ("facts", "side"),
    [
        ({"objects": (seen("red box", 100, 10),)}, -1),
        ({"objects": (seen("red box", 100, -10),)}, 1),
        ({"objects": (seen("red box", 100, 60),)}, 0),  # not in the way
        ({"objects": (seen("red box", 250),)}, 0),  # too far away to matter yet
        ({"objects": (seen("red box", 100, 10, place="held"),)}, 0),
        ({"objects": (seen("red crate", 90, 50, height=15),)}, 0),
        ({"objects": (seen("red crate", 90, 38, height=15),)}, -1),  # crates are wide
        ({"objects": (seen("red box", 90, 38, height=15),)}, 0),
        ({"others": (seen("agent_1", 90, 10),)}, -1),
        ({"others": (seen("agent_1", 90, -10),)}, 1),
        ({"lidar": (70, 300, 300, 300)}, 1),  # a wall
        ({"lidar": (300, 300, 300, 300)}, 0),
        ({"lidar": (300, 20, 300, 300)}, 0),  # to the left
    ],
)
def test_it_goes_around_what_is_in_the_way(facts: dict[str, Any], side: int) -> None:
    drive = does("reach", told(**{"goal": (300, 0), **facts}))
    assert math.copysign(bool(drive[1]), drive[1]) == side


def test_what_lidar_meets_is_nothing_new_where_something_is_seen() -> None:
    """A box that stands to one side is passed there, though a ray ends on its face."""
    box = seen("red box", 70, 58)
    assert does("reach", told(box, goal=(300, 0), lidar=(300,) * 12)) == AHEAD
    rays = (300, 40, *[300] * 10)
    assert does("reach", told(box, goal=(300, 0), lidar=rays)) == AHEAD
    assert does("reach", told(goal=(300, 0), lidar=rays)) != AHEAD


@pytest.mark.parametrize(
    ("facts", "done"),
    [
        (told(goal=(200, 0)), NOOP),
        (told(seen("red box", 60, place="in the zone"), goal=(200, 0)), NOOP),
        (told(seen("red box", 50), goal=(200, 0)), (0.7, 0.0)),  # behind it: push
        (told(seen("red box", 50, 10), goal=(200, 0)), (0.285, 0.889)),  # a little beside it
        (told(seen("red box", 50, -20), goal=(200, 0)), RIGHT),
        (told(seen("red box", 120), goal=(200, 0)), (0.806, 0.0)),  # up to it, more slowly
        (
            told(seen("red box", 60, place="in the zone"), seen("blue box", 50), goal=(200, 0)),
            (0.7, 0.0),
        ),
    ],
)
def test_who_pushes_is_behind_a_loose_thing(facts: PhysicsPlaygroundFacts, done: Any) -> None:
    assert does("push", facts) == done


@pytest.mark.parametrize(
    ("facts", "done"),
    [
        (told(), NOOP),
        (told(seen("red box", 30, 90), seen("blue box", 60)), GRIP),  # red stays below
        (told(seen("blue box", 60), seen("red box", 90, 90)), GRIP),
        (told(seen("red box", 60, 90), seen("blue box", 200, -90)), RIGHT),
        (told(seen("blue box", 60, -40), seen("red box", 200)), RIGHT),  # not yet ahead
        (told(seen("blue box", 60, -40), seen("red box", 60)), RIGHT),
        (told(seen("red box", 100), seen("blue box", 100, height=60)), NOOP),  # a tower
        (told(seen("red box", 70), seen("blue box", 70, height=60)), (-0.5, 0.0)),  # too near it
        (told(seen("red box", 70, 180), seen("blue box", 70, 180, height=60)), (0.5, 0.0)),
        (told(seen("red box", 70), seen("blue box", 80, 5, height=60, place="held")), (-0.5, 0.0)),
        (
            told(seen("red box", 200), seen("blue box", 100, 90, place="held")),
            NOOP,  # another stacks
        ),
    ],
)
def test_who_stacks_grips_a_loose_box_or_keeps_off(
    facts: PhysicsPlaygroundFacts, done: Any
) -> None:
    assert does("stack", facts) == done


@pytest.mark.parametrize(
    ("distance", "bearing", "step", "done"),
    [
        (80, 0, SLOW_GRIP - 1, (-0.3, 0.0)),  # it backs off with what it has just gripped
        (80, 0, SLOW_GRIP, (0.0, 0.0)),  # and comes to rest
        (80, 0, SLOW_GRIP + 3, (0.0, 0.0)),
        (80, 0, SLOW_GRIP + 4, (0.42, 0.0)),
        (200, 0, 30, AHEAD),
        (50, 0, 30, (0.18, 0.0)),
        (46, 0, 30, (0.148, 0.0)),
        (44, 0, 30, RELEASE),
        (44, 6, 30, RELEASE),
        (44, 10, 30, (0.094, 0.436)),
    ],
)
def test_who_carries_a_box_puts_it_on_the_tower(
    distance: int, bearing: int, step: int, done: Any
) -> None:
    mine = seen("green box", 40, height=30, place="held")
    facts = told(mine, seen("red box", distance, bearing), holding="green box")
    assert does("stack", facts, step=step) == done


def test_the_highest_box_is_the_tower() -> None:
    mine = seen("green box", 40, height=30, place="held")
    low, high = seen("red box", 80, 90), seen("blue box", 80, -90, height=60)
    assert does("stack", told(mine, low, high, holding="green box"), step=30) == RIGHT
    level = seen("blue box", 80, -90)
    assert does("stack", told(mine, low, level, holding="green box"), step=30) == LEFT
    assert does("stack", told(mine, holding="green box"), step=30) == NOOP


def gathering(
    distance: int, bearing: int, place: str, goal: tuple[int, int], name: str = "red ball"
) -> PhysicsPlaygroundFacts:
    """Return the facts of who holds a ball."""
    return told(seen(name, distance, bearing, place=place), holding=name, goal=goal)


@pytest.mark.parametrize(
    ("facts", "done"),
    [
        (told(goal=(200, 0)), NOOP),
        (told(seen("red ball", 100, place="in the zone"), goal=(200, 0)), NOOP),
        (told(seen("red ball", 100, 90), goal=(200, 0)), LEFT),
        (told(seen("red ball", 50, 20), goal=(200, 0)), GRIP),
        (gathering(40, 0, "held", (300, 0)), AHEAD),
        (gathering(40, 0, "held", (300, 90)), (0.0, 1.0)),
        (gathering(40, 0, "held in the zone", (60, 0)), RELEASE),
        (gathering(40, 0, "held", (60, 0)), AHEAD),
        (gathering(40, 0, "held in the zone", (100, 0)), AHEAD),  # at the edge of the zone
        (gathering(40, 0, "held in the zone", (85, 0)), AHEAD),
        (gathering(40, 0, "held in the zone", (83, 0)), RELEASE),
    ],
)
def test_who_gathers_fetches_and_brings(facts: PhysicsPlaygroundFacts, done: Any) -> None:
    assert does("gather", facts) == done


@pytest.mark.parametrize(
    ("name", "side"), [("red", 0), ("blue", 1), ("green", 0), ("yellow", -1), ("purple", 0)]
)
def test_each_thing_has_its_own_place_in_the_zone(name: str, side: int) -> None:
    """The places of four are beyond the middle, to its left, before it and to its right."""
    facts = gathering(20, 0, "held", (100, 0), name=f"{name} ball")
    drive = does("gather", dataclasses.replace(facts, placed=(0, 4)))
    assert math.copysign(round(abs(drive[1]), 6) > 0, drive[1]) == side


@pytest.mark.parametrize(
    ("objects", "others", "agent", "done"),
    [
        ((), (), 0, NOOP),
        ((), (), 1, NOOP),
        ((seen("red ball", 100),), (), 0, NOOP),  # no chaser is seen
        ((seen("red ball", 100),), (), 1, AHEAD),
        ((seen("red box", 50, -90), seen("red ball", 100, 90)), (), 1, LEFT),
        ((seen("red ball", 100),), (seen("agent_1", 100, 90),), 0, LEFT),
        ((seen("red ball", 100),), (seen("agent_1", 100, -90),), 0, RIGHT),
        ((seen("red ball", 100),), (seen("agent_2", 100, -90),), 0, NOOP),  # a keeper, too
        (
            (seen("red ball", 100),),
            (seen("agent_1", 100, 90), seen("agent_3", 120, -40)),
            0,
            RIGHT,  # the nearest to the ball
        ),
    ],
)
def test_keepers_stand_before_chasers_who_run_for_the_ball(
    objects: tuple[Sighting, ...], others: tuple[Sighting, ...], agent: int, done: Any
) -> None:
    assert does("keep_away", told(*objects, others=others), agent) == done


CRATE = seen("red crate", 60, height=15)
HELD = seen("red crate", 60, height=15, place="held")


@pytest.mark.parametrize(
    ("facts", "agent", "grips", "done"),
    [
        (told(goal=(300, 0)), 0, True, NOOP),
        (told(CRATE, goal=(300, 0)), 0, True, GRIP),
        (told(seen("red crate", 60, 50), goal=(300, 0)), 0, True, GRIP),
        (told(seen("red crate", 60, 60), goal=(0, 0)), 0, True, LEFT),
        # It goes around to the side of the zone, each agent to its own end of the crate.
        (told(seen("red crate", 150), goal=(300, 0)), 0, False, (0.316, -1.0)),
        (told(seen("red crate", 150), goal=(300, 0)), 1, False, (0.316, 1.0)),
        (told(CRATE, goal=(0, 0)), 0, False, LEFT),
        (told(CRATE, goal=(0, 0)), 1, False, RIGHT),
    ],
)
def test_who_carries_a_crate_grips_it_at_its_own_end(
    facts: PhysicsPlaygroundFacts, agent: int, grips: bool, done: Any
) -> None:
    assert does("carry", facts, agent, grips) == done


@pytest.mark.parametrize(
    ("away", "step", "done"),
    [
        (120, PATIENCE - 1, NOOP),
        (120, PATIENCE, AHEAD),
        (200, PATIENCE, NOOP),  # not at the crate
        (200, 3 * PATIENCE, NOOP),
    ],
)
def test_a_crate_is_pulled_when_the_others_had_time_to_grip_it(
    away: int, step: int, done: Any
) -> None:
    facts = told(HELD, holding="red crate", goal=(300, 0), others=(seen("agent_1", away),))
    assert does("carry", facts, step=step) == done


@pytest.mark.parametrize(
    ("bearing", "drive"),
    [(0, AHEAD), (60, LEFT), (180, (-1.0, 0.0)), (170, (-0.757, -0.364)), (-120, (0.0, 1.0))],
)
def test_a_crate_is_pulled_forwards_or_backwards(bearing: int, drive: tuple[float, float]) -> None:
    facts = told(HELD, holding="red crate", goal=(300, bearing))
    assert does("carry", facts, step=PATIENCE) == drive


def test_what_was_let_go_is_waited_for_anew() -> None:
    """Readiness counts from the grip on."""
    held = told(HELD, holding="red crate", goal=(300, 0))
    facts = [*[held] * PATIENCE, told(CRATE, goal=(300, 0)), held]
    script, done = player("carry", facts[0]), []
    world: Any = script.world
    for row in facts:
        world.facts = lambda _, row=row: row
        done.append(script.act(0))
    assert done[PATIENCE - 1] not in (NOOP, GRIP)
    assert done[PATIENCE:] == [GRIP, NOOP]
