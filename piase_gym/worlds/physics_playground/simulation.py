"""The arena: one episode's bodies in Bullet, the readings of them, and the grips between them.

It knows nothing of rewards or views: `rules.tasks` measures, `rules.rewards` judges, and
`observe.sensors` writes what agents perceive.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from piase_gym.compiled import readable
from piase_gym.worlds.physics_playground.actions import Drive
from piase_gym.worlds.physics_playground.bullet.client import (
    POINT_GAP,
    POINT_NORMAL,
    POINT_OTHER,
    TOUCH,
    Simulation,
)
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.levels.bodies import Pose
from piase_gym.worlds.physics_playground.levels.items import Point
from piase_gym.worlds.physics_playground.observe.readings import BodyReadings
from piase_gym.worlds.physics_playground.observe.sensors import rays_of
from piase_gym.worlds.physics_playground.rules import record, tasks
from piase_gym.worlds.physics_playground.rules.driving import drive
from piase_gym.worlds.physics_playground.rules.gripping import grasp_again
from piase_gym.worlds.physics_playground.rules.grips import hold_of, slipped
from piase_gym.worlds.physics_playground.state import PlayState


class Arena:
    """The bodies of an episode and their motion.

    Attributes:
        state: The episode's state; the arena changes the grips in it.
        config: The episode's config.
        sim: The Bullet client; the arena is built in it.
        scene: The record that kernels read and write, shape (1,); see `rules.record`.
        reading: Where everything is now.
    """

    reading: BodyReadings

    def __init__(self, state: PlayState, config: PhysicsPlaygroundConfig, sim: Simulation) -> None:
        """Build everything at its start; `look` must follow."""
        self.state, self.config, self.sim = state, config, sim
        self.first, self.count = len(state.objects), len(state.agents)
        sim.build(state, config.size, config.substeps)
        sim.put_away(state.away)
        self._columns = self._find_columns()
        self._rays = rays_of(config)
        scene = record.new_scene(state, config, tasks.wanted(state, config))
        self.scene = readable(scene)
        self._one, agents = scene[0], slice(0, self.count)
        # Views and packers of the record's fields cost more to make than to use.
        self._memory = scene.view(np.uint8).data
        self._pack_table = struct.Struct(f"={13 * (self.first + self.count)}d").pack_into
        self._pack_drives = struct.Struct(f"={2 * self.count}d").pack_into
        self._pack_rays = struct.Struct(f"={config.rays}d").pack_into
        self._felt = self._one["touch"][agents].reshape(-1)
        self._force, self._torque = self._one["force"][agents], self._one["torque"][agents]
        self._togo, self._playing = self._one["togo"][agents], self._one["playing"][agents]
        self._note_holds()

    def rebuild(self, data: bytes, joined: Sequence[int]) -> None:
        """Restore Bullet as it was when it saved `data`, and the grips of agents in `joined`."""
        self.sim.build(self.state, self.config.size, self.config.substeps)
        self.sim.load(data, self.state.holds, joined)

    def _find_columns(self) -> dict[int, int]:
        """Return the column of `touch` for each of Bullet's numbers of bodies."""
        sim = self.sim
        columns = dict.fromkeys((*sim.edges, *sim.statics), record.AT_WALL)
        columns |= {sim.floor: record.ON_FLOOR, **dict.fromkeys(sim.ramps, record.ON_RAMP)}
        columns |= {number: record.AT_OBJECT + i for i, number in enumerate(sim.objects)}
        return columns | {number: record.AT_AGENT + i for i, number in enumerate(sim.agents)}

    # -- what is now ----------------------------------------------------------------------

    def look(self) -> None:
        """Read the present state from Bullet, and measure it."""
        self.reading = self.sim.read()
        self._measure(self.reading)

    def _measure(self, reading: BodyReadings) -> bool:
        """Let the rules measure a reading; return whether its numbers are possible."""
        self._pack_table(self._memory, _TABLE, *reading.flat)
        self._feel()
        return bool(tasks.measure(self.scene))

    def _feel(self) -> None:
        """Note what every agent touches."""
        felt, columns, contacts = self._felt.data, self._columns, self.sim.contacts
        self._felt.fill(0)
        for agent in range(self.count):
            start = agent * record.FELT
            for point in contacts(agent):
                if point[POINT_GAP] < TOUCH:
                    felt[start + columns[point[POINT_OTHER]]] = 1
                    if point[POINT_NORMAL][2] > 0.5:
                        felt[start + record.GROUNDED] = 1
        for number in self.state.away:  # Bullet drops contacts only in the next step
            self.touches[:, record.AT_OBJECT + number] = 0

    def scan(self, playing: Sequence[bool]) -> None:
        """Write what only views need into the scene: lidar, agents in play, and what is placed."""
        starts, ends = self._rays
        if starts:
            for agent in range(self.count):
                place = _SHARE + 8 * record.MAX_RAYS * agent
                self._pack_rays(self._memory, place, *self.sim.lidar(agent, starts, ends))
        self._playing[:] = playing[: self.count]
        self._one["placed"] = self.state.placed

    def pose(self, agent: int) -> Pose:
        """Return where an agent is and how it moves."""
        position, _, velocity, spin = self.reading.raw[self.first + agent]
        x, y = self._one["ahead"][agent].tolist()
        return Pose(position, (x, y), velocity, spin)

    @property
    def touches(self) -> NDArray[np.uint8]:
        """What each agent touches, shape (agents, columns); see `record.GROUNDED` and others."""
        felt: NDArray[np.uint8] = self._felt.reshape(-1, record.FELT)
        return felt

    @property
    def inside(self) -> list[bool]:
        """Whether each object has its centre in the zone."""
        return [bool(there) for there in self._one["inside"][: self.first]]

    @property
    def togo(self) -> list[float]:
        """How many metres each agent's task is from its end."""
        found: list[float] = self._togo.tolist()
        return found

    @property
    def standing(self) -> int:
        """How many objects are where the task wants them."""
        return int(self._one["standing"])

    @property
    def caught(self) -> bool:
        """Whether a chaser touches the ball, in keep_away."""
        return bool(self._one["caught"])

    # -- motion ---------------------------------------------------------------------------

    def run(self, drives: Sequence[Drive]) -> bool:
        """Drive every agent through one step.

        Returns:
            False if Bullet's numbers have become nonsense; then `reading` is that of the last step.
        """
        self._pack_drives(self._memory, _DRIVES, *[v for each in drives for v in each[:2]])
        drive(self.scene)
        push, raw = self.sim.push, self.reading.raw[self.first :]
        forces, torques = self._force.tolist(), self._torque.tolist()
        for agent, (body, force, torque) in enumerate(zip(raw, forces, torques, strict=True)):
            push(agent, body[0], force, torque)
        for agent, hold in enumerate(self.state.holds):
            if hold is not None:
                hold.since += 1
                self.sim.draw_in(agent, hold)
        self.sim.put_away(self.state.away)
        self.sim.step()
        reading = self.sim.read()
        for agent, hold in enumerate(self.state.holds):
            if hold is not None and slipped(hold, reading, self.first + agent):
                self.release(agent)
        if not self._measure(reading):
            return False
        self.reading = reading
        return True

    # -- what comes and goes --------------------------------------------------------------

    def take_away(self, number: int) -> None:
        """Take an object away; an agent that holds it lets go."""
        for agent, hold in enumerate(self.state.holds):
            if hold is not None and hold.object == number:
                self.release(agent)
        self.state.away = sorted({*self.state.away, number})
        self.sim.put_away([number])
        self._see_again()

    def bring(self, number: int, place: Point) -> None:
        """Put an object that was away on the floor at a place."""
        body = self.state.objects[number]
        self.state.away = [other for other in self.state.away if other != number]
        self.sim.put(number, [*place, body.half[2]], body.yaw)
        self._see_again()

    def _see_again(self) -> None:
        """Look again after an object came or went."""
        record.note_objects(self._one, self.state, tasks.wanted(self.state, self.config))
        self.look()

    # -- grips ----------------------------------------------------------------------------

    def graspable(self, agent: int) -> int | None:
        """Return the number of the object that an agent would grip now, if there is one."""
        found = int(self._one["grasp"][agent])
        return None if found < 0 else found

    def use_hand(self, agent: int, hand: str) -> bool:
        """Grip, release, or do nothing; return whether that could be done."""
        if hand == "release":
            held = self.state.holds[agent] is not None
            if held:
                self.release(agent)
            return held
        if hand == "grip":
            number = self.graspable(agent)
            if number is None:
                return False
            towed = tasks.too_heavy(self.state, number, self.config)
            seat = self.first + agent
            hold = hold_of(self.reading, seat, number, towed, self.state, self.config)
            self.state.holds[agent] = hold
            self.sim.join(agent, hold)
            self._note_holds()
            grasp_again(self.scene)
        return True

    def release(self, agent: int) -> None:
        """End a grip."""
        self.state.holds[agent] = None
        self.sim.part(agent)
        self._note_holds()
        grasp_again(self.scene)

    def _note_holds(self) -> None:
        """Write into the scene which agent holds what."""
        for agent, hold in enumerate(self.state.holds):
            self._one["held"][agent] = -1 if hold is None else hold.object
            self._one["towed"][agent] = hold is not None and hold.towed


_TABLE, _DRIVES, _SHARE = record.offset("table"), record.offset("drives"), record.offset("share")
