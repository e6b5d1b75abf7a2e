"""One record of all that the kernels of PhysicsPlayground read and write.

A record is a single pointer for a kernel. Everything has room for the largest config, so that one
compilation serves all. The first part holds for an episode; the second is filled in at every step
from Bullet and from our state; the third is what `driving.drive` and `tasks.measure` find
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.worlds.physics_playground.config import MAX_AGENTS, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels import bodies
from piase_gym.worlds.physics_playground.levels.items import KINDS, MAX_OBJECTS
from piase_gym.worlds.physics_playground.levels.tasks import TASKS
from piase_gym.worlds.physics_playground.state import PlayState

MAX_BODIES: Final = MAX_OBJECTS + MAX_AGENTS
MAX_RAYS: Final = 64
CRATE_CODE: Final = KINDS.index("crate") + 1
REACH_TASK, STACK, KEEP_AWAY = (list(TASKS).index(task) for task in ("reach", "stack", "keep_away"))

GROUNDED, ON_FLOOR, AT_WALL, ON_RAMP, AT_OBJECT = range(5)
"""Columns of `touch`: whether something carries the agent, then what it touches; after the objects
come the agents."""
AT_AGENT: Final = AT_OBJECT + MAX_OBJECTS
FELT: Final = AT_AGENT + MAX_AGENTS

SCENE: Final = np.dtype(
    [
        # -- what holds for an episode
        ("task", "<i8"),
        ("objects", "<i8"),  # how many there are; they come first in `table`
        ("agents", "<i8"),
        ("rover", "<i8"),  # 1 if agents are rovers, 0 if they are spheres
        ("grips", "<i8"),  # 1 if agents have a gripper
        ("aims", "<i8"),  # 1 if there are targets or a zone
        ("kind", "<i8", MAX_OBJECTS),  # from 1 on, in the order of `KINDS`
        ("half", "<f8", (MAX_OBJECTS, 3)),
        ("wanted", "<i8", MAX_OBJECTS),  # 1 if the task is about this object
        ("ball", "<i8"),  # the first of them
        ("goal", "<f8", (MAX_AGENTS, 2)),  # each agent's target, or the middle of the zone
        ("zone", "<f8"),  # its radius, -1 if there is none
        ("near", "<f8"),  # how far from an agent's centre the surface of what it grips may be
        ("thrust", "<f8"),
        ("gain", "<f8"),  # newtons for each m/s that a wheel lacks
        ("rolling", "<f8"),  # newtons for each m/s by which a sphere is braked
        ("turning", "<f8"),  # newton metres for each radian a second that a sphere's spin lacks
        ("stiff", "<f8"),  # of a sphere's gyroscope
        ("damp", "<f8"),
        # -- where facts lie in rows; see `facts.Layout`
        ("shown", "<i8"),  # how many objects an agent sees
        ("rays", "<i8"),
        ("objects_at", "<i8"),
        ("others_at", "<i8"),
        ("lidar_at", "<i8"),
        ("touch_at", "<i8"),
        ("agents_at", "<i8"),  # agents that are touched
        ("ray_span", "<f8"),
        # -- what is now
        ("table", "<f8", (MAX_BODIES, 13)),  # position, quaternion, velocity, spin
        ("touch", "u1", (MAX_AGENTS, FELT)),
        ("share", "<f8", (MAX_AGENTS, MAX_RAYS)),  # how far each ray gets
        ("drives", "<f8", (MAX_AGENTS, 2)),  # wanted speed ahead and spin, from -1 to 1
        ("held", "<i8", MAX_AGENTS),  # the number of the object that an agent holds, or -1
        ("towed", "<i8", MAX_AGENTS),  # 1 if it is dragged by a rod
        ("playing", "<i8", MAX_AGENTS),
        ("placed", "<i8"),  # as the state has it
        # -- what kernels find out
        ("ahead", "<f8", (MAX_AGENTS, 2)),  # headings, as unit vectors on the floor
        ("up", "<f8", (MAX_AGENTS, 2)),  # x and y of their own verticals
        ("force", "<f8", (MAX_AGENTS, 3)),
        ("torque", "<f8", (MAX_AGENTS, 3)),
        ("inside", "<i8", MAX_OBJECTS),  # 1 if the object's centre is in the zone
        ("togo", "<f8", MAX_AGENTS),
        ("standing", "<i8"),  # objects where the task wants them
        ("caught", "<i8"),  # keep_away: 1 if a chaser touches the ball
        ("grasp", "<i8", MAX_AGENTS),  # the object that an agent could grip now, or -1
        ("way", "<f8", MAX_OBJECTS),  # scratch: of objects to the zone, or to an agent
        ("count", "<i8", MAX_OBJECTS),  # scratch: boxes in the tower on this one
    ],
    align=True,
)


def new_scene(state: PlayState, config: PhysicsPlaygroundConfig) -> NDArray[Any]:
    """Return the record of an episode, shape (1,), with its first part filled in."""
    scene = np.zeros(1, SCENE)
    one = scene[0]
    one["task"] = list(TASKS).index(config.task)
    one["objects"], one["agents"] = len(state.objects), len(state.agents)
    one["rover"], one["grips"] = config.body == "rover", config.can_grip
    kind = config.row.about
    for number, body in enumerate(state.objects):
        one["kind"][number], one["half"][number] = KINDS.index(body.shape) + 1, body.half
        one["wanted"][number] = config.task != "reach" and kind in (None, body.shape)
    one["ball"] = int(np.argmax(one["wanted"]))
    one["aims"] = bool(state.targets or state.zone)
    goals = state.targets or [state.zone] * len(state.agents)
    if one["aims"]:
        one["goal"][: len(goals)] = goals
    one["zone"] = config.zone if state.zone else -1.0
    one["near"] = bodies.hull(config.body) + bodies.REACH
    _tune(one, config)
    one["held"] = -1
    return scene


def _tune(one: Any, config: PhysicsPlaygroundConfig) -> None:
    """Fill in the gains: those of an explicit step, a share of the lack is made up in each."""
    mass, thrust, seconds = bodies.MASSES[config.body], bodies.THRUST[config.body], config.seconds
    share = min(0.5 / seconds, 8.0)
    one["thrust"], one["gain"] = thrust, mass * share
    one["rolling"] = min(thrust / bodies.TOP_SPEED[config.body], mass * share)
    one["turning"] = 0.4 * mass * bodies.SPHERE * bodies.SPHERE * share
    one["stiff"], one["damp"] = min(0.15 / seconds**2, 40.0), share


def offset(field: str) -> int:
    """Return at which byte of the record a field begins."""
    fields: Any = SCENE.fields
    return int(fields[field][1])


__all__: Sequence[str] = ["SCENE", "new_scene", "offset"]
