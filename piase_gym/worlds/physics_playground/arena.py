"""The arena: one episode's bodies in Bullet, what is read of them, and the grips between them.

It knows nothing of tasks, rewards or views: `rules` judges, `sensing` tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from piase_gym.worlds.physics_playground import rules
from piase_gym.worlds.physics_playground.bullet import Reading, Simulation
from piase_gym.worlds.physics_playground.config import PhysicsPlaygroundConfig
from piase_gym.worlds.physics_playground.control import Pose, forces, pose_of
from piase_gym.worlds.physics_playground.grips import hold_of, slipped
from piase_gym.worlds.physics_playground.sensing import Touch, ranges, rays_of
from piase_gym.worlds.physics_playground.state import PlayState
from piase_gym.worlds.physics_playground.verbs import Drive


class Arena:
    """Bodies that move.

    Attributes:
        state: The episode's state; grips are changed here.
        config: The episode's config.
        sim: The Bullet client; the arena is built in it.
        reading: Where everything is now.
        touches: What each agent touches now.
        poses: Where each agent is and how it moves.
        inside: Which objects are in the zone.
    """

    reading: Reading
    touches: list[Touch]
    poses: list[Pose]
    inside: list[bool]

    def __init__(self, state: PlayState, config: PhysicsPlaygroundConfig, sim: Simulation) -> None:
        """Build everything at its start; `look` must follow."""
        self.state, self.config, self.sim = state, config, sim
        self.first = len(state.objects)
        sim.build(state, config.size, config.substeps)
        self._numbers = {number: i for i, number in enumerate(sim.objects)}
        self._seats = {number: i for i, number in enumerate(sim.agents)}
        self._rays = rays_of(config)

    def look(self) -> None:
        """Read what Bullet tells of now."""
        self._take(self.sim.read())

    def _take(self, reading: Reading) -> None:
        """Work out what everything else looks up."""
        self.reading = reading
        self.poses = [pose_of(raw) for raw in reading.raw[self.first :]]
        self.touches = [self._touch(i) for i in range(len(self.state.agents))]
        self.inside = rules.inside(self.state, reading, self.config)

    def _touch(self, agent: int) -> Touch:
        """Return what an agent touches."""
        wall = ramp = grounded = False
        objects, agents, sim = set(), set(), self.sim
        for number, rise in sim.contacts(agent):
            grounded |= rise > 0.5
            if number in self._numbers:
                objects.add(self._numbers[number])
            elif number in self._seats:
                agents.add(self._seats[number])
            elif number in sim.ramps:
                ramp = True
            else:
                wall |= number != sim.floor
        return Touch(wall, ramp, tuple(sorted(objects)), tuple(sorted(agents)), grounded)

    def pose(self, agent: int) -> Pose:
        """Return where an agent is and how it moves."""
        return self.poses[agent]

    def lidar(self) -> list[list[int]]:
        """Return the ranges of every agent's rays, in centimetres."""
        agents = range(len(self.state.agents))
        if not self.config.rays:
            return [[] for _ in agents]
        starts, ends = self._rays
        return [ranges(self.sim.lidar(i, starts, ends), self.config) for i in agents]

    # -- motion ---------------------------------------------------------------------------

    def run(self, drives: Sequence[Drive]) -> bool:
        """Drive every agent through one step.

        Returns:
            False if Bullet's numbers have become nonsense; then nothing was taken in of them.
        """
        config = self.config
        for agent, drive in enumerate(drives):
            pose, grounded = self.poses[agent], self.touches[agent].grounded
            force, torque = forces(
                config.body, pose, drive.ahead, drive.turn, grounded, config.seconds
            )
            self.sim.push(agent, pose.position, force, torque)
        for agent, hold in enumerate(self.state.holds):
            if hold is not None:
                hold.since += 1
                self.sim.draw_in(agent, hold)
        self.sim.step()
        reading = self.sim.read()
        if not reading.sound:
            return False
        for agent, hold in enumerate(self.state.holds):
            if hold is not None and slipped(hold, reading, self.first + agent):
                self.release(agent)
        self._take(reading)
        return True

    # -- grips ----------------------------------------------------------------------------

    def graspable(self, agent: int) -> int | None:
        """Return the number of the object that an agent would grip now, if there is one."""
        if not self.config.can_grip or self.state.holds[agent] is not None:
            return None
        return rules.graspable(self.state, self.reading, self.pose(agent), self.config)

    def use_hand(self, agent: int, hand: str) -> bool:
        """Grip, release, or do nothing. Returns whether what was wanted could be done."""
        if hand == "release":
            held = self.state.holds[agent] is not None
            if held:
                self.release(agent)
            return held
        if hand == "grip":
            number = self.graspable(agent)
            if number is None:
                return False
            towed = rules.too_heavy(self.state, number, self.config)
            seat = self.first + agent
            hold = hold_of(self.reading, seat, number, towed, self.state, self.config)
            self.state.holds[agent] = hold
            self.sim.join(agent, hold)
        return True

    def release(self, agent: int) -> None:
        """End a grip."""
        self.state.holds[agent] = None
        self.sim.part(agent)
