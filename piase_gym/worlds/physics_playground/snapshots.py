"""Reading and writing the state of a PhysicsPlayground as a value."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from piase_gym.core.digest import digest_bytes
from piase_gym.core.mailbox import Mailbox
from piase_gym.core.rng import Stream
from piase_gym.errors import SnapshotError
from piase_gym.worlds.physics_playground.actions import grammar_of
from piase_gym.worlds.physics_playground.bullet.save_file import inflate
from piase_gym.worlds.physics_playground.config import PhysicsEnvelope, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.generate import plain_bodies, statics
from piase_gym.worlds.physics_playground.levels.items import MAX_SIDE
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.rules.strides import Stride, read_strides
from piase_gym.worlds.physics_playground.state import STATUSES, PlayState, read_state

HEAVIEST: Final = 1000.0
"""More kilograms than a config and a factor give."""
ROUGHEST: Final = 20.0
"""The greatest friction that a config and a factor give."""
STRONGEST: Final = 300.0
"""The greatest gravity that a config and a factor give."""


@dataclass(frozen=True)
class Saved:
    """A state that was read and found valid."""

    play: PlayState
    bullet: bytes
    joined: list[int]
    poses: list[tuple[tuple[float, ...], ...]]
    channel: Stream
    strides: list[Stride | None]


def pack(data: bytes, joined: Sequence[int]) -> dict[str, Any]:
    """Write Bullet's file as text, a checksum, and the order of joints if not that of agents."""
    packed = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
    written: dict[str, Any] = {"file": packed, "sum": digest_bytes(data)}
    return written if list(joined) == sorted(joined) else {**written, "joints": list(joined)}


def unpack(
    state: Mapping[str, Any], config: PhysicsPlaygroundConfig, slots: int, mail: Mailbox
) -> Saved:
    """Read a state; letters go into `mail`.

    Raises:
        SnapshotError: If it is damaged or does not fit the config.
    """
    try:
        play = read_state(state["play"])
        data = inflate(state["bullet"]["file"])
        if digest_bytes(data) != state["bullet"]["sum"]:
            raise ValueError("Bullet's file has another checksum")
        joined = _joined(play, state["bullet"])
        poses = [tuple(tuple(map(float, part)) for part in raw) for raw in state["poses"]]
        channel = Stream(0)
        channel.set_state(state["channel"])
        mail.set_state(state["mail"])
        _check(play, poses, config, slots)
        strides = read_strides(
            state["strides"], slots, grammar_of(config.fixed_envelope(), config.names(slots))
        )
    except (KeyError, TypeError, ValueError, ArithmeticError, IndexError, AttributeError) as error:
        raise SnapshotError(f"PhysicsPlayground: the state does not fit: {error}") from None
    return Saved(play, data, joined, poses, channel, strides)


def _joined(play: PlayState, bullet: Mapping[str, Any]) -> list[int]:
    """Return the agents that hold something, in the order of their joints."""
    holding = [agent for agent, hold in enumerate(play.holds) if hold is not None]
    joined = list(bullet.get("joints", holding))
    if sorted(joined) != holding or any(type(agent) is not int for agent in joined):
        raise ValueError(
            f"the joints are of {joined!r:.60}, but the agents {holding} hold something"
        )
    return joined


def _check(
    play: PlayState, poses: Sequence[Any], config: PhysicsPlaygroundConfig, slots: int
) -> None:
    """Raise `ValueError` if the parts of a state do not fit each other or the config."""
    agents, objects = len(play.agents), len(play.objects)
    if agents != config.agents or objects != len(config.things):
        raise ValueError(f"it has {agents} agents and {objects} objects")
    if len(play.status) != slots or sorted(play.order) != list(range(slots)):
        raise ValueError(f"it is not of {slots} slots")
    if len(play.holds) != agents or len(play.togo) != agents:
        raise ValueError(f"it is not of {agents} agents")
    if len(play.targets) not in (0, agents) or len(play.zone) not in (0, 2):
        raise ValueError("targets or zone are of another shape")
    if play.away != sorted(set(play.away) & set(range(objects))):
        raise ValueError(f"the objects {play.away!r:.60} are not there")
    if any(hold is not None and hold.object not in play.there for hold in play.holds):
        raise ValueError("something is held that is not there")
    if [[len(part) for part in raw] for raw in poses] != [[3, 4, 3, 3]] * (agents + objects):
        raise ValueError("poses are of another shape")
    _check_bodies(play, config)
    _check_numbers(play)


def _check_bodies(play: PlayState, config: PhysicsPlaygroundConfig) -> None:
    """Raise `ValueError` if the bodies are not those of the config, as far as it fixes them."""
    if play.statics != statics(config):
        raise ValueError("its walls and ramps are not those of the config")
    found = (*play.objects, *play.agents)
    for body, mould in zip(found, plain_bodies(config), strict=True):
        for key in ("name", "shape", "half"):
            if getattr(body, key) != getattr(mould, key):
                raise ValueError(f"{mould.name} has {key}={getattr(body, key)!r:.60}")
        likely = (
            0.0 < body.mass <= HEAVIEST,
            0.0 <= body.friction <= ROUGHEST,
            0.0 <= body.restitution <= 1.0,
            len(body.position) == 3 and all(abs(value) <= MAX_SIDE for value in body.position),
            abs(body.yaw) <= 4.0,
        )
        if not all(likely):
            raise ValueError(f"{mould.name} cannot be like that: {asdict(body)}")


def _check_numbers(play: PlayState) -> None:
    """Raise `ValueError` if our own fields have impossible numbers, or too many or too few."""
    if not 0.0 <= play.gravity <= STRONGEST or not 0 <= play.t < 2**31:
        raise ValueError(f"gravity is {play.gravity} in step {play.t}")
    for place in (*play.targets, *([play.zone] if play.zone else [])):
        if len(place) != 2 or not all(abs(value) <= MAX_SIDE for value in place):
            raise ValueError(f"a target or the zone is at {place!r:.60}")
    if not all(abs(value) <= 1e6 for value in (*play.togo, play.placed)):
        raise ValueError("togo or placed cannot be like that")
    for hold in (hold for hold in play.holds if hold is not None):
        numbers = (*hold.parent, *hold.child, *hold.turn)
        shape = len(hold.parent), len(hold.child), len(hold.turn)
        if shape != (3, 3, 4) or not all(abs(value) <= MAX_SIDE for value in numbers):
            raise ValueError(f"a grip cannot be like that: {asdict(hold)!r:.200}")
        if not 0 <= hold.since < 2**31:
            raise ValueError(f"a grip is {hold.since} steps old")


def compare(reading: BodyReadings, poses: Sequence[Any]) -> None:
    """Check that Bullet has restored what was saved.

    Raises:
        SnapshotError: If it has not.
    """
    found = [tuple(tuple(part) for part in raw) for raw in reading.raw]
    if found != list(poses):
        raise SnapshotError("PhysicsPlayground: Bullet restores other poses than were saved")


def state_length(sizes: PhysicsEnvelope) -> int:
    """Return how many numbers `state_vector` returns."""
    return 13 * (sizes.agents + sizes.objects) + 5 * sizes.agents + 5


def state_vector(
    play: PlayState, reading: BodyReadings, sizes: PhysicsEnvelope
) -> NDArray[np.float64]:
    """Return all numbers of the state.

    For each slot of objects and agents: position, quaternion, velocity and spin (zeros for what is
    not there); for each agent: status, number of the held object + 1, target x and y, metres to go;
    then zone x and y, placed, gravity and step.
    """
    count = len(play.objects)
    bodies = np.zeros((sizes.objects + sizes.agents, 13))
    seats = [*range(count), *range(sizes.objects, sizes.objects + len(play.agents))]
    bodies[seats] = reading.table
    bodies[play.away] = 0.0
    agents = np.zeros((sizes.agents, 5))
    agents[:, 0] = [STATUSES.index(status) for status in play.status]
    for agent, hold in enumerate(play.holds):
        target = play.targets[agent] if play.targets else (0.0, 0.0)
        agents[agent, 1:] = hold.object + 1 if hold else 0, *target, play.togo[agent]
    zone = play.zone or [0.0, 0.0]
    rest = [*zone, play.placed, play.gravity, play.t]
    return np.concatenate((np.clip(bodies, -1e6, 1e6).ravel(), agents.ravel(), rest))
