"""One record of everything that the kernels of PhysicsPlayground read and write.

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

from piase_gym.compiled.stepping import fields_of
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
        # how many objects there are (they come first in `table`) and agents; 1 if agents are
        # rovers, if they have a gripper, if there are targets or a zone
        *fields_of("<i8", "task objects agents rover grips aims"),
        # from 1 on, in the order of `KINDS`, 0 for what is away; 1 if the task is about this object
        *fields_of("<i8", "kind wanted", MAX_OBJECTS),
        ("half", "<f8", (MAX_OBJECTS, 3)),
        ("ball", "<i8"),  # the first object that the task is about, or -1
        ("goal", "<f8", (MAX_AGENTS, 2)),  # each agent's target, or the middle of the zone
        ("zone", "<f8"),  # its radius, -1 if there is none
        ("near", "<f8"),  # how far from an agent's centre the surface of what it grips may be
        # newtons at most; for each m/s that a wheel lacks; for each m/s by which a sphere is
        # braked; newton metres for each radian a second that a sphere's spin lacks; its gyroscope
        *fields_of("<f8", "thrust gain rolling turning stiff damp"),
        # -- where facts lie in rows, and how many objects an agent sees; see `facts.Layout`
        *fields_of("<i8", "shown rays objects_at others_at lidar_at touch_at agents_at"),
        ("ray_span", "<f8"),
        ("sight", "<f8"),  # how far other agents are seen
        # -- what is now
        ("table", "<f8", (MAX_BODIES, 13)),  # position, quaternion, velocity, spin
        ("touch", "u1", (MAX_AGENTS, FELT)),
        ("share", "<f8", (MAX_AGENTS, MAX_RAYS)),  # how far each ray gets
        ("drives", "<f8", (MAX_AGENTS, 2)),  # wanted speed ahead and spin, from -1 to 1
        # the number of the object that an agent holds, or -1; 1 if it is dragged by a rod
        *fields_of("<i8", "held towed playing", MAX_AGENTS),
        ("placed", "<i8"),  # as the state has it
        # -- what kernels find out
        # headings, as unit vectors on the floor; x and y of agents' own verticals
        *fields_of("<f8", "ahead up", (MAX_AGENTS, 2)),
        *fields_of("<f8", "force torque", (MAX_AGENTS, 3)),
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


def new_scene(
    state: PlayState, config: PhysicsPlaygroundConfig, wanted: Sequence[int]
) -> NDArray[Any]:
    """Return the record of an episode, shape (1,), with its first part filled in.

    Args:
        state: The episode's state.
        config: The episode's config.
        wanted: The objects that the task is about.
    """
    scene = np.zeros(1, SCENE)
    one = scene[0]
    one["task"] = list(TASKS).index(config.task)
    one["objects"], one["agents"] = len(state.objects), len(state.agents)
    one["rover"], one["grips"] = config.body == "rover", config.can_grip
    one["half"][: len(state.objects)] = [body.half for body in state.objects] or 0.0
    note_objects(one, state, wanted)
    one["aims"] = bool(state.targets or state.zone)
    goals = state.targets or [state.zone] * len(state.agents)
    if one["aims"]:
        one["goal"][: len(goals)] = goals
    one["zone"] = config.zone if state.zone else -1.0
    one["near"] = bodies.hull(config.body) + bodies.REACH
    _tune(one, config)
    one["held"] = -1
    return scene


def note_objects(one: Any, state: PlayState, wanted: Sequence[int]) -> None:
    """Write into a record which objects are there, and which of them the task is about."""
    one["kind"] = one["wanted"] = 0
    for number in state.there:
        one["kind"][number] = KINDS.index(state.objects[number].shape) + 1
    one["wanted"][list(wanted)] = 1
    one["ball"] = min(wanted, default=-1)


def _tune(one: Any, config: PhysicsPlaygroundConfig) -> None:
    """Fill in the gains of explicit steps: each step makes up for a share of the lack."""
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
