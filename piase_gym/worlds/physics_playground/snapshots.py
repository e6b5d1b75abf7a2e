"""Reading and writing the value that a PhysicsPlayground's state is."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from piase_gym.digest import digest_bytes
from piase_gym.errors import SnapshotError
from piase_gym.mailbox import Mailboxes
from piase_gym.rng import Stream
from piase_gym.worlds.physics_playground.config import PhysicsEnvelope, PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.reading import Reading
from piase_gym.worlds.physics_playground.state import STATUSES, PlayState, read_state


@dataclass(frozen=True)
class Saved:
    """A state that was read and found whole."""

    play: PlayState
    bullet: bytes
    poses: list[tuple[tuple[float, ...], ...]]
    channel: Stream


def pack(data: bytes) -> dict[str, str]:
    """Write Bullet's file as text, with a checksum."""
    packed = base64.b64encode(zlib.compress(data, 1)).decode("ascii")
    return {"file": packed, "sum": digest_bytes(data)}


def unpack(
    state: Mapping[str, Any], config: PhysicsPlaygroundConfig, slots: int, mail: Mailboxes
) -> Saved:
    """Read a state; letters go into `mail`.

    Raises:
        SnapshotError: If it is damaged or does not fit the config.
    """
    try:
        play = read_state(state["play"])
        data = zlib.decompress(base64.b64decode(state["bullet"]["file"], validate=True))
        if digest_bytes(data) != state["bullet"]["sum"]:
            raise ValueError("Bullet's file has another checksum")
        poses = [tuple(tuple(map(float, part)) for part in raw) for raw in state["poses"]]
        channel = Stream(0)
        channel.set_state(state["channel"])
        mail.set_state(state["mail"])
        _check(play, poses, config, slots)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, zlib.error) as error:
        raise SnapshotError(f"PhysicsPlayground: the state does not fit: {error}") from None
    return Saved(play, data, poses, channel)


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
    if any(hold is not None and not 0 <= hold.object < objects for hold in play.holds):
        raise ValueError("something is held that is not there")
    if [[len(part) for part in raw] for raw in poses] != [[3, 4, 3, 3]] * (agents + objects):
        raise ValueError("poses are of another shape")


def compare(reading: Reading, poses: Sequence[Any]) -> None:
    """Check that Bullet has restored what was saved.

    Raises:
        SnapshotError: If it has not.
    """
    found = [tuple(tuple(part) for part in raw) for raw in reading.raw]
    if found != list(poses):
        raise SnapshotError("PhysicsPlayground: Bullet restores other poses than were saved")


def state_length(sizes: PhysicsEnvelope) -> int:
    """Return how many numbers `state_vector` gives."""
    return 13 * (sizes.agents + sizes.objects) + 5 * sizes.agents + 5


def state_vector(play: PlayState, reading: Reading, sizes: PhysicsEnvelope) -> NDArray[np.float64]:
    """Return everything that is a number.

    For each slot of objects and agents position, quaternion, velocity and spin; for each agent
    status, what it holds + 1, target x and y, metres to go; then zone x and y, placed, gravity
    and step.
    """
    count = len(play.objects)
    bodies = np.zeros((sizes.objects + sizes.agents, 13))
    seats = [*range(count), *range(sizes.objects, sizes.objects + len(play.agents))]
    bodies[seats] = reading.table
    agents = np.zeros((sizes.agents, 5))
    agents[:, 0] = [STATUSES.index(status) for status in play.status]
    for agent, hold in enumerate(play.holds):
        target = play.targets[agent] if play.targets else (0.0, 0.0)
        agents[agent, 1:] = hold.object + 1 if hold else 0, *target, play.togo[agent]
    zone = play.zone or [0.0, 0.0]
    rest = [*zone, play.placed, play.gravity, play.t]
    return np.concatenate((np.clip(bodies, -1e6, 1e6).ravel(), agents.ravel(), rest))
